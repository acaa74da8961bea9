//! The head of a packet, which precedes its records: 88 bytes, little-endian, so that records begin at a multiple of 8.
//! [`super::metadata`] describes the same bytes.

/// Size of a packet's head in bytes.
pub const HEAD: usize = 88;

/// The first four bytes of a packet, defined by CTF.
const MAGIC: u32 = 0xc1fc_1fc1;

/// The value of [`Head::position`] in a packet that precedes everything read from its ring.
pub(super) const BEFORE_ALL: u64 = u64::MAX;

/// The head of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The uuid of the trace.
    pub uuid: [u8; 16],
    /// The index of the stream in the schema.
    pub stream: u32,
    /// Time of the first record in ticks; of the packet if it has none.
    pub begin: u64,
    /// Time of the last record in ticks.
    pub end: u64,
    /// Bytes of the packet up to the last record's fields, without their padding.
    pub content: u64,
    /// Bytes of the whole packet.
    pub size: u64,
    /// Index of the packet in the file, from 0.
    pub number: u64,
    /// Records that were lost since the ring began.
    pub discarded: u64,
    /// The CPU.
    pub cpu: u32,
    /// The ring.
    pub ring: u32,
    /// The ring position of the end of the packet's records, in bytes since the ring began. Recovery continues there.
    pub position: u64,
}

impl Head {
    /// Returns the stored form.
    pub fn to_bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let mut at = 0;
        let mut put = |value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&self.uuid);
        put(&self.stream.to_le_bytes());
        for value in [self.begin, self.end, self.content * 8, self.size * 8, self.number, self.discarded] {
            put(&value.to_le_bytes());
        }
        put(&self.cpu.to_le_bytes());
        put(&self.ring.to_le_bytes());
        put(&self.position.to_le_bytes());
        bytes
    }

    /// Parses a head.
    ///
    /// Errors: a description of what no writer writes.
    pub fn read(bytes: &[u8; HEAD]) -> Result<Head, &'static str> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if half(0) != MAGIC {
            return Err("no packet begins here");
        }
        let head = Head {
            uuid: bytes[4..20].try_into().expect("sixteen bytes"),
            stream: half(20),
            begin: word(24),
            end: word(32),
            content: word(40) / 8,
            size: word(48) / 8,
            number: word(56),
            discarded: word(64),
            cpu: half(72),
            ring: half(76),
            position: word(80),
        };
        if word(40) % 8 != 0 || word(48) % 64 != 0 {
            return Err("the packet's size is not of whole records");
        }
        if head.content < HEAD as u64 || head.size < head.content || head.size - head.content >= 8 {
            return Err("the packet's sizes contradict each other");
        }
        if head.end < head.begin {
            return Err("the packet ends before it begins");
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_head_is_read_back() {
        let head = Head {
            uuid: *b"0123456789abcdef",
            stream: 1,
            begin: 2,
            end: 3,
            content: 100,
            size: 104,
            number: 4,
            discarded: 5,
            cpu: 6,
            ring: 7,
            position: 8,
        };
        let bytes = head.to_bytes();
        assert_eq!(Head::read(&bytes), Ok(head));
        assert_eq!(bytes[..4], [0xc1, 0x1f, 0xfc, 0xc1]);
        assert_eq!(bytes[80..], 8_u64.to_le_bytes());
        for (wrong, error) in [
            (Head { content: 87, size: 88, ..head }, "the packet's sizes contradict each other"),
            (Head { content: 96, size: 104, ..head }, "the packet's sizes contradict each other"),
            (Head { content: 105, size: 104, ..head }, "the packet's sizes contradict each other"),
            (Head { content: 100, size: 100, ..head }, "the packet's size is not of whole records"),
            (Head { begin: 4, ..head }, "the packet ends before it begins"),
        ] {
            assert_eq!(Head::read(&wrong.to_bytes()), Err(error));
        }
        let mut bytes = bytes;
        bytes[0] = 0;
        assert_eq!(Head::read(&bytes), Err("no packet begins here"));
    }
}

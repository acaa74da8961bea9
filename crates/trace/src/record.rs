//! The format of a record, in rings and in trace files alike: a head of 16 bytes, the fields without gaps, and padding
//! to a multiple of 8. All little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | time stamp, ticks of the trace's clock; never goes back within a ring |
//! | 8..10 | the event's id in its stream |
//! | 10..12 | length of the whole record with padding, bytes |
//! | 12..16 | id of the thread |
//! | 16.. | fields |

/// Bytes before the fields.
pub const HEAD: usize = 16;

/// Longest record, bytes: a page, so that a reader finds the next one nearby.
pub const RECORD_MAX: usize = 4096;

/// The head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Ticks of the trace's clock.
    pub time: u64,
    /// The event's id in its stream.
    pub event: u16,
    /// Of the whole record, bytes.
    pub len: u16,
    /// Id of the thread.
    pub thread: u32,
}

impl Head {
    /// Bytes of a record with `fields` bytes of fields.
    pub const fn len_with(fields: usize) -> usize {
        (HEAD + fields).next_multiple_of(8)
    }

    /// The head as it is stored.
    pub fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.event.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..].copy_from_slice(&self.thread.to_le_bytes());
        bytes
    }

    /// The head at the beginning of `bytes`; None unless a whole record of a sound length stands there.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let at = bytes.first_chunk::<HEAD>()?;
        let word = |from: usize| u64::from_le_bytes(at[from..from + 8].try_into().expect("eight bytes"));
        let second = word(8);
        let head =
            Head { time: word(0), event: second as u16, len: (second >> 16) as u16, thread: (second >> 32) as u32 };
        let len = usize::from(head.len);
        (len >= HEAD && len.is_multiple_of(8) && len <= RECORD_MAX && len <= bytes.len()).then_some(head)
    }
}

/// The consecutive records in `bytes`, each with its fields and padding; ends before one that is not
/// whole.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = (Head, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = Head::read(rest)?;
        let (record, behind) = rest.split_at(usize::from(head.len));
        rest = behind;
        Some((head, &record[HEAD..]))
    })
}

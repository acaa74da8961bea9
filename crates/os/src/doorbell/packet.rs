//! The packets of a doorbell: short texts that state their kind and a number.
//!
//! They are text for programs that do not use this library. If such a program has an end as its standard input, it reads
//! the packets, and its output explains the descriptor.

use crate::descriptors::Sender;

/// A packet, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// An event that the receiver waits for has occurred. The receiver has published the number, and the sender has read it.
    Bell(u32),
    /// A packet that keeps the sender's descriptor from being writable until the receiver takes it.
    NoRoom,
    /// A request to send a bell back: an end cannot send a bell to itself.
    Echo,
    /// Open files with their number. There is at least one.
    File(u32),
    /// A packet of this many bytes that this library has not written.
    Foreign(usize),
    /// The queue is empty.
    Nothing,
    /// The queue is empty for good: every copy of the other end is gone, or that end sends no more.
    Gone,
}

/// The text for a program that reads the descriptor as a byte stream.
const TEXT: &[u8] =
    b"headwater: this descriptor is one end of a STREAMS pipe, and its data is in shared memory (see headwater_streams). ";

/// The length of the fixed part of a packet in bytes: the text, a letter, a number of eight hexadecimal digits, a newline.
pub(super) const LEN: usize = TEXT.len() + 10;

/// The position of the number.
const DIGITS: std::ops::Range<usize> = TEXT.len() + 1..LEN - 1;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// A packet without its letter and number.
const BLANK: [u8; LEN] = {
    let mut bytes = [b'\n'; LEN];
    let (text, _) = bytes.split_at_mut(TEXT.len());
    text.copy_from_slice(TEXT);
    bytes
};

/// The bytes behind a [`Packet::NoRoom`]. They are enough to make the socket not writable while the packet is queued.
pub(super) const FILLING: [u8; 4096] = [b'\n'; 4096];

const BELL: u8 = b'b';
const NO_ROOM: u8 = b'r';
const ECHO: u8 = b'e';
const FILE: u8 = b'f';

impl Packet {
    /// Encodes a packet that can be sent.
    pub(super) fn bytes(self) -> [u8; LEN] {
        let (kind, number) = match self {
            Packet::Bell(number) => (BELL, number),
            Packet::NoRoom => (NO_ROOM, 0),
            Packet::Echo => (ECHO, 0),
            Packet::File(number) => (FILE, number),
            Packet::Foreign(_) | Packet::Nothing | Packet::Gone => unreachable!("no such packet is sent"),
        };
        let mut bytes = BLANK;
        bytes[TEXT.len()] = kind;
        for (at, digit) in bytes[DIGITS].iter_mut().enumerate() {
            *digit = HEX[(number >> (28 - 4 * at) & 0xf) as usize];
        }
        bytes
    }

    /// Decodes the first bytes of a packet of `len` bytes.
    pub(super) fn decode(bytes: &[u8; LEN], len: usize) -> Packet {
        // The comparison at the end detects invalid and upper-case digits.
        let value = |digit: u8| u32::from(if digit >= b'a' { digit - b'a' + 10 } else { digit & 0xf });
        let number = bytes[DIGITS].iter().fold(0, |number, &digit| number << 4 | value(digit) & 0xf);
        let (packet, expected_len) = match bytes[TEXT.len()] {
            FILE if len == LEN + STATED => (Packet::File(number), len),
            BELL => (Packet::Bell(number), LEN),
            NO_ROOM => (Packet::NoRoom, LEN + FILLING.len()),
            ECHO => (Packet::Echo, LEN),
            FILE => (Packet::File(number), LEN),
            _ => return Packet::Foreign(len),
        };
        if len == expected_len && packet.bytes() == *bytes { packet } else { Packet::Foreign(len) }
    }
}

/// The length of a stated sender in bytes. It follows a packet with files: user and group, of eight hexadecimal digits each,
/// and a newline.
pub(super) const STATED: usize = 17;

pub(super) fn stated_bytes(sender: Sender) -> [u8; STATED] {
    let text = format!("{:08x}{:08x}\n", sender.user, sender.group);
    text.into_bytes().try_into().expect("as long as it is written")
}

/// Returns the sender that is stated behind a packet; `None` if there is none. The bytes are then 0.
pub(super) fn stated_in(bytes: &[u8; LEN + STATED]) -> Option<Sender> {
    let text = std::str::from_utf8(&bytes[LEN..]).ok()?;
    let number = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok();
    Some(Sender { user: number(0)?, group: number(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_decoded_as_they_were_encoded() {
        for packet in
            [Packet::Bell(0), Packet::Bell(u32::MAX), Packet::Bell(0x0123_abcd), Packet::Echo, Packet::File(7)]
        {
            assert_eq!(Packet::decode(&packet.bytes(), LEN), packet);
        }
        assert_eq!(Packet::decode(&Packet::NoRoom.bytes(), LEN + FILLING.len()), Packet::NoRoom);
    }

    #[test]
    fn other_bytes_are_foreign() {
        assert_eq!(Packet::decode(&[b'x'; LEN], 5), Packet::Foreign(5));
        let bell = Packet::Bell(1).bytes();
        for at in 0..LEN {
            let mut bytes = bell;
            bytes[at] = b'!';
            assert_eq!(Packet::decode(&bytes, LEN), Packet::Foreign(LEN), "byte {at}");
        }
        assert_eq!(Packet::decode(&bell, LEN - 1), Packet::Foreign(LEN - 1));
        assert_eq!(Packet::decode(&bell, LEN + 1), Packet::Foreign(LEN + 1));
        // from_str_radix accepts a sign.
        let mut signed = bell;
        signed[TEXT.len() + 1] = b'+';
        assert_eq!(Packet::decode(&signed, LEN), Packet::Foreign(LEN));
    }
}

//! The packets of a doorbell: short texts that name their kind and a number.
//!
//! They are text because of programs that do not use this library: a program that has an end as its standard input
//! reads the packets as text, so its output shows what it was given.

use crate::descriptors::Sender;

/// The meaning of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// Something has happened that the receiver waits for. The number is one that the receiver has published and the
    /// sender has read.
    Bell(u32),
    /// Keeps the sender's descriptor from being writable until the receiver takes it.
    NoRoom,
    /// The receiver is asked to ring back: an end cannot ring its own doorbell.
    Echo,
    /// An open file with its number.
    File(u32),
    /// This number of bytes, which this library has not written.
    Foreign(usize),
    /// The queue is empty.
    Nothing,
    /// The queue is empty for good: every copy of the other end is gone, or it sends no more.
    Gone,
}

/// The text that a program reads if it takes the descriptor for a byte stream.
const TEXT: &[u8] =
    b"headwater: this descriptor is one end of a STREAMS pipe, and its data is in shared memory (see headwater_streams). ";

/// Length of every packet but [`Packet::NoRoom`]: the text, a letter, a number of eight hexadecimal digits, a newline.
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

/// Bytes behind a packet that says that there is no room: enough that the socket is not writable while it is queued.
pub(super) const FILLING: [u8; 4096] = [b'\n'; 4096];

const BELL: u8 = b'b';
const NO_ROOM: u8 = b'r';
const ECHO: u8 = b'e';
const FILE: u8 = b'f';

impl Packet {
    /// The bytes of a packet that can be sent.
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
    pub(super) fn of(bytes: &[u8; LEN], len: usize) -> Packet {
        // The comparison below detects an invalid or upper-case digit.
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

/// Length of a stated sender, behind a packet with files: user and group, of eight hexadecimal digits each, and a newline.
pub(super) const STATED: usize = 17;

pub(super) fn stated_bytes(sender: Sender) -> [u8; STATED] {
    let text = format!("{:08x}{:08x}\n", sender.user, sender.group);
    text.into_bytes().try_into().expect("as long as it is written")
}

/// The sender that is stated behind a packet; None: there is none, and the bytes are 0.
pub(super) fn stated_in(bytes: &[u8; LEN + STATED]) -> Option<Sender> {
    let text = std::str::from_utf8(&bytes[LEN..]).ok()?;
    let number = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok();
    Some(Sender { user: number(0)?, group: number(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_read_as_what_it_was_sent() {
        for packet in
            [Packet::Bell(0), Packet::Bell(u32::MAX), Packet::Bell(0x0123_abcd), Packet::Echo, Packet::File(7)]
        {
            assert_eq!(Packet::of(&packet.bytes(), LEN), packet);
        }
        assert_eq!(Packet::of(&Packet::NoRoom.bytes(), LEN + FILLING.len()), Packet::NoRoom);
    }

    #[test]
    fn bytes_of_another_program_are_foreign() {
        assert_eq!(Packet::of(&[b'x'; LEN], 5), Packet::Foreign(5));
        let bell = Packet::Bell(1).bytes();
        for at in 0..LEN {
            let mut bytes = bell;
            bytes[at] = b'!';
            assert_eq!(Packet::of(&bytes, LEN), Packet::Foreign(LEN), "byte {at}");
        }
        assert_eq!(Packet::of(&bell, LEN - 1), Packet::Foreign(LEN - 1));
        assert_eq!(Packet::of(&bell, LEN + 1), Packet::Foreign(LEN + 1));
        // from_str_radix takes a sign.
        let mut signed = bell;
        signed[TEXT.len() + 1] = b'+';
        assert_eq!(Packet::of(&signed, LEN), Packet::Foreign(LEN));
    }
}

//! What came of a flood: verifies messages of which some are missing. The receiver of [`super::Flood`] calls it.
//!
//! A message of 8 bytes or more carries its number in its stamp: it is counted if all its stamps agree and its number is
//! above that of every message before it, so that loss is exact and neither repetition nor a change of order passes. A
//! shorter message is counted if it is the start of the stamp of some message behind the last one. The search takes the
//! first that fits, so that it can fall behind the true number and never overtake it; of one byte it proves little.
//!
//! A message that comes after its round has ended was counted as lost there, and is passed over in the next if it carries
//! its number.

use std::io;
use std::ops::Range;

use crate::harness::payload::{Payload, holds_stamps, sequence_of, stamp};

/// Verifies the messages of one round.
#[derive(Debug)]
pub struct LossyCheck {
    size: usize,
    /// Number of the round's first message.
    first: u64,
    /// Number that the next message has at least.
    next: u64,
    /// Number behind the round's last message.
    end: u64,
    received: u64,
    /// What a message should be, where every byte is checked.
    expected: Option<Payload>,
}

impl LossyCheck {
    /// For messages of `size` bytes that are numbered as in `sequences`; every byte is compared if `full_check`.
    pub fn new(size: usize, sequences: Range<u64>, full_check: bool) -> LossyCheck {
        LossyCheck {
            size,
            first: sequences.start,
            next: sequences.start,
            end: sequences.end,
            received: 0,
            expected: full_check.then(|| Payload::new(size)),
        }
    }

    /// How many messages have passed.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Checks a message and counts it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for a message that was never sent, came twice or out of order, or is damaged.
    #[inline]
    pub fn push(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() != self.size {
            return Err(self.wrong(message, "has another length"));
        }
        let sequence = if self.size < 8 { self.first_that_fits(message) } else { Some(self.stamped(message)) };
        match sequence {
            Some(sequence) if sequence < self.first => return Ok(()),
            Some(sequence) if sequence < self.next => return Err(self.wrong(message, "came twice or out of order")),
            Some(sequence) if sequence < self.end && self.is_whole(message, sequence) => self.next = sequence + 1,
            _ => return Err(self.wrong(message, "is none of those that were sent, or damaged")),
        }
        self.received += 1;
        Ok(())
    }

    /// Checks at the end of the round that no more came than the sender sent.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] with both numbers.
    pub fn finish(&self, sent: u64) -> io::Result<()> {
        if self.received <= sent {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("of {sent} messages {} came", self.received)))
    }

    /// The number in the first stamp.
    #[inline]
    fn stamped(&self, message: &[u8]) -> u64 {
        sequence_of(u64::from_le_bytes(message[..8].try_into().expect("the slice has eight bytes")))
    }

    /// Whether the rest of the message is what belongs to that number.
    #[inline]
    fn is_whole(&mut self, message: &[u8], sequence: u64) -> bool {
        match &mut self.expected {
            Some(expected) => expected.message(sequence) == message,
            None => self.size < 8 || holds_stamps(message, self.size, sequence),
        }
    }

    /// The first number from `next` on whose stamp starts with a message shorter than a stamp. Over a round no number is
    /// looked at twice.
    fn first_that_fits(&self, message: &[u8]) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..self.size].copy_from_slice(message);
        let wanted = u64::from_le_bytes(bytes);
        let mask = (1u64 << (8 * self.size)) - 1;
        (self.next..self.end).find(|&sequence| stamp(sequence) & mask == wanted)
    }

    #[cold]
    fn wrong(&self, message: &[u8], what: &str) -> io::Error {
        let start = &message[..message.len().min(16)];
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "wrong payload: a message of {} bytes that starts with {start:02x?} {what}; messages are of {} bytes \
                 and numbered {} to {}, the next is {}",
                message.len(),
                self.size,
                self.first,
                self.end - 1,
                self.next,
            ),
        )
    }
}

#[cfg(test)]
mod tests;

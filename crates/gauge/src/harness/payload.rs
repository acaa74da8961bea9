//! The payload that every transport moves, and its verification. The patterns call it; external transports follow the
//! same rules (docs/external-transports.md).
//!
//! Message k of S bytes is the fixed background `byte p = p mod 251` with the *stamp* of k written over it in several
//! places: at byte 0, at every multiple of 4096 that leaves 16 bytes, and in the last 8 bytes (from 16 bytes up). A
//! message below 8 bytes is the first S bytes of its stamp. The stamps prove order and completeness and are checked
//! in every timed message; that costs a few loads per 4 KiB, so that the check stays far below the cost of the
//! transport. The background is checked too in the untimed first round, in which the receiver poisons its buffer.

use std::io;

/// Distance of the stamps within a message, bytes.
pub const STRIDE: usize = 4096;

/// The stamp of message `sequence`: odd multiplication spreads the number over all bits, the fold brings the high
/// bits into the low bytes, so that one byte already tells neighbours apart.
#[inline]
pub fn stamp(sequence: u64) -> u64 {
    let spread = sequence.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 32)
}

/// The message that carries `stamp`: each step of [`stamp`] can be undone, the last one first.
#[inline]
pub fn sequence_of(stamp: u64) -> u64 {
    // The fold leaves the high half as it was, so folding again restores the low half. The factor is the inverse of
    // the odd one above modulo 2^64.
    let spread = stamp ^ (stamp >> 32);
    spread.wrapping_mul(0xF1DE_83E1_9937_733D).wrapping_sub(1)
}

/// The background at byte `position`.
fn background(position: usize) -> u8 {
    (position % 251) as u8
}

/// Writes the stamps of `sequence` into `buffer`, which holds at least 8 bytes and starts a message of `size` bytes.
#[inline]
pub fn write_stamps(buffer: &mut [u8], size: usize, sequence: u64) {
    let bytes = stamp(sequence).to_le_bytes();
    let message = &mut buffer[..size.max(8)];
    if let Some(first) = message.first_chunk_mut() {
        *first = bytes;
    }
    if size >= 16 {
        if let Some(last) = message.last_chunk_mut() {
            *last = bytes;
        }
        if size >= STRIDE + 16 {
            write_inner_stamps(message, bytes);
        }
    }
}

/// The stamps within a long message, out of the way of the short ones.
#[inline(never)]
fn write_inner_stamps(message: &mut [u8], bytes: [u8; 8]) {
    let mut position = STRIDE;
    while position + 16 <= message.len() {
        message[position..position + 8].copy_from_slice(&bytes);
        position += STRIDE;
    }
}

/// Whether `buffer`, at least 8 bytes that start with a message of `size` bytes, holds the stamps of `sequence`.
#[inline]
pub fn holds_stamps(buffer: &[u8], size: usize, sequence: u64) -> bool {
    let expected = stamp(sequence);
    let message = &buffer[..size.max(8)];
    let first = message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) ^ expected;
    if size < 8 {
        return first << (64 - 8 * size) == 0;
    }
    if size < 16 {
        return first == 0;
    }
    let last = message.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) ^ expected;
    (first | last) == 0 && (size < STRIDE + 16 || holds_inner_stamps(message, expected))
}

/// As [`write_inner_stamps`] wrote them.
#[inline(never)]
fn holds_inner_stamps(message: &[u8], expected: u64) -> bool {
    let mut difference = 0;
    let mut position = STRIDE;
    while position + 16 <= message.len() {
        let bytes = message[position..position + 8].try_into().expect("the slice has eight bytes");
        difference |= u64::from_le_bytes(bytes) ^ expected;
        position += STRIDE;
    }
    difference == 0
}

/// A sender's or receiver's message buffer. It is longer than the message where that is below 8 bytes, so that a stamp
/// is always one store.
#[derive(Debug)]
pub struct Payload {
    buffer: Vec<u8>,
    size: usize,
}

impl Payload {
    /// A buffer for messages of `size` bytes (at least 1), holding the background, touched throughout.
    pub fn new(size: usize) -> Payload {
        assert!(size > 0, "a message has at least one byte");
        Payload { buffer: (0..size.max(8)).map(background).collect(), size }
    }

    /// Returns the bytes per message.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns message `sequence`, ready to be sent.
    #[inline]
    pub fn message(&mut self, sequence: u64) -> &[u8] {
        write_stamps(&mut self.buffer, self.size, sequence);
        &self.buffer[..self.size]
    }

    /// Returns the buffer for the next message to be received.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.size]
    }

    /// Fills the buffer with bytes that no message contains, so that the full check cannot accept an old message.
    #[cold]
    #[inline(never)]
    pub fn poison(&mut self) {
        for (position, byte) in self.buffer.iter_mut().enumerate() {
            *byte = !background(position);
        }
    }

    /// Checks that [`Payload::space`] holds message `sequence`.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] that names the message.
    #[inline]
    pub fn verify(&self, sequence: u64) -> io::Result<()> {
        if holds_stamps(&self.buffer, self.size, sequence) { Ok(()) } else { Err(self.wrong(sequence)) }
    }

    /// Checks every byte of [`Payload::space`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] that names the message.
    #[cold]
    #[inline(never)]
    pub fn verify_all(&self, sequence: u64) -> io::Result<()> {
        let mut expected = Payload::new(self.size);
        if self.buffer[..self.size] == *expected.message(sequence) { Ok(()) } else { Err(self.wrong(sequence)) }
    }

    #[cold]
    fn wrong(&self, sequence: u64) -> io::Error {
        let count = self.size.min(16);
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "wrong payload: message {sequence} of {} bytes should start with {:02x?} and does with {:02x?}",
                self.size,
                &stamp(sequence).to_le_bytes()[..count.min(8)],
                &self.buffer[..count],
            ),
        )
    }
}

/// Verifies a byte stream that arrives in chunks of any length, as with full reads.
#[derive(Debug)]
pub struct StreamCheck {
    size: usize,
    sequence: u64,
    /// The verified bytes of the current message.
    offset: usize,
    expected: Payload,
}

impl StreamCheck {
    /// Starts at the first byte of message `first`.
    pub fn new(size: usize, first: u64) -> StreamCheck {
        StreamCheck { size, sequence: first, offset: 0, expected: Payload::new(size) }
    }

    /// Returns the sequence number of the message to which the next byte belongs.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns how many bytes of that message were verified.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Verifies the stamps in `chunk` and advances by its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] that names the message.
    pub fn push(&mut self, mut chunk: &[u8]) -> io::Result<()> {
        while !chunk.is_empty() {
            let count = (self.size - self.offset).min(chunk.len());
            let whole = self.offset == 0 && count == self.size;
            let right = if whole && chunk.len() >= 8 {
                holds_stamps(chunk, self.size, self.sequence)
            } else {
                self.piece_is_right(&chunk[..count])
            };
            if !right {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("wrong payload in message {} after byte {}", self.sequence, self.offset),
                ));
            }
            self.offset += count;
            if self.offset == self.size {
                self.offset = 0;
                self.sequence += 1;
            }
            chunk = &chunk[count..];
        }
        Ok(())
    }

    /// Compares a chunk that starts or ends within a message: where stamps are, or as a whole if the message is short.
    fn piece_is_right(&mut self, piece: &[u8]) -> bool {
        const EDGE: usize = 64;
        let (from, to) = (self.offset, self.offset + piece.len());
        let expected = &self.expected.message(self.sequence)[from..to];
        if piece.len() <= 2 * STRIDE {
            return piece == expected;
        }
        // A stamp begins at each multiple of the stride and 8 bytes before the message's end.
        let first = from.next_multiple_of(STRIDE) - from;
        piece[..EDGE] == expected[..EDGE]
            && piece[piece.len() - EDGE..] == expected[expected.len() - EDGE..]
            && (first..piece.len() - 8).step_by(STRIDE).all(|at| piece[at..at + 8] == expected[at..at + 8])
    }
}

#[cfg(test)]
mod tests;

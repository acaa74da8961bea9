//! The payload and its verification.

/// Distance between stamps in bytes.
const STRIDE: usize = 4096;

/// A message buffer of at least 8 bytes, so that a stamp is always one store.
#[derive(Debug)]
pub struct Payload {
    buffer: Vec<u8>,
    expected: Vec<u8>,
    size: usize,
}

/// Returns the stamp of message `sequence`.
#[inline]
pub fn stamp(sequence: u64) -> u64 {
    let spread = sequence.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 32)
}

/// Returns where the stamps of a message begin.
#[inline]
fn positions(size: usize) -> impl Iterator<Item = usize> {
    let inner = (STRIDE..).step_by(STRIDE).take_while(move |position| position + 16 <= size);
    std::iter::once(0).chain(inner).chain((size >= 16).then(|| size - 8))
}

#[inline]
fn write_stamps(buffer: &mut [u8], size: usize, sequence: u64) {
    let mark = stamp(sequence).to_le_bytes();
    for position in positions(size) {
        buffer[position..position + 8].copy_from_slice(&mark);
    }
}

impl Payload {
    /// Returns a buffer for messages of `size` bytes with their constant part.
    pub fn new(size: usize) -> Payload {
        let background: Vec<u8> = (0..size.max(8)).map(|position| (position % 251) as u8).collect();
        Payload { buffer: background.clone(), expected: background, size }
    }

    /// Returns message `sequence`, ready to be sent.
    #[inline]
    pub fn message(&mut self, sequence: u64) -> &[u8] {
        write_stamps(&mut self.buffer, self.size, sequence);
        &self.buffer[..self.size]
    }

    /// Returns the space for the next message, or the received message.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.size]
    }

    /// Fills the buffer with bytes that no message contains.
    pub fn poison(&mut self) {
        for (position, byte) in self.buffer.iter_mut().enumerate() {
            *byte = !((position % 251) as u8);
        }
    }

    /// Checks the stamps of the received message, or every byte of it.
    ///
    /// # Errors
    /// A description of the error.
    #[inline]
    pub fn verify(&mut self, sequence: u64, full: bool) -> Result<(), String> {
        let mark = stamp(sequence).to_le_bytes();
        let length = self.size.min(8);
        let right = positions(self.size).all(|position| self.buffer[position..position + length] == mark[..length]);
        if !right || full && !self.is_whole(sequence) { Err(self.wrong(sequence)) } else { Ok(()) }
    }

    fn is_whole(&mut self, sequence: u64) -> bool {
        write_stamps(&mut self.expected, self.size, sequence);
        self.buffer[..self.size] == self.expected[..self.size]
    }

    #[cold]
    fn wrong(&self, sequence: u64) -> String {
        let length = self.size.min(8);
        format!(
            "wrong payload: message {sequence} of {} bytes starts with {:02x?} and should with {:02x?}",
            self.size,
            &self.buffer[..length],
            &stamp(sequence).to_le_bytes()[..length]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of docs/external-transports.md.
    #[test]
    fn messages_are_those_of_the_document() {
        let mark = [0x58, 0x0b, 0xfa, 0xc2, 0x72, 0xf3, 0x6e, 0x3c];
        assert_eq!(stamp(0), 0x9e37_79b9_e17d_05ac);
        assert_eq!(stamp(255), 0x3779_b97f_7d05_ac7f);
        assert_eq!(Payload::new(7).message(1), &mark[..7]);
        assert_eq!(Payload::new(16).message(1), [mark, mark].concat());
        let mut payload = Payload::new(5000);
        let message = payload.message(1);
        assert_eq!(message[248..256], [0xf8, 0xf9, 0xfa, 0, 1, 2, 3, 4]);
        assert_eq!((&message[4096..4104], &message[4992..5000]), (&mark[..], &mark[..]));
        assert_eq!(positions(4111).collect::<Vec<_>>(), [0, 4103]);
        assert_eq!(positions(4112).collect::<Vec<_>>(), [0, 4096, 4104]);
    }

    #[test]
    fn a_damaged_byte_shows_in_the_full_check() {
        for size in [1, 7, 8, 16, 5000] {
            for damaged in 0..size {
                let mut payload = Payload::new(size);
                payload.message(3);
                payload.verify(3, true).expect("untouched");
                payload.space()[damaged] ^= 1;
                assert!(payload.verify(3, true).is_err(), "byte {damaged} of {size}");
            }
        }
    }
}

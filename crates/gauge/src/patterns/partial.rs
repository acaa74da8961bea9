//! Partial transfers of messages over non-blocking ends, for the patterns with event loops.

use std::io;

use crate::transports::Endpoint;

/// A message that is being received.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    received: usize,
}

impl Incoming {
    /// Reads into `message` until the end refuses or the message is complete, and once more after it is complete,
    /// because an edge is reported again only after a refusal. Returns whether any data was read. At most one message
    /// is in flight.
    #[inline]
    pub fn read<E: Endpoint>(&mut self, end: &mut E, message: &mut [u8]) -> io::Result<bool> {
        let before = self.received;
        while self.received < message.len() {
            match end.receive_some(&mut message[self.received..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(self.received > before),
                Err(error) => return Err(error),
            }
        }
        let mut more = [0];
        match end.receive_some(&mut more) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Err(io::Error::other("a second message came before the first was answered")),
        }
    }

    /// Returns whether a message of `size` bytes is complete; if so, the next one begins.
    #[inline]
    pub fn take(&mut self, size: usize) -> bool {
        let whole = self.received == size;
        if whole {
            self.received = 0;
        }
        whole
    }
}

/// Sends all of `message` over an end that has room, or will have it as soon as its peer reads. Yields the CPU until
/// then.
#[inline]
pub(super) fn send_whole<E: Endpoint>(end: &mut E, message: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < message.len() {
        match end.send_some(&message[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::event_loop::EventLoop;
    use crate::patterns::testing::open;
    use crate::transports::pipe::Pipe;

    #[test]
    fn a_message_that_comes_in_parts_is_whole_once_and_the_next_begins_then() {
        let (mut sender, mut receiver) = open::<EventLoop<true>, Pipe>(8);
        let (mut incoming, mut message) = (Incoming::default(), [0; 8]);
        assert!(!incoming.read(&mut receiver, &mut message).expect("it refuses"), "nothing is there");
        sender.send(b"abc").expect("room");
        assert!(incoming.read(&mut receiver, &mut message).expect("a part"));
        assert!(!incoming.take(8), "a part is no message");
        sender.send(b"defgh").expect("room");
        assert!(incoming.read(&mut receiver, &mut message).expect("the rest"));
        assert!(incoming.take(8) && !incoming.take(8));
        assert_eq!(&message, b"abcdefgh");
    }

    #[test]
    fn a_second_message_before_the_answer_is_an_error() {
        let (mut sender, mut receiver) = open::<EventLoop<true>, Pipe>(8);
        sender.send(b"abcdefgh!").expect("room");
        Incoming::default().read(&mut receiver, &mut [0; 8]).expect_err("more than was asked for");
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error_and_no_message() {
        let (sender, mut receiver) = open::<EventLoop<true>, Pipe>(8);
        drop(sender);
        let error = Incoming::default().read(&mut receiver, &mut [0; 8]).expect_err("end of file");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

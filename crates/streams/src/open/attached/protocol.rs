//! What a process that opens a name and the process that holds the attachment say to each other, in packets of a local socket:
//!
//! 1. the holder: a [`Challenge`](super::node::Challenge), 8 bytes;
//! 2. the other: [`Asked`], one byte, after it has answered the challenge by locks;
//! 3. the holder: [`Answer`], five bytes, with the descriptors of an end. [`Answer::Wait`] comes before another one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os::{abstract_socket, descriptors};

use crate::error::{Errno, Result};

/// What the holder is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Open,
    Detach,
}

impl Asked {
    pub fn send(self, socket: impl AsFd) -> Result<()> {
        let byte = match self {
            Asked::Open => b'o',
            Asked::Detach => b'd',
        };
        Ok(abstract_socket::send(socket, &[byte])?)
    }

    /// The request that has come. None for anything else, and when the other has left.
    pub fn receive(socket: impl AsFd) -> Option<Asked> {
        // Descriptors that come are closed by the kernel: no room is left for them.
        match abstract_socket::receive_now(socket) {
            Ok(Some(b'o')) => Some(Asked::Open),
            Ok(Some(b'd')) => Some(Asked::Detach),
            _ => None,
        }
    }
}

/// The holder's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The attached end.
    Stream,
    /// An end of a pipe whose other end was sent to the server.
    Connection,
    /// There is going to be a connection when the server has room for it.
    Wait,
    Detached,
    Refused(Errno),
}

/// The length of an answer.
const LEN: usize = 5;

impl Answer {
    fn bytes(self) -> [u8; LEN] {
        let (kind, number) = match self {
            Answer::Stream => (b's', 0),
            Answer::Connection => (b'c', 0),
            Answer::Wait => (b'w', 0),
            Answer::Detached => (b'd', 0),
            Answer::Refused(errno) => (b'e', errno.number()),
        };
        let [one, two, three, four] = number.to_le_bytes();
        [kind, one, two, three, four]
    }

    fn of([kind, number @ ..]: [u8; LEN]) -> Option<Answer> {
        match (kind, i32::from_le_bytes(number)) {
            (b's', 0) => Some(Answer::Stream),
            (b'c', 0) => Some(Answer::Connection),
            (b'w', 0) => Some(Answer::Wait),
            (b'd', 0) => Some(Answer::Detached),
            // As the kernel numbers errors.
            (b'e', number @ 1..4096) => Some(Answer::Refused(Errno::new(number))),
            _ => None,
        }
    }

    pub fn send(self, socket: impl AsFd, files: &[BorrowedFd<'_>]) -> Result<()> {
        super::holder::send(socket, &self.bytes(), files)
    }

    /// The answer that has come, with its descriptors. `Ok(None)` for something else.
    ///
    /// Errors: those of recvmsg(2); `UnexpectedEof` when the holder has closed the connection.
    pub fn receive(socket: impl AsFd) -> std::io::Result<Option<(Answer, Vec<OwnedFd>)>> {
        let mut bytes = [0; LEN + 1];
        let (count, files) = descriptors::receive_bytes(socket.as_fd(), &mut bytes)?;
        let answer = bytes.first_chunk().filter(|_| count == LEN).and_then(|bytes| Answer::of(*bytes));
        Ok(answer.map(|answer| (answer, files)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn answers_arrive_as_they_were_sent_and_nothing_else_is_one() {
        let (here, there) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (here, there) = (OwnedFd::from(here), OwnedFd::from(there));
        for answer in [Answer::Stream, Answer::Connection, Answer::Wait, Answer::Detached, Answer::Refused(Errno::Nxio)]
        {
            answer.send(&here, &[]).expect("room");
            assert_eq!(Answer::receive(&there).expect("sent").expect("an answer").0, answer);
        }
        for strange in [&b"s"[..], b"sxxxx", b"e\0\0\0\0", b"e\xff\xff\xff\xff", b"qqqqq", b"s\0\0\0\0\0"] {
            abstract_socket::send(&here, strange).expect("room");
            assert!(Answer::receive(&there).expect("sent").is_none(), "{strange:?}");
        }
        drop(here);
        assert_eq!(Answer::receive(&there).expect_err("the end").kind(), std::io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_request_is_one_known_byte() {
        let (here, there) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (here, there) = (OwnedFd::from(here), OwnedFd::from(there));
        for asked in [Asked::Open, Asked::Detach] {
            asked.send(&here).expect("room");
            assert_eq!(Asked::receive(&there), Some(asked));
        }
        abstract_socket::send(&here, b"x").expect("room");
        assert_eq!(Asked::receive(&there), None);
        drop(here);
        assert_eq!(Asked::receive(&there), None);
    }
}

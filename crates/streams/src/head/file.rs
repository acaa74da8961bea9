//! Passing open files (I_SENDFD, I_RECVFD): the file goes through the doorbell, and an M_PASSFP keeps its place in the
//! stream.

use std::os::fd::{BorrowedFd, OwnedFd};

use headwater_os::doorbell::Answer;

use super::get::Taken;
use super::state::{self, Call};
use super::stream::Stream;
use super::wait::in_ms;
use crate::error::{Errno, Error, Result};
use crate::message::Message;
use crate::message::kind::{Kind, What};
use crate::process::end::Access;

/// How long a file may lag behind its message: its sender has sent it before.
const LAG_MS: u64 = 1000;

impl Stream {
    /// Sends an open file to the other end.
    ///
    /// # Errors
    /// `EINVAL` for a FIFO, whose writers are not connected to one reader; `EAGAIN` when the stream is full; else as
    /// [`Stream::write`].
    pub fn send_file(&mut self, file: BorrowedFd<'_>) -> Result<()> {
        self.attach()?;
        self.check_write()?;
        if self.end.access != Access::Both {
            return Err(Error::new(Errno::Inval, "a file is passed through a pipe, and not through a FIFO"));
        }
        if !self.can_put(0)? {
            return Err(Error::again("the stream is full (its queue is above hiwat)"));
        }
        self.end.doorbell().pass(file)?;
        let done = self.send(Message::new(What::of(Kind::PassFile), None, Some(&[0])));
        self.settle(done)
    }

    /// Takes an open file that the other end has sent. If several processes read the same end, the one that takes it may
    /// find that another has received it.
    ///
    /// # Errors
    /// `EBADMSG` if the message at the front is another; `EAGAIN` for a non-blocking handle when nothing is there; `ENXIO`
    /// at the end of the stream; `EMFILE` without a free descriptor.
    pub fn receive_file(&mut self) -> Result<OwnedFd> {
        self.attach()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let done = self.take_file_message();
            if self.settle(done)? {
                return self.take_file();
            }
            if !self.wait_for_more(1)? {
                return Err(Error::new(Errno::Nxio, "the stream has ended, and no file is there"));
            }
        }
    }

    /// Takes the message. False if nothing is there.
    fn take_file_message(&mut self) -> Result<bool> {
        let all = Taken::ALL;
        let taken = self.take_front(|_, _, item| match item.what.kind {
            Kind::PassFile => Ok(((), Some(all))),
            _ => Err(Error::new(Errno::Badmsg, "the message at the front is no open file")),
        })?;
        Ok(taken.is_some())
    }

    fn take_file(&mut self) -> Result<OwnedFd> {
        let until_ns = in_ms(LAG_MS);
        while self.end.files.is_empty() && headwater_os::clock::now_ns() < until_ns {
            match self.end.doorbell().answer()? {
                Answer::File(file) => self.end.files.push(file),
                // A bell that lay before it. Its state then says more than there is; the next arming is in vain, once.
                Answer::Bell => self.end.bell_taken(),
                Answer::Nothing => std::thread::yield_now(),
                Answer::Gone => break,
            }
        }
        if self.end.files.is_empty() {
            return Err(Error::new(Errno::Io, "the file did not come: another process that reads this end has it"));
        }
        Ok(self.end.files.remove(0))
    }
}

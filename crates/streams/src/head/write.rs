//! write and writev: bytes without boundaries.

use std::io::IoSlice;
use std::sync::atomic::Ordering;

use super::handle::Handle;
use super::state::{self, Call, WRITE_ERROR};
use crate::error::{Errno, Error, Result, fixed};
use crate::events;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::direction::Direction;
use crate::process::end::{Access, Role};
use crate::queue::lane::writer::Quick;
use crate::sched::Run;

impl Handle {
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if let Some(me) = self.end.member() {
            if !self.out.chain.is_empty() {
                // The end of the peer is visible in words that a reader checks, but modules do not.
                if !self.end.peer_gone && self.out.writer.is_open_for(bytes.len()) {
                    return self.write_through(bytes);
                }
            } else {
                match self.out.writer.quick(me, bytes) {
                    Quick::Done => return Ok(bytes.len()),
                    Quick::Attend => {
                        self.wake_far_reader(true, false)?;
                        return Ok(bytes.len());
                    }
                    Quick::Refused => {}
                }
            }
        }
        self.write_slowly(bytes)
    }

    /// Writes all bytes if that needs no check, no wait and no module; else none, and [`Stream::write`] does it. A handle of
    /// [`Stream::place`]: it takes nothing from what a stream tells its handles at each call.
    ///
    /// [`Stream::write`]: crate::Stream::write
    /// [`Stream::place`]: crate::Stream::place
    #[doc(hidden)]
    #[inline(always)]
    pub fn write_quickly(&mut self, bytes: &[u8]) -> Result<bool> {
        let Some(me) = self.end.member() else { return Ok(false) };
        if !self.out.chain.is_empty() {
            return Ok(false);
        }
        match self.out.writer.quick(me, bytes) {
            Quick::Done => Ok(true),
            Quick::Attend => self.attend_to_reader(),
            Quick::Refused => Ok(false),
        }
    }

    #[cold]
    #[inline(never)]
    fn attend_to_reader(&mut self) -> Result<bool> {
        self.nested = false;
        self.wake_far_reader(true, false).map(|()| true)
    }

    /// Sends short data through the modules, if their queues are empty and there is room in the lane.
    #[inline]
    fn write_through(&mut self, bytes: &[u8]) -> Result<usize> {
        if !self.out.data.takes_all {
            return self.write_as_message(bytes);
        }
        let sent = self.with_modules(true, |handle| {
            let Handle { out: Direction { writer, chain, data, .. }, end, .. } = handle;
            let lane = writer.enter_quick(end.me(), bytes.len())?;
            Some(data.send(lane, chain, bytes))
        });
        let Some((done, asleep)) = sent else { return self.write_slowly(bytes) };
        if asleep {
            self.wake_far_reader(true, false)?;
        }
        done.map(|()| bytes.len())
    }

    #[inline(never)]
    fn write_as_message(&mut self, bytes: &[u8]) -> Result<usize> {
        self.end.check_open()?;
        // Another thread may have made the end non-blocking.
        self.end.set_limit(self.limit());
        let sent = self.run_inlined(true, |run| {
            // Closed if something has changed.
            let open = run.lane.is_open_for(bytes.len());
            if open { run.put(0, Message::data_of(bytes)).map(|()| true) } else { Ok(false) }
        })?;
        if sent { Ok(bytes.len()) } else { self.write_slowly(bytes) }
    }

    pub(crate) fn writev(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        match pieces {
            [] => Ok(0),
            [piece] => self.write(piece),
            // One message, so that no other writer's bytes come between them.
            pieces => self.with_scratch(|handle, whole| {
                whole.clear();
                pieces.iter().try_for_each(|piece| whole.extend_from_slice(piece))?;
                handle.write(whole)
            }),
        }
    }

    #[inline(never)]
    fn write_slowly(&mut self, bytes: &[u8]) -> Result<usize> {
        self.attach()?;
        events::write(self.end.region.inode, self.end.side as u8, bytes.len() as u64);
        let done = self.write_pieces(bytes);
        self.remember_failure(done)
    }

    fn write_pieces(&mut self, bytes: &[u8]) -> Result<usize> {
        if bytes.is_empty() {
            return self.write_nothing();
        }
        let maxpsz = self.data_sizes(bytes.len())?;
        let mut written = 0;
        while written < bytes.len() {
            let step = self.write_piece(&bytes[written..], maxpsz);
            match step {
                Ok(count) => written += count,
                // The bytes written before are reported first.
                Err(error) if written > 0 && matches!(error.errno(), Errno::Again | Errno::Intr) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Writes one message of at most maxpsz bytes, waiting for room if need be.
    fn write_piece(&mut self, bytes: &[u8], maxpsz: usize) -> Result<usize> {
        let piece = &bytes[..bytes.len().min(maxpsz)];
        let mut message = Message::data_of(piece);
        message.header.delimited = piece.len() == bytes.len() && self.write_options().delimit;
        self.send(message)?;
        Ok(piece.len())
    }

    /// A write of no bytes sends a message only if it is told to (SNDZERO).
    fn write_nothing(&mut self) -> Result<usize> {
        self.check_write()?;
        if self.write_options().zero {
            self.data_sizes(0)?;
            self.send(Message::new(MessageHeader::of(Kind::Data), None, Some(&[])))?;
        }
        Ok(0)
    }

    /// Sends a message of any kind when there is room for it; one of high priority at once.
    pub(crate) fn send(&mut self, message: Message<'_>) -> Result<()> {
        self.send_with(message.header, |run| run.put(0, message.clone()))
    }

    /// Calls `put`, once, when there is room for a message like that.
    pub(crate) fn send_with<'m>(
        &mut self,
        header: MessageHeader,
        mut put: impl FnMut(&mut Run<'_, 'm>) -> Result<()>,
    ) -> Result<()> {
        loop {
            self.check_write()?;
            let sent = self.run_inlined(true, |run| {
                let room = header.kind.is_high_priority() || run.can_put_from(0, header.band)?;
                if room {
                    put(run)?;
                }
                Ok(room)
            })?;
            if sent {
                return Ok(());
            }
            self.wait_or_refuse(header.band)?;
        }
    }

    /// Checks whether a write may continue. If there is no reader or the stream has a write error, SIGPIPE is raised
    /// where the write options say so (SNDPIPE), as a pipe of the kernel does; Rust programs ignore it unless they are
    /// told otherwise.
    pub(crate) fn check_write(&mut self) -> Result<()> {
        // Before the check, which clears an error that is reported once.
        let has_error = self.end.words().state.load(Ordering::Relaxed) & WRITE_ERROR != 0;
        let checked = self.may_write();
        if let Err(error) = &checked
            && (has_error || error.errno() == Errno::Pipe)
        {
            self.raise_sigpipe();
        }
        checked
    }

    #[cold]
    pub(super) fn raise_sigpipe(&self) {
        if self.write_options().pipe && self.end.role == Role::User {
            headwater_os::signal::raise_sigpipe();
        }
    }

    /// As [`Handle::check_write`], without a signal.
    pub(super) fn may_write(&mut self) -> Result<()> {
        self.end.check_access(Access::Write)?;
        self.end.look_for_peer()?;
        if self.out.writer.is_to_ask() && !(self.out.chain.is_empty() && self.end.wake_up_tells()) {
            self.end.ask_for_peer()?;
            self.out.writer.trust_reader();
        }
        let is_terminal = self.end.region.driver.is_some_and(|driver| driver.info().second_name.is_some());
        if self.end.peer_gone {
            return Err(if is_terminal {
                terminal_gone()
            } else {
                fixed!(Pipe, "the other end of the stream is gone")
            });
        }
        if self.end.shut_to_write() {
            return Err(fixed!(Pipe, "this direction of the stream was shut down"));
        }
        match state::check(self.end.words(), Call::Write) {
            // A hang-up.
            Err(error) if is_terminal && error.errno() == Errno::Nxio => Err(terminal_gone()),
            checked => checked,
        }
    }
}

/// What a write fails with to a terminal whose other side has gone (POSIX, General Terminal Interface, Modem Disconnect).
fn terminal_gone() -> Error {
    fixed!(Io, "the other side of the pair is closed")
}

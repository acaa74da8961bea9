//! read and readv: bytes, in the ways that the read options choose from.

use std::io::{self, IoSliceMut};
use std::sync::atomic::Ordering;

use super::front::Item;
use super::options::{ControlMode, ReadMode, ReadOptions, WriteOptions};
use super::state::{self, Call};
use super::stream::Stream;
use crate::error::{Errno, Error, Result};
use crate::events;
use crate::limits::EMPTY_MAX;
use crate::message::Message;
use crate::message::kind::{Kind, What};
use crate::process::end::Access;
use crate::queue::lane::writer::Quick;
use crate::queue::store::HEAD;

/// What one look at the queue gave a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// So many bytes more, and the call may go on.
    More(usize),
    /// So many bytes more, and the call is over.
    Last(usize),
    /// The queue is empty.
    Empty,
}

impl Stream {
    /// Reads bytes as the read options say, at most as many as the buffer takes; waits until there are some. 0 is the end
    /// of the stream, or a message without bytes.
    ///
    /// # Errors
    /// `EAGAIN` for a non-blocking handle when nothing is there; `EBADMSG` for a control part, or another message that
    /// read does not take; what a module raised; `EINTR` after a signal; `EPROTO` on a broken stream.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let Some(me) = self.end.member() {
            match self.back.reader.quick(me, buffer) {
                Quick::Done => return Ok(buffer.len()),
                Quick::Attend => {
                    self.attend_writer()?;
                    return Ok(buffer.len());
                }
                Quick::Refused => {}
            }
        }
        self.read_slowly(buffer)
    }

    /// Reads into several buffers as if they were one.
    ///
    /// # Errors
    /// As [`Stream::read`].
    pub fn readv(&mut self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        if let [buffer] = buffers {
            return self.read(buffer);
        }
        let mut whole = vec![0; buffers.iter().map(|buffer| buffer.len()).sum()];
        let count = self.read(&mut whole)?;
        let mut rest = &whole[..count];
        for buffer in buffers {
            let (now, later) = rest.split_at(rest.len().min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            rest = later;
        }
        Ok(count)
    }

    #[inline(never)]
    fn read_slowly(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.attach()?;
        events::read(self.end.region.inode, self.end.side as u8, buffer.len() as u64);
        let done = self.read_until_enough(buffer);
        self.settle(done)
    }

    fn read_until_enough(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut read = 0;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let options = self.read_options();
            if self.end.region.policy.stages && !self.nonblocking && self.back.reader.known() == 0 {
                let lane = &self.back.reader;
                self.gather.before_look(lane.found(), buffer.len() - read, lane.hiwat(), self.out.writer.sent());
            }
            // A look from without the token, which costs less than one under it.
            let there = self.back.reader.known() != 0 || self.back.is_readable();
            if there && options.mode == ReadMode::Bytes && self.read_plain(&mut buffer[read..])? {
                return Ok(buffer.len());
            }
            let step = if there { self.read_step(&mut buffer[read..], options, read)? } else { Step::Empty };
            match step {
                Step::Last(count) => return Ok(read + count),
                Step::More(count) => read += count,
                Step::Empty if read > 0 && !options.fill => return Ok(read),
                Step::Empty => match self.wait_for_more(buffer.len() - read) {
                    Ok(true) => {}
                    Ok(false) => return Ok(read),
                    // What was read before is said first.
                    Err(error) if read > 0 && matches!(error.errno(), Errno::Again | Errno::Intr) => return Ok(read),
                    Err(error) => return Err(error),
                },
            }
            if read == buffer.len() {
                return Ok(read);
            }
        }
    }

    /// Fills the buffer if the token is ours and so much plain data stands at the front: what most reads after a wait find.
    fn read_plain(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let (_, me, _) = self.end.parts();
        let taken =
            if self.back.store.is_empty(HEAD) { self.back.reader.look_and_take(me, buffer)? } else { Quick::Refused };
        if taken == Quick::Attend {
            self.attend_writer()?;
        }
        Ok(taken != Quick::Refused)
    }

    /// Takes what one hold of the token gives.
    fn read_step(&mut self, buffer: &mut [u8], options: ReadOptions, read: usize) -> Result<Step> {
        let mut room = false;
        let (region, me, _) = self.end.parts();
        let way = &mut self.back;
        let pass = way.begin_reading(me)?;
        let step = (|| {
            let (mut taken, mut empty) = (0, 0);
            loop {
                let Some(item) = way.front_but_signals(me, region, &mut room)? else {
                    return Ok(match taken {
                        0 => Step::Empty,
                        taken if options.mode != ReadMode::Bytes => Step::Last(taken),
                        taken => Step::More(taken),
                    });
                };
                if item.is_plain() {
                    taken += way.reader.take_plain(&mut buffer[taken..]);
                    if taken == buffer.len() {
                        return Ok(Step::Last(taken));
                    }
                    continue;
                }
                if taken > 0 && options.mode != ReadMode::Bytes {
                    // The bytes before it are one message.
                    return Ok(Step::Last(taken));
                }
                let before = read + taken;
                let (control, data) = match parts(&item, options) {
                    Ok(parts) => parts,
                    // The bytes before it are read first.
                    Err(_) if before > 0 => return Ok(Step::Last(taken)),
                    Err(error) => return Err(error),
                };
                if control + data == 0 {
                    let is_end = item.control.is_none();
                    if is_end && before > 0 {
                        return Ok(Step::Last(taken));
                    }
                    room |= way.take(me, &item, 0, 0, true)?;
                    empty += 1;
                    if empty > EMPTY_MAX {
                        return Err(Error::corrupt("a queue has no end"));
                    }
                    if is_end {
                        return Ok(Step::Last(taken));
                    }
                    continue;
                }
                let control = if control > 0 { way.copy_control(me, &item, &mut buffer[taken..])? } else { 0 };
                let count = way.copy_data(me, &item, &mut buffer[taken + control..])?;
                taken += control + count;
                let left = item.control.unwrap_or(0) + item.data.unwrap_or(0) - control - count;
                let rest = options.mode == ReadMode::MessageDiscard
                    || options.control == ControlMode::Discard && count == item.data.unwrap_or(0);
                room |= way.take(me, &item, control, count, rest)?;
                let ends = item.what.delimited && (left == 0 || rest);
                if taken == buffer.len() || options.mode != ReadMode::Bytes || ends {
                    return Ok(Step::Last(taken));
                }
            }
        })();
        way.end_reading(me, pass, options);
        self.after_taking(room)?;
        step
    }

    /// Tells those who wait for room.
    pub(crate) fn after_taking(&mut self, room: bool) -> Result<()> {
        if room {
            self.service_back()?;
        }
        if self.back.reader.writer_sleeps() { self.attend_writer() } else { Ok(()) }
    }

    /// The queue is empty: waits for `wanted` bytes or less. False at the end of the stream.
    pub(crate) fn wait_for_more(&mut self, wanted: usize) -> Result<bool> {
        self.end.check_access(Access::Read)?;
        self.end.look_for_peer()?;
        if self.nonblocking {
            // A peer that was killed has said nothing; who waits is told by the kernel.
            self.end.ask_for_peer()?;
        }
        if self.back.is_readable() {
            return Ok(true);
        }
        if self.is_at_end() {
            // What its modules still hold comes before the end.
            return self.drain_back();
        }
        self.refuse_to_read()?;
        if !self.nonblocking {
            let slept = self.end.counters.blocks;
            self.say_how_much(wanted)?;
            self.wait_to_read(None)?;
            if self.end.counters.blocks != slept {
                self.gather.forget();
            }
        }
        Ok(true)
    }

    /// Tells the other head how much we wait for (M_READ), and how long we let it gather.
    fn say_how_much(&mut self, wanted: usize) -> Result<()> {
        let own = &self.end.region.fixed.lanes[1 - self.end.side].reader.0.wanted;
        if WriteOptions::notifies(self.end.words()) {
            let words = (wanted as u32).min(self.end.region.gather_max()).to_le_bytes();
            return self.run(true, |run| run.put(0, Message::new(What::of(Kind::Read), None, Some(&words))));
        }
        // A writer that holds back gathers a buffer.
        let wanted = if WriteOptions::holds(self.end.peer_words()) { crate::limits::PAGE as u32 } else { 0 };
        // Not written without need: a writer looks at this line at every write.
        if own.load(Ordering::Relaxed) != wanted {
            own.store(wanted, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// How many bytes of each part a read takes.
fn parts(item: &Item, options: ReadOptions) -> Result<(usize, usize)> {
    let data = item.data.unwrap_or(0);
    match item.what.kind {
        Kind::Data => Ok((0, data)),
        Kind::Proto | Kind::PcProto => match (options.control, item.control) {
            (_, None) => Ok((0, data)),
            (ControlMode::Refuse, _) => Err(Error::new(Errno::Badmsg, "a message with a control part is at the front")),
            (ControlMode::AsData, Some(control)) => Ok((control, data)),
            (ControlMode::Discard, _) => Ok((0, data)),
        },
        _ => Err(Error::new(Errno::Badmsg, "a message that read does not take is at the front")),
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(Stream::read(self, buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.readv(buffers)?)
    }
}

//! read and readv: bytes, in the ways that the read options choose from.

use std::io::IoSliceMut;
use std::sync::atomic::Ordering;

use headwater_os::doorbell::Packet;

use super::get::Taken;
use super::handle::Handle;
use super::options::{ControlMode, ReadMode, ReadOptions, WriteOptions};
use super::peeked::{PeekedMessage, ReadSide};
use super::state::{self, Call};
use super::wait::Input;
use crate::error::{Errno, Result, corrupt, fixed};
use crate::events;
use crate::limits::EMPTY_MAX;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::direction::Direction;
use crate::process::end::Access;
use crate::queue::lane::writer::Quick;
use crate::queue::store::HEAD;

/// The result of one look at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// This many more bytes, and the call may continue.
    More(usize),
    /// This many more bytes, and the call is over.
    Last(usize),
    /// The queue is empty.
    Empty,
}

/// When a reader that could not run service procedures tries again.
const SERVICE_AGAIN_NS: u64 = 10_000_000;

impl Handle {
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let Some(me) = self.end.member() {
            match self.back.reader.quick(me, buffer) {
                Quick::Done => return Ok(buffer.len()),
                Quick::Attend => {
                    self.tell_taken();
                    return Ok(buffer.len());
                }
                Quick::Refused => {}
            }
        }
        self.read_slowly(buffer)
    }

    /// Fills the buffer if that needs no check, no look and no wait; else takes nothing, and [`Stream::read`] does it. As
    /// [`Handle::write_quickly`].
    ///
    /// [`Stream::read`]: crate::Stream::read
    #[doc(hidden)]
    #[inline(always)]
    pub fn read_quickly(&mut self, buffer: &mut [u8]) -> bool {
        let Some(me) = self.end.member() else { return false };
        match self.back.reader.quick(me, buffer) {
            Quick::Done => true,
            Quick::Attend => {
                self.nested = false;
                self.tell_taken();
                true
            }
            Quick::Refused => false,
        }
    }

    pub(crate) fn readv(&mut self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        if let [buffer] = buffers {
            return self.read(buffer);
        }
        let len = buffers.iter().map(|buffer| buffer.len()).sum();
        self.with_scratch(|handle, whole| {
            whole.resize(len, 0)?;
            let count = handle.read(whole)?;
            let mut rest = &whole[..count];
            for buffer in buffers {
                let (now, later) = rest.split_at(rest.len().min(buffer.len()));
                buffer[..now.len()].copy_from_slice(now);
                rest = later;
            }
            Ok(count)
        })
    }

    #[inline(never)]
    fn read_slowly(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.attach()?;
        events::read(self.end.region.inode, self.end.side as u8, buffer.len() as u64);
        if buffer.is_empty() {
            self.end.check_access(Access::Read)?;
            return state::check(self.end.words(), Call::Read).map(|()| 0);
        }
        let mut taken = 0;
        let done = self.read_until_enough(buffer, &mut taken);
        let done = self.remember_failure(done);
        // The bytes taken are reported first: no other call can read them. The next call detects a lasting fault.
        if taken > 0 { Ok(taken) } else { done.map(|()| 0) }
    }

    /// Counts the bytes that it takes, also those before an error.
    fn read_until_enough(&mut self, buffer: &mut [u8], taken: &mut usize) -> Result<()> {
        loop {
            let read = *taken;
            state::check(self.end.words(), Call::Read)?;
            let options = self.read_options();
            if self.end.region.policy.stages && !self.nonblocking && self.back.reader.known() == 0 {
                let lane = &self.back.reader;
                self.batching.before_look(lane.found(), buffer.len() - read, lane.hiwat(), self.out.writer.sent());
            }
            // A check without the lock, which costs less than one under it.
            let there = self.back.reader.known() != 0 || self.back.is_readable();
            if there && options.mode == ReadMode::Bytes && self.read_plain(&mut buffer[read..])? {
                *taken = buffer.len();
                return Ok(());
            }
            let step = if there { self.read_step(&mut buffer[read..], options, read)? } else { Step::Empty };
            match step {
                Step::Last(count) => {
                    *taken += count;
                    return Ok(());
                }
                Step::More(count) => *taken += count,
                Step::Empty if read > 0 && !options.fill => return Ok(()),
                Step::Empty => {
                    if !self.wait_for_more(buffer.len() - read)? {
                        return Ok(());
                    }
                }
            }
            if *taken == buffer.len() {
                return Ok(());
            }
        }
    }

    /// Fills the buffer if the lock is ours and so much plain data stands at the front: the usual case after a wait.
    fn read_plain(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let (_, me, _) = self.end.parts();
        let Direction { reader, store, .. } = &mut self.back;
        let taken = reader.look_and_take(me, buffer, || store.is_empty(HEAD))?;
        if taken == Quick::Attend {
            self.tell_taken();
        }
        Ok(taken != Quick::Refused)
    }

    /// Takes the data that one hold of the lock finds.
    fn read_step(&mut self, buffer: &mut [u8], options: ReadOptions, read: usize) -> Result<Step> {
        let Handle { back, end, .. } = self;
        let mut side = back.begin_reading(end, options)?;
        let step = side.read(buffer, options, read);
        let room = side.end();
        self.after_taking(room);
        step
    }

    /// Notifies the waiters for room, after a take or when there was nothing. An error does not lose the bytes taken:
    /// the next call detects a lasting fault.
    pub(crate) fn after_taking(&mut self, room: bool) {
        let told = self.tell_writers(room);
        let _ = self.remember_failure(told);
    }

    /// As [`Handle::after_taking`], when a writer is known to sleep.
    #[cold]
    fn tell_taken(&mut self) {
        let told = self.wake_far_writer();
        let _ = self.remember_failure(told);
    }

    fn tell_writers(&mut self, room: bool) -> Result<()> {
        if room || self.back.store.is_memory_awaited() {
            self.service_if_free(false)?;
        }
        self.serve_owed_to_reader()?;
        if self.back.reader.writer_sleeps() { self.wake_far_writer() } else { Ok(()) }
    }

    /// The queue is empty: waits for `wanted` bytes or less. False at the end of the stream.
    pub(crate) fn wait_for_more(&mut self, wanted: usize) -> Result<bool> {
        self.wait_for_or_refuse(wanted, Input::Any)
    }

    /// What is at the front is not wanted: waits for a message that goes before it. `seen` is the count of arrivals before the look.
    /// False at the end of the stream.
    pub(crate) fn wait_for_front(&mut self, seen: u64) -> Result<bool> {
        self.wait_for_or_refuse(1, Input::Before(seen))
    }

    fn wait_for_or_refuse(&mut self, wanted: usize, input: Input) -> Result<bool> {
        self.end.check_access(Access::Read)?;
        self.end.look_for_peer()?;
        if self.nonblocking {
            // A killed peer has sent no notification; the kernel reports its death to a waiter.
            self.end.ask_for_peer()?;
            self.serve_now()?;
        }
        if self.has(input) {
            return Ok(true);
        }
        if self.is_at_end() && (input == Input::Any || !self.nonblocking) {
            // The locks held there are free, if no process can come again.
            self.end.set_limit(self.limit());
            // Messages that its modules still hold come before the end.
            let more = self.drain_back()? && self.has(input);
            if !more && self.end.peer_gone {
                self.refuse_strangers()?;
            }
            return Ok(more);
        }
        let asks = WriteOptions::notifies(self.end.words()) && input == Input::Any;
        if asks {
            // Before the call waits, or is refused.
            self.send_read_request(wanted)?;
            if self.back.is_readable() {
                return Ok(true);
            }
        }
        self.refuse_to_read(input)?;
        if !self.nonblocking {
            let slept = self.end.counters.blocks;
            if !asks && input == Input::Any {
                self.send_read_request(wanted)?;
            }
            if self.owes_service() {
                // The waiters for room were not serviced, because a writer was in the middle of a call.
                self.wake_far_writer()?;
                let soon_ns = headwater_os::clock::now_ns() + SERVICE_AGAIN_NS;
                return match self.wait_to_read(input, Some(soon_ns)) {
                    Err(error) if error.errno() == Errno::Time => Ok(true),
                    waited => waited.map(|()| true),
                };
            }
            self.wait_to_read(input, None)?;
            if self.end.counters.blocks != slept {
                self.batching.forget();
            }
        }
        Ok(true)
    }

    /// Checks whether the rest in the descriptor was written by a program that does not use the library, and has ended:
    /// that is no end of the stream.
    #[cold]
    fn refuse_strangers(&mut self) -> Result<()> {
        if matches!(self.end.doorbell().peek()?, Packet::Nothing | Packet::Gone) {
            return Ok(());
        }
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let side = match back.begin_reading(end, options) {
            // A user in the middle of a read there checks it as well.
            Err(error) if error.is_held() => return Ok(()),
            side => side?,
        };
        end.inbox().refuse_strangers(|| side.is_readable())
    }

    /// Tells the other head for how many bytes this reader waits (M_READ), and how many it may collect.
    fn send_read_request(&mut self, wanted: usize) -> Result<()> {
        let own = &self.end.region.fixed.lanes[1 - self.end.side].reader.0.wanted;
        if WriteOptions::notifies(self.end.words()) {
            let words = (wanted as u32).min(self.end.region.gather_max()).to_le_bytes();
            return self.run(true, |run| run.put(0, Message::new(MessageHeader::of(Kind::Read), None, Some(&words))));
        }
        // A writer that holds back collects a page.
        let wanted = if WriteOptions::holds(self.end.peer_words()) { crate::limits::PAGE as u32 } else { 0 };
        // Not written without need: a writer looks at this line at every write.
        if own.load(Ordering::Relaxed) != wanted {
            own.store(wanted, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl ReadSide<'_> {
    /// Reads until the buffer is full, the options say that it is enough, or nothing is left. The call has already
    /// `read` this many bytes.
    #[inline]
    fn read(&mut self, buffer: &mut [u8], options: ReadOptions, read: usize) -> Result<Step> {
        let (mut taken, mut empty) = (0, 0);
        loop {
            let front = match self.front_but_signals() {
                // The bytes taken before are returned first.
                Err(error) if !error.is_fatal() && taken > 0 => return Ok(Step::Last(taken)),
                front => front?,
            };
            let Some(item) = front else {
                return Ok(if taken > 0 { Step::More(taken) } else { Step::Empty });
            };
            if item.is_plain() && options.mode == ReadMode::Bytes {
                taken += self.lane.take_plain(&mut buffer[taken..]);
                if taken == buffer.len() {
                    return Ok(Step::Last(taken));
                }
                continue;
            }
            if item.is_plain() {
                return self.read_run(buffer, options);
            }
            let before = read + taken;
            if item.header.marked && before > 0 {
                return Ok(Step::Last(taken));
            }
            let control = match ControlUse::of(item.header, item.control, options) {
                Ok(control) => control,
                // The bytes before it are returned first.
                Err(_) if before > 0 => return Ok(Step::Last(taken)),
                Err(error) => return Err(error),
            };
            let there = control.to_read().unwrap_or(0) + item.data.unwrap_or(0);
            if there == 0 {
                // A message without bytes; or nothing, once its control part is discarded.
                let is_message = item.data.is_some() || !matches!(control, ControlUse::Discard(_));
                if is_message && before > 0 {
                    return Ok(Step::Last(taken));
                }
                self.take(&item, Taken::ALL)?;
                if is_message {
                    return Ok(Step::Last(taken));
                }
                empty += 1;
                if empty > EMPTY_MAX {
                    return Err(corrupt!("a queue has no end"));
                }
                continue;
            }
            let all = options.mode == ReadMode::MessageDiscard;
            let count = match self.read_message(&item, control, all, &mut buffer[taken..]) {
                Err(error) if !error.is_fatal() && taken > 0 => return Ok(Step::Last(taken)),
                count => count?,
            };
            taken += count;
            let ends = item.header.delimited && (all || count == there);
            if taken == buffer.len() || options.mode != ReadMode::Bytes || ends {
                return Ok(Step::Last(taken));
            }
        }
    }

    /// Reads plain data that was written before the mode was set: all of the available data is one message.
    fn read_run(&mut self, buffer: &mut [u8], options: ReadOptions) -> Result<Step> {
        self.lane.look()?;
        let count = self.lane.take_plain(buffer);
        if options.mode == ReadMode::MessageDiscard {
            self.lane.drop_plain(usize::MAX);
        }
        Ok(Step::Last(count))
    }

    /// Takes the bytes of a message with boundaries for which the buffer has room; and discards the rest, if `all`.
    #[inline]
    fn read_message(
        &mut self,
        item: &PeekedMessage,
        control: ControlUse,
        all: bool,
        buffer: &mut [u8],
    ) -> Result<usize> {
        let copied = match control {
            ControlUse::Read(_) => self.copy_control(item, buffer)?,
            _ => 0,
        };
        let count = self.copy_data(item, &mut buffer[copied..])?;
        let control = match control {
            ControlUse::Discard(len) => Some(len),
            ControlUse::Read(_) => Some(copied),
            ControlUse::Nothing => None,
        };
        self.take(item, Taken { control, data: Some(count), all })?;
        Ok(copied + count)
    }
}

/// The handling of the control part at the front by a read, with the number of bytes left.
#[derive(Debug, Clone, Copy)]
pub(super) enum ControlUse {
    /// There is none.
    Nothing,
    Read(usize),
    Discard(usize),
}

impl ControlUse {
    /// Errors: `EBADMSG` for a message that the options do not let pass, or that no read takes.
    pub fn of(header: MessageHeader, control: Option<usize>, options: ReadOptions) -> Result<ControlUse> {
        match (header.kind, options.control, control) {
            (Kind::Data | Kind::Proto | Kind::PcProto, _, None) => Ok(ControlUse::Nothing),
            (Kind::Data | Kind::Proto | Kind::PcProto, control, Some(len)) => match control {
                ControlMode::Refuse => Err(fixed!(Badmsg, "a message with a control part is at the front")),
                ControlMode::AsData => Ok(ControlUse::Read(len)),
                ControlMode::Discard => Ok(ControlUse::Discard(len)),
            },
            _ => Err(fixed!(Badmsg, "a message that read does not take is at the front")),
        }
    }

    /// Bytes of it that are read as data.
    pub fn to_read(self) -> Option<usize> {
        match self {
            ControlUse::Read(len) => Some(len),
            _ => None,
        }
    }
}

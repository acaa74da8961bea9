//! Ioctls that go down the stream as messages: I_STR, whose data the caller hands over, and transparent ones, whose data lie
//! in the caller's memory and are copied when a module or driver asks for it.
//!
//! One ioctl is under way at an end at a time. The next waits for its turn at a lock, which is free when its holder has died.
//! The head sends an M_IOCTL with a number of its own and waits for the answer of that number ([`answer`]); a later answer is
//! discarded where it arrives. All waits, for the turn and for locks too, end with the ioctl's time-out.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::files;
use headwater_os::futex::Slept;
use headwater_shm::BiasedLock;

use super::handle::Handle;
use super::state::{self, Call};
use crate::error::{Errno, Error, Result, Text, fixed};
use crate::limits::IOCTL_TIMEOUT_S;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::{Kind, MessageHeader};
use crate::process::end::Access;
use crate::queue::store::ANSWERS;
use crate::sched::answer;

mod memory;

pub use memory::{MemoryAt, UserMemory};

/// How long an ioctl waits for its turn and its answer (ic_timout).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[doc(alias = "ic_timout")]
pub enum IoctlTimeout {
    /// [`IOCTL_TIMEOUT_S`], 15 seconds (0 in ic_timout).
    #[default]
    Usual,
    /// For this time.
    After(Duration),
    /// Until a signal handler runs (-1 in ic_timout, INFTIM).
    #[doc(alias = "INFTIM")]
    Never,
}

impl IoctlTimeout {
    /// Converts an ic_timout.
    ///
    /// # Errors
    /// `EINVAL` below -1 (SUSv2, ioctl of STREAMS, I_STR).
    #[doc = include_str!("../../doc/ioctl_blocks.md")]
    pub fn from_seconds(seconds: i32) -> Result<IoctlTimeout> {
        match seconds {
            0 => Ok(IoctlTimeout::Usual),
            -1 => Ok(IoctlTimeout::Never),
            1.. => Ok(IoctlTimeout::After(Duration::from_secs(seconds.unsigned_abs().into()))),
            _ => Err(Error::new(Errno::Inval, format!("a time-out of {seconds} seconds is neither a time nor -1"))),
        }
    }

    /// The time of the monotonic clock at which it is over.
    fn until_ns(self) -> u64 {
        let after = match self {
            IoctlTimeout::Usual => Duration::from_secs(IOCTL_TIMEOUT_S),
            IoctlTimeout::After(after) => after,
            IoctlTimeout::Never => return u64::MAX,
        };
        now_ns().saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// How long a waiting ioctl sleeps at first, and at most, before it checks whether the other end is alive. Its answer
/// wakes it.
const SLEEP_NS: u64 = 10_000_000;
const SLEEP_NS_MAX: u64 = 100_000_000;

impl Handle {
    pub(crate) fn ioctl(&mut self, command: u32, data: &mut Vec<u8>, timeout: IoctlTimeout) -> Result<i32> {
        let (len, most) = (data.len(), self.end.region.strmsgsz as usize);
        if len > most {
            return Err(Error::numbered(Text::IoctlTooLong, len as u64, most as u64));
        }
        let block = IoctlBlock { command, count: Some(len as u64), ..IoctlBlock::default() };
        // A caller that hands its data over has no addresses for a module.
        let (value, answer) = self.ioctl_of(block, data, &mut Vec::new(), timeout)?;
        *data = answer;
        Ok(value)
    }

    pub(crate) fn transparent_ioctl(
        &mut self,
        command: u32,
        argument: u64,
        memory: &mut dyn UserMemory,
    ) -> Result<i32> {
        let block = IoctlBlock { command, count: None, ..IoctlBlock::default() };
        self.ioctl_of(block, &argument.to_ne_bytes(), memory, IoctlTimeout::Never).map(|(value, _)| value)
    }

    /// Returns the answer's value, and its data.
    pub(crate) fn ioctl_of(
        &mut self,
        block: IoctlBlock,
        data: &[u8],
        memory: &mut dyn UserMemory,
        timeout: IoctlTimeout,
    ) -> Result<(i32, Vec<u8>)> {
        let done = UnderWay::begin(self, timeout.until_ns()).and_then(|mut ioctl| ioctl.perform(block, data, memory));
        self.remember_failure(done)
    }

    /// Checks whether an ioctl may be sent, or waited for.
    fn check_ioctl(&mut self) -> Result<()> {
        self.end.check_open()?;
        self.end.look_for_peer()?;
        if self.end.endpoint.access == Access::Both {
            self.end.ask_for_peer()?;
            if self.end.peer_gone {
                return Err(fixed!(Nxio, "the other end of the stream is gone"));
            }
        }
        state::check(self.end.words(), Call::Ioctl)
    }
}

/// The ioctl that is under way at an end. Dropping it ends it, after its answer, an error, or a panic of a module.
#[derive(Debug)]
struct UnderWay<'h> {
    handle: &'h mut Handle,
    /// Held, once it is its turn.
    turn: Option<BiasedLock>,
    id: u32,
}

impl UnderWay<'_> {
    /// Waits for its turn.
    fn begin(handle: &mut Handle, until_ns: u64) -> Result<UnderWay<'_>> {
        handle.call_until_ns = Some(until_ns);
        let mut ioctl = UnderWay { handle, turn: None, id: 0 };
        // Waits in here, too, end with the time.
        ioctl.handle.attach()?;
        ioctl.handle.check_ioctl()?;
        let side = ioctl.handle.end.side;
        let words = ioctl.handle.end.region.fixed.part(|fixed| &fixed.ends[side].0);
        let mut turn = BiasedLock::new(words.part(|end| &end.ioctl_lock), answer::lock_index(side));
        let (_, me, _) = ioctl.handle.end.parts();
        turn.hold(me)?;
        ioctl.turn = Some(turn);
        // 0 is no ioctl.
        ioctl.id = words.ioctls.load(Ordering::Relaxed).wrapping_add(1).max(1);
        words.ioctls.store(ioctl.id, Ordering::Relaxed);
        // Release: answers to an earlier one are not taken any more; see `answer`.
        words.ioctl.store(ioctl.id, Ordering::Release);
        Ok(ioctl)
    }

    fn perform(&mut self, block: IoctlBlock, data: &[u8], memory: &mut dyn UserMemory) -> Result<(i32, Vec<u8>)> {
        // Answers to an earlier one, whose caller was killed.
        while self.take_any()?.is_some() {}
        let (user, group) = (files::own_user(), files::own_group());
        let bytes = IoctlBlock { id: self.id, user, group, ..block }.bytes();
        self.send(Message::new(MessageHeader::of(Kind::Ioctl), Some(&bytes), Some(data)))?;
        loop {
            let (answer, block) = self.wait()?;
            let most = self.handle.end.region.strmsgsz as usize;
            let copied = match answer.header.kind {
                Kind::CopyIn => memory::copy_in(memory, &block, most).map(Some),
                Kind::CopyOut => memory::copy_out(memory, &block, answer.data().unwrap_or_default()).map(|()| None),
                kind => return outcome(kind, &block, answer),
            };
            // The module is notified also if nothing was copied, so that it releases its state for this ioctl.
            let (error, data) = match &copied {
                Ok(data) => (0, data.clone()),
                Err(error) => (error.errno().number(), None),
            };
            self.send(IoctlBlock { error, value: 0, ..block }.message(Kind::IocData, data))?;
            copied?;
        }
    }

    fn send(&mut self, message: Message<'_>) -> Result<()> {
        self.handle.run(true, |run| run.put(0, message))
    }

    /// Waits for an answer to this ioctl.
    fn wait(&mut self) -> Result<(Message<'static>, IoctlBlock)> {
        let mut sleep_ns = SLEEP_NS;
        loop {
            let words = self.handle.end.words();
            // Acquire pairs with the exchange in `answer::tell`: a later notification wakes us.
            let seen = words.answers.load(Ordering::Acquire);
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            self.handle.check_ioctl()?;
            // It sleeps where no file wakes it.
            self.handle.serve_in_background();
            self.handle.serve_times()?;
            let until_ns = self.handle.call_until_ns.unwrap_or(0);
            let left_ns = until_ns.saturating_sub(now_ns());
            if left_ns == 0 {
                return Err(fixed!(Time, "nobody has answered the ioctl in its time"));
            }
            let longest = Duration::from_nanos(left_ns.min(sleep_ns));
            let slept = answer::sleep(self.handle.end.words(), seen, longest)?;
            if slept == Slept::Interrupted {
                return Err(fixed!(Intr, "a signal handler ran"));
            }
            sleep_ns = (2 * sleep_ns).min(SLEEP_NS_MAX);
            // An answer of our own module may wait for another user of the direction back.
            self.handle.send_what_waits()?;
        }
    }

    /// The answer to this ioctl, if it is there.
    fn take(&mut self) -> Result<Option<(Message<'static>, IoctlBlock)>> {
        let Some(answer) = self.take_any()? else { return Ok(None) };
        let expected = matches!(answer.header.kind, Kind::IocAck | Kind::IocNak | Kind::CopyIn | Kind::CopyOut);
        // Any other message there comes from a process that breaks the protocol.
        let block = IoctlBlock::of(&answer).ok().filter(|block| expected && block.id == self.id);
        Ok(block.map(|block| (answer, block)))
    }

    /// A message among the answers, to any ioctl.
    fn take_any(&mut self) -> Result<Option<Message<'static>>> {
        let Handle { back, end, .. } = &mut *self.handle;
        if back.store.is_empty(ANSWERS) {
            return Ok(None);
        }
        let (_, me, _) = end.parts();
        let mut side = back.store.side(me);
        let mut store = side.lock()?;
        let Some(stored) = store.first(ANSWERS)? else { return Ok(None) };
        let message = store.copy(&stored)?;
        store.take(ANSWERS, &stored, None, None, true)?;
        drop(side);
        self.handle.after_taking(false);
        Ok(Some(message))
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.handle.call_until_ns = None;
        self.handle.end.set_limit(self.handle.limit());
        if let Some(mut turn) = self.turn.take() {
            self.handle.end.words().ioctl.store(0, Ordering::Release);
            let (_, me, _) = self.handle.end.parts();
            turn.leave(me);
            // The next ioctl may be another member's.
            turn.retire();
        }
    }
}

/// The result in the last answer.
fn outcome(kind: Kind, block: &IoctlBlock, answer: Message<'static>) -> Result<(i32, Vec<u8>)> {
    let refused = kind == Kind::IocNak;
    if refused || block.error != 0 {
        // If it is no number, no user of the library has written it.
        let number = if block.error > 0 { block.error } else { Errno::Inval.number() };
        let text = if refused { Text::IoctlRefused } else { Text::IoctlFailed };
        return Err(Error::numbered(text, number.unsigned_abs().into(), 0));
    }
    Ok((block.value, answer.data().unwrap_or_default().to_vec()))
}

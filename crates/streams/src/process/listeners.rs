//! The processes that are sent SIGPOLL or SIGURG for events at an end (I_SETSIG), and sending the signals.
//!
//! A registration stands in the memory of the process that has made it, which alone sends its signals. A process that brings a message, raises an error or makes room counts that in shared memory ([`SignalWords`]) after it has released its
//! locks, and wakes the threads of the processes that are registered. The words there say "look" and nothing more: what
//! other processes write there can make a registered process signal what it has registered itself, or not signal it.
//!
//! A process that causes an event at an end for which it is registered itself sends those signals before the call returns.
//! A signal that the kernel refuses is no failure of the call. A process that is killed before it counts the event leaves
//! the signals unsent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_os::fork_mutex::ForkMutex;
use headwater_os::futex;
use headwater_os::memory::SharedMemory;
use headwater_os::signal::{SIGPOLL, SIGURG, signal_own};
use headwater_os::watch::{ProcessId, signal_group};
use headwater_os::word_watch::WordWatch;
use headwater_shm::{Placed, probe};

use super::region::Region;
use crate::error::{Error, Result, Text, fixed};
use crate::layout::{EndWords, SIGNAL_EVENTS, SignalWords};
use crate::limits::LISTENERS;
use crate::message::kind::MessageHeader;

bitflags::bitflags! {
    /// The events that are reported to a process by a signal; the bits are those of I_SETSIG.
    ///
    /// ```
    /// use headwater_streams::SignalEvents;
    ///
    /// let events = SignalEvents::INPUT | SignalEvents::HANGUP;
    /// assert_eq!(events.bits(), 0x021);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    #[doc(alias = "I_SETSIG")]
    pub struct SignalEvents: u32 {
        /// A message that is not of high priority has arrived (S_INPUT).
        #[doc(alias = "S_INPUT")]
        const INPUT = 0x001;
        /// A message of high priority has arrived (S_HIPRI).
        #[doc(alias = "S_HIPRI")]
        const HIPRI = 0x002;
        /// A message of band 0 can be written, after one could not (S_OUTPUT, S_WRNORM).
        #[doc(alias = "S_OUTPUT")]
        #[doc(alias = "S_WRNORM")]
        const OUTPUT = 0x004;
        /// An M_SIG or M_PCSIG of SIGPOLL has reached the front (S_MSG).
        #[doc(alias = "S_MSG")]
        const MSG = 0x008;
        /// The stream has an error (S_ERROR).
        #[doc(alias = "S_ERROR")]
        const ERROR = 0x010;
        /// The stream was hung up, or the other end of a pipe was closed (S_HANGUP).
        #[doc(alias = "S_HANGUP")]
        const HANGUP = 0x020;
        /// A message of band 0 has arrived (S_RDNORM).
        #[doc(alias = "S_RDNORM")]
        const RDNORM = 0x040;
        /// A message of another band has arrived (S_RDBAND).
        #[doc(alias = "S_RDBAND")]
        const RDBAND = 0x080;
        /// A message of another band can be written, after one could not (S_WRBAND).
        #[doc(alias = "S_WRBAND")]
        const WRBAND = 0x100;
        /// SIGURG is sent for [`SignalEvents::RDBAND`], and not SIGPOLL (S_BANDURG).
        #[doc(alias = "S_BANDURG")]
        const BANDURG = 0x200;
    }
}

impl SignalEvents {
    /// The events of a message's arrival, if the message is one that is read.
    pub(crate) fn of_arrival(header: MessageHeader) -> SignalEvents {
        match header.band {
            _ if header.kind.is_high_priority() => SignalEvents::HIPRI,
            0 => SignalEvents::INPUT | SignalEvents::RDNORM,
            _ => SignalEvents::INPUT | SignalEvents::RDBAND,
        }
    }
}

/// In `EndWords::listened`: the events, and above them how many processes are registered.
const EVENTS: u32 = 0xffff;
const ONE_PROCESS: u32 = 0x1_0000;

/// Sends the signals for events at an end, or has them sent.
#[inline]
pub(crate) fn signal(region: &Region, end: usize, events: SignalEvents) {
    // Acquire pairs with the exchange in `note_process`: the counts are those from before an event that is counted now.
    if events.bits() & region.fixed.ends[end].0.listened.load(Ordering::Acquire) != 0 {
        signal_all(region, end, events);
    }
}

#[cold]
#[inline(never)]
fn signal_all(region: &Region, end: usize, events: SignalEvents) {
    let words = &region.fixed.signals[end];
    let count = |mut own: Option<&mut Registered>| {
        for (at, count) in words.happened.iter().enumerate().filter(|(at, _)| events.bits() >> at & 1 == 1) {
            count.fetch_add(1, Ordering::AcqRel);
            // Our own thread is not told.
            own.iter_mut().for_each(|own| own.seen[at] = own.seen[at].wrapping_add(1));
        }
        own.map(|own| own.due(events.bits()))
    };
    // Relaxed: a thread that registers at this moment is told of the events that begin afterwards.
    let own = if HAS_REGISTERED.load(Ordering::Relaxed) {
        REGISTERED.with(|all| count(find(all, region.inode, end)))
    } else {
        count(None)
    };
    probe::at();
    let processes = region.fixed.ends[end].0.listened.load(Ordering::Relaxed) / ONE_PROCESS;
    if processes > u32::from(own.is_some()) {
        // Release pairs with the Acquire in `os::word_watch`: the counts are there.
        words.bell.fetch_add(1, Ordering::AcqRel);
        probe::at();
        let _ = futex::wake(&words.bell, u32::MAX);
    }
    own.into_iter().for_each(Due::send);
}

/// The registrations that this process has made. A forked child has copies of its parent's, without their threads: they count as
/// none there.
static REGISTERED: ForkMutex<Vec<Registered>> = ForkMutex::new(Vec::new());
/// Whether this process, or one that it was forked from, ever had one. Most processes that bring messages have none.
static HAS_REGISTERED: AtomicBool = AtomicBool::new(false);

/// The registrations of this process at one end.
#[derive(Debug)]
struct Registered {
    /// The stream, as [`Region::inode`], and the end.
    stream: u64,
    end: usize,
    memory: Arc<SharedMemory>,
    words: Placed<SignalWords>,
    entries: Vec<Entry>,
    /// The counts of [`SignalWords::happened`] for which signals were sent.
    seen: [u32; SIGNAL_EVENTS],
    /// Looks at the counts when another process has changed them.
    thread: WordWatch,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    target: Target,
    events: u32,
}

/// To what a registration has signals sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// This process.
    Own,
    /// Another process.
    Process(ProcessId),
    /// The process group of that number.
    Group(u32),
}

impl Target {
    fn has_ended(self) -> bool {
        matches!(self, Target::Process(process) if process.has_ended())
    }

    fn send(self, number: i32, memory: &SharedMemory) {
        probe::at();
        // A refusal by the kernel concerns the target, and not the process that signals.
        let _ = match self {
            Target::Own => signal_own(number),
            Target::Process(process) => process.signal(number, memory).map(drop),
            Target::Group(group) => signal_group(group, number),
        };
    }
}

/// Signals that are to be sent once nothing is locked: a handler of this process may come here again.
struct Due {
    memory: Arc<SharedMemory>,
    signals: [Option<(Target, Numbers)>; LISTENERS],
}

impl Due {
    fn send(self) {
        for (target, numbers) in self.signals.into_iter().flatten() {
            for number in numbers.into_iter().flatten() {
                target.send(number, &self.memory);
            }
        }
    }
}

/// Signal numbers.
type Numbers = [Option<i32>; 2];

/// The signals to send for events that have happened, of those for which there is a registration.
fn numbers(asked: u32, happened: u32) -> Numbers {
    let (asked, mut happened) = (SignalEvents::from_bits_truncate(asked), SignalEvents::from_bits_truncate(happened));
    let urgent = asked.contains(SignalEvents::BANDURG) && (asked & happened).contains(SignalEvents::RDBAND);
    if urgent {
        happened -= SignalEvents::RDBAND;
        if !happened.contains(SignalEvents::RDNORM) {
            // What has arrived was of a band.
            happened -= SignalEvents::INPUT;
        }
    }
    [urgent.then_some(SIGURG), asked.intersects(happened).then_some(SIGPOLL)]
}

impl Registered {
    /// The signals for events that have happened.
    fn due(&self, happened: u32) -> Due {
        let mut signals = [None; LISTENERS];
        for (due, entry) in signals.iter_mut().zip(&self.entries) {
            *due = Some((entry.target, numbers(entry.events, happened)));
        }
        Due { memory: self.memory.clone(), signals }
    }

    /// The signals for events that other processes have caused since the last look.
    fn look(&mut self) -> Due {
        let mut happened = 0;
        for (at, (seen, count)) in self.seen.iter_mut().zip(&self.words.happened).enumerate() {
            let now = count.load(Ordering::Acquire);
            happened |= u32::from(std::mem::replace(seen, now) != now) << at;
        }
        self.due(happened)
    }
}

fn find(all: &mut [Registered], stream: u64, end: usize) -> Option<&mut Registered> {
    all.iter_mut().find(|one| (one.stream, one.end) == (stream, end) && one.thread.is_here())
}

/// Of the thread of a registration.
fn look(stream: u64, end: usize) {
    let due = REGISTERED.with(|all| find(all, stream, end).map(Registered::look));
    due.into_iter().for_each(Due::send);
}

/// Registers a target at an end, or changes its events.
///
/// Errors: `EAGAIN` without room for it, or for a thread.
pub(crate) fn register(region: &Region, end: usize, target: Target, events: u32) -> Result<()> {
    let (stream, words) = (region.inode, &region.fixed.ends[end].0);
    let (before, done) = REGISTERED.with(|all| {
        if let Some(own) = find(all, stream, end) {
            // The new events are told of what comes from now on.
            let before = own.look();
            let done = own.set(target, events);
            // After the entry, so that what happens from now on is told; Release pairs with the Acquire in `signal`.
            words.listened.fetch_or(if done.is_ok() { events } else { 0 }, Ordering::AcqRel);
            return (Some(before), done);
        }
        (None, start(all, region, end, Entry { target, events }))
    });
    before.into_iter().for_each(Due::send);
    done
}

/// The first registration of this process at an end.
fn start(all: &mut Vec<Registered>, region: &Region, end: usize, entry: Entry) -> Result<()> {
    // A forked child has copies.
    all.retain(|one| one.thread.is_here());
    HAS_REGISTERED.store(true, Ordering::Relaxed);
    let (stream, words) = (region.inode, region.fixed.part(|fixed| &fixed.signals[end]));
    let seen = words.happened.each_ref().map(|count| count.load(Ordering::Acquire));
    let thread = WordWatch::start(words.part(|words| &words.bell), move || look(stream, end))?;
    note_process(&region.fixed.ends[end].0, entry.events);
    let memory = region.memory().clone();
    all.push(Registered { stream, end, memory, words, entries: vec![entry], seen, thread });
    Ok(())
}
impl Registered {
    fn set(&mut self, target: Target, events: u32) -> Result<()> {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.target == target) {
            entry.events = events;
            return Ok(());
        }
        if self.entries.len() >= LISTENERS {
            self.entries.retain(|entry| !entry.target.has_ended());
        }
        if self.entries.len() >= LISTENERS {
            return Err(Error::numbered(Text::AllRegistered, LISTENERS as u64, 0));
        }
        self.entries.push(Entry { target, events });
        Ok(())
    }
}

/// Ends the registration of a target at an end.
///
/// Errors: `EINVAL` if there is none.
pub(crate) fn end_registration(region: &Region, end: usize, target: Target) -> Result<()> {
    let last = REGISTERED.with(|all| {
        let own = find(all, region.inode, end)?;
        let at = own.entries.iter().position(|entry| entry.target == target)?;
        own.entries.remove(at);
        Some(if own.entries.is_empty() { take(all, region, end) } else { None })
    });
    // Without the lock: its thread may wait for that.
    last.map(drop).ok_or_else(not_registered)
}

/// The events for which a target is registered at an end by this process.
///
/// Errors: `EINVAL` if it is not.
pub(crate) fn registration(region: &Region, end: usize, target: Target) -> Result<SignalEvents> {
    let events = REGISTERED.with(|all| {
        let own = find(all, region.inode, end)?;
        own.entries.iter().find(|entry| entry.target == target).map(|entry| entry.events)
    });
    events.map(SignalEvents::from_bits_truncate).ok_or_else(not_registered)
}

fn not_registered() -> Error {
    fixed!(Inval, "it is not registered for signals of this end")
}

/// Whether this process has registrations at an end.
pub(crate) fn is_registered(region: &Region, end: usize) -> bool {
    REGISTERED.with(|all| find(all, region.inode, end).is_some())
}

/// Ends the registrations of this process at an end, whose last descriptor it closes.
pub(crate) fn forget(region: &Region, end: usize) {
    drop(REGISTERED.with(|all| take(all, region, end)));
}

/// Takes the registrations of this process at an end out, to be dropped without the lock.
fn take(all: &mut Vec<Registered>, region: &Region, end: usize) -> Option<Registered> {
    let at = all.iter().position(|one| (one.stream, one.end) == (region.inode, end) && one.thread.is_here())?;
    let without_process = |word: u32| Some(if word < 2 * ONE_PROCESS { 0 } else { word - ONE_PROCESS });
    let _ = region.fixed.ends[end].0.listened.fetch_update(Ordering::AcqRel, Ordering::Relaxed, without_process);
    Some(all.swap_remove(at))
}

/// Counts this process among those that are registered at an end.
fn note_process(end: &EndWords, events: u32) {
    let with_process = |word: u32| Some(word.saturating_add(ONE_PROCESS) & !EVENTS | word & EVENTS | events);
    let _ = end.listened.fetch_update(Ordering::AcqRel, Ordering::Relaxed, with_process);
}

//! I_SETSIG: which processes are sent SIGPOLL or SIGURG when something happens at an end; and sending it.
//!
//! A process registers in a table in shared memory, for each end. Whoever brings a message, raises an error or makes room
//! sends the signals, when it has given its tokens back: to the very process that is named and only if it has this stream's
//! memory mapped, so that nobody can have others signalled by what it writes there. What the kernel refuses is no failure of
//! the call that signals. A process that is killed between the two leaves the signal unsent.

use std::ops::BitOr;
use std::sync::atomic::Ordering;

use headwater_os::signal::{SIGPOLL, SIGURG};
use headwater_os::watch::{ProcessId, may_signal, signal_group};
use headwater_shm::probe;

use super::handle::Handle;
use crate::error::{Errno, Error, Result, fixed};
use crate::layout::{EndWords, Listener};
use crate::message::kind::What;
use crate::process::region::Region;

/// What a process is to be told of by a signal; the bits are those of I_SETSIG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SignalEvents(pub u32);

impl SignalEvents {
    /// A message that is not of high priority has come (S_INPUT).
    #[doc(alias = "S_INPUT")]
    pub const INPUT: SignalEvents = SignalEvents(0x001);
    /// A message of high priority has come (S_HIPRI).
    #[doc(alias = "S_HIPRI")]
    pub const HIPRI: SignalEvents = SignalEvents(0x002);
    /// A message of band 0 can be written, after one could not (S_OUTPUT, S_WRNORM).
    #[doc(alias = "S_OUTPUT")]
    #[doc(alias = "S_WRNORM")]
    pub const OUTPUT: SignalEvents = SignalEvents(0x004);
    /// An M_SIG or M_PCSIG of SIGPOLL has come to the front (S_MSG).
    #[doc(alias = "S_MSG")]
    pub const MSG: SignalEvents = SignalEvents(0x008);
    /// The stream has an error (S_ERROR).
    #[doc(alias = "S_ERROR")]
    pub const ERROR: SignalEvents = SignalEvents(0x010);
    /// The stream was hung up, or the other end of a pipe was closed (S_HANGUP).
    #[doc(alias = "S_HANGUP")]
    pub const HANGUP: SignalEvents = SignalEvents(0x020);
    /// A message of band 0 has come (S_RDNORM).
    #[doc(alias = "S_RDNORM")]
    pub const RDNORM: SignalEvents = SignalEvents(0x040);
    /// A message of another band has come (S_RDBAND).
    #[doc(alias = "S_RDBAND")]
    pub const RDBAND: SignalEvents = SignalEvents(0x080);
    /// A message of another band can be written, after one could not (S_WRBAND).
    #[doc(alias = "S_WRBAND")]
    pub const WRBAND: SignalEvents = SignalEvents(0x100);
    /// SIGURG is sent for [`SignalEvents::RDBAND`], and not SIGPOLL (S_BANDURG).
    #[doc(alias = "S_BANDURG")]
    pub const BANDURG: SignalEvents = SignalEvents(0x200);

    const ALL: u32 = 0x3ff;
    /// None of them: no registration.
    const NONE: SignalEvents = SignalEvents(0);

    /// What the arrival of a message is, if it is one that is read.
    pub(crate) fn of_arrival(what: What) -> SignalEvents {
        match what.band {
            _ if what.kind.is_high_priority() => SignalEvents::HIPRI,
            0 => SignalEvents::INPUT | SignalEvents::RDNORM,
            _ => SignalEvents::INPUT | SignalEvents::RDBAND,
        }
    }
}

impl BitOr for SignalEvents {
    type Output = SignalEvents;

    fn bitor(self, other: SignalEvents) -> SignalEvents {
        SignalEvents(self.0 | other.0)
    }
}

impl Handle {
    /// Registers this process to be sent SIGPOLL when one of the events happens at this end (I_SETSIG), or SIGURG, instead of
    /// what it was registered for; no events end that, and so do an exec and the drop of the process's last handle. A forked
    /// child is not registered. Each message that comes is told of. Its default is that either signal ends the process, or
    /// does nothing (SIGURG): install a handler first.
    ///
    /// # Errors
    /// `EINVAL` for no events when the process is not registered, and for bits that mean nothing; `EAGAIN` when 32 processes
    /// are registered at the end (SUSv2, ioctl of STREAMS, I_SETSIG).
    pub fn set_signals(&mut self, events: SignalEvents) -> Result<()> {
        self.register(ProcessId::own(), 0, events)
    }

    /// What this process is registered for (I_GETSIG).
    ///
    /// # Errors
    /// `EINVAL` if it is not.
    pub fn signals(&self) -> Result<SignalEvents> {
        self.registration(ProcessId::own(), 0)
    }

    /// As [`Handle::set_signals`], for the process of that number, or the process group if it is negative (I_ESETSIG). A group
    /// is registered as long as the process lives that has done it.
    ///
    /// # Errors
    /// `ESRCH` if there is none; `EPERM` if this process may not send signals to it; else as [`Handle::set_signals`].
    pub fn set_signals_of(&mut self, pid: i32, events: SignalEvents) -> Result<()> {
        let (process, group) = target(pid)?;
        may_signal(pid.unsigned_abs(), pid < 0)?;
        self.register(process, group, events)
    }

    /// What a process, or a process group if the number is negative, is registered for (I_EGETSIG).
    ///
    /// # Errors
    /// `EINVAL` if it is not; `ESRCH` if there is none.
    pub fn signals_of(&self, pid: i32) -> Result<SignalEvents> {
        let (process, group) = target(pid)?;
        self.registration(process, group)
    }

    fn register(&mut self, process: ProcessId, group: u32, events: SignalEvents) -> Result<()> {
        if events.0 & !SignalEvents::ALL != 0 {
            return Err(Error::new(Errno::Inval, format!("I_SETSIG has no bits {:#x}", events.0 & !SignalEvents::ALL)));
        }
        self.attach()?;
        let fixed = &self.end.region.fixed;
        let table = &fixed.listeners[self.end.side];
        let own = table.iter().filter(|entry| entry.is_of(process, group));
        if events == SignalEvents::NONE {
            if own.map(Listener::free).count() == 0 {
                return Err(fixed!(Inval, "it is not registered for signals of this end"));
            }
            note_fewer(self.end.words(), table);
        } else {
            let entry = own.take(1).next().or_else(|| take(table, process));
            let entry =
                entry.ok_or_else(|| Error::new(Errno::Again, format!("{} processes are registered", table.len())))?;
            entry.set(process, group, events.0);
            // After the entry: who ends another registration sees it, or the bits.
            self.end.words().listened.fetch_or(events.0, Ordering::AcqRel);
        }
        // Writers take no quick way past those who are to be told.
        self.back.announce();
        Ok(())
    }

    fn registration(&self, process: ProcessId, group: u32) -> Result<SignalEvents> {
        let mut table = self.end.region.fixed.listeners[self.end.side].iter();
        let events = table.find(|entry| entry.is_of(process, group)).map(|entry| entry.events.load(Ordering::Relaxed));
        let not_registered = || fixed!(Inval, "it is not registered for signals of this end");
        events.map(|events| SignalEvents(events & SignalEvents::ALL)).ok_or_else(not_registered)
    }

    /// Somebody was refused for want of room in a band: there will be a signal when there is some.
    pub(super) fn note_refused(&self, band: u8) {
        let word = &self.end.words().refused[usize::from(band) / 64];
        word.fetch_or(1 << (band % 64), Ordering::AcqRel);
    }

    /// There may be room for the writers of a direction: those who were refused are sent their signals.
    pub(super) fn signal_room(&self, outward: bool) {
        let way = if outward { &self.out } else { &self.back };
        let (region, writers) = (&self.end.region, way.direction());
        let end = &region.fixed.ends[writers].0;
        let mut events = SignalEvents::NONE;
        for (at, word) in end.refused.iter().enumerate() {
            let refused = word.load(Ordering::Acquire);
            for bit in (0..64).filter(|bit| refused >> bit & 1 == 1) {
                let band = (64 * at + bit) as u8;
                if way.may_write(region, band) && word.fetch_and(!(1 << bit), Ordering::AcqRel) >> bit & 1 == 1 {
                    events = events | if band == 0 { SignalEvents::OUTPUT } else { SignalEvents::WRBAND };
                }
            }
        }
        signal(region, writers, events);
    }
}

/// Sends the signals for what has happened at an end.
#[inline]
pub(crate) fn signal(region: &Region, end: usize, events: SignalEvents) {
    // Acquire pairs with the exchange in `register`: the entry is there.
    if events.0 & region.fixed.ends[end].0.listened.load(Ordering::Acquire) != 0 {
        signal_all(region, end, events);
    }
}

#[cold]
#[inline(never)]
fn signal_all(region: &Region, end: usize, events: SignalEvents) {
    for entry in &region.fixed.listeners[end] {
        let Some((process, group, asked)) = entry.read() else { continue };
        let both = asked & events.0;
        if both == 0 {
            continue;
        }
        let urgent = both & SignalEvents::RDBAND.0 != 0 && asked & SignalEvents::BANDURG.0 != 0;
        let number = if urgent { SIGURG } else { SIGPOLL };
        probe::at();
        // What the kernel refuses concerns that process, and not the one that signals.
        if group == 0 {
            let _ = process.signal(number, region);
        } else if process == ProcessId::own() {
            let _ = signal_group(group, number);
        }
    }
}

/// The registrations of this process at an end are over: its last handle is dropped.
pub(crate) fn forget(region: &Region, end: usize) {
    let table = &region.fixed.listeners[end];
    let own = ProcessId::own();
    if table.iter().filter(|entry| entry.is_by(own)).map(Listener::free).count() > 0 {
        note_fewer(&region.fixed.ends[end].0, table);
    }
}

/// Who is to be signalled, and of which group.
fn target(pid: i32) -> Result<(ProcessId, u32)> {
    match pid {
        0 => Err(fixed!(Inval, "0 is no process")),
        ..0 => Ok((ProcessId::own(), pid.unsigned_abs())),
        pid => {
            let process = ProcessId::of(pid.unsigned_abs());
            process.map(|process| (process, 0)).ok_or_else(|| fixed!(Srch, "there is no such process"))
        }
    }
}

/// A registration has ended: what nobody is registered for any more is not looked up any more.
fn note_fewer(end: &EndWords, table: &[Listener]) {
    let all = || table.iter().filter_map(Listener::read).fold(0, |all, (_, _, events)| all | events);
    end.listened.store(all(), Ordering::SeqCst);
    probe::at();
    // One that has come meanwhile has written its entry before the word.
    end.listened.fetch_or(all(), Ordering::SeqCst);
}

/// A free entry, or that of a process that has ended.
fn take(table: &[Listener], process: ProcessId) -> Option<&Listener> {
    let take = |entry: &&Listener, from: u64| {
        entry.place.compare_exchange(from, process.place(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let free = table.iter().find(|entry| take(entry, 0));
    free.or_else(|| {
        table.iter().find(|entry| {
            let found = entry.process();
            found.place() != 0 && found.has_ended() && take(entry, found.place())
        })
    })
}

impl Listener {
    fn process(&self) -> ProcessId {
        // Acquire pairs with the Release in `set`.
        let place = self.place.load(Ordering::Acquire);
        ProcessId::from_words(place, self.birth.load(Ordering::Relaxed), self.image.load(Ordering::Relaxed))
    }

    /// Who is registered, with its group, and for what; None: nobody.
    fn read(&self) -> Option<(ProcessId, u32, u32)> {
        let process = self.process();
        let events = self.events.load(Ordering::Acquire);
        let (group, place) = (self.group.load(Ordering::Relaxed), self.place.load(Ordering::Relaxed));
        (place != 0 && place == process.place() && events != 0).then_some((process, group, events))
    }

    fn is_by(&self, process: ProcessId) -> bool {
        self.read().is_some_and(|(found, ..)| found.place() == process.place() && found.birth() == process.birth())
    }

    fn is_of(&self, process: ProcessId, group: u32) -> bool {
        self.is_by(process) && self.group.load(Ordering::Relaxed) == group
    }

    /// By the one that has taken the entry.
    fn set(&self, process: ProcessId, group: u32, events: u32) {
        // Whoever reads it meanwhile finds nothing, or a process that does not fit its number.
        self.events.store(0, Ordering::Relaxed);
        self.birth.store(process.birth(), Ordering::Relaxed);
        self.image.store(process.image(), Ordering::Relaxed);
        self.group.store(group, Ordering::Relaxed);
        probe::at();
        self.place.store(process.place(), Ordering::Release);
        // Release pairs with the Acquire in `read`.
        self.events.store(events, Ordering::Release);
    }

    fn free(&self) {
        self.events.store(0, Ordering::Relaxed);
        probe::at();
        self.place.store(0, Ordering::Release);
    }
}

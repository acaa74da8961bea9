//! The processes that are sent SIGPOLL or SIGURG for events at an end (I_SETSIG), and sending the signals.
//!
//! A process registers in a table in shared memory, for each end (`head::signals`). The process that brings a message,
//! raises an error or makes room sends the signals, after it has released its locks: to exactly the named process and
//! only if it has this stream's memory mapped, so that no process can cause signals to others by writing to the table.
//! A signal that the kernel refuses is no failure of the call. A process that is killed before that leaves the signal
//! unsent.

use std::sync::atomic::Ordering;

use headwater_os::signal::{SIGPOLL, SIGURG};
use headwater_os::watch::{ProcessId, signal_group};
use headwater_shm::probe;

use super::region::Region;
use crate::layout::{EndWords, Listener};
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

/// Sends the signals for events at an end.
#[inline]
pub(crate) fn signal(region: &Region, end: usize, events: SignalEvents) {
    // Acquire pairs with the exchange in `register`: the entry is there.
    if events.bits() & region.fixed.ends[end].0.listened.load(Ordering::Acquire) != 0 {
        signal_all(region, end, events);
    }
}

#[cold]
#[inline(never)]
fn signal_all(region: &Region, end: usize, events: SignalEvents) {
    for entry in &region.fixed.listeners[end] {
        let Some((process, group, asked)) = entry.read() else { continue };
        let both = asked & events.bits();
        if both == 0 {
            continue;
        }
        let urgent = both & SignalEvents::RDBAND.bits() != 0 && asked & SignalEvents::BANDURG.bits() != 0;
        let number = if urgent { SIGURG } else { SIGPOLL };
        probe::at();
        // A refusal by the kernel concerns that process, and not the one that signals.
        if group == 0 {
            let _ = process.signal(number, region);
        } else if process == ProcessId::own() {
            let _ = signal_group(group, number);
        }
    }
}

/// Whether this process is registered at an end, or has registered a group.
pub(crate) fn is_registered(region: &Region, end: usize) -> bool {
    let own = ProcessId::own();
    region.fixed.listeners[end].iter().any(|entry| entry.is_by(own))
}

/// Ends the registrations of this process at an end, whose last descriptor it closes.
pub(crate) fn forget(region: &Region, end: usize) {
    let table = &region.fixed.listeners[end];
    let own = ProcessId::own();
    if table.iter().filter(|entry| entry.is_by(own)).map(Listener::free).count() > 0 {
        note_fewer(&region.fixed.ends[end].0, table);
    }
}

/// After the end of a registration: clears the events for which no process is registered any more.
pub(crate) fn note_fewer(end: &EndWords, table: &[Listener]) {
    let all = || table.iter().filter_map(Listener::read).fold(0, |all, (_, _, events)| all | events);
    end.listened.store(all(), Ordering::SeqCst);
    probe::at();
    // A process that has registered meanwhile has written its entry before the word.
    end.listened.fetch_or(all(), Ordering::SeqCst);
}

/// Takes a free entry, or that of a process that has ended.
pub(crate) fn take(table: &[Listener], process: ProcessId) -> Option<&Listener> {
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

    /// The registered process, its group, and the events; None if the entry is free.
    pub(crate) fn read(&self) -> Option<(ProcessId, u32, u32)> {
        let process = self.process();
        let events = self.events.load(Ordering::Acquire);
        let (group, place) = (self.group.load(Ordering::Relaxed), self.place.load(Ordering::Relaxed));
        (place != 0 && place == process.place() && events != 0).then_some((process, group, events))
    }

    fn is_by(&self, process: ProcessId) -> bool {
        self.read().is_some_and(|(found, ..)| found.place() == process.place() && found.birth() == process.birth())
    }

    pub(crate) fn is_of(&self, process: ProcessId, group: u32) -> bool {
        self.is_by(process) && self.group.load(Ordering::Relaxed) == group
    }

    /// Fills the entry in. For the process that has taken it.
    pub(crate) fn set(&self, process: ProcessId, group: u32, events: u32) {
        // A process that reads it meanwhile finds nothing, or a process that does not fit its number.
        self.events.store(0, Ordering::Relaxed);
        self.birth.store(process.birth(), Ordering::Relaxed);
        self.image.store(process.image(), Ordering::Relaxed);
        self.group.store(group, Ordering::Relaxed);
        probe::at();
        self.place.store(process.place(), Ordering::Release);
        // Release pairs with the Acquire in `read`.
        self.events.store(events, Ordering::Release);
    }

    pub(crate) fn free(&self) {
        self.events.store(0, Ordering::Relaxed);
        probe::at();
        self.place.store(0, Ordering::Release);
    }
}

//! The events of streams for the tracer, all in one list, with the feature `trace`. As long as they are not recorded
//! each costs a load and a branch; `headwater trace record -e 'headwater:*' -- COMMAND` records them. The fast paths of
//! plain data have no events: they are closed while reads and writes are recorded ([`are_calls_recorded`]), so each
//! call is recorded after the next one that takes the lock of its side.
//!
//! `stream` is the inode of the stream's memory, alike in all processes; `end` is 0 or 1. Names that end with `_begin` and
//! `_end` are two sides of one thing; a `flow` is the same where one process wakes another (`wake_from`) and where that
//! continues (`wake_to`), which viewers draw as an arrow.

#[cfg(feature = "trace")]
use headwater_trace::events;

/// Without the feature `trace` an event expands to nothing.
#[cfg(not(feature = "trace"))]
macro_rules! events {
    ($($(#[$about:meta])* $seen:vis $event:ident($name:literal) { $( $field:ident: $type:ty ),* $(,)? })+) => { $(
        $(#[$about])*
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "as many as the event has fields")]
        $seen fn $event($( _: $type ),*) {}
    )+ };
}

events! {
    /// A process has attached to a stream's end.
    pub(crate) open("headwater:open") { stream: u64, end: u8 }
    /// A module was pushed on an end.
    pub(crate) push("headwater:push") { stream: u64, end: u8, module: &str }
    /// A module was popped from an end.
    pub(crate) pop("headwater:pop") { stream: u64, end: u8, module: &str }
    /// A write was called at an end.
    pub(crate) write("headwater:write") { stream: u64, end: u8, len: u64 }
    /// A read was called at an end, for at most `len` bytes.
    pub(crate) read("headwater:read") { stream: u64, end: u8, len: u64 }
    /// A message other than plain data on its fast path is handed to the put procedure of a module, or delivered to the
    /// head (`at` is then the number of modules). `end` has written it.
    pub(crate) put("headwater:put") { stream: u64, end: u8, at: u8, kind: u8, band: u8, len: u64 }
    /// A service procedure runs.
    pub(crate) service_begin("headwater:service_begin") { stream: u64, end: u8, at: u8 }
    /// It has returned.
    pub(crate) service_end("headwater:service_end") { stream: u64, end: u8, at: u8 }
    /// A queue had been full and has room again: its waiter is enabled. `at` is the place of the queue.
    pub(crate) back_enable("headwater:back_enable") { stream: u64, end: u8, at: u8 }
    /// A process goes to sleep: on a futex, or on its doorbell.
    pub(crate) block_begin("headwater:block_begin") { stream: u64, end: u8, writes: bool, doorbell: bool }
    /// It is awake.
    pub(crate) block_end("headwater:block_end") { stream: u64, end: u8, writes: bool, doorbell: bool }
    /// A sleeper on a side is woken.
    pub(crate) wake_from("headwater:wake_from") { flow: u64, stream: u64, end: u8, writes: bool, doorbell: bool }
    /// A sleeper that was woken continues.
    pub(crate) wake_to("headwater:wake_to") { flow: u64, stream: u64, end: u8, writes: bool, doorbell: bool }
    /// An end's doorbell is rung.
    pub(crate) doorbell("headwater:doorbell") { stream: u64, end: u8, writes: bool }
}

/// Whether calls must avoid the fast paths.
#[inline]
pub(crate) fn are_calls_recorded() -> bool {
    #[cfg(feature = "trace")]
    return write::EVENT.is_recorded() || read::EVENT.is_recorded();
    #[cfg(not(feature = "trace"))]
    false
}

/// A side of a stream on which a process sleeps: the readers of an end, or its writers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitSide {
    /// Inode of the stream's memory.
    pub stream: u64,
    /// The end of the readers or writers.
    pub end: usize,
    pub writes: bool,
}

impl WaitSide {
    /// Goes to sleep.
    #[inline]
    pub fn block_begin(self, doorbell: bool) {
        block_begin(self.stream, self.end as u8, self.writes, doorbell);
    }

    /// Is awake; `woken`: by another process, not by a time-out or a signal.
    #[inline]
    pub fn block_end(self, doorbell: bool, woken: bool) {
        block_end(self.stream, self.end as u8, self.writes, doorbell);
        if woken {
            wake_to(self.flow(), self.stream, self.end as u8, self.writes, doorbell);
        }
    }

    /// Wakes the sleepers there.
    #[inline]
    pub fn wake(self, by_doorbell: bool) {
        wake_from(self.flow(), self.stream, self.end as u8, self.writes, by_doorbell);
    }

    /// Rings the doorbell of the processes that sleep or poll there.
    #[inline]
    pub fn ring(self) {
        doorbell(self.stream, self.end as u8, self.writes);
    }

    fn flow(self) -> u64 {
        self.stream << 2 | (self.end as u64) << 1 | u64::from(self.writes)
    }
}

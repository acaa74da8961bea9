//! Flow control: when a queue is full, when it has room again, and which waiter is then enabled. The rule is only here.
//!
//! A queue that is above its high-water mark is full (QFULL), and stays so until it is below its low-water mark, or
//! empty. A writer that was refused waits (QWANTW), and is enabled once, by the process that makes the room
//! (back-enable). "Above" is judged when a caller asks, and not at each message.
//!
//! Called by the lane for band 0 of a head's queue, by the store for all other bands and queues, and by the code that
//! sets water marks. [`crate::plumb::chain`] decides which queue of a chain is asked, and which is enabled.

use headwater_shm::probe;
use headwater_shm::sync::{AtomicU32, Ordering};

use crate::layout::{Band, Flow};

/// The water marks of a queue, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WaterMarks {
    pub hiwat: u64,
    /// Above `hiwat`: there is no hysteresis.
    pub lowat: u64,
}

impl WaterMarks {
    /// As they stand in shared memory.
    #[inline]
    pub fn load(hiwat: &AtomicU32, lowat: &AtomicU32) -> WaterMarks {
        WaterMarks { hiwat: u64::from(hiwat.load(Ordering::Relaxed)), lowat: u64::from(lowat.load(Ordering::Relaxed)) }
    }

    /// The water marks of a head's queue.
    #[inline]
    pub fn of(flow: &Flow) -> WaterMarks {
        WaterMarks::load(&flow.hiwat, &flow.lowat)
    }

    /// High and low, as they were set.
    pub fn as_set(self) -> (u32, u32) {
        (self.hiwat as u32, self.lowat as u32)
    }

    /// The same, limited to `most` bytes.
    pub fn within(self, most: u64) -> WaterMarks {
        let hiwat = self.hiwat.min(most);
        WaterMarks { hiwat, lowat: if self.lowat > self.hiwat { hiwat + 1 } else { self.lowat.min(hiwat) } }
    }

    /// Sets them for a head's queue. Without hysteresis it accepts again as soon as it is not above hiwat.
    pub fn store(flow: &Flow, hiwat: u32, lowat: u32, hysteresis: bool) {
        let lowat = if hysteresis { lowat } else { hiwat.saturating_add(1) };
        flow.hiwat.store(hiwat, Ordering::Relaxed);
        flow.lowat.store(lowat, Ordering::Relaxed);
    }

    /// Whether a queue with `count` bytes is full, given whether it was at the last check.
    #[inline]
    pub fn is_full(self, count: u64, was_full: bool) -> bool {
        if was_full { !self.is_low(count) } else { count > self.hiwat }
    }

    /// Whether a queue with `count` bytes has room for a writer that was refused.
    #[inline]
    pub fn is_low(self, count: u64) -> bool {
        count == 0 || count < self.lowat
    }
}

/// The band is full (QFULL).
pub(crate) const FULL: u32 = 1;
/// A writer was refused, and waits (QWANTW).
pub(crate) const WANTED: u32 = 2;

/// Whether a band of a stored queue takes another message (bcanput), if there is `memory` for it. If not, the process
/// that makes room enables the waiter. Under the store's lock.
pub(crate) fn can_put(band: &Band, marks: WaterMarks, memory: bool) -> bool {
    let flags = band.flags.load(Ordering::Relaxed);
    let full = marks.is_full(count_of(band), flags & FULL != 0);
    let open = !full && memory;
    let now = if full { FULL } else { 0 } | if open { flags & WANTED } else { WANTED };
    if now != flags {
        band.flags.store(now, Ordering::Relaxed);
        probe::at();
    }
    open
}

/// Counts bytes that were put into a band. Under the store's lock.
pub(crate) fn count_up(band: &Band, bytes: usize) {
    band.count.store(band.count.load(Ordering::Relaxed).wrapping_add(bytes as u32), Ordering::Relaxed);
}

/// Counts bytes that have left a band; returns whether that makes room for a waiter. Under the store's lock.
pub(crate) fn count_down(band: &Band, marks: WaterMarks, bytes: usize) -> bool {
    let count = band.count.load(Ordering::Relaxed).saturating_sub(bytes as u32);
    band.count.store(count, Ordering::Relaxed);
    probe::at();
    let flags = band.flags.load(Ordering::Relaxed);
    let low = marks.is_low(u64::from(count));
    if low && flags != 0 {
        band.flags.store(0, Ordering::Relaxed);
        probe::at();
    }
    low && flags & WANTED != 0
}

/// Whether a waiter for room in a band may continue: a check without the lock.
pub(crate) fn may_go_on(band: &Band, marks: WaterMarks) -> bool {
    marks.is_low(count_of(band)) || band.flags.load(Ordering::Relaxed) & FULL == 0
}

fn count_of(band: &Band) -> u64 {
    u64::from(band.count.load(Ordering::Relaxed))
}

#[cfg(all(test, not(loom)))]
mod tests;

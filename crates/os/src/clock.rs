//! The monotonic clock that every timed batch reads.

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`, the same on every CPU and in every process.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The same clock as of the last tick, 1 to 10 ms ago: a quarter of the cost.
#[inline]
pub fn coarse_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What reading the clock costs and how fine it is.
#[derive(Clone, Copy, Debug)]
pub struct ClockCost {
    /// Cost of one read, ns.
    pub read_ns: f64,
    /// Smallest step between two reads that differ, ns.
    pub resolution_ns: f64,
}

/// Measures the clock itself: the cheapest of several short loops, because any disturbance makes a loop longer.
pub fn measure() -> ClockCost {
    const LOOPS: usize = 20;
    const READS: u64 = 2_000;
    let mut read_ns = f64::INFINITY;
    let mut step_ns = u64::MAX;
    for _ in 0..LOOPS {
        let start_ns = now_ns();
        let mut last_ns = start_ns;
        for _ in 0..READS {
            let this_ns = now_ns();
            if this_ns != last_ns {
                step_ns = step_ns.min(this_ns - last_ns);
            }
            last_ns = this_ns;
        }
        read_ns = read_ns.min((last_ns - start_ns) as f64 / READS as f64);
    }
    ClockCost { read_ns, resolution_ns: step_ns as f64 }
}

/// Sleeps for `duration`, continuing after a signal.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Sleeps until `CLOCK_MONOTONIC` reads `deadline_ns` or later, continuing after a signal. The kernel may add the timer
/// slack of the thread (50 us by default).
pub fn sleep_until(deadline_ns: u64) {
    const SECOND_NS: u64 = 1_000_000_000;
    let deadline = Timespec { tv_sec: (deadline_ns / SECOND_NS) as i64, tv_nsec: (deadline_ns % SECOND_NS) as i64 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
}

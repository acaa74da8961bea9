//! The monotonic clock: reading it, its cost, and sleeping by it.

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns `CLOCK_MONOTONIC` in nanoseconds. It is the same on all CPUs and in all processes.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns the same clock as of the last timer tick, which was up to 10 ms ago. Costs a quarter of [`now_ns`].
#[inline]
pub fn coarse_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The cost and the resolution of the clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockCost {
    /// The cost of one read in ns.
    pub read_ns: f64,
    /// The smallest difference between two reads that differ, in ns.
    pub resolution_ns: f64,
}

/// Measures the clock. The result is that of the cheapest of several short loops, because a disturbance only makes a loop
/// longer.
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

//! The processor's time-stamp counter, the cheapest clock, and whether it can be used as a clock.
//!
//! The counter is a clock if it runs at a constant speed, and equally on all CPUs. The kernel checks that. If it does, the kernel's
//! own clock source is the counter, or in a guest a paravirtual clock that is derived from it.

use std::fs;
use std::io;
use std::time::Duration;

use crate::clock::now_ns;

/// Returns the counter. On a processor without one, returns `CLOCK_MONOTONIC` in nanoseconds.
#[inline(always)]
pub fn now() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction reads a counter. Linux allows it, unless the process has asked for the opposite.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return now_ns();
}

/// Returns the reason why the counter cannot be used as a clock on this machine; `None` if it can.
pub fn unsound() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", not(miri))) {
        return Some("this program knows no time-stamp counter of this processor".to_owned());
    }
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    for flag in ["constant_tsc", "nonstop_tsc"] {
        if !flags.split_ascii_whitespace().any(|has| has == flag) {
            return Some(format!("the processor does not have the flag {flag}"));
        }
    }
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref().map(str::trim) {
        Ok("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page") => None,
        Ok(other) => Some(format!("the kernel's clock source is {other}, not the counter")),
        Err(error) => Some(format!("the kernel's clock source is not known: {error}")),
    }
}

/// The relation of the counter to the other clocks.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// The number of ticks in a second.
    pub frequency_hz: u64,
    /// The counter at one moment.
    pub ticks: u64,
    /// The same moment in ns since 1970.
    pub realtime_ns: u64,
}

/// Measures the speed of the counter during `time`. With 50 ms the relative error is about one millionth.
///
/// # Errors
/// `Other` if the counter stands still.
pub fn calibrate(time: Duration) -> io::Result<Calibration> {
    let (from_ticks, from_ns) = together(now_ns);
    std::thread::sleep(time);
    let (to_ticks, to_ns) = together(now_ns);
    let (ticks, ns) = (to_ticks.wrapping_sub(from_ticks), to_ns.saturating_sub(from_ns));
    let (now_ticks, realtime_ns) = together(realtime_ns);
    match u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(ns.max(1))) {
        Ok(frequency_hz @ 1..) => Ok(Calibration { frequency_hz, ticks: now_ticks, realtime_ns }),
        _ => Err(io::Error::other("the time-stamp counter stands still")),
    }
}

/// Reads the counter and a clock at the same moment. Returns the pair of several that was read in the shortest time.
fn together(clock: impl Fn() -> u64) -> (u64, u64) {
    let pairs = (0..20).map(|_| {
        let before = now();
        let ns = clock();
        let after = now();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), ns)
    });
    let (_, ticks, ns) = pairs.min_by_key(|(width, ..)| *width).expect("there are some");
    (ticks, ns)
}

fn realtime_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_runs_at_the_calibrated_speed() {
        if unsound().is_some() {
            return;
        }
        let found = calibrate(Duration::from_millis(30)).expect("it runs");
        let (from_ticks, from_ns) = together(now_ns);
        std::thread::sleep(Duration::from_millis(30));
        let (to_ticks, to_ns) = together(now_ns);
        let ns = (to_ticks - from_ticks) as f64 * 1e9 / found.frequency_hz as f64;
        let off = ns / (to_ns - from_ns) as f64 - 1.0;
        assert!(off.abs() < 1e-3, "off by {off}");
        assert!(found.realtime_ns > 1_600_000_000 * 1_000_000_000);
    }
}

//! The processor's time-stamp counter: the cheapest clock, where it is usable as one.
//!
//! It is a clock if it runs at a constant speed and equally on all CPUs. The kernel checks that, and shows the result
//! by using the counter for its own clock, or by the paravirtual clock of a guest, which is derived from it.

use std::fs;
use std::io;
use std::time::Duration;

use crate::clock::now_ns;

/// The counter now. Without one, `CLOCK_MONOTONIC` in nanoseconds.
#[inline(always)]
pub fn now() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction reads a counter; Linux forbids it to no process that has not asked for that.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return now_ns();
}

/// The reason why the counter is no clock on this machine; None if it is one.
pub fn unsound() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", not(miri))) {
        return Some("this processor has no time-stamp counter that is known here".to_owned());
    }
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    for flag in ["constant_tsc", "nonstop_tsc"] {
        if !flags.split_ascii_whitespace().any(|has| has == flag) {
            return Some(format!("the processor does not say {flag}"));
        }
    }
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref().map(str::trim) {
        Ok("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page") => None,
        Ok(other) => Some(format!("the kernel uses {other} for its clock, not the counter")),
        Err(error) => Some(format!("the kernel does not say which clock it uses: {error}")),
    }
}

/// The counter against the other clocks.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// Ticks a second.
    pub frequency_hz: u64,
    /// The counter at a moment.
    pub ticks: u64,
    /// That moment, ns since 1970.
    pub realtime_ns: u64,
}

/// Measures the counter's speed over that time; 50 ms give about a millionth.
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

/// Counter and clock at the same moment: the closest of some pairs.
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
    fn the_counter_runs_as_the_calibration_says() {
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

//! How the CPUs of the whole machine spent their time since boot, read around every launch: one open, one read.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Sub;

/// CPU time of all CPUs together, seconds since boot, or the difference of two such moments.
///
/// The kernel counts in ticks of `sysconf(_SC_CLK_TCK)`, 10 ms; a shorter interval may show nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Running anything: user, nice, system, interrupts and guests.
    pub busy_s: f64,
    /// Running nothing, also while waiting for I/O.
    pub idle_s: f64,
    /// Wanting to run while the hypervisor ran something else.
    pub steal_s: f64,
}

/// The parts of a [`CpuTimes`], each 0..1; all 0 when no time passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// Share of busy time.
    pub busy: f64,
    /// Share of idle time.
    pub idle: f64,
    /// Share of stolen time.
    pub steal: f64,
}

impl CpuTimes {
    /// The times until now, from the first line of `/proc/stat` (proc(5)).
    ///
    /// # Errors
    /// What opening and reading report; `InvalidData` if the line is not what proc(5) describes.
    pub fn read() -> io::Result<CpuTimes> {
        // Ten numbers of at most 20 digits fit; the lines after the first are not wanted.
        let mut buffer = [0_u8; 256];
        let length = File::open("/proc/stat")?.read(&mut buffer)?;
        let text = String::from_utf8_lossy(&buffer[..length]);
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "/proc/stat does not begin with CPU times");
        Self::parse(&text, ticks_per_second()).ok_or_else(malformed)
    }

    /// The times in the first line of `stat`, which counts in ticks.
    fn parse(stat: &str, ticks_per_second: f64) -> Option<CpuTimes> {
        let mut words = stat.lines().next()?.split_ascii_whitespace();
        if words.next()? != "cpu" {
            return None;
        }
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // Kernels before 2.6.11 have no steal; guest time (the last two numbers) is already part of user and nice.
        let [user, nice, system, idle, io_wait, interrupt, soft_interrupt, ref rest @ ..] = ticks[..] else {
            return None;
        };
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second;
        Some(CpuTimes {
            busy_s: seconds(user + nice + system + interrupt + soft_interrupt),
            idle_s: seconds(idle + io_wait),
            steal_s: seconds(rest.first().copied().unwrap_or(0)),
        })
    }

    /// All of it, seconds.
    pub fn total_s(&self) -> f64 {
        self.busy_s + self.idle_s + self.steal_s
    }

    /// What part each is of the whole.
    pub fn shares(&self) -> CpuShares {
        let total_s = self.total_s();
        if total_s <= 0.0 {
            return CpuShares::default();
        }
        CpuShares { busy: self.busy_s / total_s, idle: self.idle_s / total_s, steal: self.steal_s / total_s }
    }
}

impl Sub for CpuTimes {
    type Output = CpuTimes;

    /// The time between `earlier` and this. Never below 0, although proc(5) lets waiting for I/O run backwards.
    fn sub(self, earlier: CpuTimes) -> CpuTimes {
        CpuTimes {
            busy_s: (self.busy_s - earlier.busy_s).max(0.0),
            idle_s: (self.idle_s - earlier.idle_s).max(0.0),
            steal_s: (self.steal_s - earlier.steal_s).max(0.0),
        }
    }
}

/// Unit of `/proc/stat`.
fn ticks_per_second() -> f64 {
    // SAFETY: sysconf(3) takes a number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests;

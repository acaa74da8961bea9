//! Checks whether the CPUs run as fast as at their best in this run, and which launches must be repeated because they
//! did not.
//!
//! A hypervisor, a sibling hyper-thread or a governor can halve the speed of a CPU for a tenth of a second without a
//! sign in steal or load. A short loop, independent of the measured code, is timed before and after every launch. A
//! launch with a slow CPU at either end is repeated. Its figure is not looked at, so the repetition is unbiased
//! (MEASURING.md, traps: "a foreign-load guard per block (repeat the block)"). All attempts are stored in the event
//! stream. docs/decisions/0004-guard.md has the reasons.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_os::{clock, cpu};

/// A loop time above the best by more than this factor counts as disturbed. On an idle CPU the loop varies by 3 %;
/// launches at whose ends it took 5 % longer or more were up to 1.7 times slower themselves.
const SLOWDOWN_MAX: f64 = 1.04;

/// The maximum number of attempts of one launch; the last one counts in any case.
pub const ATTEMPTS_MAX: u32 = 6;

/// The pause before a slow CPU is probed again: disturbances last from 10 ms to a second.
const PAUSE: Duration = Duration::from_millis(20);

/// How often a slow CPU is probed before the launch starts anyway.
const PROBES_MAX: u32 = 10;

/// Iterations of the loop in one probe, and the number of probes of which the fastest counts. A probe takes about 30 us, also in a debug
/// build, whose iterations take some thirty times as long.
const ROUNDS: u64 = if cfg!(debug_assertions) { 300 } else { 10_000 };
const PROBES: u32 = 3;

/// Tracks the speed of the CPUs of a run.
#[derive(Debug)]
pub struct CpuCheck {
    /// The shortest time of the loop on any CPU so far, ns.
    best_ns: u64,
    /// By how much repetitions and pauses may still extend the run, s.
    allowance_s: f64,
    /// All CPUs that this process may use. Its affinity is set back to them after each check.
    cpus: Vec<u32>,
}

impl CpuCheck {
    /// Makes a check that extends the run by at most `allowance_s`.
    pub fn new(cpus: &[u32], allowance_s: f64) -> CpuCheck {
        CpuCheck { best_ns: u64::MAX, allowance_s, cpus: cpus.to_vec() }
    }

    /// Adds to the time by which the run may be extended.
    pub fn add_allowance(&mut self, seconds: f64) {
        self.allowance_s += seconds;
    }

    /// Waits until the CPUs are as fast as at their best, or until the allowance is used up. Returns the remaining
    /// slowdown.
    pub fn wait(&mut self, used: Option<(u32, u32)>) -> f64 {
        for _ in 0..PROBES_MAX {
            let slowdown = self.slowdown(used);
            if slowdown <= SLOWDOWN_MAX || !self.may_spend(PAUSE.as_secs_f64()) {
                return slowdown;
            }
            clock::sleep(PAUSE);
        }
        self.slowdown(used)
    }

    /// Returns whether a launch that took `elapsed_s` and has just ended must be repeated. `attempt` counts from 1.
    pub fn should_repeat(&mut self, slowdown: f64, attempt: u32, elapsed_s: f64) -> bool {
        slowdown > SLOWDOWN_MAX && attempt < ATTEMPTS_MAX && self.may_spend(elapsed_s)
    }

    /// Returns by which factor the slowest of the used CPUs is now slower than the best time of this run; 1 at its
    /// best. A row without a placement uses all CPUs.
    pub fn slowdown(&mut self, used: Option<(u32, u32)>) -> f64 {
        let looked_at: Vec<u32> = match used {
            Some((first, second)) if first == second => vec![first],
            Some((first, second)) => vec![first, second],
            None => self.cpus.clone(),
        };
        let times: Vec<u64> = looked_at.iter().filter_map(|&cpu| time_on(cpu)).collect();
        if cpu::bind_to(&self.cpus).is_err() {
            // If the affinity cannot be set back, the launch itself fails with a message.
            return 1.0;
        }
        self.judge(&times)
    }

    /// Returns the slowdown that the workers measured at the start and end of their round; 1 for external programs,
    /// which do not measure it.
    pub fn slowdown_during(&mut self, counters: &BTreeMap<String, f64>) -> f64 {
        let times: Vec<u64> =
            counters.iter().filter(|(name, _)| name.ends_with(PROBE_NS)).map(|(_, ns)| *ns as u64).collect();
        self.judge(&times)
    }

    /// Returns the slowest of the times as a multiple of the best time of this run.
    fn judge(&mut self, times_ns: &[u64]) -> f64 {
        let (Some(&fastest), Some(&slowest)) = (times_ns.iter().min(), times_ns.iter().max()) else { return 1.0 };
        self.best_ns = self.best_ns.min(fastest);
        slowest as f64 / self.best_ns.max(1) as f64
    }

    fn may_spend(&mut self, seconds: f64) -> bool {
        let may = self.allowance_s >= seconds;
        if may {
            self.allowance_s -= seconds;
        }
        may
    }
}

/// The counter in which a worker reports the slower of the two loop times around its round, ns.
pub const PROBE_NS: &str = "look_ns";

/// Returns the time of the loop on the CPU of the calling thread, ns. Workers call it right before and right after
/// every round.
pub fn probe_ns() -> u64 {
    let once = |_| {
        let start = clock::now_ns();
        std::hint::black_box(four_chains(std::hint::black_box(1)));
        clock::now_ns() - start
    };
    (0..PROBES).map(once).min().unwrap_or_default()
}

/// Returns the time of the loop on `cpu`, ns, and leaves the calling thread bound to that CPU.
fn time_on(cpu: u32) -> Option<u64> {
    cpu::bind(cpu).ok()?;
    Some(probe_ns())
}

/// Computes four independent chains of shifts and exclusive ors (Marsaglia, 2003). Four chains keep the arithmetic
/// units of a core busy, so a busy sibling thread slows them down; a single chain would hardly notice one.
fn four_chains(seed: u64) -> u64 {
    let mut chains = [seed, seed + 1, seed + 2, seed + 3];
    for _ in 0..ROUNDS {
        for chain in &mut chains {
            *chain ^= *chain << 13;
            *chain ^= *chain >> 7;
            *chain ^= *chain << 17;
        }
    }
    chains.iter().fold(0, |all, chain| all ^ chain)
}

#[cfg(test)]
mod tests;

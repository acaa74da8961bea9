//! The guard of a launch: whether the CPUs run at the speed that they had at their best in this run.
//!
//! A hypervisor, a sibling hyper-thread or a governor can halve a CPU's speed for a tenth of a second and not show it as
//! steal or load. A short loop that knows nothing of what is measured is timed before and after every launch; a launch that
//! had a slow CPU at either end is repeated, its figure unseen, so the choice cannot favour anybody (MEASURING.md, traps:
//! "a foreign-load guard per block (repeat the block)"). What was repeated stays in the event stream.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_os::{clock, cpu};

/// Slower than the best by more than this share is disturbed. On an idle CPU the loop scatters by 3 %; launches at whose ends
/// it took 5 % longer or more were up to 1.7 times slower themselves.
const SLOWDOWN_MAX: f64 = 1.04;

/// A launch is tried so many times at most; the last one counts however it was.
pub const ATTEMPTS_MAX: u32 = 6;

/// How long to wait before a CPU is looked at again: disturbances last from 10 ms to a second.
const PAUSE: Duration = Duration::from_millis(20);

/// How often a slow CPU is looked at again before the launch goes ahead anyway.
const PROBES_MAX: u32 = 10;

/// Rounds of the loop in one look, about 30 us, and looks of which the fastest counts.
const ROUNDS: u64 = 10_000;
const PROBES: u32 = 3;

/// Watches the CPUs of a run.
#[derive(Debug)]
pub struct CpuCheck {
    /// The shortest time of the loop on any CPU so far, ns.
    best_ns: u64,
    /// What the guard may still add to the run, s.
    allowance_s: f64,
    /// All CPUs that this process may use, to which it returns.
    cpus: Vec<u32>,
}

impl CpuCheck {
    /// A guard that adds at most `allowance_s` to the run.
    pub fn new(cpus: &[u32], allowance_s: f64) -> CpuCheck {
        CpuCheck { best_ns: u64::MAX, allowance_s, cpus: cpus.to_vec() }
    }

    /// Lets it add so much more.
    pub fn add_allowance(&mut self, seconds: f64) {
        self.allowance_s += seconds;
    }

    /// Waits until the CPUs are as fast as they were, or for as long as it may; the slowdown that is left.
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

    /// Whether a launch that took `elapsed_s` and has ended now is to be tried again. `attempt` counts from 1.
    pub fn should_repeat(&mut self, slowdown: f64, attempt: u32, elapsed_s: f64) -> bool {
        slowdown > SLOWDOWN_MAX && attempt < ATTEMPTS_MAX && self.may_spend(elapsed_s)
    }

    /// How many times slower than at its best the slower of the CPUs is now; 1 at its best. Rows that the scheduler places
    /// are judged by all CPUs.
    pub fn slowdown(&mut self, used: Option<(u32, u32)>) -> f64 {
        let looked_at: Vec<u32> = match used {
            Some((first, second)) if first == second => vec![first],
            Some((first, second)) => vec![first, second],
            None => self.cpus.clone(),
        };
        let times: Vec<u64> = looked_at.iter().filter_map(|&cpu| time_on(cpu)).collect();
        if cpu::bind_to(&self.cpus).is_err() {
            // Without its CPUs the process cannot place what follows; the launch itself says so.
            return 1.0;
        }
        self.judge(&times)
    }

    /// The slowdown that the workers of a launch saw at the ends of their round; 1 where they do not say, as external
    /// programs do not.
    pub fn slowdown_during(&mut self, counters: &BTreeMap<String, f64>) -> f64 {
        let times: Vec<u64> =
            counters.iter().filter(|(name, _)| name.ends_with(PROBE_NS)).map(|(_, ns)| *ns as u64).collect();
        self.judge(&times)
    }

    /// The slowest of the times against the best ever.
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

/// The counter in which a worker says how long the loop took at the slower end of its round, ns.
pub const PROBE_NS: &str = "look_ns";

/// The time of the loop on the CPU of the calling thread, ns. Workers look right before and right after every round.
pub fn probe_ns() -> u64 {
    let once = |_| {
        let start = clock::now_ns();
        std::hint::black_box(four_chains(std::hint::black_box(1)));
        clock::now_ns() - start
    };
    (0..PROBES).map(once).min().unwrap_or_default()
}

/// The time of the loop on `cpu`, ns; the calling thread stays there.
fn time_on(cpu: u32) -> Option<u64> {
    cpu::bind(cpu).ok()?;
    Some(probe_ns())
}

/// Four independent chains of shifts and exclusive ors (Marsaglia, 2003): together they keep a core's arithmetic units
/// busy, so they feel a busy sibling, which a single chain hardly does.
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

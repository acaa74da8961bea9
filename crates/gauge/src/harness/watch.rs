//! The state of the machine during a launch: stolen and throttled time, and the load of other processes. Called around
//! each launch by `run` and `overhead`.

use std::time::Instant;

use headwater_os_tools::machine::{CpuTimes, Throttle};
use headwater_os_tools::usage::Usage;

/// The counters of the machine before a launch.
#[derive(Debug)]
pub struct Watch {
    started: Instant,
    machine: Option<CpuTimes>,
    own_s: f64,
    throttled: Option<std::time::Duration>,
}

/// The state of the machine during a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConditions {
    /// Duration of the launch, s.
    pub elapsed_s: f64,
    /// Time for which the control group was throttled, s; absent without a quota.
    pub throttled_s: Option<f64>,
    /// The stolen share of the machine's CPU time.
    pub steal: f64,
    /// The share of the machine's CPU time that other processes used.
    pub foreign_load: f64,
}

impl Watch {
    /// Reads the counters before a launch.
    pub fn start(throttle: Option<&Throttle>) -> Watch {
        let throttled = throttle.and_then(|throttle| throttle.read().ok());
        Watch { machine: CpuTimes::read().ok(), own_s: own_s(), throttled, started: Instant::now() }
    }

    /// Reads the counters again, after all children of the launch have been waited for, and returns the difference.
    pub fn end(self, throttle: Option<&Throttle>) -> LaunchConditions {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let throttled = throttle.and_then(|throttle| throttle.read().ok());
        let throttled_s =
            self.throttled.zip(throttled).map(|(before, after)| after.saturating_sub(before).as_secs_f64());
        let own_s = own_s() - self.own_s;
        let (steal, foreign_load) = match (self.machine, CpuTimes::read().ok()) {
            (Some(before), Some(after)) => {
                let passed = after - before;
                let total_s = passed.total_s();
                let foreign_s = passed.busy_s - own_s;
                // The machine counts in ticks of 10 ms, so a difference of two ticks says nothing.
                let foreign_s = if foreign_s <= 0.02 { 0.0 } else { foreign_s };
                if total_s > 0.0 { (passed.steal_s / total_s, foreign_s / total_s) } else { (0.0, 0.0) }
            }
            _ => (0.0, 0.0),
        };
        LaunchConditions { elapsed_s, throttled_s, steal, foreign_load }
    }
}

/// Returns the CPU time of this process and of the children that it has waited for, s. During a launch, this process
/// sleeps or copies trace data.
fn own_s() -> f64 {
    let [own, children] = [Usage::of_process(), Usage::of_children()];
    own.user_s + own.system_s + children.user_s + children.system_s
}

//! What the machine did while a launch ran: stolen and throttled time, and how busy others were. Called around each launch by
//! `run` and `overhead`.

use std::time::Instant;

use headwater_os_tools::machine::{CpuTimes, Throttle};
use headwater_os_tools::usage::Usage;

/// A look at the machine before a launch.
#[derive(Debug)]
pub struct Watch {
    started: Instant,
    machine: Option<CpuTimes>,
    own_s: f64,
    throttled: Option<std::time::Duration>,
}

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConditions {
    /// How long it took, s.
    pub elapsed_s: f64,
    /// Seconds for which the control group was not let run, where there is a quota.
    pub throttled_s: Option<f64>,
    /// Stolen share of the machine's CPU time.
    pub steal: f64,
    /// Share of the machine's CPU time that others had.
    pub foreign_load: f64,
}

impl Watch {
    /// Looks.
    pub fn start(throttle: Option<&Throttle>) -> Watch {
        let throttled = throttle.and_then(|throttle| throttle.read().ok());
        Watch { machine: CpuTimes::read().ok(), own_s: own_s(), throttled, started: Instant::now() }
    }

    /// Looks again, when all children of the launch have been waited for.
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
                // The machine counts in ticks of 10 ms: two of them are no sign of anybody else.
                let foreign_s = if foreign_s <= 0.02 { 0.0 } else { foreign_s };
                if total_s > 0.0 { (passed.steal_s / total_s, foreign_s / total_s) } else { (0.0, 0.0) }
            }
            _ => (0.0, 0.0),
        };
        LaunchConditions { elapsed_s, throttled_s, steal, foreign_load }
    }
}

/// CPU time of this process, which sleeps or carries traces while a launch runs, and of the children that it has waited for, s.
fn own_s() -> f64 {
    let [own, children] = [Usage::of_process(), Usage::of_children()];
    own.user_s + own.system_s + children.user_s + children.system_s
}

//! Determines all flags of a row from its launches.

use super::{BatchResolution, Flag, Modes};
use crate::estimate::{Estimate, median};
use crate::schema::{LaunchRecord, Metric, Placement, Row};

/// Share of the machine's CPU time that the hypervisor may take before it can shift a figure: on two CPUs, one percent
/// of the machine is the smallest effect of a verdict.
pub const STOLEN_MAX: f64 = 0.01;

/// Share of the machine's CPU time that other programs may take. Twice [`STOLEN_MAX`]: the scheduler places other
/// programs on an idle CPU if there is one, whereas stolen time affects any process, and an idle system's own daemons
/// take up to one percent.
pub const FOREIGN_LOAD_MAX: f64 = 0.02;

/// Share of the measured time that may be throttled: half the smallest effect of a verdict.
pub const THROTTLED_MAX: f64 = 0.01;

/// Involuntary switches per second of processes that have a CPU each. An idle kernel's own threads cause a few tens; a
/// hundred, with an absence of 0.2 ms each, are the smallest effect of a verdict.
pub const INVOLUNTARY_MAX_PER_SECOND: f64 = 100.0;

/// Share of the launches that may not reach a steady state: an interval of 12 launches excludes two at either end.
pub const NOT_STEADY_MAX: f64 = 0.25;

/// The facts about one launch that determine the flags of its row.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFacts {
    /// The launch's value of the row's own figure.
    pub value: Option<f64>,
    /// Number of those batches.
    pub batches: u64,
    /// Their two modes, if they have two.
    pub modes: Option<Modes>,
    /// Their resolution, if the unit permits computing their duration.
    pub resolution: Option<BatchResolution>,
    /// Whether warm-up levelled off.
    pub steady: bool,
    /// Stolen share of the machine's CPU time.
    pub steal: f64,
    /// Foreign share of the machine's CPU time.
    pub foreign_load: f64,
    /// Seconds throttled.
    pub throttled_s: f64,
    /// Involuntary switches of both ends together.
    pub involuntary_switches: f64,
    /// Maximum measured time in seconds: everything but the warm-up.
    pub measured_s: f64,
}

impl LaunchFacts {
    /// Returns the facts of a launch about `metric`, the row's own figure.
    pub fn of(launch: &LaunchRecord, metric: Option<&Metric>) -> LaunchFacts {
        let batches = metric.and_then(|metric| launch.series.get(&metric.name)).map_or(&[][..], Vec::as_slice);
        let counter = |name: &str| launch.counters.get(name).copied().filter(|value| value.is_finite()).unwrap_or(0.0);
        LaunchFacts {
            value: metric.and_then(|metric| launch.figure(&metric.name)),
            batches: batches.iter().filter(|value| value.is_finite()).count() as u64,
            modes: super::modes_of(batches),
            resolution: metric
                .and_then(|metric| super::batch_resolution(&durations_ns(batches, metric, launch.batch_operations)?)),
            steady: launch.steady,
            steal: launch.steal,
            foreign_load: launch.foreign_load,
            throttled_s: counter("throttled_s"),
            involuntary_switches: counter("sender_involuntary_switches") + counter("receiver_involuntary_switches"),
            measured_s: launch.elapsed_s - launch.warm_up_s,
        }
    }
}

/// Returns the flags of a row, from its launches in block order and the `estimate` of its own figure. `clock_step_ns`
/// is the resolution of the clock. The order of the flags is that of [`Flag`].
pub fn flags_of_row(row: &Row, launches: &[LaunchFacts], estimate: Option<&Estimate>, clock_step_ns: f64) -> Vec<Flag> {
    let values: Vec<f64> = launches.iter().filter_map(|launch| launch.value).collect();
    let Some(fewest) = launches.iter().filter(|launch| launch.value.is_some()).map(|launch| launch.batches).min()
    else {
        return Vec::new();
    };
    let within: Vec<Option<Modes>> = launches.iter().map(|launch| launch.modes).collect();
    let change = super::change_point(&values);
    let slope = super::sloped(&values);
    // A level change implies a drift, and a drift implies autocorrelation: one cause must give one flag.
    let slope = slope.filter(|_| change.is_none());
    let likeness = super::autocorrelated(&values).filter(|_| change.is_none() && slope.is_none());
    // Two successive levels are a change, not two modes.
    let modes_among: &[f64] = if change.is_none() { &values } else { &[] };
    [
        super::few_launches(u32::try_from(values.len()).unwrap_or(u32::MAX)),
        not_steady(launches),
        likeness,
        slope,
        change,
        super::two_modes(&within, modes_among),
        row_resolution(launches).and_then(|resolution| super::quantised(resolution, clock_step_ns)),
        super::too_few_samples(fewest),
        stolen(launches),
        foreign_load(launches),
        throttled(launches),
        involuntary_switches(row, launches),
        estimate.and_then(super::wide_interval),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Set if more than [`NOT_STEADY_MAX`] of the launches, or the only one, reached no steady state.
fn not_steady(launches: &[LaunchFacts]) -> Option<Flag> {
    let unsteady = launches.iter().filter(|launch| !launch.steady).count();
    let flagged = unsteady as f64 > NOT_STEADY_MAX * launches.len() as f64;
    flagged.then(|| Flag::NotSteady { launches: u32::try_from(unsteady).unwrap_or(u32::MAX) })
}

fn stolen(launches: &[LaunchFacts]) -> Option<Flag> {
    let share = mean(launches, |launch| launch.steal)?;
    (share > STOLEN_MAX).then_some(Flag::Stolen { share })
}

fn foreign_load(launches: &[LaunchFacts]) -> Option<Flag> {
    let share = mean(launches, |launch| launch.foreign_load)?;
    (share > FOREIGN_LOAD_MAX).then_some(Flag::ForeignLoad { share })
}

fn throttled(launches: &[LaunchFacts]) -> Option<Flag> {
    let seconds: f64 = launches.iter().map(|launch| launch.throttled_s).sum();
    let measured_s: f64 = launches.iter().map(|launch| launch.measured_s).sum();
    let flagged = seconds.is_finite() && seconds > 0.0 && seconds > THROTTLED_MAX * measured_s;
    flagged.then_some(Flag::Throttled { seconds })
}

/// Only if each process has a CPU of its own: on a shared CPU, switches are part of the measurement, and with free
/// placement the processes may share one.
fn involuntary_switches(row: &Row, launches: &[LaunchFacts]) -> Option<Flag> {
    if row.placement != Placement::TwoCpus || row.workers.is_some_and(|workers| workers > 2) {
        return None;
    }
    let timed = || launches.iter().filter(|launch| launch.measured_s > 0.0);
    let per_second = timed().map(|launch| launch.involuntary_switches).sum::<f64>()
        / timed().map(|launch| launch.measured_s).sum::<f64>();
    (per_second.is_finite() && per_second > INVOLUNTARY_MAX_PER_SECOND)
        .then_some(Flag::InvoluntarySwitches { per_second })
}

/// Returns the median step and batch of the launches that have them.
fn row_resolution(launches: &[LaunchFacts]) -> Option<BatchResolution> {
    let middle = |of: fn(&BatchResolution) -> f64| {
        median(&launches.iter().filter_map(|launch| launch.resolution.as_ref()).map(of).collect::<Vec<_>>())
    };
    Some(BatchResolution {
        step_ns: middle(|resolution| resolution.step_ns)?,
        batch_ns: middle(|resolution| resolution.batch_ns)?,
    })
}

/// Returns the mean of the finite values.
fn mean(launches: &[LaunchFacts], of: fn(&LaunchFacts) -> f64) -> Option<f64> {
    let values: Vec<f64> = launches.iter().map(of).filter(|value| value.is_finite()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Computes the durations of batches from values per operation. `None` for units without a duration: shares, and rates
/// of anything but operations.
fn durations_ns(batches: &[f64], metric: &Metric, batch_operations: u64) -> Option<Vec<f64>> {
    let operations = batch_operations as f64;
    let per_value: fn(f64) -> f64 = match metric.unit.as_str() {
        "ns" => |value| value,
        "us" => |value| value * 1e3,
        "ms" => |value| value * 1e6,
        "s" => |value| value * 1e9,
        "messages/s" | "operations/s" => |value| 1e9 / value,
        _ => return None,
    };
    Some(batches.iter().map(|&value| operations * per_value(value)).collect())
}

#[cfg(test)]
mod tests;

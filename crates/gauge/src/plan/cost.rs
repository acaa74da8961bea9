//! What a launch takes, for the estimate of a plan. Each pattern, facility and operation states its own cost beside its
//! definition; the figures are means over launches of all suites on a machine with two CPUs (docs/validation.md). During
//! a run, [`rest_s`] replaces them by what its launches have taken so far.

use headwater_results::schema::{Row, Settings};

use crate::harness::rounds::ON_THE_WAY_TIMES;
use crate::{facilities, patterns, transports};

/// What a launch takes beside the time that is set for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchCost {
    /// Starting the processes, opening, checking every byte, calibrating, ending: everything that does not depend on the
    /// settings, s.
    pub fixed_s: f64,
    /// How long the measured part takes, as a multiple of the time that is set.
    pub timed: f64,
    /// How long the warm-up takes, as a multiple of its minimum.
    pub warm_up: f64,
    /// How many times a launch is run on average, because its CPUs were disturbed: a launch of many rounds is disturbed in
    /// one of them more often.
    pub attempts: f64,
    /// Whether what is timed is a volume of at least [`ON_THE_WAY_TIMES`] what the mechanism holds, however long that takes.
    pub by_volume: bool,
}

impl LaunchCost {
    /// The cost of most rows: two processes that exchange messages, or one with a short operation.
    pub const USUAL: LaunchCost =
        LaunchCost { fixed_s: 0.012, timed: 1.0, warm_up: 1.4, attempts: 1.2, by_volume: false };

    /// A row without warm-up and without a time that could be set.
    pub const COUNTED: LaunchCost =
        LaunchCost { fixed_s: 0.015, timed: 0.0, warm_up: 0.0, attempts: 1.0, by_volume: false };

    /// The cost of a one-way rate.
    pub const VOLUME: LaunchCost = LaunchCost { by_volume: true, ..LaunchCost::USUAL };

    /// The cost of most rows, but with another fixed part.
    pub const fn fixed(fixed_s: f64) -> LaunchCost {
        LaunchCost { fixed_s, ..LaunchCost::USUAL }
    }

    /// The cost of a launch of several measured rounds, in one of which its CPUs are disturbed more often.
    pub const fn rounds(fixed_s: f64) -> LaunchCost {
        LaunchCost { attempts: 1.4, ..LaunchCost::fixed(fixed_s) }
    }

    /// The cost of a round trip: percentiles take half the measured time again, and so many single exchanges are checked
    /// that the fixed part is longer.
    pub const fn round_trips(fixed_s: f64) -> LaunchCost {
        LaunchCost { timed: 1.55, ..LaunchCost::fixed(fixed_s) }
    }
}

/// The time of one message of a row with a fixed number of messages: a part for each message and a part for its bytes.
/// The mean over pipes, FIFOs, sockets and streams.
const MESSAGE_S: f64 = 0.42e-6;
const BYTE_S: f64 = 0.15e-9;

/// Returns the estimated duration of one launch of a row with its repetitions, s. `runs` is how often a launch repeats a
/// row with a fixed number of messages.
pub fn launch_s(row: &Row, settings: &Settings, runs: u32) -> f64 {
    of(row).attempts * once_s(row, settings, runs)
}

/// Returns the estimated duration of one launch that is not repeated, s.
pub fn once_s(row: &Row, settings: &Settings, runs: u32) -> f64 {
    let cost = of(row);
    match row.messages {
        // They are sent once more beforehand, checked in every byte.
        Some(_) => cost.fixed_s + messages_s(row) * f64::from(runs + 1),
        None => {
            let volume_s = if cost.by_volume { volume_s(row) } else { 0.0 };
            cost.fixed_s + (cost.timed * settings.time_s).max(volume_s) + cost.warm_up * settings.warm_up_s
        }
    }
}

/// Returns how long the volume of a one-way rate takes at least, s (docs/decisions/0049-rates.md). It matters for small messages
/// over a pipe, which holds a message in each byte; a socket counts a buffer for each message.
fn volume_s(row: &Row) -> f64 {
    let Some(size) = row.size_bytes.filter(|size| *size > 0) else { return 0.0 };
    let held = transports::find(&row.subject).map_or(0, |entry| entry.info.packed_bytes) as f64 / size as f64;
    ON_THE_WAY_TIMES * held * message_s(row)
}

/// Returns the estimated time of the messages of a row that fixes their number, sent once, s; 0 for other rows.
pub fn messages_s(row: &Row) -> f64 {
    row.messages.unwrap_or(0) as f64 * message_s(row)
}

fn message_s(row: &Row) -> f64 {
    MESSAGE_S + BYTE_S * row.size_bytes.unwrap_or(0) as f64
}

fn of(row: &Row) -> LaunchCost {
    let pattern = patterns::find(&row.pattern).map(|pattern| pattern.cost);
    let facility = || facilities::find(&row.pattern).map(|facility| (facility.cost)(&row.subject));
    pattern.or_else(facility).unwrap_or(LaunchCost::USUAL)
}

/// Returns how long the rest of a run will take, s: its estimate, corrected by how long the launches until now have
/// taken and had been estimated.
pub fn rest_s(elapsed_s: f64, estimated_s: f64, rest_estimated_s: f64) -> f64 {
    /// For so long the estimate counts as much as what was observed: the first launches say little.
    const TRUSTED_S: f64 = 2.0;
    rest_estimated_s * (elapsed_s + TRUSTED_S) / (estimated_s + TRUSTED_S)
}

#[cfg(test)]
mod tests;

//! A row's own figure as a rate or as a duration, with its interval. Used by the charts of messages over sizes.

use headwater_results::estimate::Estimate;
use headwater_results::schema::RowResult;

use super::source::Panel;
use crate::rows;

/// The quantity of the rows of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Messages per second: all four views apply.
    Rate,
    /// A duration of one message (`rtt`, `wake`): the delay view shows it unchanged.
    Duration,
    /// Another quantity: workers at a counter, repetitions of many messages.
    Other,
}

impl Kind {
    /// Returns the quantity of `panel`, determined by its first row.
    pub fn of(panel: &Panel<'_>) -> Kind {
        let Some(result) = panel.rows().next() else { return Kind::Other };
        let Some(own) = rows::own(result) else { return Kind::Other };
        if result.row.size_bytes.is_none() || result.row.messages.is_some() || result.row.workers.is_some() {
            return Kind::Other;
        }
        match own.metric.unit.as_str() {
            "messages/s" => Kind::Rate,
            unit if seconds_of(unit).is_some() => Kind::Duration,
            _ => Kind::Other,
        }
    }
}

/// Returns the row's figure in messages per second.
pub(crate) fn rate(result: &RowResult) -> Option<Estimate> {
    let own = rows::own(result)?;
    (own.metric.unit == "messages/s").then_some(own.estimate).filter(is_positive)
}

/// Returns the row's figure in seconds: a duration unchanged, or the time between messages.
pub(crate) fn delay_s(result: &RowResult) -> Option<Estimate> {
    let own = rows::own(result)?;
    let estimate = Some(own.estimate).filter(is_positive)?;
    match seconds_of(&own.metric.unit) {
        Some(seconds) => Some(scaled(&estimate, seconds)),
        None => rate(result).map(|rate| inverted(&rate)),
    }
}

/// Returns the seconds per message of each launch.
pub(crate) fn delays_of_launches_s(result: &RowResult) -> Option<Vec<f64>> {
    let own = rows::own(result)?;
    match seconds_of(&own.metric.unit) {
        Some(seconds) => Some(own.launches.iter().map(|value| value * seconds).collect()),
        None if own.metric.unit == "messages/s" => Some(own.launches.iter().map(|rate| 1.0 / rate).collect()),
        None => None,
    }
}

/// Multiplies the estimate by `factor`, which must be positive.
pub(crate) fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    Estimate { median: estimate.median * factor, low: estimate.low * factor, high: estimate.high * factor, ..*estimate }
}

/// Inverts the estimate; the ends of the interval are exchanged.
fn inverted(estimate: &Estimate) -> Estimate {
    Estimate { median: 1.0 / estimate.median, low: 1.0 / estimate.high, high: 1.0 / estimate.low, ..*estimate }
}

fn is_positive(estimate: &Estimate) -> bool {
    let is_good = |value: f64| value.is_finite() && value > 0.0;
    is_good(estimate.median) && is_good(estimate.low) && is_good(estimate.high)
}

/// Returns the length of a unit of time in seconds.
fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}

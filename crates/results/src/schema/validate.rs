//! What a run must fulfil beyond its types, so that nothing that reads one has to check it: limits of names and texts, lists that
//! agree, intervals that contain their medians. Called by the parser for every run and event, and for the figures that an archive
//! sends; nowhere else. Numbers are finite because JSON has no others.

use super::{Event, MetricResult, Row, RowResult, Run, RunHeader};
use crate::estimate::Estimate;

/// Bytes of a name: of a row, a metric, a host, a label, a fact. The kernel's own limit of a host name is 64.
const NAME_MAX: usize = 4096;

/// Bytes of a text below one of [`TEXTS`]: the kernel's limit of an argument of a command line.
const TEXT_MAX: usize = 128 << 10;

/// The keys whose values are texts, or lists of texts.
const TEXTS: [&str; 8] =
    ["command", "command_line", "failures", "path", "reason", "selection", "transport_commands", "variants"];

/// The largest size of a row and number of its messages: as floats they are exact.
const NUMBER_MAX: u64 = 1 << 53;

/// Returns the offset and the reason of the first name or text of a JSON document that is longer than its limit.
pub(crate) fn oversized(json: &str) -> Option<(usize, String)> {
    let bytes = json.as_bytes();
    let mut key = "";
    let mut at = 0;
    while let Some(begin) = bytes[at..].iter().position(|byte| *byte == b'"') {
        let begin = at + begin + 1;
        let mut end = begin;
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            // A quotation mark behind a backslash is a character of the string.
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let end = end.min(bytes.len());
        let is_key = bytes[end..].iter().skip(1).find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        let limit = if !is_key && TEXTS.contains(&key) { TEXT_MAX } else { NAME_MAX };
        if end - begin > limit {
            let what = if is_key { "a name" } else { key };
            return Some((begin, format!("{what} has {} bytes, more than {limit}", end - begin)));
        }
        if is_key {
            key = json.get(begin..end).unwrap_or_default();
        }
        at = (end + 1).min(bytes.len());
    }
    None
}

type Checked = Result<(), String>;

fn check(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

impl Run {
    /// Checks the run.
    ///
    /// # Errors
    /// What is wrong, with the row's id.
    pub fn validate(&self) -> Checked {
        self.header.validate()?;
        let of_row = |result: &RowResult| result.validate().map_err(|why| format!("{}: {why}", result.row.id));
        self.results.iter().try_for_each(of_row)
    }
}

impl Event {
    /// Checks the event alone, not that it fits those before it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Checked {
        match self {
            Event::RunStarted(header) => header.validate(),
            Event::RowSkipped { row, .. } => row.validate(),
            _ => Ok(()),
        }
    }
}

impl RunHeader {
    fn validate(&self) -> Checked {
        let settings = &self.settings;
        for (what, value) in [
            ("time_s", settings.time_s),
            ("warm_up_s", settings.warm_up_s),
            ("budget_s", settings.budget_s.unwrap_or(0.0)),
            ("clock_read_ns", self.clock_read_ns),
            ("clock_resolution_ns", self.clock_resolution_ns),
        ] {
            check(value >= 0.0, || format!("{what} is {value}"))?;
        }
        self.rows.iter().try_for_each(Row::validate)
    }
}

impl Row {
    /// Checks the row.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Checked {
        let mut sizes = self.size_bytes.iter().chain(&self.messages);
        sizes.try_for_each(|size| check(*size <= NUMBER_MAX, || format!("{}: its size is {size}", self.id)))
    }
}

impl RowResult {
    fn validate(&self) -> Checked {
        self.row.validate()?;
        for metric in &self.metrics {
            metric.validate().map_err(|why| format!("{}: {why}", metric.metric.name))?;
        }
        self.percentiles.values().flatten().try_for_each(|percentile| {
            check((0.0..=100.0).contains(&percentile.percent), || format!("a percentile is {}", percentile.percent))
        })
    }
}

impl MetricResult {
    /// Checks the figure.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Checked {
        self.estimate.validate()?;
        let (launches, blocks, n) = (self.launches.len(), self.blocks.len(), self.estimate.n);
        check(launches == blocks, || format!("there are {launches} launches, and blocks of {blocks}"))?;
        check(n as usize <= launches, || format!("the estimate is of {n} launches, and there are {launches}"))?;
        check(self.blocks.is_sorted_by(|one, next| one < next), || "its blocks are not in order".to_owned())
    }
}

impl Estimate {
    /// Checks that the interval contains the median. A number that is none is in no interval.
    fn validate(&self) -> Checked {
        let Estimate { median, low, high, confidence, n: _ } = *self;
        let is_finite = low.is_finite() && high.is_finite();
        check(is_finite && low <= median && median <= high, || {
            format!("the median {median} is not in its interval, {low} to {high}")
        })?;
        check((0.0..=1.0).contains(&confidence), || format!("the confidence of its interval is {confidence}"))
    }
}

#[cfg(test)]
mod tests;

//! What a run must fulfil beyond its types, so that nothing that reads one has to check it: limits of sizes and names, numbers in
//! their ranges, intervals that contain their medians. Called by the parser for every run and event, and for the figures that an
//! archive sends; nowhere else.

use std::collections::BTreeMap;

use super::{Environment, Event, LaunchRecord, Metric, MetricResult, Row, RowOutcome, RowResult, Run, RunHeader};
use crate::estimate::Estimate;

/// Characters of a name: a row, a metric, a host, a label. The kernel's own limit of a host name is 64.
const NAME_MAX: usize = 1024;

/// Bytes of a text, such as a reason, or one argument of a command line: the kernel's limit of an argument.
const TEXT_MAX: usize = 128 << 10;

/// Entries of a list or table: rows of a run, launches of a row, arguments, labels.
const COUNT_MAX: usize = 1 << 20;

/// The largest size, number of messages and of workers of a row: as floats they are exact.
const NUMBER_MAX: u64 = 1 << 53;

type Checked = Result<(), String>;

fn name(what: &str, text: &str) -> Checked {
    let len = text.chars().count();
    check(len <= NAME_MAX, || format!("{what} has {len} characters, more than {NAME_MAX}"))
}

fn text(what: &str, text: &str) -> Checked {
    check(text.len() <= TEXT_MAX, || format!("{what} has {} bytes, more than {TEXT_MAX}", text.len()))
}

fn count(what: &str, len: usize) -> Checked {
    check(len <= COUNT_MAX, || format!("there are {len} {what}, more than {COUNT_MAX}"))
}

fn number(what: &str, value: f64) -> Checked {
    check(value.is_finite(), || format!("{what} is {value}"))
}

fn check(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Checks named texts.
fn facts(what: &str, facts: &BTreeMap<String, String>) -> Checked {
    count(what, facts.len())?;
    facts.iter().try_for_each(|(key, value)| name(what, key).and_then(|()| text(what, value)))
}

/// Checks named numbers.
fn numbers(what: &str, numbers: &BTreeMap<String, f64>) -> Checked {
    count(what, numbers.len())?;
    numbers.iter().try_for_each(|(key, value)| name(what, key).and_then(|()| number(key, *value)))
}

impl Run {
    /// Checks the run.
    ///
    /// # Errors
    /// What is wrong, with the row's id.
    pub fn validate(&self) -> Checked {
        self.header.validate()?;
        self.environment_after.iter().try_for_each(Environment::validate)?;
        count("results", self.results.len())?;
        self.results.iter().try_for_each(|result| of_row(&result.row, result.validate()))
    }
}

/// Says of which row an error is.
fn of_row(row: &Row, checked: Checked) -> Checked {
    checked.map_err(|why| format!("{}: {why}", row.id.chars().take(NAME_MAX).collect::<String>()))
}

impl Event {
    /// Checks the event alone, not that it fits those before it.
    ///
    /// # Errors
    /// What is wrong, with the row's id.
    pub fn validate(&self) -> Checked {
        match self {
            Event::RunStarted(header) => header.validate(),
            Event::RowSkipped { row, reason } => of_row(row, row.validate().and_then(|()| text("the reason", reason))),
            Event::LaunchFinished(record) => record.validate(),
            Event::LaunchFailed { row, block: _, reason } => {
                name("the row", row).and_then(|()| text("the reason", reason))
            }
            Event::RunResumed { at, launches: _ } => name("the time", at),
            Event::RunFinished { status: _, environment } => environment.validate(),
        }
    }
}

impl RunHeader {
    fn validate(&self) -> Checked {
        for (what, value) in
            [("headwater_version", &self.headwater_version), ("run_id", &self.run_id), ("started_at", &self.started_at)]
        {
            name(what, value)?;
        }
        let settings = &self.settings;
        let lists = [&self.command, &settings.selection, &settings.transport_commands, &settings.variants];
        for list in lists {
            count("arguments", list.len())?;
            list.iter().try_for_each(|argument| text("an argument", argument))?;
        }
        for program in self.program.iter().chain(self.variant_programs.values()) {
            text("a program's path", &program.path)?;
            name("a program's fingerprint", &program.fingerprint)?;
        }
        self.variant_programs.keys().try_for_each(|variant| name("a variant", variant))?;
        count("labels", self.labels.len())?;
        self.labels.iter().try_for_each(|(label, value)| name("a label", label).and_then(|()| name(label, value)))?;
        for (what, seconds) in [
            ("time_s", settings.time_s),
            ("warm_up_s", settings.warm_up_s),
            ("budget_s", settings.budget_s.unwrap_or(0.0)),
            ("clock_read_ns", self.clock_read_ns),
            ("clock_resolution_ns", self.clock_resolution_ns),
        ] {
            check(seconds.is_finite() && seconds >= 0.0, || format!("{what} is {seconds}"))?;
        }
        count("rows", self.rows.len())?;
        self.rows.iter().try_for_each(|row| of_row(row, row.validate()))?;
        self.environment.validate()
    }
}

impl Row {
    /// Checks the row.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Checked {
        name("the row's id", &self.id)?;
        name("the subject", &self.subject)?;
        name("the pattern", &self.pattern)?;
        [&self.policy, &self.variant].into_iter().flatten().try_for_each(|text| name("the variant", text))?;
        let sizes = self.size_bytes.iter().chain(&self.messages);
        sizes.into_iter().try_for_each(|size| check(*size <= NUMBER_MAX, || format!("its size is {size}")))?;
        count("metrics", self.metrics.len())?;
        self.metrics.iter().try_for_each(Metric::validate)
    }
}

impl Metric {
    fn validate(&self) -> Checked {
        name("a metric", &self.name)?;
        name("a unit", &self.unit)
    }
}

impl RowResult {
    fn validate(&self) -> Checked {
        self.row.validate()?;
        if let RowOutcome::Skipped { reason } | RowOutcome::Failed { reason } = &self.outcome {
            text("the reason", reason)?;
        }
        count("metrics", self.metrics.len())?;
        for metric in &self.metrics {
            metric.validate().map_err(|why| format!("{}: {why}", metric.metric.name))?;
        }
        count("percentiles", self.percentiles.len())?;
        for (metric, percentiles) in &self.percentiles {
            name("a metric", metric)?;
            count("percentiles", percentiles.len())?;
            for percentile in percentiles {
                let holds = (0.0..=100.0).contains(&percentile.percent) && percentile.value_ns.is_finite();
                check(holds, || format!("{metric}: the percentile {} is {}", percentile.percent, percentile.value_ns))?;
            }
        }
        numbers("counters", &self.counters)?;
        count("failures", self.failures.len())?;
        self.failures.iter().try_for_each(|reason| text("a failure", reason))
    }
}

impl MetricResult {
    /// Checks the figure.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Checked {
        self.metric.validate()?;
        self.estimate.validate()?;
        let (launches, blocks) = (self.launches.len(), self.blocks.len());
        count("launches", launches)?;
        check(launches == blocks, || format!("there are {launches} launches, and blocks of {blocks}"))?;
        let n = self.estimate.n;
        check(n as usize <= launches, || format!("the estimate is of {n} launches, and there are {launches}"))?;
        check(self.blocks.is_sorted_by(|one, next| one < next), || "its blocks are not in order".to_owned())?;
        self.launches.iter().try_for_each(|launch| number("a launch", *launch))
    }
}

impl Estimate {
    /// Checks that all numbers are finite, and that the interval contains the median.
    fn validate(&self) -> Checked {
        let Estimate { median, low, high, confidence, n: _ } = *self;
        for (what, value) in [("the median", median), ("the interval", low), ("the interval", high)] {
            number(what, value)?;
        }
        check(low <= median && median <= high, || {
            format!("the median {median} is not in its interval, {low} to {high}")
        })?;
        check((0.0..=1.0).contains(&confidence), || format!("the confidence of its interval is {confidence}"))
    }
}

impl LaunchRecord {
    fn validate(&self) -> Checked {
        name("the row", &self.row)?;
        for (what, value) in [
            ("started_s", self.started_s),
            ("elapsed_s", self.elapsed_s),
            ("warm_up_s", self.warm_up_s),
            ("steal", self.steal),
            ("foreign_load", self.foreign_load),
        ] {
            number(what, value)?;
        }
        count("series", self.series.len())?;
        for (metric, samples) in &self.series {
            name("a metric", metric)?;
            count("samples", samples.len())?;
            samples.iter().try_for_each(|sample| number(metric, *sample))?;
        }
        count("histograms", self.histograms.len())?;
        for (metric, pairs) in &self.histograms {
            name("a metric", metric).and_then(|()| count("durations", pairs.len()))?;
        }
        numbers("counters", &self.counters)
    }
}

impl Environment {
    fn validate(&self) -> Checked {
        name("the host's name", &self.host)?;
        let names = [&self.cpu.model, &self.cpu.architecture, &self.kernel.release, &self.kernel.version];
        names.into_iter().chain(&self.machine).try_for_each(|value| name("a property of the machine", value))?;
        let texts = [
            &self.cpu.microcode,
            &self.cpu.governor,
            &self.kernel.command_line,
            &self.kernel.preemption,
            &self.memory.transparent_huge_pages,
            &self.virtualisation,
        ];
        texts.into_iter().flatten().try_for_each(|value| text("a property of the machine", value))?;
        count("CPUs", self.cpu.affinity.len())?;
        count("caches", self.cpu.cache_bytes.len())?;
        self.cpu.cache_bytes.keys().try_for_each(|cache| name("a cache", cache))?;
        let all = [
            &self.cpu.mitigations,
            &self.limits.sysctl,
            &self.limits.resource,
            &self.cgroup,
            &self.clock,
            &self.tracing,
        ];
        all.into_iter().try_for_each(|one| facts("properties of the machine", one))?;
        number("the load", self.load.average_1min)?;
        number("the stolen time", self.load.steal_since_boot)?;
        numbers("pressures", &self.load.pressure_some_avg10)
    }
}

#[cfg(test)]
mod tests;

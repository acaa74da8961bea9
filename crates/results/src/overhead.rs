//! The cost of tracing: the rows of a run of `headwater overhead`, each configuration compared with the one without
//! tracing, and with the resolution of the run. Called by the command and by report; it reads no file and prints
//! nothing.
//!
//! Every row is measured once in each block under every configuration, so a cost is a ratio paired within blocks, with
//! the same arithmetic as every comparison ([`super::compare`]). The configuration `null` repeats `off`: the distance
//! of its interval from 1 is the resolution of the run. That, or 2 % if it is less, is the minimum effect for the
//! verdicts on the others (MEASURING.md section 2.7). A smaller cost is never reported as a figure.

use std::borrow::Cow;

use serde::Serialize;

use crate::compare::ratio::{Ratios, Sample};
use crate::compare::{MINIMUM_EFFECT, Member, Ratio, Rules, Side, Verdict, compare};
use crate::estimate::{Estimate, median};
use crate::schema::{Better, Metric, MetricResult, Row, RowOutcome, RowResult, Run};

/// The configuration without tracing.
pub const OFF: &str = "off";
/// The configuration without tracing, measured a second time.
pub const NULL: &str = "null";
/// The pattern of whole commands.
pub const WORKLOAD: &str = "workload";
/// The pattern of the loops that measure the cost of an event: of getppid for events of the kernel, of events for a
/// program's own.
pub const PROBE: &str = "probe";
/// The counter of the events of a launch, recorded or lost.
pub const EVENTS: &str = "events";
/// The counter of the events that another tracer recorded, from its own start to its end.
pub const SEEN: &str = "events_seen";
/// The counter of lost events.
pub const LOST: &str = "lost";

/// A probe with fewer events per call than this does not measure the cost of an event.
const EVENTS_PER_CALL_MIN: f64 = 0.5;

/// All rows of a run, by metric, in the order of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// The configurations other than `off`, in the order of the run.
    pub configurations: Vec<String>,
    /// The rows.
    pub lines: Vec<Line>,
}

/// One metric of one row under all configurations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The row without its configuration.
    pub label: String,
    /// The command or operation.
    pub subject: String,
    /// The row's pattern.
    pub pattern: String,
    /// The metric.
    pub metric: Metric,
    /// The estimate without tracing; absent if that was not measured.
    pub off: Option<Estimate>,
    /// The best launch without tracing, in the metric's unit.
    pub off_best: Option<f64>,
    /// The smallest change that this run can distinguish from none, as a share: the distance of the interval of `null`
    /// from 1. Absent with fewer than two blocks of `null`.
    pub resolution: Option<f64>,
    /// The smallest change that counts, as a share: 2 %, or the resolution if that is larger. Absent without a
    /// resolution.
    pub minimum_effect: Option<f64>,
    /// The other configurations.
    pub arms: Vec<Arm>,
}

/// The cost of one configuration in one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub finding: Finding,
    /// Its own median, in the metric's unit.
    pub value: Option<Estimate>,
    /// Its best launch, in the metric's unit.
    pub value_best: Option<f64>,
    /// The cost relative to `off`, with its interval; for rates the inverse ratio.
    pub cost: Option<Cost>,
    /// The median of the costs within blocks, with its interval.
    pub median: Option<Estimate>,
    /// The cost of the best launches.
    pub best: Option<f64>,
    /// Median number of events per launch; absent if they were not counted.
    pub events: Option<f64>,
    /// Lost events.
    pub lost: Option<f64>,
    /// Whether the count contains only events of the timed part; another tracer counts its own start too.
    pub is_counted_exactly: bool,
    /// The cost of an event in this configuration according to the probe of the same run, in ns.
    pub event_ns: Option<f64>,
    /// The predicted cost: `events` times `event_ns`, as a share of the time without tracing.
    pub predicted: Option<f64>,
}

/// A cost with its interval; 1 means none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// As a factor.
    pub times: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks.
    pub n: u32,
}

/// The verdict on a cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// There is a cost of at least the smallest change that counts: its figure may be printed.
    Found,
    /// The whole interval is below the smallest change that counts.
    Below,
    /// Undecided.
    Open {
        /// About how many more blocks would decide.
        more_blocks: Option<u32>,
    },
    /// There is no reference: `null` has fewer than two launches.
    Unsupported,
    /// The configuration `null` itself.
    Null,
    /// It was not measured.
    Absent {
        /// The reason.
        reason: String,
    },
}

/// Whether a run is one of `headwater overhead`.
pub fn is_overhead(run: &Run) -> bool {
    run.results.iter().any(|result| result.row.pattern == PROBE && result.row.variant.is_some())
}

impl Overhead {
    /// Computes the costs in a run.
    pub fn of(run: &Run) -> Overhead {
        let mut configurations: Vec<String> = Vec::new();
        let mut labels: Vec<String> = Vec::new();
        for row in run.results.iter().map(|result| &result.row) {
            let Some(name) = &row.variant else { continue };
            if name != OFF && !configurations.contains(name) {
                configurations.push(name.clone());
            }
            let label = label(row);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let lines = labels.iter().flat_map(|label| lines(run, label, &configurations)).collect();
        let mut overhead = Overhead { configurations, lines };
        overhead.price(run);
        overhead
    }

    /// Returns the lines of a pattern.
    pub fn of_pattern(&self, pattern: &str) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.pattern == pattern).collect()
    }

    /// Adds the costs of events and the predicted costs.
    fn price(&mut self, run: &Run) {
        let prices: Vec<(String, Option<f64>)> =
            self.configurations.iter().map(|name| (name.clone(), event_ns(run, name))).collect();
        for line in self.lines.iter_mut().filter(|line| line.pattern == WORKLOAD) {
            let off_s = line.off.map(|off| off.median);
            for arm in &mut line.arms {
                arm.event_ns = prices.iter().find(|(name, _)| *name == arm.name).and_then(|(_, price)| *price);
                let events = arm.events.filter(|_| arm.is_counted_exactly);
                let all = events.zip(arm.event_ns).zip(off_s);
                arm.predicted =
                    all.map(|((events, ns), off_s)| events * ns / 1e9 / off_s).filter(|share| share.is_finite());
            }
        }
    }
}

/// Returns a row's id without its configuration, which is its last part.
fn label(row: &Row) -> String {
    let name = row.variant.as_deref().unwrap_or_default();
    row.id.strip_suffix(&format!("/{name}")).unwrap_or(&row.id).to_owned()
}

/// Returns a line for each metric of the row with that label.
fn lines(run: &Run, wanted: &str, configurations: &[String]) -> Vec<Line> {
    let of = |name: &str| {
        run.results.iter().find(|result| result.row.variant.as_deref() == Some(name) && label(&result.row) == wanted)
    };
    let Some(first) = of(OFF).or_else(|| configurations.iter().find_map(|name| of(name))) else { return Vec::new() };
    let line = |metric: &Metric| {
        let off = of(OFF).and_then(|result| own(result, metric));
        let better = metric.better;
        let null = off.and_then(|off| cost_of(off, own(of(NULL)?, metric)?, better));
        let resolution = null.filter(|cost| cost.n > 1).map(|cost| (-cost.low.ln()).max(cost.high.ln()).exp_m1());
        let minimum_effect = resolution.map(|resolution| resolution.max(MINIMUM_EFFECT));
        let findings = findings(off, metric, minimum_effect, configurations, &of);
        let arms = configurations.iter().zip(findings).map(|(name, finding)| {
            let result = of(name);
            let figures = result.and_then(|result| own(result, metric));
            let pair = off.zip(figures);
            let counter = |what: &str| result.and_then(|result| result.counters.get(what).copied());
            Arm {
                name: name.clone(),
                finding,
                value: figures.map(|figures| figures.estimate),
                value_best: figures.and_then(|figures| best(figures, better)),
                cost: pair.and_then(|(off, arm)| cost_of(off, arm, better)),
                median: pair.and_then(|(off, arm)| Estimate::of_launches(&within_blocks(off, arm, better))),
                best: pair.and_then(|(off, arm)| Some(cost(best(off, better)?, best(arm, better)?, better))),
                events: counter(EVENTS).or_else(|| counter(SEEN)),
                lost: counter(LOST),
                is_counted_exactly: counter(EVENTS).is_some(),
                event_ns: None,
                predicted: None,
            }
        });
        Line {
            label: wanted.to_owned(),
            subject: first.row.subject.clone(),
            pattern: first.row.pattern.clone(),
            metric: metric.clone(),
            off: off.map(|off| off.estimate),
            off_best: off.and_then(|off| best(off, better)),
            resolution,
            minimum_effect,
            arms: arms.collect(),
        }
    };
    first.row.metrics.iter().map(line).collect()
}

/// Returns the verdicts on all configurations of a line, which are one family of tests.
fn findings<'a>(
    off: Option<&MetricResult>,
    metric: &Metric,
    minimum_effect: Option<f64>,
    configurations: &[String],
    of: &impl Fn(&str) -> Option<&'a RowResult>,
) -> Vec<Finding> {
    let member = |label: &str, result: &RowResult, figures: &MetricResult| {
        // Only a row's own figure is judged, so each metric is made the own figure in turn.
        let row = Row { metrics: vec![metric.clone()], ..result.row.clone() };
        let result = RowResult { row, metrics: vec![figures.clone()], ..result.clone() };
        Member { label: label.to_owned(), runs: vec![0], result: Cow::Owned(result) }
    };
    let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
    for name in configurations.iter().filter(|name| *name != NULL) {
        let found = of(name).and_then(|result| Some((result, own(result, metric)?))).zip(off);
        if let Some(((result, figures), off)) = found {
            baseline.push(member(name, result, off));
            candidate.push(member(name, result, figures));
        }
    }
    let sides = [(OFF, baseline), ("tracing", candidate)];
    let [baseline, candidate] = sides.map(|(name, members)| Side { name: name.to_owned(), members });
    let rules = Rules { minimum_effect: minimum_effect.unwrap_or(MINIMUM_EFFECT), ..Rules::default() };
    let comparison = compare(&baseline, &candidate, rules);
    let one = |name: &String| {
        if name == NULL {
            return Finding::Null;
        }
        let Some(row) = comparison.rows.iter().find(|row| row.label == *name) else {
            return Finding::Absent { reason: why_absent(of(name)) };
        };
        match row.verdict {
            _ if minimum_effect.is_none() => Finding::Unsupported,
            Verdict::Better | Verdict::Worse => Finding::Found,
            Verdict::Equivalent => Finding::Below,
            Verdict::Inconclusive { more_blocks, .. } => Finding::Open { more_blocks },
            Verdict::Unjudged => Finding::Open { more_blocks: None },
        }
    };
    configurations.iter().map(one).collect()
}

fn why_absent(result: Option<&RowResult>) -> String {
    match result.map(|result| &result.outcome) {
        Some(RowOutcome::Skipped { reason } | RowOutcome::Failed { reason }) => reason.clone(),
        Some(RowOutcome::Pending | RowOutcome::Measured) => "the run ended before its turn".to_owned(),
        None => "not asked for".to_owned(),
    }
}

fn own<'a>(result: &'a RowResult, metric: &Metric) -> Option<&'a MetricResult> {
    result.metrics.iter().find(|found| found.metric == *metric)
}

/// Returns the cost of a value relative to another.
fn cost(off: f64, arm: f64, better: Better) -> f64 {
    if better == Better::Lower { arm / off } else { off / arm }
}

fn cost_of(off: &MetricResult, arm: &MetricResult, better: Better) -> Option<Cost> {
    let Ratio { value, low, high, n, .. } = Ratios::default().of(&Sample::paired(off, arm)?)?;
    let (times, low, high) = match better {
        Better::Lower => (value, low, high),
        Better::Higher => (1.0 / value, 1.0 / high, 1.0 / low),
    };
    Some(Cost { times, low, high, n })
}

fn within_blocks(off: &MetricResult, arm: &MetricResult, better: Better) -> Vec<f64> {
    let of_off = |block: u32| off.blocks.iter().position(|other| *other == block).map(|at| off.launches[at]);
    let pairs = arm.blocks.iter().zip(&arm.launches).filter_map(|(&block, &value)| Some((of_off(block)?, value)));
    pairs.map(|(off, arm)| cost(off, arm, better)).collect()
}

fn best(figures: &MetricResult, better: Better) -> Option<f64> {
    let least = |a: f64, b: f64| if better == Better::Lower { a.min(b) } else { a.max(b) };
    figures.launches.iter().copied().reduce(least)
}

/// Returns the cost of an event under a configuration, from its first usable probe: the median over blocks of the
/// additional time of a call, divided by the events of a call.
fn event_ns(run: &Run, configuration: &str) -> Option<f64> {
    let price = |arm: &RowResult| {
        let off = probes(run, OFF).find(|off| off.row.subject == arm.row.subject)?;
        let events_per_call =
            arm.counters.get(EVENTS).or_else(|| arm.counters.get(SEEN))? / arm.counters.get("calls")?;
        let (before, after) = (off.metrics.first()?, arm.metrics.first()?);
        let of_off = |block: u32| before.blocks.iter().position(|other| *other == block).map(|at| before.launches[at]);
        let longer = after.blocks.iter().zip(&after.launches).filter_map(|(&block, &ns)| Some(ns - of_off(block)?));
        let longer_ns = median(&longer.collect::<Vec<_>>())?;
        (events_per_call >= EVENTS_PER_CALL_MIN && longer_ns > 0.0).then(|| longer_ns / events_per_call)
    };
    probes(run, configuration).find_map(price)
}

fn probes<'a>(run: &'a Run, configuration: &'a str) -> impl Iterator<Item = &'a RowResult> {
    let rows = run.results.iter().filter(|result| result.row.pattern == PROBE);
    rows.filter(move |result| result.row.variant.as_deref() == Some(configuration))
}

#[cfg(test)]
mod tests;

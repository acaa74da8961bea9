//! Histories: the estimates of a row in many runs, and the runs at which its level changes. Called by `headwater
//! history`. It reads no run: it takes an iterator of estimates, whether they come from files or from a database.
//!
//! The unit of a history is the run: launches within a run are the replicates of its estimate, and only differences
//! between runs can show that a level is another one. The estimates of one row on one machine, by one definition, are a
//! line. A change point is searched for within a line, never across two ([`divisive`]). Its effect is the same statistic
//! as that of a comparison, of the runs before it against those after it.

use crate::sorting::Arrange;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::compare::environment::{Difference, differing};
use crate::compare::ratio::{Ratios, Sample};
use crate::compare::{Ratio, Rules, Verdict, verdict};
use crate::estimate::Estimate;
use crate::origin::hosts::{Identities, Over};
use crate::origin::{Machine, Origin};
use crate::schema::{Better, Metric, MetricResult, Row, RowResult};
use crate::significance::family;
use divisive::{Search, Split};
pub use order::By;
pub use shared::{Beside, Shared};

pub mod divisive;
pub mod exchange;
mod order;
mod shared;

/// The estimate of one row in one run, and what is known about the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The run.
    pub origin: Arc<Origin>,
    /// The row.
    pub row: Arc<Row>,
    /// Its own figure.
    pub metric: MetricResult,
}

/// Returns a row's own figure.
///
/// # Errors
/// The reason for which there is none that a ratio can be made of.
pub fn own_figure(result: &RowResult) -> Result<&MetricResult, String> {
    let metric = result.own_metric()?;
    if !(metric.estimate.median.is_finite() && metric.estimate.median > 0.0) {
        return Err(format!("its figure is {}: a ratio needs one above 0", metric.estimate.median));
    }
    Ok(metric)
}

/// A row in many runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// The row's id.
    pub row: String,
    /// The quantity, with the direction of an improvement.
    pub metric: Metric,
    /// The lines in the order of their first runs.
    pub lines: Vec<Line>,
}

/// The runs of one machine by one definition of the row, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The machine.
    pub machine: Machine,
    /// The version of the row's definition.
    pub definition_version: u32,
    /// The estimates.
    pub points: Vec<Point>,
    /// The change points, in order.
    pub changes: Vec<Change>,
    /// A difference at the end of the line that may become a change point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// How many more runs it takes until any change can be found; absent if there are enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_missing: Option<usize>,
}

/// The estimate of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The place among all runs of the row, whatever their line, from 0.
    pub place: usize,
    /// The name of the run.
    pub run: String,
    /// The time at which it began.
    pub started_at: String,
    /// The run's level of the property that orders the history: its kernel, commit, ...
    pub level: String,
    /// The program that measured.
    pub program: String,
    /// Median over the launches with its interval.
    pub estimate: Estimate,
}

/// A change point: the level of a line is another one from here on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The index of the first point of the new level.
    pub at: usize,
    /// The last run before it.
    pub before: String,
    /// The first run of the new level.
    pub after: String,
    /// The p-value of the permutation test.
    pub p: f64,
    /// The new level over the former one, of runs; against the level of all rows where that is known.
    pub ratio: Ratio,
    /// Better or worse by at least the minimum effect, equivalent within it, or inconclusive.
    pub verdict: Verdict,
    /// About how many more runs of the new level its interval needs to exclude no change; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u32>,
    /// What differs between the two runs.
    pub environment: Vec<Cause>,
}

/// A fact that differs between the runs on either side of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The fact with its values.
    #[serde(flatten)]
    pub difference: Difference,
    /// Whether all runs of the level before have the one value, and all of the new level the other one.
    pub holds: bool,
}

/// The largest difference at the end of a line that is not significant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Open {
    /// The index of the first point after it.
    pub at: usize,
    /// The first run after it.
    pub after: String,
    /// The p-value of the permutation test.
    pub p: f64,
    /// The runs after it over those before it.
    pub ratio: Ratio,
    /// About how many more runs like those after it make it a change point; absent if more than [`MORE_RUNS_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u32>,
}

/// Advice to make more runs than this is omitted.
pub const MORE_RUNS_MAX: u32 = 12;

/// A difference with a larger p-value is not worth a look.
const OPEN_P_MAX: f64 = 0.25;

/// An entry that is not in a history, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The run.
    pub run: String,
    /// The row.
    pub row: String,
    /// The reason.
    pub reason: String,
}

/// The histories of rows, and what is not in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histories {
    /// The histories in the order of the rows' first runs.
    pub histories: Vec<History>,
    /// Entries without a level of the property.
    pub left_out: Vec<Left>,
    /// The lines that were tested together.
    pub tested: usize,
    /// The lines with a change.
    pub changed: usize,
    /// The level of each test within those.
    pub level: f64,
    /// What all rows of a machine have in common. Changes of its rows are changes against it.
    pub shared: Vec<Shared>,
}

/// Returns the histories of all rows of `entries`.
///
/// The rows are a family. Benjamini and Hochberg's procedure over the first test of every line decides which lines have a
/// change at all; further points of these are tested at alpha times their share of all lines (Benjamini and Bogomolov,
/// "Selective inference on multiple families of hypotheses", 2014). So a history without any change has a false alarm with
/// probability at most alpha, and so has a family of such histories.
pub fn histories(entries: impl IntoIterator<Item = Entry>, by: &By, rules: Rules) -> Histories {
    histories_over(entries, &Beside::default(), by, &Over::default(), rules)
}

/// Returns the histories of all rows of `entries`, as [`histories`], with hosts told apart by `over`. The rows of `beside` only
/// say what all rows of a machine have in common.
pub fn histories_over(
    entries: impl IntoIterator<Item = Entry>,
    beside: &Beside,
    by: &By,
    over: &Over,
    rules: Rules,
) -> Histories {
    let mut left_out = Vec::new();
    let mut identities = Identities::new(over.clone());
    let mut rows: Vec<Vec<Placed>> = Vec::new();
    let mut place_of: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in entries {
        let Some(level) = by.level(&entry) else {
            let reason = format!("the run has no {}", by.name());
            left_out.push(Left { run: entry.origin.run.clone(), row: entry.row.id.clone(), reason });
            continue;
        };
        let host = match identities.add(&entry.origin) {
            Ok(host) => host,
            Err(reason) => {
                left_out.push(Left { run: entry.origin.run.clone(), row: entry.row.id.clone(), reason });
                continue;
            }
        };
        // A quantity that has changed its unit is another one.
        let key = (entry.row.id.clone(), format!("{} {}", entry.metric.metric.name, entry.metric.metric.unit));
        let place = *place_of.entry(key).or_insert(rows.len());
        if place == rows.len() {
            rows.push(Vec::new());
        }
        rows[place].push(Placed { level, host, entry });
    }
    let hosts = NamedHosts::of(&identities);
    let mut lines: Vec<Vec<Pending>> = rows.into_iter().map(|row| pending(row, by, &hosts)).collect();
    let (shared, levels) = shared::shared(&lines, beside);
    for (line, levels) in lines.iter_mut().flatten().zip(levels) {
        line.levels = levels;
    }
    let count = lines.iter().flatten().filter(|line| line.is_long_enough()).count();
    let mut search = Search::at(rules.alpha / count.max(1) as f64);
    let mut tests = Vec::new();
    for line in lines.iter_mut().flatten().filter(|line| line.is_long_enough()) {
        line.first = search.best(&line.logarithms());
        tests.push((line.first.map_or(1.0, |split| split.p), 0.0));
    }
    let members = family::judge(&tests, rules.alpha);
    let changed = members.iter().filter(|member| member.significant).count();
    let level = rules.alpha * changed.max(1) as f64 / count.max(1) as f64;
    let mut judged = members.into_iter();
    let of_row = |row: Vec<Pending>| -> Option<History> {
        let first = row.first()?;
        let entry = &first.entries.first()?.2;
        let (id, metric) = (entry.row.id.clone(), entry.metric.metric.clone());
        let lines = row.into_iter().map(|line| {
            let is_changed = line.is_long_enough() && judged.next().is_some_and(|member| member.significant);
            line.finish(is_changed, &mut search, level, rules, metric.better)
        });
        let lines = lines.collect();
        Some(History { row: id, metric, lines })
    };
    let histories = lines.into_iter().filter_map(of_row).collect();
    Histories { histories, left_out, tested: count, changed, level, shared }
}

/// An entry with its level of the property that orders the history.
struct Placed {
    level: String,
    /// The place of what its run says about the host.
    host: usize,
    entry: Entry,
}

/// The hosts of a history.
struct NamedHosts {
    /// The host of each place.
    host_of: Vec<usize>,
    names: Vec<String>,
}

impl NamedHosts {
    fn of(identities: &Identities) -> NamedHosts {
        let hosts = identities.resolved();
        let names = identities.names(&hosts);
        let mut host_of = vec![0; hosts.iter().map(Vec::len).sum()];
        for (host, places) in hosts.iter().enumerate() {
            places.iter().for_each(|&place| host_of[place] = host);
        }
        NamedHosts { host_of, names }
    }
}

/// A line before its changes are known.
struct Pending {
    machine: Machine,
    host: usize,
    definition_version: u32,
    /// The place, the level and the entry of each run.
    entries: Vec<(usize, String, Entry)>,
    /// The level of all rows in each run, as logarithms of the figure; 0 where it is unknown.
    levels: Vec<f64>,
    /// The first test of all its runs.
    first: Option<Split>,
}

/// Sorts the entries of a row into lines.
fn pending(mut row: Vec<Placed>, by: &By, hosts: &NamedHosts) -> Vec<Pending> {
    by.sort(&mut row);
    let mut lines: Vec<Pending> = Vec::new();
    for (place, Placed { level, host, entry }) in row.into_iter().enumerate() {
        let host = hosts.host_of[host];
        let machine = &entry.origin.machine;
        let is_same = |line: &Pending| {
            line.host == host
                && (line.machine.cpu.as_str(), line.machine.cpus) == (machine.cpu.as_str(), machine.cpus)
                && line.definition_version == entry.row.definition_version
        };
        let at = lines.iter().position(is_same).unwrap_or(lines.len());
        if at == lines.len() {
            // Under the name that tells it from the others, which is its last one.
            let machine = Machine { host: hosts.names[host].clone(), ..machine.clone() };
            let definition_version = entry.row.definition_version;
            lines.push(Pending {
                machine,
                host,
                definition_version,
                entries: Vec::new(),
                levels: Vec::new(),
                first: None,
            });
        }
        lines[at].entries.push((place, level, entry));
    }
    lines
}

impl Pending {
    fn is_long_enough(&self) -> bool {
        (divisive::VALUES_MIN..=divisive::VALUES_MAX).contains(&self.entries.len())
    }

    /// Returns the logarithm of each run's estimate, without the level of all rows.
    fn logarithms(&self) -> Vec<f64> {
        let of_run =
            |((_, _, entry), level): (&(usize, String, Entry), &f64)| entry.metric.estimate.median.ln() - level;
        self.entries.iter().zip(&self.levels).map(of_run).collect()
    }

    fn finish(self, is_changed: bool, search: &mut Search, level: f64, rules: Rules, better: Better) -> Line {
        let values = self.logarithms();
        let splits = if is_changed { search.changes(&values, level) } else { Vec::new() };
        let ends: Vec<usize> = splits.iter().map(|split| split.at).chain([values.len()]).collect();
        let mut ratios = Ratios::at(rules.alpha);
        let mut changes = Vec::new();
        let mut start = 0;
        for (split, end) in splits.iter().zip(&ends[1..]) {
            let (before, after) = (start..split.at, split.at..*end);
            let sample = Sample::Independent(values[before.clone()].to_vec(), values[after.clone()].to_vec());
            if let Some(ratio) = ratios.of(&sample) {
                let (verdict, more_runs) = judged(&ratio, rules, better);
                changes.push(Change {
                    at: split.at,
                    before: self.entries[split.at - 1].2.origin.run.clone(),
                    after: self.entries[split.at].2.origin.run.clone(),
                    p: split.p,
                    ratio,
                    verdict,
                    more_runs,
                    environment: self.causes(before, after),
                });
            }
            start = split.at;
        }
        let open = self.open(&values, start, search, level, rules, &mut ratios);
        let runs_missing = divisive::VALUES_MIN.checked_sub(values.len()).filter(|missing| *missing > 0);
        let point = |(place, level, entry): (usize, String, Entry)| Point {
            place,
            run: entry.origin.run.clone(),
            started_at: entry.origin.started_at.clone(),
            level,
            program: entry.origin.program.clone(),
            estimate: entry.metric.estimate,
        };
        Line {
            machine: self.machine,
            definition_version: self.definition_version,
            points: self.entries.into_iter().map(point).collect(),
            changes,
            open,
            runs_missing,
        }
    }

    /// Returns what differs between the last run before a change and the first one after it; what holds for all runs
    /// of either level first.
    fn causes(&self, before: std::ops::Range<usize>, after: std::ops::Range<usize>) -> Vec<Cause> {
        let origin = |place: usize| &self.entries[place].2.origin;
        let value = |place: usize, name: &str| origin(place).fact(name).unwrap_or("absent");
        let [last, first] = [before.end - 1, after.start].map(|place| origin(place).facts_and_labels());
        let mut causes: Vec<Cause> = differing(&last, &first)
            .into_iter()
            .map(|difference| Cause {
                holds: before.clone().all(|place| value(place, &difference.what) == difference.before)
                    && after.clone().all(|place| value(place, &difference.what) == difference.after),
                difference,
            })
            .collect();
        causes.arrange_by_key(|cause| !cause.holds);
        causes
    }

    /// Returns the difference at the end of the line that may become a change point.
    fn open(
        &self,
        values: &[f64],
        start: usize,
        search: &mut Search,
        level: f64,
        rules: Rules,
        ratios: &mut Ratios,
    ) -> Option<Open> {
        if !self.is_long_enough() {
            return None;
        }
        let last = &values[start..];
        let split = search.best(last).filter(|split| split.p <= OPEN_P_MAX)?;
        let (before, after) = last.split_at(split.at);
        let ratio = ratios.of(&Sample::Independent(before.to_vec(), after.to_vec()))?;
        if ratio.value.ln().abs() < rules.minimum_effect.ln_1p() {
            return None;
        }
        // Further runs like those after the split are these again.
        let mut longer = last.to_vec();
        let decides = |more: &u32| {
            longer.push(after[(*more as usize - 1) % after.len()]);
            search.best(&longer).is_some_and(|split| split.p <= level)
        };
        let more_runs = (1..=MORE_RUNS_MAX).find(decides);
        let at = start + split.at;
        Some(Open { at, after: self.entries[at].2.origin.run.clone(), p: split.p, ratio, more_runs })
    }
}

/// Returns the verdict on a change point, whose significance is that of the permutation test, and about how many more runs
/// the interval of its ratio needs.
fn judged(ratio: &Ratio, rules: Rules, better: Better) -> (Verdict, Option<u32>) {
    let (effect, minimum) = (ratio.value.ln(), rules.minimum_effect.ln_1p());
    let is_covering = ratio.confidence >= 1.0 - rules.alpha;
    let is_apart = is_covering && (ratio.low > 1.0 || ratio.high < 1.0);
    let member = family::Member { p_adjusted: ratio.p, significant: is_apart, reachable: is_covering };
    let more = || verdict::more_blocks(ratio, member, 1, rules);
    if effect.abs() >= minimum {
        let verdict = if (effect > 0.0) == (better == Better::Higher) { Verdict::Better } else { Verdict::Worse };
        return (verdict, if is_apart { None } else { more() });
    }
    if is_covering && ratio.low.ln() >= -minimum && ratio.high.ln() <= minimum {
        return (Verdict::Equivalent, None);
    }
    (Verdict::Inconclusive { more_blocks: more(), more_hosts: None, below_floor: false }, more())
}

#[cfg(test)]
mod tests;

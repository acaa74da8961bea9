//! Factors: the property in which the two sides of a comparison differ. A factor assigns a level to every row; the rest
//! is the row's id without it. Rows of different levels with the same rest are counterparts. Called by `compare` and
//! `run`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Member, Side};
use crate::estimate::Estimate;
use crate::origin::Origin;
use crate::schema::{MetricResult, Row, RowOutcome, RowResult, Run};

/// A property in which rows can differ.
#[derive(Clone, Debug)]
pub struct Factor {
    /// The name on the command line.
    pub name: Cow<'static, str>,
    /// A description in a few words.
    pub summary: &'static str,
    /// Whether hosts are replicates of it: a kernel can be measured on many hosts, and a host cannot.
    pub is_over_hosts: bool,
    level: Level,
    /// Returns the row's id without the level.
    rest: fn(&Row) -> String,
}

/// How a factor assigns levels.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// To runs, each of which has a name.
    Run(fn(&Origin) -> Option<String>),
    /// To rows.
    Row(fn(&Row) -> Option<String>),
    /// To runs, by the label that the factor is named after.
    Label,
}

/// All factors but labels.
pub static TABLE: &[Factor] = &[
    of_run("run", "one run against another", false, |run| Some(run.run.clone())),
    of_run("kernel", "kernel release of the run", true, |run| Some(run.kernel.clone())),
    of_run("host", "host of the run", false, |run| Some(run.machine.host.clone())),
    of_run("program", "the headwater that measured", true, |run| Some(run.program.clone())),
    of_run("date", "day of the run", true, |run| run.started_at.split('T').next().map(str::to_owned)),
    of_row(
        "placement",
        "where the processes of a row run",
        |row| Some(row.placement.name().to_owned()),
        |row| without(&row.id, |part| part == row.placement.name()),
    ),
    of_row(
        "policy",
        "the named policy of a subject that has several",
        |row| row.policy.clone(),
        |row| match &row.policy {
            Some(policy) => row.id.replacen(&format!("-{policy}"), "", 1),
            None => row.id.clone(),
        },
    ),
    of_row(
        "variant",
        "the variant of the row, of `run --variant` and `run --against`",
        |row| row.variant.clone(),
        |row| without(&row.id, |part| Some(part) == row.variant.as_deref()),
    ),
    of_row(
        "transport",
        "the transport or other subject",
        |row| Some(row.subject.clone()),
        |row| row.id.strip_prefix(&row.subject).unwrap_or(&row.id).trim_start_matches('/').to_owned(),
    ),
];

const fn of_run(
    name: &'static str,
    summary: &'static str,
    is_over_hosts: bool,
    level: fn(&Origin) -> Option<String>,
) -> Factor {
    Factor { name: Cow::Borrowed(name), summary, is_over_hosts, level: Level::Run(level), rest: whole }
}

const fn of_row(
    name: &'static str,
    summary: &'static str,
    level: fn(&Row) -> Option<String>,
    rest: fn(&Row) -> String,
) -> Factor {
    Factor { name: Cow::Borrowed(name), summary, is_over_hosts: true, level: Level::Row(level), rest }
}

/// Returns the factor with that name.
pub fn find(name: &str) -> Option<&'static Factor> {
    TABLE.iter().find(|factor| factor.name == name)
}

impl Factor {
    /// Returns the factor whose levels are the values of this label of the runs.
    pub fn label(name: &str) -> Factor {
        let summary = "a label of the runs";
        Factor { name: Cow::Owned(name.to_owned()), summary, is_over_hosts: true, level: Level::Label, rest: whole }
    }

    /// Returns whether it is a label of the runs.
    pub fn is_label(&self) -> bool {
        matches!(self.level, Level::Label)
    }

    /// Returns whether a run has one level only, so that no two levels share a block.
    pub fn is_of_runs(&self) -> bool {
        !matches!(self.level, Level::Row(_))
    }

    /// Returns the level of a row in a run; `None` if the row has none.
    pub fn level(&self, run: &Origin, row: &Row) -> Option<String> {
        match self.level {
            Level::Row(level) => level(row).filter(|level| !level.is_empty()),
            Level::Run(_) | Level::Label => self.level_of_run(run),
        }
    }

    /// Returns the level of all rows of a run; `None` if the run has none, or each row its own.
    fn level_of_run(&self, run: &Origin) -> Option<String> {
        let level = match self.level {
            Level::Run(level) => level(run),
            Level::Label => run.labels.get(self.name.as_ref()).cloned(),
            Level::Row(_) => None,
        };
        level.filter(|level| !level.is_empty())
    }

    /// Returns what a row shares with its counterparts of other levels: its id without the level.
    pub fn rest(&self, row: &Row) -> String {
        (self.rest)(row)
    }
}

/// Returns the sides of a factor with the rows that `keep` accepts, in the order in which its levels appear.
///
/// Several rows of one level with the same rest, for example of two runs on one kernel, are pooled: their launches
/// become the launches of one row. Blocks of different runs stay distinct.
pub fn sides<'a>(runs: &'a [(String, Run)], factor: &Factor, keep: impl Fn(&Row) -> bool) -> Vec<Side<'a>> {
    let mut sides: Vec<Side<'a>> = Vec::new();
    let mut side_of_level: BTreeMap<String, usize> = BTreeMap::new();
    let mut member_of_label: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (number, (name, run)) in runs.iter().enumerate() {
        let origin = Origin::of(name, run);
        // A run without any of the rows has a side of its own, so that it is not overlooked.
        if let Some(level) = factor.level_of_run(&origin) {
            let next = sides.len();
            if *side_of_level.entry(level.clone()).or_insert(next) == next {
                sides.push(Side { name: level, members: Vec::new() });
            }
        }
        for result in run.results.iter().filter(|result| keep(&result.row)) {
            let Some(level) = factor.level(&origin, &result.row) else { continue };
            let at = *side_of_level.entry(level.clone()).or_insert(sides.len());
            if at == sides.len() {
                sides.push(Side { name: level, members: Vec::new() });
            }
            let members = &mut sides[at].members;
            let label = factor.rest(&result.row);
            let place = *member_of_label.entry((at, label.clone())).or_insert(members.len());
            match members.get_mut(place) {
                None => members.push(Member { label, runs: vec![number], result: apart(result, number) }),
                Some(member) => member.pool(result, number),
            }
        }
    }
    sides
}

/// The difference between block numbers of two runs; a run has at most 10,000 blocks.
const BLOCKS_OF_A_RUN: u32 = 1 << 20;

/// Returns the result with block numbers that no other run has.
fn apart(result: &RowResult, number: usize) -> Cow<'_, RowResult> {
    if number == 0 {
        return Cow::Borrowed(result);
    }
    let mut result = result.clone();
    result.metrics.iter_mut().for_each(|metric| shift(metric, number));
    Cow::Owned(result)
}

fn shift(metric: &mut MetricResult, number: usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    metric.blocks.iter_mut().for_each(|block| *block = block_of(*block, number));
}

/// Returns the number that a block of this run has among those of all runs.
pub(crate) fn block_of(block: u32, run: u32) -> u32 {
    block.wrapping_add(run.wrapping_mul(BLOCKS_OF_A_RUN))
}

impl Member<'_> {
    /// Adds the launches of the same row of another run.
    fn pool(&mut self, other: &RowResult, number: usize) {
        self.runs.push(number);
        if other.outcome != RowOutcome::Measured {
            return;
        }
        let result = self.result.to_mut();
        if result.outcome != RowOutcome::Measured {
            *result = apart(other, number).into_owned();
            return;
        }
        for metric in &mut result.metrics {
            let Some(more) = other.metrics.iter().find(|more| more.metric == metric.metric) else { continue };
            let mut more = more.clone();
            shift(&mut more, number);
            metric.launches.extend(more.launches);
            metric.blocks.extend(more.blocks);
            if let Some(estimate) = Estimate::of_launches(&metric.launches) {
                metric.estimate = estimate;
            }
        }
    }
}

/// Returns an id without the last part for which `is` is true.
fn without(id: &str, is: impl Fn(&str) -> bool) -> String {
    let mut parts: Vec<&str> = id.split('/').collect();
    if let Some(at) = parts.iter().rposition(|part| is(part)) {
        parts.remove(at);
    }
    parts.join("/")
}

fn whole(row: &Row) -> String {
    row.id.clone()
}

#[cfg(test)]
mod tests;

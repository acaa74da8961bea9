//! Factors: the property in which the two sides of a comparison differ. A factor assigns a level to every row; the rest
//! is the row's id without it. Rows of different levels with the same rest are counterparts. Called by `compare` and
//! `run`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Member, Side};
use crate::estimate::Estimate;
use crate::schema::{MetricResult, Row, RowOutcome, RowResult, Run};

/// A property in which rows can differ.
#[derive(Debug)]
pub struct Factor {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in a few words.
    pub summary: &'static str,
    /// Returns the level of a row in a run of that name; `None` if the row has none.
    level: fn(name: &str, run: &Run, row: &Row) -> Option<String>,
    /// Returns the row's id without the level.
    rest: fn(&Row) -> String,
}

/// All factors.
pub static TABLE: &[Factor] = &[
    Factor { name: "run", summary: "one run against another", level: |name, _, _| Some(name.to_owned()), rest: whole },
    Factor {
        name: "kernel",
        summary: "kernel release of the run",
        level: |_, run, _| Some(run.header.environment.kernel.release.clone()).filter(|release| !release.is_empty()),
        rest: whole,
    },
    Factor {
        name: "host",
        summary: "host of the run",
        level: |_, run, _| Some(run.header.environment.host.clone()).filter(|host| !host.is_empty()),
        rest: whole,
    },
    Factor {
        name: "placement",
        summary: "where the processes of a row run",
        level: |_, _, row| Some(row.placement.name().to_owned()),
        rest: |row| without(&row.id, |part| part == row.placement.name()),
    },
    Factor {
        name: "policy",
        summary: "the named policy of a subject that has several",
        level: |_, _, row| row.policy.clone(),
        rest: |row| match &row.policy {
            Some(policy) => row.id.replacen(&format!("-{policy}"), "", 1),
            None => row.id.clone(),
        },
    },
    Factor {
        name: "variant",
        summary: "the variant of the row, of `run --variant` and `run --against`",
        level: |_, _, row| row.variant.clone(),
        rest: |row| without(&row.id, |part| Some(part) == row.variant.as_deref()),
    },
    Factor {
        name: "transport",
        summary: "the transport or other subject",
        level: |_, _, row| Some(row.subject.clone()),
        rest: |row| row.id.strip_prefix(&row.subject).unwrap_or(&row.id).trim_start_matches('/').to_owned(),
    },
];

/// Returns the factor with that name.
pub fn find(name: &str) -> Option<&'static Factor> {
    TABLE.iter().find(|factor| factor.name == name)
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
        for result in run.results.iter().filter(|result| keep(&result.row)) {
            let Some(level) = (factor.level)(name, run, &result.row) else { continue };
            let at = *side_of_level.entry(level.clone()).or_insert(sides.len());
            if at == sides.len() {
                sides.push(Side { name: level, members: Vec::new() });
            }
            let members = &mut sides[at].members;
            let label = (factor.rest)(&result.row);
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
    let by = u32::try_from(number).unwrap_or(u32::MAX).wrapping_mul(BLOCKS_OF_A_RUN);
    metric.blocks.iter_mut().for_each(|block| *block = block.wrapping_add(by));
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

//! What a STREAMS or XTI runtime gives beyond the best of the kernel's mechanisms, by ranges of sizes: a sentence per
//! placement. A ring is far ahead while both ends run, so the figures of event loops and of a sleeping reader stand beside it.

use headwater_results::schema::{Placement, RowResult, Run};

use super::choice::{USES, Use, measured_first};
use super::of_size;
use super::range::place;
use super::relation::{against, beside, unite};
use crate::judge::{self, Relation};
use crate::rows::{self, Provider};
use crate::text::{capital, list, short_list};

/// The most ranges of one pattern; with more, only the extremes are given.
const RANGES_MAX: usize = 4;

/// The most names of a range; the others are counted.
const NAMED: usize = 2;

/// The conditions of a use in which both ends run: with a CPU each, and with one for both.
pub(super) const BOTH_RUN: &str = "while both ends run";
pub(super) const ONE_CPU: &str = "with both ends on one CPU";

/// What a run says without a reader that sleeps.
const NOT_ASLEEP: &str =
    "`headwater run` measures how much of this remains in an event loop and with a sleeping reader";

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let found: Vec<Vec<&RowResult>> = USES.iter().map(|of| measured_first(run, of.patterns)).collect();
    let all: Vec<&RowResult> = found.iter().flatten().copied().collect();
    rows::placements(run, &all).into_iter().filter_map(|placement| sentence(&found, placement)).collect()
}

/// Returns a part for the uses in which both ends run, and one for the others.
fn sentence(found: &[Vec<&RowResult>], placement: Placement) -> Option<String> {
    let part = |both_run: bool| -> Option<String> {
        let of_use = |(of, rows): (&Use, &Vec<&RowResult>)| {
            let ranges = ranges(&steps(&rows::at(rows, placement)));
            (!ranges.is_empty()).then(|| format!("{} is {}", of.name, words(&ranges)))
        };
        let uses = USES.iter().zip(found).filter(|(of, _)| of.both_run == both_run);
        let parts: Vec<String> = uses.filter_map(of_use).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    };
    let condition = if placement == Placement::SameCpu { ONE_CPU } else { BOTH_RUN };
    let (running, asleep) = (part(true).map(|words| format!("{condition}, {words}")), part(false));
    if running.is_none() && asleep.is_none() {
        return None;
    }
    let asleep =
        asleep.map_or_else(|| NOT_ASLEEP.to_owned(), |words| if running.is_some() { capital(&words) } else { words });
    let parts: Vec<String> = running.into_iter().chain([asleep]).collect();
    Some(format!("What STREAMS brings ({}): {}.", rows::placement_words(placement), parts.join(". ")))
}

/// The comparison at one size.
pub(super) struct Step<'a> {
    size: u64,
    /// How the runtime stands to the other.
    relation: Relation,
    /// The two that are compared.
    subjects: [&'a str; 2],
}

/// Adjacent sizes with the same outcome.
pub(super) struct Range<'a> {
    sizes: (u64, u64),
    /// The relation with the interval over all sizes.
    relation: Relation,
    subjects: [Vec<&'a str>; 2],
}

pub(super) fn steps<'a>(rows: &[&'a RowResult]) -> Vec<Step<'a>> {
    rows::sizes(rows).into_iter().filter_map(|size| step(&of_size(rows, size), size)).collect()
}

/// Returns the comparison of rows of one size; `None` if either side has none.
fn step<'a>(rows: &[&'a RowResult], size: u64) -> Option<Step<'a>> {
    let best = |provider| {
        let of: Vec<&RowResult> = rows.iter().copied().filter(|row| rows::provider(row) == provider).collect();
        let ranked = judge::ranking(&of, true);
        // Of several that are equally fast a program takes the one without a policy of an experiment.
        let plain = ranked.iter().find(|(row, relation)| relation.leads() && row.row.policy.is_none());
        plain.or(ranked.first()).map(|(row, _)| *row)
    };
    Step::between(best(Provider::Runtime)?, best(Provider::Kernel)?, size)
}

impl<'a> Step<'a> {
    /// Returns the comparison of two rows of one size; `None` without a ratio.
    pub(super) fn between(runtime: &'a RowResult, kernel: &'a RowResult, size: u64) -> Option<Step<'a>> {
        let relation = judge::relation(runtime, kernel)?;
        Some(Step { size, relation, subjects: [&runtime.row.subject, &kernel.row.subject] })
    }
}

pub(super) fn ranges<'a>(steps: &[Step<'a>]) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for step in steps {
        if !ranges.last_mut().is_some_and(|range| range.joins(step)) {
            let subjects = step.subjects.map(|subject| vec![subject]);
            ranges.push(Range { sizes: (step.size, step.size), relation: step.relation, subjects });
        }
    }
    ranges
}

pub(super) fn words(ranges: &[Range<'_>]) -> String {
    let last = ranges.len().saturating_sub(1);
    if last < RANGES_MAX {
        let words = ranges.iter().enumerate().map(|(index, range)| range.words(index == 0, index == last));
        return list(&words.collect::<Vec<_>>());
    }
    let times = |range: &Range<'_>| range.relation.times().map_or(1.0, |times| times.median);
    let extreme = |one: &&Range<'_>, other: &&Range<'_>| times(one).total_cmp(&times(other));
    let best = ranges.iter().max_by(extreme).expect("there are many");
    let worst = ranges.iter().min_by(extreme).expect("there are many");
    format!("between {} and {}, and changes with the size", worst.words(false, false), best.words(false, false))
}

impl<'a> Range<'a> {
    /// Takes up another size with the same outcome; returns false for another outcome.
    fn joins(&mut self, step: &Step<'a>) -> bool {
        use Relation::{Better, Equal, NotMeasured, Open, Worse};
        self.relation = match (self.relation, step.relation) {
            (Better(one), Better(other)) => Better(unite(one, other)),
            (Worse(one), Worse(other)) => Worse(unite(one, other)),
            (Equal(one), Equal(other)) => Equal(unite(one, other)),
            (Open(one), Open(other)) if one.n > 1 && other.n > 1 => Open(unite(one, other)),
            (NotMeasured(one), NotMeasured(other)) => NotMeasured(one.max(other)),
            _ => return false,
        };
        self.sizes.1 = step.size;
        self.subjects.iter_mut().zip(step.subjects).for_each(|(known, subject)| known.push(subject));
        true
    }

    /// Returns `streams-pipe is 8.0 times as fast as pipe`.
    pub(super) fn short(&self) -> String {
        let [of_runtime, of_kernel] = self.names();
        format!("{of_runtime} {}", against(&self.relation, &of_kernel))
    }

    /// Returns the same for two of several ranges: `streams-pipe is 8.0 times as fast as pipe at 64 B and is as fast as pipe at
    /// 64 KiB`.
    pub(super) fn short_of_two(&self, other: &Range<'a>) -> String {
        let [of_runtime, _] = self.names();
        let second = other.short();
        let second = second.strip_prefix(&of_runtime).map_or(&*second, str::trim_start);
        format!("{} {} and {second} {}", self.short(), place(self.sizes, true, false), place(other.sizes, false, true))
    }

    /// Returns the names of either side.
    fn names(&self) -> [String; 2] {
        [0, 1].map(|side| short_list(&rows::unique(self.subjects[side].iter().copied()), NAMED))
    }

    /// Returns `up to 4 KiB 2.1 to 41 times as fast over streams-pipe as over pipe`.
    fn words(&self, is_first: bool, is_last: bool) -> String {
        let place = place(self.sizes, is_first, is_last);
        let [of_runtime, of_kernel] = self.names();
        format!("{place} {}", beside(&self.relation, &of_runtime, &of_kernel))
    }
}

//! What a STREAMS or XTI runtime gives beyond the best of the kernel's mechanisms, by ranges of sizes. A sentence per
//! placement.

use headwater_results::schema::{Placement, RowResult, Run};

use super::range::place;
use super::{differ, of_size};
use crate::rows::{self, Provider};
use crate::text::short_list;
use crate::{judge, units};

/// The patterns, with their names in the sentence.
const PATTERNS: [(&str, &[&str]); 2] = [("one way", &["stream", "stream-full", "single"]), ("round trip", &["rtt"])];

/// The most ranges of one pattern; with more, only the extremes are given.
const RANGES_MAX: usize = 4;

/// The most names of a range; the others are counted.
const NAMED: usize = 2;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let found = PATTERNS.map(|(name, patterns)| (name, super::choice::measured_first(run, patterns)));
    let all: Vec<&RowResult> = found.iter().flat_map(|(_, rows)| rows).copied().collect();
    rows::placements(run, &all).into_iter().filter_map(|placement| sentence(&found, placement)).collect()
}

fn sentence(found: &[(&str, Vec<&RowResult>)], placement: Placement) -> Option<String> {
    let of = |(name, rows): &(&str, Vec<&RowResult>)| {
        let ranges = ranges(&steps(&rows::at(rows, placement)));
        (!ranges.is_empty()).then(|| format!("{name} {}", words(&ranges)))
    };
    let parts: Vec<String> = found.iter().filter_map(of).collect();
    let place = rows::placement_words(placement);
    (!parts.is_empty()).then(|| format!("STREAMS against the best of the kernel's ({place}): {}.", parts.join("; ")))
}

/// How the best of the runtime compares with the best of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Faster,
    Same,
    Slower,
}

/// The comparison at one size.
pub(super) struct Step<'a> {
    size: u64,
    outcome: Outcome,
    /// How many times as fast the runtime is.
    advantage: f64,
    subject: &'a str,
}

/// Adjacent sizes with the same outcome.
pub(super) struct Range<'a> {
    outcome: Outcome,
    sizes: (u64, u64),
    /// The least and the greatest advantage.
    advantages: (f64, f64),
    subjects: Vec<&'a str>,
}

fn steps<'a>(rows: &[&'a RowResult]) -> Vec<Step<'a>> {
    rows::sizes(rows).into_iter().filter_map(|size| step(&of_size(rows, size), size)).collect()
}

/// Returns the comparison of rows of one size; `None` if either side has none.
fn step<'a>(rows: &[&'a RowResult], size: u64) -> Option<Step<'a>> {
    let best = |provider| {
        let of: Vec<&RowResult> = rows.iter().copied().filter(|row| rows::provider(row) == provider).collect();
        let leaders = judge::leaders(&of);
        // Of several that cannot be told apart a program takes the one without a policy of an experiment.
        leaders.iter().copied().find(|row| row.row.policy.is_none()).or(leaders.first().copied())
    };
    Step::between(best(Provider::Runtime)?, best(Provider::Kernel)?, size)
}

impl<'a> Step<'a> {
    /// Returns the comparison of two rows of one size; `None` without a ratio.
    pub(super) fn between(runtime: &'a RowResult, kernel: &RowResult, size: u64) -> Option<Step<'a>> {
        let advantage = judge::advantage(runtime, kernel)?;
        // One launch cannot show a difference; the caution says so once for all sentences.
        let is_told_apart = differ(runtime, kernel) || super::is_single(runtime);
        let outcome = match is_told_apart {
            false => Outcome::Same,
            true if advantage > 1.0 => Outcome::Faster,
            true => Outcome::Slower,
        };
        Some(Step { size, outcome, advantage, subject: &runtime.row.subject })
    }
}

pub(super) fn ranges<'a>(steps: &[Step<'a>]) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for step in steps {
        match ranges.last_mut() {
            Some(range) if range.outcome == step.outcome => {
                range.sizes.1 = step.size;
                range.advantages = (range.advantages.0.min(step.advantage), range.advantages.1.max(step.advantage));
                range.subjects.push(step.subject);
            }
            _ => ranges.push(Range {
                outcome: step.outcome,
                sizes: (step.size, step.size),
                advantages: (step.advantage, step.advantage),
                subjects: vec![step.subject],
            }),
        }
    }
    ranges
}

pub(super) fn words(ranges: &[Range<'_>]) -> String {
    let last = ranges.len().saturating_sub(1);
    if last < RANGES_MAX {
        let words = ranges.iter().enumerate().map(|(index, range)| range.words(index == 0, index == last));
        return words.collect::<Vec<_>>().join(", ");
    }
    let extreme = |one: &&Range<'_>, other: &&Range<'_>| one.advantages.1.total_cmp(&other.advantages.1);
    let best = ranges.iter().max_by(extreme).expect("there are many");
    let worst = ranges.iter().min_by(extreme).expect("there are many");
    format!("between {} and {}, changing with the size", worst.words(false, false), best.words(false, false))
}

impl Range<'_> {
    /// Returns `up to 4 KiB 2.1 to 41 times as fast (streams-pipe)`.
    fn words(&self, is_first: bool, is_last: bool) -> String {
        let place = place(self.sizes, is_first, is_last);
        let (least, most) = self.advantages;
        let how = match self.outcome {
            Outcome::Faster => format!("{} as fast", factors(least, most)),
            Outcome::Same => "not measurably different".to_owned(),
            Outcome::Slower => format!("slower by {}", factors(1.0 / most, 1.0 / least)),
        };
        format!("{place} {how} ({})", short_list(&rows::unique(self.subjects.iter().copied()), NAMED))
    }
}

/// Returns `2.1 to 41 times`, or one number if both are written alike.
fn factors(least: f64, most: f64) -> String {
    let (from, to) = (units::times(least), units::times(most));
    if from == to { to } else { format!("{} to {to}", from.trim_end_matches(" times")) }
}

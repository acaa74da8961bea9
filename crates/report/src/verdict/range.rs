//! Ranges of sizes with the same leaders.

use headwater_results::schema::RowResult;

use super::{is_single, of_size};
use crate::text::short_list;
use crate::{judge, rows, units};

/// The most names of a tie; the others are counted.
const NAMED: usize = 3;

/// Adjacent sizes with the same leaders.
#[derive(Clone, Debug)]
pub(super) struct Range<'a> {
    /// The sizes, ascending.
    sizes: Vec<u64>,
    /// The leaders at each of the sizes, beginning with the best at the first size.
    leaders: Vec<&'a str>,
    /// Whether the leaders are the same at each size, so that no other row equals them at any size.
    is_same: bool,
    /// The best row at the first and at the last size.
    ends: (&'a RowResult, &'a RowResult),
    /// Whether there was a single launch, which cannot show a difference.
    is_single: bool,
}

/// The most ranges in one sentence.
const RANGES_MAX: usize = 4;

/// Returns the ranges of rows of one pattern and placement: adjacent sizes with the same leaders, or, if these are too
/// many, with some leader in common.
pub(super) fn ranges<'a>(rows: &[&'a RowResult]) -> Vec<Range<'a>> {
    let single: Vec<Range<'_>> = rows::sizes(rows).into_iter().filter_map(|size| Range::of_size(rows, size)).collect();
    let same = joined(&single, |range, next| range.leads_like(next));
    if same.len() <= RANGES_MAX { same } else { joined(&single, |range, next| range.common(next).next().is_some()) }
}

/// Joins adjacent ranges for which `belong` is true.
fn joined<'a>(single: &[Range<'a>], belong: fn(&Range<'a>, &Range<'a>) -> bool) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for next in single {
        match ranges.last_mut() {
            Some(range) if range.is_single == next.is_single && belong(range, next) => range.join(next),
            _ => ranges.push(next.clone()),
        }
    }
    ranges
}

impl<'a> Range<'a> {
    /// Returns the range of one size; `None` if no row competes.
    fn of_size(rows: &[&'a RowResult], size: u64) -> Option<Range<'a>> {
        let leaders = judge::best_candidates(&of_size(rows, size));
        let best = *leaders.first()?;
        let is_single = is_single(best);
        // With a single launch there are no differences, so the best figure is the leader.
        let shown = if is_single { 1 } else { leaders.len() };
        let leaders = leaders[..shown].iter().map(|row| row.row.subject.as_str()).collect();
        Some(Range { sizes: vec![size], leaders, is_same: true, ends: (best, best), is_single })
    }

    /// Returns the common leaders of both.
    fn common<'b>(&'b self, next: &'b Range<'a>) -> impl Iterator<Item = &'a str> + 'b {
        self.leaders.iter().copied().filter(|name| next.leaders.contains(name))
    }

    fn leads_like(&self, next: &Range<'a>) -> bool {
        self.leaders.len() == next.leaders.len() && self.common(next).count() == next.leaders.len()
    }

    fn join(&mut self, next: &Range<'a>) {
        self.is_same &= self.leads_like(next);
        self.leaders = self.common(next).collect();
        self.sizes.extend(&next.sizes);
        self.ends.1 = next.ends.1;
    }
}

impl Range<'_> {
    /// Returns `up to 256 B pipe is fastest`. `is_first` and `is_last` tell the position of the range.
    pub fn words(&self, is_first: bool, is_last: bool) -> String {
        let place = place((self.sizes[0], self.sizes[self.sizes.len() - 1]), is_first, is_last);
        format!("{place} {}", self.leader_words())
    }

    fn leader_words(&self) -> String {
        let names = short_list(&self.leaders, NAMED);
        match (self.is_single, self.leaders.len(), self.is_same) {
            (true, ..) => format!("{names} was fastest"),
            (false, 1, true) => format!("{names} is fastest"),
            (false, 1, false) => format!("nothing is measurably faster than {names}"),
            (false, count, true) => format!("{names} cannot be told apart, {}", serves(count)),
            (false, count, false) => {
                format!("nothing is measurably faster than {names}, which cannot be told apart: {}", serves(count))
            }
        }
    }

    /// Whether it has one size only.
    pub fn is_point(&self) -> bool {
        self.sizes.len() == 1
    }

    /// The best row at the range's first size.
    pub fn first_best(&self) -> &RowResult {
        self.ends.0
    }

    /// The best row at its last size.
    pub fn last_best(&self) -> &RowResult {
        self.ends.1
    }
}

/// Returns the place of a range of sizes among all sizes: `up to 256 B`.
pub(super) fn place((from, to): (u64, u64), is_first: bool, is_last: bool) -> String {
    let words = units::size_in_words;
    match (is_first, is_last) {
        _ if from == to => format!("at {}", words(from)),
        (true, true) => format!("at every size ({} to {})", words(from), words(to)),
        (true, false) => format!("up to {}", words(to)),
        (false, true) => format!("from {}", words(from)),
        (false, false) => format!("from {} to {}", words(from), words(to)),
    }
}

/// Returns the advice for a tie of `count` mechanisms.
fn serves(count: usize) -> &'static str {
    if count == 2 { "either serves" } else { "any of them serves" }
}

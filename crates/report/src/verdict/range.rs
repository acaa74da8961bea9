//! Ranges of sizes with the same leaders.

use headwater_results::schema::RowResult;

use super::{is_single, of_size};
use crate::text::short_list;
use crate::{judge, rows, units};

/// Names of a tie before it says how many others there are.
const NAMED: usize = 3;

/// Neighbouring sizes at which the same candidates lead.
#[derive(Clone, Debug)]
pub(super) struct Range<'a> {
    /// The sizes, ascending.
    sizes: Vec<u64>,
    /// Those that lead at each of the sizes, the best at the first size first.
    leaders: Vec<&'a str>,
    /// Whether the leaders are the same at each size, so that nobody else is level with them anywhere.
    is_same: bool,
    /// The best row at the first and at the last size.
    ends: (&'a RowResult, &'a RowResult),
    /// Whether there was a single launch, which shows no difference.
    is_single: bool,
}

/// The ranges of the rows, which are of one pattern and placement.
pub(super) fn ranges<'a>(rows: &[&'a RowResult]) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for size in rows::sizes(rows) {
        let leaders = judge::best_candidates(&of_size(rows, size));
        let Some(&best) = leaders.first() else { continue };
        let is_single = is_single(best);
        // A single launch tells nothing apart; what it can say is which figure was the highest.
        let names: Vec<&str> =
            if is_single { vec![&best.row.subject] } else { rows::unique(leaders.iter().map(|row| &*row.row.subject)) };
        match ranges.last_mut() {
            Some(range) if range.is_single == is_single && range.leaders.iter().any(|name| names.contains(name)) => {
                range.is_same &=
                    names.len() == range.leaders.len() && names.iter().all(|name| range.leaders.contains(name));
                range.leaders.retain(|name| names.contains(name));
                range.sizes.push(size);
                let leads = |row: &&RowResult| range.leaders.contains(&&*row.row.subject);
                range.ends.1 = leaders.iter().copied().find(leads).unwrap_or(best);
            }
            _ => ranges.push(Range { sizes: vec![size], leaders: names, is_same: true, ends: (best, best), is_single }),
        }
    }
    ranges
}

impl Range<'_> {
    /// `up to 256 B pipe is fastest`; `is_first` and `is_last` say where it stands among the ranges.
    pub fn words(&self, is_first: bool, is_last: bool) -> String {
        let (from, to) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        let words = units::size_in_words;
        let place = match (is_first, is_last, from == to) {
            (true, true, true) => format!("at {}", words(from)),
            (true, true, false) => format!("at every size ({} to {})", words(from), words(to)),
            (true, false, true) | (false, false, true) => format!("at {}", words(from)),
            (true, false, false) => format!("up to {}", words(to)),
            (false, true, _) => format!("from {}", words(from)),
            (false, false, false) => format!("from {} to {}", words(from), words(to)),
        };
        format!("{place} {}", self.who())
    }

    fn who(&self) -> String {
        let names = short_list(&self.leaders, NAMED);
        match (self.is_single, self.leaders.len(), self.is_same) {
            (true, ..) => format!("{names} was fastest in the only launch"),
            (false, 1, true) => format!("{names} is fastest"),
            (false, 1, false) => format!("nothing is measurably faster than {names}"),
            (false, _, true) => format!("{names} cannot be told apart"),
            (false, _, false) => format!("nothing is measurably faster than {names}, which cannot be told apart"),
        }
    }

    /// The best row at the range's first size.
    pub fn first_best(&self) -> &RowResult {
        self.ends.0
    }

    /// The best row of the leaders at its last size.
    pub fn last_best(&self) -> &RowResult {
        self.ends.1
    }
}

//! Many rows tested at once: Benjamini and Hochberg's control of the false discovery rate, and which rows can reach
//! significance.
//!
//! With few launches an exact test has a smallest possible p-value. A row that could not be called different with any
//! data is not evidence of equality, so each row gets a flag whether it could have reached significance (after Gilbert,
//! 2005).
//!
//! Rows that were measured in the same blocks can be tested together ([`Together`]), which a large family of few launches
//! needs.

use super::joint;

/// The result for one test of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The p-value adjusted for the family, at most 1.
    pub p_adjusted: f64,
    /// Whether it is significant at the family's level.
    pub significant: bool,
    /// Whether its smallest possible p-value would have been significant, with the other tests unchanged.
    pub reachable: bool,
}

/// Judges tests, each given as its p-value and its smallest possible p-value, so that the expected share of false ones
/// among those called significant is at most `alpha`.
///
/// Tests that could not be significant even alone are not counted: they cannot be discoveries, and counting them would
/// only hide others.
pub fn judge(tests: &[(f64, f64)], alpha: f64) -> Vec<Member> {
    let can = |&&(_, smallest): &&(f64, f64)| smallest <= alpha;
    let count = tests.iter().filter(can).count();
    let mut order: Vec<usize> = (0..tests.len()).filter(|&at| tests[at].1 <= alpha).collect();
    order.sort_by(|&a, &b| tests[a].0.total_cmp(&tests[b].0));
    let mut members = vec![Member { p_adjusted: 1.0, significant: false, reachable: false }; tests.len()];
    // From the largest down: an adjusted value is never above that of a larger p-value.
    let mut smallest_so_far = 1.0_f64;
    let mut discoveries = 0;
    for (below, &at) in order.iter().enumerate().rev() {
        let rank = below + 1;
        smallest_so_far = smallest_so_far.min(tests[at].0 * count as f64 / rank as f64);
        members[at].p_adjusted = smallest_so_far;
        members[at].significant = smallest_so_far <= alpha;
        discoveries += usize::from(members[at].significant);
    }
    for &at in &order {
        let threshold = alpha * (discoveries + 1).min(count) as f64 / count as f64;
        members[at].reachable = members[at].significant || tests[at].1 <= threshold;
    }
    members
}

/// The test of rows of the same blocks together, beside their own tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// The part of the level that it gets, 0..1.
    share: f64,
    /// Its p-value of each row, adjusted for all; 1 of a row without some block.
    p: Vec<f64>,
    /// Whether each row has all blocks.
    takes_part: Vec<bool>,
}

impl Together {
    /// Tests rows together if their own tests cannot show a difference in a single one. A row is given as its p-value, its
    /// smallest possible p-value, and its log ratios by block, if the sides were measured in the same blocks.
    ///
    /// How the level is divided depends on the numbers of rows and blocks alone, never on a figure: a half where a half
    /// suffices for the test to find anything, else all of it.
    pub fn of(rows: &[(f64, f64, Option<&[f64]>)], alpha: f64) -> Together {
        let blocks = rows.iter().filter_map(|(.., row)| row.map(<[f64]>::len)).max().unwrap_or(0);
        let is_complete = |row: &Option<&[f64]>| row.is_some_and(|row| row.len() == blocks);
        let smallest = joint::smallest(blocks);
        let own = rows.iter().map(|(_, smallest, _)| *smallest).fold(1.0, f64::min);
        if smallest > alpha || own * rows.len() as f64 <= alpha {
            return Together::default();
        }
        let takes_part: Vec<bool> = rows.iter().map(|(.., row)| is_complete(row)).collect();
        let complete: Vec<&[f64]> = rows.iter().filter_map(|(.., row)| row.filter(|row| row.len() == blocks)).collect();
        let mut adjusted = joint::adjusted(&complete).into_iter();
        let p = takes_part.iter().map(|&takes_part| if takes_part { adjusted.next() } else { None }.unwrap_or(1.0));
        Together { share: if 2.0 * smallest <= alpha { 0.5 } else { 1.0 }, p: p.collect(), takes_part }
    }

    /// Returns the same where each row has a further p-value, which must hold as well.
    #[must_use]
    pub fn at_least(mut self, further: impl Iterator<Item = f64>) -> Together {
        let rows = self.p.len() as f64;
        self.p.iter_mut().zip(further).for_each(|(p, further)| *p = p.max(rows * further).min(1.0));
        self
    }

    /// Judges the rows like [`judge`], by their own tests and together: a row is significant by either, at its part of the
    /// level, so that the sum of both parts bounds the false ones.
    pub fn judge(&self, tests: &[(f64, f64)], alpha: f64) -> Vec<Member> {
        let own = 1.0 - self.share;
        let mut members = judge(tests, alpha * own);
        for (at, member) in members.iter_mut().enumerate().take(self.p.len()) {
            let (p, _) = tests[at];
            member.p_adjusted = (member.p_adjusted / own).min(self.p[at] / self.share).clamp(p, 1.0);
            member.significant = member.p_adjusted <= alpha;
            member.reachable |= self.takes_part[at];
        }
        members
    }
}

#[cfg(test)]
mod tests;

//! In how many of the equally likely rearrangements of two equal sides so many pairs are negative: the distributions of
//! Wilcoxon's signed-rank statistic and of Mann and Whitney's U. Called by [`super::shift`]; it sees no data.

use std::collections::BTreeMap;

use crate::normal::normal_below;

/// Launches of both sides together up to which the rearrangements are counted; the normal approximation of more differs
/// from the count by less than a thousandth.
pub const EXACT_MAX: usize = 100;

/// What the pairs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// The means of all pairs of so many differences within blocks, each with itself too.
    Paired(usize),
    /// The differences of all pairs of a launch of one side and a launch of the other.
    Independent(usize, usize),
}

impl Design {
    /// How many pairs there are.
    pub fn pairs(self) -> usize {
        match self {
            Design::Paired(n) => n * (n + 1) / 2,
            Design::Independent(a, b) => a * b,
        }
    }

    /// Launches of the side that has fewer.
    pub fn launches(self) -> usize {
        match self {
            Design::Paired(n) => n,
            Design::Independent(a, b) => a.min(b),
        }
    }

    /// The smallest p-value that can come out: all pairs of one sign.
    pub fn p_reachable(self) -> f64 {
        match self {
            Design::Paired(n) => (2.0 * 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX))).min(1.0),
            // 2 / (a + b choose a), factor by factor.
            Design::Independent(a, b) => {
                let ways: f64 = (1..=a).map(|step| (b + step) as f64 / step as f64).product();
                (2.0 / ways).min(1.0)
            }
        }
    }

    /// The variance of the number of negative pairs where nothing differs.
    fn variance(self) -> f64 {
        match self {
            Design::Paired(n) => n as f64 * (n as f64 + 1.0) * (2.0 * n as f64 + 1.0) / 24.0,
            Design::Independent(a, b) => a as f64 * b as f64 * (a + b + 1) as f64 / 12.0,
        }
    }

    fn is_counted(self) -> bool {
        match self {
            Design::Paired(n) => n <= EXACT_MAX,
            Design::Independent(a, b) => a + b <= EXACT_MAX,
        }
    }
}

/// Keeps the distributions that it was asked for: of all rows of a run there are one or two.
#[derive(Clone, Debug, Default)]
pub struct NullCounts {
    /// P(at most so many pairs are negative), by their number.
    at_most: BTreeMap<Design, Vec<f64>>,
}

impl NullCounts {
    /// The probability that at most `count` pairs are negative where nothing differs.
    pub fn at_most(&mut self, design: Design, count: usize) -> f64 {
        if !design.is_counted() {
            let distance = count as f64 + 0.5 - design.pairs() as f64 / 2.0;
            return normal_below(distance / design.variance().sqrt());
        }
        let table = self.at_most.entry(design).or_insert_with(|| cumulative(design));
        table.get(count).copied().unwrap_or(1.0)
    }

    /// The place, from 1, of the pair that bounds an interval which is wrong with probability at most `alpha`, from either
    /// end; 0 where even the interval of all pairs is wrong more often.
    pub fn end_place(&mut self, design: Design, alpha: f64) -> usize {
        let (mut low, mut high) = (0, design.pairs() / 2);
        // The largest number of which at most one less negative pairs are rare enough.
        while low < high {
            let middle = (low + high).div_ceil(2);
            if 2.0 * self.at_most(design, middle - 1) <= alpha { low = middle } else { high = middle - 1 }
        }
        low
    }
}

fn cumulative(design: Design) -> Vec<f64> {
    let mut probabilities = match design {
        Design::Paired(n) => signed_ranks(n),
        Design::Independent(a, b) => rank_sums(a, b),
    };
    let mut sum = 0.0;
    for probability in &mut probabilities {
        sum += *probability;
        *probability = sum;
    }
    probabilities
}

/// The probability of each sum of negative ranks: each of the ranks 1 to n is negative with probability 1/2.
fn signed_ranks(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = f64::midpoint(probabilities[sum], with);
        }
    }
    probabilities
}

/// The probability of each number of pairs in which the launch of the second side is the lower one. The highest of all is
/// one of the first side's `a` with probability a / (a + b), and is then above all of the second (Mann and Whitney, 1947).
fn rank_sums(a: usize, b: usize) -> Vec<f64> {
    // By launches of the second side, for a growing number of the first.
    let mut by_second: Vec<Vec<f64>> = (0..=b).map(|_| vec![1.0]).collect();
    for first in 1..=a {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for second in 1..=b {
            let share = first as f64 / (first + second) as f64;
            let mut probabilities = vec![0.0; first * second + 1];
            for (count, probability) in by_second[second].iter().enumerate() {
                probabilities[count + second] += share * probability;
            }
            for (count, probability) in next[second - 1].iter().enumerate() {
                probabilities[count] += (1.0 - share) * probability;
            }
            next.push(probabilities);
        }
        by_second = next;
    }
    by_second.swap_remove(b)
}

#[cfg(test)]
mod tests;

//! The distribution of the number of negative pairs if two sides are equal, over all equally likely rearrangements:
//! Wilcoxon's signed-rank statistic and Mann and Whitney's U. Called by [`super::shift`]; independent of the data.

use std::collections::BTreeMap;

use crate::normal::normal_below;

/// The most launches of both sides together for which rearrangements are counted. For more, the normal approximation
/// differs by less than a thousandth.
pub const EXACT_MAX: usize = 100;

/// How pairs are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// The means of all pairs of this many differences within blocks, including each with itself.
    Paired(usize),
    /// The differences of all pairs of a launch of one side and a launch of the other.
    Independent(usize, usize),
}

impl Design {
    /// Returns the number of pairs.
    pub fn pairs(self) -> usize {
        match self {
            Design::Paired(n) => n * (n + 1) / 2,
            Design::Independent(a, b) => a * b,
        }
    }

    /// Returns the launches of the side that has fewer.
    pub fn launches(self) -> usize {
        match self {
            Design::Paired(n) => n,
            Design::Independent(a, b) => a.min(b),
        }
    }

    /// Returns the smallest possible p-value: all pairs have the same sign.
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

    /// Returns the variance of the number of negative pairs without a difference.
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

/// Caches distributions: all rows of a run need only one or two.
#[derive(Clone, Debug, Default)]
pub struct NullCounts {
    /// P(at most k pairs are negative), indexed by k.
    at_most: BTreeMap<Design, Vec<f64>>,
}

impl NullCounts {
    /// Returns the probability that at most `count` pairs are negative without a difference.
    pub fn at_most(&mut self, design: Design, count: usize) -> f64 {
        if !design.is_counted() {
            let distance = count as f64 + 0.5 - design.pairs() as f64 / 2.0;
            return normal_below(distance / design.variance().sqrt());
        }
        let table = self.at_most.entry(design).or_insert_with(|| cumulative(design));
        table.get(count).copied().unwrap_or(1.0)
    }

    /// Returns the rank, from 1, of the pair that bounds an interval which is wrong with probability at most `alpha`,
    /// from either end; 0 if even the interval of all pairs is wrong more often.
    pub fn end_rank(&mut self, design: Design, alpha: f64) -> usize {
        let (mut low, mut high) = (0, design.pairs() / 2);
        // The largest rank for which fewer negative pairs are rare enough.
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

/// Returns the probability of each sum of negative ranks: each of the ranks 1 to n is negative with probability 1/2.
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

/// Returns the probability of each number of pairs in which the launch of the second side is lower. The highest of all
/// launches is one of the first side's `a` with probability a / (a + b), and is then above all of the second side (Mann
/// and Whitney, 1947).
fn rank_sums(a: usize, b: usize) -> Vec<f64> {
    // Indexed by launches of the second side, for a growing number of the first.
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

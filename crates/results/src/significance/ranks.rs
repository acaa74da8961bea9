//! Tests that look at ranks only, so that one wild launch counts no more than any other.
//!
//! [`Independent`] is Mann, Whitney and Wilcoxon's test of two independent samples, [`paired`] Wilcoxon's signed-rank test.
//! Both are exact, with ties too: ties share the mean of their ranks, and the distribution is that of these very ranks.

use std::collections::BTreeMap;

/// The most launches of both samples together that are counted exactly: the table of sums has their cube as its size.
pub const EXACT_MAX: usize = 100;

/// The test of two independent samples. It keeps the distributions of samples without ties, which depend on their sizes
/// alone.
#[derive(Clone, Debug, Default)]
pub struct Independent {
    /// By the sizes of the samples: in how many ways each sum of doubled ranks comes about.
    without_ties: BTreeMap<(usize, usize), Vec<f64>>,
}

impl Independent {
    /// The two-sided p-value: the share of ways to choose who is in the first sample whose sum of ranks is at least as far
    /// from its mean. 1 where a sample is empty or a value is not a number.
    ///
    /// Beyond [`EXACT_MAX`] launches the normal approximation with its correction for ties is used.
    pub fn p_value(&mut self, a: &[f64], b: &[f64]) -> f64 {
        if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
            return 1.0;
        }
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let (ranks, tied) = doubled_ranks(&all);
        let observed: usize = ranks[..a.len()].iter().sum();
        // Twice the mean of a sum of doubled ranks is a whole number.
        let twice_mean = 2 * a.len() * (all.len() + 1);
        let distance = (2 * observed).abs_diff(twice_mean);
        if all.len() > EXACT_MAX {
            return normal_approximation(&ranks, a.len(), distance as f64 / 2.0);
        }
        if tied {
            return share_at_least(&sums_of_choices(&ranks, a.len()), twice_mean, distance);
        }
        let counts = self.without_ties.entry((a.len(), b.len())).or_insert_with(|| sums_of_choices(&ranks, a.len()));
        share_at_least(counts, twice_mean, distance)
    }
}

/// The smallest p-value that samples of these sizes can give: one wholly below the other.
pub fn independent_reachable(a: usize, b: usize) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    // 2 / (a + b choose a), factor by factor.
    let ways: f64 = (1..=a).map(|step| (b + step) as f64 / step as f64).product();
    (2.0 / ways).min(1.0)
}

/// The two-sided p-value of paired differences by the sum of the ranks of the positive ones. Zeros say nothing and are left
/// out (Wilcoxon, 1945); 1 where nothing is left or a value is not a number.
pub fn paired(differences: &[f64]) -> f64 {
    if differences.iter().any(|value| value.is_nan()) {
        return 1.0;
    }
    let nonzero: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
    let sizes: Vec<f64> = nonzero.iter().map(|value| value.abs()).collect();
    let (ranks, _) = doubled_ranks(&sizes);
    let observed: usize = ranks.iter().zip(&nonzero).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    let total: usize = ranks.iter().sum();
    let distance = (2 * observed).abs_diff(total);
    if nonzero.len() > EXACT_MAX {
        let variance: f64 = ranks.iter().map(|&rank| (rank as f64).powi(2)).sum::<f64>() / 4.0;
        return two_sided(distance as f64 / 2.0, variance);
    }
    let mut counts = vec![0.0; total + 1];
    counts[0] = 1.0;
    for &rank in &ranks {
        for sum in (rank..=total).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    share_at_least(&counts, total, distance)
}

/// Twice the rank of each value, ties sharing the mean: whole numbers; and whether there are ties.
fn doubled_ranks(values: &[f64]) -> (Vec<usize>, bool) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let (mut from, mut any_tied) = (0, false);
    while from < order.len() {
        let tied = order[from..].iter().take_while(|&&at| values[at] == values[order[from]]).count().max(1);
        for &at in &order[from..from + tied] {
            // The mean of ranks from + 1 to from + tied, twice.
            ranks[at] = 2 * from + tied + 1;
        }
        any_tied |= tied > 1;
        from += tied;
    }
    (ranks, any_tied)
}

/// By sum: in how many ways `chosen` of the ranks give it.
fn sums_of_choices(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut counts = vec![vec![0.0; total + 1]; chosen + 1];
    counts[0][0] = 1.0;
    let mut reached = 0;
    for (seen, &rank) in ranks.iter().enumerate() {
        reached += rank;
        for taken in (1..=chosen.min(seen + 1)).rev() {
            let (before, with) = counts.split_at_mut(taken);
            let (before, with) = (&before[taken - 1], &mut with[0]);
            for (sum, ways) in with.iter_mut().enumerate().take(reached + 1).skip(rank) {
                *ways += before[sum - rank];
            }
        }
    }
    counts.swap_remove(chosen)
}

/// The share of all ways whose doubled sum is at least `distance` from `twice_mean`.
fn share_at_least(counts: &[f64], twice_mean: usize, distance: usize) -> f64 {
    let total: f64 = counts.iter().sum();
    let far = |sum: usize| (2 * sum).abs_diff(twice_mean) >= distance;
    let reached: f64 = counts.iter().enumerate().filter(|(sum, _)| far(*sum)).map(|(_, ways)| ways).sum();
    (reached / total).min(1.0)
}

/// The sum of `chosen` of the ranks drawn without replacement, as a normal variable.
fn normal_approximation(ranks: &[usize], chosen: usize, distance: f64) -> f64 {
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<usize>() as f64 / n;
    let squares: f64 = ranks.iter().map(|&rank| (rank as f64 - mean).powi(2)).sum();
    let chosen = chosen as f64;
    two_sided(distance, squares / n * chosen * (n - chosen) / (n - 1.0))
}

fn two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * crate::resample::normal_below(-distance / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests;

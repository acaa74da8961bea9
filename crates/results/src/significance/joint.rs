//! Rows that were measured in the same blocks, tested together: Westfall and Young's step-down procedure with sign flips
//! ("Resampling-Based Multiple Testing", 1993). Called by comparisons whose family is too large for the rows' own tests.
//!
//! If the two sides of a block are equal, exchanging them changes nothing. The largest statistic of all rows is counted
//! over all exchanges of whole blocks, so a row's p-value needs no correction for the number of rows: its smallest value
//! is 2 / 2^blocks in a family of any size. The test is exact for any noise that is independent from block to block,
//! however the rows of a block depend on each other. The probability that any equal row is called different is at most
//! the level.
//!
//! The statistic of a row is |sum d| / sqrt(sum d^2) of its log ratios d, which orders rows as Student's t does. Exchanging
//! a block changes the sum alone, so each exchange costs one addition per row.

use crate::sorting::Arrange;

/// Exchanges are counted over this many groups of blocks at most: with more blocks, some are exchanged together. The
/// smallest p-value is then 2 / 2^13.
const GROUPS_MAX: usize = 13;

/// A log ratio further from 0 than this many medians of the row's counts as one at this distance: a launch at another
/// speed does not hide a row. The distances from 0 are the same in every exchange, so the test stays exact.
const DISTANCES_MAX: f64 = 3.0;

/// Returns the smallest possible p-value of rows with this many blocks.
pub fn smallest(blocks: usize) -> f64 {
    if blocks == 0 { 1.0 } else { 2.0 / f64::from(1_u32 << blocks.min(GROUPS_MAX)) }
}

/// Returns the p-value of each row, adjusted for all of them. Every row has a log ratio of the same blocks.
pub fn adjusted(rows: &[&[f64]]) -> Vec<f64> {
    let blocks = rows.first().map_or(0, |row| row.len());
    debug_assert!(rows.iter().all(|row| row.len() == blocks), "rows of other blocks");
    if blocks == 0 {
        return vec![1.0; rows.len()];
    }
    let groups = blocks.min(GROUPS_MAX);
    let scaled: Vec<(f64, Vec<f64>)> = rows.iter().map(|row| grouped(row, groups)).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.arrange_by(|&a, &b| scaled[a].0.total_cmp(&scaled[b].0));
    // By group, so that an exchange passes through memory once. The weakest row comes first.
    let column = |group: usize| order.iter().map(|&row| scaled[row].1[group]).collect::<Vec<f64>>();
    let mut columns: Vec<Vec<f64>> = (0..groups).map(column).collect();
    let mut sums: Vec<f64> = (0..rows.len()).map(|row| columns.iter().map(|column| column[row]).sum()).collect();
    // Sums in another order differ in the last digits.
    let observed: Vec<f64> = order.iter().map(|&row| scaled[row].0 * (1.0 - 1e-9)).collect();
    let mut as_large = vec![0_u32; rows.len()];
    // Exchanging all blocks changes no statistic, so the last group stays as it is.
    let exchanges = 1_u32 << (groups - 1);
    for exchange in 1..=exchanges {
        let mut largest = 0.0_f64;
        for ((sum, observed), count) in sums.iter().zip(&observed).zip(&mut as_large) {
            largest = largest.max(sum.abs());
            *count += u32::from(largest >= *observed);
        }
        // Gray's code: each exchange differs from the one before in one group.
        let column = &mut columns[exchange.trailing_zeros() as usize];
        for (sum, value) in sums.iter_mut().zip(column) {
            *sum -= 2.0 * *value;
            *value = -*value;
        }
    }
    let mut p = vec![1.0; rows.len()];
    let mut of_stronger = 0.0_f64;
    for (&row, &count) in order.iter().zip(&as_large).rev() {
        of_stronger = of_stronger.max(f64::from(count) / f64::from(exchanges));
        p[row] = of_stronger;
    }
    p
}

/// Returns the statistic of a row, and what each group of blocks contributes to the sum.
fn grouped(row: &[f64], groups: usize) -> (f64, Vec<f64>) {
    let mut distances: Vec<f64> = row.iter().map(|value| value.abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let bound = DISTANCES_MAX * distances[distances.len() / 2];
    let bounded = |value: &f64| value.clamp(-bound, bound);
    let norm = row.iter().map(|value| bounded(value).powi(2)).sum::<f64>().sqrt();
    let mut sums = vec![0.0; groups];
    if norm > 0.0 {
        row.iter().enumerate().for_each(|(at, value)| sums[at % groups] += bounded(value) / norm);
    }
    (sums.iter().sum::<f64>().abs(), sums)
}

#[cfg(test)]
mod tests;

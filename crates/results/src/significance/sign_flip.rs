//! The sign-flip test of paired differences: were there no difference, every sign would be as likely as the other
//! (Fisher, The Design of Experiments, 1935, section 21).

use crate::random::Random;

/// Up to so many pairs every assignment of signs is counted; 2^32 of them take about 2 ms.
pub const EXACT_MAX: usize = 32;

/// Beyond [`EXACT_MAX`]: assignments drawn at random. The data count as one more, which keeps the test valid
/// (Phipson and Smyth, 2010).
const DRAWN: u32 = 99_999;

/// The two-sided p-value of the mean of `differences`: the share of sign assignments whose sum is at least as far from 0.
/// 1 for no differences.
pub fn p_value(differences: &[f64]) -> f64 {
    let n = differences.len();
    let total: f64 = differences.iter().sum::<f64>().abs();
    // Sums that are equal on paper differ by rounding.
    let tolerance = 1e-12 * differences.iter().map(|value| value.abs()).sum::<f64>();
    let bound = total - tolerance;
    if n == 0 || bound <= 0.0 || !bound.is_finite() {
        return 1.0;
    }
    if n > EXACT_MAX {
        return drawn(differences, bound);
    }
    // Meeting in the middle: every sum is one of the first half and one of the second. In ascending order, for every sum
    // of the first half the partners that bring it to the bound are a tail of the second's, and the tail only grows.
    let (first, second) = differences.split_at(n / 2);
    let (first, second) = (signed_sums(first), signed_sums(second));
    let mut tail = second.len();
    let mut upper: u64 = 0;
    for sum in first {
        while tail > 0 && sum + second[tail - 1] >= bound {
            tail -= 1;
        }
        upper += (second.len() - tail) as u64;
    }
    // The sums are symmetric about 0.
    2.0 * upper as f64 / 2f64.powi(n as i32)
}

/// The smallest p-value that `n` pairs can give: all of one sign.
pub fn p_reachable(n: usize) -> f64 {
    match n {
        0 => 1.0,
        n if n > EXACT_MAX => 1.0 / f64::from(DRAWN + 1),
        n => 2.0 / 2f64.powi(n as i32),
    }
}

/// All sums of the values under all signs, ascending: each value merges two shifted copies of what was there.
fn signed_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in values.iter().map(|value| value.abs()) {
        let mut merged = Vec::with_capacity(sums.len() * 2);
        let (mut minus, mut plus) = (0, 0);
        while plus < sums.len() {
            if minus < sums.len() && sums[minus] - value <= sums[plus] + value {
                merged.push(sums[minus] - value);
                minus += 1;
            } else {
                merged.push(sums[plus] + value);
                plus += 1;
            }
        }
        sums = merged;
    }
    sums
}

fn drawn(differences: &[f64], bound: f64) -> f64 {
    let mut random = Random::new(differences.len() as u64);
    let mut reached = 1;
    for _ in 0..DRAWN {
        let mut sum = 0.0;
        for values in differences.chunks(64) {
            let mut bits = random.bits();
            for value in values {
                sum += if bits & 1 == 0 { *value } else { -value };
                bits >>= 1;
            }
        }
        reached += u32::from(sum.abs() >= bound);
    }
    f64::from(reached) / f64::from(DRAWN + 1)
}

#[cfg(test)]
mod tests;

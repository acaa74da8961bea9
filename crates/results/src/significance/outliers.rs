//! Values that are far from the rest: the generalised extreme studentized deviate test (Rosner, Technometrics 1983).
//! Called by comparisons over hosts, for the hosts that differ from the others.
//!
//! The value furthest from the mean of the others is tested against their spread, then taken away, and so on, up to a
//! fifth of the values: several of them cannot hide each other. It takes the others as normal.
//!
//! The author's critical values are for 25 values and more. Of fewer, where more than one may be taken away, some value is named in
//! up to 6.9 of 100 samples at a level of 5 % (simulated, docs/decisions/0037); [`LOOKS`] corrects that.

use super::student;

/// With fewer values, none is tested: four others say little about how far a fifth may be.
pub const VALUES_MIN: usize = 5;

/// The share of values that may be far from the rest.
const SHARE_MAX: usize = 5;

/// Where more than one value is tested, p-values are larger by this share of the number of values. In simulation 0.38 (10 values), 0.34
/// (15), 0.24 (20) and 0.07 (40) would be enough at a level of 5 %, and less at smaller levels.
const LOOKS: f64 = 5.0;

/// A value with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// The variance of its own measurement, as far as it is larger than that of a usual value.
    pub excess: f64,
}

/// Returns the places of the values furthest from the rest, each with a p-value that holds for all values together: if none
/// differs from the rest, any of them is at most p with probability p. The furthest is first, and p-values ascend.
pub fn furthest(values: &[Value]) -> Vec<(usize, f64)> {
    if values.len() < VALUES_MIN {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].value.total_cmp(&values[b].value));
    // Sums of squares lose no digits near 0.
    let middle = values[order[order.len() / 2]].value;
    let centred = |place: usize| values[place].value - middle;
    let mut sum: f64 = order.iter().map(|&place| centred(place)).sum();
    let mut squares: f64 = order.iter().map(|&place| centred(place).powi(2)).sum();
    let mut rest = &order[..];
    let mut found = Vec::new();
    let looks = values.len() / SHARE_MAX;
    let correction = if looks > 1 { 1.0 + LOOKS / values.len() as f64 } else { 1.0 };
    for _ in 0..looks {
        let n = rest.len() as f64;
        let (low, high) = (rest[0], rest[rest.len() - 1]);
        let is_low = (sum / n - centred(low)).abs() > (centred(high) - sum / n).abs();
        let (place, others) = if is_low { (low, &rest[1..]) } else { (high, &rest[..rest.len() - 1]) };
        rest = others;
        sum -= centred(place);
        squares -= centred(place).powi(2);
        let mean = sum / (n - 1.0);
        let variance = ((squares - sum * mean) / (n - 2.0)).max(0.0);
        let distance = (centred(place) - mean).abs();
        let error = (variance * n / (n - 1.0) + values[place].excess).sqrt();
        let p = match distance > 0.0 {
            true => (correction * n * student::beyond(distance / error, rest.len() - 1)).min(1.0),
            false => 1.0,
        };
        found.push((place, p));
    }
    // All up to the last significant one are named.
    let mut smallest = 1.0_f64;
    for (_, p) in found.iter_mut().rev() {
        smallest = smallest.min(*p);
        *p = smallest;
    }
    found
}

#[cfg(test)]
mod tests;

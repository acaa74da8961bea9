//! The bootstrap of a mean over launches. Called by the comparison, once or twice for every row.
//!
//! The resamples are drawn once for each number of launches and serve all rows: for a row a resample is then a sum of
//! products, which vectorises, and 50,000 rows take a second. Drawing launches jointly for all rows is also what a
//! bootstrap of blocks means.

use crate::random::Random;

/// Resamples drawn (MEASURING.md section 2.6).
pub const RESAMPLES: usize = 10_000;

/// Nominal coverage of the interval.
pub const COVERAGE: f64 = 0.95;

/// The resamples are the same in every program run: the same data give the same interval.
const SEED: u64 = 0x4865_6164_7761_7465;

/// Sums are made for so many resamples at a time, which fit into the first-level cache.
const CHUNK: usize = 1000;

/// Launches that are added in one pass over the sums; where there are fewer, the rest counts 0 times.
const LAUNCHES_AT_ONCE: usize = 4;

/// The most launches, those of both sides together, that are resampled; the mean of more is as good as normal. A run has no
/// more than 10,000, but `compare` pools runs. Beyond it a launch's share would have less than seven steps of a 16-bit sum,
/// whose rounding then adds more than a hundredth to the spread; beyond 32,767 it would have none.
const LAUNCHES_MAX: usize = 4096;

const _: () = assert!(LAUNCHES_MAX <= i16::MAX as usize, "a share of one step for each launch must fit into a sum");

/// Only resamples further than this many standard deviations from the mean are put into order to find the interval's
/// ends. Beyond it lie 4 % on either side of a normal distribution; the ends are at 1.1 % with 12 launches.
const TAIL_FROM: f64 = 1.75;

/// How often each of `n` launches is in each resample.
#[derive(Clone, Debug)]
pub struct Resamples {
    n: usize,
    /// By launch, then by resample; none of more than [`LAUNCHES_MAX`] launches.
    counts: Vec<i16>,
    /// From 0: which resample from either end bounds the interval.
    rank: usize,
}

impl Resamples {
    /// Draws the resamples of `n` launches. Different streams are independent of each other: the two sides of a
    /// difference need two.
    pub fn new(n: usize, stream: u64) -> Resamples {
        if n > LAUNCHES_MAX {
            return Resamples { n, counts: Vec::new(), rank: 0 };
        }
        let mut random = Random::new(SEED ^ n as u64 ^ stream << 32);
        let mut counts = vec![0_i16; n.next_multiple_of(LAUNCHES_AT_ONCE) * RESAMPLES];
        for resample in 0..RESAMPLES {
            for _ in 0..n {
                counts[random.below(n as u64) as usize * RESAMPLES + resample] += 1;
            }
        }
        Resamples { n, counts, rank: interval_rank(n) }
    }

    /// The interval of the mean of `values`, one value per launch.
    ///
    /// It is the percentile interval at levels widened for small samples, Phi(-sqrt(n / (n - 1)) t(n - 1)), without
    /// which it covers too little: for a normal sample it becomes Student's (Hesterberg, What Teachers Should Know
    /// About the Bootstrap, 2015, section 5.3). `None` with fewer than two launches.
    pub fn interval(&self, values: &[f64]) -> Option<(f64, f64)> {
        interval(&[(self, values, 1.0)])
    }

    /// The interval of the difference of the means of two independent samples, `b` less `a`, whose resamples are of two
    /// streams.
    pub fn interval_of_difference(a: (&Resamples, &[f64]), b: (&Resamples, &[f64])) -> Option<(f64, f64)> {
        interval(&[(a.0, a.1, -1.0), (b.0, b.1, 1.0)])
    }
}

/// The interval of the sum of the means of samples, each with its sign.
///
/// Sums are made of 16-bit whole numbers, eight at a time on any x86-64. The largest share of a launch is as many steps as
/// keep every sum in range, of up to [`LAUNCHES_MAX`] launches; the rounding adds less than a thousandth to the spread with
/// 1,000.
fn interval(samples: &[(&Resamples, &[f64], f64)]) -> Option<(f64, f64)> {
    let launches: usize = samples.iter().map(|(resamples, ..)| resamples.n).sum();
    if launches > LAUNCHES_MAX {
        return normal_interval(samples);
    }
    let largest =
        samples.iter().map(|(_, values, _)| largest_distance(values) / values.len() as f64).fold(0.0, f64::max);
    let step = largest / (i16::MAX as usize / launches.max(1)) as f64;
    let mut sums = vec![0_i16; RESAMPLES];
    let (mut centre, mut steps, mut variance, mut rank) = (0.0, 0.0, 0.0, usize::MAX);
    for &(resamples, values, sign) in samples {
        let n = resamples.n;
        assert_eq!(values.len(), n, "these resamples are for {n} launches");
        if n < 2 {
            return None;
        }
        let mean = mean(values);
        let share = |value: &f64| if step > 0.0 { (sign * (value - mean) / n as f64 / step).round() as i16 } else { 0 };
        let mut shares: Vec<i16> = values.iter().map(share).collect();
        shares.resize(n.next_multiple_of(LAUNCHES_AT_ONCE), 0);
        for (chunk, sums) in sums.chunks_exact_mut(CHUNK).enumerate() {
            for (launches, shares) in shares.chunks_exact(LAUNCHES_AT_ONCE).enumerate() {
                let from = |launch: usize| (launches * LAUNCHES_AT_ONCE + launch) * RESAMPLES + chunk * CHUNK;
                let counts: [&[i16]; LAUNCHES_AT_ONCE] =
                    std::array::from_fn(|launch| &resamples.counts[from(launch)..from(launch) + CHUNK]);
                add_products(sums, counts, shares);
            }
        }
        centre += sign * mean;
        // What rounding has left of a sum that is 0 by definition.
        steps += shares.iter().map(|&share| f64::from(share)).sum::<f64>();
        variance += shares.iter().map(|&share| f64::from(share).powi(2)).sum::<f64>();
        rank = rank.min(resamples.rank);
    }
    if step == 0.0 {
        return Some((centre, centre));
    }
    let (low, high) = tails(&mut sums, rank, (TAIL_FROM * variance.sqrt()) as i16);
    Some((centre + step * (f64::from(low) - steps), centre + step * (f64::from(high) - steps)))
}

/// The interval of the sum of the means of so many launches that it is normal, with Student's quantile for the side that has
/// fewest.
fn normal_interval(samples: &[(&Resamples, &[f64], f64)]) -> Option<(f64, f64)> {
    let (mut centre, mut variance, mut fewest) = (0.0, 0.0, usize::MAX);
    for &(_, values, sign) in samples {
        centre += sign * mean(values);
        variance += variance_of_mean(values)?;
        fewest = fewest.min(values.len());
    }
    let half = student_quantile(0.5 + COVERAGE / 2.0, (fewest - 1) as f64) * variance.sqrt();
    Some((centre - half, centre + half))
}

/// Adds the products of counts and shares. Reading and writing the sums costs more than the arithmetic, so several launches
/// share it.
fn add_products(sums: &mut [i16], counts: [&[i16]; LAUNCHES_AT_ONCE], shares: &[i16]) {
    let (&[a, b, c, d], &[p, q, r, s]) = (&counts, &[shares[0], shares[1], shares[2], shares[3]]);
    for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        // No sum of at most LAUNCHES_MAX launches leaves its range, so nothing wraps; saying so to the compiler would cost the
        // vector instructions.
        let first = a.wrapping_mul(p).wrapping_add(b.wrapping_mul(q));
        let second = c.wrapping_mul(r).wrapping_add(d.wrapping_mul(s));
        *sum = sum.wrapping_add(first).wrapping_add(second);
    }
}

/// The mean; 0 of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The variance of the mean of `values`; `None` of a single one.
pub(crate) fn variance_of_mean(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (n > 1).then(|| squares / (n - 1) as f64 / n as f64)
}

/// The largest distance from the mean.
fn largest_distance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max)
}

/// The values `rank` places from either end. Most lie within `bound` of 0 and need not be put into order.
fn tails(values: &mut [i16], rank: usize, bound: i16) -> (i16, i16) {
    // Written always and kept sometimes: a branch that nobody can predict costs more.
    let mut far = vec![0; values.len() + 1];
    let mut kept = 0;
    for &value in &*values {
        far[kept] = value;
        kept += usize::from(value.unsigned_abs() > bound.unsigned_abs());
    }
    let (mut below, mut above): (Vec<i16>, Vec<i16>) = far[..kept].iter().partition(|value| **value < 0);
    let last = values.len() - 1;
    let low = nth(&mut below, rank).or_else(|| nth(values, rank)).expect("the rank is below the number of resamples");
    let from_above = above.len().checked_sub(rank + 1).and_then(|at| nth(&mut above, at));
    let high = from_above.or_else(|| nth(values, last - rank)).expect("as above");
    (low, high)
}

fn nth(values: &mut [i16], rank: usize) -> Option<i16> {
    (rank < values.len()).then(|| *values.select_nth_unstable(rank).1)
}

fn interval_rank(n: usize) -> usize {
    if n < 2 {
        return 0;
    }
    let t = student_quantile(0.5 + COVERAGE / 2.0, (n - 1) as f64);
    let tail = normal_below(-t * (n as f64 / (n - 1) as f64).sqrt());
    (tail * RESAMPLES as f64) as usize
}

/// P(Z < z) of a standard normal variable.
pub(crate) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The value that Student's t with `freedom` degrees stays below with probability `p` in 0.5..1, by bisection.
pub(crate) fn student_quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..200 {
        let middle: f64 = f64::midpoint(low, high);
        if student_below(middle, freedom) < p { low = middle } else { high = middle }
    }
    low
}

/// P(T < t) for t of at least 0: 1 - I(x; freedom / 2, 1 / 2) / 2 with x = freedom / (freedom + t^2)
/// (Abramowitz and Stegun, 26.5.27 with 26.7.1).
pub(crate) fn student_below(t: f64, freedom: f64) -> f64 {
    1.0 - 0.5 * beta_share(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function by its continued fraction (Abramowitz and Stegun, 26.5.8), evaluated from
/// the front (Lentz).
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly below this, and the other side follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let front = (libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let (mut c, mut d) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..300 {
        let m = f64::from(step);
        for factor in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / (1.0 + factor * d);
            c = 1.0 + factor / c;
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

#[cfg(test)]
mod tests;

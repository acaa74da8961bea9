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

/// How often each of `n` launches is in each resample.
#[derive(Clone, Debug)]
pub struct Resamples {
    n: usize,
    /// By launch, then by resample; `f32` halves what a row reads. Counts are exact in it.
    counts: Vec<f32>,
    /// From 0: which resample from either end bounds the interval.
    rank: usize,
}

impl Resamples {
    /// Draws the resamples of `n` launches.
    pub fn new(n: usize) -> Resamples {
        let mut random = Random::new(SEED ^ n as u64);
        let mut counts = vec![0.0; n * RESAMPLES];
        for resample in 0..RESAMPLES {
            for _ in 0..n {
                counts[random.below(n as u64) as usize * RESAMPLES + resample] += 1.0;
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
        let mut means = Vec::new();
        let scale = scale(values);
        self.means(values, scale, &mut means)?;
        let (low, high) = tails(&mut means, self.rank);
        let centre = mean(values);
        Some((centre + scale * low, centre + scale * high))
    }

    /// The interval of the difference of the means of two independent samples, `b` less `a`. The second sample's
    /// resamples are paired with the first's in another order, so that they are independent of each other.
    pub fn interval_of_difference(a: (&Resamples, &[f64]), b: (&Resamples, &[f64])) -> Option<(f64, f64)> {
        let (mut means_a, mut means_b) = (Vec::new(), Vec::new());
        let scale = scale(a.1).max(scale(b.1));
        a.0.means(a.1, scale, &mut means_a)?;
        b.0.means(b.1, scale, &mut means_b)?;
        // Seven is prime to the number of resamples: every resample meets another one.
        let mut at = RESAMPLES / 2;
        for mean in &mut means_b {
            *mean -= means_a[at];
            at = (at + 7) % RESAMPLES;
        }
        let (low, high) = tails(&mut means_b, a.0.rank.min(b.0.rank));
        let centre = mean(b.1) - mean(a.1);
        Some((centre + scale * low, centre + scale * high))
    }

    /// The mean of each resample less the mean of `values`, divided by `scale`: small numbers, to which `f32` is exact
    /// enough.
    fn means(&self, values: &[f64], scale: f64, means: &mut Vec<f32>) -> Option<()> {
        assert_eq!(values.len(), self.n, "these resamples are for {} launches", self.n);
        if self.n < 2 {
            return None;
        }
        let centre = mean(values);
        let share: Vec<f32> = values.iter().map(|value| ((value - centre) / scale / self.n as f64) as f32).collect();
        means.resize(RESAMPLES, 0.0);
        for (chunk, sums) in means.chunks_exact_mut(CHUNK).enumerate() {
            for (launch, &share) in share.iter().enumerate() {
                let from = launch * RESAMPLES + chunk * CHUNK;
                for (sum, count) in sums.iter_mut().zip(&self.counts[from..from + CHUNK]) {
                    *sum += count * share;
                }
            }
        }
        Some(())
    }
}

/// The mean; 0 of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The largest distance from the mean, or 1 where there is none.
fn scale(values: &[f64]) -> f64 {
    let centre = mean(values);
    let largest = values.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
    if largest > 0.0 { largest } else { 1.0 }
}

/// The values `rank` places from either end.
fn tails(means: &mut [f32], rank: usize) -> (f64, f64) {
    let last = means.len() - 1;
    // Only the tails are wanted: what lies within one standard deviation need not be put into order.
    let spread = (means.iter().map(|mean| mean * mean).sum::<f32>() / means.len() as f32).sqrt();
    let mut tail: Vec<f32> = means.iter().copied().filter(|&mean| mean < -spread).collect();
    let low = nth(&mut tail, rank).unwrap_or_else(|| nth(means, rank).expect("the rank is below the number"));
    tail.clear();
    tail.extend(means.iter().map(|mean| -mean).filter(|&mean| mean < -spread));
    let high = nth(&mut tail, rank).map_or_else(|| nth(means, last - rank).expect("as above"), |value| -value);
    (f64::from(low), f64::from(high))
}

fn nth(values: &mut [f32], rank: usize) -> Option<f32> {
    (rank < values.len()).then(|| *values.select_nth_unstable_by(rank, f32::total_cmp).1)
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

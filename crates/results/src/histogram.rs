//! Individual durations, ns, in an HDR histogram. The harness records into one between exchanges; the fold merges
//! those of a row's launches.
//!
//! Recording never fails, never allocates and never panics: what is out of range counts at the end of the range.

use crate::schema::Percentile;

/// Relative error of a recorded value is below 10^-3.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The longest duration told apart, ns: one hour, far beyond the bound after which a launch counts as stuck.
pub const DURATION_MAX_NS: u64 = 3_600_000_000_000;

/// The most that [`Histogram::from_pairs`] and [`Histogram::merge`] count together. A file can claim any count; sums
/// stay below 2^64 although recording goes on.
const COUNT_MAX: u64 = 1 << 62;

/// Samples beyond a percentile that make it worth quoting (MEASURING 2.8); below the median, as many below it.
const SAMPLES_BEYOND: f64 = 10.0;

/// The percentiles that a run stores, 0..100, as far as their samples suffice.
pub const PERCENTS: [f64; 15] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999];

/// Durations in ns, three significant digits.
#[derive(Clone, Debug)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// An empty histogram. Takes about 270 kB of address space; pages are touched as values arrive.
    pub fn new() -> Histogram {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, DURATION_MAX_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the library accepts");
        Histogram { inner }
    }

    /// Counts one duration; more than [`DURATION_MAX_NS`] counts as that.
    #[inline]
    pub fn record_ns(&mut self, duration_ns: u64) {
        self.inner.saturating_record(duration_ns);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (value_ns, count) in other.pairs() {
            self.add(value_ns, count);
        }
    }

    /// (highest equivalent value in ns, count) in ascending order, without empty ones: the stored form.
    pub fn to_pairs(&self) -> Vec<(u64, u64)> {
        self.pairs().collect()
    }

    /// The histogram of which [`Histogram::to_pairs`] gave the pairs. Any pairs are accepted, in any order.
    pub fn from_pairs(pairs: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.add_pairs(pairs);
        histogram
    }

    /// Adds stored pairs.
    pub fn add_pairs(&mut self, pairs: &[(u64, u64)]) {
        for &(value_ns, count) in pairs {
            self.add(value_ns, count);
        }
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The value, ns, that a share `q` (0..1) of the durations does not exceed. `None` with fewer than ten samples
    /// beyond it, on the nearer side, and for a `q` outside 0..1: the 1.0 quantile needs infinitely many.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        if !(0.0..1.0).contains(&q) || self.count() == 0 {
            return None;
        }
        // 1 - 0.9999 is not exactly 0.0001; a billionth of tolerance lets 100,000 samples suffice for it.
        let nearer = if q == 0.0 { 1.0 } else { q.min(1.0 - q) };
        let beyond = self.count() as f64 * nearer;
        (beyond >= SAMPLES_BEYOND * (1.0 - 1e-9)).then(|| self.inner.value_at_quantile(q))
    }

    /// Those of [`PERCENTS`] for which there are enough samples.
    pub fn percentiles(&self) -> Vec<Percentile> {
        let of = |percent| Some(Percentile { percent, value_ns: self.percentile(percent / 100.0)? as f64 });
        PERCENTS.into_iter().filter_map(of).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.inner.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    fn add(&mut self, value_ns: u64, count: u64) {
        let room = COUNT_MAX.saturating_sub(self.count());
        self.inner.saturating_record_n(value_ns, count.min(room));
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

/// Equal counts in equal buckets.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.pairs().eq(other.pairs())
    }
}

#[cfg(test)]
mod tests;

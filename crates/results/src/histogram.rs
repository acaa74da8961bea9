//! Individual durations, ns, in an HDR histogram. The harness records into one between exchanges; the fold merges
//! those of a row's launches.
//!
//! Recording never fails, allocates or panics: values out of range count at the end of the range.

use crate::schema::Percentile;

/// Relative error of a recorded value is below 10^-3.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The longest duration that is distinguished, ns: one hour, far beyond the time limit of a launch.
pub const DURATION_MAX_NS: u64 = 3_600_000_000_000;

/// The largest sum of counts in [`Histogram::from_pairs`] and [`Histogram::merge`]. A file can contain any count; sums
/// must stay below 2^64 even if recording continues.
const COUNT_MAX: u64 = 1 << 62;

/// The minimum number of samples beyond a percentile (MEASURING 2.8); below the median, the number below it.
const SAMPLES_BEYOND: f64 = 10.0;

/// The percentiles that a run stores, 0..100, if there are enough samples.
pub const PERCENTS: [f64; 15] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999];

/// Durations in ns, three significant digits.
#[derive(Clone, Debug)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// Returns an empty histogram. It takes about 270 kB of address space; pages are touched as values arrive.
    pub fn new() -> Histogram {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, DURATION_MAX_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the library accepts");
        Histogram { inner }
    }

    /// Counts one duration; longer ones count as [`DURATION_MAX_NS`].
    #[inline]
    pub fn record_ns(&mut self, duration_ns: u64) {
        self.inner.saturating_record(duration_ns);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (value_ns, count) in other.pairs() {
            self.add(value_ns, count);
        }
    }

    /// Returns the stored form: (highest equivalent value in ns, count) in ascending order, without empty ones.
    pub fn to_pairs(&self) -> Vec<(u64, u64)> {
        self.pairs().collect()
    }

    /// Returns the histogram for the result of [`Histogram::to_pairs`]. Any pairs are accepted, in any order.
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

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Returns the value in ns that a share `q` (0..1) of the durations does not exceed. `None` with fewer than ten
    /// samples beyond it, on the nearer side, and for a `q` outside 0..1. The 1.0 quantile would need infinitely many.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        if !(0.0..1.0).contains(&q) || self.count() == 0 {
            return None;
        }
        // 1 - 0.9999 is not exactly 0.0001; with this tolerance 100,000 samples suffice.
        let nearer = if q == 0.0 { 1.0 } else { q.min(1.0 - q) };
        let beyond = self.count() as f64 * nearer;
        (beyond >= SAMPLES_BEYOND * (1.0 - 1e-9)).then(|| self.inner.value_at_quantile(q))
    }

    /// Returns those of [`PERCENTS`] that have enough samples.
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

/// Equality of counts in all buckets.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.pairs().eq(other.pairs())
    }
}

#[cfg(test)]
mod tests;

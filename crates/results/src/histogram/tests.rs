use proptest::prelude::*;

use super::*;

fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record_ns(value);
    }
    histogram
}

#[test]
fn a_percentile_needs_ten_samples_beyond_it() {
    for (q, needed) in [(0.0, 10), (0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)] {
        assert_eq!(of((0..needed - 1).map(|_| 5)).percentile(q), None, "q = {q}, one too few");
        assert_eq!(of((0..needed).map(|_| 5)).percentile(q), Some(5), "q = {q}, just enough");
    }
}

#[test]
fn percentile_refuses_shares_outside_0_to_1() {
    let histogram = of(0..1000);
    for q in [1.0, 1.5, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(histogram.percentile(q), None, "q = {q}");
    }
    assert_eq!(Histogram::new().percentile(0.0), None);
}

#[test]
fn percentiles_end_where_samples_are_too_few() {
    let percents = |n: u64| of(1..=n).percentiles().iter().map(|p| p.percent).collect::<Vec<_>>();
    assert_eq!(percents(0), [0.0; 0]);
    assert_eq!(percents(19), [0.0; 0]);
    assert_eq!(percents(20), [50.0]);
    assert_eq!(percents(1000), [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0]);
    assert_eq!(percents(100_000), PERCENTS[..13]);
    assert_eq!(percents(1_000_000), PERCENTS);
}

#[test]
fn percentiles_are_right_to_three_digits() {
    for found in of(1..=100_000).percentiles() {
        let exact = found.percent * 1000.0;
        assert!((found.value_ns / exact - 1.0).abs() < 1e-3, "{found:?}");
    }
}

#[test]
fn out_of_range_counts_at_the_ends() {
    let histogram = of([0, 1, DURATION_MAX_NS, DURATION_MAX_NS + 1, u64::MAX]);
    assert_eq!(histogram.count(), 5);
    let pairs = histogram.to_pairs();
    assert_eq!(pairs.iter().map(|pair| pair.1).collect::<Vec<_>>(), [1, 1, 3]);
    assert!((pairs[2].0 as f64 / DURATION_MAX_NS as f64 - 1.0).abs() < 1e-3);
}

#[test]
fn claimed_counts_cannot_overflow() {
    let hostile = [(1, u64::MAX), (2, u64::MAX), (u64::MAX, u64::MAX), (3, 0)];
    let mut histogram = Histogram::from_pairs(&hostile);
    let copy = histogram.clone();
    histogram.merge(&copy);
    histogram.record_ns(7);
    assert!(histogram.count() >= COUNT_MAX);
    assert_eq!(histogram.percentile(0.5), Some(1));
}

proptest! {
    #[test]
    fn pairs_give_the_histogram_back(values in proptest::collection::vec(any::<u64>(), 0..200)) {
        let histogram = of(values.iter().map(|value| value >> (value % 64)));
        let pairs = histogram.to_pairs();
        let back = Histogram::from_pairs(&pairs);
        prop_assert_eq!(back.to_pairs(), pairs);
        prop_assert_eq!(back.count(), values.len() as u64);
    }

    #[test]
    fn merging_is_recording_everything_into_one(left in proptest::collection::vec(any::<u32>(), 0..100), right in proptest::collection::vec(any::<u32>(), 0..100)) {
        let mut merged = of(left.iter().map(|&value| value.into()));
        merged.merge(&of(right.iter().map(|&value| value.into())));
        prop_assert_eq!(merged.to_pairs(), of(left.iter().chain(&right).map(|&value| value.into())).to_pairs());
    }
}

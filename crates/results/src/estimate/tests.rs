use proptest::prelude::*;

use super::*;
use crate::testing::Random;

/// The interval of the values 1, 2, ..., n is its pair of ranks.
fn ranks(n: u32) -> (f64, f64, f64) {
    let values: Vec<f64> = (1..=n).map(f64::from).collect();
    let estimate = Estimate::of_launches(&values).expect("there are values");
    assert_eq!(estimate.n, n);
    (estimate.low, estimate.high, estimate.confidence)
}

#[test]
fn intervals_match_the_published_tables() {
    // Exact binomial sums; n = 6, 10 and 12 as in tables of the sign test.
    for (n, low, high, confidence) in [
        (5, 1.0, 5.0, 0.9375),
        (6, 1.0, 6.0, 0.968_75),
        (7, 1.0, 7.0, 0.984_375),
        (8, 1.0, 8.0, 0.992_187_5),
        (9, 2.0, 8.0, 0.960_937_5),
        (10, 2.0, 9.0, 0.978_515_625),
        (11, 2.0, 10.0, 0.988_281_25),
        (12, 3.0, 10.0, 0.961_425_781_25),
        (20, 6.0, 15.0, 0.958_610_534_667_968_8),
        (30, 10.0, 21.0, 0.957_226_054_742_932_3),
        (100, 40.0, 61.0, 0.964_799_799_782_295_1),
    ] {
        let found = ranks(n);
        assert_eq!((found.0, found.1), (low, high), "ranks for n = {n}");
        assert!((found.2 - confidence).abs() < 1e-12, "coverage for n = {n}: {}", found.2);
    }
}

#[test]
fn few_values_report_their_actual_coverage() {
    assert_eq!(ranks(1), (1.0, 1.0, 0.0));
    assert_eq!(ranks(2), (1.0, 2.0, 0.5));
    assert_eq!(ranks(3), (1.0, 3.0, 0.75));
    assert_eq!(ranks(4), (1.0, 4.0, 0.875));
}

#[test]
fn huge_n_neither_underflows_nor_jumps() {
    let (_, _, direct) = ranks(1000);
    let (low, high, logarithmic) = ranks(1001);
    assert!((direct - logarithmic).abs() < 0.006, "{direct} {logarithmic}");
    assert!(logarithmic >= COVERAGE_MIN && low < high);
    let (low, high, confidence) = ranks(1_000_000);
    // The normal approximation: 500000 -/+ 1.96 * 500.
    assert!((low - 499_020.0).abs() < 2.0 && (high - 500_981.0).abs() < 2.0, "{low} {high}");
    assert!((confidence - 0.95).abs() < 1e-3);
}

#[test]
fn intervals_have_their_stated_coverage() {
    let mut random = Random::new(7);
    for n in [3, 6, 10, 12, 25] {
        let runs = 8_000;
        let (mut hits, mut confidence) = (0, 0.0);
        for _ in 0..runs {
            // A skewed distribution with median 1: the rule must not depend on symmetry.
            let values: Vec<f64> = (0..n).map(|_| random.normal().exp()).collect();
            let estimate = Estimate::of_launches(&values).expect("there are values");
            confidence = estimate.confidence;
            hits += u32::from(estimate.low <= 1.0 && 1.0 <= estimate.high);
        }
        let coverage = f64::from(hits) / f64::from(runs);
        assert!((coverage - confidence).abs() < 0.01, "n = {n}: covers {coverage}, says {confidence}");
    }
}

#[test]
fn without_finite_values_there_is_no_estimate() {
    assert_eq!(Estimate::of_launches(&[]), None);
    assert_eq!(Estimate::of_launches(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]), None);
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[f64::NAN]), None);
}

#[test]
fn values_that_are_not_finite_do_not_count() {
    let clean = Estimate::of_launches(&[3.0, 1.0, 2.0]);
    let dirty = Estimate::of_launches(&[f64::NAN, 3.0, f64::INFINITY, 1.0, f64::NEG_INFINITY, 2.0]);
    assert_eq!(clean, dirty);
    assert_eq!(clean.expect("there are values").n, 3);
}

#[test]
fn median_takes_the_middle() {
    assert_eq!(median(&[5.0]), Some(5.0));
    assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    assert_eq!(median(&[f64::MAX, f64::MIN]), Some(0.0));
}

#[test]
fn width_is_a_share_of_the_median() {
    let estimate = |low, median, high| Estimate { median, low, high, confidence: 0.95, n: 12 };
    assert_eq!(estimate(90.0, 100.0, 110.0).relative_half_width(), Some(0.1));
    assert_eq!(estimate(-110.0, -100.0, -90.0).relative_half_width(), Some(0.1));
    assert_eq!(estimate(0.0, 0.0, 0.0).relative_half_width(), Some(0.0));
    assert_eq!(estimate(0.0, 0.0, 1.0).relative_half_width(), None);
    assert_eq!(estimate(f64::MIN, 1.0, f64::MAX).relative_half_width(), Some(f64::MAX));
}

#[test]
fn touching_intervals_overlap() {
    let estimate = |low, high| Estimate { median: low, low, high, confidence: 0.95, n: 12 };
    assert!(estimate(1.0, 2.0).overlaps(&estimate(2.0, 3.0)));
    assert!(estimate(2.0, 3.0).overlaps(&estimate(1.0, 2.0)));
    assert!(estimate(1.0, 9.0).overlaps(&estimate(2.0, 3.0)));
    assert!(!estimate(1.0, 2.0).overlaps(&estimate(2.1, 3.0)));
    assert!(!estimate(2.1, 3.0).overlaps(&estimate(1.0, 2.0)));
}

proptest! {
    #[test]
    fn order_does_not_matter_and_ends_are_values(mut values in proptest::collection::vec(any::<f64>(), 0..40)) {
        let estimate = Estimate::of_launches(&values);
        values.reverse();
        prop_assert_eq!(estimate, Estimate::of_launches(&values));
        if let Some(estimate) = estimate {
            prop_assert!(values.contains(&estimate.low) && values.contains(&estimate.high));
            prop_assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
            prop_assert!((0.0..=1.0).contains(&estimate.confidence));
        }
    }
}

//! Tests with simulated drift: the estimate must agree with it.

use super::*;
use crate::testing::Random;

fn samples(seed: u64, rows: usize, drift: f64) -> Vec<Sample> {
    let mut random = Random::new(seed);
    (0..rows)
        .map(|_| {
            let shift = drift * random.normal();
            Sample::Paired((0..12).map(|_| shift + 0.05 * random.normal()).collect())
        })
        .collect()
}

#[test]
fn without_drift_the_floor_is_near_zero() {
    let found: f64 = (0..50).map(|seed| drift(&samples(seed, 145, 0.0)).expect("rows").deviation).sum::<f64>() / 50.0;
    // The standard error of a row is 0.014.
    assert!(found < 0.005, "{found}");
}

#[test]
fn simulated_drift_is_estimated() {
    for true_drift in [0.05, 0.3] {
        let mean =
            (0..50).map(|seed| drift(&samples(seed, 145, true_drift)).expect("rows").deviation).sum::<f64>() / 50.0;
        assert!((0.85..1.15).contains(&(mean / true_drift)), "{true_drift}: {mean}");
    }
}

#[test]
fn a_single_outlier_does_not_determine_the_drift() {
    for rows in [6, 16, 32, 64, 145] {
        let calm = |seed| drift(&samples(seed, rows, 0.02)).expect("rows").deviation;
        let wild = |seed| {
            let mut samples = samples(seed, rows, 0.02);
            samples[rows / 2] = Sample::Paired((0..12).map(|at| 0.7 + 0.001 * f64::from(at)).collect());
            drift(&samples).expect("rows").deviation
        };
        let mean = |of: &dyn Fn(u64) -> f64| (0..100).map(of).sum::<f64>() / 100.0;
        let (calm, wild) = (mean(&calm), mean(&wild));
        assert!(wild < 0.05 && wild < 2.5 * calm, "{rows} rows: {calm} without, {wild} with it");
    }
}

#[test]
fn few_rows_suffice_for_the_estimate() {
    for rows in [12, 24, 40] {
        let mean = (0..200).map(|seed| drift(&samples(seed, rows, 0.2)).expect("rows").deviation).sum::<f64>() / 200.0;
        assert!((0.75..1.25).contains(&(mean / 0.2)), "{rows} rows: {mean}");
    }
}

#[test]
fn without_samples_there_is_no_drift() {
    assert_eq!(drift(&[]), None);
    assert_eq!(drift(&[Sample::Paired(vec![1.0])]), None);
    assert_eq!(drift(&[Sample::Paired(vec![0.0; 12])]), Some(Drift { deviation: 0.0, rows: 1 }));
    let wild = drift(&[Sample::Paired(vec![700.0, 701.0, 702.0])]).expect("it has a standard error");
    assert_eq!(wild.deviation, DEVIATION_MAX);
}

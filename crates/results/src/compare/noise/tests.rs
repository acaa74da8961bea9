//! The drift that is put in comes out; where there is none, none does.

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
fn drift_is_found_again() {
    for true_drift in [0.05, 0.3] {
        let mean =
            (0..50).map(|seed| drift(&samples(seed, 145, true_drift)).expect("rows").deviation).sum::<f64>() / 50.0;
        assert!((0.85..1.15).contains(&(mean / true_drift)), "{true_drift}: {mean}");
    }
}

#[test]
fn nothing_known_is_nothing_said() {
    assert_eq!(drift(&[]), None);
    assert_eq!(drift(&[Sample::Paired(vec![1.0])]), None);
    assert_eq!(drift(&[Sample::Paired(vec![0.0; 12])]), Some(Drift { deviation: 0.0, rows: 1 }));
    let wild = drift(&[Sample::Paired(vec![700.0, 701.0, 702.0])]).expect("it has a standard error");
    assert_eq!(wild.deviation, DEVIATION_MAX);
}

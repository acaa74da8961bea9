use super::*;
use crate::testing::{Random, noise};

#[test]
fn a_grid_is_found_with_its_step() {
    let mut random = Random::new(1);
    let gridded: Vec<f64> = (0..100).map(|_| 100.0 * (50.0 + random.normal()).round()).collect();
    let found = batch_resolution(&gridded).expect("durations are positive");
    assert!((found.step_ns - 100.0).abs() < 1e-6, "{found:?}");
    assert_eq!(quantised(found, 1.0), Some(Flag::Quantised { step_ns: found.step_ns, batch_ns: found.batch_ns }));
}

#[test]
fn a_fine_grid_does_not_matter() {
    let mut random = Random::new(2);
    let gridded: Vec<f64> = (0..100).map(|_| 1e6 + (3.0 * random.normal()).round()).collect();
    let found = batch_resolution(&gridded).expect("durations are positive");
    assert!((found.step_ns - 1.0).abs() < 1e-6, "{found:?}");
    assert_eq!(quantised(found, 1.0), None);
}

#[test]
fn the_clock_alone_can_be_too_coarse() {
    let smooth = batch_resolution(&noise(&mut Random::new(3), 100, 0.1)).expect("durations are positive");
    assert_eq!(smooth.step_ns, 0.0, "noise lies on no grid");
    assert_eq!(quantised(smooth, 0.5), None);
    assert_eq!(quantised(smooth, 4.0), Some(Flag::Quantised { step_ns: 4.0, batch_ns: smooth.batch_ns }));
}

#[test]
fn few_or_invalid_durations_have_no_grid() {
    for values in [vec![], vec![0.0; 30], vec![f64::NAN; 30], vec![-1.0; 30]] {
        assert_eq!(batch_resolution(&values), None, "{values:?}");
    }
    for values in [vec![1.0], vec![1.0, 2.0, 1.0], vec![5.0; 30]] {
        assert_eq!(batch_resolution(&values).expect("durations are positive").step_ns, 0.0, "{values:?}");
    }
    let any = BatchResolution { step_ns: 0.0, batch_ns: 1.0 };
    assert_eq!(quantised(any, f64::NAN), None);
    assert_eq!(quantised(any, f64::INFINITY), None);
}

#[test]
fn four_batches_are_too_few() {
    assert_eq!(too_few_samples(4), Some(Flag::TooFewSamples { n: 4 }));
    assert_eq!(too_few_samples(BATCHES_MIN), None);
}

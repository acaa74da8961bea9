use super::*;
use crate::testing::{Random, noise};

/// Returns the share of seeded noisy series for which `test` sets its flag.
fn found(n: usize, mut draw: impl FnMut(&mut Random) -> f64, test: Test) -> f64 {
    let mut random = Random::new(42);
    let runs = 1500;
    let hits = (0..runs).filter(|_| test(&(0..n).map(|_| draw(&mut random)).collect::<Vec<_>>()).is_some()).count();
    hits as f64 / f64::from(runs)
}

type Test = fn(&[f64]) -> Option<Flag>;

const TESTS: [Test; 3] = [autocorrelated, sloped, change_point];

#[test]
fn white_noise_is_seldom_flagged() {
    for n in [3, 6, 7, 9, 12, 30] {
        for (i, test) in TESTS.into_iter().enumerate() {
            let normal = found(n, |random| 100.0 * (1.0 + 0.05 * random.normal()), test);
            assert!(normal < 0.006, "test {i}, n = {n}: {normal}");
            let disturbed = found(n, |random| 100.0 * (1.0 + 0.02 * random.contaminated()), test);
            assert!(disturbed < 0.012, "test {i}, n = {n}, disturbed: {disturbed}");
        }
    }
}

#[test]
fn irrelevant_ranges_are_not_flagged() {
    for test in TESTS {
        assert_eq!(test(&[]), None);
        assert_eq!(test(&[1.0]), None);
        assert_eq!(test(&[1.0, 2.0]), None);
        assert_eq!(test(&[1.0, 2.0, 4.0]), None);
        assert_eq!(test(&[7.0; 20]), None);
        assert_eq!(test(&[0.0; 20]), None);
        assert_eq!(test(&[f64::NAN; 20]), None);
        assert_eq!(test(&[f64::MAX, f64::MIN, f64::INFINITY, f64::MAX, f64::MIN, 1.0, 2.0, 3.0, 4.0]), None);
        let within_one_percent: Vec<f64> = (0..20).map(|i| 1000.0 + f64::from(i) / 2.0).collect();
        assert_eq!(test(&within_one_percent), None);
    }
}

#[test]
fn drift_is_found_with_its_size() {
    let mut random = Random::new(3);
    for _ in 0..100 {
        let drifting: Vec<f64> =
            (0..12).map(|i| 100.0 * (1.0 + 0.2 * f64::from(i) / 11.0 + 0.01 * random.normal())).collect();
        let Some(Flag::Sloped { per_cent }) = sloped(&drifting) else { panic!("no drift found in {drifting:?}") };
        assert!((14.0..23.0).contains(&per_cent), "{per_cent}");
    }
    let falling: Vec<f64> = (0..12).map(|i| 100.0 - f64::from(i)).collect();
    assert!(matches!(sloped(&falling), Some(Flag::Sloped { per_cent }) if per_cent < -10.0));
}

#[test]
fn level_change_is_found_where_it_is() {
    let mut random = Random::new(4);
    for at in 3..=9 {
        let mut launches = noise(&mut random, 12, 0.01);
        launches[at..].iter_mut().for_each(|value| *value *= 1.3);
        let Some(Flag::ChangePoint { at_launch, ratio }) = change_point(&launches) else {
            panic!("no change found at {at} in {launches:?}")
        };
        assert_eq!(at_launch as usize, at);
        assert!((ratio - 1.3).abs() < 0.05, "{ratio}");
    }
    let exact = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0];
    let found = change_point(&exact);
    assert!(
        matches!(found, Some(Flag::ChangePoint { at_launch: 4, ratio }) if (ratio - 2.0).abs() < 1e-9),
        "{found:?}"
    );
}

#[test]
fn one_outlier_is_not_a_level() {
    for at in 0..12 {
        let mut launches = noise(&mut Random::new(5), 12, 0.01);
        launches[at] *= 10.0;
        assert_eq!(change_point(&launches), None, "outlier at {at}");
        assert_eq!(sloped(&launches), None, "outlier at {at}");
        assert_eq!(autocorrelated(&launches), None, "outlier at {at}");
    }
}

#[test]
fn autocorrelation_is_found() {
    let slow_wave: Vec<f64> =
        (0..24).map(|i| 100.0 + 10.0 * (f64::from(i) / 24.0 * 4.0 * std::f64::consts::PI).sin()).collect();
    assert!(matches!(autocorrelated(&slow_wave), Some(Flag::Autocorrelated { lag1 }) if lag1 > 0.7));
    let alternating: Vec<f64> = (0..24).map(|i| if i % 2 == 0 { 90.0 } else { 110.0 }).collect();
    assert_eq!(autocorrelated(&alternating), None, "unlike neighbours make the interval too wide, not too narrow");
}

#[test]
fn long_series_are_tested_quickly() {
    let launches: Vec<f64> = (0..200_000).map(|i| 100.0 + f64::from(i % 7)).collect();
    assert_eq!(sloped(&launches), None);
    assert_eq!(change_point(&launches), None);
}

#[test]
fn intervals_and_numbers_of_launches() {
    assert_eq!(few_launches(5), Some(Flag::FewLaunches { n: 5 }));
    assert_eq!(few_launches(LAUNCHES_MIN), None);
    let estimate = |low, median, high| Estimate { median, low, high, confidence: 0.96, n: 12 };
    assert_eq!(wide_interval(&estimate(95.0, 100.0, 110.0)), None);
    assert_eq!(wide_interval(&estimate(75.0, 100.0, 125.0)), Some(Flag::WideInterval { per_cent: 25.0 }));
    assert_eq!(wide_interval(&estimate(0.0, 0.0, 0.0)), None);
    assert_eq!(wide_interval(&estimate(f64::MIN, 1e-9, f64::MAX)), None);
}

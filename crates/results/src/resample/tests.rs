//! Quantiles against printed tables; coverage against what the interval claims.

use super::*;
use crate::testing::Random as Noise;

#[test]
fn student_quantiles_are_those_of_the_tables() {
    for (freedom, expected) in
        [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (11.0, 2.201), (30.0, 2.042), (1000.0, 1.962)]
    {
        let found = student_quantile(0.975, freedom);
        assert!((found - expected).abs() < 5e-4, "{freedom}: {found}");
    }
    assert!((normal_below(-1.959_964) - 0.025).abs() < 1e-6);
}

/// Share of 2000 samples of `n` launches whose interval holds the true mean 0.
fn coverage(n: usize, mut draw: impl FnMut(&mut Noise) -> f64) -> f64 {
    let resamples = Resamples::new(n, 0);
    let mut noise = Noise::new(7);
    let mut held = 0;
    for _ in 0..2000 {
        let values: Vec<f64> = (0..n).map(|_| draw(&mut noise)).collect();
        let (low, high) = resamples.interval(&values).expect("more than one launch");
        held += u32::from(low <= 0.0 && 0.0 <= high);
    }
    f64::from(held) / 2000.0
}

#[test]
fn the_interval_covers_what_it_says() {
    // Three standard deviations of binomial(2000, 0.95) are 1.5 %.
    for n in [8, 12, 20, 40] {
        let share = coverage(n, Noise::normal);
        assert!((0.935..=0.97).contains(&share), "normal, n = {n}: {share}");
    }
    // One launch in ten with ten times the spread: wider, never narrower.
    let share = coverage(12, Noise::contaminated);
    assert!(share >= 0.94, "contaminated: {share}");
    let share = coverage(12, |noise| noise.unit() - 0.5);
    assert!((0.935..=0.97).contains(&share), "uniform: {share}");
}

#[test]
fn the_interval_of_a_difference_covers_what_it_says() {
    let (a, b) = (Resamples::new(12, 0), Resamples::new(10, 1));
    let mut noise = Noise::new(8);
    let mut held = 0;
    for _ in 0..2000 {
        let first: Vec<f64> = (0..12).map(|_| noise.normal()).collect();
        let second: Vec<f64> = (0..10).map(|_| 3.0 + 2.0 * noise.normal()).collect();
        let (low, high) = Resamples::interval_of_difference((&a, &first), (&b, &second)).expect("enough launches");
        held += u32::from(low <= 3.0 && 3.0 <= high);
    }
    assert!((1870..=1960).contains(&held), "{held} of 2000");
}

#[test]
fn the_same_data_give_the_same_interval() {
    let values: Vec<f64> = (0..12).map(|value| f64::from(value).sqrt()).collect();
    assert_eq!(Resamples::new(12, 0).interval(&values), Resamples::new(12, 0).interval(&values));
}

#[test]
fn one_launch_has_no_interval_and_constants_have_an_empty_one() {
    assert_eq!(Resamples::new(1, 0).interval(&[1.0]), None);
    assert_eq!(Resamples::new(0, 0).interval(&[]), None);
    assert_eq!(Resamples::new(5, 0).interval(&[2.5; 5]), Some((2.5, 2.5)));
    let (low, high) = Resamples::new(2, 0).interval(&[-1e300, 1e300]).expect("two launches");
    assert!(low <= high, "{low} {high}");
}

#[test]
fn two_launches_reach_from_one_to_the_other() {
    assert_eq!(Resamples::new(2, 0).interval(&[1.0, 2.0]), Some((1.0, 2.0)));
}

#[test]
fn more_launches_than_are_resampled_have_an_interval_as_wide() {
    let half_width = |(low, high): (f64, f64)| (high - low) / 2.0;
    let mut noise = Noise::new(9);
    let values: Vec<f64> = (0..40_000).map(|_| noise.normal()).collect();
    // At 32,768 a sum of 16 bits could no longer hold one step of every launch.
    for n in [LAUNCHES_MAX, LAUNCHES_MAX + 1, 33_000, 40_000] {
        let found = half_width(Resamples::new(n, 0).interval(&values[..n]).expect("many launches"));
        let expected = 1.96 / (n as f64).sqrt();
        assert!((found / expected - 1.0).abs() < 0.04, "{n}: {found}, not {expected}");
    }
    let sides = [(0, 0..12), (1, 12..40_000)].map(|(stream, part)| (Resamples::new(part.len(), stream), &values[part]));
    let [(a, few), (b, many)] = &sides;
    let found = half_width(Resamples::interval_of_difference((a, few), (b, many)).expect("many launches"));
    let alone = half_width(a.interval(few).expect("twelve launches"));
    assert!((found / alone - 1.0).abs() < 0.1, "the few decide: {found}, not {alone}");
    assert_eq!(Resamples::interval_of_difference((&Resamples::new(1, 0), &few[..1]), (b, many)), None);
}

//! Against counting by hand, a textbook, and the rate at which equal things are told apart.

use super::*;
use crate::testing::Random as Noise;

/// Counts every assignment one by one.
fn naive(differences: &[f64]) -> f64 {
    let sum = |signs: u32| -> f64 {
        let signed = |(at, value): (usize, &f64)| if signs >> at & 1 == 0 { *value } else { -value };
        differences.iter().enumerate().map(signed).sum::<f64>().abs()
    };
    let observed = sum(0);
    let total = 1u32 << differences.len();
    let reached = (0..total).filter(|&signs| sum(signs) >= observed * (1.0 - 1e-12)).count();
    reached as f64 / f64::from(total)
}

#[test]
fn the_count_is_that_of_counting_one_by_one() {
    let mut noise = Noise::new(3);
    for n in 1..=14 {
        let values: Vec<f64> = (0..n).map(|_| noise.normal() + 0.3).collect();
        assert!((p_value(&values) - naive(&values)).abs() < 1e-12, "n = {n}");
    }
    // Ties between assignments.
    for values in [&[1.0, 1.0, 1.0, -1.0][..], &[2.0, -2.0, 1.0], &[0.1, 0.2, 0.3, -0.6, 0.4]] {
        assert!((p_value(values) - naive(values)).abs() < 1e-12, "{values:?}");
    }
}

#[test]
fn darwins_maize_gives_fishers_figure() {
    // Fisher, The Design of Experiments, section 21: 863 of 32768 assignments reach a sum of 314 on one side.
    let darwin = [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];
    assert_eq!(p_value(&darwin), 2.0 * 863.0 / 32768.0);
}

#[test]
fn the_smallest_value_is_the_reachable_one() {
    for n in 1..=EXACT_MAX {
        assert_eq!(p_value(&vec![1.0; n]), p_reachable(n), "n = {n}");
    }
    assert_eq!(p_value(&[1.0; 40]), p_reachable(40));
}

#[test]
fn equal_things_are_told_apart_as_rarely_as_promised() {
    for n in [8, 12, 40] {
        let mut noise = Noise::new(11);
        let rounds = if n > EXACT_MAX { 200 } else { 4000 };
        let found = (0..rounds)
            .filter(|_| p_value(&(0..n).map(|_| noise.contaminated()).collect::<Vec<f64>>()) <= 0.05)
            .count();
        let share = found as f64 / f64::from(rounds);
        let three_deviations = 3.0 * (0.05f64 * 0.95 / f64::from(rounds)).sqrt();
        assert!(share <= 0.05 + three_deviations, "n = {n}: {share}");
    }
}

#[test]
fn what_says_nothing_is_not_significant() {
    for values in [&[][..], &[0.0; 12], &[f64::NAN, 1.0], &[f64::INFINITY; 3], &[1.0, -1.0]] {
        assert_eq!(p_value(values), 1.0, "{values:?}");
    }
}

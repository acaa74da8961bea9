//! Against printed tables, counting by hand, and the rate at which equal things are told apart.

use super::*;
use crate::testing::Random as Noise;

fn independent(a: &[f64], b: &[f64]) -> f64 {
    Independent::default().p_value(a, b)
}

/// Values whose ranks are given.
fn ranked(ranks: &[u32]) -> Vec<f64> {
    ranks.iter().map(|&rank| f64::from(rank)).collect()
}

#[test]
fn independent_samples_give_the_tables_figures() {
    // All of the first below all of the second: 2 of the (n + m choose n) ways.
    assert_eq!(independent(&ranked(&[1, 2, 3]), &ranked(&[4, 5, 6])), 2.0 / 20.0);
    assert_eq!(independent(&ranked(&[1, 2, 3, 4]), &ranked(&[5, 6, 7, 8, 9])), 2.0 / 126.0);
    // Mann and Whitney's table for n = m = 4: P(U <= 2) = 0.057.
    let p = independent(&ranked(&[1, 2, 3, 6]), &ranked(&[4, 5, 7, 8]));
    assert!((p - 2.0 * 4.0 / 70.0).abs() < 1e-12, "{p}");
    // The other way round it is the same.
    assert_eq!(p, independent(&ranked(&[4, 5, 7, 8]), &ranked(&[1, 2, 3, 6])));
}

#[test]
fn ties_are_counted_as_they_are() {
    // Of the 6 choices of two among the ranks 1, 2.5, 2.5, 4 those with sums 3.5, 3.5, 6.5 and 6.5 are as far off as the
    // observed one; 5 and 5 are not.
    assert!((independent(&[1.0, 2.0], &[2.0, 3.0]) - 4.0 / 6.0).abs() < 1e-12);
    assert_eq!(independent(&[1.0; 5], &[1.0; 5]), 1.0);
    assert!((paired(&[1.0, 1.0, -1.0]) - 1.0).abs() < 1e-12);
}

#[test]
fn what_was_kept_is_what_would_be_counted() {
    let mut noise = Noise::new(9);
    let mut kept = Independent::default();
    for round in 0..200 {
        let mut sample = |n: usize| (0..n).map(|_| noise.normal()).collect::<Vec<f64>>();
        let (mut a, b) = (sample(3 + round % 5), sample(4 + round % 3));
        if round % 7 == 0 {
            a[0] = b[0];
        }
        assert_eq!(kept.p_value(&a, &b), independent(&a, &b), "{a:?} {b:?}");
    }
}

#[test]
fn signed_ranks_give_the_tables_figures() {
    // Wilcoxon's table for n = 8: a sum of 3 or less has probability 5 / 256 on one side.
    assert_eq!(paired(&[-1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), 2.0 * 5.0 / 256.0);
    assert_eq!(paired(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 / 64.0);
    assert_eq!(paired(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 / 64.0);
}

#[test]
fn the_smallest_value_is_the_reachable_one() {
    for (a, b) in [(1, 1), (3, 3), (6, 4), (12, 12)] {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ((0..a).map(f64::from).collect(), (0..b).map(|v| f64::from(100 + v)).collect());
        let (found, expected) = (independent(&low, &high), independent_reachable(a as usize, b as usize));
        assert!((found / expected - 1.0).abs() < 1e-9, "{a} {b}: {found} {expected}");
    }
    assert_eq!(independent_reachable(0, 5), 1.0);
}

#[test]
fn equal_things_are_told_apart_as_rarely_as_promised() {
    let mut noise = Noise::new(4);
    let mut sample = |n: usize| (0..n).map(|_| noise.contaminated()).collect::<Vec<f64>>();
    let mut kept = Independent::default();
    let mut found = [0, 0, 0];
    for _ in 0..2000 {
        found[0] += u32::from(kept.p_value(&sample(12), &sample(10)) <= 0.05);
        found[1] += u32::from(paired(&sample(12)) <= 0.05);
        found[2] += u32::from(independent(&sample(60), &sample(60)) <= 0.05);
    }
    // Three standard deviations above 100.
    assert!(found.iter().all(|&count| count <= 129), "{found:?}");
    assert!(found[2] >= 71, "the approximation for many launches is too careful: {found:?}");
}

#[test]
fn what_says_nothing_is_not_significant() {
    assert_eq!(independent(&[], &[1.0]), 1.0);
    assert_eq!(independent(&[f64::NAN], &[1.0]), 1.0);
    assert_eq!(paired(&[]), 1.0);
    assert_eq!(paired(&[0.0; 12]), 1.0);
    assert_eq!(paired(&[f64::NAN; 12]), 1.0);
    assert_eq!(independent(&vec![2.0; 200], &vec![2.0; 200]), 1.0);
}

#[test]
fn infinite_values_rank_at_the_ends() {
    assert_eq!(independent(&[f64::NEG_INFINITY, 0.0, 1.0], &[2.0, 3.0, f64::INFINITY]), 2.0 / 20.0);
}

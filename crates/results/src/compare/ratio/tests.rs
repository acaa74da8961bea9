//! Tests of pairing and of ratios.

use super::*;
use crate::estimate::Estimate;
use crate::schema::{Better, Metric};

fn metric(launches: &[f64], blocks: &[u32]) -> MetricResult {
    MetricResult {
        metric: Metric { name: "rate".to_owned(), unit: "messages/s".to_owned(), better: Better::Higher },
        estimate: Estimate::of_launches(launches).expect("there are launches"),
        launches: launches.to_vec(),
        blocks: blocks.to_vec(),
    }
}

#[test]
fn blocks_are_paired_by_number() {
    let a = metric(&[1.0, 2.0, 4.0], &[0, 1, 2]);
    let b = metric(&[8.0, 2.0, 100.0], &[2, 0, 5]);
    let Some(Sample::Paired(differences)) = Sample::paired(&a, &b) else { panic!("two blocks are common") };
    assert!(
        differences.len() == 2 && differences.iter().all(|value| (value - 2f64.ln()).abs() < 1e-12),
        "{differences:?}"
    );
}

#[test]
fn drift_of_the_machine_cancels_in_a_pair() {
    let levels = [1.0, 2.0, 1.5, 0.7, 3.0, 1.1, 0.9, 1.7];
    let blocks: Vec<u32> = (0..8).collect();
    let a = metric(&levels, &blocks);
    let b = metric(&levels.map(|level| level * 1.03), &blocks);
    let ratio = Ratios::default().of(&Sample::paired(&a, &b).expect("eight blocks")).expect("numbers");
    assert!((ratio.value - 1.03).abs() < 1e-12 && (ratio.high - ratio.low).abs() < 1e-6, "{ratio:?}");
    assert_eq!(ratio.p, 2.0 / 256.0);
    assert!(ratio.paired && ratio.n == 8);
    let apart = Ratios::default().of(&Sample::independent(&a, &b).expect("eight launches")).expect("numbers");
    assert!(apart.low < 0.8 && apart.high > 1.2 && apart.p > 0.5 && !apart.paired, "{apart:?}");
}

#[test]
fn the_sides_can_be_exchanged() {
    let a = metric(&[1.0, 2.0, 4.0, 3.0], &[0, 1, 2, 3]);
    let b = metric(&[2.0, 3.0, 5.0, 3.5], &[0, 1, 2, 3]);
    let of = |sample: Option<Sample>| Ratios::default().of(&sample.expect("four blocks")).expect("numbers");
    let (there, back) = (of(Sample::paired(&a, &b)), of(Sample::paired(&b, &a)));
    assert!((there.value * back.value - 1.0).abs() < 1e-12);
    assert_eq!(there.p, back.p);
}

#[test]
fn values_without_a_logarithm_have_no_ratio() {
    let good = metric(&[1.0, 2.0], &[0, 1]);
    for bad in [0.0, -1.0] {
        assert_eq!(Sample::paired(&good, &metric(&[1.0, bad], &[0, 1])), None);
        assert_eq!(Sample::independent(&metric(&[bad, 1.0], &[0, 1]), &good), None);
    }
    assert_eq!(Sample::paired(&good, &metric(&[1.0], &[7])), None, "no common block");
}

#[test]
fn a_single_launch_has_a_ratio_but_no_interval() {
    let (a, b) = (metric(&[2.0], &[0]), metric(&[3.0], &[0]));
    for sample in [Sample::paired(&a, &b), Sample::independent(&a, &b)] {
        let ratio = Ratios::default().of(&sample.expect("one launch each")).expect("numbers");
        assert!((ratio.value - 1.5).abs() < 1e-12);
        assert_eq!((ratio.low, ratio.high, ratio.p, ratio.n), (ratio.value, ratio.value, 1.0, 1));
    }
}

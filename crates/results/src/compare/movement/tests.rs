//! Two runs of one program, one after the other: what all rows have in common is no change of any, and a change is found
//! beside it.

use super::super::tests::{run, side};
use super::super::{Comparison, Rules, compare, noise};
use super::*;
use crate::schema::Run;
use crate::testing::Random;

mod simulation;

/// How two runs differ although nothing has changed: logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart {
    /// What all rows differ by.
    pub common: f64,
    /// The standard deviation of what each row differs by on its own.
    pub own: f64,
}

/// Makes two runs; the first `changed` rows of the second one differ by `factor`.
pub(super) fn runs(
    random: &mut Random,
    rows: usize,
    launches: u32,
    apart: Apart,
    changed: usize,
    factor: f64,
) -> [Run; 2] {
    let ids: Vec<String> = (0..rows).map(|row| format!("r{row}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let of_rows: Vec<f64> = (0..rows)
        .map(|row| apart.common + apart.own * random.normal() + if row < changed { factor.ln() } else { 0.0 })
        .collect();
    let mut one = |share: f64| {
        run(&ids, launches, |id, _| {
            let row: usize = id[1..].parse().expect("a number follows");
            1e6 * (share * of_rows[row] + 0.02 * random.normal()).exp()
        })
    };
    [one(0.0), one(1.0)]
}

/// Compares them as `compare` does without a noise record.
pub(super) fn compared([before, after]: &[Run; 2], rules: Rules) -> Comparison {
    let drift = noise::drift_between([before, after]).map_or(0.0, |drift| drift.deviation);
    compare(&side("r", 0, before), &side("r", 1, after), rules.with_drift(drift))
}

fn count(comparison: &Comparison, is: fn(&RowComparison) -> bool) -> usize {
    comparison.rows.iter().filter(|row| is(row)).count()
}

fn is_different(row: &RowComparison) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse)
}

#[test]
fn a_common_movement_is_the_machine_and_no_change_of_any_row() {
    let mut random = Random::new(1);
    let (mut with, mut without) = (0, 0);
    for _ in 0..40 {
        let runs = runs(&mut random, 40, 12, Apart { common: 0.97f64.ln(), own: 0.0 }, 0, 1.0);
        let comparison = compared(&runs, Rules::default());
        let movement = comparison.movement.expect("enough rows");
        assert!((movement.ratio - 0.97).abs() < 0.01 && movement.is_certain(), "{movement:?}");
        with += count(&comparison, is_different);
        // Nor is it equality: the program may have changed in all rows.
        assert_eq!(count(&comparison, |row| row.verdict == Verdict::Equivalent), 0, "{comparison:?}");
        without += count(&compared(&runs, Rules { hosts_differ: true, ..Rules::default() }), is_different);
    }
    assert!(with <= 4, "{with} of 1600 rows");
    assert!(without > 1000, "between hosts it is a result: {without} of 1600 rows");
}

#[test]
fn a_change_of_one_row_is_found_beside_a_common_movement() {
    let mut random = Random::new(2);
    let mut found = 0;
    for _ in 0..20 {
        let runs = runs(&mut random, 40, 12, Apart { common: 0.97f64.ln(), own: 0.01 }, 2, 0.8);
        let comparison = compared(&runs, Rules::default());
        found +=
            count(&comparison, |row| row.verdict == Verdict::Worse && row.label.len() == 1 && row.label.as_str() < "2");
        let row = &comparison.rows[0];
        let ratio = row.ratio.expect("launches");
        // The interval has both readings: the ratio to the machine as it was, and as it is.
        let movement = comparison.movement.expect("enough rows");
        assert!(ratio.low < ratio.value && ratio.value / movement.ratio < ratio.high, "{ratio:?}");
    }
    assert!(found >= 38, "{found} of 40");
}

#[test]
fn rows_that_differ_from_run_to_run_are_not_different() {
    let mut random = Random::new(3);
    let wrong = |rows: usize, random: &mut Random| {
        let comparison = |random: &mut Random| {
            compared(&runs(random, rows, 12, Apart { common: 0.03, own: 0.03 }, 0, 1.0), Rules::default())
        };
        (0..60).filter(|_| count(&comparison(random), is_different) > 0).count()
    };
    for rows in [16, 100] {
        let wrong = wrong(rows, &mut random);
        assert!(wrong <= 8, "{wrong} of 60 with {rows} rows");
    }
}

#[test]
fn few_rows_have_no_movement() {
    let runs = runs(&mut Random::new(4), ROWS_MIN - 1, 12, Apart { common: 0.03, own: 0.0 }, 0, 1.0);
    assert_eq!(compared(&runs, Rules::default()).movement, None);
}

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

/// The launches of one row in one run, as logarithms of its level. The run's own random walk, 3 % a block, gives their number.
pub(super) type Launches = dyn Fn(&mut Random, &[f64]) -> Vec<f64>;

/// Makes two runs whose launches scatter by 2 %; the first `changed` rows of the second one differ by `factor`.
pub(super) fn runs(
    random: &mut Random,
    rows: usize,
    launches: u32,
    apart: Apart,
    changed: usize,
    factor: f64,
) -> [Run; 2] {
    let normal = |random: &mut Random, walk: &[f64]| walk.iter().map(|_| 0.02 * random.normal()).collect();
    runs_of(&normal, random, rows, launches, apart, changed, factor)
}

/// Makes two runs of launches that scatter like this.
pub(super) fn runs_of(
    noise: &Launches,
    random: &mut Random,
    rows: usize,
    launches: u32,
    apart: Apart,
    changed: usize,
    factor: f64,
) -> [Run; 2] {
    let ids: Vec<String> = (0..rows).map(|row| format!("r{row}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let empty = run(&ids, 1, |_, _| 1.0);
    [0.0, 1.0].map(|share| {
        let mut run = empty.clone();
        let walk: Vec<f64> = (0..launches)
            .scan(0.0, |level, _| {
                *level += 0.03 * random.normal();
                Some(*level)
            })
            .collect();
        for (row, result) in run.results.iter_mut().enumerate() {
            let change = if row < changed { factor.ln() } else { 0.0 };
            let level = share * (apart.common + apart.own * random.normal() + change);
            result.metrics[0].launches =
                noise(random, &walk).into_iter().map(|launch| 1e6 * (level + launch).exp()).collect();
        }
        run
    })
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
fn changes_of_a_quarter_of_the_rows_and_more_are_found() {
    let mut random = Random::new(5);
    let [before, mut after] = runs(&mut random, 316, 12, Apart { common: 0.0, own: 0.0 }, 42, 1.0 / 1.095);
    for result in &mut after.results[42..84] {
        result.metrics[0].launches.iter_mut().for_each(|rate| *rate *= 1.1);
    }
    let comparison = compared(&[before, after], Rules::default());
    let found = |verdict, rows: std::ops::Range<usize>| {
        comparison.rows[rows].iter().filter(|row| row.verdict == verdict).count()
    };
    assert_eq!((found(Verdict::Worse, 0..42), found(Verdict::Better, 42..84)), (42, 42), "{:?}", comparison.movement);
    let floor = comparison.rules.noise_floor();
    assert!(floor < 0.02, "{floor}");
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

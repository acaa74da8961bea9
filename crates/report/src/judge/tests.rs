use super::*;
use crate::testing::{TestRun, messaging};
use headwater_results::schema::{Run, Standing};

fn estimate(low: f64, median: f64, high: f64) -> Estimate {
    Estimate { median, low, high, confidence: 0.96, n: 12 }
}

#[test]
fn overlapping_intervals_show_no_difference() {
    assert!(!differ(&estimate(90.0, 100.0, 110.0), &estimate(109.0, 120.0, 130.0)));
    assert!(differ(&estimate(90.0, 100.0, 110.0), &estimate(111.0, 120.0, 130.0)));
}

#[test]
fn a_difference_below_the_minimum_effect_does_not_count() {
    assert!(!differ(&estimate(99.9, 100.0, 100.1), &estimate(101.4, 101.5, 101.6)));
    assert!(differ(&estimate(99.9, 100.0, 100.1), &estimate(102.4, 102.5, 102.6)));
}

#[test]
fn a_single_launch_shows_no_difference() {
    let single = Estimate { n: 1, confidence: 0.0, ..estimate(1.0, 1.0, 1.0) };
    assert!(!differ(&single, &estimate(90.0, 100.0, 110.0)));
    assert!(!differ(&estimate(90.0, 100.0, 110.0), &single));
}

fn run() -> Run {
    let mut made = TestRun::new(12);
    for (name, standing, value) in [
        ("slow", Standing::Candidate, 1e6),
        ("fast", Standing::Candidate, 2e6),
        ("level", Standing::External, 2.01e6),
        ("ring", Standing::Limit, 9e6),
    ] {
        made.measure(&messaging(name, standing, "stream", 64), &[value], 0.01);
        made.measure(&messaging(name, standing, "rtt", 64), &[value], 0.01);
    }
    made.run(None)
}

fn names(rows: &[&RowResult]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| row.row.subject.clone()).collect();
    names.sort();
    names
}

#[test]
fn leaders_are_the_best_and_its_equals_in_the_direction_of_the_metric() {
    let run = run();
    assert_eq!(names(&best_candidates(&rows::measured(&run, "stream"))), ["fast", "level"]);
    assert_eq!(names(&best_candidates(&rows::measured(&run, "rtt"))), ["slow"]);
    assert_eq!(names(&leaders(&rows::measured(&run, "stream"))), ["ring"]);
    assert!(leaders(&[]).is_empty());
}

#[test]
fn advantage_is_above_one_for_the_better_in_either_direction() {
    let run = run();
    let (stream, rtt) = (rows::measured(&run, "stream"), rows::measured(&run, "rtt"));
    let advantage = |rows: &[&RowResult]| advantage(rows[3], rows[0]).expect("medians are above zero");
    assert!((advantage(&stream) - 9.0).abs() < 0.3);
    assert!((advantage(&rtt) - 1.0 / 9.0).abs() < 0.01);
}

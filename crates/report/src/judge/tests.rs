use super::*;
use crate::testing::{TestRun, messaging, overview};
use headwater_results::schema::{Row, Run, RunStatus, Standing};

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

/// Returns a row and its base over the same blocks. The row is twice as fast in each; the machine slows down from block
/// to block.
fn drifting() -> (Row, Row, TestRun) {
    let (pipe, ring) =
        (messaging("pipe", Standing::Candidate, "stream", 64), messaging("ring", Standing::Candidate, "stream", 64));
    let mut made = TestRun::new(12);
    made.measure(&pipe, &[1e6], 0.0).measure(&ring, &[2e6], 0.0);
    (pipe, ring, made)
}

#[test]
fn drift_of_the_machine_cancels_within_blocks() {
    let (_, _, made) = drifting();
    let mut run = made.run(Some(RunStatus::Complete));
    for result in &mut run.results {
        let metric = &mut result.metrics[0];
        metric.launches.iter_mut().zip(&metric.blocks).for_each(|(value, block)| *value /= 1.0 + f64::from(*block));
        metric.estimate = Estimate::of_launches(&metric.launches).expect("launches");
    }
    let paired = ratio(&run.results[1], &run.results[0], true).expect("blocks in common");
    assert!((paired.median - 2.0).abs() < 0.03 && paired.high - paired.low < 0.06, "{paired:?}");
    let apart = ratio(&run.results[1], &run.results[0], false).expect("two medians");
    assert!(apart.median > 1.3 && apart.high / apart.low > 1.5, "{apart:?}");
}

#[test]
fn the_ratio_is_that_of_tables_and_comparisons() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let find = |subject: &str, pattern: &str| {
        run.results.iter().find(|result| result.row.subject == subject && result.row.pattern == pattern).expect("a row")
    };
    for pattern in ["stream", "rtt"] {
        let (tcp, pipe) = (find("tcp", pattern), find("pipe", pattern));
        let one = ratio(tcp, pipe, true).expect("blocks in common");
        let of = |result: &RowResult| rows::own(result).expect("a figure").clone();
        let sample = Sample::paired(&of(pipe), &of(tcp)).expect("blocks in common");
        let other = Ratios::default().of(&sample).expect("a ratio");
        let expected = if pattern == "rtt" { 1.0 / other.value } else { other.value };
        assert!((one.median / expected - 1.0).abs() < 1e-9, "{pattern}: {one:?} {other:?}");
    }
}

#[test]
fn rows_without_a_block_in_common_are_divided_by_medians() {
    let (_, _, made) = drifting();
    let mut run = made.run(Some(RunStatus::Complete));
    run.results[1].metrics[0].blocks.iter_mut().for_each(|block| *block += 100);
    let apart = ratio(&run.results[1], &run.results[0], true).expect("two medians");
    assert!(apart.low <= apart.median && apart.median <= apart.high, "{apart:?}");
    assert!((apart.median - 2.0).abs() < 0.03, "{apart:?}");
}

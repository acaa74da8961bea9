use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::schema::{Row, RunStatus, Standing};

use super::{Reference, ratio};
use crate::chart::source::Source;
use crate::testing::{TestRun, messaging, overview};

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
        metric.estimate = headwater_results::estimate::Estimate::of_launches(&metric.launches).expect("launches");
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
        let of = |result: &headwater_results::schema::RowResult| crate::rows::own(result).expect("a figure").clone();
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

#[test]
fn the_base_is_the_requested_one_or_the_pipe() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let one = [("monday".to_owned(), &run)];
    let of = |wanted| Source::new(&one, &[], wanted).base;
    assert_eq!(of(None), Some(Reference::Subject("pipe")));
    assert_eq!(of(Some("tcp")), Some(Reference::Subject("tcp")));
    assert_eq!(of(Some("nobody")), Some(Reference::Subject("pipe")));
    assert_eq!(of(Some("monday")), Some(Reference::Run(0, "monday")));
}

#[test]
fn a_single_subject_has_no_base() {
    let mut made = TestRun::new(6);
    made.measure(&messaging("pipe", Standing::Candidate, "stream", 64), &[1e6], 0.0);
    let run = made.run(Some(RunStatus::Complete));
    let one = [("monday".to_owned(), &run)];
    assert_eq!(Source::new(&one, &[], None).base, None);
    let two = [("monday".to_owned(), &run), ("tuesday".to_owned(), &run)];
    assert_eq!(Source::new(&two, &[], None).base, Some(Reference::Run(0, "monday")));
}

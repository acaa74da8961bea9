use super::*;
use crate::testing::{TestRun, messaging, overview};
use headwater_results::random::Random;
use headwater_results::schema::{Row, Run, RunStatus, Standing};

/// Returns rows of the pattern `stream` of one run, with these rates in blocks 0, 1, ...
fn rated(rows: &[(&str, Vec<f64>)]) -> Run {
    let mut made = TestRun::new(u32::try_from(rows[0].1.len()).expect("few"));
    for (name, _) in rows {
        made.measure(&messaging(name, Standing::Candidate, "stream", 64), &[1.0], 0.0);
    }
    let mut run = made.run(Some(RunStatus::Complete));
    for (result, (_, rates)) in run.results.iter_mut().zip(rows) {
        let metric = &mut result.metrics[0];
        metric.launches.clone_from(rates);
        metric.blocks = (0..).take(rates.len()).collect();
        metric.estimate = Estimate::of_launches(rates).expect("launches");
    }
    run
}

/// Returns each subject with how it stands to the best.
fn relations(run: &Run) -> Vec<(&str, Relation)> {
    let rows = rows::measured(run, "stream");
    ranked_candidates(&rows).into_iter().map(|(row, relation)| (row.row.subject.as_str(), relation)).collect()
}

/// A machine whose speed changes by a factor of 3 from block to block.
const SPEEDS: [f64; 12] = [1.0, 0.4, 1.2, 0.5, 0.9, 0.41, 1.1, 0.45, 1.0, 0.6, 0.7, 1.2];

fn at_speeds(rate: f64) -> Vec<f64> {
    SPEEDS.iter().enumerate().map(|(block, speed)| rate * speed * (1.0 + 0.01 * (block % 3) as f64)).collect()
}

#[test]
fn a_row_that_is_slower_in_every_block_is_behind_although_the_intervals_overlap() {
    let run = rated(&[("pipe", at_speeds(2e6)), ("tcp", SPEEDS.map(|speed| speed * 1e6).to_vec())]);
    let own = |at: usize| run.results[at].metrics[0].estimate;
    assert!(own(0).overlaps(&own(1)));
    let [("pipe", Relation::Best), ("tcp", Relation::Worse(times))] = relations(&run)[..] else {
        panic!("{:?}", relations(&run))
    };
    assert!(times.low > 0.48 && times.high < 0.51, "{times:?}");
}

#[test]
fn rows_are_equal_only_if_the_interval_of_their_ratio_lies_within_the_bound() {
    let level = |rate: f64, spread: f64| -> Vec<f64> {
        (0..12).map(|block| rate * (1.0 + spread * f64::from(block % 5 - 2))).collect()
    };
    let close = rated(&[("pipe", level(1e6, 0.0)), ("fifo", level(0.99e6, 0.01))]);
    assert!(matches!(relations(&close)[1].1, Relation::Equal(_)), "{:?}", relations(&close));
    let wide = rated(&[("pipe", level(1e6, 0.0)), ("fifo", level(0.99e6, 0.2))]);
    let Relation::Open(times) = relations(&wide)[1].1 else { panic!("{:?}", relations(&wide)) };
    assert!(times.low < 0.9 && times.high > 1.1, "{times:?}");
    let behind = rated(&[("pipe", level(1e6, 0.0)), ("fifo", level(0.85e6, 0.01))]);
    assert!(matches!(relations(&behind)[1].1, Relation::Worse(_)), "{:?}", relations(&behind));
    // Five launches cover less than 95 %, however alike they are.
    let few = rated(&[("pipe", vec![1e6; 5]), ("fifo", vec![1e6; 5])]);
    assert!(matches!(relations(&few)[1].1, Relation::Open(_)), "{:?}", relations(&few));
}

#[test]
fn a_figure_whose_interval_spans_a_factor_of_5_is_not_measured_and_never_the_best() {
    let spread: Vec<f64> = (0..12).map(|block| if block % 2 == 0 { 9e6 } else { 1.5e6 }).collect();
    let run = rated(&[("ring", spread), ("pipe", vec![1e6; 12]), ("tcp", vec![0.2e6; 12])]);
    let found = relations(&run);
    assert_eq!(found[0], ("pipe", Relation::Best));
    assert_eq!(found[2], ("ring", Relation::NotMeasured(6.0)));
    let rows = rows::measured(&run, "stream");
    assert_eq!(names(&marked(&rows, true)), ["pipe"]);
    assert_eq!(relation(rows[0], rows[1]), Some(Relation::NotMeasured(6.0)));
    assert_eq!(best(&rows[..1]).map(|row| &row.row.subject), None);
}

#[test]
fn the_best_is_ahead_in_the_blocks_and_not_by_its_median() {
    // fifo is faster in every common block; pipe has three more launches, all on a fast machine.
    let (mut pipe, fifo) = (vec![1e6; 12], vec![1.2e6; 12]);
    pipe.extend([3e6; 13]);
    let run = rated(&[("pipe", pipe), ("fifo", fifo)]);
    assert!(run.results[0].metrics[0].estimate.median > run.results[1].metrics[0].estimate.median);
    assert_eq!(relations(&run)[0], ("fifo", Relation::Best));
}

#[test]
fn one_of_many_equal_rows_is_seldom_called_slower() {
    let mut random = Random::new(37);
    let mut noise = || 1.0 + 0.1 * ((0..12).map(|_| random.below(1000) as f64 / 1000.0).sum::<f64>() - 6.0);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let groups = 300;
    let wrong = (0..groups).filter(|_| {
        let rows: Vec<(&str, Vec<f64>)> =
            names.iter().map(|name| (*name, (0..12).map(|_| 1e6 * noise()).collect())).collect();
        relations(&rated(&rows)).iter().any(|(_, relation)| matches!(relation, Relation::Worse(_)))
    });
    let wrong = wrong.count();
    // 5 % of 300 are 15; without a bound for the group it is more than 90.
    assert!(wrong <= 24, "{wrong} of {groups} groups");
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
fn the_best_and_its_equals_are_marked_in_the_direction_of_the_metric() {
    let run = run();
    assert_eq!(names(&marked(&rows::measured(&run, "stream"), true)), ["fast", "level"]);
    assert_eq!(names(&marked(&rows::measured(&run, "rtt"), true)), ["slow"]);
    assert_eq!(best(&rows::measured(&run, "stream")).map(|row| &*row.row.subject), Some("ring"));
    assert!(marked(&[], true).is_empty() && best(&[]).is_none());
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

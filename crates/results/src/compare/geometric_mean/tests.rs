//! Tests of the mean over rows: its value and direction, which rows it holds, and how often its interval is right.

use std::borrow::Cow;

use super::*;
use crate::compare::{Member, compare};
use crate::schema::{Event, Run, RunStatus};
use crate::summary::Fold;
use crate::testing::{Random, environment, header, launch};

const BLOCKS: u32 = 12;

/// A run of rows a0, a1, ... and b0, b1, ... whose launches have these values.
fn run(rows: usize, mut value: impl FnMut(bool, usize, u32) -> f64) -> Run {
    let ids: Vec<(bool, usize, String)> = [false, true]
        .into_iter()
        .flat_map(|b| (0..rows).map(move |row| (b, row, format!("{}{row}", if b { "b" } else { "a" }))))
        .collect();
    let names: Vec<&str> = ids.iter().map(|(.., id)| id.as_str()).collect();
    let mut events = vec![Event::RunStarted(Box::new(header(&names)))];
    for block in 0..BLOCKS {
        for (is_b, row, id) in &ids {
            events.push(Event::LaunchFinished(Box::new(launch(id, block, &[value(*is_b, *row, block); 5]))));
        }
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("the events are in order")
}

fn sides(run: &Run, numbers: [usize; 2]) -> [Side<'_>; 2] {
    [("a", numbers[0]), ("b", numbers[1])].map(|(name, number)| {
        let members = run.results.iter().filter_map(|result| {
            let label = result.row.id.strip_prefix(name)?.to_owned();
            Some(Member { label, runs: vec![number], result: Cow::Borrowed(result) })
        });
        Side { name: name.to_owned(), members: members.collect() }
    })
}

fn mean(run: &Run, numbers: [usize; 2]) -> Option<GeometricMean> {
    let [a, b] = sides(run, numbers);
    compare(&a, &b, Rules::default()).geometric_mean
}

/// Makes the figure of some rows another quantity.
fn become_quantity(run: &mut Run, is_meant: impl Fn(&str) -> bool, unit: &str, better: Better) {
    for result in run.results.iter_mut().filter(|result| is_meant(&result.row.id)) {
        let metric = Metric { name: "rtt".to_owned(), unit: unit.to_owned(), better };
        result.metrics[0].metric = metric.clone();
        result.row.metrics[0] = metric;
    }
}

#[test]
fn levels_of_rows_and_of_blocks_cancel() {
    let change = |row: usize| [1.2, 1.0, 0.9, 1.1][row];
    let level = |row: usize, block: u32| 1e6 * (row + 1) as f64 * (1.0 + f64::from(block % 5));
    let run = run(4, |is_b, row, block| level(row, block) * if is_b { change(row) } else { 1.0 });
    let expect = (1.2f64 * 0.9 * 1.1).powf(0.25);
    let found = mean(&run, [0, 0]).expect("four rows");
    assert_eq!((found.rows, found.better, found.ratio.n, found.ratio.paired), (4, Better::Higher, BLOCKS, true));
    let Ratio { value, low, high, .. } = found.ratio;
    assert!([value, low, high].iter().all(|end| (end / expect - 1.0).abs() < 1e-9), "{found:?}");
}

#[test]
fn the_direction_is_that_of_the_rows_and_higher_where_they_differ() {
    let twice = |is_b: bool, _: usize, _: u32| if is_b { 2e6 } else { 1e6 };
    let mut run = run(2, twice);
    become_quantity(&mut run, |id| id.ends_with('1'), "us", Better::Lower);
    let mixed = mean(&run, [0, 0]).expect("two rows");
    assert_eq!(mixed.better, Better::Higher);
    assert!((mixed.ratio.value - 1.0).abs() < 1e-9, "twice the rate and twice the time: {mixed:?}");
    become_quantity(&mut run, |_| true, "us", Better::Lower);
    let lower = mean(&run, [0, 0]).expect("two rows");
    assert_eq!(lower.better, Better::Lower);
    assert!((lower.ratio.value - 2.0).abs() < 1e-9, "{lower:?}");
}

#[test]
fn a_loss_is_no_part_of_it_and_one_row_has_none() {
    let twice = |is_b: bool, _: usize, _: u32| if is_b { 2e6 } else { 1e6 };
    let mut run = run(3, twice);
    become_quantity(&mut run, |id| id.ends_with('1'), "ratio", Better::Lower);
    assert_eq!(mean(&run, [0, 0]).expect("two rows").rows, 2);
    become_quantity(&mut run, |id| id.ends_with('2'), "bytes", Better::Lower);
    assert_eq!(mean(&run, [0, 0]), None);
}

#[test]
fn a_row_that_failed_later_leaves_the_blocks_that_all_rows_have() {
    let mut run = run(2, |is_b, row, block| {
        let jump = if row == 1 && block > 7 { 100.0 } else { 1.0 };
        if is_b { 1.1e6 * jump } else { 1e6 }
    });
    let metric = &mut run.results.iter_mut().find(|result| result.row.id == "b1").expect("there").metrics[0];
    metric.launches.truncate(8);
    metric.blocks.truncate(8);
    let found = mean(&run, [0, 0]).expect("two rows");
    assert_eq!(found.ratio.n, 8);
    assert!((found.ratio.value - 1.1).abs() < 1e-9, "{found:?}");
}

/// Six rows, half of whose noise is common to the rows of a side and a block.
fn noisy(seed: u64) -> Run {
    let mut random = Random::new(seed);
    let common: Vec<f64> = (0..2 * BLOCKS).map(|_| 0.05 * random.normal()).collect();
    run(6, |is_b, row, block| {
        let of_side = common[(block + u32::from(is_b) * BLOCKS) as usize];
        let change = if is_b { 1.03 } else { 1.0 };
        1e6 * (row + 1) as f64 * change * (of_side + 0.05 * random.normal()).exp()
    })
}

#[test]
fn intervals_cover_the_change_though_the_rows_of_a_block_are_slow_together() {
    for numbers in [[0, 0], [0, 1]] {
        let covered = (0..200).filter(|&seed| {
            let found = mean(&noisy(seed), numbers).expect("six rows");
            assert_eq!(found.ratio.paired, numbers[1] == 0);
            (found.ratio.low..=found.ratio.high).contains(&1.03)
        });
        let covered = covered.count();
        println!("{covered} of 200, paired: {}", numbers[1] == 0);
        // Of 200 the nominal 95 % are 190, with a standard deviation of 3.1.
        assert!(covered >= 181, "{covered} of 200 for {numbers:?}");
    }
}

#[test]
fn drift_between_runs_widens_it() {
    let run = noisy(1);
    let [a, b] = &sides(&run, [0, 1]);
    let width = |rules: Rules| {
        let ratio = compare(a, b, rules).geometric_mean.expect("six rows").ratio;
        (ratio.high / ratio.low).ln()
    };
    let (still, drifting) = (width(Rules::default()), width(Rules::default().with_drift(0.1)));
    assert!(drifting > still && drifting >= 2.0 * 1.9 * 0.1, "{still} {drifting}");
}

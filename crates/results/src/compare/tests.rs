//! What a comparison promises: equal things are rarely told apart, unequal ones are found, and what cannot be compared
//! is named.

use super::*;
use crate::schema::{Event, LaunchRecord, RunStatus};
use crate::summary::Fold;
use crate::testing::{Random, environment, header, launch};

/// A run of these rows, 12 blocks; `rate(row, block)` is the rate of a launch.
fn run(ids: &[&str], blocks: u32, mut rate: impl FnMut(&str, u32) -> f64) -> crate::schema::Run {
    let mut events = vec![Event::RunStarted(Box::new(header(ids)))];
    for block in 0..blocks {
        for id in ids {
            events.push(Event::LaunchFinished(Box::new(launch_of(id, block, rate(id, block)))));
        }
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("the events are in order")
}

fn launch_of(id: &str, block: u32, rate: f64) -> LaunchRecord {
    launch(id, block, &[rate; 5])
}

/// Rows whose id begins with the name, labelled by the rest.
fn side<'a>(name: &str, number: usize, run: &'a crate::schema::Run) -> Side<'a> {
    let members = run
        .results
        .iter()
        .filter_map(|result| {
            let label = result.row.id.strip_prefix(name)?.to_owned();
            Some(Member { label, runs: vec![number], result: Cow::Borrowed(result) })
        })
        .collect();
    Side { name: name.to_owned(), members }
}

const ROWS: usize = 20;

/// Twenty rows under the variants a and b in the same blocks; every block has a level of its own, rows scatter by
/// `noise`, and b's rate is `factor(row)` times a's.
fn variants(seed: u64, blocks: u32, noise: f64, factor: impl Fn(usize) -> f64) -> Comparison {
    let ids: Vec<String> =
        ["a", "b"].iter().flat_map(|side| (0..ROWS).map(move |row| format!("{side}{row}"))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut random = Random::new(seed);
    let levels: Vec<f64> = (0..blocks).map(|_| (0.3 * random.normal()).exp()).collect();
    let run = run(&ids, blocks, |id, block| {
        let row: usize = id[1..].parse().expect("a number follows the side");
        let factor = if id.starts_with('b') { factor(row) } else { 1.0 };
        1e6 * factor * levels[block as usize] * (noise * random.normal()).exp()
    });
    compare(&side("a", 0, &run), &side("b", 0, &run), Rules::default())
}

fn called_different(comparison: &Comparison) -> usize {
    comparison.rows.iter().filter(|row| matches!(row.verdict, Verdict::Better | Verdict::Worse)).count()
}

#[test]
fn of_200_comparisons_of_equal_things_no_more_than_promised_find_a_difference() {
    let found = (0..200).filter(|&seed| called_different(&variants(seed, 12, 0.05, |_| 1.0)) > 0).count();
    // Nominal: 5 %, so 10.
    assert!(found <= 10, "{found} of 200");
}

#[test]
fn a_slowdown_of_3_per_cent_in_one_transport_is_found_with_12_launches() {
    let slowed = |row: usize| if row < 4 { 0.97 } else { 1.0 };
    let mut found = 0;
    let mut wrong = 0;
    for seed in 0..100 {
        let comparison = variants(seed, 12, 0.01, slowed);
        let worse = comparison.rows.iter().filter(|row| row.verdict == Verdict::Worse);
        let (right, others): (Vec<_>, Vec<_>) =
            worse.partition(|row| row.label.parse::<usize>().expect("labels are numbers") < 4);
        found += right.len();
        wrong += others.len();
    }
    assert!(found >= 380, "{found} of 400 slow rows");
    assert!(wrong <= 20, "{wrong} of 1600 equal rows");
}

#[test]
fn equal_rows_with_narrow_intervals_are_equivalent() {
    let comparison = variants(1, 12, 0.005, |_| 1.0);
    let equivalent = comparison.rows.iter().filter(|row| row.verdict == Verdict::Equivalent).count();
    // With 20 rows 12 blocks cannot single one out: 2/4096 is above 0.05/20 for none, so all can be judged.
    assert_eq!(equivalent, ROWS, "{comparison:?}");
}

#[test]
fn a_difference_below_the_minimum_effect_is_none() {
    let comparison = variants(2, 12, 0.002, |_| 0.99);
    assert_eq!(called_different(&comparison), 0);
    assert!(comparison.rows.iter().all(|row| row.verdict == Verdict::Equivalent));
}

#[test]
fn too_few_blocks_say_how_many_are_missing() {
    // Five blocks cannot give a p-value below 2/32.
    let comparison = variants(3, 5, 0.001, |_| 2.0);
    for row in &comparison.rows {
        let Verdict::Inconclusive { more_blocks: Some(more) } = row.verdict else { panic!("{row:?}") };
        assert_eq!(5 + more, 10, "2 / 2^10 is the first below 0.05 / 20");
    }
    let comparison = variants(3, 10, 0.001, |_| 2.0);
    assert_eq!(called_different(&comparison), ROWS);
}

#[test]
fn noise_says_that_it_is_noise() {
    let comparison = variants(4, 12, 0.2, |_| 1.0);
    assert!(comparison.rows.iter().all(|row| matches!(row.verdict, Verdict::Inconclusive { .. })), "{comparison:?}");
}

#[test]
fn better_and_worse_follow_the_metric_s_direction() {
    let comparison = variants(5, 12, 0.001, |row| if row % 2 == 0 { 1.1 } else { 0.9 });
    for row in &comparison.rows {
        let even = row.label.parse::<usize>().expect("labels are numbers") % 2 == 0;
        assert_eq!(row.verdict, if even { Verdict::Better } else { Verdict::Worse });
    }
}

/// Two runs of equal rows; each row's level in each run is off by the run's drift.
fn apart(seed: u64, drift: f64, rules: impl Fn(&[&crate::schema::Run; 2]) -> Rules) -> Comparison {
    let ids: Vec<String> = (0..ROWS).map(|row| format!("r{row}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut random = Random::new(seed);
    let mut one = |seed: u64| {
        // The level of each row wanders during the run, as CPUs do: a random walk whose end is `drift` away.
        let mut random_of_run = Random::new(seed ^ random.bits());
        let mut levels = [0.0; ROWS];
        run(&ids, 12, |id, _| {
            let row: usize = id[1..].parse().expect("a number follows");
            levels[row] += drift / 12f64.sqrt() * random_of_run.normal();
            1e6 * (levels[row] + 0.02 * random_of_run.normal()).exp()
        })
    };
    let (first, second) = (one(1), one(2));
    compare(&side("r", 0, &first), &side("r", 1, &second), rules(&[&first, &second]))
}

#[test]
fn two_runs_of_the_same_are_not_told_apart() {
    let still = (0..200).filter(|&seed| called_different(&apart(seed, 0.0, |_| Rules::default())) > 0).count();
    assert!(still <= 10, "{still} of 200 without drift");
    let learnt = |runs: &[&crate::schema::Run; 2]| {
        let drift = noise::drift_between(runs.iter().copied()).expect("twelve launches each");
        Rules::default().with_drift(drift.deviation)
    };
    let drifting = (0..200).filter(|&seed| called_different(&apart(seed, 0.1, learnt)) > 0).count();
    assert!(drifting <= 10, "{drifting} of 200 with drift");
    let blind = (0..200).filter(|&seed| called_different(&apart(seed, 0.1, |_| Rules::default())) > 0).count();
    assert!(blind > 20, "the drift of this test is too small to matter: {blind} of 200");
}

#[test]
fn runs_apart_are_not_paired() {
    let comparison = apart(1, 0.0, |_| Rules::default());
    assert!(comparison.rows.iter().all(|row| row.ratio.is_some_and(|ratio| !ratio.paired)));
}

#[test]
fn rows_that_cannot_be_compared_are_named_with_the_reason() {
    let first = run(&["r-same", "r-old", "r-new-version"], 12, |_, _| 1.0);
    let mut second = run(&["r-same", "r-new", "r-new-version"], 12, |_, _| 1.0);
    second.results[2].row.definition_version = 2;
    let comparison = compare(&side("r", 0, &first), &side("r", 1, &second), Rules::default());
    let reasons: Vec<(&str, &str)> =
        comparison.left_out.iter().map(|left| (left.row.as_str(), left.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            ("r-old", "r has no such row"),
            ("r-new-version", "measured by definition 1 in r and 2 in r: measure one of them again"),
            ("r-new", "r has no such row"),
        ]
    );
    assert_eq!(comparison.rows.len(), 1);
}

#[test]
fn a_single_launch_is_never_conclusive() {
    let first = run(&["r0"], 1, |_, _| 1.0);
    let second = run(&["r0"], 1, |_, _| 2.0);
    let comparison = compare(&side("r", 0, &first), &side("r", 1, &second), Rules::default());
    assert!(matches!(comparison.rows[0].verdict, Verdict::Inconclusive { more_blocks: Some(more) } if more > 1));
}

#[test]
fn drift_widens_what_does_not_matter() {
    let rules = Rules::default().with_drift(0.05);
    assert!((rules.minimum_effect - 0.103).abs() < 1e-3, "{rules:?}");
    assert_eq!(Rules::default().with_drift(0.001).minimum_effect, MINIMUM_EFFECT);
}

//! Tests of the guarantees of a comparison: equal things are rarely called different, differences are found, and rows
//! that cannot be compared are named.

use super::*;
use crate::schema::{Better, Event, LaunchRecord, RunStatus};
use crate::summary::Fold;
use crate::testing::{Random, environment, header, launch};

/// Returns a run of these rows with 12 blocks; `rate(row, block)` is the rate of a launch.
pub(super) fn run(ids: &[&str], blocks: u32, mut rate: impl FnMut(&str, u32) -> f64) -> crate::schema::Run {
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

/// Returns the rows whose id begins with the name, labelled by the rest.
pub(super) fn side<'a>(name: &str, number: usize, run: &'a crate::schema::Run) -> Side<'a> {
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

/// Compares twenty rows under the variants a and b in the same blocks. Every block has a level of its own, rows scatter
/// by `noise`, and b's rate is `factor(row)` times a's.
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
fn false_discoveries_in_200_comparisons_stay_below_the_rate() {
    let found = (0..200).filter(|&seed| called_different(&variants(seed, 12, 0.05, |_| 1.0)) > 0).count();
    // The nominal rate is 5 %, so 10.
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
    // With 20 rows, 12 blocks suffice to judge all of them: 2/4096 is below 0.05/20.
    assert_eq!(equivalent, ROWS, "{comparison:?}");
}

#[test]
fn a_difference_below_the_minimum_effect_is_none() {
    let comparison = variants(2, 12, 0.002, |_| 0.99);
    assert_eq!(called_different(&comparison), 0);
    assert!(comparison.rows.iter().all(|row| row.verdict == Verdict::Equivalent));
}

#[test]
fn too_few_blocks_report_how_many_are_missing() {
    // Five blocks cannot give a p-value below 2/32.
    let comparison = variants(3, 5, 0.001, |_| 2.0);
    for row in &comparison.rows {
        let Verdict::Inconclusive { more_blocks: Some(more), .. } = row.verdict else { panic!("{row:?}") };
        assert_eq!(5 + more, 6, "2 / 2^6 is the first below 0.05, and rows of the same blocks are tested together");
    }
    let comparison = variants(3, 6, 0.001, |_| 2.0);
    assert_eq!(called_different(&comparison), ROWS);
}

#[test]
fn six_launches_show_one_slow_row_of_twenty() {
    for seed in 0..40 {
        let comparison = variants(seed, 6, 0.02, |row| if row == 3 { 1.0 / 1.5 } else { 1.0 });
        let worse: Vec<&str> =
            comparison.rows.iter().filter(|row| row.verdict == Verdict::Worse).map(|row| row.label.as_str()).collect();
        assert_eq!(worse, ["3"], "{comparison:?}");
    }
}

#[test]
fn launches_that_resemble_those_before_them_are_flagged() {
    // As many as a verdict takes, of as many rows as a small suite has.
    let of = |share: f64, seed: u64| {
        let mut random = Random::new(seed);
        let ids: Vec<String> = (0..ROWS).map(|row| format!("r{row}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut levels = [0.0; ROWS];
        let mut next = |id: &str, _: u32| {
            let level = &mut levels[id[1..].parse::<usize>().expect("a number follows")];
            *level = share * *level + (1.0 - share * share).sqrt() * random.normal();
            (0.02 * *level).exp()
        };
        let (before, after) = (run(&ids, 12, &mut next), run(&ids, 12, &mut next));
        compare(&side("r", 0, &before), &side("r", 1, &after), Rules::default()).resemblance
    };
    let flagged = |share: f64| (0..50).filter(|&seed| of(share, seed).is_some()).count();
    assert!(flagged(0.6) >= 45, "{} of 50", flagged(0.6));
    assert!(flagged(0.0) <= 1, "{} of 50", flagged(0.0));
}

#[test]
fn equal_rows_with_launches_that_resemble_each_other_seldom_differ() {
    let ids: Vec<String> = (0..2 * ROWS).map(|row| format!("{}{}", ["a", "b"][row % 2], row / 2)).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let wrong = |blocks: u32| {
        let compared = |seed: u64| {
            let mut random = Random::new(seed);
            let mut levels = [0.0; 2 * ROWS];
            let run = run(&ids, blocks, |id, _| {
                let place = 2 * id[1..].parse::<usize>().expect("a number follows") + usize::from(id.starts_with('b'));
                levels[place] = 0.6 * levels[place] + 0.8 * random.normal();
                (0.02 * levels[place]).exp()
            });
            compare(&side("a", 0, &run), &side("b", 0, &run), Rules::default())
        };
        (0..60).filter(|&seed| called_different(&compared(seed)) > 0).count()
    };
    let found = [12, 30].map(wrong);
    println!("{found:?} of 60");
    assert!(found.iter().all(|wrong| *wrong <= 12), "{found:?} of 60");
}

#[test]
fn noise_is_inconclusive() {
    let comparison = variants(4, 12, 0.2, |_| 1.0);
    assert!(comparison.rows.iter().all(|row| matches!(row.verdict, Verdict::Inconclusive { .. })), "{comparison:?}");
}

#[test]
fn better_and_worse_follow_the_direction_of_the_metric() {
    let comparison = variants(5, 12, 0.001, |row| if row % 2 == 0 { 1.1 } else { 0.9 });
    for row in &comparison.rows {
        let even = row.label.parse::<usize>().expect("labels are numbers") % 2 == 0;
        assert_eq!(row.verdict, if even { Verdict::Better } else { Verdict::Worse });
    }
}

/// Compares two runs of equal rows; the level of each row in each run is shifted by the run's drift.
fn apart(seed: u64, drift: f64, rules: impl Fn(&[&crate::schema::Run; 2]) -> Rules) -> Comparison {
    let ids: Vec<String> = (0..ROWS).map(|row| format!("r{row}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut random = Random::new(seed);
    let mut one = |seed: u64| {
        // The level of each row is a random walk during the run whose end is at `drift`, as observed on CPUs.
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
fn two_equal_runs_are_not_called_different() {
    let still = (0..200).filter(|&seed| called_different(&apart(seed, 0.0, |_| Rules::default())) > 0).count();
    assert!(still <= 10, "{still} of 200 without drift");
    let learnt = |runs: &[&crate::schema::Run; 2]| {
        let drift = noise::drift_between(runs.iter().copied()).expect("twelve launches each");
        Rules::default().with_drift(drift.deviation)
    };
    let drifting = (0..200).filter(|&seed| called_different(&apart(seed, 0.1, learnt)) > 0).count();
    assert!(drifting <= 10, "{drifting} of 200 with drift");
    let nothing = |_: &[&crate::schema::Run; 2]| Rules { hosts_differ: true, ..Rules::default() };
    let blind = (0..200).filter(|&seed| called_different(&apart(seed, 0.1, nothing)) > 0).count();
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
    let kinds: Vec<LeftOutKind> = comparison.left_out.iter().map(|left| left.kind).collect();
    assert_eq!(kinds, [LeftOutKind::Missing, LeftOutKind::Incomparable, LeftOutKind::OneSided]);
    // Sides of one run need not have the same rows.
    let within = compare(&side("r-s", 0, &first), &side("r-o", 0, &first), Rules::default());
    assert!(within.left_out.iter().all(|left| left.kind == LeftOutKind::OneSided), "{within:?}");
}

#[test]
fn a_run_is_the_same_under_another_name_and_with_more_launches() {
    let rates = |_: &str, block: u32| f64::from(block + 1);
    let one = run(&["r0", "r1"], 3, rates);
    assert!(one.is_same(&one.clone()) && one.is_same(&run(&["r0", "r1"], 5, rates)));
    assert!(!one.is_same(&run(&["r0", "r1"], 3, |_, _| 1.0)), "another run of this second and name");
    let mut other = one.clone();
    other.header.started_at = "2025-01-02T00:00:00Z".to_owned();
    assert!(!one.is_same(&other));
}

#[test]
fn a_single_launch_is_never_conclusive() {
    let first = run(&["r0"], 1, |_, _| 1.0);
    let second = run(&["r0"], 1, |_, _| 2.0);
    let comparison = compare(&side("r", 0, &first), &side("r", 1, &second), Rules::default());
    assert!(matches!(comparison.rows[0].verdict, Verdict::Inconclusive { more_blocks: Some(more), .. } if more > 1));
}

/// Compares one row of two successive runs with these launches, in us.
fn launches_apart(baseline: &[f64], candidate: &[f64], better: Better, rules: Rules) -> RowComparison {
    let one = |values: &[f64]| {
        let mut run = run(&["r"], values.len() as u32, |_, block| values[block as usize]);
        let metric = &mut run.results[0].metrics[0].metric;
        metric.better = better;
        run.results[0].row.metrics[0] = metric.clone();
        run
    };
    let (before, after) = (one(baseline), one(candidate));
    compare(&side("r", 0, &before), &side("r", 1, &after), rules).rows.remove(0)
}

#[test]
fn two_doubled_launches_do_not_reverse_the_verdict() {
    // Twelve launches of 3.00 us, two of them doubled; the candidate takes 5 % longer throughout. Geometric means would
    // call it better, because its two doubled launches are absent.
    let mut before: Vec<f64> = (0..12).map(|at| 3.0 + 0.001 * f64::from(at)).collect();
    let after: Vec<f64> = before.iter().map(|us| us * 1.05).collect();
    before[3] *= 2.0;
    before[8] *= 2.0;
    let row = launches_apart(&before, &after, Better::Lower, Rules::default());
    let ratio = row.ratio.expect("it has launches");
    assert_eq!(row.verdict, Verdict::Worse, "{row:?}");
    assert!((ratio.value - 1.05).abs() < 0.003 && ratio.low > 1.0, "{ratio:?}");
}

#[test]
fn a_small_change_is_found_although_two_launches_ran_at_another_speed() {
    // +2.8 % in twelve blocks. In two of them one side had the slow CPU, which would hide the difference from a mean.
    let mut random = Random::new(28);
    let base: Vec<f64> = (0..12).map(|_| 1e6 * (0.01 * random.normal()).exp()).collect();
    let ids = ["a0", "b0"];
    let run = run(&ids, 12, |id, block| {
        let level = base[block as usize];
        match (id, block) {
            ("b0", 2) => level * 1.028 / 2.1,
            ("a0", 7) => level / 1.4,
            ("b0", _) => level * 1.028 * (1.0 + 0.001 * f64::from(block)),
            _ => level,
        }
    });
    let row = compare(&side("a", 0, &run), &side("b", 0, &run), Rules::default()).rows.remove(0);
    let ratio = row.ratio.expect("it has launches");
    assert_eq!(row.verdict, Verdict::Better, "{row:?}");
    assert!((1.02..1.05).contains(&ratio.value) && ratio.p < 0.05, "{ratio:?}");
}

#[test]
fn a_noise_floor_hides_differences_and_makes_nothing_equivalent() {
    // The ratio of the launches is far below 1, with a noise floor of 192 %, as on a machine with two speeds.
    let before: Vec<f64> = (0..12).map(|at| 1e6 + 1e3 * f64::from(at * 5 % 12)).collect();
    let after: Vec<f64> = before.iter().map(|rate| rate * 0.469).collect();
    let plain = launches_apart(&before, &after, Better::Higher, Rules::default());
    assert_eq!(plain.verdict, Verdict::Worse);
    let floor = |share: f64| Rules::default().with_drift(share.ln_1p() / 1.96);
    let hidden = launches_apart(&before, &after, Better::Higher, floor(1.92));
    assert_eq!(
        hidden.verdict,
        Verdict::Inconclusive { more_blocks: None, more_hosts: None, below_floor: true },
        "{hidden:?}"
    );
    let ratio = hidden.ratio.expect("it has launches");
    assert!(ratio.low < 0.469 / 2.8 && ratio.high > 1.0, "the floor is in the interval: {ratio:?}");
    // Equal sides are not equivalent within 2 % if equal things differ by 14 %, however similar they look.
    let alike = launches_apart(&before, &before, Better::Higher, floor(0.14));
    assert_eq!(
        alike.verdict,
        Verdict::Inconclusive { more_blocks: None, more_hosts: None, below_floor: true },
        "{alike:?}"
    );
    // A user who accepts 20 % may call them equivalent.
    let rules = Rules { minimum_effect: 0.2, ..floor(0.14) };
    assert_eq!(launches_apart(&before, &before, Better::Higher, rules).verdict, Verdict::Equivalent);
    // A difference above the floor is found.
    let halved: Vec<f64> = before.iter().map(|rate| rate / 2.0).collect();
    assert_eq!(launches_apart(&before, &halved, Better::Higher, floor(0.5)).verdict, Verdict::Worse);
}

#[test]
fn no_verdict_contradicts_its_interval() {
    let mut random = Random::new(77);
    for round in 0..600 {
        let mut side = |shift: f64| -> Vec<f64> {
            (0..6 + round % 9)
                .map(|_| (shift + 0.03 * random.contaminated()).exp() * if random.unit() < 0.3 { 2.1 } else { 1.0 })
                .collect()
        };
        let (before, after) = (side(0.0), side(0.06));
        for drift in [0.0, 0.01, 0.2] {
            let row = launches_apart(&before, &after, Better::Lower, Rules::default().with_drift(drift));
            let Ratio { value, low, high, .. } = row.ratio.expect("it has launches");
            match row.verdict {
                Verdict::Worse => assert!(low > 1.0 && value > 1.0, "{row:?}"),
                Verdict::Better => assert!(high < 1.0 && value < 1.0, "{row:?}"),
                Verdict::Equivalent => assert!(low >= 1.0 / 1.02 && high <= 1.02, "{row:?}"),
                _ => {}
            }
        }
    }
}

#[test]
fn drift_is_in_every_interval_and_never_in_the_minimum_effect() {
    let rules = Rules::default().with_drift(0.05);
    assert_eq!(rules.minimum_effect, MINIMUM_EFFECT);
    assert!((rules.noise_floor() - 0.103).abs() < 1e-3, "{rules:?}");
}

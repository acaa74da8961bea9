//! A machine that is faster on some days gives no row a change point, and a change of a row is found beside it.

use super::super::tests::{entries, run};
use super::super::{By, Histories, Over, histories, histories_over};
use super::*;
use crate::compare::{Rules, Verdict};
use crate::schema::{Better, Run};
use crate::testing::Random;

/// Makes runs of `rows` rows on a machine whose level is a random walk with steps of `walk`; a row deviates from it by 1 %.
/// From day 20 on the first row is 6 % slower.
fn nights(random: &mut Random, days: usize, rows: usize, walk: f64) -> Vec<Run> {
    let ids: Vec<String> = (0..rows).map(|row| format!("row-{row}")).collect();
    let mut level = 0.0;
    let night = |day: usize| {
        level += walk * random.normal();
        let rates: Vec<(&str, f64)> = ids
            .iter()
            .enumerate()
            .map(|(row, id)| {
                let change = if row == 0 && day >= 20 { 0.94f64.ln() } else { 0.0 };
                (id.as_str(), 1e6 * (level + change + 0.01 * random.normal()).exp())
            })
            .collect();
        run(day, &rates, |_| {})
    };
    (0..days).map(night).collect()
}

fn changed(found: &Histories) -> Vec<&str> {
    let lines = found.histories.iter().flat_map(|history| history.lines.iter().map(move |line| (history, line)));
    lines.filter(|(_, line)| !line.changes.is_empty()).map(|(history, _)| history.row.as_str()).collect()
}

#[test]
fn a_walk_of_the_machine_changes_no_row() {
    let mut random = Random::new(1);
    let (mut wrong, mut found) = (0, 0);
    for _ in 0..4 {
        let histories = histories(entries(&nights(&mut random, 36, 24, 0.02)), &By::Date, Rules::default());
        let changed = changed(&histories);
        found += usize::from(changed.contains(&"row-0"));
        wrong += changed.len() - usize::from(changed.contains(&"row-0"));
        let shared = &histories.shared[0];
        assert!(shared.rows == 24 && shared.range > 1.03 && shared.slowest != shared.fastest, "{shared:?}");
    }
    assert!(found == 4 && wrong <= 2, "{found} of 4 found, {wrong} wrong of 92");
}

#[test]
fn rows_that_are_not_shown_say_what_is_shared() {
    let runs = nights(&mut Random::new(2), 36, 24, 0.02);
    let mut beside = Beside::default();
    let mut shown = Vec::new();
    for entry in entries(&runs) {
        match entry.row.id == "row-0" {
            true => shown.push(entry),
            false => beside.add(&entry.origin, &entry.row.id, entry.row.definition_version, &entry.metric),
        }
    }
    let of = |beside: &Beside| histories_over(shown.clone(), beside, &By::Date, &Over::default(), Rules::default());
    assert!(of(&Beside::default()).shared.is_empty());
    let found = of(&beside);
    assert_eq!(found.shared[0].rows, 24);
    let [change] = &found.histories[0].lines[0].changes[..] else { panic!("{found:?}") };
    assert_eq!((change.at, change.verdict), (20, Verdict::Worse));
    assert!((change.ratio.value - 0.94).abs() < 0.015, "{change:?}");
}

#[test]
fn a_slower_machine_lowers_rates_and_lengthens_times() {
    let mut runs = nights(&mut Random::new(3), 12, 14, 0.0);
    // Half of the rows are durations, and the machine is 20 % slower in the last runs.
    for (day, run) in runs.iter_mut().enumerate() {
        for (row, result) in run.results.iter_mut().enumerate() {
            let metric = &mut result.metrics[0];
            let factor = if day >= 6 { 0.8 } else { 1.0 };
            if row % 2 == 0 {
                metric.metric.better = Better::Lower;
                result.row.metrics[0].better = Better::Lower;
                metric.estimate.median /= factor;
            } else {
                metric.estimate.median *= factor;
            }
        }
    }
    let found = histories(entries(&runs), &By::Date, Rules::default());
    assert_eq!(changed(&found), [""; 0]);
    assert!((found.shared[0].range - 1.25).abs() < 0.05, "{:?}", found.shared);
}

#[test]
fn a_row_that_begins_later_takes_no_step() {
    let mut runs = nights(&mut Random::new(4), 30, 20, 0.0);
    for (day, run) in runs.iter_mut().enumerate() {
        // The machine becomes 10 % faster, and five rows are new after that.
        run.results
            .iter_mut()
            .for_each(|result| result.metrics[0].estimate.median *= if day >= 10 { 1.1 } else { 1.0 });
        if day < 15 {
            run.results.truncate(15);
        }
    }
    let found = histories(entries(&runs), &By::Date, Rules::default());
    assert_eq!(changed(&found).into_iter().filter(|row| *row != "row-0").count(), 0);
}

/// The figures of docs/validation.md, "Statistics and verdicts": a walk of the whole machine.
/// `cargo test --release -p headwater-results simulated_nights -- --ignored --nocapture`
#[test]
#[ignore = "minutes"]
fn simulated_nights() {
    for walk in [0.0, 0.003, 0.01] {
        for (rows, days) in [(101, 30), (101, 60), (24, 60)] {
            let mut random = Random::new(5);
            let (mut before, mut now, mut found) = (Vec::new(), Vec::new(), 0);
            for _ in 0..10 {
                let runs = nights(&mut random, days, rows, walk);
                // Figures of runs of their own have nothing in common.
                let apart = entries(&runs)
                    .into_iter()
                    .map(|entry| Entry { origin: Arc::new(Origin::clone(&entry.origin)), ..entry });
                let alone = histories(apart, &By::Date, Rules::default());
                before.push(changed(&alone).into_iter().filter(|row| *row != "row-0").count());
                let histories = histories(entries(&runs), &By::Date, Rules::default());
                let changed = changed(&histories);
                let is_found = changed.contains(&"row-0");
                found += usize::from(is_found);
                now.push(changed.len() - usize::from(is_found));
            }
            println!(
                "walk {walk}, {rows} rows, {days} nights: false alarms before {before:?}, now {now:?}; found {found} of 10"
            );
        }
    }
}

//! Tests of the counterparts under each factor.

use super::*;
use crate::compare::{Rules, compare};
use crate::schema::{Event, Placement, RunStatus};
use crate::summary::Fold;
use crate::testing::{environment, header, launch, row};

/// Returns a run of rows with the given ids, subjects and placements, and `rate` everywhere.
fn run(rows: Vec<Row>, blocks: u32, rate: f64) -> Run {
    let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    let mut started = header(&[]);
    started.rows = rows;
    let mut events = vec![Event::RunStarted(Box::new(started))];
    for block in 0..blocks {
        events.extend(ids.iter().map(|id| Event::LaunchFinished(Box::new(launch(id, block, &[rate; 5])))));
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("the events are in order")
}

fn placed(subject: &str, placement: Placement) -> Row {
    let id = format!("{subject}/stream/64/{}", placement.name());
    Row { subject: subject.to_owned(), placement, ..row(&id) }
}

fn labels(sides: &[Side<'_>]) -> Vec<(String, Vec<String>)> {
    sides
        .iter()
        .map(|side| (side.name.clone(), side.members.iter().map(|member| member.label.clone()).collect()))
        .collect()
}

fn check(factor: &str, runs: &[(String, Run)], expect: &[(&str, &[&str])]) {
    let factor = find(factor).expect("a factor of the table");
    let expect: Vec<(String, Vec<String>)> = expect
        .iter()
        .map(|(level, labels)| ((*level).to_owned(), labels.iter().map(|label| (*label).to_owned()).collect()))
        .collect();
    assert_eq!(labels(&sides(runs, factor, |_| true)), expect);
}

#[test]
fn the_rest_of_an_id_names_the_counterpart() {
    let both = |subject: &str| [placed(subject, Placement::SameCpu), placed(subject, Placement::TwoCpus)];
    let runs = [("a".to_owned(), run(both("pipe").into_iter().chain(both("fifo")).collect(), 2, 1.0))];
    check(
        "placement",
        &runs,
        &[("same-cpu", &["pipe/stream/64", "fifo/stream/64"]), ("two-cpus", &["pipe/stream/64", "fifo/stream/64"])],
    );
    check(
        "transport",
        &runs,
        &[
            ("pipe", &["stream/64/same-cpu", "stream/64/two-cpus"]),
            ("fifo", &["stream/64/same-cpu", "stream/64/two-cpus"]),
        ],
    );
    check("variant", &runs, &[]);
}

#[test]
fn a_policy_is_removed_from_the_name() {
    let ring = |policy: &str| Row {
        policy: Some(policy.to_owned()),
        ..placed(&format!("ring-{policy}-1m"), Placement::TwoCpus)
    };
    let rows = vec![ring("futex"), ring("spin"), placed("pipe", Placement::TwoCpus)];
    let runs = [("a".to_owned(), run(rows, 2, 1.0))];
    check("policy", &runs, &[("futex", &["ring-1m/stream/64/two-cpus"]), ("spin", &["ring-1m/stream/64/two-cpus"])]);
}

#[test]
fn a_variant_is_the_last_part() {
    let variant = |name: &str| Row {
        id: format!("pipe/stream/64/free/{name}"),
        variant: Some(name.to_owned()),
        ..placed("pipe", Placement::Free)
    };
    let runs = [("a".to_owned(), run(vec![variant("old"), variant("new")], 2, 1.0))];
    check("variant", &runs, &[("old", &["pipe/stream/64/free"]), ("new", &["pipe/stream/64/free"])]);
}

#[test]
fn rows_of_one_run_are_paired_and_rows_of_two_are_not() {
    let one = || run(vec![placed("pipe", Placement::SameCpu), placed("pipe", Placement::TwoCpus)], 12, 1.0);
    let runs = [("a".to_owned(), one()), ("b".to_owned(), one())];
    let paired = |factor: &str| {
        let sides = sides(&runs, find(factor).expect("a factor"), |_| true);
        let comparison = compare(&sides[0], &sides[1], Rules::default());
        comparison.rows.iter().filter_map(|row| row.ratio).map(|ratio| (ratio.paired, ratio.n)).collect::<Vec<_>>()
    };
    assert_eq!(paired("run"), [(false, 12), (false, 12)]);
    // Both runs have both levels: each block of each run is a pair.
    assert_eq!(paired("placement"), [(true, 24)]);
}

#[test]
fn runs_of_one_kernel_are_pooled() {
    let on = |kernel: &str, rate: f64| {
        let mut run = run(vec![placed("pipe", Placement::Free)], 6, rate);
        run.header.environment.kernel.release = kernel.to_owned();
        (format!("run on {kernel}"), run)
    };
    let runs = [on("6.1", 1.0), on("6.18", 2.0), on("6.1", 3.0)];
    let sides = sides(&runs, find("kernel").expect("a factor"), |_| true);
    let [old, new] = &sides[..] else { panic!("two kernels: {sides:?}") };
    assert_eq!((old.name.as_str(), new.name.as_str()), ("6.1", "6.18"));
    let pooled = &old.members[0].result.metrics[0];
    assert_eq!((pooled.launches.len(), pooled.estimate.n, pooled.estimate.median), (12, 12, 2.0));
    let blocks: std::collections::BTreeSet<u32> = pooled.blocks.iter().copied().collect();
    assert_eq!(blocks.len(), 12, "blocks of different runs stay apart");
}

#[test]
fn rejected_rows_are_on_no_side() {
    let runs = [("a".to_owned(), run(vec![placed("pipe", Placement::Free), placed("fifo", Placement::Free)], 2, 1.0))];
    let sides = sides(&runs, find("run").expect("a factor"), |row| row.subject == "fifo");
    assert_eq!(labels(&sides), [("a".to_owned(), vec!["fifo/stream/64/free".to_owned()])]);
}

#[test]
fn a_run_without_any_of_the_rows_has_a_side() {
    let one = |subject: &str| run(vec![placed(subject, Placement::Free)], 2, 1.0);
    let runs = [("a".to_owned(), one("pipe")), ("b".to_owned(), one("fifo"))];
    let sides = sides(&runs, find("run").expect("a factor"), |row| row.subject == "pipe");
    assert_eq!(labels(&sides), [("a".to_owned(), vec!["pipe/stream/64/free".to_owned()]), ("b".to_owned(), vec![])]);
}

use super::*;
use crate::flags::Flag;
use crate::testing::{Random, all_events, environment, header, launch, lines, noise, row};

fn started(ids: &[&str]) -> Event {
    Event::RunStarted(Box::new(header(ids)))
}

fn finished(record: LaunchRecord) -> Event {
    Event::LaunchFinished(Box::new(record))
}

fn failed(row: &str, block: u32) -> Event {
    Event::LaunchFailed { row: row.to_owned(), block, reason: format!("peer stuck in block {block}") }
}

fn ended(status: RunStatus) -> Event {
    Event::RunFinished { status, environment: Box::new(environment()) }
}

fn run(events: Vec<Event>) -> Run {
    Fold::run_of(events).expect("the events are those of a run")
}

#[test]
fn a_launch_counts_once_with_the_median_of_its_batches() {
    let run = run(vec![
        started(&["a"]),
        finished(launch("a", 1, &[10.0, 30.0, 20.0])),
        finished(launch("a", 0, &[1.0, 2.0, f64::NAN, 99.0, 3.0])),
        finished(launch("a", 2, &[7.0])),
        ended(RunStatus::Complete),
    ]);
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(run.environment_after, Some(environment()));
    let result = &run.results[0];
    assert_eq!(result.outcome, RowOutcome::Measured);
    let [rate] = &result.metrics[..] else { panic!("one metric has launches: {:?}", result.metrics) };
    assert_eq!(rate.metric.name, "rate");
    assert_eq!((&rate.launches[..], &rate.blocks[..]), (&[2.5, 20.0, 7.0][..], &[0, 1, 2][..]));
    assert_eq!(Some(rate.estimate), Estimate::of_launches(&[2.5, 20.0, 7.0]));
}

#[test]
fn metrics_keep_the_order_of_the_row_and_their_own_blocks() {
    let mut with_loss = launch("a", 1, &[5.0]);
    with_loss.series.insert("loss".to_owned(), vec![0.0]);
    with_loss.series.insert("unknown".to_owned(), vec![1.0]);
    let run = run(vec![started(&["a"]), finished(launch("a", 0, &[4.0])), finished(with_loss)]);
    let found: Vec<_> = run.results[0].metrics.iter().map(|m| (m.metric.name.as_str(), m.blocks.clone())).collect();
    assert_eq!(found, [("rate", vec![0, 1]), ("loss", vec![1])]);
}

#[test]
fn rows_keep_their_order_and_skipped_ones_are_included() {
    let skipped = |id: &str| Event::RowSkipped { row: row(id), reason: "no".to_owned() };
    let run = run(vec![
        started(&["z", "a", "m"]),
        skipped("late"),
        skipped("a"),
        skipped("a"),
        finished(launch("z", 0, &[1.0])),
    ]);
    let found: Vec<_> = run.results.iter().map(|result| (result.row.id.as_str(), &result.outcome)).collect();
    let reason = RowOutcome::Skipped { reason: "no".to_owned() };
    assert_eq!(found, [("z", &RowOutcome::Measured), ("a", &reason), ("m", &RowOutcome::Pending), ("late", &reason)]);
}

#[test]
fn a_repeated_launch_replaces_the_earlier_one() {
    let run = run(vec![
        started(&["a"]),
        finished(launch("a", 0, &[1.0])),
        failed("a", 1),
        Event::RunResumed { at: String::new(), launches: None },
        finished(launch("a", 0, &[2.0])),
        finished(launch("a", 1, &[3.0])),
        ended(RunStatus::Complete),
    ]);
    assert_eq!(run.results[0].metrics[0].launches, [2.0, 3.0]);
    assert_eq!(run.results[0].failures, [""; 0]);
    assert_eq!(run.status, RunStatus::Complete);
}

#[test]
fn failures_make_a_run_partial() {
    let events = |more: Vec<Event>| {
        let mut events = vec![started(&["a"]), failed("a", 0), failed("a", 1)];
        events.extend(more);
        events.push(ended(RunStatus::Complete));
        run(events)
    };
    let none = events(vec![]);
    assert_eq!(none.status, RunStatus::Partial);
    assert_eq!(none.results[0].outcome, RowOutcome::Failed { reason: "peer stuck in block 0".to_owned() });
    assert_eq!(none.results[0].failures, ["peer stuck in block 0", "peer stuck in block 1"]);
    assert!(none.results[0].metrics.is_empty() && none.results[0].flags.is_empty());
    let one = events(vec![finished(launch("a", 2, &[1.0]))]);
    assert_eq!(one.status, RunStatus::Partial);
    assert_eq!(one.results[0].outcome, RowOutcome::Measured);
    assert_eq!(one.results[0].failures.len(), 2);
}

#[test]
fn a_run_without_an_end_is_interrupted() {
    let open = vec![started(&["a"]), finished(launch("a", 0, &[1.0]))];
    assert_eq!(run(open.clone()).status, RunStatus::Interrupted);
    let mut resumed = open;
    resumed.push(ended(RunStatus::Interrupted));
    resumed.push(Event::RunResumed { at: String::new(), launches: None });
    assert_eq!(run(resumed.clone()).status, RunStatus::Interrupted);
    assert_eq!(run(resumed.clone()).environment_after, None);
    resumed.push(ended(RunStatus::Complete));
    assert_eq!(run(resumed).status, RunStatus::Complete);
    assert_eq!(run(vec![started(&["a"]), ended(RunStatus::Complete)]).status, RunStatus::Partial, "a row is pending");
    assert_eq!(run(vec![started(&[]), ended(RunStatus::Interrupted)]).status, RunStatus::Interrupted);
}

#[test]
fn percentiles_merge_the_histograms_of_all_launches() {
    let with = |block, pairs: &[(u64, u64)]| {
        let mut record = launch("a", block, &[1.0]);
        record.histograms.insert("rtt".to_owned(), pairs.to_vec());
        finished(record)
    };
    let one = run(vec![started(&["a"]), with(0, &[(100, 15)])]);
    assert_eq!(one.results[0].percentiles, BTreeMap::new(), "15 samples allow no percentile");
    let two = run(vec![started(&["a"]), with(0, &[(100, 15)]), with(1, &[(200, 5)])]);
    assert_eq!(two.results[0].percentiles["rtt"], [Percentile { percent: 50.0, value_ns: 100.0 }]);
}

#[test]
fn counters_are_medians_and_counts_also_per_1000_operations() {
    let with = |block, switches, system_s| {
        let mut record = launch("a", block, &[1.0, 1.0]);
        record.counters.insert("sender_voluntary_switches".to_owned(), switches);
        record.counters.insert("sender_system_s".to_owned(), system_s);
        finished(record)
    };
    let run = run(vec![started(&["a"]), with(0, 10.0, 0.1), with(1, 50.0, 0.3), with(2, 20.0, 0.2)]);
    let counters: Vec<_> = run.results[0].counters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(
        counters,
        [("sender_system_s", 0.2), ("sender_voluntary_switches", 20.0), ("sender_voluntary_switches_per_1000", 100.0)]
    );
    let mut idle = launch("a", 0, &[]);
    idle.counters.insert("lost".to_owned(), 3.0);
    let run = Fold::run_of([started(&["a"]), finished(idle)]).expect("the events are those of a run");
    assert_eq!(run.results[0].counters.len(), 1, "nothing per operation without operations");
}

#[test]
fn flags_come_from_the_launches() {
    let mut events = vec![started(&["a", "b"])];
    let mut random = Random::new(1);
    for block in 0..12 {
        events.push(finished(launch("a", block, &noise(&mut random, 30, 0.01))));
        let both: Vec<f64> = (0..30)
            .map(|i| if i % 2 == 0 { random.between(1.0e6, 1.4e6) } else { random.between(2.5e6, 3.0e6) })
            .collect();
        events.push(finished(launch("b", block, &both)));
    }
    let run = run(events);
    assert_eq!(run.results[0].flags, []);
    let flags = &run.results[1].flags;
    assert!(matches!(flags[0], Flag::TwoModes { ratio, .. } if (2.0..2.6).contains(&ratio)), "{flags:?}");
}

#[test]
fn invalid_events_are_refused_and_change_nothing() {
    assert_eq!(Fold::new().finish(), Err(FoldError::NoHeader));
    assert_eq!(Fold::new().snapshot(), Err(FoldError::NoHeader));
    assert_eq!(Fold::run_of([failed("a", 0)]), Err(FoldError::NoHeader));
    let mut fold = Fold::new();
    let mut newer = header(&["a"]);
    newer.schema_version = SCHEMA_VERSION + 1;
    let refused = Err(FoldError::NewerSchema { found: SCHEMA_VERSION + 1, known: SCHEMA_VERSION });
    assert_eq!(fold.push(Event::RunStarted(Box::new(newer))), refused);
    assert_eq!(fold.push(started(&["a"])), Ok(()));
    let before = fold.snapshot();
    assert_eq!(fold.push(started(&["b"])), Err(FoldError::SecondHeader));
    let unknown = Err(FoldError::UnknownRow { row: "b".to_owned() });
    assert_eq!(fold.push(finished(launch("b", 0, &[1.0]))), unknown);
    assert_eq!(fold.push(failed("b", 0)), unknown);
    assert_eq!(fold.snapshot(), before);
}

#[test]
fn a_snapshot_is_the_run_so_far_and_stored_events_give_the_same_run() {
    let mut fold = Fold::new();
    for (i, event) in all_events().into_iter().enumerate() {
        fold.push(event).expect("the events are those of a run");
        assert_eq!(fold.snapshot(), Fold::run_of(all_events().into_iter().take(i + 1)));
    }
    let stored = crate::parse::parse_events(&lines(&all_events())).expect("what was written is read");
    assert_eq!(Fold::run_of(stored), fold.finish());
}

#[test]
fn resuming_with_more_launches_changes_the_settings_of_the_run() {
    let mut events = all_events();
    let settings = |events: &[Event]| Fold::run_of(events.to_vec()).expect("in order").header.settings;
    assert_eq!((settings(&events).launches, settings(&events).budget_s), (24, None));
    events.retain(|event| !matches!(event, Event::RunResumed { .. }));
    assert_eq!((settings(&events).launches, settings(&events).budget_s), (12, Some(90.0)));
}

use super::*;
use crate::schema::{Event, RunStatus};
use crate::summary::Fold;
use crate::testing::{self, Random, header, launch};

/// Returns a run of a workload and the probe with `blocks` blocks, with a factor over `off` for each configuration and
/// a relative spread of launches. Drift of the machine is common to a block.
fn run(blocks: u32, factors: &[(&str, f64)], spread: f64, seed: u64) -> Run {
    let mut random = Random::new(seed);
    let row = |subject: &str, pattern: &str, name: &str, unit: &str| {
        let metric = Metric { name: "elapsed".to_owned(), unit: unit.to_owned(), better: Better::Lower };
        Row {
            id: format!("{subject}/{pattern}/free/{name}"),
            subject: subject.to_owned(),
            pattern: pattern.to_owned(),
            variant: Some(name.to_owned()),
            metrics: vec![metric],
            ..testing::row("")
        }
    };
    let rows =
        factors.iter().flat_map(|(name, _)| [row("compile", WORKLOAD, name, "s"), row("getppid", PROBE, name, "ns")]);
    let mut head = header(&[]);
    head.rows = rows.collect();
    let mut events = vec![Event::RunStarted(Box::new(head))];
    for block in 0..blocks {
        let drift = 1.0 + 0.3 * random.unit();
        for (name, factor) in factors {
            let mut record = launch(&format!("compile/workload/free/{name}"), block, &[]);
            let noise = 1.0 + spread * random.normal();
            record.series.insert("elapsed".to_owned(), vec![2.0 * drift * factor * noise]);
            record.counters.insert(EVENTS.to_owned(), 1_000_000.0);
            record.counters.insert(LOST.to_owned(), 10.0);
            events.push(Event::LaunchFinished(Box::new(record)));
            // Two events of 75 ns each in a call of 100 ns.
            let mut record = launch(&format!("getppid/probe/free/{name}"), block, &[]);
            let call_ns = if ["off", "null"].contains(name) { 100.0 } else { 250.0 };
            record.series.insert("elapsed".to_owned(), vec![call_ns]);
            record.counters.insert("calls".to_owned(), 1000.0);
            record.counters.insert(EVENTS.to_owned(), 2000.0);
            events.push(Event::LaunchFinished(Box::new(record)));
        }
    }
    let environment = Box::new(testing::environment());
    events.push(Event::RunFinished { status: RunStatus::Complete, environment });
    Fold::run_of(events).expect("events of one run")
}

fn line(run: &Run) -> Line {
    Overhead::of(run).lines.into_iter().find(|line| line.pattern == WORKLOAD).expect("there is one")
}

fn arm<'a>(line: &'a Line, name: &str) -> &'a Arm {
    line.arms.iter().find(|arm| arm.name == name).expect("it is there")
}

#[test]
fn a_cost_of_a_tenth_is_found_in_spite_of_drift() {
    for seed in 0..20 {
        let line = line(&run(12, &[("off", 1.0), ("null", 1.0), ("drain", 1.1)], 0.01, seed));
        let drain = arm(&line, "drain");
        assert_eq!(drain.finding, Finding::Found, "{line:?}");
        let cost = drain.cost.expect("paired");
        assert!(cost.low < 1.1 * 1.01 && cost.high > 1.1 * 0.99 && (cost.times - 1.1).abs() < 0.02, "{cost:?}");
        assert!((drain.median.expect("paired").median - 1.1).abs() < 0.03);
        assert!(line.resolution.expect("null was measured") < 0.03);
    }
}

#[test]
fn a_null_arm_that_differs_hides_smaller_costs() {
    // The null arm is 10 % off throughout, as if the machine favoured a position in the block.
    let line = line(&run(12, &[("off", 1.0), ("null", 1.1), ("flight", 1.05), ("drain", 1.5)], 0.005, 7));
    assert!(line.resolution.expect("measured") > 0.09, "{line:?}");
    assert_ne!(arm(&line, "flight").finding, Finding::Found, "5 % are within the 10 % of nothing");
    assert_eq!(arm(&line, "drain").finding, Finding::Found);
    assert_eq!(arm(&line, "null").finding, Finding::Null);
}

#[test]
fn the_minimum_effect_is_two_percent_or_the_resolution_if_larger() {
    // A quiet machine whose null arm would support 1 %.
    let quiet = line(&run(12, &[("off", 1.0), ("null", 1.0), ("flight", 1.012), ("drain", 1.04)], 0.0005, 9));
    assert!(quiet.resolution.expect("measured") < 0.005, "{quiet:?}");
    assert_eq!(quiet.minimum_effect, Some(0.02));
    let findings = ["flight", "drain"].map(|name| arm(&quiet, name).finding.clone());
    assert_eq!(findings, [Finding::Below, Finding::Found], "{quiet:?}");
    let loud = line(&run(12, &[("off", 1.0), ("null", 1.1)], 0.005, 7));
    assert_eq!(loud.minimum_effect, loud.resolution);
}

#[test]
fn without_a_cost_none_is_found() {
    let found = (0..100).filter(|&seed| {
        let line = line(&run(12, &[("off", 1.0), ("null", 1.0), ("flight", 1.0)], 0.03, seed));
        arm(&line, "flight").finding == Finding::Found
    });
    // The test alone would find one in twenty; the minimum effect makes it rarer.
    assert!(found.count() <= 5);
}

#[test]
fn few_blocks_and_no_null_arm_find_nothing() {
    let few = line(&run(3, &[("off", 1.0), ("null", 1.0), ("drain", 2.0)], 0.001, 1));
    assert!(matches!(arm(&few, "drain").finding, Finding::Open { more_blocks: Some(_) }), "{few:?}");
    let alone = line(&run(12, &[("off", 1.0), ("drain", 2.0)], 0.001, 1));
    assert_eq!((arm(&alone, "drain").finding.clone(), alone.resolution), (Finding::Unsupported, None));
}

#[test]
fn the_probe_gives_the_cost_of_events_and_the_predicted_share() {
    let line = line(&run(12, &[("off", 1.0), ("null", 1.0), ("flight", 1.05)], 0.001, 3));
    let flight = arm(&line, "flight");
    assert_eq!((flight.events, flight.lost, flight.event_ns), (Some(1e6), Some(10.0), Some(75.0)));
    let off_s = line.off.expect("measured").median;
    assert!((flight.predicted.expect("all is known") - 1e6 * 75e-9 / off_s).abs() < 1e-12);
    assert_eq!(arm(&line, "null").event_ns, None, "nothing is traced there");
}

#[test]
fn each_configuration_uses_its_own_probe() {
    let mut run = run(6, &[("off", 1.0), ("null", 1.0), ("flight", 1.05), ("user-drain", 1.0)], 0.001, 3);
    let is_probe =
        |result: &RowResult, name: &str| result.row.pattern == PROBE && result.row.variant.as_deref() == Some(name);
    // A loop of events, one event per call: 1 ns each without a session and 26 ns with one.
    let off = run.results.iter().find(|result| is_probe(result, "off")).expect("it is there").clone();
    run.results.push(off);
    let of_events = |result: &mut RowResult, ns: f64| {
        result.row.subject = "event".to_owned();
        result.row.id = result.row.id.replace("getppid", "event");
        result.metrics[0].launches.fill(ns);
        result.counters.insert(EVENTS.to_owned(), 1000.0);
    };
    of_events(run.results.last_mut().expect("just pushed"), 1.0);
    of_events(run.results.iter_mut().find(|result| is_probe(result, "user-drain")).expect("it is there"), 26.0);
    let line = line(&run);
    assert_eq!(["flight", "user-drain"].map(|name| arm(&line, name).event_ns), [Some(75.0), Some(25.0)]);
}

#[test]
fn rates_cost_by_their_inverse() {
    let metric = |launches: &[f64]| MetricResult {
        metric: Metric { name: "bandwidth".to_owned(), unit: "MB/s".to_owned(), better: Better::Higher },
        estimate: Estimate::of_launches(launches).expect("values"),
        launches: launches.to_vec(),
        blocks: (0..launches.len() as u32).collect(),
    };
    let (off, arm) = (metric(&[100.0, 200.0, 300.0]), metric(&[50.0, 100.0, 150.0]));
    let cost = cost_of(&off, &arm, Better::Higher).expect("paired");
    assert!((cost.times - 2.0).abs() < 1e-9 && cost.low <= cost.times && cost.times <= cost.high, "{cost:?}");
    assert_eq!(within_blocks(&off, &arm, Better::Higher), [2.0; 3]);
}

#[test]
fn missing_configurations_have_a_reason() {
    let mut run = run(6, &[("off", 1.0), ("null", 1.0), ("flight", 1.0)], 0.01, 5);
    for result in run.results.iter_mut().filter(|result| result.row.variant.as_deref() == Some("flight")) {
        result.outcome = RowOutcome::Skipped { reason: "tracefs is not mounted".to_owned() };
        result.metrics.clear();
    }
    let absent = Finding::Absent { reason: "tracefs is not mounted".to_owned() };
    assert_eq!(arm(&line(&run), "flight").finding, absent);
}

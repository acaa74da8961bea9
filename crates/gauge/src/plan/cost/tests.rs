//! Tests of the estimate against runs that were made.

use super::{once_s, rest_s};
use crate::plan::{Plan, RunRequest};

/// A run on an otherwise idle machine (AMD EPYC, 2 CPUs of a virtual machine, Linux 6.18, 2026-11-25), `headwater run
/// SUITE -t TIME -w WARM_UP -l 1`.
struct Made {
    suite: &'static str,
    time_s: f64,
    warm_up_s: f64,
    /// How long its launches took, those that were repeated once, s.
    once_s: f64,
    /// How long it took, s.
    total_s: f64,
}

const fn made(suite: &'static str, time_s: f64, warm_up_s: f64, once_s: f64, total_s: f64) -> Made {
    Made { suite, time_s, warm_up_s, once_s, total_s }
}

const MADE: [Made; 16] = [
    made("udp", 0.05, 0.01, 27.6, 55.4),
    made("udp", 0.02, 0.005, 21.1, 31.8),
    made("why", 0.05, 0.01, 11.7, 12.7),
    made("ipc", 0.02, 0.005, 6.8, 8.6),
    made("lmbench", 0.02, 0.005, 19.3, 23.2),
    made("sync", 0.02, 0.005, 6.6, 7.3),
    made("use", 0.02, 0.005, 9.5, 15.0),
    made("netperf", 0.05, 0.015, 6.5, 9.0),
    made("overview", 0.05, 0.015, 17.2, 24.6),
    made("pty", 0.05, 0.015, 7.4, 7.9),
    made("tracing", 0.05, 0.015, 1.8, 1.8),
    made("udp", 0.015, 0.004, 13.8, 19.0),
    made("why", 0.015, 0.004, 5.1, 5.7),
    made("sync", 0.015, 0.004, 5.0, 5.15),
    made("lmbench", 0.015, 0.004, 11.5, 11.7),
    made("xti", 0.05, 0.015, 19.7, 25.3),
];

fn plan(made: &Made) -> Plan {
    let request = RunRequest {
        selection: vec![format!("suite:{}", made.suite)],
        time_s: Some(made.time_s),
        warm_up_s: Some(made.warm_up_s),
        launches: Some(1),
        ..RunRequest::default()
    };
    Plan::new(&request, 2, || 1).expect(made.suite)
}

/// Runs of the same machine that were made after the costs had been chosen, with other times: the suite, the
/// time of a launch and the sizes where they are not the suite's own, and how long it took, s.
const AFTERWARDS: [(&str, Option<f64>, Option<&str>, f64); 9] = [
    ("suite:lmbench", None, None, 24.6),
    ("suite:xti", Some(0.08), None, 25.4),
    ("suite:use", Some(0.12), None, 28.4),
    ("suite:fifo", None, Some("64"), 25.3),
    ("suite:netperf", Some(0.3), None, 27.7),
    ("suite:why", None, None, 14.1),
    ("suite:pty", None, None, 14.3),
    ("suite:sync", None, None, 26.6),
    ("suite:ipc", Some(0.12), None, 31.8),
];

#[test]
fn runs_that_were_made_afterwards_took_what_was_estimated() {
    let ratio = |(suite, time_s, sizes, took_s): &(&str, Option<f64>, Option<&str>, f64)| {
        let request = RunRequest {
            selection: vec![(*suite).to_owned()],
            time_s: *time_s,
            sizes: sizes.map(|sizes| sizes.parse().expect("sizes")),
            launches: Some(1),
            ..RunRequest::default()
        };
        Plan::new(&request, 2, || 1).expect("a plan").estimate_s() / took_s
    };
    let ratios: Vec<f64> = AFTERWARDS.iter().map(ratio).collect();
    assert!(ratios.iter().all(|ratio| (0.75..1.25).contains(ratio)), "{ratios:.2?}");
}

#[test]
fn the_estimate_is_within_a_quarter_of_runs_that_were_made() {
    let ratio = |made: &Made| {
        let plan = plan(made);
        let rows = plan.rows.iter().map(|planned| &planned.row);
        rows.map(|row| once_s(row, &plan.settings, plan.repetitions)).sum::<f64>() / made.once_s
    };
    let ratios: Vec<(&str, f64)> = MADE.iter().map(|made| (made.suite, ratio(made))).collect();
    assert!(ratios.iter().all(|(_, ratio)| (0.75..1.25).contains(ratio)), "{ratios:.2?}");
}

#[test]
fn how_often_launches_are_repeated_is_estimated_in_the_mean() {
    let ratios: Vec<f64> = MADE.iter().map(|made| plan(made).estimate_s() / made.total_s).collect();
    let within = ratios.iter().filter(|ratio| (0.75..1.25).contains(*ratio)).count();
    // How busy a machine is cannot be foreseen.
    assert!(within >= MADE.len() - 3, "{ratios:.2?}");
}

#[test]
fn a_row_with_many_messages_takes_its_messages() {
    let request = RunRequest {
        selection: vec!["suite:fifo".to_owned()],
        sizes: Some("64,1k,4k".parse().expect("sizes")),
        launches: Some(100),
        ..RunRequest::default()
    };
    let plan = Plan::new(&request, 2, || 1).expect("a plan");
    let of = |count: u64| -> f64 {
        let rows = plan.rows.iter().map(|planned| &planned.row).filter(|row| row.messages == Some(count));
        rows.map(|row| once_s(row, &plan.settings, plan.repetitions)).sum()
    };
    // The medians of the same machine, `headwater run fifo --sizes 64,1k,4k -l 100`, of a block: 60 rows.
    for (count, measured_s) in [(100, 0.071), (10_000, 0.272), (100_000, 1.707)] {
        let ratio = of(count) / measured_s;
        assert!((0.6..2.1).contains(&ratio), "{count}: {:.3} s for {measured_s} s", of(count));
    }
    assert!((0.75..1.25).contains(&(of(100_000) / 1.707)), "where it is long it is right: {}", of(100_000));
}

#[test]
fn launches_that_take_longer_than_estimated_make_the_rest_longer() {
    assert!((rest_s(0.0, 0.0, 60.0) - 60.0).abs() < 1e-9, "at first the estimate counts");
    let twice = rest_s(60.0, 30.0, 30.0);
    assert!((55.0..60.0).contains(&twice), "{twice}");
    let half = rest_s(15.0, 30.0, 30.0);
    assert!((15.0..17.0).contains(&half), "{half}");
}

/// Runs of rows with messages of a byte took 0.38 s and 0.79 s a launch (pipe on one and on two CPUs), 18 s and 2.2 s (pipe-1m), with
/// 35 ms a launch (Intel Xeon, 2 CPUs, beside two other programs, 2026-11-28).
#[test]
fn small_messages_over_a_pipe_take_longer_than_the_time_that_is_set() {
    let once = |row: &str| {
        let request = RunRequest {
            selection: vec![row.to_owned()],
            sizes: Some("1".parse().expect("a size")),
            ..RunRequest::default()
        };
        let plan = Plan::new(&request, 2, || 1).expect(row);
        once_s(&plan.rows[0].row, &plan.settings, 1)
    };
    assert!((0.3..0.9).contains(&once("pipe/stream")), "{}", once("pipe/stream"));
    assert!((2.0..18.0).contains(&once("pipe-1m/stream")), "{}", once("pipe-1m/stream"));
    assert!(once("unix-stream/stream") < 0.1, "{}", once("unix-stream/stream"));
}

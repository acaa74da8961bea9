use std::sync::LazyLock;

use expect_test::{ExpectFile, expect_file};
use headwater_results::published;
use headwater_results::schema::{MetricResult, Placement, RunStatus, Standing, WorkerKind};

use super::*;
use crate::testing::{TestRun, messaging, operations, overhead, overview, placed, sync};

const PLAIN: Style = Style { colour: false, width: 80, unicode: true };

fn check(run: &Run, style: Style, expected: ExpectFile) {
    expected.assert_eq(&terminal(run, &style));
}

#[test]
fn page_of_an_overview() {
    let run = overview(6).run(Some(RunStatus::Partial));
    check(&run, PLAIN, expect_file!["./tests/overview_80.txt"]);
    check(&run, Style { width: 140, unicode: false, ..PLAIN }, expect_file!["./tests/overview_140_ascii.txt"]);
    check(&run, Style { colour: true, ..PLAIN }, expect_file!["./tests/overview_80_colour.txt"]);
}

#[test]
fn page_of_one_transport() {
    check(&one_transport(), PLAIN, expect_file!["./tests/one_transport.txt"]);
}

#[test]
fn page_of_an_interrupted_run() {
    check(&interrupted(), PLAIN, expect_file!["./tests/interrupted.txt"]);
}

#[test]
fn page_of_a_run_in_which_everything_was_skipped() {
    check(&skipped(), PLAIN, expect_file!["./tests/skipped.txt"]);
}

#[test]
fn page_of_a_single_launch() {
    check(&overview(1).run(Some(RunStatus::Partial)), PLAIN, expect_file!["./tests/one_launch.txt"]);
}

#[test]
fn page_of_sweeps() {
    check(&SHAPES[SWEEPS], PLAIN, expect_file!["./tests/sweeps.txt"]);
}

#[test]
fn page_of_policies() {
    check(&policies(&["eager", "no-lane", "no-stages"]), PLAIN, expect_file!["./tests/policies.txt"]);
}

#[test]
fn page_of_operations() {
    check(&operations(12).run(Some(RunStatus::Partial)), PLAIN, expect_file!["./tests/operations.txt"]);
}

#[test]
fn page_of_what_tracing_costs() {
    check(&overhead(12), Style { width: 100, ..PLAIN }, expect_file!["./tests/overhead_100.txt"]);
}

#[test]
fn operations_of_several_runs_stand_side_by_side() {
    let own = operations(12).run(Some(RunStatus::Partial));
    let published = ["a", "d"].map(|name| published::run("ltt", &format!("smp4-{name}")).expect("it is compiled in"));
    let [first, last] = &published;
    let runs = [
        ("published:ltt/smp4-a".to_owned(), first),
        ("published:ltt/smp4-d".to_owned(), last),
        ("now".to_owned(), &own),
    ];
    let page = terminals(&runs, ShowOptions::default(), &PLAIN);
    expect_file!["./tests/operations_beside.txt"].assert_eq(&page);
    let by_lmbench_rule = terminals(&runs, ShowOptions { lmbench_value: true }, &PLAIN);
    expect_file!["./tests/operations_lmbench_rule.txt"].assert_eq(&by_lmbench_rule);
}

#[test]
fn policies_stand_side_by_side_from_three_on() {
    let title = "What each policy is worth";
    assert!(terminal(&policies(&["eager", "no-lane", "no-stages"]), &PLAIN).contains(title));
    assert!(!terminal(&policies(&["eager", "no-lane"]), &PLAIN).contains(title));
}

/// Returns a run of a subject under these policies, and others.
fn policies(names: &[&str]) -> Run {
    let mut made = TestRun::new(12);
    for (size, rate) in [(1, 2.1e6), (4096, 6.1e5)] {
        made.measure(&messaging("pipe", Standing::Candidate, "stream", size), &[rate], 0.02);
        for (place, name) in names.iter().enumerate() {
            let mut row = messaging(&format!("streams-{name}"), Standing::Candidate, "stream", size);
            row.policy = Some((*name).to_owned());
            made.measure(&row, &[rate * (2.0 + place as f64)], 0.02);
        }
        let mut row = messaging("ring-futex", Standing::Limit, "stream", size);
        row.policy = Some("futex".to_owned());
        made.measure(&row, &[rate * 9.0], 0.02);
    }
    made.run(Some(RunStatus::Complete))
}

fn one_transport() -> Run {
    let mut made = TestRun::new(12);
    for (size, rate) in [(64, 1.4e6), (4096, 7e5), (65_536, 9e4)] {
        made.measure(&messaging("pipe", Standing::Candidate, "stream", size), &[rate], 0.02);
    }
    made.run(Some(RunStatus::Complete))
}

fn interrupted() -> Run {
    let mut made = TestRun::new(12);
    made.measure(&messaging("pipe", Standing::Candidate, "stream", 64), &[1.4e6], 0.02);
    made.measure(&messaging("fifo", Standing::Candidate, "stream", 64), &[1.38e6], 0.3);
    for size in [4096, 16_384, 65_536] {
        made.leave(&messaging("pipe", Standing::Candidate, "stream", size));
        made.leave(&messaging("fifo", Standing::Candidate, "stream", size));
    }
    made.run(None)
}

fn skipped() -> Run {
    let mut made = TestRun::new(12);
    for size in [1024, 16_384] {
        let row = messaging("posix-mq", Standing::Candidate, "stream", size);
        made.skip(&row, "mq_open: Function not implemented (os error 38)");
    }
    made.run(Some(RunStatus::Complete))
}

/// Returns a run with many sizes, counts, workers and placements, external programs, and an unknown facility.
fn sweeps() -> Run {
    let mut made = TestRun::new(12);
    let transports = [
        ("pipe", Standing::Candidate, 600.0),
        ("zeromq", Standing::External, 900.0),
        ("ring-spin", Standing::Limit, 50.0),
        ("null", Standing::Null, 8.0),
    ];
    for placement in [Placement::TwoCpus, Placement::SameCpu] {
        for (name, standing, ns) in transports {
            for size in (0..=16).map(|shift| 1u64 << shift) {
                let row = placed(messaging(name, standing, "stream", size), placement);
                let byte_ns = if standing == Standing::Null { 0.0 } else { 0.1 };
                made.measure(&row, &[1e9 / (ns + byte_ns * size as f64)], 0.02);
            }
        }
    }
    for name in ["udp", "udp-gso"] {
        for size in (0..=14).map(|shift| 1u64 << shift) {
            let row = messaging(name, Standing::Candidate, "flood", size);
            made.measure(&row, &[4e5, 5e5, 0.2], 0.15);
        }
    }
    for (name, us) in [("pipe", 0.7), ("fifo", 0.8)] {
        for size in [64, 4096] {
            for count in [100, 1000, 5000, 10_000, 100_000] {
                let mut row = messaging(name, Standing::Candidate, "matrix", size);
                row.id = format!("{name}/matrix/{size}x{count}/two-cpus");
                row.messages = Some(count);
                made.measure(&row, &[us * count as f64], 0.02);
            }
        }
    }
    for kind in [WorkerKind::Process, WorkerKind::Thread] {
        for workers in 1..=5 {
            for (name, ns) in [("atomic", 5.0), ("mutex", 20.0), ("sysv-semaphore-undo", 2000.0)] {
                made.measure(&sync(name, workers, kind), &[ns * 1e3 * f64::from(workers)], 0.03);
            }
        }
    }
    for (name, ns) in [("getppid", 61.0), ("open-close", 1270.0)] {
        let mut row = messaging(name, Standing::Candidate, "calls", 1);
        row.metrics[0].name = "duration".to_owned();
        row.metrics[0].unit = "ns".to_owned();
        made.measure(&row, &[ns], 0.02);
    }
    made.header(|header| header.settings.placements = vec![Placement::TwoCpus, Placement::SameCpu]);
    made.run(Some(RunStatus::Complete))
}

/// The index of [`sweeps`] among them.
const SWEEPS: usize = 4;

/// Runs of every kind. Folding them takes longer than drawing them, so it is done once.
static SHAPES: LazyLock<Vec<Run>> = LazyLock::new(|| {
    vec![
        overview(6).run(Some(RunStatus::Partial)),
        one_transport(),
        interrupted(),
        skipped(),
        sweeps(),
        hostile(),
        TestRun::new(12).run(None),
        operations(6).run(Some(RunStatus::Partial)),
    ]
});

/// Returns a run with hostile texts.
fn hostile() -> Run {
    let mut made = TestRun::new(6);
    let long = "a-program-with-a-name-".repeat(9);
    for name in [long.as_str(), "red\x1b[31m\r\n", ""] {
        for pattern in ["stream", "rtt", "unheard-of", "sync", "flood", "matrix"] {
            made.measure(&messaging(name, Standing::External, pattern, 1 << 20), &[1e6, 1e6, 0.5], 0.9);
        }
        made.fail(&messaging(name, Standing::External, "wake", 3), &format!("{name}\n{name}"));
    }
    made.header(|header| {
        header.command.push("--transport-cmd".to_owned());
        header.command.push(format!("/{long}/{long}"));
        header.started_at = "yesterd\u{e4}y, late".to_owned();
        header.environment.cpu.model = "   ".to_owned();
        header.environment.host = String::new();
    });
    made.run(None)
}

/// Removes escape sequences.
fn bare(line: &str) -> String {
    let mut rest = line;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        text += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    text + rest
}

#[test]
fn no_line_is_longer_than_the_terminal_is_wide() {
    for run in &*SHAPES {
        for width in [60, 80, 97, 140] {
            for colour in [false, true] {
                let page = terminal(run, &Style { width, colour, unicode: true });
                for line in page.lines().map(bare) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                    assert!(colour || line == line.trim_end(), "blanks at the end of {line:?}");
                }
            }
        }
    }
}

#[test]
fn a_page_without_unicode_is_ascii() {
    for run in &*SHAPES {
        let page = terminal(run, &Style { unicode: false, ..PLAIN });
        // Texts of the run itself are shown unchanged.
        assert!(page.replace("yesterd\u{e4}y", "").is_ascii());
    }
}

#[test]
fn a_page_without_colour_has_no_escape_sequence() {
    for run in &*SHAPES {
        assert!(!terminal(run, &PLAIN).contains('\x1b'));
        assert!(!terminal(run, &Style { colour: true, ..PLAIN }).contains("\x1b[31m"), "an escape of the run's own");
    }
}

/// A change of a row's figures.
type Change = fn(&mut MetricResult);

#[test]
fn missing_and_extreme_values_do_not_panic() {
    let strange: [Change; 5] = [
        |metric| metric.estimate.median = 0.0,
        |metric| metric.estimate.median = -5.0,
        |metric| metric.estimate.median = 1e300,
        |metric| metric.estimate.n = 0,
        |metric| metric.metric.name = "other".to_owned(),
    ];
    for mut run in SHAPES.clone() {
        for change in strange {
            run.results.iter_mut().flat_map(|result| &mut result.metrics).for_each(change);
            terminal(&run, &PLAIN);
        }
        for result in &mut run.results {
            result.counters.remove("operations");
            result.percentiles.clear();
            result.row.size_bytes = None;
            result.row.workers = None;
        }
        terminal(&run, &PLAIN);
        run.results.iter_mut().for_each(|result| result.metrics.clear());
        terminal(&run, &PLAIN);
        run.results.clear();
        terminal(&run, &PLAIN);
    }
}

#[test]
fn every_row_with_a_figure_is_on_the_page() {
    let page = terminal(&SHAPES[SWEEPS], &Style { width: 140, ..PLAIN });
    for words in ["One way (stream", "flood", "matrix", "sync", "Calls", "getppid", "zeromq", "Same CPU:", "4 threads"]
    {
        assert!(page.contains(words), "{words} is missing");
    }
}

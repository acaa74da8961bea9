//! `headwater perftest` as a user runs it: the lines and tables, the stored run, and its place beside published figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use headwater_results::parse::parse_events;
use headwater_results::schema::{Event, Run, RunStatus};
use tempfile::TempDir;

fn run(directory: &TempDir, arguments: &[&str]) -> Output {
    ends_with(0, directory, arguments)
}

fn ends_with(status: i32, directory: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(arguments).current_dir(directory.path()).env("TMPDIR", directory.path()).stdin(Stdio::null());
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn read_run(directory: &Path) -> Run {
    serde_json::from_str(&fs::read_to_string(directory.join("run.json")).expect("run.json")).expect("a run")
}

/// Short launches of one size.
const SHORT: [&str; 7] = ["perftest", "-s", "64", "-t", "20ms", "-i", "10ms"];

fn short(directory: &TempDir, more: &[&str]) -> Output {
    run(directory, &[&SHORT[..], more].concat())
}

#[test]
fn each_interval_has_a_line_and_each_size_a_figure() {
    let directory = TempDir::new().expect("a temporary directory");
    let output = text(&short(&directory, &["--both", "--push", "0,2", "--placement", "free", "-o", "r"]));
    let subjects = ["pipe", "streams-pipe", "streams-pipe+2xnullmod"];
    for subject in subjects {
        let is_interval = |line: &&str| line.split_whitespace().nth(2) == Some(subject) && line.ends_with("/write");
        let numbers = output.lines().filter(is_interval).filter_map(|line| line.split_whitespace().next());
        let mut numbers: Vec<&str> = numbers.collect();
        // A launch whose CPU was slow is measured again, and has a line more.
        numbers.dedup();
        assert_eq!(numbers, ["1", "2"], "{subject}: {output}");
    }
    let table = output.split_once("reads of the write size").expect("a table").1;
    assert!(table.contains("over pipe") && table.contains("64 B"), "{output}");
    let run = read_run(&directory.path().join("r"));
    assert_eq!(run.status, RunStatus::Complete);
    let mut measured: Vec<(&str, usize)> =
        (run.results.iter()).map(|result| (result.row.subject.as_str(), result.metrics[0].launches.len())).collect();
    measured.sort_unstable();
    assert_eq!(measured, subjects.map(|subject| (subject, 2)));
}

/// Each option with two movements; every pair if `HEADWATER_TIMES` asks for the long form.
#[test]
fn every_option_of_a_stream_works_with_every_movement() {
    let is_long = std::env::var_os("HEADWATER_TIMES").is_some();
    let directory = TempDir::new().expect("a temporary directory");
    let options = ["-H", "-M", "--readfill", "-HMS", "--lowat=8192"];
    for (number, movement) in ["--async", "-R", "-r", "-F", "-RF", "-rF"].iter().enumerate() {
        for (at, option) in options.iter().enumerate() {
            if !is_long && (number + at) % 3 != 0 {
                continue;
            }
            let name = format!("{number}{option}");
            let arguments =
                ["perftest", "-s", "64", "-t", "5ms", "-i", "5ms", "--placement", "free", "-q", "-o", &name];
            run(&directory, &[&arguments[..], &[movement, option]].concat());
            let run = read_run(&directory.path().join(&name));
            assert_eq!(run.status, RunStatus::Complete, "{movement} {option}: {:?}", run.results);
        }
    }
}

#[test]
fn quiet_prints_only_tables_and_json_only_events() {
    let directory = TempDir::new().expect("a temporary directory");
    let output = short(&directory, &["-q", "-o", "quiet"]);
    let printed = text(&output);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.lines().all(|line| !line.contains("/write")), "{printed}");
    assert!(printed.contains("streams-pipe writes/s") && printed.contains("Kept in quiet"), "{printed}");

    let printed = text(&short(&directory, &["--json", "-o", "json"]));
    assert_eq!(printed, fs::read_to_string(directory.path().join("json/run.jsonl")).expect("the events"));
    let events = parse_events(&printed).expect("events");
    assert!(matches!(events.last(), Some(Event::RunFinished { .. })));

    let printed = text(&short(&directory, &["--dry-run"]));
    assert!(
        printed.contains("streams-pipe/stream/64/same-cpu") && printed.contains("Nothing was measured"),
        "{printed}"
    );
}

#[test]
fn a_run_with_options_is_resumed_with_them() {
    let directory = TempDir::new().expect("a temporary directory");
    short(&directory, &["--push", "3", "-H", "--placement", "free", "-q", "-o", "r"]);
    run(&directory, &["run", "--resume", "r", "--more", "1", "-q"]);
    let run = read_run(&directory.path().join("r"));
    let [result] = &run.results[..] else { panic!("{:?}", run.results) };
    assert_eq!(result.row.subject, "streams-pipe+3xnullmod+hold");
    assert_eq!(result.metrics[0].launches.len(), 3);
}

#[test]
fn two_runs_stand_on_the_charts_of_the_paper() {
    let directory = TempDir::new().expect("a temporary directory");
    let sizes = ["perftest", "-s", "1,64", "-t", "20ms", "-i", "10ms", "--placement", "same-cpu", "-q"];
    run(&directory, &[&sizes[..], &["-o", "ours"]].concat());
    run(&directory, &[&sizes[..], &["--native", "-o", "kernel"]].concat());
    let names = ["report", "ours", "kernel", "published:pipes/fc6"];
    let chart = ["--svg", "performance", "--pattern", "stream", "--placement", "same-cpu", "-o", "-"];
    let svg = text(&run(&directory, &[&names[..], &chart].concat()));
    // The legend of the one chart has the series of all three.
    for (subject, run) in [
        ("streams-pipe", "ours"),
        ("pipe", "kernel"),
        ("streams-pipe", "published:pipes/fc6"),
        ("pipe", "published:pipes/fc6"),
        ("lis-pipe", "published:pipes/fc6"),
    ] {
        let label = format!("data-label=\"{subject} \u{b7} {run}\"");
        assert!(svg.contains(&label), "{label} is not in the chart: {svg}");
    }
    run(&directory, &[&names[..], &["-o", "page.html"]].concat());
    let page = fs::read_to_string(directory.path().join("page.html")).expect("the page");
    assert!(page.contains("lis-pipe") && page.contains("streams-pipe"), "the page has both");
    // The plain row is the published one's counterpart; one number without an interval is never conclusive.
    let compared = text(&ends_with(3, &directory, &["compare", "ours", "published:pipes/fc6", "--json"]));
    assert!(compared.contains("streams-pipe/stream/64/same-cpu"), "{compared}");
}

#[test]
fn full_reads_stand_beside_the_run_with_all_options() {
    let directory = TempDir::new().expect("a temporary directory");
    short(&directory, &["--both", "-HMR", "--readfill", "--placement", "free", "-q", "-o", "ours"]);
    let names = ["report", "ours", "published:pipes/cos52"];
    let chart = ["--svg", "performance", "--pattern", "perftest", "--placement", "free", "-o", "-"];
    let svg = text(&run(&directory, &[&names[..], &chart].concat()));
    let series = |text: &str| svg.matches(text).count();
    assert!(series("cos52") >= 2 && series("ours") >= 2, "{svg}");
}

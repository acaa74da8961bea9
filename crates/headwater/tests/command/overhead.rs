//! `headwater overhead` as a user runs it: a short command, few blocks, skipped configurations, and the removal of
//! everything it created.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use headwater::store;
use headwater_results::schema::{Event, Row, RowOutcome, Run};
use headwater_trace_tools::kernel::{Support, Tracefs};
use rustix::process::{Pid, Signal, kill_process};

/// Every measurement first removes the instances of killed ones, so the test that kills one must run alone.
static KILL_RUNS_ALONE: RwLock<()> = RwLock::new(());

fn headwater(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.arg("overhead").env("TMPDIR", temporary).current_dir(temporary);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run_of(directory: &Path) -> Run {
    store::read(&directory.join("run")).expect("a run").run
}

/// Measures three blocks of a short command. Only the command is recorded, so that other tests are not slowed down.
fn short(directory: &Path, more: &[&str]) -> Output {
    let fixed = ["--command-only", "--blocks", "3", "--seed", "7", "--output", "run", "--quiet"];
    let output = headwater(directory).args(fixed).args(more).args(["--", "ls", "-R", "/proc/self"]).output();
    output.expect("it starts")
}

#[test]
fn a_short_command_is_measured_in_every_configuration_in_random_order() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let output = short(place.path(), &[]);
    let obstacle = Support::look().obstacle().map(str::to_owned);
    let run = run_of(place.path());
    let workloads: Vec<_> = run.results.iter().filter(|result| result.row.pattern == "workload").collect();
    let names: Vec<_> = workloads.iter().filter_map(|result| result.row.variant.as_deref()).collect();
    assert_eq!(names, ["off", "null", "armed", "flight", "drain"], "{}", text(&output.stderr));
    for result in &workloads {
        let name = result.row.variant.as_deref().expect("a configuration");
        let traced = ["armed", "flight", "drain"].contains(&name);
        match (&result.outcome, &obstacle) {
            (RowOutcome::Skipped { reason }, Some(why)) if traced => {
                assert_eq!(reason, why);
                assert!(text(&output.stdout).replace('\n', " ").contains(&format!("{name}: ")), "the output names it");
            }
            (RowOutcome::Measured, _) => {
                assert_eq!(result.metrics.len(), 2, "wall and CPU time");
                assert_eq!(result.metrics[0].launches.len(), 3);
                assert!(result.metrics.iter().all(|metric| metric.estimate.low > 0.0));
                let events = result.counters.get("events").copied();
                assert_eq!(events.is_some(), traced, "{name}");
                // ls makes some hundred calls, and each call is two events.
                match (name, events) {
                    ("armed", events) => assert_eq!(events, Some(0.0), "nothing is recorded"),
                    (_, events) => assert!(events.is_none_or(|events| events > 100.0), "{events:?}"),
                }
            }
            (outcome, _) => panic!("{name}: {outcome:?}"),
        }
    }
    assert_eq!(output.status.code(), Some(if obstacle.is_some() { 4 } else { 0 }), "{}", text(&output.stderr));
    // Three blocks are too few for any figure.
    let table = text(&output.stdout);
    assert!(table.contains(" launches were repeated, because a CPU was slow"), "{table}");
    let table = table.split("What happened in a launch").next().expect("the first table");
    assert!(table.lines().filter(|line| line.contains("ls, ")).all(|line| !line.contains("[+")), "{table}");
    let events = fs::read_to_string(place.path().join("run/run.jsonl")).expect("events");
    let mut orders: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in events.lines() {
        if let Event::LaunchFinished(record) = serde_json::from_str(line).expect("an event") {
            let order = orders.entry(record.block).or_default();
            if !order.contains(&record.row) {
                order.push(record.row);
            }
        }
    }
    let orders: Vec<_> = orders.into_values().collect();
    assert_eq!(orders.len(), 3);
    assert!(orders[0] != orders[1] || orders[1] != orders[2], "each block has an order of its own");
    left_nothing(place.path());
}

#[test]
fn the_rows_of_lmbench_can_be_asked_for_on_one_cpu_as_the_workload_does() {
    let place = tempfile::tempdir().expect("a directory");
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).expect("there is one");
    let first = allowed.split(['-', ',']).next().expect("a number");
    let mut command = Command::new("taskset");
    let run = "run lmbench --placement free --launches 1 --time 5ms --warm-up 1ms --quiet --output run null-call/lmbench/free";
    command.args(["-c", first, env!("CARGO_BIN_EXE_headwater")]).args(run.split(' ')).current_dir(place.path());
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = run_of(place.path());
    let is_it = |row: &Row| row.id == "null-call/lmbench/free";
    assert!(run.results.iter().any(|result| is_it(&result.row) && matches!(result.outcome, RowOutcome::Measured)));
    assert_eq!(run.header.environment.cpu.affinity.len(), 1);
}

#[test]
fn a_missing_tool_is_named_and_skipped_and_the_rest_is_measured() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path();
    let bin = directory.join("bin");
    fs::create_dir(&bin).expect("a directory");
    let fixed = ["--blocks", "1", "-o", "run", "-q", "--configs", "null,strace", "--json", "--", "/bin/true"];
    let output = headwater(directory).env("PATH", &bin).args(fixed).output().expect("it starts");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let arms = &json["lines"][0]["arms"];
    assert_eq!(arms[1]["finding"]["reason"], "strace is not installed", "{json}");
    assert_eq!(arms[0]["finding"]["finding"], "null");
}

#[test]
fn a_failing_command_is_an_error_with_its_message_and_leaves_no_run() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let words = ["--configs", "null", "-o", "run", "--", "sh", "-c", "echo no such thing >&2; exit 3"];
    let output = headwater(place.path()).args(words).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "headwater: sh: it ended with status 3: no such thing\n");
    assert!(!place.path().join("run").exists());
}

#[test]
fn an_unknown_event_is_an_error_that_suggests_similar_ones() {
    if Support::look().obstacle().is_some() {
        return;
    }
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let output = headwater(place.path()).args(["-k", "sched_swich", "--", "true"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("sched_switch"), "{}", text(&output.stderr));
}

/// The variable with the number of events that the program below emits.
const EMIT: &str = "HEADWATER_TEST_EMIT";

headwater_trace::events! {
    said("overhead:said") { number: u64 }
}

/// Not a test: a program that emits events. Without the variable it does nothing.
#[test]
fn program_with_events() {
    let count = std::env::var(EMIT).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    (0..count).for_each(said);
}

/// Runs a command in the configurations with events of programs. Returns the counters of each, `None` if it was
/// skipped.
fn user_configurations(directory: &Path, words: &[&str]) -> Vec<(String, Option<BTreeMap<String, f64>>)> {
    let fixed =
        ["--configs", "null,user-flight,user-drain", "--blocks", "1", "-o", "run", "-q", "-e", "overhead:*", "--"];
    let mut command = headwater(directory);
    command.env(EMIT, "1000").args(fixed).args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let id = child.id();
    let output = child.wait_with_output().expect("it ends");
    assert!([Some(0), Some(4)].contains(&output.status.code()), "{}", text(&output.stderr));
    assert_eq!(memory_of(id), [] as [PathBuf; 0]);
    left_nothing(directory);
    let results = run_of(directory).results.into_iter().filter(|result| {
        result.row.pattern == "workload" && result.row.variant.as_deref().is_some_and(|name| name.starts_with("user-"))
    });
    let counters = |outcome, counters| match outcome {
        RowOutcome::Measured => Some(counters),
        RowOutcome::Skipped { reason } => {
            assert!(headwater_os::ticks::unsound().is_some() || reason.contains("no room for buffers"), "{reason}");
            None
        }
        outcome => panic!("{outcome:?}"),
    };
    results.map(|result| (result.row.id, counters(result.outcome, result.counters))).collect()
}

#[test]
fn the_events_of_a_program_are_counted_in_both_user_configurations() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let own = std::env::current_exe().expect("it runs").to_string_lossy().into_owned();
    let found = user_configurations(place.path(), &[&own, "--exact", "overhead::program_with_events"]);
    assert_eq!(found.len(), 2, "{found:?}");
    for (row, counters) in found {
        let Some(counters) = counters else { continue };
        // The events, and one that names the thread.
        assert_eq!((counters["events"], counters["lost"]), (1001.0, 0.0), "{row}");
    }
    let run = run_of(place.path());
    let overhead = headwater_results::overhead::Overhead::of(&run);
    let arms = overhead.lines[0].arms.iter().filter(|arm| arm.value.is_some() && arm.name.starts_with("user-"));
    for arm in arms {
        assert!(arm.event_ns.is_some_and(|ns| ns > 1.0) && arm.predicted.is_some_and(|share| share > 0.0), "{arm:?}");
    }
}

#[test]
fn a_program_without_our_events_has_counts_of_zero() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    for (row, counters) in user_configurations(place.path(), &["ls"]) {
        let Some(counters) = counters else { continue };
        assert_eq!((counters["events"], counters["lost"]), (0.0, 0.0), "{row}");
    }
}

#[test]
fn an_lttng_session_is_created_and_destroyed_around_the_command() {
    use std::os::unix::fs::PermissionsExt;
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path();
    let bin = directory.join("bin");
    fs::create_dir(&bin).expect("a directory");
    let log = bin.join("log");
    let tools = [
        (
            "lttng",
            "echo \"$2\" >> \"$LOG\"; mkdir -p \"$LTTNG_HOME/trace\"; touch \"$LTTNG_HOME/trace/metadata\"
            [ \"$2\" != list ] || echo '      Discarded events: 7'",
        ),
        ("lttng-sessiond", "echo $$ >> \"$LOG.daemon\"; exec sleep 600"),
        ("babeltrace2", "printf '  10 Event messages\\n\\n  13 Event messages\\n'"),
    ];
    for (name, script) in tools {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("it is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it may be run");
    }
    let paths = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let words = ["--configs", "null,lttng-ust", "--blocks", "1", "-o", "run", "-q", "--", "true"];
    let output = headwater(directory).env("PATH", paths).env("LOG", &log).args(words).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = run_of(directory);
    let result = run.results.iter().find(|result| result.row.variant.as_deref() == Some("lttng-ust"));
    let counters = &result.expect("a row").counters;
    assert_eq!((counters["events_seen"], counters["lost"]), (20.0, 7.0));
    let said = fs::read_to_string(&log).expect("it was called");
    let once = "create\nenable-event\nstart\nstop\nlist\ndestroy\n";
    assert!(!said.is_empty() && said.replace(once, "").is_empty(), "{said}");
    for daemon in fs::read_to_string(bin.join("log.daemon")).expect("a daemon").lines() {
        assert!(!Path::new("/proc").join(daemon).exists(), "the daemon is there still");
    }
    left_nothing(directory);
}

/// The configurations with sessions of our tracer.
const CONFIGS: &str = "null,flight,drain,user-flight,user-drain";

/// Starts a long run and waits until a launch is running.
fn start_long_run(directory: &Path) -> Child {
    let words = ["--command-only", "-o", "run", "-q", "--configs", CONFIGS, "--", "sh", "-c", "sleep 0.2"];
    let child = headwater(directory).args(words).stdout(Stdio::piped()).spawn().expect("it starts");
    let events = directory.join("run/run.jsonl");
    wait_for("some launches", || {
        fs::read_to_string(&events).is_ok_and(|text| text.matches("launch_finished").count() > 20)
    });
    child
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupted_run_prints_its_results_and_leaves_nothing() {
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let child = start_long_run(place.path());
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let id = child.id();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let said = text(&output.stdout);
    assert!(said.contains("What tracing costs") && said.contains("Interrupted:"), "{said}");
    assert!(!said.contains("--resume"), "such a run is not taken up again: {said}");
    assert!(run_of(place.path()).results.iter().any(|result| result.outcome == RowOutcome::Measured));
    assert!(instances(id).is_empty());
    assert_eq!(memory_of(id), [] as [PathBuf; 0]);
    left_nothing(place.path());
}

#[test]
fn a_killed_run_leaves_no_instance_or_process_and_the_next_run_removes_its_files() {
    let _alone = KILL_RUNS_ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let mut child = start_long_run(place.path());
    let id = child.id();
    child.kill().expect("it lives");
    child.wait().expect("wait");
    wait_for("end of its instances", || instances(id).is_empty());
    let mine = format!("headwater-run-{id}-");
    wait_for("end of its processes", || !commands().iter().any(|command| command.contains(&mine)));
    let output =
        headwater(place.path()).args(["--configs", "null", "--blocks", "1", "-q", "-o", "next", "--", "true"]).output();
    assert_eq!(output.expect("it starts").status.code(), Some(0));
    assert_eq!(memory_of(id), [] as [PathBuf; 0]);
    left_nothing(place.path());
}

#[test]
fn an_abandoned_instance_is_removed_before_anything_is_measured() {
    if let Some(why) = Support::look().obstacle() {
        println!("skipped: {why}");
        return;
    }
    let _turn = KILL_RUNS_ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().expect("a directory");
    let mut dead = Command::new("true").spawn().expect("it starts");
    let id = dead.id();
    dead.wait().expect("it ends");
    let stale = Tracefs::find().expect("usable").path(&format!("instances/headwater-{id}-0"));
    fs::create_dir(&stale).expect("an instance");
    let output = short(place.path(), &["--configs", "flight"]);
    assert!(instances(id).is_empty(), "{}", text(&output.stderr));
}

/// Returns the kernel sessions' instances that belong to a process.
fn instances(id: u32) -> Vec<PathBuf> {
    let Ok(found) = Tracefs::find() else { return Vec::new() };
    let entries = fs::read_dir(found.path("instances")).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains(&format!("headwater-{id}-"))).collect()
}

/// Returns the memory of our tracer's sessions that belong to a process.
fn memory_of(id: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(headwater::trace::HOME).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains(&format!("/headwater-run-{id}-"))).collect()
}

/// Returns the command lines of all processes.
fn commands() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).map(|words| text(&words)).collect()
}

/// Checks that the directory contains only runs.
fn left_nothing(directory: &Path) {
    let names = fs::read_dir(directory).expect("it is there").flatten().map(|entry| entry.file_name());
    let others: Vec<_> = names.filter(|name| !["run", "next", "bin"].iter().any(|known| name == known)).collect();
    assert_eq!(others, [] as [&str; 0]);
}

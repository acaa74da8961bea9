//! The command as a user runs it: answers to bad input, exit statuses, interruption and resuming.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::directory::{TestDir, status};
use headwater_results::parse::parse_events;
use headwater_results::schema::{Event, Run, RunStatus};
use rustix::process::{Pid, Signal, kill_process};

/// The message on standard error, which must be one line.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.trim_end().lines().count(), 1, "one line, not: {text}");
    text
}

fn read_run(directory: &Path) -> Run {
    serde_json::from_str(&fs::read_to_string(directory.join("run.json")).expect("run.json")).expect("a run")
}

/// The launches in events, as `row block`, in their order. A launch that was repeated because a CPU was slow counts
/// once.
fn launches(events: &str) -> Vec<String> {
    let mut launches: Vec<String> = parse_events(events)
        .expect("events")
        .into_iter()
        .filter_map(|event| match event {
            Event::LaunchFinished(record) => Some(format!("{} {}", record.row, record.block)),
            _ => None,
        })
        .collect();
    launches.dedup();
    launches
}

/// Two short rows.
const QUICK: [&str; 7] = ["run", "null/stream/64", "pipe/stream/64", "--time", "5ms", "--launches", "2"];

#[test]
fn a_short_run_leaves_events_and_document_and_nothing_else() {
    let dir = TestDir::new();
    let output = dir.run(&[&QUICK[..], &["-o", "r"]].concat());
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("pipe") && text.contains("null"), "{text}");

    let run = read_run(&dir.path("r"));
    assert_eq!(run.status, RunStatus::Complete);
    for result in &run.results {
        assert_eq!(result.metrics[0].launches.len(), 2, "{}", result.row.id);
        assert!(result.metrics[0].launches.iter().all(|rate| *rate > 1000.0), "{}", result.row.id);
    }
    let mut names: Vec<_> = fs::read_dir(dir.path("r")).expect("the run").flatten().map(|e| e.file_name()).collect();
    names.sort();
    assert_eq!(names, ["run.json", "run.jsonl"]);
    assert!(dir.left_behind().is_empty(), "{:?}", dir.left_behind());
}

#[test]
fn events_on_standard_output_are_those_of_the_file() {
    let dir = TestDir::new();
    let output = dir.run(&[&QUICK[..], &["-o", "r", "--json", "--quiet"]].concat());
    assert_eq!(status(&output), 0);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text, fs::read_to_string(dir.path("r/run.jsonl")).expect("the events"));
    let events = parse_events(&text).expect("events");
    assert!(matches!(events.first(), Some(Event::RunStarted(_))));
    assert!(matches!(events.last(), Some(Event::RunFinished { .. })));
}

#[test]
fn quick_sets_a_budget_of_55_s() {
    let dir = TestDir::new();
    let planned = |option: &[&str]| {
        let output = dir.run(&[&["run", "ipc", "--dry-run", "--seed", "1"], option].concat());
        assert_eq!(status(&output), 0);
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(planned(&["--quick"]), planned(&["--budget", "55s"]));
    assert_ne!(planned(&["--quick"]), planned(&[]));
}

#[test]
fn operations_are_shown_side_by_side_and_by_lmbenchs_rule() {
    let dir = TestDir::new();
    let run = dir.run(&["run", "lmbench", "null-call", "--launches", "2", "--time", "5ms", "-q", "-o", "today"]);
    assert_eq!(status(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    let metrics = &read_run(&dir.path("today")).results[0].metrics;
    let names: Vec<&str> = metrics.iter().map(|metric| metric.metric.name.as_str()).collect();
    assert_eq!(names, ["elapsed", "lmbench_value"]);
    let shown = dir.run(&["show", "published:ltt/up-a", "today", "--lmbench-value"]);
    let text = String::from_utf8(shown.stdout).expect("text");
    assert!(text.contains("lmbench_value: of a launch the median of 11"), "{text}");
    let heads = text.lines().find(|line| line.contains("operation ")).expect("a table");
    assert_eq!(heads.split_whitespace().collect::<Vec<_>>(), ["operation", "up-a", "today"]);
    assert!(text.lines().any(|line| line.trim_start().starts_with("null-call") && line.contains("0.34")), "{text}");
}

#[test]
fn a_budget_is_kept_even_within_the_first_block() {
    let dir = TestDir::new();
    let started = Instant::now();
    let settings = ["--budget", "1s", "--time", "200ms", "--launches", "3", "-o", "r"];
    let output = dir.run(&[&["run", "overview"], &settings[..]].concat());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(status(&output), 4);
    assert!(String::from_utf8_lossy(&output.stdout).contains("raise it"), "the output says so");
    let run = read_run(&dir.path("r"));
    assert_eq!(run.status, RunStatus::Partial);
    let measured = run.results.iter().filter(|result| !result.metrics.is_empty()).count();
    assert!(measured > 0 && measured < run.results.len(), "{measured} of {}", run.results.len());
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let dir = TestDir::new();
    let order = |directory: &str, seed: &str| -> Vec<String> {
        let arguments = ["run", "null", "--time", "1ms", "--warm-up", "1ms", "--launches", "2", "--quiet", "-o"];
        let output = dir.run(&[&arguments[..], &[directory, "--seed", seed]].concat());
        assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
        launches(&fs::read_to_string(dir.path(directory).join("run.jsonl")).expect("the events"))
    };
    let first = order("a", "5");
    assert!(first.len() >= 6, "{first:?}");
    assert_eq!(first, order("b", "5"));
    assert_ne!(first, order("c", "6"));
}

#[test]
fn bad_input_is_one_line_and_status_2_and_leaves_nothing() {
    let dir = TestDir::new();
    fs::write(dir.path("file"), "").expect("room on the disk");
    fs::write(dir.path("bad.toml"), "launchs = 3\n").expect("room on the disk");
    fs::write(dir.path("torn.jsonl"), "{\"event\":\"run_st").expect("room on the disk");
    fs::write(dir.path("number.toml"), "time = 3\n").expect("room on the disk");
    fs::write(dir.path("broken.json"), "{\n").expect("room on the disk");
    fs::write(dir.path("file.txt"), "hello\n").expect("room on the disk");
    fs::write(dir.path("new.json"), "{\"schema_version\": 99}").expect("room on the disk");
    for (arguments, words) in [
        (&["run", "overviev"][..], "did you mean overview"),
        (&["run", "pipe/rtx"], "pipe/rtt/64"),
        (&["run", "ipc", "matrix"], "no row of ipc, but of overview, fifo"),
        (&["run", "pipe", "fifo"], "suite:fifo"),
        (&["run", "--config", "bad.toml"], "launchs"),
        (&["run", "--config", "missing.toml"], "missing.toml"),
        (&["run", "-o", "file/below"], "file/below"),
        (&["run", "-o", "/proc/headwater"], "/proc/headwater"),
        (&["run", "--resume", "missing"], "missing"),
        (&["run", "--transport-cmd", "./missing"], "cannot start ./missing"),
        (&["show", "missing"], "missing"),
        (&["show", "torn.jsonl"], "torn.jsonl"),
        (&["show", "new.json"], "newer"),
        (&["list", "nothing-like-it"], "is neither a suite nor a row"),
        (&["man", "missing"], "check the name"),
        (&["show", "file"], "run.json or run.jsonl"),
        (&["show", ""], "there is no such run"),
        (&["show", "broken.json"], "copy it again"),
        (&["show", "tmp"], "holds no run"),
        (&["show", "published:pipes/fc7"], "did you mean fc6"),
        (&["run", "--resume", "file"], "no run to continue"),
        (&["run", "--resume", "tmp"], "no run to continue"),
        (&["run", "--config", "number.toml"], "line 1: invalid type: integer `3`, expected a string; `headwater run"),
        (&["run", "--config", "bad.toml"], "line 1: unknown field `launchs`"),
        (&["run", "--transport-cmd", "false"], "docs/external-transports.md"),
        (&["run", "--transport-cmd", ""], "the command is empty"),
        (&["run", "--variant", "x", "pipe"], "NAME=[KEY=VALUE"),
        (&["run", "--fail-on", "regression", "pipe"], "add --variant or --against"),
        (&["run", "--against", "published:pipes/fc6"], "measure with --variant"),
        (&["compare", "published:pipes/fc6"], "name a second one"),
        (&["compare", "published:pipes/fc6", "missing"], "there is no such run"),
        (&["compare", "published:pipes", "--noise", "file"], "not a noise record"),
        (&["report", "published:pipes/fc6", "--baseline", "nothing"], "`headwater show` lists them"),
        (&["report", "published:pipes/fc6", "-f", "nothing"], "`headwater show` lists them"),
        (&["report", "published:pipes/fc6", "-o", "file.txt"], "--force"),
        (&["export", "published:pipes/fc6", "--format", "csv", "-o", "tmp"], "name a file in it"),
        (&["export", "published:pipes/fc6", "--format", "bench", "--per-launch"], "--per-launch is for csv"),
        (&["import", "netperf", "file.txt"], "what is read"),
        (&["import", "lmbench", "file.txt"], "what is read"),
        (&["import", "lmbench", "missing"], "check the name"),
        (&["perftest", "-m", "nothing", "--push", "1"], "known are bufmod"),
        (&["perftest", "--native", "--push", "1"], "use --both"),
        (&["overhead", "nothing"], "there are compile"),
        (&["overhead", "--built", "", "--", "true"], "the command is empty"),
        (&["trace", "show", "tmp"], "there is no trace here"),
        (&["trace", "recover", "tmp"], "name the directory that `headwater trace record` wrote to"),
        (&["trace", "list", "missing"], "no such recording"),
        (&["streams", "log", "1", "2"], "triplets"),
        (&["streams", "log", "a", "b", "c"], "neither a number nor `all`"),
        (&["streams", "log", "-d", "nowhere"], "nowhere is no directory"),
        (&["streams", "attach", "file"], "give --driver"),
        (&["streams", "attach", "file", "--driver", "nothing"], "known are echo"),
        (&["streams", "detach", "file"], "no stream is attached"),
        (&["streams", "top", "-i", "1ms"], "at least 50 ms"),
    ] {
        let output = dir.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        let complaint = complaint(&output);
        assert!(complaint.starts_with("headwater: ") && complaint.contains(words), "{arguments:?}: {complaint}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(!dir.path("headwater-runs").exists(), "nothing was measured");
    assert!(dir.left_behind().is_empty());
}

#[test]
fn malformed_options_are_refused_by_name_with_status_2() {
    let dir = TestDir::new();
    for (arguments, words) in [
        (&["run", "--sizes", "4q"][..], "is not a size"),
        (&["run", "--sizes", "8..1"], "ends before it starts"),
        (&["run", "--time", "soon"], "is not a duration"),
        (&["run", "--budget", "0"], "more than 0 and at most a day"),
        (&["run", "--launches", "many"], "it is not a whole number"),
        (&["run", "--seed", "abc"], "it is not a whole number"),
        (&["trace", "attach", "x"], "it is not a whole number"),
        (&["run", "--more", "3"], "--resume"),
        (&["compare", "a", "b", "--alpha", "2"], "a share is a number between 0 and 100 %"),
        (&["compare", "a", "b", "--fail-on", "5%"], "`regression:5%`"),
        (&["export", "a", "--format", "xml"], "there are csv"),
        (&["report", "a", "--svg", "pie"], "there are performance"),
        (&["import", "iperf", "file"], "there are netperf"),
        (&["perftest", "--hiwat", "x"], "write it like 8192 or 64k"),
        (&["trace", "record", "--buffer", "1000", "--", "true"], "such as 16k"),
        (&["streams", "top", "--sort", "x"], "possible values"),
        (&["completions", "tcsh"], "possible values"),
        (&["run", "--placement", "two-cpu"], "did you mean two-cpus"),
        (&["run", "--launches", "0"], "not in 1..=10000"),
        (&["run", "--lanches", "3"], "--launches"),
    ] {
        let output = dir.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn a_configuration_file_has_every_option_and_the_command_line_overrides_it() {
    let dir = TestDir::new();
    let printed = dir.run(&[&QUICK[..], &["--seed", "3", "--sizes", "64,128", "--print-config"]].concat());
    assert_eq!(status(&printed), 0);
    fs::write(dir.path("c.toml"), &printed.stdout).expect("room on the disk");
    let again = dir.run(&["run", "--config", "c.toml", "--print-config"]);
    assert_eq!(printed.stdout, again.stdout, "what is printed reads back");
    let changed = dir.run(&["run", "--config", "c.toml", "--seed", "4", "--print-config"]);
    assert!(String::from_utf8_lossy(&changed.stdout).contains("seed = 4"));
}

#[test]
fn a_dry_run_measures_nothing() {
    let dir = TestDir::new();
    let output = dir.run(&["run", "fifo", "--dry-run"]);
    assert_eq!(status(&output), 0);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("fifo/matrix/64x100/") && text.contains("Nothing was measured"), "{text}");
    assert!(!dir.path("headwater-runs").exists());
}

/// The processes whose command line or environment contains this directory.
fn processes_of(dir: &TestDir) -> Vec<String> {
    let needle = dir.root().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if name.chars().all(|c| c.is_ascii_digit()) && String::from_utf8_lossy(&environment).contains(&needle) {
            found.push(name);
        }
    }
    found
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "timed out waiting for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a long run of transports that briefly have names, and waits until two launches are done.
fn long_run(dir: &TestDir) -> std::process::Child {
    let selection = ["run", "fifo/stream", "sysv-mq/stream", "posix-mq/stream", "fifo-socket/rtt"];
    let settings = ["--time", "100ms", "--launches", "200", "--quiet", "-o", "r"];
    let child = dir.command(&[&selection[..], &settings[..]].concat()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the command starts");
    wait_until("two launches", || {
        fs::read_to_string(dir.path("r/run.jsonl")).is_ok_and(|text| text.matches("launch_finished").count() >= 2)
    });
    child
}

fn send(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it is there");
}

#[test]
fn after_a_stop_signal_nothing_is_left_and_the_run_can_be_resumed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let dir = TestDir::new();
        let child = long_run(&dir);
        send(&child, signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(status(&output), 130, "{signal:?}");
        assert!(complaint(&output).contains("--resume"), "{signal:?}");
        assert!(processes_of(&dir).is_empty(), "{signal:?}: {:?}", processes_of(&dir));
        assert!(dir.left_behind().is_empty(), "{signal:?}: {:?}", dir.left_behind());
        assert_eq!(read_run(&dir.path("r")).status, RunStatus::Interrupted);
        assert_eq!(status(&dir.run(&["show", "r"])), 4, "an interrupted run is a partial one");
    }
}

#[test]
fn the_last_line_of_an_interrupted_run_says_how_to_continue() {
    let dir = TestDir::new();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let selection = ["run", "pipe/stream/64", "--time", "50ms", "--launches", "400", "-o", "r"];
    let mut command = dir.command(&selection);
    command.stderr(writer.try_clone().expect("a descriptor")).stdout(writer);
    let mut child = command.spawn().expect("the command starts");
    drop(command);
    wait_until("two launches", || {
        fs::read_to_string(dir.path("r/run.jsonl")).is_ok_and(|text| text.matches("launch_finished").count() >= 2)
    });
    send(&child, Signal::INT);
    child.wait().expect("it ends");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).expect("text");
    assert!(text.contains("Kept in r"), "{text}");
    let last = text.trim_end().lines().last().expect("a line");
    assert_eq!(last, "headwater: interrupted; `headwater run --resume r` goes on", "{text}");
}

#[test]
fn a_signal_while_rows_are_probed_is_an_interruption_too() {
    let dir = TestDir::new();
    let child = dir.command(&["run", "lmbench", "--quiet", "-o", "r"]).stderr(Stdio::piped()).spawn();
    let child = child.expect("the command starts");
    // Each row is probed by a process of its own.
    wait_until("a row is tried", || processes_of(&dir).len() > 1);
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(status(&output), 130, "{}", complaint(&output));
    assert!(complaint(&output).contains("before the first launch"), "{}", complaint(&output));
    assert!(processes_of(&dir).is_empty() && dir.left_behind().is_empty(), "{:?}", dir.left_behind());
}

/// Its process id means another process here, or none.
#[test]
fn the_files_of_a_live_run_of_another_pid_namespace_stay() {
    let dir = TestDir::new();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", env!("CARGO_BIN_EXE_headwater")]);
    command.args(["run", "pipe/stream/64", "--time", "20s", "--launches", "3", "--quiet", "-o", "long"]);
    command.current_dir(dir.root()).env("TMPDIR", dir.tmp()).stdin(Stdio::null()).stderr(Stdio::piped());
    let Ok(mut run) = command.spawn() else { return println!("skipped: unshare(1) is missing") };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !dir.path("long/run.jsonl").exists() {
        if run.try_wait().expect("wait").is_some() {
            let mut said = String::new();
            std::io::Read::read_to_string(&mut run.stderr.take().expect("a pipe"), &mut said).expect("read");
            assert!(said.contains("unshare"), "{said}");
            return println!("skipped: {said}");
        }
        assert!(Instant::now() < deadline, "it begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    let live = dir.left_behind();
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(status(&dir.run(&QUICK)), 0);
    assert_eq!(dir.left_behind(), live);
    run.kill().expect("it is there");
    run.wait().expect("wait");
    // The kernel releases the lock when the last process of the run has ended.
    while !dir.left_behind().is_empty() {
        assert_eq!(status(&dir.run(&["list", "pipe", "--all"])), 0);
        assert!(Instant::now() < deadline, "{:?}", dir.left_behind());
    }
}

#[test]
fn after_sigkill_no_process_is_left_and_the_next_run_removes_the_files() {
    let dir = TestDir::new();
    let mut child = long_run(&dir);
    let done = |dir: &TestDir| {
        let text = fs::read_to_string(dir.path("r/run.jsonl")).expect("the events");
        text.matches("launch_finished").count()
    };
    send(&child, Signal::KILL);
    child.wait().expect("it ends");
    wait_until("no process is left", || processes_of(&dir).is_empty());
    assert!(done(&dir) >= 2, "what was measured is kept");
    let other = dir.run(&[&QUICK[..], &["-o", "other"]].concat());
    assert_eq!(status(&other), 0);
    assert!(dir.left_behind().is_empty(), "{:?}", dir.left_behind());
}

#[test]
fn a_resumed_run_measures_the_missing_launches_in_the_same_order() {
    let dir = TestDir::new();
    let whole = [&QUICK[..], &["--seed", "9", "-o", "r", "--quiet"]].concat();
    assert_eq!(status(&dir.run(&whole)), 0);
    let path = dir.path("r/run.jsonl");
    let text = fs::read_to_string(&path).expect("the events");
    let all = launches(&text);
    assert_eq!(all.len(), 4);
    // Cut the file as a power failure would: in the middle of the second launch's line.
    let second = text.match_indices("launch_finished").nth(1).expect("a second launch").0;
    fs::write(&path, &text[..second + 30]).expect("room on the disk");
    let output = dir.run(&["run", "--resume", "r", "--quiet"]);
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(launches(&fs::read_to_string(&path).expect("the events")), all);
    assert_eq!(read_run(&dir.path("r")).status, RunStatus::Complete);
    assert!(complaint(&dir.run(&["run", "--resume", "r"])).contains("complete"));
}

#[test]
fn list_names_every_row_with_a_verdict() {
    let dir = TestDir::new();
    let output = dir.run(&["list", "overview"]);
    assert_eq!(status(&output), 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    // Every suite, also those with a name that a transport has.
    let all = dir.run(&["list", "--all"]);
    assert_eq!(status(&all), 0, "{}", String::from_utf8_lossy(&all.stderr));
    assert!(rows.len() > 80, "{text}");
    assert!(rows.iter().all(|row| row.contains("  runs") || row.contains("  skipped: ")), "{text}");
    assert!(dir.left_behind().is_empty());
}

#[test]
fn completions_and_man_pages_know_the_subcommands() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = dir.run(&["completions", shell]);
        assert!(String::from_utf8_lossy(&script.stdout).contains(&format!("complete {shell} --")), "{shell}");
        let words: &[&str] = if shell == "bash" { &["headwater do"] } else { &["headwater", "do"] };
        let output = dir.run(&[&["complete", shell, "--"], words].concat());
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("doctor\t"), "{shell}");
    }
    fs::create_dir(dir.path("man")).expect("an empty directory");
    assert_eq!(status(&dir.run(&["man", "man"])), 0);
    let page = fs::read_to_string(dir.path("man/headwater-run.1")).expect("the page of run");
    assert!(page.contains("transport"), "{page}");
    assert!(!dir.path("man/headwater-conduct.1").exists(), "hidden");
}

#[test]
fn a_traced_launch_shows_wake_ups_and_the_report_links_it() {
    let dir = TestDir::new();
    let output = dir.run(&[
        "run",
        "streams-pipe/wake/64/two-cpus",
        "pipe/wake/64/two-cpus",
        "--launches=1",
        "--time=5ms",
        "-o=r",
        "--trace",
    ]);
    assert!([0, 4].contains(&status(&output)), "{}", String::from_utf8_lossy(&output.stderr));
    let run = read_run(&dir.path("r"));
    if run.results.iter().all(|result| !result.row.id.starts_with("streams-pipe/") || result.metrics.is_empty()) {
        println!("skipped: the row does not run here");
        return;
    }
    // The kernel's pipe has no events of ours, and so no trace.
    let rows: Vec<_> = fs::read_dir(dir.path("r/traces")).expect("traces").collect();
    assert_eq!(rows.len(), 2, "a row and the index: {rows:?}");
    let timeline =
        fs::read_to_string(dir.path("r/traces/streams-pipe_wake_64_two-cpus/timeline.txt")).expect("a time line");
    assert!(timeline.contains("woken by"), "{timeline}");
    // The traced launch is not part of the run.
    assert_eq!(launches(&fs::read_to_string(dir.path("r/run.jsonl")).expect("the events")).len(), 2);
    assert_eq!(status(&dir.run(&["report", "r"])), 0);
    let page = fs::read_to_string(dir.path("r/report.html")).expect("a page");
    assert!(page.contains("href=\"traces/streams-pipe_wake_64_two-cpus/perfetto.json\""), "no link");
    assert!(page.contains("wake_from"), "no time line");
    assert!(dir.left_behind().is_empty());
}

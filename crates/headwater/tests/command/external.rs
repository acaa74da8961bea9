//! External transports through the command: a correct one is a row like any other. Any fault of a program ends in one
//! clear message, does not affect the other rows, and leaves no process behind.
//!
//! The programs are scripts for Python 3; without it, the tests print so and pass.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use headwater_gauge::harness::payload::{Payload, stamp};
use headwater_gauge::harness::protocol::{Reply, Request};
use headwater_results::schema::{RowOutcome, RowResult, Run};
use tempfile::TempDir;

const USAGE: i32 = 2;
const PARTIAL: i32 = 4;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn minimal() -> PathBuf {
    root().join("examples/peers/minimal/peer.py")
}

fn document() -> String {
    fs::read_to_string(root().join("docs/external-transports.md")).expect("the document")
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: python3 is missing");
    }
    found
}

/// Returns the command line of the minimal program with a fault.
fn faulty(fault: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/external/faulty.py");
    format!("python3 -S '{}' '{}' {fault}", script.display(), minimal().display())
}

/// A run with an output directory of its own and an environment variable that marks all of its processes.
struct Trial {
    directory: TempDir,
    mark: String,
}

/// The result of a [`Trial`].
struct Ended {
    output: Output,
    /// `None` if nothing was measured.
    run: Option<Run>,
}

impl Trial {
    fn new() -> Trial {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Trial {
            directory: TempDir::new().expect("a directory"),
            mark: format!("HEADWATER_TEST_MARK={}-{number}", std::process::id()),
        }
    }

    /// Runs `headwater run` briefly with `rows` and `programs`, and checks that nothing is left behind.
    fn run(rows: &[&str], programs: &[&str]) -> Ended {
        // Long enough for an interpreter to start on a busy machine.
        Trial::run_with_patience("30s", rows, programs)
    }

    fn run_with_patience(patience: &str, rows: &[&str], programs: &[&str]) -> Ended {
        let trial = Trial::new();
        let (scratch, output) = (trial.directory.path().join("tmp"), trial.directory.path().join("run"));
        fs::create_dir(&scratch).expect("a directory");
        let (name, value) = trial.mark.split_once('=').expect("the mark has both");
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.arg("run").args(rows).args([
            "--launches",
            "2",
            "--time",
            "5ms",
            "--warm-up",
            "1ms",
            "--patience",
            patience,
        ]);
        command.args(["--sizes", "64", "--placement", "free", "--output"]).arg(&output);
        command.args(programs.iter().flat_map(|program| ["--transport-cmd", program]));
        let output_of_run = command.env(name, value).env("TMPDIR", &scratch).output().expect("headwater starts");
        trial.assert_nothing_is_left(&scratch);
        let run =
            fs::read_to_string(output.join("run.json")).ok().map(|text| serde_json::from_str(&text).expect("run.json"));
        Ended { output: output_of_run, run }
    }

    fn assert_nothing_is_left(&self, scratch: &Path) {
        // A program below a wrapper ends when its input ends.
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.processes(), Vec::<String>::new(), "processes that are left");
        let files: Vec<_> = fs::read_dir(scratch).expect("the directory").flatten().map(|entry| entry.path()).collect();
        assert_eq!(files, Vec::<PathBuf>::new(), "files that are left");
    }

    /// Returns the command lines of the processes that have the mark.
    fn processes(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries
            .filter(|entry| {
                let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
                environment.split(|&byte| byte == 0).any(|variable| variable == self.mark.as_bytes())
            })
            .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " "))
            .collect()
    }
}

impl Ended {
    fn status(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn row(&self, id: &str) -> &RowResult {
        let results = &self.run.as_ref().unwrap_or_else(|| panic!("no run: {}", self.errors())).results;
        results.iter().find(|result| result.row.id.starts_with(id)).unwrap_or_else(|| panic!("no row {id}"))
    }

    /// Returns the figure of a row that was measured in every block.
    fn figure(&self, id: &str) -> f64 {
        let row = self.row(id);
        assert_eq!(row.outcome, RowOutcome::Measured, "{id}: {:?}", self.errors());
        assert_eq!(row.metrics[0].blocks, [0, 1], "{id} has a value in each block");
        row.metrics[0].estimate.median
    }
}

/// Checks a program that fails before anything is measured: exit status 2, and one line that contains `words`.
fn refused(program: &str, words: &str) {
    let ended = Trial::run(&["pipe/stream", "faulty/stream"], &[program]);
    let errors = ended.errors();
    assert_eq!(ended.status(), Some(USAGE), "{errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "one line: {errors}");
    assert!(errors.contains(words) && errors.contains("--transport-cmd"), "{words:?} is not in {errors:?}");
    assert!(ended.run.is_none(), "nothing was measured");
}

/// Checks a program that fails while it is measured: exit status 4, one line that contains `words`, and a complete row
/// of the pipe.
fn fails(fault: &str, words: &str) {
    fails_with_patience("30s", fault, words);
}

fn fails_with_patience(patience: &str, fault: &str, words: &str) {
    let lines = failures(patience, fault);
    assert!(lines.contains(words), "{words:?} is not in {lines:?}");
}

/// The line about a program that fails while it is measured.
fn failures(patience: &str, fault: &str) -> String {
    let rows = ["pipe/stream", "faulty/stream"];
    let ended = Trial::run_with_patience(patience, &rows, &[&faulty(fault)]);
    let errors = ended.errors();
    assert_eq!(ended.status(), Some(PARTIAL), "{errors}");
    let lines: Vec<&str> = errors.lines().filter(|line| line.contains("faulty/stream/64")).collect();
    assert_eq!(lines.len(), 1, "{fault}: one line: {errors}");
    assert!(lines[0].starts_with("failed: "), "{lines:?}");
    assert!(matches!(ended.row("faulty/stream/64").outcome, RowOutcome::Failed { .. }));
    assert!(ended.figure("pipe/stream/64") > 0.0);
    lines[0].to_owned()
}

#[test]
fn a_good_program_is_a_row_like_any_other() {
    if !has_python() {
        return;
    }
    let program = format!("python3 '{}'", minimal().display());
    let ended = Trial::run(&["pipe/stream", "pipe/rtt", "py-socket"], &[&program]);
    assert_eq!(ended.status(), Some(0), "{}", ended.errors());
    for subject in ["pipe", "py-socket"] {
        assert!(ended.figure(&format!("{subject}/stream/64")) > 1000.0);
        assert!(ended.figure(&format!("{subject}/rtt/64")) > 100.0);
    }
    let row = ended.row("py-socket/rtt/64");
    assert!(!row.percentiles["rtt"].is_empty(), "its histogram came through");
    assert!(row.counters["sender_user_s"] + row.counters["sender_system_s"] > 0.0, "its cost came through");
}

#[test]
fn an_unreported_value_is_absent_and_not_zero() {
    if !has_python() {
        return;
    }
    let ended = Trial::run(&["faulty/stream"], &[&faulty("silent-cost")]);
    assert_eq!(ended.status(), Some(0), "{}", ended.errors());
    assert!(ended.figure("faulty/stream/64") > 1000.0);
    assert_eq!(ended.row("faulty/stream/64").counters.get("sender_user_s"), None);
}

#[test]
fn a_bad_description_is_refused_before_anything_is_measured() {
    if !has_python() {
        return;
    }
    for (fault, words) in [
        ("die-describe", "ended without an answer to describe"),
        ("nonsense-describe", "is not of the protocol"),
        ("error-describe", "the library says no"),
        ("other-version", "speaks version 2 of the protocol, this is version 1"),
        ("no-pattern", "none of the patterns"),
        ("none a/b", "\"a/b\" is no name for a row"),
        ("none -n", "\"-n\" is no name for a row"),
        ("none rtt", "\"rtt\" is the name of a suite or pattern"),
        ("none pipe", "there is a transport pipe already"),
    ] {
        refused(&faulty(fault), words);
    }
    refused("/no/such/program", "cannot start /no/such/program");
    refused("'", "not closed");
}

#[test]
fn two_programs_with_the_same_name_are_refused() {
    if !has_python() {
        return;
    }
    let ended = Trial::run(&["faulty/stream"], &[&faulty("none"), &faulty("none")]);
    assert_eq!(ended.status(), Some(USAGE));
    assert!(ended.errors().contains("there is a transport faulty already"), "{}", ended.errors());
}

#[test]
fn a_program_that_dies_fails_only_its_row() {
    if !has_python() {
        return;
    }
    fails("die-prepare", "the receiver died (exit status: 3)");
    fails("die-run", "the sender died (exit status: 3)");
}

#[test]
fn a_program_that_hangs_is_killed_after_the_patience() {
    if !has_python() {
        return;
    }
    fails_with_patience("2s", "hang-prepare", "the receiver was stuck: no answer for 2 s");
    fails_with_patience("2s", "hang-run", "was stuck: no answer for 2 s");
}

#[test]
fn a_program_that_does_not_end_is_killed() {
    if !has_python() {
        return;
    }
    // On a loaded machine it may not have started within a short patience, and is stuck before it comes to its end.
    let is_killed_at_its_end = |patience_s: u32| {
        let line = failures(&format!("{patience_s}s"), "deaf");
        let is_stuck = line.contains(&format!("was stuck: no answer for {patience_s} s"));
        let is_deaf = line.contains(&format!("did not end within {patience_s} s after finish"));
        assert!(is_stuck != is_deaf, "{line}");
        is_deaf
    };
    assert!([2, 8, 30].into_iter().any(is_killed_at_its_end));
}

#[test]
fn a_program_with_an_invalid_answer_fails_only_its_row() {
    if !has_python() {
        return;
    }
    fails("nonsense-prepare", "the receiver answered nonsense");
    fails("nonsense-run", "the sender answered nonsense");
    fails("error-prepare", "the receiver: the library says no");
    fails("few-stamps", "stamps_ns has 2 time stamps for 160 batches");
}

#[test]
fn a_wrong_payload_fails_only_its_row() {
    if !has_python() {
        return;
    }
    fails("damage", "wrong payload: message 300 of 64 bytes");
}

#[test]
fn a_program_that_cannot_run_here_skips_its_row() {
    if !has_python() {
        return;
    }
    let ended = Trial::run(&["pipe/stream", "faulty/stream"], &[&faulty("skip-prepare")]);
    assert_eq!(ended.status(), Some(PARTIAL), "{}", ended.errors());
    assert_eq!(ended.row("faulty/stream/64").outcome, RowOutcome::Skipped { reason: "no such device".into() });
    assert!(ended.errors().contains("skipped: faulty/stream/64/free: no such device"), "{}", ended.errors());
    assert!(ended.figure("pipe/stream/64") > 0.0);
}

#[test]
fn a_program_below_a_wrapper_is_not_left_behind() {
    if !has_python() {
        return;
    }
    let wrapped = format!("sh -c \"{}; true\"", faulty("hang-run"));
    let ended = Trial::run_with_patience("1s", &["faulty/stream"], &[&wrapped]);
    assert_eq!(ended.status(), Some(PARTIAL), "{}", ended.errors());
}

#[test]
fn the_document_contains_the_tested_program() {
    let program = fs::read_to_string(minimal()).expect("the program");
    assert!(
        document().contains(&format!("```python\n{program}```\n")),
        "docs/external-transports.md has another peer.py"
    );
}

#[test]
fn every_message_in_the_document_is_valid() {
    let document = document();
    let (mut requests, mut replies) = (BTreeSet::new(), BTreeSet::new());
    for line in document.lines() {
        if let Some(text) = line.strip_prefix("> ").filter(|text| text.starts_with('{')) {
            let request: Request = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
            assert_eq!(serde_json::to_string(&request).expect("JSON"), text, "as it is sent, to the letter");
            requests.insert(operation(text));
        } else if let Some(text) = line.strip_prefix("< ") {
            serde_json::from_str::<Reply>(text).unwrap_or_else(|error| panic!("{error} in {text}"));
            replies.insert(operation(text));
        }
    }
    assert_eq!(requests.into_iter().collect::<Vec<_>>(), ["describe", "finish", "prepare", "run"]);
    assert_eq!(replies.into_iter().collect::<Vec<_>>(), ["description", "error", "ready", "result", "skipped"]);
}

/// Returns the `op` of a message.
fn operation(text: &str) -> String {
    let message: serde_json::Value = serde_json::from_str(text).expect("JSON");
    message["op"].as_str().expect("op is a string").to_owned()
}

#[test]
fn the_test_vectors_of_the_document_are_correct() {
    let document = document();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    for sequence in [0, 1, 255] {
        let line = format!("| {sequence} | `0x{:016x}` | `{}` |", stamp(sequence), hex(&stamp(sequence).to_le_bytes()));
        assert!(document.contains(&line), "{line}");
    }
    for (size, from, to) in
        [(7, 0, 7), (12, 0, 12), (16, 0, 16), (5000, 0, 16), (5000, 248, 256), (5000, 4088, 4112), (5000, 4984, 5000)]
    {
        let mut payload = Payload::new(size);
        let line = format!("| {size} | {from}..{to} | `{}` |", hex(&payload.message(1)[from..to]));
        assert!(document.contains(&line), "{line}");
    }
    let mut payload = Payload::new(12);
    payload.poison();
    let line = format!("`{}`", hex(payload.space()));
    assert!(document.contains(&line), "{line}");
}

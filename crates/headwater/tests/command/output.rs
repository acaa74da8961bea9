//! What the command does where it cannot write: a reader that has left, a full disk, limits on files.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Output, Stdio};

use crate::directory::{TestDir, status};

/// Two short rows.
const QUICK: [&str; 6] = ["run", "null/stream/64", "pipe/stream/64", "--time=5ms", "--launches=2", "--quiet"];

/// Every subcommand that prints, in each of its formats. `r` is a run; what writes has a place of its own.
const PRINTING: [&[&str]; 31] = [
    &["--help"],
    &["--version"],
    &["run", "--help"],
    &["list"],
    &["list", "--json", "pipe"],
    &["list", "--all", "pipe/stream"],
    &["list", "published"],
    &["list", "published", "--claims"],
    &["show", "r"],
    &["show", "r", "published:ltt/up-a"],
    &["show", "r", "--json"],
    &["compare", "r", "--by=transport"],
    &["compare", "r", "--by=transport", "--json"],
    &["run", "fifo", "--dry-run"],
    &["run", "fifo", "--dry-run", "--json"],
    &["run", "--print-config"],
    &["run", "null/stream/64", "--time=1ms", "--launches=1", "--output=new"],
    &["run", "null/stream/64", "--time=1ms", "--launches=1", "--output=new", "--json"],
    &["perftest", "--dry-run"],
    &["report", "r", "--output=-"],
    &["report", "published:pipes/fc6", "--svg=performance", "--output=-"],
    &["export", "r", "--format=csv"],
    &["export", "r", "--format=json"],
    &["doctor"],
    &["doctor", "--json"],
    &["completions", "bash"],
    &["complete", "fish", "--", "headwater", "ru"],
    &["streams", "ls"],
    &["streams", "top", "--count=1", "--interval=100ms"],
    &["trace", "list"],
    &["overhead", "--configs=off,null", "--blocks=1", "--output=new", "--", "true"],
];

fn directory_with_run() -> TestDir {
    let dir = TestDir::new();
    let output = dir.run(&[&QUICK[..], &["-o", "r"]].concat());
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    dir
}

fn printed_to(dir: &TestDir, arguments: &[&str], out: Stdio) -> (i32, String) {
    let child = dir.command(arguments).stdout(out).stderr(Stdio::piped()).spawn().expect("the command starts");
    let output = child.wait_with_output().expect("it ends");
    // What a run says of its progress, of rows that this machine cannot run, and of other tests.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_of_run =
        |line: &&str| line.starts_with("block ") || line.contains(", about ") || line.starts_with("another headwater");
    let said: Vec<&str> = said.lines().filter(|line| !is_of_run(line)).collect();
    let _ = fs::remove_dir_all(dir.path("new"));
    (status(&output), said.join("\n"))
}

#[test]
fn a_reader_that_has_left_is_no_error() {
    let dir = directory_with_run();
    for arguments in PRINTING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(printed_to(&dir, arguments, writer.into()), (0, String::new()), "{arguments:?}");
    }
}

#[test]
fn a_standard_output_that_is_full_is_an_error_of_one_line() {
    let dir = directory_with_run();
    for arguments in PRINTING {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let (code, said) = printed_to(&dir, arguments, full.into());
        assert_eq!(code, 2, "{arguments:?}: {said}");
        let words = "headwater: standard output: No space left on device (os error 28); make room";
        assert!(said.starts_with(words) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
}

#[test]
fn a_standard_error_that_is_full_changes_nothing_else() {
    let dir = TestDir::new();
    let full = || OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for (arguments, expected) in [(&["show", "missing"][..], 2), (&["run", "pipe/rtx"], 2), (&["list", "-x"], 2)] {
        let code = dir.command(arguments).stderr(full()).status().expect("the command starts").code();
        assert_eq!(code, Some(expected), "{arguments:?}");
    }
    let run = ["run", "null/stream/64", "--time=1ms", "--launches=1", "-o", "r"];
    assert_eq!(dir.command(&run).stderr(full()).stdout(Stdio::null()).status().expect("it starts").code(), Some(0));
}

/// Runs the command with files of at most this many KiB, or as many open files.
fn limited(dir: &TestDir, limit: &str, arguments: &[&str]) -> Output {
    let own = dir.command(arguments);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(own.get_program()).args(arguments);
    shell.current_dir(dir.root()).env("TMPDIR", dir.tmp()).stdin(Stdio::null());
    shell.output().expect("bash starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_that_cannot_be_stored_prints_what_it_has_measured() {
    let dir = TestDir::new();
    // The beginning of a run takes some 15 KiB, and a launch about one.
    let arguments = ["run", "null/stream/64", "pipe/stream/64", "--time=5ms", "--launches=400", "-o", "r"];
    let output = limited(&dir, "-f 40", &arguments);
    assert_eq!(status(&output), 2, "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("pipe") && !text.contains("Kept in"), "{text}");
    let last = said(&output).trim_end().lines().last().expect("an error").to_owned();
    assert!(last.contains("File too large") && last.contains("`headwater run --resume r` goes on"), "{last}");
    assert_eq!(status(&dir.run(&["show", "r"])), 4, "what was measured can be shown");
    assert_eq!(names(dir.root()).len(), 2, "{:?}", names(dir.root()));
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let dir = TestDir::new();
    let output = limited(&dir, "-f 4", &[&QUICK[..], &["-o", "deep/r"]].concat());
    assert_eq!(status(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("`ulimit -f unlimited`"), "{}", said(&output));
    assert!(!dir.path("deep/r").exists());
}

#[test]
fn an_output_file_is_written_whole_or_not_at_all() {
    let dir = directory_with_run();
    fs::create_dir(dir.path("man")).expect("an empty directory");
    for arguments in
        [&["export", "r", "--format=json", "-o", "out"][..], &["report", "r", "-o", "out"], &["man", "man"]]
    {
        let output = limited(&dir, "-f 2", arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains("`ulimit -f unlimited`"), "{arguments:?}: {}", said(&output));
        let mut left = names(dir.root());
        left.sort();
        assert_eq!(left, ["man", "r", "tmp"], "{arguments:?}");
        for page in names(&dir.path("man")) {
            assert!(page.ends_with(".1"), "{page}");
            assert!(fs::metadata(dir.path("man").join(&page)).expect("a page").len() > 0, "{page}");
        }
    }
}

#[test]
fn too_few_open_files_are_named_with_the_remedy() {
    let dir = directory_with_run();
    for arguments in [&[&QUICK[..], &["-o", "n"]].concat()[..], &["list", "pipes"], &["trace", "record", "--", "true"]]
    {
        let output = limited(&dir, "-n 8", arguments);
        assert!([2, 125].contains(&status(&output)), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains("`ulimit -n 1024`"), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(status(&limited(&dir, "-n 8", &["show", "r"])), 0, "eight are enough to read");
}

#[test]
fn doctor_says_by_its_status_whether_there_is_a_warning() {
    let dir = TestDir::new();
    let output = dir.run(&["doctor", "--json"]);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = findings.as_array().expect("a list");
    assert!(findings.len() > 10, "{findings:?}");
    let is_warned = findings.iter().any(|finding| finding["status"] == "warning");
    assert_eq!(status(&output), i32::from(is_warned));
    // A limit that makes rows fail is a warning.
    assert_eq!(status(&limited(&dir, "-n 16", &["doctor"])), 1);
}

/// What the command prints on a terminal of so many columns.
fn on_terminal(dir: &TestDir, columns: usize, arguments: &str) -> String {
    let binary = dir.command(&[]).get_program().to_string_lossy().into_owned();
    let line = format!("stty cols {columns} rows 24; {binary} {arguments}");
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(dir.root()).env("TMPDIR", dir.tmp()).stdin(Stdio::null());
    let output = script.env("TERM", "dumb").output().expect("util-linux has script");
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn list_and_help_fit_the_terminal() {
    let dir = TestDir::new();
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for columns in [60, 80, 120] {
        let text = on_terminal(&dir, columns, "list");
        assert!(text.lines().count() > 100 && longest(&text) <= columns, "{columns}: {}", longest(&text));
        assert!(longest(&text) > columns - 10, "{columns}: the width is used: {}", longest(&text));
    }
    // Commands that can be copied are not broken; nothing else is longer.
    let help = on_terminal(&dir, 80, "run --help");
    let long: Vec<&str> =
        help.lines().filter(|line| line.chars().count() > 80 && !line.contains("headwater ")).collect();
    assert!(help.lines().count() > 80 && long.is_empty(), "{long:?}");
    assert!(help.contains("\n      two builds in the same blocks\n"), "an explanation has a line of its own: {help}");
}

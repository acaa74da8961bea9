//! Names that others have chosen are neither paths nor anything that a terminal obeys.

use std::fs;
use std::path::Path;
use std::process::Output;

use headwater_results::foreign::is_unfit;

use crate::directory::{TestDir, status};

/// An erased screen in C0 and C1, a title, and turned text.
const EVIL: &str = "x\u{1b}[2J\u{9b}2J\u{9d}owned\u{9c}\u{7f}\u{202e}\u{2066}\u{200f}y";

fn lmbench(dir: &TestDir, host: &str) {
    let text = format!("[lmbench3.0 results for Linux {host} 6.1.0 #1 SMP]\nPipe latency: 8.5 microseconds\n");
    fs::write(dir.path("result"), text).expect("room on the disk");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_host_of_a_file_is_checked_before_it_names_a_directory() {
    let dir = TestDir::new();
    for host in ["../../victim", "/victim", "../../..", "..", "-rf", "=1", "a\u{9b}b", &"a".repeat(300)] {
        lmbench(&dir, host);
        let before = names(dir.root());
        let output = dir.run(&["import", "lmbench", "result"]);
        assert_eq!(status(&output), 2, "{host}");
        assert!(said(&output).contains("a host's name is of letters") && said(&output).lines().count() == 1, "{host}");
        assert_eq!(names(dir.root()), before, "{host}");
    }
    lmbench(&dir, "brook-1.example");
    assert_eq!(status(&dir.run(&["import", "lmbench", "result"])), 0);
    let runs = names(&dir.path("headwater-runs"));
    assert!(runs.len() == 1 && runs[0].ends_with("Z-brook-1.example"), "{runs:?}");
    // The same file again.
    let output = dir.run(&["import", "lmbench", "result"]);
    assert_eq!(status(&output), 2);
    assert!(said(&output).contains("there is a run already; choose another directory"), "{}", said(&output));
}

#[test]
fn import_and_run_replace_no_document() {
    let dir = TestDir::new();
    lmbench(&dir, "brook");
    fs::create_dir(dir.path("kept")).expect("a new directory");
    fs::write(dir.path("kept/run.json"), "precious").expect("room on the disk");
    for words in [
        &["import", "lmbench", "result", "-o", "kept"][..],
        &["run", "pipe/stream/64", "--time", "5ms", "--launches", "1", "-o", "kept"],
    ] {
        let output = dir.run(words);
        assert_eq!(status(&output), 2, "{words:?}");
        assert!(said(&output).contains("--output"), "{}", said(&output));
        assert_eq!(fs::read_to_string(dir.path("kept/run.json")).expect("it is there"), "precious");
        assert_eq!(names(&dir.path("kept")), ["run.json"]);
    }
}

#[test]
fn no_name_of_a_run_reaches_standard_output_or_error_as_more_than_text() {
    let dir = TestDir::new();
    lmbench(&dir, "brook");
    for (name, day) in [("before", 1), ("after", 2)] {
        let launches = ["result"; 12];
        assert_eq!(status(&dir.run(&[&["import", "lmbench", "-o", name][..], &launches].concat())), 0);
        fs::remove_file(dir.path(name).join("run.jsonl")).expect("it is there");
        let file = dir.path(name).join("run.json");
        let mut run: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("a run")).expect("JSON");
        run["environment"]["host"] = EVIL.into();
        run["environment"]["kernel"]["release"] = EVIL.into();
        run["run_id"] = EVIL.into();
        run["started_at"] = format!("2026-01-0{day}T00:00:00Z{EVIL}").into();
        let row = &mut run["results"][0]["row"];
        row["id"] = format!("{EVIL}/rtt/1/free").into();
        row["subject"] = EVIL.into();
        fs::write(&file, run.to_string()).expect("room on the disk");
    }
    let torn = format!("torn{EVIL}");
    fs::create_dir(dir.path(&torn)).expect("a new directory");
    let formats = ["csv", "bench", "bmf", "openmetrics", "markdown", "json"];
    let mut all: Vec<Vec<&str>> = formats.iter().map(|format| vec!["export", "--format", format, "before"]).collect();
    all.extend([
        vec!["show", "before"],
        vec!["show", "before", "--json"],
        vec!["show", &torn],
        vec!["compare", "before", "after"],
        vec!["compare", "before", "before"],
        vec!["compare", "before", "after", "--json"],
        vec!["compare", "before", "after", "--csv"],
        vec!["history", "rtt", "before", "after", &torn, "--all"],
        vec!["history", "rtt", "before", "after", "--all", "--json"],
        vec!["run", "--against", "before", "--dry-run"],
        vec!["report", "before", "-o", "-"],
        vec!["trace", "show", &torn],
        vec![EVIL],
        vec!["run", "--label", EVIL],
    ]);
    for words in all {
        let output = dir.run(&words);
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8(text.clone()).expect("UTF-8");
            let unfit = text.find(|one| is_unfit(one) && !matches!(one, '\n' | '\t'));
            assert_eq!(unfit.map(|at| &text[at..]), None, "{words:?}");
        }
        if words.ends_with(&["--json"]) || words.contains(&"json") {
            let _: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{words:?}: {error}: {}", said(&output)));
        }
    }
    let shown = dir.run(&["show", "before", "--json"]);
    let run: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(run["environment"]["host"], EVIL, "in JSON no value is altered");
}

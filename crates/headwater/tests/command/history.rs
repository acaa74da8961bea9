//! `headwater history` as a user runs it: directories of runs, runs that cannot be read, labels, the page, exit statuses.

use std::fs;
use std::process::Output;

use headwater_results::schema::Run;

use crate::directory::TestDir;

impl TestDir {
    /// Makes twenty nights of one measured run: from the twelfth on its row has `factor` times the rate.
    fn nights(&self, factor: f64) {
        let output = self.run(&[
            "run",
            "pipe/stream/64",
            "--time",
            "5ms",
            "--launches",
            "2",
            "--label",
            "commit=c0",
            "-o",
            "one",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = fs::read_to_string(self.path("one/run.json")).expect("run.json");
        let measured: Run = serde_json::from_str(&text).expect("a run");
        assert_eq!(measured.header.labels["commit"], "c0");
        for night in 0..20_u32 {
            let mut run = measured.clone();
            run.header.run_id = format!("night-{night:02}");
            run.header.started_at = format!("2026-03-{:02}T02:00:00Z", night + 1);
            run.header.labels.insert("commit".to_owned(), format!("c{}", night / 2));
            let level = 1e6 * if night < 12 { 1.0 } else { factor } * (1.0 + f64::from(night * 7 % 11) / 2000.0);
            let estimate = &mut run.results[0].metrics[0].estimate;
            (estimate.median, estimate.low, estimate.high) = (level, level * 0.999, level * 1.001);
            let directory = self.path("nightly").join(&run.header.run_id);
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(directory.join("run.json"), serde_json::to_string(&run).expect("a run")).expect("a file");
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn expect(output: &Output, status: i32, parts: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn a_directory_of_runs_is_a_history_whose_change_is_found() {
    let dir = TestDir::new();
    dir.nights(0.9);
    expect(&dir.run(&["history", "pipe/stream/64", "nightly/"]), 0, &["worse: -10 %", "run 13 of 20", "2026-03-13"]);
    let gate = |by: &str| dir.run(&["history", "pipe", "nightly/night-*", "--by", by, "--fail-on-change"]);
    expect(&gate("date"), 1, &["worse"]);
    expect(&gate("commit"), 1, &["Worse from c6 on"]);
    let json = dir.run(&["history", "pipe", "nightly", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let change = &document["histories"][0]["lines"][0]["changes"][0];
    assert_eq!((change["after"].as_str(), change["verdict"]["verdict"].as_str()), (Some("night-12"), Some("worse")));
    assert!(change["p"].as_f64().is_some_and(|p| p <= 0.05), "{change}");
}

#[test]
fn a_gate_lets_an_improvement_pass() {
    let dir = TestDir::new();
    dir.nights(1.1);
    expect(&dir.run(&["history", "pipe", "nightly", "--fail-on-change"]), 0, &["better: +10 %"]);
}

#[test]
fn runs_that_cannot_be_read_are_named_and_the_others_go_on() {
    let dir = TestDir::new();
    dir.nights(1.0);
    fs::create_dir(dir.path("nightly/torn")).expect("a directory");
    fs::write(dir.path("nightly/torn/run.jsonl"), "{\"event\":\"run_st").expect("a file");
    let output = dir.run(&["history", "pipe", "nightly", "nightly/night-00"]);
    expect(&output, 4, &["nightly/torn", "torn off", "the same run as night-00", "20 runs", "has not changed"]);
}

#[test]
fn the_page_replaces_only_a_page() {
    let dir = TestDir::new();
    dir.nights(0.9);
    fs::write(dir.path("mine.html"), "<p>mine").expect("a file");
    let write = |file: &str| dir.run(&["history", "pipe", "nightly", "-o", file]);
    expect(&write("mine.html"), 2, &["mine.html: is no report"]);
    expect(&write("new.html"), 0, &["new.html"]);
    expect(&write("new.html"), 0, &["new.html"]);
    let page = fs::read_to_string(dir.path("new.html")).expect("a page");
    assert!(page.contains("1: -10 %") && !page.contains("src=") && !page.contains("http-equiv=\"refresh\""));
}

#[test]
fn wrong_words_are_refused_with_the_remedy() {
    let dir = TestDir::new();
    dir.nights(1.0);
    fs::create_dir(dir.path("empty")).expect("a directory");
    expect(&dir.run(&["history", "pip", "nightly"]), 2, &["did you mean pipe?"]);
    expect(&dir.run(&["history", "pipe", "nightly", "-f", "fifo"]), 2, &["fifo: no row of these runs"]);
    expect(&dir.run(&["history", "pipe", "nightly", "--by", "dat"]), 2, &["did you mean date?", "--label dat=VALUE"]);
    expect(&dir.run(&["history", "pipe", "empty"]), 2, &["empty: holds no run"]);
    expect(&dir.run(&["history", "pipe", "nowhere"]), 2, &["no run can be read", "nowhere"]);
    for label in ["commit", "=x", "kernel=6", "commit="] {
        expect(&dir.run(&["run", "pipe", "--label", label, "-n"]), 2, &["--label"]);
    }
    expect(&dir.run(&["run", "pipe", "--label", "a=1", "--label", "a=2", "-n"]), 2, &["has a value already"]);
}

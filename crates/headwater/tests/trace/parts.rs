//! Recordings whose trace is in parts.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::test_dir::{Recorder, TestDir, errors};

/// Returns the names of a recording's parts, in their order.
fn parts(dir: &TestDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path("r")).expect("a recording").flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with("user"));
    names.sort();
    names
}

fn bytes(directory: &PathBuf) -> u64 {
    let files = fs::read_dir(directory).expect("a part").flatten();
    files.filter(|file| file.file_name() != "metadata").map(|file| file.metadata().expect("it").len()).sum()
}

/// Returns the numbers of the test's events in a trace, in their order.
fn numbers(dir: &TestDir, trace: &str) -> Vec<u64> {
    let output = dir.run(&["show", trace, "-e", "test:*"]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.rsplit_once("number=")?.1.parse().ok()).collect()
}

/// Returns what the recording says about itself.
fn session(dir: &TestDir) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(dir.path("r/session.json")).expect("it is there")).expect("JSON")
}

#[test]
fn each_part_is_a_trace_and_together_they_have_every_event() {
    let dir = TestDir::new();
    let recorded = dir.record(&["--rotate", "64k", "--buffer", "16m"], 50_000, "0");
    assert!(recorded.status.success() && recorded.left.is_empty(), "{}", recorded.said);
    let parts = parts(&dir);
    assert!(parts.len() > 2 && parts[0] == "user-000001", "{parts:?}");
    let mut sum = 0;
    for part in &parts {
        let part = format!("r/{part}");
        let (written, lost) = dir.agreed(&part);
        assert!(lost == 0 && dir.count(&part, "headwater:thread") == 1, "{part} names its thread");
        let found = numbers(&dir, &part);
        assert!(found.is_sorted() && found.len() as u64 + 1 == written);
        sum += written;
    }
    let whole: Vec<bool> = parts.iter().map(|part| bytes(&dir.path("r").join(part)) >= 64 << 10).collect();
    assert!(whole[..whole.len() - 1].iter().all(|is_whole| *is_whole), "{whole:?}");
    assert!(numbers(&dir, "r").into_iter().eq(0..50_000), "each once");
    assert_eq!(dir.agreed("r"), (sum, 0));
    let shown = dir.text(&["stat", "r"]);
    let rings: Vec<&str> = shown.lines().filter(|line| line.starts_with("user-")).collect();
    let names: BTreeSet<&str> = rings.iter().filter_map(|line| line.split(' ').next()).collect();
    assert!(!rings.is_empty() && names.len() == rings.len(), "a ring has one line: {shown}");
}

#[test]
fn all_events_of_a_part_are_older_than_those_of_the_next_though_the_program_moves_to_other_cpus() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--rotate", "64k", "--buffer", "16m"], 10, "move"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !dir.path("r/user-000040").exists() {
        assert!(Instant::now() < deadline, "{} events", dir.progress.emitted());
        std::thread::sleep(Duration::from_millis(1));
    }
    recorder.signal(rustix::process::Signal::TERM);
    let recorded = recorder.wait();
    let mut next = 0;
    for part in parts(&dir) {
        let found = numbers(&dir, &format!("r/{part}"));
        let end = next + found.len() as u64;
        assert!(found.iter().copied().eq(next..end), "{part} is not from {next} to {end}: {}", recorded.said);
        next = end;
    }
    let emitted = dir.progress.emitted();
    assert!(next == emitted || next == emitted + 1, "..{next} of {emitted}");
}

#[test]
fn losses_are_counted_over_the_parts() {
    let dir = TestDir::new();
    let recorded = dir.record(&["--rotate", "64k", "--buffer", "16k"], 200_000, "0");
    let ((written, lost), parts) = (dir.agreed("r"), parts(&dir));
    assert!(lost > 0 && parts.len() > 2, "{}", recorded.said);
    assert_eq!(written + lost, 200_000 + parts.len() as u64, "each part names the thread");
    let each: Vec<(u64, u64)> = parts.iter().map(|part| dir.agreed(&format!("r/{part}"))).collect();
    assert_eq!(each.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1)), (written, lost));
    assert!(each.iter().filter(|(_, lost)| *lost > 0).count() > 1, "each part has its own: {each:?}");
    let figures = recorded.said.replace(',', "");
    assert!(figures.contains(&format!("{written} events written {lost} lost")), "{figures}");
}

#[test]
fn only_the_newest_parts_are_kept_and_the_rest_is_counted() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--rotate", "64kx3", "--buffer", "16m"], 100_000_000, "0"));
    // The recorder may be late.
    while !dir.path("r/user-000006").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    recorder.signal(rustix::process::Signal::TERM);
    let recorded = recorder.wait();
    let emitted = dir.progress.emitted();
    assert_eq!(parts(&dir).len(), 3, "{}", recorded.said);
    let found = numbers(&dir, "r");
    let end = found.last().map_or(0, |last| last + 1);
    assert!(found.iter().copied().eq(found[0]..end) && found[0] > 0, "without a gap");
    assert!(end == emitted || end == emitted + 1, "..{end} of {emitted}");
    let json = session(&dir);
    let (removed, count) = (&json["removed"], |value: &serde_json::Value| value.as_u64().expect("a count"));
    let (written, names) = (count(&json["end"]["written"]), count(&removed["parts"]) + 3);
    assert_eq!(written, end + names, "{json}");
    assert_eq!(count(&removed["events"]) + dir.agreed("r").0, written, "{json}");
    assert!(recorded.said.contains("are gone with"), "{}", recorded.said);
}

#[test]
fn after_a_kill_the_current_part_is_completed() {
    for round in 0..8 {
        let dir = TestDir::new();
        let keep = if round % 2 == 0 { "64k" } else { "64kx2" };
        let recorder = Recorder::start(dir.recorder(&["--rotate", keep, "--buffer", "16m"], 1_000_000, "wait"));
        dir.emitted(1);
        // The recorder may be late.
        while !dir.path("r/user-000003").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(3_300 * round));
        let memory = recorder.kill_with_program(&dir);
        let emitted = dir.progress.emitted();
        let from = if round < 4 { "r" } else { memory.to_str().expect("UTF-8") };
        dir.text(&["recover", from]);
        assert!(!memory.exists());
        let found = numbers(&dir, "r");
        let end = found.last().map_or(0, |last| last + 1);
        assert!(found.iter().copied().eq(found[0]..end), "round {round}: {:?}", parts(&dir));
        assert!(end == emitted || end == emitted + 1, "..{end} of {emitted} in round {round}");
        // In each part one record names the thread.
        let removed = &session(&dir)["removed"];
        assert!(removed.is_null() || round % 2 == 1, "{removed}");
        let gone = |what: &str| removed[what].as_u64().unwrap_or(0);
        assert_eq!(found.len() as u64 + gone("events") - gone("parts"), end, "{removed}");
        assert_eq!(dir.agreed("r").1, 0);
    }
}

#[test]
fn without_the_memory_the_parts_are_completed_though_the_oldest_is_half_removed() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--rotate", "64kx2", "--buffer", "16m"], 1_000_000, "wait"));
    while !dir.path("r/user-000005").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let memory = recorder.kill_with_program(&dir);
    // As after a restart.
    fs::remove_file(memory).expect("it is there");
    // Killed when it had removed some files of the oldest part.
    let _ = fs::create_dir(dir.path("r/user-000001"));
    fs::write(dir.path("r/user-000001/user-0"), "half of a packet").expect("room");
    let output = dir.run(&["recover", "r"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(4) && said.contains("memory has gone"), "{output:?}");
    let left = parts(&dir);
    assert!(!left.contains(&"user-000001".to_owned()) && (2..=3).contains(&left.len()), "{left:?}");
    let (removed, end) = (session(&dir)["removed"].clone(), session(&dir)["end"].clone());
    let count = |value: &serde_json::Value| value.as_u64().expect("a count");
    assert!(count(&removed["parts"]) > 0, "{removed}");
    assert_eq!(count(&removed["events"]) + dir.agreed("r").0, count(&end["written"]), "{removed} {end}");
    assert!(numbers(&dir, "r").is_sorted_by(|one, next| one < next));
}

#[test]
fn parts_of_what_has_none_are_refused() {
    let dir = TestDir::new();
    let output = dir.run(&["record", "--rotate", "1m", "--flight", "--", "touch", "ran"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(errors(&output).contains("--rotate") && !dir.path("ran").exists(), "{}", errors(&output));
}

//! `trace show --follow`: a recording is printed while it is made.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::test_dir::{Recorder, TestDir, errors};

/// Starts `show r --follow` with its output in the file `lines`.
fn follower(dir: &TestDir, options: &[&str]) -> Child {
    let mut command = dir.command(&[&["show", "r", "--follow"], options].concat());
    command.stdout(File::create(dir.path("lines")).expect("a file")).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// Waits until that many lines were printed.
fn printed(dir: &TestDir, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let lines = || fs::read_to_string(dir.path("lines")).expect("UTF-8").lines().count();
    while lines() < count {
        assert!(Instant::now() < deadline, "{} of {count}", lines());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn events_are_printed_in_order_while_they_are_recorded_also_in_parts() {
    for options in [&["--buffer", "16m"][..], &["--buffer", "16m", "--rotate", "64k"]] {
        let dir = TestDir::new();
        let recorder = Recorder::start(dir.recorder(options, 30_000, "wait"));
        dir.emitted(1);
        let mut follower = follower(&dir, &["-e", "test:*"]);
        dir.emitted(30_000);
        printed(&dir, 30_000);
        assert!(follower.try_wait().expect("wait").is_none(), "the recorder still runs");
        recorder.signal(Signal::TERM);
        let recorded = recorder.wait();
        assert!(follower.wait().expect("wait").success(), "it ends with the recording: {}", recorded.said);
        let lines = fs::read_to_string(dir.path("lines")).expect("UTF-8");
        assert!(lines == dir.text(&["show", "r", "-e", "test:*"]), "{options:?}: {} lines", lines.lines().count());
    }
}

#[test]
fn an_event_type_that_appears_later_is_printed_too() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["-e", "test:other", "--buffer", "16m"], 100_000_000, "0"));
    dir.emitted(1_000);
    let mut follower = follower(&dir, &["-e", "test:step", "--count", "1000"]);
    dir.emitted(5_000);
    dir.text(&["switch", "r", "--on", "test:step"]);
    assert!(follower.wait().expect("wait").success(), "it ends after 1000 events");
    recorder.signal(Signal::TERM);
    recorder.wait();
    let lines = fs::read_to_string(dir.path("lines")).expect("UTF-8");
    assert!(lines.lines().count() == 1_000 && lines.lines().all(|line| line.contains(" test:step number=")));
}

#[test]
fn of_an_ended_recording_everything_is_printed_and_other_formats_are_refused() {
    let dir = TestDir::new();
    dir.record(&[], 1_000, "0");
    assert_eq!(dir.text(&["show", "r", "--follow"]), dir.text(&["show", "r"]));
    let refused = dir.run(&["show", "r", "--follow", "--format", "chrome"]);
    assert!(refused.status.code() == Some(2) && errors(&refused).contains("--follow prints text"));
}

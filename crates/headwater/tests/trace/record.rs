//! Recordings without a crash.

use std::fs;

use rustix::process::Signal;

use crate::test_dir::{Recorder, TestDir};

#[test]
fn every_event_is_in_the_trace_and_the_exit_status_is_that_of_the_command() {
    let dir = TestDir::new();
    let recorded = dir.record(&[], 10_000, "3");
    assert_eq!(recorded.status.code(), Some(3), "{}", recorded.said);
    assert!(recorded.said.contains("10,001 events written, 0 lost"), "{}", recorded.said);
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    assert_eq!(dir.agreed("r"), (10_001, 0), "and one record says who the thread is");
    let lines = dir.text(&["show", "r", "--events", "test:*"]);
    assert_eq!(lines.lines().count(), 10_000);
    let step = lines.lines().nth(3).expect("the fourth").split_once(" cpu ").expect("a line").1.to_owned();
    assert!(step.ends_with("test:other number=3"), "{step}");
    let kinds = dir.text(&["list", "r"]);
    assert!(kinds.contains("test:step") && kinds.contains("number: u64"), "{kinds}");
    let mut names: Vec<_> = fs::read_dir(dir.path("r")).expect("it").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["session.json", "user"]);
}

#[test]
fn only_selected_events_are_recorded() {
    let dir = TestDir::new();
    dir.record(&["-e", "test:other,nothing:*"], 1_000, "0");
    assert_eq!(dir.agreed("r"), (251, 0));
}

#[test]
fn losses_are_reported_with_a_remedy_and_counted_equally_by_all_tools() {
    let dir = TestDir::new();
    let recorded = dir.record(&["--buffer", "16k"], 200_000, "0");
    let (written, lost) = dir.agreed("r");
    assert_eq!(written + lost, 200_001);
    assert!(lost > 0, "1000 events fill more than a buffer: {}", recorded.said);
    let figures: String = recorded.said.replace(',', "");
    assert!(figures.contains(&format!("{written} events written {lost} lost")), "{figures}");
    // The advised size depends on the bursts of this machine, but must exceed the present one.
    let advised = recorded.said.split_once("--buffer ").and_then(|(_, rest)| rest.split_once(" would have held"));
    let (size, unit) = advised.map(|(size, _)| size.split_at(size.len() - 1)).expect("advice");
    let shift = if unit == "m" { 20 } else { 10 };
    assert!(size.parse::<u64>().expect("a number") << shift > 16 << 10, "{}", recorded.said);
}

#[test]
fn a_program_that_waits_for_room_loses_nothing_and_is_told_of() {
    let dir = TestDir::new();
    let recorded = dir.record(&["--buffer", "16k", "--wait=1m"], 100_000, "0");
    assert_eq!(dir.agreed("r"), (100_001, 0), "{}", recorded.said);
    assert!(recorded.said.contains("headwater: programs waited for room "), "{}", recorded.said);
    let file = fs::read_to_string(dir.path("r/session.json")).expect("it is there");
    let file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    assert!(file["waited"]["count"].as_u64() > Some(0) && file["waited"]["ns"].as_u64() > Some(0), "{file}");
}

#[test]
fn a_stopped_recorder_holds_a_waiting_program_up_for_the_given_time_and_what_is_lost_is_counted() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--buffer", "16k", "--wait=200ms"], 100_000, "wait"));
    dir.emitted(2_000);
    recorder.signal(Signal::STOP);
    dir.emitted(100_000);
    recorder.signal(Signal::CONT);
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let (written, lost) = dir.agreed("r");
    assert_eq!(written + lost, 100_001);
    assert!(lost > 0 && recorded.said.contains("no room was made within 200 ms"), "{}", recorded.said);
}

#[test]
fn signals_are_forwarded_to_the_command_and_the_trace_is_complete() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let dir = TestDir::new();
        let recorder = Recorder::start(dir.recorder(&[], 5_000, "wait"));
        dir.emitted(5_000);
        recorder.signal(signal);
        let program = dir.program();
        let recorded = recorder.wait();
        assert_eq!(recorded.status.code(), Some(status), "{}", recorded.said);
        crate::test_dir::gone(program);
        assert!(recorded.left.is_empty(), "{:?}", recorded.left);
        assert_eq!(dir.agreed("r"), (5_001, 0));
    }
}

#[test]
fn all_events_of_a_killed_command_are_in_the_trace() {
    let dir = TestDir::new();
    let recorded = dir.record(&[], 7_000, "kill");
    assert_eq!(recorded.status.code(), Some(128 + 9), "{}", recorded.said);
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    assert_eq!(dir.agreed("r"), (7_001, 0));
}

#[test]
fn a_flight_recorder_keeps_the_newest_events_and_continues_after_a_snapshot() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--flight", "--buffer", "16k"], 20_000, "wait"));
    dir.emitted(20_000);
    dir.text(&["snapshot", "r", "-o", "s"]);
    let (written, older) = dir.agreed("s");
    assert_eq!(written + older, 20_001);
    assert!(written > 100 && older > 10_000, "{written} of 20,001");
    let last = dir.text(&["show", "s"]);
    let first = last.lines().next().expect("a line");
    assert!(first.contains("headwater:thread pid=") && !first.contains("name=\"\""), "who it is: {first}");
    assert!(last.trim_end().ends_with("number=19999"), "the newest is there: {:?}", last.lines().last());
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    let (written, older) = dir.agreed("r");
    assert_eq!(written + older, 20_001, "{}", recorded.said);
}

#[test]
fn a_command_without_events_gets_an_explanation() {
    let dir = TestDir::new();
    let output = dir.run(&["record", "-o", "r", "--", "true"]);
    let said = crate::test_dir::errors(&output);
    assert!(output.status.success() && said.contains("no events: ") && said.contains("-k"), "{said}");
}

#[test]
fn a_trace_is_exported_for_perfetto() {
    let dir = TestDir::new();
    dir.record(&[], 100, "0");
    dir.text(&["show", "r", "--format", "chrome", "-o", "t.json"]);
    let text = fs::read_to_string(dir.path("t.json")).expect("it was written");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let named = |event: &&serde_json::Value| event["name"].as_str().is_some_and(|name| name.starts_with("test:"));
    assert_eq!(json["traceEvents"].as_array().expect("a list").iter().filter(named).count(), 100);
    let path = dir.text(&["show", "r", "--format", "ctf-path"]);
    assert!(path.trim_end().ends_with("r/user"), "{path}");
}

#[test]
fn attach_records_a_running_process_which_continues_afterwards() {
    let dir = TestDir::new();
    let (name, value) = crate::program::instructions(100_000_000, "0");
    let mut program = std::process::Command::new(std::env::current_exe().expect("an executable"));
    program.args(crate::program::ARGUMENTS).env(name, value).env("HEADWATER_TRACE_LISTEN", "1");
    program.current_dir(dir.path("")).stdout(std::process::Stdio::null());
    let mut program = program.spawn().expect("it starts");
    dir.emitted(1_000);
    let pid = program.id().to_string();
    let mut attach = dir.command(&["attach", &pid, "-o", "r"]);
    attach.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let recorder = Recorder::start(attach);
    let before = dir.progress.emitted();
    // It takes some milliseconds until the program has joined the session.
    dir.emitted(before + 1_000_000);
    recorder.signal(Signal::INT);
    let recorded = recorder.wait();
    assert_eq!(recorded.status.code(), Some(0), "{}", recorded.said);
    assert!(recorded.said.contains(&format!("process {pid} goes on")), "{}", recorded.said);
    let (written, lost) = dir.agreed("r");
    assert!(written > 10_000, "{written} written, {lost} lost");
    let after = dir.progress.emitted();
    dir.emitted(after + 1_000);
    program.kill().expect("it runs");
    program.wait().expect("it is a child");
    let refused = dir.run(&["attach", &pid, "-o", "s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        crate::test_dir::errors(&refused).contains("there is none with that id"),
        "{}",
        crate::test_dir::errors(&refused)
    );
    assert!(!dir.path("s").exists());
}

#[test]
fn a_recorded_program_can_be_attached_to_without_losses_of_its_recorder() {
    let dir = TestDir::new();
    let mut command = dir.recorder(&["--buffer", "16m"], 1_000_000, "0");
    command.env("HEADWATER_TRACE_LISTEN", "1");
    let recorder = Recorder::start(command);
    dir.emitted(10_000);
    let mut attach = dir.command(&["attach", &dir.program().to_string(), "-o", "a", "--buffer", "16m"]);
    attach.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let attached = Recorder::start(attach);
    dir.emitted(700_000);
    attached.signal(Signal::INT);
    let said = attached.wait().said;
    let recorded = recorder.wait();
    assert_eq!(recorded.status.code(), Some(0), "{}", recorded.said);
    assert_eq!(dir.agreed("r"), (1_000_001, 0), "{}", recorded.said);
    let (written, lost) = dir.agreed("a");
    // The program continues, and notices the end when an event is refused.
    assert!(written > 1_000 && written < 1_000_000 && lost <= 1, "{written} and {lost}: {said}");
}

#[test]
fn only_the_named_events_have_stacks_whose_modules_are_kept() {
    // A part and a snapshot name the modules as well.
    let kept = [&["--rotate", "64k"][..], &["--flight", "--buffer", "64k"], &[]];
    for (options, is_copied) in kept.into_iter().flat_map(|options| [(options, false), (options, true)]) {
        let dir = TestDir::new();
        let copied: &[&str] = if is_copied { &["--stack-copy", "--buffer", "16m"] } else { &[] };
        let options = if is_copied && options.contains(&"--buffer") { &options[..1] } else { options };
        let recorded = dir.record(&[options, copied, &["--stack", "test:*,!test:other"]].concat(), 4_000, "0");
        assert!(recorded.status.success() && recorded.left.is_empty(), "{}", recorded.said);
        dir.agreed("r");
        let text = dir.text(&["show", "r"]);
        let of = |event: &str| text.lines().filter(|line| line.contains(event)).collect::<Vec<_>>();
        let (steps, others, modules) = (of(" test:step "), of(" test:other "), of(" headwater:module "));
        assert!(!steps.is_empty() && steps.iter().all(|line| line.contains(" stack=[") && line.ends_with(']')));
        assert!(!others.is_empty() && others.iter().all(|line| !line.contains("stack=")));
        // The program is this one, which has no frame pointers.
        let is_unwound = |line: &&&str| line.contains("test_program::") || line.contains("::program::");
        let unwound = steps.iter().filter(is_unwound).count();
        assert_eq!(unwound, if is_copied { steps.len() } else { 0 }, "{}", steps[0]);
        let program = std::env::current_exe().expect("an executable");
        assert!(modules.iter().any(|line| line.contains(program.to_str().expect("UTF-8"))), "{modules:?}");
    }
}

//! Recordings that end as they should.

use std::fs;

use rustix::process::Signal;

use crate::place::{Place, Recorder};

#[test]
fn every_event_is_in_the_trace_and_the_status_is_the_commands() {
    let place = Place::new();
    let recorded = place.record(&[], 10_000, "3");
    assert_eq!(recorded.status.code(), Some(3), "{}", recorded.said);
    assert!(recorded.said.contains("10,001 events written, 0 lost"), "{}", recorded.said);
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    assert_eq!(place.agreed("r"), (10_001, 0), "and one record says who the thread is");
    let lines = place.text(&["show", "r", "--events", "test:*"]);
    assert_eq!(lines.lines().count(), 10_000);
    let step = lines.lines().nth(3).expect("the fourth").split_once(" cpu ").expect("a line").1.to_owned();
    assert!(step.ends_with("test:other number=3"), "{step}");
    let kinds = place.text(&["list", "r"]);
    assert!(kinds.contains("test:step") && kinds.contains("number: u64"), "{kinds}");
    let mut names: Vec<_> =
        fs::read_dir(place.path("r")).expect("it").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["session.json", "user"]);
}

#[test]
fn only_events_that_were_asked_for_are_recorded() {
    let place = Place::new();
    place.record(&["-e", "test:other,nothing:*"], 1_000, "0");
    assert_eq!(place.agreed("r"), (251, 0));
}

#[test]
fn what_is_lost_is_said_with_the_remedy_and_counted_alike_by_all() {
    let place = Place::new();
    let recorded = place.record(&["--buffer", "16k"], 200_000, "0");
    let (written, lost) = place.agreed("r");
    assert_eq!(written + lost, 200_001);
    assert!(lost > 0, "1000 events fill more than a buffer: {}", recorded.said);
    let figures: String = recorded.said.replace(',', "");
    assert!(figures.contains(&format!("{written} events written {lost} lost")), "{figures}");
    // As large as the bursts were, whatever the machine makes of them: more than there was.
    let advised = recorded.said.split_once("--buffer ").and_then(|(_, rest)| rest.split_once(" would have held"));
    let (size, unit) = advised.map(|(size, _)| size.split_at(size.len() - 1)).expect("advice");
    let shift = if unit == "m" { 20 } else { 10 };
    assert!(size.parse::<u64>().expect("a number") << shift > 16 << 10, "{}", recorded.said);
}

#[test]
fn signals_go_on_to_the_command_and_the_trace_is_whole() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let recorder = Recorder::start(place.recorder(&[], 5_000, "wait"));
        place.emitted(5_000);
        recorder.signal(signal);
        let program = place.program();
        let recorded = recorder.wait();
        assert_eq!(recorded.status.code(), Some(status), "{}", recorded.said);
        crate::place::gone(program);
        assert!(recorded.left.is_empty(), "{:?}", recorded.left);
        assert_eq!(place.agreed("r"), (5_001, 0));
    }
}

#[test]
fn a_command_that_is_killed_has_all_its_events_there() {
    let place = Place::new();
    let recorded = place.record(&[], 7_000, "kill");
    assert_eq!(recorded.status.code(), Some(128 + 9), "{}", recorded.said);
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    assert_eq!(place.agreed("r"), (7_001, 0));
}

#[test]
fn a_flight_recorder_keeps_the_newest_and_goes_on_after_a_snapshot() {
    let place = Place::new();
    let recorder = Recorder::start(place.recorder(&["--flight", "--buffer", "16k"], 20_000, "wait"));
    place.emitted(20_000);
    place.text(&["snapshot", "r", "-o", "s"]);
    let (written, older) = place.agreed("s");
    assert_eq!(written + older, 20_001);
    assert!(written > 100 && older > 10_000, "{written} of 20,001");
    let last = place.text(&["show", "s"]);
    let first = last.lines().next().expect("a line");
    assert!(first.contains("headwater:thread pid=") && !first.contains("name=\"\""), "who it is: {first}");
    assert!(last.trim_end().ends_with("number=19999"), "the newest is there: {:?}", last.lines().last());
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    assert!(recorded.left.is_empty(), "{:?}", recorded.left);
    let (written, older) = place.agreed("r");
    assert_eq!(written + older, 20_001, "{}", recorded.said);
}

#[test]
fn a_command_without_events_is_told_why() {
    let place = Place::new();
    let output = place.run(&["record", "-o", "r", "--", "true"]);
    let said = crate::place::errors(&output);
    assert!(output.status.success() && said.contains("no events: ") && said.contains("-k"), "{said}");
}

#[test]
fn a_trace_is_shown_for_perfetto() {
    let place = Place::new();
    place.record(&[], 100, "0");
    place.text(&["show", "r", "--format", "chrome", "-o", "t.json"]);
    let text = fs::read_to_string(place.path("t.json")).expect("it was written");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let named = |event: &&serde_json::Value| event["name"].as_str().is_some_and(|name| name.starts_with("test:"));
    assert_eq!(json["traceEvents"].as_array().expect("a list").iter().filter(named).count(), 100);
    let path = place.text(&["show", "r", "--format", "ctf-path"]);
    assert!(path.trim_end().ends_with("r/user"), "{path}");
}

#[test]
fn a_process_that_listens_is_recorded_from_then_on_and_goes_on_afterwards() {
    let place = Place::new();
    let (name, value) = crate::program::part(100_000_000, "0");
    let mut program = std::process::Command::new(std::env::current_exe().expect("an executable"));
    program.args(crate::program::ARGUMENTS).env(name, value).env("HEADWATER_TRACE_LISTEN", "1");
    program.current_dir(place.path("")).stdout(std::process::Stdio::null());
    let mut program = program.spawn().expect("it starts");
    place.emitted(1_000);
    let pid = program.id().to_string();
    let mut attach = place.command(&["attach", &pid, "-o", "r"]);
    attach.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let recorder = Recorder::start(attach);
    let before = place.board.emitted();
    // It takes some milliseconds until the program is let into the session.
    place.emitted(before + 1_000_000);
    recorder.signal(Signal::INT);
    let recorded = recorder.wait();
    assert_eq!(recorded.status.code(), Some(0), "{}", recorded.said);
    assert!(recorded.said.contains(&format!("process {pid} goes on")), "{}", recorded.said);
    let (written, lost) = place.agreed("r");
    assert!(written > 10_000, "{written} written, {lost} lost");
    let after = place.board.emitted();
    place.emitted(after + 1_000);
    program.kill().expect("it runs");
    program.wait().expect("it is a child");
    let refused = place.run(&["attach", &pid, "-o", "s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        crate::place::errors(&refused).contains("there is none with that id"),
        "{}",
        crate::place::errors(&refused)
    );
    assert!(!place.path("s").exists());
}

#[test]
fn a_program_that_is_recorded_can_be_attached_to_and_its_recorder_loses_nothing() {
    let place = Place::new();
    let mut command = place.recorder(&["--buffer", "16m"], 1_000_000, "0");
    command.env("HEADWATER_TRACE_LISTEN", "1");
    let recorder = Recorder::start(command);
    place.emitted(10_000);
    let mut attach = place.command(&["attach", &place.program().to_string(), "-o", "a", "--buffer", "16m"]);
    attach.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let attached = Recorder::start(attach);
    place.emitted(700_000);
    attached.signal(Signal::INT);
    let said = attached.wait().said;
    let recorded = recorder.wait();
    assert_eq!(recorded.status.code(), Some(0), "{}", recorded.said);
    assert_eq!(place.agreed("r"), (1_000_001, 0), "{}", recorded.said);
    let (written, lost) = place.agreed("a");
    // The program goes on, and learns of the end by an event that is refused.
    assert!(written > 1_000 && written < 1_000_000 && lost <= 1, "{written} and {lost}: {said}");
}

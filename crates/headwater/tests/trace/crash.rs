//! Kills the recorder, the program, or both: `recover` must find every emitted event exactly once.

use std::time::Duration;

use rustix::process::Signal;

use crate::test_dir::{Recorder, TestDir, errors, memory_of, send};

#[test]
fn after_a_killed_recorder_all_events_are_recovered_and_the_program_continues() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--buffer", "16m"], 200_000, "wait"));
    // By then the recorder has copied a part of the events.
    dir.emitted(100_000);
    recorder.signal(Signal::KILL);
    let (pid, program) = (recorder.0.id(), dir.program());
    recorder.wait();
    // The program continues to emit events, which no recorder copies.
    dir.emitted(200_000);
    assert_eq!(memory_of(pid).len(), 1);
    let said = dir.text(&["recover", "r"]);
    assert!(said.contains("r has 200,001, 0 lost"), "{said}");
    assert_eq!(dir.agreed("r"), (200_001, 0));
    assert!(memory_of(pid).is_empty());
    send(program, Signal::KILL);
    let again = dir.run(&["recover", "r"]);
    assert!(errors(&again).contains("nothing to recover"), "{}", errors(&again));
}

#[test]
fn after_recorder_and_program_are_killed_all_events_are_recovered() {
    for round in 0..6 {
        let dir = TestDir::new();
        let recorder = Recorder::start(dir.recorder(&["--buffer", "16m"], 1_000_000, "wait"));
        dir.emitted(1);
        std::thread::sleep(Duration::from_millis(7 * round));
        let memory = recorder.kill_with_program(&dir);
        let emitted = dir.progress.emitted();
        // Name the session by its directory, or by the file that `doctor` shows.
        let from = if round % 2 == 0 { "r" } else { memory.to_str().expect("UTF-8") };
        dir.text(&["recover", from]);
        let (written, lost) = dir.agreed("r");
        assert!(written == emitted + 1 || written == emitted + 2, "{emitted} emitted, {written} recovered");
        assert_eq!(lost, 0);
        assert!(!memory.exists());
    }
}

#[test]
fn a_recording_that_another_user_may_have_written_gets_no_events_of_another_session() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--buffer", "16m"], 1_000, "wait"));
    dir.emitted(1_000);
    let memory = recorder.kill_with_program(&dir);
    let other = dir.path("other");
    std::fs::create_dir(&other).expect("a new directory");
    std::fs::copy(dir.path("r/session.json"), other.join("session.json")).expect("room on the disk");
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&other, writable).expect("chmod");
    let refused = dir.run(&["recover", "other"]);
    assert!(errors(&refused).contains("is of another recording"), "{}", errors(&refused));
    assert!(memory.exists() && std::fs::read_dir(&other).expect("it is there").count() == 1);
    dir.text(&["recover", "r"]);
    assert!(!memory.exists());
}

#[test]
fn a_session_with_a_live_recorder_is_not_recovered() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&[], 1_000, "wait"));
    dir.emitted(1_000);
    let memory = memory_of(recorder.0.id());
    for from in ["r", memory[0].to_str().expect("UTF-8")] {
        let refused = dir.run(&["recover", from]);
        assert!(errors(&refused).contains("its recorder still runs"), "{}", errors(&refused));
    }
    let listed = dir.text(&["list"]);
    let line = listed.lines().find(|line| line.contains(dir.path("r").to_str().expect("UTF-8")));
    assert!(line.is_some_and(|line| line.ends_with("runs")), "{listed}");
    recorder.signal(Signal::TERM);
    recorder.wait();
    assert_eq!(dir.agreed("r"), (1_001, 0));
}

#[test]
fn a_killed_recorder_is_named_by_list_and_doctor() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["--buffer", "16m"], 60_000, "wait"));
    // By then the recorder has copied a part of the events.
    dir.emitted(50_000);
    recorder.signal(Signal::KILL);
    let (pid, program) = (recorder.0.id(), dir.program());
    recorder.wait();
    dir.emitted(60_000);
    send(program, Signal::KILL);
    let memory = memory_of(pid)[0].to_str().expect("UTF-8").to_owned();
    assert!(dir.text(&["list"]).contains(&format!("`headwater trace recover {memory}`")));
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = doctor.args(["doctor", "--json"]).output().expect("it starts");
    // Recorders of other tests may have been killed too: the sentence names a few of them, the list names all.
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let sessions = findings.as_array().and_then(|all| all.iter().find(|one| one["topic"] == "trace sessions"));
    let all = sessions.and_then(|one| one["all"].as_array()).expect("a list of abandoned sessions");
    assert!(all.iter().any(|one| one == memory.as_str()), "{findings}");
    let snapshot = dir.run(&["snapshot", "r"]);
    assert!(errors(&snapshot).contains("no flight recorder"), "{}", errors(&snapshot));
    // Recover into a separate trace.
    dir.text(&["recover", &memory, "-o", "elsewhere"]);
    assert!(memory_of(pid).is_empty());
    let (before, now) = (dir.stat("r/user").0, dir.stat("elsewhere").0);
    // Events that were in the trace when the recorder was killed, but not yet removed from the memory, are in both.
    assert!(before > 0 && before + now >= 60_001 && now <= 60_001, "{before} were carried before, {now} now");
}

//! Kills the recorder, the program, or both: `recover` must find every emitted event exactly once.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

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
    assert!(errors(&refused).contains("can be written by other users"), "{}", errors(&refused));
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

/// Truncates the memory of a recorder, as any of its programs may.
fn truncate(memory: &Path, len: u64) {
    OpenOptions::new().write(true).open(memory).and_then(|file| file.set_len(len)).expect("the memory is ours");
}

#[test]
fn a_recorder_survives_the_truncation_of_its_memory_and_says_so() {
    for len in [0, 4096, 1 << 20] {
        let dir = TestDir::new();
        let recorder = Recorder::start(dir.recorder(&[], 1_000, "wait"));
        dir.emitted(1_000);
        let memory = memory_of(recorder.0.id());
        let deadline = Instant::now() + Duration::from_secs(30);
        while dir.stat("r").0 < 1_001 {
            assert!(Instant::now() < deadline, "its events are copied soon");
            std::thread::sleep(Duration::from_millis(20));
        }
        truncate(&memory[0], len);
        // It looks at the memory again and again.
        std::thread::sleep(Duration::from_millis(200));
        recorder.signal(Signal::TERM);
        let recorded = recorder.wait();
        assert!(recorded.status.code().is_some(), "{len}: {:?}", recorded.status);
        assert!(recorded.said.contains("truncated the session's memory"), "{len}: {}", recorded.said);
        assert!(recorded.left.is_empty(), "{len}: {:?}", recorded.left);
        assert_eq!(dir.agreed("r").0, 1_001, "{len}: what was carried is there");
        let session = std::fs::read_to_string(dir.path("r/session.json")).expect("it was written");
        assert!(session.contains("truncated the session's memory"), "{session}");
    }
}

#[test]
fn a_recording_whose_memory_was_truncated_is_recovered() {
    for len in [0, 4096, 1 << 20] {
        let dir = TestDir::new();
        let recorder = Recorder::start(dir.recorder(&["--buffer", "16m"], 100_000, "wait"));
        dir.emitted(100_000);
        let pid = recorder.0.id();
        let memory = recorder.kill_with_program(&dir);
        truncate(&memory, len);
        let recovered = dir.run(&["recover", "r"]);
        assert_eq!(recovered.status.code(), Some(4), "{len}: {}", errors(&recovered));
        assert!(memory_of(pid).is_empty(), "{len}");
        assert!(dir.agreed("r").0 <= 100_001);
        let session = std::fs::read_to_string(dir.path("r/session.json")).expect("it was written");
        assert!(session.contains("the session's memory is damaged"), "{len}: {session}");
        assert!(errors(&dir.run(&["recover", "r"])).contains("nothing to recover"), "{len}");
    }
}

#[test]
fn a_recording_that_names_a_file_of_its_user_as_memory_does_not_remove_it() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&[], 1_000, "wait"));
    dir.emitted(1_000);
    let memory = recorder.kill_with_program(&dir);
    let precious = dir.path("precious");
    std::fs::write(&precious, "of the user").expect("room");
    let session = dir.path("r/session.json");
    let text = std::fs::read_to_string(&session).expect("it was written");
    let text = text.replace(memory.to_str().expect("UTF-8"), precious.to_str().expect("UTF-8"));
    std::fs::write(&session, text).expect("room");
    dir.run(&["recover", "r"]);
    assert!(precious.exists());
    std::fs::remove_file(memory).expect("the memory of this test");
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

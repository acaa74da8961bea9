//! Whichever process is killed, `recover` finds every emitted event once.

use std::time::Duration;

use rustix::process::Signal;

use crate::place::{Place, Recorder, errors, gone, memory_of, send};

#[test]
fn of_a_killed_recorder_everything_is_recovered_and_the_program_is_unharmed() {
    let place = Place::new();
    let recorder = Recorder::start(place.recorder(&["--buffer", "16m"], 200_000, "wait"));
    // By then some of it has been carried.
    place.emitted(100_000);
    recorder.signal(Signal::KILL);
    let (pid, program) = (recorder.0.id(), place.program());
    recorder.wait();
    // The program goes on to emit events that no recorder copies.
    place.emitted(200_000);
    assert_eq!(memory_of(pid).len(), 1);
    let said = place.text(&["recover", "r"]);
    assert!(said.contains("r has 200,001, 0 lost"), "{said}");
    assert_eq!(place.agreed("r"), (200_001, 0));
    assert!(memory_of(pid).is_empty());
    send(program, Signal::KILL);
    let again = place.run(&["recover", "r"]);
    assert!(errors(&again).contains("nothing to recover"), "{}", errors(&again));
}

#[test]
fn of_recorder_and_program_killed_everything_is_recovered() {
    for round in 0..6 {
        let place = Place::new();
        let recorder = Recorder::start(place.recorder(&["--buffer", "16m"], 1_000_000, "wait"));
        place.emitted(1);
        std::thread::sleep(Duration::from_millis(7 * round));
        let (pid, program) = (recorder.0.id(), place.program());
        recorder.signal(Signal::KILL);
        send(program, Signal::KILL);
        recorder.wait();
        gone(program);
        let emitted = place.board.emitted();
        let memory = memory_of(pid);
        // By its directory, and by the file that `doctor` names.
        let from = if round % 2 == 0 { "r" } else { memory[0].to_str().expect("UTF-8") };
        place.text(&["recover", from]);
        let (written, lost) = place.agreed("r");
        assert!(written == emitted + 1 || written == emitted + 2, "{emitted} emitted, {written} recovered");
        assert_eq!(lost, 0);
        assert!(memory_of(pid).is_empty());
    }
}

#[test]
fn a_session_whose_recorder_lives_is_not_recovered() {
    let place = Place::new();
    let recorder = Recorder::start(place.recorder(&[], 1_000, "wait"));
    place.emitted(1_000);
    let memory = memory_of(recorder.0.id());
    for from in ["r", memory[0].to_str().expect("UTF-8")] {
        let refused = place.run(&["recover", from]);
        assert!(errors(&refused).contains("its recorder still runs"), "{}", errors(&refused));
    }
    let listed = place.text(&["list"]);
    let line = listed.lines().find(|line| line.contains(place.path("r").to_str().expect("UTF-8")));
    assert!(line.is_some_and(|line| line.ends_with("runs")), "{listed}");
    recorder.signal(Signal::TERM);
    recorder.wait();
    assert_eq!(place.agreed("r"), (1_001, 0));
}

#[test]
fn a_killed_recorder_is_named_by_list_and_doctor() {
    let place = Place::new();
    let recorder = Recorder::start(place.recorder(&["--buffer", "16m"], 60_000, "wait"));
    // By then some of it has been carried.
    place.emitted(50_000);
    recorder.signal(Signal::KILL);
    let (pid, program) = (recorder.0.id(), place.program());
    recorder.wait();
    place.emitted(60_000);
    send(program, Signal::KILL);
    let memory = memory_of(pid)[0].to_str().expect("UTF-8").to_owned();
    assert!(place.text(&["list"]).contains(&format!("`headwater trace recover {memory}`")));
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = doctor.args(["doctor", "--json"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&output.stdout).contains(&memory));
    let snapshot = place.run(&["snapshot", "r"]);
    assert!(errors(&snapshot).contains("no flight recorder"), "{}", errors(&snapshot));
    // Into a trace of its own.
    place.text(&["recover", &memory, "-o", "elsewhere"]);
    assert!(memory_of(pid).is_empty());
    let (before, now) = (place.stat("r/user").0, place.stat("elsewhere").0);
    // What stood in the trace when the recorder was killed, and had not yet been taken out of the memory, is in both.
    assert!(before > 0 && before + now >= 60_001 && now <= 60_001, "{before} were carried before, {now} now");
}

//! Kills the recorder, its guard, or both: `recover` must find every event of the kernel exactly once.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headwater_trace_tools::kernel::Tracefs;
use rustix::process::Signal;

use crate::kernel::{usable, usable_alone};
use crate::test_dir::{Recorder, TestDir, errors, gone, send};

/// The program sleeps after each thousand of its events, and at its end.
const SLEEPS: &str = "syscalls:sys_enter_clock_nanosleep";
const SLEPT: &str = "syscalls:sys_exit_clock_nanosleep";

/// Returns the instance of a recorder.
pub fn instance(recorder: u32) -> Option<PathBuf> {
    let found = Tracefs::find().expect("usable");
    let instances = fs::read_dir(found.path("instances")).expect("usable").flatten();
    let of = format!("headwater-{recorder}-");
    instances
        .map(|entry| entry.path())
        .find(|path| path.file_name().expect("a name").to_string_lossy().starts_with(&of))
}

/// Returns the guard of a recorder, as soon as it has its name.
pub fn guard_of(recorder: u32) -> u32 {
    let children = PathBuf::from(format!("/proc/{recorder}/task/{recorder}/children"));
    let is_guard =
        |pid: &&str| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "headwater-guard");
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let children = fs::read_to_string(&children).expect("it lives");
        if let Some(pid) = children.split_whitespace().find(is_guard) {
            return pid.parse().expect("a number");
        }
        assert!(Instant::now() < deadline, "it has no guard");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a recorder with these options, and waits until the program has slept `sleeps` times.
fn start_and_sleep(dir: &TestDir, options: &[&str], sleeps: u64) -> (Recorder, u32) {
    let options = [&["-k", SLEEPS, "-k", SLEPT, "-k", "raw_syscalls"], options].concat();
    let recorder = Recorder::start(dir.recorder(&options, sleeps * 1_000, "wait"));
    dir.emitted(sleeps * 1_000);
    // The last of these sleeps takes a millisecond; the final sleep follows.
    std::thread::sleep(Duration::from_millis(100));
    let program = dir.program();
    (recorder, program)
}

/// Checks a recovered recording: no page twice, no event out of order, no temporary file left.
fn assert_complete(dir: &TestDir, said: &str) {
    dir.agreed("r");
    assert!(!dir.path("r/kernel.pages").exists(), "{said}");
    let text = dir.text(&["show", "r", "-e", "syscalls:*", "-e", "test:*"]);
    // Sleeps and events alternate: a duplicate or missing page would violate that.
    let mut inside = false;
    let mut steps = 0;
    for line in text.lines() {
        if line.contains("sys_enter_clock") {
            assert!(!inside, "{line}");
            // The first 999 events are followed by one more and a sleep; the last sleep is the final one.
            assert!(steps == 1_000 || steps == 0, "{steps} events before {line}");
            (inside, steps) = (true, 0);
        } else if line.contains("sys_exit_clock") {
            assert!(inside, "{line}");
            inside = false;
        } else {
            assert!(!inside, "{line}");
            steps += u32::from(line.contains("test:"));
        }
    }
}

#[test]
fn after_a_killed_recorder_the_kernel_events_are_recovered() {
    let Some(_alone) = usable() else { return };
    for (round, options) in [&[][..], &["--flight"], &[]].into_iter().enumerate() {
        let dir = TestDir::new();
        let sleeps = 60;
        let (recorder, program) = start_and_sleep(&dir, options, sleeps);
        if round == 2 {
            // By then some pages have been copied.
            std::thread::sleep(Duration::from_millis(700));
        }
        recorder.signal(Signal::KILL);
        let pid = recorder.0.id();
        recorder.wait();
        // Immediately: the guard may still be working.
        let output = dir.run(&["recover", "r"]);
        let said = errors(&output);
        assert!(output.status.success() && said.contains(", 0 lost"), "{said}");
        assert_eq!(instance(pid), None);
        // The count may include the sleep during which the program was killed.
        assert!((sleeps..=sleeps + 1).contains(&dir.count("r", SLEEPS)), "{} of {sleeps}", dir.count("r", SLEEPS));
        assert_eq!(dir.count("r", SLEPT), sleeps);
        if options.is_empty() {
            assert_complete(&dir, &said);
        }
        send(program, Signal::KILL);
        gone(program);
    }
}

#[test]
fn after_recorder_and_guard_are_killed_the_instance_is_read() {
    let Some(_alone) = usable_alone() else { return };
    let dir = TestDir::new();
    let (recorder, program) = start_and_sleep(&dir, &[], 20);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    assert!(instance(pid).is_some(), "no process was left to remove it");
    let said = errors(&dir.run(&["recover", "r"]));
    assert!(instance(pid).is_none() && said.contains(", 0 lost"), "{said}");
    assert_eq!(dir.count("r", SLEPT), 20);
    assert_complete(&dir, &said);
    send(program, Signal::KILL);
    gone(program);
}

#[test]
fn after_a_restart_the_remaining_kernel_events_are_recovered_and_the_loss_is_reported() {
    let Some(_alone) = usable_alone() else { return };
    let dir = TestDir::new();
    let (recorder, program) = start_and_sleep(&dir, &["--buffer", "256k"], 120);
    // Full pages are copied every half second.
    std::thread::sleep(Duration::from_millis(700));
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    send(program, Signal::KILL);
    gone(program);
    // The state after a restart: the instance and the memory are gone, and the last page is incomplete.
    fs::remove_dir(instance(pid).expect("it still exists")).expect("no process reads it");
    crate::test_dir::memory_of(pid).iter().for_each(|memory| fs::remove_file(memory).expect("it is there"));
    let pages = fs::read_dir(dir.path("r/kernel.pages")).expect("there").flatten().map(|entry| entry.path());
    let pages: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|end| end == "pages")).collect();
    let larger = pages.iter().max_by_key(|path| fs::metadata(path).expect("there").len()).expect("one for each CPU");
    let len = fs::metadata(larger).expect("there").len();
    assert!(len > 8192, "{len} bytes of pages");
    fs::OpenOptions::new().write(true).open(larger).and_then(|file| file.set_len(len - 1000)).expect("cut");
    let said = errors(&dir.run(&["recover", "r"]));
    assert!(said.contains("more was lost, unknown how much"), "{said}");
    let there = dir.count("r", SLEPT);
    assert!((1..120).contains(&there), "{there} of 120");
    dir.agreed("r");
}

#[test]
fn an_abandoned_instance_is_named_by_doctor_and_removed_by_the_next_recorder() {
    let Some(_alone) = usable_alone() else { return };
    let dir = TestDir::new();
    let (recorder, program) = start_and_sleep(&dir, &[], 1);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    send(program, Signal::KILL);
    gone(program);
    let left = instance(pid).expect("no process was left to remove it");
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = doctor.args(["doctor", "--json"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let found = Tracefs::find().expect("usable").usual_path(&left);
    assert!(said.contains(found.to_str().expect("UTF-8")), "{said}");
    assert!(left.exists(), "doctor changes nothing");
    dir.text(&["record", "-o", "next", "-k", "sched:sched_process_exit", "--", "true"]);
    assert!(!left.exists());
    let said = errors(&dir.run(&["recover", "r"]));
    assert!(said.contains("more was lost, unknown how much"), "{said}");
}

#[test]
fn the_guard_ends_with_its_recorder() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let (recorder, program) = start_and_sleep(&dir, &[], 2);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let start = Instant::now();
    gone(guard);
    gone(program);
    assert!(start.elapsed() < Duration::from_secs(5) && instance(pid).is_none(), "{}", recorded.said);
    // The last sleep is the one that the signal interrupts.
    assert!((2..=3).contains(&dir.count("r", SLEPT)));
}

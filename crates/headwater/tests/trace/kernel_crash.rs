//! Whichever process is killed, `recover` finds every event of the kernel once, too.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::kernel::usable;
use crate::place::{Place, Recorder, errors, gone, send};

/// The command sleeps after each thousand of its events, and at its end.
const SLEEPS: &str = "syscalls:sys_enter_clock_nanosleep";
const SLEPT: &str = "syscalls:sys_exit_clock_nanosleep";

/// The instance of a recorder.
fn instance(recorder: u32) -> Option<PathBuf> {
    let instances = fs::read_dir("/sys/kernel/tracing/instances").expect("usable").flatten();
    let of = format!("headwater-{recorder}-");
    instances
        .map(|entry| entry.path())
        .find(|path| path.file_name().expect("a name").to_string_lossy().starts_with(&of))
}

/// The guard of a recorder, once it has its name.
fn guard_of(recorder: u32) -> u32 {
    let children = PathBuf::from(format!("/proc/{recorder}/task/{recorder}/children"));
    let is_guard =
        |pid: &&str| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "headwater-guard");
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let children = fs::read_to_string(&children).expect("it lives");
        if let Some(pid) = children.split_whitespace().find(is_guard) {
            return pid.parse().expect("a number");
        }
        assert!(Instant::now() < patience, "it has no guard");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A recorder that is killed when the program has slept so often, in those buffers.
fn killed(place: &Place, options: &[&str], sleeps: u64) -> (Recorder, u32) {
    let options = [&["-k", SLEEPS, "-k", SLEPT, "-k", "raw_syscalls"], options].concat();
    let recorder = Recorder::start(place.recorder(&options, sleeps * 1_000, "wait"));
    place.emitted(sleeps * 1_000);
    // The last of them is a millisecond long, and then comes that of the end.
    std::thread::sleep(Duration::from_millis(100));
    let program = place.program();
    (recorder, program)
}

/// What must hold of a recording that was recovered: no page twice, no event out of order, all files gone.
fn whole(place: &Place, said: &str) {
    place.agreed("r");
    assert!(!place.path("r/kernel.pages").exists(), "{said}");
    let text = place.text(&["show", "r", "-e", "syscalls:*", "-e", "test:*"]);
    // Sleeps and events by turns: a page that was there twice, or not, would spoil it.
    let mut inside = false;
    let mut steps = 0;
    for line in text.lines() {
        if line.contains("sys_enter_clock") {
            assert!(!inside, "{line}");
            // The first 999 are followed by one more, and then it sleeps; the last sleep is that of the end.
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
fn of_a_killed_recorder_the_kernels_events_are_recovered() {
    let Some(_alone) = usable() else { return };
    for (round, options) in [&[][..], &["--flight"], &[]].into_iter().enumerate() {
        let place = Place::new();
        let sleeps = 60;
        let (recorder, program) = killed(&place, options, sleeps);
        if round == 2 {
            // Some pages have been carried then.
            std::thread::sleep(Duration::from_millis(700));
        }
        recorder.signal(Signal::KILL);
        let pid = recorder.0.id();
        recorder.wait();
        // At once: the guard may be at it still.
        let output = place.run(&["recover", "r"]);
        let said = errors(&output);
        assert!(output.status.success() && said.contains(", 0 lost"), "{said}");
        assert_eq!(instance(pid), None);
        // And the sleep that it is in.
        assert!((sleeps..=sleeps + 1).contains(&place.count("r", SLEEPS)), "{} of {sleeps}", place.count("r", SLEEPS));
        assert_eq!(place.count("r", SLEPT), sleeps);
        if options.is_empty() {
            whole(&place, &said);
        }
        send(program, Signal::KILL);
        gone(program);
    }
}

#[test]
fn of_recorder_and_guard_killed_the_kernels_buffers_are_taken_from_the_instance() {
    let Some(_alone) = usable() else { return };
    let place = Place::new();
    let (recorder, program) = killed(&place, &[], 20);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    assert!(instance(pid).is_some(), "nobody was there to remove it");
    let said = errors(&place.run(&["recover", "r"]));
    assert!(instance(pid).is_none() && said.contains(", 0 lost"), "{said}");
    assert_eq!(place.count("r", SLEPT), 20);
    whole(&place, &said);
    send(program, Signal::KILL);
    gone(program);
}

#[test]
fn what_a_restart_leaves_of_the_kernels_events_is_recovered_and_said_not_to_be_all() {
    let Some(_alone) = usable() else { return };
    let place = Place::new();
    let (recorder, program) = killed(&place, &["--buffer", "256k"], 120);
    // Full pages are carried every half second.
    std::thread::sleep(Duration::from_millis(700));
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    send(program, Signal::KILL);
    gone(program);
    // As after a restart: the instance has gone, and so has the memory. The last page was half written.
    fs::remove_dir(instance(pid).expect("nobody has removed it")).expect("nobody reads it");
    crate::place::memory_of(pid).iter().for_each(|memory| fs::remove_file(memory).expect("it is there"));
    let pages = fs::read_dir(place.path("r/kernel.pages")).expect("there").flatten().map(|entry| entry.path());
    let pages: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|end| end == "pages")).collect();
    let larger = pages.iter().max_by_key(|path| fs::metadata(path).expect("there").len()).expect("one for each CPU");
    let len = fs::metadata(larger).expect("there").len();
    assert!(len > 8192, "{len} bytes of pages");
    fs::OpenOptions::new().write(true).open(larger).and_then(|file| file.set_len(len - 1000)).expect("cut");
    let said = errors(&place.run(&["recover", "r"]));
    assert!(said.contains("more was lost, unknown how much"), "{said}");
    let there = place.count("r", SLEPT);
    assert!((1..120).contains(&there), "{there} of 120");
    place.agreed("r");
}

#[test]
fn an_instance_that_records_for_nobody_is_named_by_doctor_and_removed_by_the_next_recorder() {
    let Some(_alone) = usable() else { return };
    let place = Place::new();
    let (recorder, program) = killed(&place, &[], 1);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    send(guard, Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    send(program, Signal::KILL);
    gone(program);
    let left = instance(pid).expect("nobody was there to remove it");
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = doctor.args(["doctor", "--json"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(left.to_str().expect("UTF-8")), "{said}");
    assert!(left.exists(), "doctor changes nothing");
    place.text(&["record", "-o", "next", "-k", "sched:sched_process_exit", "--", "true"]);
    assert!(!left.exists());
    let said = errors(&place.run(&["recover", "r"]));
    assert!(said.contains("more was lost, unknown how much"), "{said}");
}

#[test]
fn the_guard_of_a_recorder_that_ended_well_is_gone() {
    let Some(_alone) = usable() else { return };
    let place = Place::new();
    let (recorder, program) = killed(&place, &[], 2);
    let (pid, guard) = (recorder.0.id(), guard_of(recorder.0.id()));
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let start = Instant::now();
    gone(guard);
    gone(program);
    assert!(start.elapsed() < Duration::from_secs(5) && instance(pid).is_none(), "{}", recorded.said);
    // The last is the one that the signal ends.
    assert!((2..=3).contains(&place.count("r", SLEPT)));
}

//! Events are switched on and off while a recording runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::test_dir::{Recorder, TestDir, errors};

/// Returns the values of a field in the lines of `show` for these events.
fn numbers(dir: &TestDir, event: &str, field: &str) -> Vec<u64> {
    let text = dir.text(&["show", "r", "-e", event]);
    let number = |line: &str| line.split_once(field)?.1.split(' ').next()?.parse().ok();
    text.lines().filter_map(number).collect()
}

/// More events than are in a page of each CPU's log.
const LATE: u64 = 5_000;

#[test]
fn events_of_a_program_begin_and_cease_when_they_are_switched() {
    for listens in [false, true] {
        let dir = TestDir::new();
        let mut command = dir.recorder(&["-e", "test:other", "--buffer", "16m"], 100_000_000, "0");
        if listens {
            command.env("HEADWATER_TRACE_LISTEN", "1");
        }
        let recorder = Recorder::start(command);
        dir.emitted(10_000);
        let before_on = dir.progress.emitted();
        let shown = dir.text(&["switch", "r", "--on", "test:step"]);
        assert_eq!(shown, "of programs: test:other test:step\n");
        let on = dir.progress.emitted();
        dir.emitted(on + 20_000);
        let before_off = dir.progress.emitted();
        assert_eq!(dir.text(&["switch", "r", "--off", "test:other"]), "of programs: test:step !test:other\n");
        let off = dir.progress.emitted();
        dir.emitted(off + 20_000);
        assert_eq!(dir.text(&["switch", "r", "--off", "*"]), "of programs: none\n");
        let end = dir.progress.emitted();
        dir.emitted(end + 20_000);
        recorder.signal(Signal::TERM);
        let recorded = recorder.wait();
        assert!(recorded.left.is_empty(), "{}", recorded.said);
        assert_eq!(dir.agreed("r").1, 0, "{}", recorded.said);
        let (steps, others) = (numbers(&dir, "test:step", "number="), numbers(&dir, "test:other", "number="));
        // The program notices at its next event that is not recorded; then each event is there.
        assert!(steps[0] >= before_on && steps[0] <= on + 4, "{} of {before_on} to {on}", steps[0]);
        let whole = |numbers: &[u64], to: u64, is_one: fn(u64) -> bool| {
            let expected = (numbers[0]..to).filter(|number| is_one(*number));
            assert!(expected.eq(numbers.iter().copied().take_while(|number| *number < to)), "{to}");
        };
        whole(&steps, off, |number| number % 4 != 3);
        whole(&others, before_off, |number| number % 4 == 3);
        let late = if listens { 0 } else { LATE };
        let (last_step, last_other) = (steps.last().expect("some"), others.last().expect("some"));
        assert!(*last_other < off + late && *last_step < end + late, "{last_other} of {off}, {last_step} of {end}");
        let switched = dir.text(&["show", "r", "-e", "headwater:switched"]);
        let said: Vec<&str> =
            switched.lines().filter_map(|line| line.split_once("what=")).map(|(_, said)| said).collect();
        assert_eq!(said, ["\"on test:step\"", "\"off test:other\"", "\"off *\""]);
    }
}

#[test]
fn events_of_the_kernel_begin_and_cease_when_they_are_switched() {
    let Some(_alone) = crate::kernel::usable() else { return };
    const SLEEPS: &str = "syscalls:sys_enter_clock_nanosleep";
    for flight in [false, true] {
        let dir = TestDir::new();
        let mut options = vec!["-k", "sched:sched_process_exit"];
        options.extend(flight.then_some("--flight"));
        let recorder = Recorder::start(dir.recorder(&options, 100_000_000, "0"));
        dir.emitted(5_000);
        let before = dir.progress.emitted();
        let shown = dir.text(&["switch", "r", "--kernel-on", SLEEPS, "--kernel-on", "raw_syscalls"]);
        let kernel =
            format!("of the kernel: raw_syscalls:sys_exit raw_syscalls:sys_enter sched:sched_process_exit {SLEEPS}\n");
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&shown), sorted(&format!("of programs: *\n{kernel}")));
        let (on, to) = (dir.progress.emitted(), 20_000);
        dir.emitted(on + to);
        let shown = dir.text(&["switch", "r", "--kernel-off", "raw_syscalls,syscalls", "--off", "test:*"]);
        assert_eq!(shown, "of programs: * !test:*\nof the kernel: sched:sched_process_exit\n");
        let off = dir.progress.emitted();
        dir.emitted(off + 20_000);
        recorder.signal(Signal::TERM);
        let recorded = recorder.wait();
        assert!(recorded.left.is_empty() && !dir.path("r/kernel.pages").exists(), "{}", recorded.said);
        assert_eq!(dir.agreed("r/kernel").1, 0, "{}", recorded.said);
        // The program sleeps after each thousand of its events.
        let sleeps = dir.count("r", SLEEPS);
        // Those while a command runs may be in the trace or not.
        let (least, most) = (to / 1000 - 1, (off - before) / 1000 + 2);
        assert!((least..=most).contains(&sleeps), "{sleeps} of {least} to {most}");
        let calls = dir.text(&["show", "r", "-e", "raw_syscalls:sys_enter"]);
        let named = calls.lines().filter(|line| line.contains(" id=clock_nanosleep which_clock=")).count() as u64;
        // Each is switched at a time of its own.
        assert!((least..=most).contains(&named), "{named} of {least} to {most}");
        assert!(dir.count("r", "sched:sched_process_exit") > 0, "on from the start to the end");
    }
}

#[test]
fn what_cannot_be_switched_is_refused_with_the_reason() {
    let (dir, ended) = (TestDir::new(), TestDir::new());
    let refused = |dir: &TestDir, arguments: &[&str], why: &str| {
        let output = dir.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(why), "{arguments:?}: {}", errors(&output));
    };
    refused(&ended, &["switch", "r", "--on", "*"], "no recording");
    ended.record(&[], 10, "0");
    refused(&ended, &["switch", "r", "--on", "*"], "its recorder has ended");
    let recorder = Recorder::start(dir.recorder(&[], 10, "wait"));
    dir.emitted(10);
    refused(
        &dir,
        &["switch", "r", "--kernel-on", "sched"],
        "records no events of the kernel; begin a recording with -k",
    );
    refused(&dir, &["switch", "r", "--on", &"x".repeat(2_001)], "2000 at most");
    // Another user could name a memory and an instance of the kernel's tracer in it.
    let mode = |mode| fs::set_permissions(dir.path("r"), Permissions::from_mode(mode)).expect("chmod");
    mode(0o777);
    refused(&dir, &["switch", "r", "--off", "*"], "can be written by other users");
    refused(&dir, &["snapshot", "r"], "can be written by other users");
    mode(0o700);
    assert_eq!(dir.text(&["switch", "r"]), "of programs: *\n");
    recorder.signal(Signal::TERM);
    recorder.wait();
}

//! Events are left out by their values: while they are recorded, by the recorder or the kernel, and when they are shown.

use rustix::process::Signal;

use crate::kernel::usable;
use crate::test_dir::{Recorder, TestDir, errors, send};

/// Returns the values of `number` in the lines of `show`.
fn numbers(dir: &TestDir, options: &[&str]) -> Vec<u64> {
    let text = dir.text(&[&["show", "r"], options].concat());
    text.lines().filter_map(|line| line.split_once("number=")?.1.split(' ').next()?.parse().ok()).collect()
}

const FILTER: &str = "test:step if number >= 500 && !(number == 600)";

/// What passes of `count` events, of which each fourth is `test:other`.
fn expected(count: u64) -> Vec<u64> {
    (0..count).filter(|number| number % 4 == 3 || *number >= 500 && *number != 600).collect()
}

#[test]
fn events_that_meet_no_condition_are_not_in_the_trace() {
    let dir = TestDir::new();
    let recorded = dir.record(&["--filter", FILTER], 1_000, "0");
    assert!(recorded.status.success() && recorded.left.is_empty(), "{}", recorded.said);
    assert_eq!(dir.agreed("r").1, 0, "they are no losses");
    assert_eq!(numbers(&dir, &[]), expected(1_000));
    let out = 1_000 - expected(1_000).len();
    assert!(recorded.said.contains(&format!("{out} events more met no condition")), "{}", recorded.said);
    // What is shown can be filtered too.
    let shown = numbers(&dir, &["-f", "test:* if number < 10", "-f", "test:step if number != 601"]);
    assert_eq!(shown, [3, 7], "and 601 is larger");
}

#[test]
fn recovered_events_are_filtered_too() {
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["-f", FILTER], 20_000, "wait"));
    dir.emitted(20_000);
    recorder.signal(Signal::KILL);
    let program = dir.program();
    recorder.wait();
    dir.text(&["recover", "r"]);
    send(program, Signal::KILL);
    assert_eq!(numbers(&dir, &[]), expected(20_000));
}

#[test]
fn a_wrong_filter_is_refused_with_its_place() {
    let dir = TestDir::new();
    for arguments in
        [&["record", "-f", "test:step if number >", "--", "true"][..], &["show", "r", "-f", "test:step if number >"]]
    {
        let output = dir.run(arguments);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("expected a number") && said.contains("\n  test:step if number >\n                       ^"),
            "{said}"
        );
    }
}

#[test]
fn the_kernel_filters_its_events() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let record = |filter| dir.run(&["record", "-o", "r", "-k", "raw_syscalls", "-f", filter, "--", "cat", "/dev/null"]);
    let output = record("raw_syscalls:sys_enter if nosuch == 257");
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(
        said.contains("refuses the filter of raw_syscalls:sys_enter") && said.contains("Field not found"),
        "{said}"
    );
    // On x86-64 and elsewhere, a call that cat makes and that is not all of them.
    let output = record("raw_syscalls:sys_exit if ret >= 0 && ret < 2");
    assert!(output.status.success(), "{}", errors(&output));
    let text = dir.text(&["show", "r", "-e", "raw_syscalls:sys_exit"]);
    let results: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(" ret=")?.1)).collect();
    assert!(results.contains(&"0") && results.iter().all(|result| ["0", "1"].contains(result)), "{text}");
    let entries = dir.text(&["show", "r", "-e", "raw_syscalls:sys_enter"]).lines().count();
    assert!(entries > results.len(), "the filter is about exits only: {entries}");
}

#[test]
fn kernel_events_that_are_switched_on_later_are_filtered_too() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    // Of the calls that the program makes each millisecond, none has such a result.
    let options = ["-k", "sched:sched_process_exit", "-f", "raw_syscalls:sys_exit if ret == 12345"];
    let recorder = Recorder::start(dir.recorder(&options, 100_000_000, "0"));
    dir.emitted(1);
    dir.text(&["switch", "r", "--kernel-on", "raw_syscalls"]);
    let on = dir.progress.emitted();
    dir.emitted(on + 10_000);
    recorder.signal(Signal::TERM);
    recorder.wait();
    assert!(dir.count("r", "raw_syscalls:sys_enter") >= 9, "the program sleeps after each thousand events");
    assert_eq!(dir.count("r", "raw_syscalls:sys_exit"), 0);
}

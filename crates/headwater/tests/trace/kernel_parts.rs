//! Recordings of program and kernel whose traces are in parts. The program makes numbered system calls on one CPU, so that
//! each call that is missing, or there twice, shows.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::kernel::{usable, usable_alone};
use crate::kernel_crash::{guard_of, instance};
use crate::test_dir::{Recorder, TestDir, errors, gone, send};
use crate::wrong::in_mount_namespace_of_this_user;

const CALLS: &str = "syscalls:sys_enter_lseek";

/// Starts a recorder of 1000 events of the program and then of its calls.
fn start(dir: &TestDir, rotation: &str) -> Recorder {
    Recorder::start(dir.recorder(&["-k", CALLS, "--rotate", rotation], 1_000, "seek"))
}

/// Whether the long form is asked for.
fn is_long() -> bool {
    std::env::var_os("HEADWATER_TIMES").is_some()
}

/// Returns the numbers of a recording's parts of the kernel's trace, ascending.
fn parts(dir: &TestDir) -> Vec<u32> {
    let entries = fs::read_dir(dir.path("r")).expect("a recording").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.strip_prefix("kernel-")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Returns the numbers of the calls in a trace, in their order.
fn calls(dir: &TestDir, trace: &str) -> Vec<u64> {
    let output = dir.run(&["show", trace, "-e", CALLS]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let number = |line: &str| line.split_once(" offset=")?.1.split(' ').next()?.parse().ok();
    text.lines().map(|line| number(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Returns what was removed with parts of the kernel's trace: parts, events and losses.
fn removed(dir: &TestDir) -> [u64; 3] {
    let file = fs::read_to_string(dir.path("r/session.json")).expect("it is there");
    let json: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let removed = &json["kernel_removed"];
    ["parts", "events", "lost"].map(|what| removed[what].as_u64().unwrap_or(0))
}

/// Returns the file that says where parts begin, as it is now.
fn index(dir: &TestDir) -> String {
    fs::read_to_string(dir.path("r/kernel.parts")).unwrap_or_default()
}

/// Returns the length of the larger file of pages, and the space that it takes.
fn takes(dir: &TestDir) -> Option<(u64, u64)> {
    let files = fs::read_dir(dir.path("r/kernel.pages")).ok()?.flatten();
    let files = files.filter_map(|entry| entry.metadata().ok()).map(|file| (file.len(), file.blocks() * 512));
    files.filter(|(bytes, _)| *bytes > 0).max()
}

/// Waits until `what` is so.
fn until(mut what: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !what() {
        assert!(Instant::now() < deadline, "it does not happen");
        // Not longer: some of what is waited for is soon over.
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Waits until the oldest `count` parts have been given up.
fn until_removed(dir: &TestDir, count: u64) {
    let is_enough = |line: &str| {
        let count_there = line.strip_prefix("removed ")?.split(' ').next()?.parse::<u64>().ok()?;
        Some(count_there >= count)
    };
    until(|| index(dir).lines().find_map(is_enough) == Some(true));
}

/// Returns the number of the part that is being written; 0 before there is one.
fn part(dir: &TestDir) -> u32 {
    index(dir).lines().find_map(|line| line.strip_prefix("part ")?.parse().ok()).unwrap_or(0)
}

/// Waits until that part has begun, or a later one.
fn until_part(dir: &TestDir, number: u32) {
    until(|| part(dir) >= number);
}

/// Checks a complete recording: what is there follows on what was removed, without a gap. Returns the number of the call after
/// the last.
fn assert_complete(dir: &TestDir, keep: usize) -> u64 {
    let [gone, events, lost] = removed(dir);
    let (numbers, found) = (parts(dir), calls(dir, "r"));
    let expected: Vec<u32> = (gone as u32 + 1..).take(numbers.len()).collect();
    assert!(numbers == expected && numbers.len() <= keep, "{numbers:?}, {gone} removed");
    let end = events + found.len() as u64;
    assert!(found.iter().copied().eq(events..end), "from {events} to {end}, {:?} to {:?}", found.first(), found.last());
    assert_eq!((lost, dir.agreed("r").1), (0, 0));
    let each: u64 = numbers.iter().map(|number| dir.agreed(&format!("r/kernel-{number:06}")).0).sum();
    assert_eq!(each, found.len() as u64);
    assert!(!dir.path("r/kernel.pages").exists());
    end
}

#[test]
fn each_part_of_the_kernels_trace_is_a_trace_and_together_they_have_every_event() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorder = start(&dir, "64k");
    until_part(&dir, 4);
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let end = assert_complete(&dir, usize::MAX);
    assert!(recorded.left.is_empty() && parts(&dir).len() >= 4, "{}", recorded.said);
    assert_eq!(calls(&dir, "r/kernel-000001").first(), Some(&0));
    let emitted = dir.progress.emitted();
    assert!(end == emitted || end == emitted + 1, "..{end} of {emitted}");
    let figures = recorded.said.replace(',', "");
    assert!(figures.contains(&format!("of the kernel {end} events written 0 lost")), "{figures}");
    assert_eq!(dir.agreed("r/user-000001"), (1_001, 0));
}

#[test]
fn the_newest_parts_of_the_kernels_trace_are_kept_and_what_is_removed_is_counted_and_takes_no_space() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorder = start(&dir, "64kx2");
    until_removed(&dir, 4);
    // The index is written first, and then the space is freed.
    std::thread::sleep(Duration::from_millis(50));
    let (bytes, space) = takes(&dir).expect("pages");
    assert!(space < bytes / 2, "{space} of {bytes} bytes for two of six parts");
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let end = assert_complete(&dir, 2);
    let emitted = dir.progress.emitted();
    assert!(end == emitted || end == emitted + 1, "..{end} of {emitted}");
    let figures = recorded.said.replace(',', "");
    let [parts, events, _] = removed(&dir);
    assert!(figures.contains(&format!("of the kernel {end} events written 0 lost")), "{figures}");
    assert!(figures.contains(&format!("the oldest {events} of them are gone with {parts} parts")), "{figures}");
}

#[test]
fn events_of_the_kernel_are_switched_in_any_part() {
    const SLEPT: &str = "syscalls:sys_exit_clock_nanosleep";
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorder = start(&dir, "64k");
    until_part(&dir, 2);
    dir.text(&["switch", "r", "--kernel-on", SLEPT]);
    // The first whole one with them: on a loaded machine the command takes its time.
    let on = part(&dir) + 1;
    until_part(&dir, on + 1);
    let refused = dir.run(&["snapshot", "r"]);
    assert!(errors(&refused).contains("no flight recorder"), "{}", errors(&refused));
    dir.text(&["switch", "r", "--kernel-off", CALLS]);
    let off = dir.progress.emitted();
    std::thread::sleep(Duration::from_millis(100));
    recorder.signal(Signal::TERM);
    let recorded = recorder.wait();
    let slept: Vec<u64> = parts(&dir).iter().map(|part| dir.count(&format!("r/kernel-{part:06}"), SLEPT)).collect();
    let is_on = slept[on as usize - 1] > 0 && slept.last() > Some(&0);
    assert!(slept[0] == 0 && is_on, "{slept:?}, on in part {on}: {}", recorded.said);
    let found = calls(&dir, "r");
    assert!(found.iter().copied().eq(0..found.len() as u64) && found.len() as u64 <= off, "{} of {off}", found.len());
    assert_eq!(dir.agreed("r").1, 0);
}

#[test]
fn losses_of_the_kernel_are_counted_once_over_its_parts() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    // As fast as dd can, through two pages of each CPU; then the readers have time to end a part.
    let script = "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=1 count=30000 status=none; sleep 0.1; done";
    let options = ["-o", "r", "-k", "syscalls:sys_enter_write", "--buffer", "16k", "--rotate", "64kx3"];
    let output = dir.run(&[&["record"], &options[..], &["--", "sh", "-c", script]].concat());
    let said = errors(&output).replace(',', "");
    let [gone, events, removed_lost] = removed(&dir);
    let (written, lost) = dir.agreed("r");
    println!(
        "{said}{gone} parts with {events} and {removed_lost} lost are removed, {written} and {lost} lost are there"
    );
    assert!(gone > 0 && lost + removed_lost > 0, "{said}");
    assert_eq!(events + removed_lost + written + lost, 180_000);
    let each: u64 = parts(&dir).iter().map(|number| dir.agreed(&format!("r/kernel-{number:06}")).1).sum();
    assert_eq!(each, lost);
    let (all, all_lost) = (events + written, removed_lost + lost);
    assert!(said.contains(&format!("of the kernel {all} events written {all_lost} lost")), "{said}");
}

/// Recovers a recording whose recorder and program are gone, and checks it.
fn assert_recovered(dir: &TestDir, program: u32, at_least: u64) {
    let output = dir.run(&["recover", "r"]);
    assert!(output.status.success(), "{}", errors(&output));
    send(program, Signal::KILL);
    gone(program);
    let end = assert_complete(dir, 2);
    let emitted = dir.progress.emitted();
    assert!(end >= at_least && end <= emitted + 1, "{at_least} to {emitted}: {end}");
}

#[test]
fn after_a_kill_at_any_time_each_event_is_removed_or_recovered() {
    let Some(_alone) = usable() else { return };
    // In the brief form once each.
    kill_and_recover(0..if is_long() { 6 } else { 2 }, false);
}

#[test]
fn after_a_kill_of_recorder_and_guard_each_event_is_removed_or_recovered() {
    let Some(_alone) = usable_alone() else { return };
    kill_and_recover(6..if is_long() { 8 } else { 7 }, true);
}

/// Kills a recorder in the middle of removing a part, or some time later, with or without its guard; and recovers each recording.
fn kill_and_recover(rounds: Range<u64>, with_guard: bool) {
    for round in rounds {
        let dir = TestDir::new();
        let recorder = start(&dir, "64kx2");
        match round % 4 {
            // When the oldest pages are given up, and when their space is being freed.
            0 => until_removed(&dir, 1),
            1 => until(|| takes(&dir).is_some_and(|(bytes, space)| space < bytes)),
            _ => {
                until_removed(&dir, 2);
                std::thread::sleep(Duration::from_millis(61 * round));
            }
        }
        let (program, recorder_id) = (dir.program(), recorder.0.id());
        if with_guard {
            // Then `recover` reads the buffers itself.
            send(guard_of(recorder_id), Signal::KILL);
        }
        let emitted = dir.progress.emitted();
        recorder.signal(Signal::KILL);
        recorder.wait();
        assert_recovered(&dir, program, emitted);
        assert_eq!(instance(recorder_id), None);
    }
}

#[test]
fn after_kills_in_conversions_each_event_is_recovered_once() {
    let Some(_alone) = usable() else { return };
    for round in 0..if is_long() { 4 } else { 1 } {
        let dir = TestDir::new();
        let recorder = start(&dir, "64kx3");
        until_removed(&dir, 1);
        until_part(&dir, 5);
        recorder.signal(Signal::TERM);
        let trace = |part: u32| dir.path(&format!("r/kernel-{part:06}"));
        until(|| trace(3 + round % 2).exists());
        recorder.signal(Signal::KILL);
        recorder.wait();
        assert!(dir.path("r/kernel.pages").exists(), "it was killed too late");
        let mut recover = dir.command(&["recover", "r"]).stderr(Stdio::null()).spawn().expect("it starts");
        until(|| trace(4 + round % 2).exists());
        recover.kill().expect("it is there");
        recover.wait().expect("it ends");
        let there = dir.path("r/kernel.pages").exists();
        println!("round {round}: {:?} are there, pages {there}", parts(&dir));
        let output = dir.run(&["recover", "r"]);
        assert!(output.status.success() || !there, "{}", errors(&output));
        let (end, emitted) = (assert_complete(&dir, 3), dir.progress.emitted());
        assert!(end == emitted || end == emitted + 1, "..{end} of {emitted}");
    }
}

#[test]
fn without_the_buffers_what_is_left_of_the_parts_is_recovered() {
    let Some(_alone) = usable_alone() else { return };
    let dir = TestDir::new();
    let recorder = start(&dir, "64kx2");
    until_removed(&dir, 2);
    let (program, id) = (dir.program(), recorder.0.id());
    send(guard_of(id), Signal::KILL);
    recorder.signal(Signal::KILL);
    recorder.wait();
    send(program, Signal::KILL);
    gone(program);
    // As after a restart.
    let instance: PathBuf = instance(id).expect("no process was left to remove it");
    fs::remove_dir(instance).expect("no process reads it");
    crate::test_dir::memory_of(id).iter().for_each(|memory| fs::remove_file(memory).expect("it is there"));
    let output = dir.run(&["recover", "r"]);
    let said = errors(&output);
    assert!(output.status.code() == Some(4) && said.contains("more was lost, unknown how much"), "{said}");
    let end = assert_complete(&dir, 2);
    assert!(end > 0 && end < dir.progress.emitted(), "{end} of {}", dir.progress.emitted());
}

#[test]
fn where_the_space_of_old_pages_cannot_be_freed_a_limit_is_refused() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    // A ramfs cannot make holes in files.
    let script = format!(
        "mkdir ram; mount -t ramfs none ram; $HEADWATER trace record -o ram/r -k {CALLS} --rotate 64kx2 -- touch ran || exit $?"
    );
    let Some(output) = in_mount_namespace_of_this_user(&dir, &script) else { return };
    assert_eq!(output.status.code(), Some(125), "{}", errors(&output));
    assert!(errors(&output).contains("cannot free the space of its oldest pages"), "{}", errors(&output));
    assert!(!dir.path("ran").exists());
}

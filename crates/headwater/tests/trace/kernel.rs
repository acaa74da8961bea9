//! Events of the kernel together with those of a program.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use headwater_trace_tools::kernel::Support;

use crate::test_dir::{Recorder, TestDir, errors};

/// Held by the tests of this program that record the kernel: exclusively while an abandoned instance is needed.
static RECORDINGS: RwLock<()> = RwLock::new(());

/// Returns a guard if the kernel can be recorded; otherwise prints the reason.
pub fn usable() -> Option<RwLockReadGuard<'static, ()>> {
    can_be_recorded().then(|| RECORDINGS.read().unwrap_or_else(PoisonError::into_inner))
}

/// As [`usable`], for a test that kills a recorder with its guard and needs the instance that they leave: no other test starts a
/// recording meanwhile, which would remove it.
pub fn usable_alone() -> Option<RwLockWriteGuard<'static, ()>> {
    can_be_recorded().then(|| RECORDINGS.write().unwrap_or_else(PoisonError::into_inner))
}

fn can_be_recorded() -> bool {
    let support = Support::look();
    let obstacle = support.obstacle();
    if let Some(why) = &obstacle {
        println!("skipped: {why}");
    }
    obstacle.is_none()
}

#[test]
fn kernel_events_of_the_command_are_merged_with_its_own_on_one_clock() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorded = dir.record(&["-k", "sched:sched_process_exec,sched:sched_process_exit"], 1_000, "0");
    assert!(recorded.status.success() && recorded.left.is_empty(), "{}", recorded.said);
    dir.agreed("r");
    let text = dir.text(&["show", "r"]);
    let at = |what: &str| {
        let found: Vec<usize> = text.lines().enumerate().filter(|(_, l)| l.contains(what)).map(|(at, _)| at).collect();
        found
    };
    let (execs, exits, steps) = (at("sched_process_exec"), at("sched_process_exit"), at("test:"));
    assert_eq!((execs.len(), steps.len()), (1, 1_000), "one program was executed: {}", recorded.said);
    // Threads of the test harness exit too, each once.
    assert!(execs[0] < steps[0] && steps[999] < *exits.last().expect("it ended"), "in the order of time");
    assert!(!dir.path("r/kernel.pages").exists());
    let exit = text.lines().find(|line| line.contains("sched_process_exit")).expect("one at least");
    assert!(exit.contains(" comm=\"") && exit.contains("\" pid="), "names are text: {exit}");
}

#[test]
fn system_calls_have_names_and_the_arguments_that_the_kernel_describes() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let options = ["record", "-o", "r", "-k", "raw_syscalls,syscalls:sys_enter_openat", "--", "cat", "/dev/null"];
    let output = dir.run(&options);
    assert!(output.status.success(), "{}", errors(&output));
    dir.agreed("r");
    let arguments = |event: &str, before: &str| {
        let text = dir.text(&["show", "r", "-e", event]);
        let found: Vec<String> = text.lines().filter_map(|l| Some(l.split_once(before)?.1.to_owned())).collect();
        found
    };
    // The two events describe the same calls; one has registers, the other arguments.
    let opened = arguments("syscalls:sys_enter_openat", " dfd=");
    assert!(opened.iter().any(|text| text.starts_with("-100 filename=0x") && text.contains(" flags=0x")));
    assert_eq!(arguments("raw_syscalls:sys_enter", " id=openat dfd="), opened);
    let calls = dir.text(&["show", "r", "-e", "raw_syscalls:sys_enter"]);
    let unnamed: Vec<&str> = calls.lines().filter(|line| line.contains("args=[")).collect();
    println!("{} calls, without a description: {unnamed:?}", calls.lines().count());
    assert!(calls.lines().count() > 20 && unnamed.is_empty());
    let close = calls.lines().find(|line| line.contains(" id=close ")).expect("cat closes what it opened");
    assert!(close.rsplit_once(" id=close fd=").is_some_and(|(_, fd)| fd.parse::<u32>().is_ok()), "{close}");
    let json: serde_json::Value = serde_json::from_str(&dir.text(&["show", "r", "--format", "chrome"])).expect("JSON");
    let all = json["traceEvents"].as_array().expect("a list");
    let slice = all.iter().find(|event| event["ph"] == "X" && event["name"] == "close").expect("named by its call");
    assert!(slice["args"]["fd"].is_u64() && slice["args"]["end"]["ret"] == 0, "{slice}");
}

#[test]
fn the_perfetto_export_of_program_and_kernel_is_consistent() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorded = dir.record(&["-k", "sched,raw_syscalls,signal"], 20_000, "0");
    assert!(recorded.status.success(), "{}", recorded.said);
    let events = dir.agreed("r").0;
    let calls = dir.text(&["show", "r", "-e", "raw_syscalls:sys_enter"]);
    assert!(calls.contains("id=clock_nanosleep "), "calls have names: {:?}", calls.lines().next());
    let json: serde_json::Value = serde_json::from_str(&dir.text(&["show", "r", "--format", "chrome"])).expect("JSON");
    crate::sound::check(&json);
    let all = json["traceEvents"].as_array().expect("a list");
    let count = |phase: &str| all.iter().filter(|event| event["ph"] == phase).count();
    println!("{} slices, {} instants, {} and {} ends of arrows", count("X"), count("i"), count("s"), count("f"));
    // The number of wake-ups depends on the machine.
    assert!(count("X") > 100 && count("X") + count("i") > events as usize / 2);
}

#[test]
fn an_unknown_kernel_event_suggests_similar_ones() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let output = dir.run(&["record", "-o", "r", "-k", "sched:sched_swich", "--", "touch", "ran"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(errors(&output).contains("did you mean sched:sched_switch"), "{}", errors(&output));
    assert!(!dir.path("ran").exists() && !dir.path("r").exists());
    assert!(dir.text(&["list", "--kernel", "sched"]).contains("sched:sched_switch\n"));
}

#[test]
fn snapshots_have_the_newest_kernel_events_and_the_final_trace_has_them_all() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    // The program makes about four kernel events for each thousand of its own, and thousands when it starts.
    let options = ["--flight", "-k", "raw_syscalls,sched,syscalls:sys_exit_clock_nanosleep", "--buffer", "64k"];
    let recorder = Recorder::start(dir.recorder(&options, 1_000_000, "0"));
    let (mut before, mut happened) = (0, 0);
    for (number, emitted) in [100_000, 200_000, 400_000].into_iter().enumerate() {
        dir.emitted(emitted);
        let name = format!("s{number}");
        dir.text(&["snapshot", "r", "-o", &name]);
        let (written, older) = dir.agreed(&format!("{name}/kernel"));
        assert!(written > 100 && written + older > happened, "{written} and {older} after {happened}");
        happened = written + older;
        let slept = dir.count(&name, "syscalls:sys_exit_clock_nanosleep");
        assert!(slept > 0 && dir.agreed(&format!("{name}/user")).0 > 0);
        before = before.max(slept);
    }
    let recorded = recorder.wait();
    let (written, lost) = dir.agreed("r/kernel");
    assert!(written + lost > happened, "{written} and {lost} at the end, {happened} before: {}", recorded.said);
    // All events of the earlier snapshots are in the final trace.
    assert!(dir.count("r", "syscalls:sys_exit_clock_nanosleep") > before);
    let slept = dir.count("r", "syscalls:sys_exit_clock_nanosleep");
    println!("{written} written, {lost} lost, {slept} sleeps");
    assert!(recorded.left.is_empty() && !dir.path("r/kernel.pages").exists());
}

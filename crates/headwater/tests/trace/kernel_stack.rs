//! Events of the kernel with their stacks.

use rustix::process::Signal;

use crate::kernel::usable;
use crate::test_dir::{Recorder, TestDir};

const SLEPT: &str = "syscalls:sys_exit_clock_nanosleep";

/// Checks that events of the kernel have stacks of named functions, and those of a switch are the scheduler's.
fn assert_stacks(dir: &TestDir, recording: &str) {
    dir.agreed(recording);
    let text = dir.text(&["show", recording, "-e", "sched:*,*syscalls:*"]);
    let events: Vec<&str> = text.lines().collect();
    let is_named = |line: &&&str| {
        line.rsplit_once(" stack=[").is_some_and(|(_, stack)| {
            !stack.contains("0xffff")
                && stack.split(", ").all(|frame| frame.trim_end_matches(']').ends_with(" (kernel)"))
        })
    };
    let unnamed: Vec<_> = events.iter().filter(|line| !is_named(line)).collect();
    // For wake-ups in interrupts of an idle CPU the kernel makes none, of which there are more the more the machine sleeps.
    let is_foreseen = |line: &&&&str| line.ends_with(" stack=[]") && line.contains(" sched:");
    assert!(
        unnamed.iter().all(|line| is_foreseen(&line)),
        "{recording}: {:?}",
        unnamed.iter().find(|line| !is_foreseen(line))
    );
    assert!(unnamed.len() * 2 < events.len(), "{recording}: {} of {}", unnamed.len(), events.len());
    let is_switch = |line: &&&str| line.contains(" sched:sched_switch ") && !line.ends_with(" stack=[]");
    let mut switches = events.iter().filter(is_switch).peekable();
    assert!(switches.peek().is_some() && switches.all(|line| line.contains("__schedule+0x")), "{recording}");
}

#[test]
fn events_of_the_kernel_have_named_stacks_in_recordings_snapshots_and_parts_and_others_have_none() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let options = ["-k", "sched,raw_syscalls", "-k", SLEPT];
    // Thousands of events, so that pages and packets end between events and their stacks.
    let recorded = dir.record(&[&options[..], &["--kernel-stack"]].concat(), 100_000, "0");
    assert!(recorded.status.success() && recorded.said.contains(" 0 lost"), "{}", recorded.said);
    assert_stacks(&dir, "r");
    assert!(!dir.text(&["show", "r", "-e", "test:*"]).contains("stack="));
    let offsets = dir.text(&["show", "r", "--offsets", "-e", SLEPT]);
    assert!(offsets.lines().all(|line| line.contains(" stack=[0xffffffff")), "{:?}", offsets.lines().next());
    let dir = TestDir::new();
    let recorder =
        Recorder::start(dir.recorder(&[&options[..], &["--kernel-stack", "--flight"]].concat(), 3_000, "wait"));
    dir.emitted(3_000);
    dir.text(&["snapshot", "r", "-o", "s"]);
    assert_stacks(&dir, "s");
    recorder.signal(Signal::TERM);
    recorder.wait();
    assert_stacks(&dir, "r");
    let dir = TestDir::new();
    dir.record(&[&options[..], &["--kernel-stack", "--rotate", "64k"]].concat(), 600_000, "0");
    for part in ["r/kernel-000001", "r/kernel-000002"] {
        let text = dir.text(&["show", part, "-e", "raw_syscalls:*"]);
        let named = text.lines().filter(|line| line.contains("do_syscall_64+0x")).count();
        // The stack of a part's last event on each CPU may be in the next part.
        assert!(named > 100 && named + 16 > text.lines().count(), "{part}: {named} of {}", text.lines().count());
    }
    let dir = TestDir::new();
    dir.record(&options, 1_000, "0");
    assert!(!dir.text(&["show", "r"]).contains("stack="));
}

#[test]
fn a_killed_recorder_s_events_have_named_stacks_and_so_have_those_that_were_switched_on() {
    let Some(_alone) = usable() else { return };
    let dir = TestDir::new();
    let recorder = Recorder::start(dir.recorder(&["-k", "sched", "--kernel-stack"], 100_000_000, "wait"));
    dir.emitted(1_000);
    dir.text(&["switch", "r", "--kernel-on", SLEPT]);
    dir.emitted(dir.progress.emitted() + 50_000);
    recorder.kill_with_program(&dir);
    dir.text(&["recover", "r"]);
    assert_stacks(&dir, "r");
    let slept = dir.text(&["show", "r", "-e", SLEPT]);
    assert!(slept.contains("do_syscall_64+0x"), "{slept}");
}

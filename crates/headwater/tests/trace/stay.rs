//! Processes that outlive the recorded command.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::program;
use crate::test_dir::{Recorder, TestDir, gone, send};

/// Returns `record` of a shell that starts the program in a session of its own, as a daemon, and exits with 3 at once.
fn daemon(dir: &TestDir, options: &[&str], count: u64, end: &str) -> Command {
    let (name, value) = program::instructions(count, end);
    let script = "setsid \"$0\" \"$@\" </dev/null >/dev/null 2>&1 & echo $! >daemon; exit 3";
    let mut command = dir.command(&[&["record", "-o", "r"], options, &["--", "sh", "-c", script]].concat());
    command.arg(std::env::current_exe().expect("an executable")).args(program::ARGUMENTS).env(name, value);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn pid(dir: &TestDir) -> u32 {
    std::fs::read_to_string(dir.path("daemon")).expect("the shell wrote it").trim().parse().expect("a number")
}

#[test]
fn a_daemon_is_recorded_to_its_end_and_the_status_is_the_commands() {
    let dir = TestDir::new();
    let recorded = Recorder::start(daemon(&dir, &["--stay", "--buffer", "16m"], 50_000, "0")).wait();
    assert_eq!(recorded.status.code(), Some(3), "{}", recorded.said);
    assert!(recorded.said.contains("a process that it started will be recorded") && recorded.left.is_empty());
    assert_eq!(dir.agreed("r"), (50_001, 0), "{}", recorded.said);
}

#[test]
fn a_recorder_that_stays_ends_by_a_signal_or_when_its_time_is_over() {
    for option in ["--stay", "--stay=1s"] {
        let dir = TestDir::new();
        let start = Instant::now();
        let mut recorder = Recorder::start(daemon(&dir, &[option], 1_000, "wait"));
        dir.emitted(1_000);
        if option == "--stay" {
            std::thread::sleep(Duration::from_millis(300));
            assert!(recorder.0.try_wait().expect("wait").is_none(), "it stays");
            recorder.signal(Signal::TERM);
        }
        let recorded = recorder.wait();
        assert_eq!(recorded.status.code(), Some(3), "{}", recorded.said);
        assert!(option == "--stay" || start.elapsed() >= Duration::from_secs(1), "it stays");
        assert!(start.elapsed() < Duration::from_secs(20) && recorded.left.is_empty());
        assert_eq!(dir.agreed("r"), (1_001, 0), "{}", recorded.said);
        // The signal was for the recorder alone.
        send(pid(&dir), Signal::KILL);
        gone(pid(&dir));
    }
}

#[test]
fn the_guard_of_a_kernel_session_is_no_process_of_the_command() {
    let Some(_alone) = crate::kernel::usable() else { return };
    let dir = TestDir::new();
    let options = ["--stay", "-k", "sched:sched_process_exit", "--buffer", "16m"];
    let recorded = Recorder::start(daemon(&dir, &options, 20_000, "0")).wait();
    assert_eq!(recorded.status.code(), Some(3), "{}", recorded.said);
    assert_eq!(dir.agreed("r/user"), (20_001, 0), "{}", recorded.said);
    let exits = dir.text(&["show", "r/kernel", "-e", "sched:sched_process_exit"]);
    assert!(exits.lines().any(|line| line.contains(&format!(" tid {} ", pid(&dir)))), "the daemon's too: {exits}");
}

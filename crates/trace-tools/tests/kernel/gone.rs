//! Nothing of a session remains, however its process ended.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater_trace_tools::kernel::{Mode, Session, Settings, Tracefs, sweep};

use crate::common::{Waiting, only, usable};
use crate::own_process::run_in_own_process;

/// The variable with the directory for the tool's pages. Without it the tool does nothing.
const DIRECTORY: &str = "HEADWATER_TEST_DIRECTORY";

fn gone(path: &Path) -> bool {
    let start = Instant::now();
    while path.exists() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn dropped_or_unwound_a_session_is_gone_at_once() {
    if !usable() {
        return;
    }
    // The children of other tests have copies of the descriptors that are open when they are forked.
    let Some(_alone) = run_in_own_process() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    for mode in [Mode::Flight, Mode::Drain { directory: directory.path().to_owned() }] {
        let waiting = Waiting::calling(1);
        let session = Session::start(&only(&[&waiting], mode.clone())).expect("a session");
        let path = session.path().to_owned();
        assert!(path.exists());
        drop(session);
        assert!(!path.exists());
        let mut path = PathBuf::new();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let session = Session::start(&only(&[&waiting], mode)).expect("a session");
            path = session.path().to_owned();
            assert!(!path.exists(), "this is the panic");
        }));
        assert!(unwound.is_err() && !path.as_os_str().is_empty() && !path.exists());
        assert_eq!(std::fs::read_dir(directory.path()).expect("there").count(), 0);
        waiting.run();
    }
}

/// Not a test: the process that the next test kills.
#[test]
#[ignore = "started by signals_remove_the_instance_too"]
fn tool() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let settings = Settings {
        processes: Some(vec![std::process::id()]),
        ..Settings::new(&["sched", "raw_syscalls"], Mode::Drain { directory: directory.into() })
    };
    let session = Session::start(&settings).expect("a session");
    println!("instance {}", session.path().file_name().expect("a name").display());
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts the tool. Returns it and its instance.
fn start_tool(found: &Tracefs, directory: &Path) -> (std::process::Child, PathBuf) {
    let mut tool = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "gone::tool", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("this program again");
    let mut lines = BufReader::new(tool.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let name = lines.find_map(|line| Some(line.split_once("instance ")?.1.to_owned()));
    let path = found.path("instances").join(name.expect("it names its instance"));
    assert!(path.exists());
    (tool, path)
}

/// The guard that a process has forked.
fn guard_of(process: u32) -> libc::pid_t {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it lives").flatten();
    let children = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let all: Vec<String> = children.flat_map(|pids| pids.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    let named = |pid: &&String| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "headwater-guard")
    };
    all.iter().find(named).and_then(|pid| pid.parse().ok()).expect("it has a guard")
}

#[test]
fn an_instance_whose_guard_still_saves_is_left_alone() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    let directory = tempfile::tempdir().expect("a directory");
    let (mut tool, path) = start_tool(&found, directory.path());
    let guard = guard_of(tool.id());
    // SAFETY: touches no memory; the guard lives as long as its parent, which was not waited for.
    assert_eq!(unsafe { libc::kill(guard, libc::SIGSTOP) }, 0);
    tool.kill().expect("it lives");
    tool.wait().expect("wait");
    assert!(!sweep(&found).expect("a list").contains(&path) && path.exists(), "its guard has saved nothing yet");
    // SAFETY: as above; stopped, it has not ended.
    assert_eq!(unsafe { libc::kill(guard, libc::SIGCONT) }, 0);
    assert!(gone(&path), "the guard removes it");
}

#[test]
fn signals_remove_the_instance_too() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut tool, path) = start_tool(&found, directory.path());
        // Signal the whole process group, as a terminal does: the guard is not in it.
        //
        // SAFETY: touches no memory; the group is our own child's, which was not waited for.
        assert_eq!(unsafe { libc::kill(-(tool.id() as libc::pid_t), signal) }, 0);
        tool.wait().expect("wait");
        assert!(gone(&path), "{signal}");
    }
}

#[test]
fn sweep_removes_only_stale_instances() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    let waiting = Waiting::calling(0);
    let own = Session::start(&only(&[&waiting], Mode::Flight)).expect("a session");
    // No process has the first number here, as that of a session in another PID namespace; its lock counts. The second number is
    // one that no session of this process reaches.
    let [live, stale] = ["4000000000", &std::process::id().to_string()]
        .map(|pid| found.path(&format!("instances/headwater-{pid}-4000000000")));
    for path in [&live, &stale] {
        std::fs::create_dir(path).expect("an instance");
    }
    let lock = std::fs::File::open(&live).expect("it is there");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).expect("flock");
    let swept = sweep(&found).expect("a list");
    assert!(swept.contains(&stale) && !swept.contains(&live), "{swept:?}");
    assert!(!stale.exists() && live.exists() && own.path().exists());
    drop(lock);
    assert!(sweep(&found).expect("a list").contains(&live));
    waiting.run();
}

//! Nothing of a session remains, however its process ended.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater_trace_tools::kernel::{Mode, Session, Settings, Tracefs, sweep};

use crate::common::{Waiting, only, usable};

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

#[test]
fn signals_remove_the_instance_too() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut tool = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "gone::tool", "--ignored", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("this program again");
        let mut lines = BufReader::new(tool.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let name = lines.find_map(|line| Some(line.split_once("instance ")?.1.to_owned()));
        let path = found.path("instances").join(name.expect("it names its instance"));
        assert!(path.exists());
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
    let mut dead = Waiting::calling(0);
    let own = Session::start(&only(&[&dead], Mode::Flight)).expect("a session");
    let pid = dead.child.id();
    let stale = found.path(&format!("instances/headwater-{pid}-7"));
    std::fs::create_dir(&stale).expect("an instance");
    assert!(!sweep(&found).expect("a list").contains(&stale), "its process lives");
    dead.child.kill();
    dead.child.wait().expect("wait");
    assert!(sweep(&found).expect("a list").contains(&stale));
    assert!(!stale.exists() && own.path().exists());
}

//! A bug in the command itself must leave nothing behind either: a panic in the middle of a run.
//!
//! This test has a main of its own (`harness = false`), because the command starts its conductors from its own file:
//! here that is this test.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use headwater::harness::launch::CONDUCT;
use headwater::harness::run::{BlockRunner, Observer};
use headwater::harness::scratch::Scratch;
use headwater::plan::{Plan, RunRequest};
use headwater_os::child::exists;
use headwater_os_tools::signal::StopSignals;
use headwater_results::schema::{Event, Row};

/// Panics when the second launch has ended.
struct Clumsy {
    launches: u32,
    directory: PathBuf,
}

impl Observer for Clumsy {
    fn event(&mut self, _: &Event) -> anyhow::Result<()> {
        self.launches += 1;
        assert!(self.directory.exists(), "the private directory is there while the run goes on");
        assert!(self.launches < 2, "on purpose");
        Ok(())
    }

    fn launch(&mut self, _: &Row, _: u32, _: usize, _: usize) {}
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(CONDUCT) {
        return headwater::cli::main();
    }
    std::panic::set_hook(Box::new(|_| ()));
    let wishes = RunRequest {
        selection: vec!["fifo/stream".into(), "sysv-mq/stream".into()],
        time_s: Some(0.005),
        ..RunRequest::default()
    };
    let plan = Plan::new(&wishes, 1, || 1).expect("rows of the overview");
    let stop = StopSignals::watch().expect("a descriptor");
    let scratch = Scratch::new().expect("a private directory");
    let directory = scratch.path().to_owned();
    let mut clumsy = Clumsy { launches: 0, directory: directory.clone() };
    let run = catch_unwind(AssertUnwindSafe(|| {
        // The run owns its private directory, as `headwater run` does.
        let scratch = scratch;
        BlockRunner::new(&plan, &[0]).expect("the test's own file").run(&scratch, &stop, &mut clumsy)
    }));
    assert!(run.is_err() && clumsy.launches == 2, "it panicked in the second launch");
    assert!(!directory.exists(), "the private directory is gone");
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).unwrap_or_default();
    let alive: Vec<&str> = children.split_whitespace().filter(|pid| pid.parse().is_ok_and(exists)).collect();
    assert!(alive.is_empty(), "no child is left: {alive:?}");
    println!("1 passed, 0 failed");
    ExitCode::SUCCESS
}

//! A panic in the middle of a run, as a bug in the command would cause, must leave nothing behind.
//!
//! This test has its own `main` (`harness = false`), because the command starts its conductors from its own executable,
//! which is this test.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use headwater_gauge::harness::launch::CONDUCT;
use headwater_gauge::harness::run::{BlockRunner, Observer, Share};
use headwater_gauge::harness::scratch::Scratch;
use headwater_gauge::plan::{Plan, RunRequest};
use headwater_os::child::exists;
use headwater_os_tools::signal::StopSignals;
use headwater_results::schema::{Event, Row};

/// An observer that panics when the second launch has ended.
struct PanickingObserver {
    launches: u32,
    directory: PathBuf,
}

impl Observer for PanickingObserver {
    fn event(&mut self, _: &Event) -> anyhow::Result<()> {
        self.launches += 1;
        assert!(self.directory.exists(), "the private directory is there while the run goes on");
        assert!(self.launches < 2, "on purpose");
        Ok(())
    }

    fn launch(&mut self, _: &Row, _: u32, _: Share) {}
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(CONDUCT) {
        return headwater::cli::main();
    }
    std::panic::set_hook(Box::new(|_| ()));
    let request = RunRequest {
        selection: vec!["fifo/stream".into(), "sysv-mq/stream".into()],
        time_s: Some(0.005),
        ..RunRequest::default()
    };
    let plan = Plan::new(&request, 1, || 1).expect("rows of the overview");
    let stop = StopSignals::watch().expect("a descriptor");
    let scratch = Scratch::new().expect("a private directory");
    let directory = scratch.path().to_owned();
    let mut observer = PanickingObserver { launches: 0, directory: directory.clone() };
    let run = catch_unwind(AssertUnwindSafe(|| {
        // The closure owns the private directory, as `headwater run` does.
        let scratch = scratch;
        BlockRunner::new(&plan, &[0]).expect("the test's own file").run(&scratch, &stop, &mut observer)
    }));
    assert!(run.is_err() && observer.launches == 2, "it panicked after the second launch");
    assert!(!directory.exists(), "the private directory is gone");
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).unwrap_or_default();
    let alive: Vec<&str> = children.split_whitespace().filter(|pid| pid.parse().is_ok_and(exists)).collect();
    assert!(alive.is_empty(), "no child is left: {alive:?}");
    println!("1 passed, 0 failed");
    ExitCode::SUCCESS
}

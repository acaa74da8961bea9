//! Starts a conductor as the command does, for the tests of facilities.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use headwater_gauge::harness::conduct::{Job, Outcome};
use rustix::process::Pid;

/// A running conductor. Dropping it kills it, and the kernel then kills its workers.
pub struct Conductor {
    process: Child,
    output: ChildStdout,
}

impl Conductor {
    /// Starts a conductor and sends it the job.
    pub fn start(job: &Job) -> Conductor {
        let mut process = Command::new(env!("CARGO_BIN_EXE_headwater"))
            .arg("conduct")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let order = serde_json::json!({ "order": "launch", "job": job });
        let mut input = process.stdin.take().expect("a pipe");
        input.write_all(order.to_string().as_bytes()).expect("the conductor reads its order");
        let output = process.stdout.take().expect("a pipe");
        Conductor { process, output }
    }

    /// Returns its workers, as soon as there are `count`.
    pub fn workers(&self, count: usize) -> Vec<Pid> {
        let id = self.process.id();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("the conductor runs");
            let workers: Vec<Pid> =
                text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect();
            if workers.len() == count {
                return workers;
            }
            assert!(Instant::now() < deadline, "{} workers instead of {count}", workers.len());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its result.
    pub fn outcome(mut self) -> Outcome {
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("the conductor writes text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
    }
}

impl Drop for Conductor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until none of these processes runs. A dead one may stay in the table of processes for seconds: until the init of this machine
/// has waited for it.
pub fn assert_gone(workers: &[Pid]) {
    let deadline = Instant::now() + Duration::from_secs(5);
    for worker in workers {
        while is_running(*worker) {
            assert!(Instant::now() < deadline, "worker {worker:?} is left behind");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn is_running(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // After the name, which may contain anything, comes the state: Z or X once the process is dead.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

//! A directory for a test: runs the command in it and reads the results.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::program::{self, Progress};

pub struct TestDir {
    directory: TempDir,
    pub progress: Progress,
}

impl TestDir {
    pub fn new() -> TestDir {
        let directory = TempDir::new().expect("a directory");
        let progress = Progress::create(directory.path());
        TestDir { directory, progress }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns `headwater trace` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.arg("trace").args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// Returns the standard output of a command that must succeed.
    pub fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Returns `record` into `r`, of the program that emits `count` events and then does `end`.
    pub fn recorder(&self, options: &[&str], count: u64, end: &str) -> Command {
        let (name, value) = program::instructions(count, end);
        let mut command = self.command(&[&["record", "-o", "r"], options, &["--"]].concat());
        command.arg(std::env::current_exe().expect("an executable")).args(program::ARGUMENTS).env(name, value);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub fn record(&self, options: &[&str], count: u64, end: &str) -> Recorded {
        Recorder::start(self.recorder(options, count, end)).wait()
    }

    /// Waits until the program has emitted that many events.
    pub fn emitted(&self, count: u64) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.progress.emitted() < count {
            assert!(Instant::now() < deadline, "{} events", self.progress.emitted());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the output of `stat` for a recording, whether or not the recording is complete.
    fn figures(&self, recording: &str) -> String {
        let output = self.run(&["stat", recording, "--json"]);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", errors(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Returns the numbers of written and lost events of a recording.
    pub fn stat(&self, recording: &str) -> (u64, u64) {
        let json: serde_json::Value = serde_json::from_str(&self.figures(recording)).expect("JSON");
        (json["events"].as_u64().expect("a count"), json["lost"].as_u64().expect("a count"))
    }

    /// Returns how many events of a kind a recording has.
    pub fn count(&self, recording: &str, kind: &str) -> u64 {
        let json: serde_json::Value = serde_json::from_str(&self.figures(recording)).expect("JSON");
        let kinds = json["kinds"].as_array().expect("kinds");
        kinds.iter().find(|row| row["event"] == kind).map_or(0, |row| row["count"].as_u64().expect("a count"))
    }

    /// Returns the numbers of events and of discarded events that babeltrace2 finds in a recording; `None` if it is not
    /// installed.
    pub fn babeltrace(&self, recording: &str) -> Option<(u64, u64)> {
        let Ok(output) = Command::new("babeltrace2").arg(self.path(recording)).output() else {
            println!("skipped: there is no babeltrace2");
            return None;
        };
        assert!(output.status.success(), "{}", errors(&output));
        let discarded = errors(&output)
            .lines()
            .filter_map(|line| {
                let count = line.split_once("discarded ")?.1.split(' ').next()?;
                Some(count.parse::<u64>().unwrap_or_else(|_| panic!("{line}")))
            })
            .sum();
        Some((output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64, discarded))
    }

    /// Returns the result of [`TestDir::stat`]; babeltrace2 must agree with it.
    pub fn agreed(&self, recording: &str) -> (u64, u64) {
        let ours = self.stat(recording);
        if let Some(theirs) = self.babeltrace(recording) {
            assert_eq!(ours, theirs, "ours, babeltrace2's");
        }
        ours
    }

    /// Returns the process id of the recorded program.
    pub fn program(&self) -> u32 {
        let file = fs::read_to_string(self.path("r/session.json")).expect("it is written first");
        let json: serde_json::Value = serde_json::from_str(&file).expect("JSON");
        json["pid"].as_u64().expect("it runs") as u32
    }
}

/// A running recorder.
pub struct Recorder(pub Child);

/// A recorder that has ended.
pub struct Recorded {
    pub status: std::process::ExitStatus,
    pub said: String,
    /// The session memory that it left behind.
    pub left: Vec<PathBuf>,
}

impl Recorder {
    pub fn start(mut command: Command) -> Recorder {
        Recorder(command.spawn().expect("the command starts"))
    }

    pub fn signal(&self, signal: Signal) {
        send(self.0.id(), signal);
    }

    /// Kills the recorder and then its program, and waits until both have ended. Returns the session memory that they leave.
    pub fn kill_with_program(self, dir: &TestDir) -> PathBuf {
        let (pid, program) = (self.0.id(), dir.program());
        self.signal(Signal::KILL);
        send(program, Signal::KILL);
        self.wait();
        gone(program);
        memory_of(pid).remove(0)
    }

    pub fn wait(mut self) -> Recorded {
        let status = self.0.wait().expect("it ends");
        let mut said = String::new();
        // After a kill the program still has the pipe open, and the test must not wait for it.
        if status.code().is_some() {
            self.0.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        }
        Recorded { status, said, left: memory_of(self.0.id()) }
    }
}

/// Returns the session memory of a recorder.
pub fn memory_of(recorder: u32) -> Vec<PathBuf> {
    let of = format!("-{recorder}-");
    let entries = fs::read_dir("/dev/shm").expect("it can be read").flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        path.to_string_lossy().starts_with("/dev/shm/headwater-trace-") && path.to_string_lossy().contains(&of)
    };
    entries.filter(named).collect()
}

pub fn send(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).expect("not 0"), signal).expect("it is there");
}

/// Waits until a process that is not a child has ended.
pub fn gone(process: u32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let stat = format!("/proc/{process}/stat");
    // A zombie has ended too; its new parent may not wait for it at once.
    while fs::read_to_string(Path::new(&stat)).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "process {process} is still there");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

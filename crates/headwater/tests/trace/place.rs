//! A directory for a test, the command in it, and what it left.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::program::{self, Board};

pub struct Place {
    directory: TempDir,
    pub board: Board,
}

impl Place {
    pub fn new() -> Place {
        let directory = TempDir::new().expect("a directory");
        let board = Board::create(directory.path());
        Place { directory, board }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `headwater trace` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.arg("trace").args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// Standard output of a command that succeeds.
    pub fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// `record` of the program with a part, into `r`.
    pub fn recorder(&self, options: &[&str], count: u64, end: &str) -> Command {
        let (name, value) = program::part(count, end);
        let mut command = self.command(&[&["record", "-o", "r"], options, &["--"]].concat());
        command.arg(std::env::current_exe().expect("an executable")).args(program::ARGUMENTS).env(name, value);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub fn record(&self, options: &[&str], count: u64, end: &str) -> Recorded {
        Recorder::start(self.recorder(options, count, end)).wait()
    }

    /// Waits until the program has emitted so many.
    pub fn emitted(&self, count: u64) {
        let patience = Instant::now() + Duration::from_secs(30);
        while self.board.emitted() < count {
            assert!(Instant::now() < patience, "{} events", self.board.emitted());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What `stat` prints of a recording, whether or not that is whole.
    fn figures(&self, recording: &str) -> String {
        let output = self.run(&["stat", recording, "--format", "json"]);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", errors(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The figures of a recording.
    pub fn stat(&self, recording: &str) -> (u64, u64) {
        let json: serde_json::Value = serde_json::from_str(&self.figures(recording)).expect("JSON");
        (json["events"].as_u64().expect("a count"), json["lost"].as_u64().expect("a count"))
    }

    /// How many events of a kind are in a recording.
    pub fn count(&self, recording: &str, kind: &str) -> u64 {
        let json: serde_json::Value = serde_json::from_str(&self.figures(recording)).expect("JSON");
        let kinds = json["kinds"].as_array().expect("kinds");
        kinds.iter().find(|row| row["event"] == kind).map_or(0, |row| row["count"].as_u64().expect("a count"))
    }

    /// What babeltrace2 finds in a recording, and what it says was discarded; None without it.
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

    /// As [`Place::stat`], after babeltrace2 has agreed.
    pub fn agreed(&self, recording: &str) -> (u64, u64) {
        let ours = self.stat(recording);
        if let Some(theirs) = self.babeltrace(recording) {
            assert_eq!(ours, theirs, "ours, babeltrace2's");
        }
        ours
    }

    /// The process that a recording is of.
    pub fn program(&self) -> u32 {
        let file = fs::read_to_string(self.path("r/session.json")).expect("it is written first");
        let json: serde_json::Value = serde_json::from_str(&file).expect("JSON");
        json["pid"].as_u64().expect("it runs") as u32
    }
}

/// A recorder that runs.
pub struct Recorder(pub Child);

/// One that has ended.
pub struct Recorded {
    pub status: std::process::ExitStatus,
    pub said: String,
    /// The memory that it left.
    pub left: Vec<PathBuf>,
}

impl Recorder {
    pub fn start(mut command: Command) -> Recorder {
        Recorder(command.spawn().expect("the command starts"))
    }

    pub fn signal(&self, signal: Signal) {
        send(self.0.id(), signal);
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

/// The memory of sessions of a recorder.
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
    let patience = Instant::now() + Duration::from_secs(10);
    let stat = format!("/proc/{process}/stat");
    // A zombie, whose new parent may not wait for it at once, has ended as well.
    while fs::read_to_string(Path::new(&stat)).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < patience, "process {process} is still there");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

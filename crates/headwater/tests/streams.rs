//! `headwater streams`: what the command prints of the streams that this test has open, its exit statuses, and the terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use headwater_streams::drivers::log::LogFlags;
use headwater_streams::{Access, DeviceOptions, FifoOptions, LogSubmitter, Options, Priority, Stream};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

fn headwater(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.arg("streams").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    headwater(arguments).output().expect("the command starts")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("ended by itself")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn own_pid() -> String {
    std::process::id().to_string()
}

fn json_lines(bytes: &[u8]) -> Vec<Value> {
    text(bytes).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The streams of this process with these sizes, as `ls --json` has them.
fn listed(strmsgsz: u32) -> Vec<Value> {
    let output = run(&["ls", "--json", "--pid", &own_pid()]);
    json_lines(&output.stdout).into_iter().filter(|stream| stream["strmsgsz"] == strmsgsz).collect()
}

fn pipe(strmsgsz: u32) -> (Stream, Stream) {
    Options::new().strmsgsz(strmsgsz).pipe().expect("pipe")
}

/// A started command whose lines are read.
struct Started {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Started {
    fn new(command: &mut Command) -> Started {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Started { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("UTF-8");
        line
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("own child");
    }

    /// The exit status, of one that ends soon.
    fn end(mut self) -> i32 {
        ended(&mut self.child)
    }
}

fn ended(child: &mut Child) -> i32 {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("own child") {
            return status.code().expect("no signal");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    panic!("the command does not end");
}

#[test]
fn ls_shows_ends_modules_and_queues() {
    let (near, far) = pipe(100_001);
    near.write(b"hello").expect("room");
    near.putpmsg(Some(b"urgent"), None, Priority::Band(3)).expect("room");
    far.push("srvmod").expect("known");
    let found = listed(100_001);
    let [stream] = &found[..] else { panic!("one stream, not {found:?}") };
    assert_eq!(stream["kind"]["type"], "pipe");
    assert_eq!(stream["directions"][0]["queued_bytes"], 11);
    assert_eq!(stream["directions"][0]["queued_messages"], 1);
    assert_eq!(stream["directions"][0]["stored"]["bands"][1]["band"], 3);
    assert_eq!(stream["ends"][1]["modules"][0]["name"], "srvmod");
    assert_eq!(stream["processes"][0]["pid"], std::process::id());
    assert_eq!(stream["contradictions"], Value::Array(Vec::new()));

    let id = stream["stream"].to_string();
    let table = text(&run(&["ls", &id]).stdout);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["STREAM", "WHAT", "END", "MODULES", "QUEUED", "HIWAT", "MSGS", "READ", "STATE", "PROCESSES"]);
    assert_eq!(lines[1][..5], [&id, "pipe", "0", "-", "0"]);
    assert_eq!(lines[2][..6], ["1", "srvmod", "11", "B", "65.5", "kB"]);
    assert!(lines[2].contains(&own_pid().as_str()), "{table}");
    assert_eq!(lines.len(), 3, "{table}");

    let modules = text(&run(&["ls", "--modules", "--wide", &id]).stdout);
    assert_eq!(modules.lines().filter(|line| line.contains("  srvmod ")).count(), 3, "{modules}");
    assert!(modules.contains("LOWAT") && modules.contains(" end 0"), "{modules}");
    drop(far);
    // Another test's thread may start a program, which has a copy of each descriptor for a moment.
    let end = Instant::now() + PATIENCE;
    while !text(&run(&["ls", &id]).stdout).contains("closed") {
        assert!(Instant::now() < end, "the other end is still held");
    }
}

#[test]
fn ls_selects_by_name_process_and_module() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("queue");
    let options = FifoOptions::new().create(0o600).nonblocking(true).stream(Options::new().strmsgsz(100_002));
    let reader = options.open(&path, Access::Read).expect("open");
    let device = DeviceOptions::new().stream(Options::new().strmsgsz(100_002)).open_private("echo").expect("open");
    device.push("nullmod").expect("known");
    let of = |arguments: &[&str]| {
        let output = headwater(&["ls", "--json"]).args(arguments).output().expect("it starts");
        let own = |stream: &Value| stream["strmsgsz"] == 100_002;
        let kinds = json_lines(&output.stdout).into_iter().filter(own).map(|stream| stream["kind"]["type"].to_string());
        (kinds.collect::<Vec<_>>(), status(&output))
    };
    let (path, pid) = (path.to_str().expect("UTF-8"), own_pid());
    assert_eq!(of(&[path]), (vec!["\"fifo\"".to_owned()], 0));
    assert_eq!(of(&["echo", "--pid", &pid]), (vec!["\"device\"".to_owned()], 0));
    assert_eq!(of(&["echo/0", "--pid", &pid, "--with", "nullmod"]), (vec!["\"device\"".to_owned()], 0));
    assert_eq!(of(&["echo", path, "--pid", &pid]).0.len(), 2);
    // Nothing is selected.
    assert_eq!(of(&["echo", "--with", "no-such-module"]), (vec![], 1));
    assert_eq!(of(&["/no/such/path"]), (vec![], 1));
    let nothing = run(&["ls", "/no/such/path"]);
    assert!(nothing.stdout.is_empty() && text(&nothing.stderr).contains("No stream is as asked for"), "{nothing:?}");
    assert_eq!(status(&run(&["ls", "--pid", "x"])), 2);
    drop(reader);
}

#[test]
fn ls_shows_streams_of_other_versions_and_texts_that_another_program_chose() {
    let memory = rustix::fs::memfd_create("headwater-stream-1-2", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
    let memory = File::from(memory);
    (&memory).write_all(b"HWSTREAM\x09\0\0\0").expect("room");
    let id = std::os::unix::fs::MetadataExt::ino(&memory.metadata().expect("fstat")).to_string();
    let find = |output: Output| text(&output.stdout);
    let short = find(run(&["ls", &id]));
    assert!(short.contains("version 9") || short.contains("shorter than a header"), "{short}");
    (&memory).write_all(&[0; 64]).expect("room");
    assert!(find(run(&["ls", &id])).contains("stream of version 9"));
    assert_eq!(json_lines(&run(&["ls", "--json", &id]).stdout)[0]["version"], 9);
}

#[test]
fn top_prints_rates_that_fit_what_is_written() {
    let (near, far) = pipe(100_003);
    let found = listed(100_003);
    let id = found[0]["stream"].to_string();
    let mut top = Started::new(&mut headwater(&["top", "--json", "--count", "3", "--interval", "300ms", &id]));
    let mut buffer = [0; 4096];
    let (mut bytes, mut seen) = (0u64, Vec::new());
    let start = Instant::now();
    // As long as the command runs: 1000 plain bytes, and a message of eight.
    while top.child.try_wait().expect("own child").is_none() && start.elapsed() < PATIENCE {
        near.write(&[1; 1000]).expect("room");
        near.putmsg(Some(b"head"), Some(b"body")).expect("room");
        for _ in 0..2 {
            far.getmsg(Some(&mut [0; 64]), Some(&mut buffer)).expect("there");
        }
        bytes += 1008;
        std::thread::sleep(Duration::from_millis(1));
    }
    let fastest = bytes as f64 / start.elapsed().as_secs_f64();
    for _ in 0..6 {
        seen.push(serde_json::from_str::<Value>(&top.line()).expect("JSON"));
    }
    assert_eq!(top.line(), "");
    assert_eq!(top.end(), 0);
    for forth in seen.iter().filter(|line| line["direction"] == 0) {
        let (bytes, messages) =
            (forth["bytes_per_s"].as_f64().expect("a rate"), forth["messages_per_s"].as_f64().expect("a rate"));
        assert!(bytes > fastest / 20.0 && bytes < fastest * 20.0, "{bytes} of {fastest}");
        assert!((bytes / messages - 1008.0).abs() < 101.0, "{bytes} bytes, {messages} messages");
    }
    assert!(seen.iter().filter(|line| line["direction"] == 1).all(|line| line["bytes_per_s"] == 0.0));
}

#[test]
fn top_without_a_terminal_prints_tables_until_a_signal_comes() {
    let (_near, _far) = pipe(100_004);
    let id = listed(100_004)[0]["stream"].to_string();
    let mut top = Started::new(&mut headwater(&["top", "--interval", "60ms", &id]));
    let (mut heads, mut rows) = (0, 0);
    while heads < 2 || rows < 4 {
        let line = top.line();
        assert!(!line.is_empty(), "it has ended");
        assert!(!line.contains('\x1b'), "{line:?}");
        heads += usize::from(line.contains("B/S"));
        rows += usize::from(line.contains(&id));
    }
    top.signal(Signal::INT);
    assert_eq!(top.end(), 0);
    // A reader that goes ends it too.
    let top = Started::new(&mut headwater(&["top", "--interval", "60ms", &id]));
    let Started { mut child, lines } = top;
    drop(lines);
    assert_eq!(ended(&mut child), 0);
    assert_eq!(status(&run(&["top", "-i", "1ms"])), 2);
    assert_eq!(status(&run(&["top", "--count", "0"])), 2);
    assert_eq!(status(&run(&["top", "--sort", "colour"])), 2);
}

/// A pseudo-terminal: the side of this test, and that of a program.
fn terminal() -> (File, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("own");
    let name = ptsname(&master, Vec::new()).expect("it has one");
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let side = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("unlocked");
    let size = rustix::termios::Winsize { ws_row: 6, ws_col: 50, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&side, size).expect("a terminal");
    (master.into(), side)
}

/// What a program shows on a terminal, as it comes.
struct Shown {
    master: File,
    page: String,
}

impl Shown {
    /// Waits until the terminal has shown a text, and forgets what came up to it. Returns that.
    fn until(&mut self, what: &str) -> String {
        let (mut bytes, end) = ([0; 4096], Instant::now() + PATIENCE);
        loop {
            if let Some(at) = self.page.find(what) {
                let rest = self.page.split_off(at + what.len());
                return std::mem::replace(&mut self.page, rest);
            }
            let start = self.page.char_indices().rev().nth(500).map_or(0, |(at, _)| at);
            assert!(Instant::now() < end, "{what:?} does not come: {:?}", &self.page[start..]);
            let count = self.master.read(&mut bytes).expect("the other side is open");
            self.page += &String::from_utf8_lossy(&bytes[..count]);
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("the other side is open");
    }
}

#[test]
fn top_draws_on_a_terminal_answers_keys_and_restores_it() {
    let (near, _far) = pipe(100_005);
    near.write(b"queued").expect("room");
    let (master, side) = terminal();
    let modes = || format!("{:?}", rustix::termios::tcgetattr(&side).expect("a terminal"));
    let before = modes();
    let copy = || side.as_fd().try_clone_to_owned().expect("a descriptor");
    let mut command = headwater(&["top", "-i", "100ms", "--pid", &own_pid(), "pipe"]);
    let mut top = command.stdin(copy()).stdout(copy()).spawn().expect("the command starts");
    let mut shown = Shown { master, page: String::new() };
    assert!(shown.until("By bytes").contains("\x1b[?1049h\x1b[?25l"));
    // Fifty columns and six lines.
    shown.until("STREAM");
    let page = shown.until("\x1b[J").replace("\x1b[K", "").replace("\x1b[J", "");
    let lines: Vec<&str> = page.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    assert!(lines.len() <= 4 && lines[0].len() <= 50 - "STREAM".len() && lines[0].ends_with('>'), "{lines:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 50), "{lines:?}");
    assert_ne!(modes(), before, "single keys are read");
    shown.press(b"s");
    shown.until("By messages");
    shown.press(b"i");
    shown.until("idle, hi");
    shown.press(b"x q");
    shown.until("\x1b[?25h\x1b[?1049l");
    assert_eq!(ended(&mut top), 0);
    assert_eq!(modes(), before);
    // A signal restores it too.
    let mut top = command.stdin(copy()).stdout(copy()).spawn().expect("the command starts");
    shown.until("By bytes");
    kill_process(Pid::from_child(&top), Signal::TERM).expect("own child");
    shown.until("\x1b[?25h\x1b[?1049l");
    assert_eq!(ended(&mut top), 0);
    assert_eq!(modes(), before);
}

#[test]
fn the_hang_up_is_seen_while_top_runs() {
    let mut top = Started::new(&mut headwater(&["top", "--json", "-i", "50ms", "--pid", &own_pid()]));
    for _ in 0..5 {
        let (near, far) = pipe(100_006);
        let id = listed(100_006)[0]["stream"].to_string();
        while !top.line().contains(&format!("\"stream\":{id},")) {}
        drop(far);
        let start = Instant::now();
        assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
    top.signal(Signal::TERM);
    drop(top.lines);
    assert_eq!(ended(&mut top.child), 0);
}

/// A directory of devices.
fn devices() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("own");
    directory
}

/// A logger that is ready.
fn logger(directory: &Path, arguments: &[&str]) -> Started {
    let mut command = headwater(&["log"]);
    command.args(arguments).env("HEADWATER_RUNTIME_DIR", directory).stderr(Stdio::piped());
    let mut started = Started::new(&mut command);
    let mut said = String::new();
    let mut errors = BufReader::new(started.child.stderr.take().expect("piped"));
    errors.read_line(&mut said).expect("UTF-8");
    assert!(said.starts_with("headwater: logging "), "{said:?}");
    // What else it says is not read, and does not fill the pipe.
    started.child.stderr = Some(errors.into_inner());
    started
}

fn submitter(directory: &Path) -> LogSubmitter {
    LogSubmitter::open(&DeviceOptions::new().directory(directory)).expect("own")
}

#[test]
fn log_prints_the_messages_that_were_asked_for() {
    let directory = devices();
    let mut trace = logger(directory.path(), &["42", "all", "3", "7", "1", "-1", "--count", "3"]);
    let mut errors = logger(directory.path(), &["--errors", "--json", "--count", "1"]);
    let log = submitter(directory.path());
    for (mid, sid, level) in [(42, 5, 3), (42, 5, 4), (7, 0, 1), (7, 1, 100), (42, 0, 0)] {
        assert!(log.submit(mid, sid, level, LogFlags::TRACE, format_args!("of {mid} {sid} {level}\x07")));
    }
    assert!(log.submit(9, 8, 7, LogFlags::ERROR | LogFlags::NOTIFY, "the disk is full"));
    let lines: Vec<String> = (0..3).map(|_| trace.line()).collect();
    let texts: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once("of ")).map(|(_, text)| text.trim_end()).collect();
    assert_eq!(texts, ["42 5 3\\u0007", "7 1 100\\u0007", "42 0 0\\u0007"]);
    assert!(lines[0].contains("   3 T    42/5 of") && lines[0].starts_with("20"), "{:?}", lines[0]);
    assert_eq!(trace.end(), 0);
    let error: Value = serde_json::from_str(&errors.line()).expect("JSON");
    assert_eq!((&error["text"], &error["mid"], &error["sid"]), (&"the disk is full".into(), &9.into(), &8.into()));
    assert_eq!((&error["logger"], &error["seq"], &error["flags"][1]), (&"error".into(), &1.into(), &"error".into()));
    assert_eq!(errors.end(), 0);
}

#[test]
fn there_is_one_error_logger_and_a_lost_message_is_told() {
    let directory = devices();
    let mut both = logger(directory.path(), &["--errors", "--trace", "--json"]);
    let other =
        headwater(&["log", "--errors"]).env("HEADWATER_RUNTIME_DIR", directory.path()).output().expect("it starts");
    assert_eq!(status(&other), 2);
    assert!(text(&other.stderr).contains("another error logger"), "{other:?}");
    let log = submitter(directory.path());
    log.submit(1, 1, 1, LogFlags::ERROR, "one");
    assert!(both.line().contains("\"one\""));
    both.signal(Signal::STOP);
    let mut sent = 0;
    while log.submit(1, 1, 1, LogFlags::TRACE, sent) {
        sent += 1;
        assert!(sent < 100_000, "a stopped logger loses nothing");
    }
    both.signal(Signal::CONT);
    let texts: Vec<String> = (0..sent).map(|_| both.line()).collect();
    assert!(texts[sent - 1].contains(&format!("\"{}\"", sent - 1)), "{:?}", texts.last());
    both.signal(Signal::INT);
    let mut said = String::new();
    both.child.stderr.take().expect("piped").read_to_string(&mut said).expect("UTF-8");
    assert_eq!(both.end(), 4);
    assert!(said.contains("1 trace messages were lost"), "{said}");
    for wrong in [&["1", "2"][..], &["1", "2", "x"], &["--count", "0"]] {
        assert_eq!(
            status(
                &headwater(&["log"])
                    .args(wrong)
                    .env("HEADWATER_RUNTIME_DIR", directory.path())
                    .output()
                    .expect("it starts")
            ),
            2
        );
    }
}

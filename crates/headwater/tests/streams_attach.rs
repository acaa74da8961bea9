//! `headwater streams attach` and `detach`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use headwater_streams::attach::is_attached;
use headwater_streams::{Stream, pipe};
use rustix::process::{Pid, Signal, kill_process};

/// Not a test of its own: the server that one of them has started.
#[test]
fn server() {
    let Ok(server) = Stream::from_env("HEADWATER_STREAM") else { return };
    while let Ok(received) = server.files().receive_from() {
        let connection = received.into_stream().expect("a connection");
        let mut bytes = [0; 64];
        let count = connection.read(&mut bytes).expect("a question");
        bytes[..count].reverse();
        connection.write(&bytes[..count]).expect("the client waits");
        if &bytes[..count] == b"dne" {
            std::process::exit(7);
        }
    }
}

fn command(arguments: &[&str], path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(["streams", arguments[0]]).arg(path).args(&arguments[1..]);
    command
}

fn run(arguments: &[&str], path: &Path) -> Output {
    command(arguments, path).output().expect("it starts")
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("name");
    (directory, path)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn started(arguments: &[&str], path: &Path) -> Child {
    let child = command(arguments, path).spawn().expect("it starts");
    wait_until("it is attached", || is_attached(path));
    child
}

fn open(path: &Path) -> Stream {
    Stream::open_attached(path).expect("no error").expect("it is attached")
}

fn ask(stream: &Stream, question: &str) -> String {
    stream.write(question.as_bytes()).expect("room");
    let mut bytes = [0; 64];
    let count = stream.read(&mut bytes).expect("an answer");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn a_device_has_a_name_until_it_is_detached() {
    let (_directory, path) = file();
    let mut holder = started(&["attach", "--driver", "echo", "--module", "nullmod", "--create"], &path);
    let stream = open(&path);
    assert_eq!(ask(&stream, "hello"), "hello");
    assert_eq!(stream.modules().list().expect("open"), ["nullmod", "echo"]);
    let second = run(&["attach", "--driver", "echo"], &path);
    assert_eq!(second.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&second.stderr);
    assert!(complaint.contains("is attached") && complaint.lines().count() == 1, "{complaint}");
    assert!(run(&["detach"], &path).status.success());
    assert!(holder.wait().expect("wait").success());
    assert!(!is_attached(&path) && Stream::open_attached(&path).expect("no error").is_none());
    assert_eq!(ask(&stream, "still"), "still");
    assert_eq!(run(&["detach"], &path).status.code(), Some(2));
}

#[test]
fn a_server_is_started_and_gets_a_connection_for_each_client() {
    let (_directory, path) = file();
    fs::write(&path, "").expect("create");
    let server = std::env::current_exe().expect("our own path");
    let server = server.to_str().expect("UTF-8");
    let arguments = ["attach", "--connld", "--", server, "--exact", "server", "--nocapture", "--test-threads=1"];
    let mut holder = started(&arguments, &path);
    let clients: Vec<_> = (0..5).map(|number| (open_beside(&path, number), number)).collect();
    for (client, number) in clients {
        assert_eq!(client.join().expect("no panic"), format!("{number} tneilc"));
    }
    assert_eq!(ask(&open(&path), "end"), "dne");
    assert_eq!(holder.wait().expect("wait").code(), Some(7), "the server's own status");
    assert!(!is_attached(&path));
}

fn open_beside(path: &Path, number: u32) -> std::thread::JoinHandle<String> {
    let path = path.to_owned();
    std::thread::spawn(move || ask(&open(&path), &format!("client {number}")))
}

#[test]
fn an_inherited_end_is_attached_and_a_signal_ends_it() {
    use std::os::fd::AsRawFd;
    let (_directory, path) = file();
    fs::write(&path, "").expect("create");
    let (near, far) = pipe().expect("pipe");
    far.set_inheritable(true).expect("open");
    let number = far.as_raw_fd().to_string();
    let mut holder = started(&["attach", "--from-fd", &number], &path);
    drop(far);
    open(&path).write(b"x").expect("room");
    assert_eq!(near.read(&mut [0; 8]).expect("there"), 1);
    kill_process(Pid::from_child(&holder), Signal::TERM).expect("it is there");
    assert!(holder.wait().expect("wait").success());
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
    assert!(!is_attached(&path));
}

#[test]
fn wrong_arguments_are_refused_with_status_2() {
    let (_directory, path) = file();
    for arguments in [
        &["attach"][..],
        &["attach", "--driver", "echo"],
        &["attach", "--driver", "none", "--create"],
        &["attach", "--driver", "echo", "--from-fd", "3"],
        &["attach", "--from-fd", "999", "--create"],
        &["attach", "--driver", "echo", "--connld", "--create"],
        &["attach", "--create", "--", "/no/such/program"],
        &["detach"],
    ] {
        let output = run(arguments, &path);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

//! An end that a started program gets by an environment variable. The programs are this file, started anew.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::process::Command;

use headwater_streams::{Access, CommandStream, Device, Errno, FifoOptions, Stream, pipe};

const NAME: &str = "HEADWATER_TEST_STREAM";
/// The name of the program below that is to run.
const PROGRAM: &str = "HEADWATER_TEST_PROGRAM";

/// Not a separate test: the programs that the tests start. Each prints its results.
#[test]
fn program() {
    match std::env::var(PROGRAM).as_deref() {
        Ok("answer") => answer(),
        Ok("twice") => {
            answer();
            println!("then {:?}", Stream::from_env(NAME).map(drop).map_err(|error| error.errno()));
            // Neither the variable nor a descriptor of the stream reaches a program that this one starts.
            let said = Command::new("sh").args(["-c", "echo grandchild; ls -l /proc/self/fd"]).output().expect("sh");
            println!("{}", String::from_utf8_lossy(&said.stdout));
        }
        Ok("stolen") => {
            let value = std::env::var(NAME).expect("passed");
            let number = value.split(' ').nth(2).and_then(|file| file.split(':').next()).expect("a number");
            let number: i32 = number.parse().expect("a number");
            // SAFETY: the program's only user of the number; it was passed for this.
            drop(unsafe { File::from_raw_fd(number) });
            println!("closed {:?}", Stream::from_env(NAME).map(drop).map_err(|error| error.errno()));
            let other = File::open("/dev/null").expect("open");
            // SAFETY: the number is free, and nothing else uses it.
            assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
            // SAFETY: as above; the test puts the variable back that the call has removed.
            unsafe { std::env::set_var(NAME, value) };
            println!("other {:?}", Stream::from_env(NAME).map(drop).map_err(|error| error.errno()));
            // SAFETY: as above. It was left open.
            let left = unsafe { File::from_raw_fd(number) };
            println!("left {}", left.metadata().is_ok());
            let _ = left.into_raw_fd();
        }
        _ => {}
    }
}

fn answer() {
    let stream = Stream::from_env(NAME).expect("passed");
    let mut question = [0; 16];
    let count = stream.read(&mut question).expect("there");
    question[..count].reverse();
    // A FIFO's reader cannot answer.
    match stream.write(&question[..count]) {
        Ok(_) => println!("answered"),
        Err(error) => println!("{} {:?}", String::from_utf8_lossy(&question[..count]), error.errno()),
    }
}

fn command(program: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.args(["--exact", "program", "--nocapture", "--test-threads=1"]).env(PROGRAM, program);
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_program_gets_an_end_and_answers() {
    let (near, far) = pipe().expect("pipe");
    near.write(b"question").expect("room");
    let said = output(command("answer").stream(NAME, &far).expect("passed"));
    assert!(said.contains("answered"), "{said}");
    drop(far);
    let mut text = [0; 16];
    assert_eq!(near.read(&mut text).expect("there"), 8);
    assert_eq!(&text[..8], b"noitseuq");
    assert_eq!(near.read(&mut text).expect("nobody holds the other end any more"), 0);
}

#[test]
fn ends_of_fifos_and_devices_are_passed_too() {
    let directory = tempfile::tempdir().expect("directory");
    let options = FifoOptions::new().create(0o600).nonblocking(true);
    let reader = options.open(directory.path().join("fifo"), Access::Read).expect("open");
    let writer = options.open(directory.path().join("fifo"), Access::Write).expect("open");
    writer.write(b"abc").expect("room");
    let said = output(command("answer").stream(NAME, &reader).expect("passed"));
    assert!(said.contains("cba Badf"), "{said}");
    let device = Device::open_private("echo").expect("known");
    device.write(b"abc").expect("room");
    let said = output(command("answer").stream(NAME, &device).expect("passed"));
    assert!(said.contains("answered"), "{said}");
    assert_eq!(device.read(&mut [0; 16]).expect("echoed"), 3);
}

#[test]
fn an_end_is_taken_once_and_no_program_below_gets_it() {
    let (near, far) = pipe().expect("pipe");
    near.write(b"question").expect("room");
    let said = output(command("twice").stream(NAME, &far).expect("passed"));
    assert!(said.contains("then Err(Badf)") || said.contains("then Err(Noent)"), "{said}");
    let below = said.split("grandchild").nth(1).expect("it was started");
    assert!(!below.contains("socket:") && !below.contains("memfd:"), "{below}");
}

#[test]
fn a_number_that_is_closed_or_another_file_s_is_refused_and_left_alone() {
    let (_near, far) = pipe().expect("pipe");
    let said = output(command("stolen").stream(NAME, &far).expect("passed"));
    for expected in ["closed Err(Badf)", "other Err(Nostr)", "left true"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn what_cannot_be_passed_says_so() {
    let (_near, far) = pipe().expect("pipe");
    for name in ["", "A=B", "A\0B"] {
        let error = Command::new("true").stream(name, &far).map(drop).expect_err("no name");
        assert_eq!(error.errno(), Errno::Inval, "{name:?}");
    }
    far.clone().close().expect("open");
    assert_eq!(Command::new("true").stream(NAME, &far).map(drop).expect_err("closed").errno(), Errno::Badf);
    let mut said = command("answer");
    let said = said.env(NAME, "nonsense").output().expect("it starts");
    assert!(String::from_utf8_lossy(&said.stderr).contains("names no stream"), "{said:?}");
}

//! Programs that do not use the library and have an end as their standard input or output: their results, and the
//! results of the user of the other end.

use std::os::fd::AsFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::in_own_process;
use headwater_streams::{Access, Errno, Error, FifoOptions, Stream, pipe};

fn stdio(end: &Stream) -> Stdio {
    end.as_fd().try_clone_to_owned().expect("dup").into()
}

fn shell(script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// The error of a read by the library.
fn refusal(end: &Stream) -> Error {
    let read = end.read(&mut [0; 100]);
    let refused =
        read.map(|count| format!("{count} bytes were read")).expect_err("what was written is lost in silence");
    assert_eq!(refused.errno(), Errno::Proto, "{refused}");
    refused
}

/// Runs a program with an end as its standard input or output, to its end.
fn run(program: &mut Command) -> Output {
    ended(program.spawn().expect("sh"))
}

/// The output of a program that ends by itself.
fn ended(mut program: Child) -> Output {
    let start = Instant::now();
    while program.try_wait().expect("wait").is_none() {
        if start.elapsed() > Duration::from_secs(10) {
            program.kill().expect("kill");
            panic!("the program waits for ever");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    program.wait_with_output().expect("wait")
}

#[track_caller]
fn assert_fails(output: &Output, message: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains(message), "{}: {told}", output.status);
}

#[test]
fn what_a_program_has_written_before_it_ended_is_not_taken_for_the_end_of_the_stream() {
    in_own_process!();
    for (script, len) in
        [("echo lost", 5), ("printf x", 1), ("echo one; echo three", 4), ("head -c 3000 /dev/zero", 3000)]
    {
        for nonblocking in [false, true] {
            let (near, far) = pipe().expect("pipe");
            let _ = near.set_nonblocking(nonblocking);
            run(shell(script).stdout(stdio(&far)));
            drop(far);
            let refused = refusal(&near);
            assert!(refused.to_string().contains(&format!("{len} bytes")), "{script}: {refused}");
        }
    }
}

#[test]
fn a_program_that_goes_on_writing_is_told_as_soon_as_the_user_is() {
    in_own_process!();
    for script in ["yes", "dd if=/dev/zero bs=100"] {
        let (near, far) = pipe().expect("pipe");
        let program = shell(&format!("exec {script}")).stdout(stdio(&far)).spawn().expect("sh");
        drop(far);
        refusal(&near);
        // The user still has its end open.
        assert_fails(&ended(program), "Broken pipe");
        refusal(&near.clone());
    }
}

#[test]
fn a_write_of_much_fails_at_once() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    assert_fails(&run(shell("dd if=/dev/zero bs=1M count=1").stdout(stdio(&far))), "Message too long");
    drop(far);
    assert_eq!(near.read(&mut [0; 100]).expect("nothing was written"), 0);
}

#[test]
fn a_program_that_reads_shows_what_it_was_given_and_ends_and_no_later_write_succeeds() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let program = shell("sleep 0.05; exec cat").stdin(stdio(&far)).spawn().expect("sh");
    drop(far);
    let start = Instant::now();
    while near.write(b"lost").is_ok() {
        assert!(start.elapsed() < Duration::from_secs(10), "every write is lost in silence");
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..10 {
        assert_eq!(near.write(b"lost").expect_err("it was refused before").errno(), Errno::Proto);
        assert!(near.clone().write(b"lost").is_err(), "of another handle");
        std::thread::sleep(Duration::from_millis(5));
    }
    // It ends though the user still has its end open.
    let output = ended(program);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("headwater: this descriptor is one end of a STREAMS pipe"), "{shown}");
}

#[test]
fn other_users_of_the_end_are_told_too() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let mut other = near.direct();
    other.attach().expect("room");
    run(shell("echo lost").stdout(stdio(&far)));
    refusal(&near);
    assert_eq!(other.read(&mut [0; 9]).expect_err("one told the others").errno(), Errno::Proto);
    // That the sockets were shut down shows first.
    assert_eq!(other.write(b"lost").expect_err("one told the others").errno(), Errno::Pipe);
    // A user of the program's end sees that this one is gone.
    assert_eq!(far.write(b"lost").expect_err("nobody will read").errno(), Errno::Pipe);
}

#[test]
fn the_wrong_end_of_a_fifo_makes_a_program_fail_and_what_it_writes_is_no_end() {
    in_own_process!();
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("fifo");
    let options = FifoOptions::new().create(0o600).nonblocking(true);
    let reader = options.open(&path, Access::Read).expect("open");
    let writer = options.open(&path, Access::Write).expect("open");
    assert_fails(&run(shell("echo lost >&0").stdin(stdio(&reader))), "I/O error");
    assert_fails(&run(shell("cat").stdin(stdio(&writer))), "Bad file descriptor");
    assert_fails(&run(shell("cat").stdin(stdio(&reader))), "Resource temporarily unavailable");
    run(shell("echo lost").stdout(stdio(&writer)));
    drop(writer);
    refusal(&reader);
}

//! Programs that do not use the library and have an end as their standard input or output.

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater_streams::{Errno, Events, Stream, pipe};

use crate::common::in_own_process;

fn stdio(stream: &Stream) -> Stdio {
    stream.as_fd().try_clone_to_owned().expect("dup").into()
}

#[test]
fn who_writes_for_a_program_that_reads_the_descriptor_is_told() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let mut program = Command::new("cat").stdin(stdio(&far)).stdout(Stdio::piped()).spawn().expect("cat");
    drop(far);
    let start = Instant::now();
    let refused = loop {
        assert!(start.elapsed() < Duration::from_secs(10), "every write is lost in silence");
        match near.write(b"a line of text\n") {
            Ok(_) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.errno(), Errno::Proto);
    assert!(refused.to_string().contains("kernel pipe"), "the remedy: {refused}");
    drop(near);
    let mut shown = String::new();
    std::io::Read::read_to_string(&mut program.stdout.take().expect("piped"), &mut shown).expect("text");
    assert!(shown.starts_with("headwater: this descriptor is one end of a STREAMS pipe"), "{shown}");
    program.wait().expect("wait");
}

#[test]
fn who_reads_from_a_program_that_writes_to_the_descriptor_is_told() {
    in_own_process!();
    for nonblocking in [false, true] {
        let (near, far) = pipe().expect("pipe");
        near.set_nonblocking(nonblocking).expect("set");
        let mut program =
            Command::new("sh").args(["-c", "echo lost; exec sleep 5"]).stdout(stdio(&far)).spawn().expect("sh");
        drop(far);
        let start = Instant::now();
        let refused = loop {
            assert!(start.elapsed() < Duration::from_secs(4), "what the program writes is lost in silence");
            match near.read(&mut [0; 100]) {
                Ok(count) => panic!("{count} bytes were read"),
                Err(error) if error.errno() == Errno::Again => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => break error,
            }
        };
        assert_eq!(refused.errno(), Errno::Proto);
        assert!(refused.to_string().contains("5 bytes") && refused.to_string().contains("kernel pipe"), "{refused}");
        program.kill().expect("kill");
        program.wait().expect("wait");
    }
}

#[test]
fn a_slow_user_of_the_stream_is_no_stranger() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    for _ in 0..1000 {
        near.write(b"early ").expect("the other end is only slow");
    }
    assert_eq!(far.read(&mut [0; 6000]).expect("there"), 6000);
    for _ in 0..100 {
        near.write(b"late").expect("room");
        assert_eq!(far.read(&mut [0; 4]).expect("there"), 4);
    }
}

#[test]
fn a_socket_that_was_shut_down_behind_the_library_s_back_does_not_hold_a_poll_beyond_its_time() {
    let (near, far) = pipe().expect("pipe");
    // SAFETY: touches no memory. The other end's readers see an end of the stream that its memory does not record.
    assert_eq!(unsafe { libc::shutdown(far.as_fd().as_raw_fd(), libc::SHUT_WR) }, 0);
    let (says, hears) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let ready = near.poll(Events::IN, Some(Duration::from_millis(30)));
        let _ = says.send(ready.map(|ready| ready.intersects(Events::IN)));
    });
    let ready = hears.recv_timeout(Duration::from_secs(10)).expect("the time is over");
    assert!(!ready.expect("no error"), "nothing was written");
}

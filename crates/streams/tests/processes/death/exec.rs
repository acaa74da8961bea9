//! A process that executes another program is the same process, with the same start time; its handles are gone.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::Stream;

use super::common::{calm, in_own_process, read_all, within};
use super::{HELD, Holds, use_side};

/// More than a stream has places.
const TIMES: usize = 70;

/// Not a test of its own: what [`a_process_may_execute_again_and_again`] starts.
#[test]
fn again() {
    let (Ok(number), Ok(left)) = (std::env::var("DEATH_STREAM"), std::env::var("DEATH_LEFT")) else { return };
    let left: usize = left.parse().expect("a number");
    let stream = Stream::from_number(number.parse().expect("a number")).expect("it was kept");
    if let Err(error) = stream.write(b"x") {
        println!("{left} times before the end: {error}");
        std::process::exit(1);
    }
    if left > 0 {
        // As a program that does not know the handle: it is not dropped, and its descriptors stay.
        let error = myself(&number, left - 1).exec();
        panic!("exec: {error}");
    }
}

fn myself(number: &str, left: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.args(["--exact", "death::exec::again", "--nocapture"]);
    command.env("DEATH_STREAM", number).env("DEATH_LEFT", left.to_string());
    command
}

#[test]
fn a_process_may_execute_again_and_again() {
    in_own_process!();
    for (place, randomly) in [("other places", true), ("the same place", false)] {
        within(Duration::from_secs(60), format!("a program that executes itself, in {place}"));
        let (near, far) = headwater_streams::pipe().expect("pipe");
        near.set_inheritable(true).expect("fcntl");
        let mut command = myself(&near.as_fd().as_raw_fd().to_string(), TIMES - 1);
        if !randomly {
            // SAFETY: personality takes a number; it is called between fork and exec, where only such calls are.
            unsafe {
                command.pre_exec(|| {
                    libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                    Ok(())
                })
            };
        }
        let mut started = command.stdout(Stdio::piped()).spawn().expect("exec");
        drop(near);
        assert_eq!(read_all(&far).len(), TIMES, "in {place}");
        assert!(started.wait().expect("wait").success());
    }
    calm();
}

/// One thread is in the middle of a call, another executes a program that runs for long.
#[test]
fn what_a_program_held_is_free_when_its_process_executes_another() {
    in_own_process!();
    for holds in [Holds::Writing, Holds::Reading] {
        within(Duration::from_secs(30), format!("{holds:?} is held when the process executes another program"));
        let (near, far) = headwater_streams::pipe().expect("pipe");
        far.putmsg(None, Some(HELD)).expect("room");
        let (ready, mut is_ready) = std::io::pipe().map(|(read, write)| (write, read)).expect("pipe");
        let mut copy = near.direct();
        let mut child = Child::fork(|| {
            std::thread::scope(|scope| {
                let (tell, told) = std::sync::mpsc::channel();
                let copy = &mut copy;
                scope.spawn(move || {
                    let _held = match holds {
                        Holds::Writing => (Some(copy.reserve(4).expect("room")), None),
                        Holds::Reading => (None, copy.borrow().expect("there")),
                    };
                    tell.send(()).expect("it waits");
                    std::thread::sleep(Duration::from_secs(60));
                });
                told.recv().expect("it holds");
                // The program keeps the pipe's end for as long as it runs.
                let error = Command::new("sh")
                    .args(["-c", "echo x; exec sleep 60"])
                    .stdout(ready.try_clone().expect("dup"))
                    .exec();
                panic!("exec: {error}");
            })
        })
        .expect("fork");
        std::io::Read::read_exact(&mut is_ready, &mut [0]).expect("the other program runs");
        assert_eq!(use_side(&near, holds).expect("it holds nothing any more"), 4);
        assert!(child.try_wait().expect("wait").is_none(), "it runs");
        child.kill();
        child.wait().expect("wait");
    }
    calm();
}

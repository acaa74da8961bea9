//! Death needs a proof. A user of a stream that is stopped, frozen, slow, or in another PID namespace is not dead, and
//! a user that finds it in the middle of a call waits as long as the call may: not at all, for a time, or until a
//! signal. One that has died, or executes another program, does not block other users, also where the kernel is old.

mod exec;
mod gate;
mod holders;
mod kernels;
mod modules;
mod namespaces;
mod tasks;

use crate::common;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use headwater_os::child::Child;
use headwater_streams::{DirectStream, Errno, Stream};

/// How a user of an end stays in the middle of a call.
#[derive(Debug, Clone, Copy)]
enum Holds {
    /// The writing side: a place is reserved, and will be committed.
    Writing,
    /// The reading side: a message is borrowed, and will be consumed.
    Reading,
}

/// Bytes of a message that a holder commits, or consumes.
const HELD: &[u8] = b"held";

/// Enters a call, reports that, and leaves the call when it is told to; false if it is told to end inside it.
fn hold(stream: &Stream, holds: Holds, control: &UnixStream) -> headwater_streams::Result<bool> {
    let go_on = |control: &UnixStream| {
        (&mut &*control).write_all(b"x")?;
        Ok::<_, headwater_streams::Error>((&mut &*control).read(&mut [0])? == 1)
    };
    match holds {
        Holds::Writing => {
            let mut direct = stream.direct();
            let mut place = direct.reserve(HELD.len())?;
            place.fill(0, HELD);
            if !go_on(control)? {
                std::mem::forget(place);
                return Ok(false);
            }
            place.commit()?;
        }
        Holds::Reading => {
            let mut direct = stream.direct();
            let message = direct.borrow()?.expect("it is there");
            if !go_on(control)? {
                std::mem::forget(message);
                return Ok(false);
            }
            message.consume(HELD.len())?;
        }
    }
    Ok(true)
}

/// A forked process that holds a side of an end, and has reported that. A byte tells it to release the side.
fn holder(stream: Stream, holds: Holds) -> (Child, UnixStream) {
    let (here, there) = UnixStream::pair().expect("pair");
    let child = common::child(|| {
        let _ours = &here;
        hold(&stream, holds, &there).map(drop)
    });
    wait_for(&here);
    (child, here)
}

fn wait_for(control: &UnixStream) {
    (&mut &*control).read_exact(&mut [0]).expect("it holds the side");
}

fn tell(control: &UnixStream) {
    (&mut &*control).write_all(b"x").expect("it listens");
}

/// The call of another user of the same side of the same end.
fn use_side(stream: &Stream, holds: Holds) -> headwater_streams::Result<usize> {
    match holds {
        Holds::Writing => stream.write(b"more"),
        Holds::Reading => stream.read(&mut [0; 4]),
    }
}

/// Uses a side of an end apart from the end's clones.
fn use_directly(end: &mut DirectStream, holds: Holds) -> headwater_streams::Result<usize> {
    match holds {
        Holds::Writing => end.write(b"more"),
        Holds::Reading => end.read(&mut [0; 4]),
    }
}

/// The errno of a call that must not succeed.
fn refusal<T: std::fmt::Debug>(done: headwater_streams::Result<T>) -> Errno {
    done.expect_err("somebody is in the middle of a call").errno()
}

/// Sends a signal to a process.
fn signal(pid: u32, number: i32) {
    // SAFETY: touches no memory; the pid is a child's that is not reaped.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, number) }, 0);
}

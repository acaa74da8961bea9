//! Users of one stream in two PID namespaces: neither can see whether the other is alive.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::{Errno, Stream, pipe};

use super::common::{calm, in_own_process, read_all, within};
use super::{Holds, hold, refusal, tell, wait_for};

/// Moves the children that this process forks from now on into a PID namespace of their own. False where that is not
/// allowed.
fn leave_namespace() -> bool {
    // SAFETY: unshare takes flags and touches no memory; the process has one thread.
    unsafe { libc::unshare(libc::CLONE_NEWPID) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) == 0 }
}

/// The exit status of a child that may not make namespaces.
const NOT_ALLOWED: i32 = 77;

/// Runs `body` in another PID namespace, as its first process. The returned process forks it, waits for it, and kills
/// it when the other end of `control` is closed.
fn elsewhere(control: &UnixStream, body: impl FnOnce() -> headwater_streams::Result<()>) -> Child {
    Child::fork(|| {
        if !leave_namespace() {
            return NOT_ALLOWED;
        }
        // SAFETY: takes a signal's number.
        let dies_with_us = || unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let run = || match (dies_with_us(), body()).1 {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("elsewhere: {error}");
                1
            }
        };
        let pid = Child::fork_apart(run).expect("fork") as libc::pid_t;
        let closed = (&mut &*control).read(&mut [0]).expect("a socket");
        assert_eq!(closed, 0);
        let mut status = 0;
        // SAFETY: our own child, which is not reaped; `status` is a place for its status.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, &raw mut status, 0);
        }
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 0 }
    })
    .expect("fork")
}

/// The sockets that tell the process elsewhere, and the one that forked it, to continue.
fn sockets() -> [UnixStream; 4] {
    let ((here, there), (end, ends)) = (UnixStream::pair().expect("pair"), UnixStream::pair().expect("pair"));
    [here, there, end, ends]
}

/// Whether namespaces can be made here.
fn allowed() -> bool {
    let mut child = Child::fork(|| i32::from(!leave_namespace())).expect("fork");
    let allowed = child.wait().expect("wait").success();
    if !allowed {
        println!("skipped: this process may not make PID namespaces");
    }
    allowed
}

#[test]
fn a_writer_elsewhere_keeps_its_side() {
    in_own_process!();
    if !allowed() {
        return;
    }
    within(Duration::from_secs(30), "a writer in another PID namespace".into());
    let (near, far) = pipe().expect("pipe");
    let [here, there, end, ends] = sockets();
    let foreign = near.clone();
    let mut parent = elsewhere(&ends, || {
        hold(&foreign, Holds::Writing, &there).map(drop)?;
        (&there).write_all(b"x")?;
        Ok(())
    });
    wait_for(&here);
    near.set_nonblocking(true).expect("arm");
    for _ in 0..20 {
        assert_eq!(refusal(near.write(b"more")), Errno::Again, "it is not dead");
    }
    tell(&here);
    wait_for(&here);
    near.set_nonblocking(false).expect("no error");
    assert_eq!(near.write(b"more").expect("it came out"), 4);
    // The process that forked it has a copy of our end of the socket too.
    end.shutdown(std::net::Shutdown::Both).expect("a socket");
    assert!(parent.wait().expect("wait").success());
    drop((near, foreign));
    assert_eq!(read_all(&far), b"heldmore", "nothing was overwritten");
    calm();
}

#[test]
fn a_writer_here_keeps_its_side_against_one_elsewhere() {
    in_own_process!();
    if !allowed() {
        return;
    }
    within(Duration::from_secs(30), "a writer in another PID namespace".into());
    let (near, far) = pipe().expect("pipe");
    let [here, there, end, ends] = sockets();
    let foreign = near.clone();
    let mut holder = near.direct();
    let mut place = holder.reserve(4).expect("room");
    let mut parent = elsewhere(&ends, || {
        foreign.set_nonblocking(true)?;
        for _ in 0..20 {
            assert_eq!(refusal(foreign.write(b"more")), Errno::Again, "it is not dead");
        }
        foreign.set_nonblocking(false)?;
        (&there).write_all(b"x")?;
        foreign.write(b"more")?;
        (&there).write_all(b"x")?;
        Ok(())
    });
    wait_for(&here);
    place.fill(0, b"held");
    place.commit().expect("the reader lives");
    wait_for(&here);
    end.shutdown(std::net::Shutdown::Both).expect("a socket");
    assert!(parent.wait().expect("wait").success());
    drop((near, foreign, holder));
    assert_eq!(read_all(&far), b"heldmore", "nothing was overwritten");
    calm();
}

/// Killed in the middle of a call, and no other process can see that: its side stays held, until the kernel reports
/// that no process is left.
#[test]
fn a_side_whose_users_are_all_gone_is_free_wherever_they_were() {
    in_own_process!();
    if !allowed() {
        return;
    }
    within(Duration::from_secs(30), "a writer killed in another PID namespace".into());
    let (near, far): (Stream, Stream) = pipe().expect("pipe");
    let [here, there, end, ends] = sockets();
    let foreign = near.clone();
    near.write(b"before").expect("room");
    let mut parent = elsewhere(&ends, || hold(&foreign, Holds::Writing, &there).map(drop));
    wait_for(&here);
    end.shutdown(std::net::Shutdown::Both).expect("a socket");
    assert!(parent.wait().expect("wait").success());
    near.set_nonblocking(true).expect("arm");
    for _ in 0..3 {
        assert_eq!(refusal(near.write(b"more")), Errno::Again, "that it is dead cannot be known");
    }
    drop((near, foreign));
    assert_eq!(read_all(&far), b"before", "the end of the stream comes");
    calm();
}

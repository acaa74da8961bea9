//! A holder that is stopped, in the way of a module's procedure: the call that runs the procedure waits no longer for it than it
//! would without modules.

use std::time::{Duration, Instant};

use headwater_streams::{Errno, Flush, Stream, pipe};

use super::common::{Interruptible, calm, in_own_process, joined, read_all, within};
use super::holders::stopped;
use super::{HELD, Holds, holder, refusal, signal, tell};

const FLUSH: Flush = Flush::READ;

/// A message that a flush through a module discards is borrowed at the other end, by a process that is stopped.
fn borrowed_behind(module: &str) -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    near.push(module).expect("known");
    near.write(HELD).expect("room");
    near.attach().expect("a place");
    (near, far)
}

#[test]
fn a_flush_through_a_module_that_is_not_to_wait_does_not_wait_for_a_stopped_reader() {
    in_own_process!();
    for module in ["nullmod", "srvmod"] {
        within(Duration::from_secs(20), format!("a reader behind {module} is stopped"));
        let (near, far) = borrowed_behind(module);
        let (child, control) = holder(far.clone(), Holds::Reading);
        stopped(child.id());
        near.set_nonblocking(true).expect("arm");
        let start = Instant::now();
        for _ in 0..3 {
            let error = near.flush_queues(FLUSH).expect_err("it is borrowed");
            assert_eq!(error.errno(), Errno::Again, "{error}");
            assert!(error.is_held());
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        // Calls that do not need the held side succeed.
        assert_eq!(near.write(b"more").expect("room"), 4);
        signal(child.id(), libc::SIGCONT);
        tell(&control);
        joined(child);
        drop(near);
        assert_eq!(read_all(&far), b"more");
    }
    calm();
}

#[test]
fn a_signal_ends_a_flush_through_a_module_behind_a_stopped_reader() {
    in_own_process!();
    within(Duration::from_secs(20), "a reader behind a module is stopped".into());
    let (near, far) = borrowed_behind("nullmod");
    let (child, control) = holder(far.clone(), Holds::Reading);
    stopped(child.id());
    let waiter = Interruptible::start(move || (refusal(near.flush_queues(FLUSH)), near));
    let (errno, near) = waiter.end(Duration::from_millis(20));
    assert_eq!(errno, Errno::Intr);
    signal(child.id(), libc::SIGCONT);
    tell(&control);
    near.flush_queues(FLUSH).expect("it came out");
    joined(child);
    calm();
}

//! An end whose process is killed, at any moment, ends the stream for the other end within a bound.
//!
//! Children are forked from a process with many threads, so between fork and exit they call nothing but the ring.

use std::time::{Duration, Instant};

use headwater_ring::{Error, Receiver, Sender, Wait, pair};

/// Two looks at the peer's life (100 ms apart) and much room for a busy machine.
const BOUND: Duration = Duration::from_secs(3);

/// Runs `body` in a child; it never returns from there.
fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs `body`, which allocates nothing, and ends by _exit.
    match unsafe { libc::fork() } {
        0 => {
            body();
            // SAFETY: ends the process at once, without the parent's destructors.
            unsafe { libc::_exit(0) }
        }
        pid => {
            assert!(pid > 0, "fork");
            pid
        }
    }
}

fn kill(pid: libc::pid_t) {
    // SAFETY: a plain system call on our own child.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

fn reap(pid: libc::pid_t) {
    // SAFETY: waits for our own child; no status is wanted.
    assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid);
}

fn within_bound<T>(wait: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = wait();
    assert!(start.elapsed() < BOUND, "took {:?}", start.elapsed());
    result
}

/// Reads to the end of the stream; how many bytes.
fn drain(receiver: &mut Receiver) -> usize {
    let mut buffer = [0; 4096];
    std::iter::from_fn(|| Some(receiver.read_some(&mut buffer).expect("no error")).filter(|read| *read > 0)).sum()
}

fn fill_until_error(sender: &mut Sender) -> Error {
    (0..1_000_000).find_map(|_| sender.write_all(&[1; 100]).err()).expect("a dead receiver is noticed")
}

fn a_killed_sender_ends_the_stream(wait: Wait) {
    let (mut sender, mut receiver) = pair(4096, wait).expect("ring");
    let child = fork(|| {
        sender.write_all(&[7; 10]).expect("room");
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    receiver.read_exact(&mut [0; 4]).expect("there");
    kill(child);
    // Not reaped yet: a zombie is dead enough.
    assert_eq!(within_bound(|| drain(&mut receiver)), 6);
    reap(child);
}

fn a_killed_receiver_breaks_the_pipe(wait: Wait) {
    let (mut sender, mut receiver) = pair(4096, wait).expect("ring");
    let child = fork(|| {
        receiver.read_exact(&mut [0; 4]).expect("there");
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    sender.write_all(&[7; 4096 + 4]).expect("the receiver takes four bytes");
    kill(child);
    assert!(matches!(within_bound(|| fill_until_error(&mut sender)), Error::Closed));
    reap(child);
}

#[test]
fn a_killed_sender_ends_the_stream_for_a_sleeper() {
    a_killed_sender_ends_the_stream(Wait::Sleep);
}

#[test]
fn a_killed_sender_ends_the_stream_for_a_spinner() {
    a_killed_sender_ends_the_stream(Wait::Spin);
}

#[test]
fn a_killed_receiver_breaks_the_pipe_for_a_sleeper() {
    a_killed_receiver_breaks_the_pipe(Wait::Sleep);
}

#[test]
fn a_killed_receiver_breaks_the_pipe_for_a_spinner() {
    a_killed_receiver_breaks_the_pipe(Wait::Spin);
}

/// Killed in the middle of a stream, at different times: what was read is a prefix, then the end.
#[test]
fn a_sender_killed_while_streaming_ends_the_stream() {
    for delay_us in [0, 100, 300, 1000, 3000, 10_000] {
        let (mut sender, mut receiver) = pair(4096, Wait::Sleep).expect("ring");
        let child = fork(|| while sender.write_all(&[9; 64]).is_ok() {});
        receiver.read_exact(&mut [0]).expect("the first byte");
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(delay_us) {
            receiver.read_exact(&mut [0; 64]).expect("streaming");
        }
        kill(child);
        within_bound(|| drain(&mut receiver));
        reap(child);
    }
}

#[test]
fn a_forked_child_that_drops_its_copy_of_an_attached_half_closes_nothing() {
    let (mut sender, mut receiver) = pair(4096, Wait::Sleep).expect("ring");
    sender.attach().expect("attach");
    let child = fork(|| {
        // SAFETY: the child's copy of the half is not used again.
        unsafe { std::ptr::drop_in_place(&mut sender) };
    });
    reap(child);
    assert_eq!(receiver.try_read(&mut [0]).expect("open, and empty"), 0);
    sender.write_all(&[1]).expect("open");
}

/// The harness's way: both halves made in one process, which forks two children and keeps copies of both halves.
#[test]
fn halves_that_a_process_does_not_use_can_be_dropped_or_kept() {
    let (mut sender, mut receiver) = pair(4096, Wait::Sleep).expect("ring");
    let (report, mut reported) = pair(64, Wait::Sleep).expect("ring");
    let mut report = Some(report);
    let (mut kept_sender, mut kept_receiver) = (Some(&mut sender), Some(&mut receiver));
    let writer = fork(|| {
        let sender = kept_sender.take().expect("there");
        sender.write_all(&[3; 100_000]).expect("the receiver lives");
        // SAFETY: the child's copy of the half is not used again; this is what dropping a captured half does.
        unsafe { std::ptr::drop_in_place(sender) };
    });
    let reader = fork(|| {
        let receiver = kept_receiver.take().expect("there");
        let total = drain(receiver) as u64;
        report.as_mut().expect("there").write_all(&total.to_le_bytes()).expect("the parent reads");
    });
    let mut total = [0; 8];
    within_bound(|| reported.read_exact(&mut total)).expect("the reader reports");
    assert_eq!(u64::from_le_bytes(total), 100_000);
    reap(writer);
    reap(reader);
}

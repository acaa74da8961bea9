//! Calls on an open stream allocate nothing, so that a signal handler may make them: a thread's first calls too, and calls below
//! another one of the same thread. The allocator refuses while such a call is made.
//!
//! Streams without modules; `writev`, `readv` and `receive` make buffers.

use std::os::unix::thread::JoinHandleExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use headwater_os::refusing_allocator::{RefusingAllocator, in_handler};
use headwater_streams::{Errno, Events, Flush, MessageFilter, Options, Policy, Priority, Stream};

#[global_allocator]
static REFUSING: RefusingAllocator = RefusingAllocator;

/// Every call of the data's way, also those that fail because they would wait.
fn use_both(near: &Stream, far: &Stream) {
    let (mut control, mut data) = ([0; 64], [0; 4096]);
    let again = |errno: Errno| assert_eq!(errno, Errno::Again);
    assert_eq!(near.write(b"bytes").expect("room"), 5);
    assert_eq!(far.poll(Events::IN, Some(Duration::ZERO)).expect("there"), Events::IN);
    assert_eq!(far.read(&mut data).expect("there"), 5);
    near.putmsg(Some(b"control"), Some(b"data")).expect("room");
    near.putpmsg(Some(b"band"), Some(&[1; 3000]), 7).expect("room");
    near.putpmsg(Some(b"first"), None, Priority::High).expect("always");
    assert!(far.peek(Some(&mut control), Some(&mut data), MessageFilter::Any).expect("there").is_some());
    assert_eq!(far.nread().expect("there").1, 3);
    for len in [5, 4, 7] {
        let got = far.getmsg(Some(&mut control), Some(&mut data)).expect("there");
        assert_eq!(got.control, Some(len));
    }
    again(far.read(&mut data).expect_err("empty").errno());
    again(far.getmsg(Some(&mut control), Some(&mut data)).expect_err("empty").errno());
    assert!(far.poll(Events::IN, Some(Duration::from_millis(1))).expect("in time").is_empty());
    let mut written = 0;
    let full = loop {
        match near.write(&[3; 4096]) {
            Ok(count) => written += count,
            Err(error) => break error,
        }
    };
    again(full.errno());
    again(near.putpmsg(None, Some(b"more"), 0).expect_err("full").errno());
    assert!(near.poll(Events::OUT, Some(Duration::from_millis(1))).expect("in time").is_empty());
    while written > 0 {
        written -= far.read(&mut data).expect("there");
    }
    near.write(b"to be flushed").expect("room");
    near.flush_queues(Flush::READ).expect("fine");
    while far.read(&mut data).is_ok() {}
}

fn ends(policy: Policy) -> (Stream, Stream) {
    let options = Options::new().policy(policy).hiwat(20_000).lowat(10_000);
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

#[test]
fn a_threads_first_calls_allocate_nothing() {
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        let (near, far) = ends(policy);
        std::thread::scope(|scope| {
            scope.spawn(|| in_handler(|| use_both(&near, &far)));
        });
    }
}

#[test]
fn a_wait_allocates_nothing() {
    let (near, far) = ends(Policy::DEFAULT);
    far.set_nonblocking(false).expect("fine");
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| in_handler(|| far.read(&mut [0; 9]).expect("there")));
        // It sleeps on its descriptor by then.
        std::thread::sleep(Duration::from_millis(100));
        near.write(b"late").expect("room");
        assert_eq!(reader.join().expect("no panic"), 4);
    });
}

#[test]
fn a_wait_for_room_allocates_nothing() {
    let (near, far) = ends(Policy::DEFAULT);
    while near.write(&[1; 4096]).is_ok() {}
    near.set_nonblocking(false).expect("fine");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| in_handler(|| near.write(&[2; 4096]).expect("room")));
        std::thread::sleep(Duration::from_millis(100));
        while far.read(&mut [0; 4096]).is_ok() && !writer.is_finished() {}
        assert_eq!(writer.join().expect("no panic"), 4096);
    });
}

static ENDS: OnceLock<(Stream, Stream)> = OnceLock::new();
static CALLS: AtomicU32 = AtomicU32::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

extern "C" fn handler(_: libc::c_int) {
    in_handler(|| {
        let (near, far) = ENDS.get().expect("before the first signal");
        // Where the thread is in the middle of a call on the same end they may fail with EAGAIN.
        let _ = near.write(b"x");
        let _ = far.read(&mut [0; 9]);
        let _ = far.poll(Events::IN, Some(Duration::ZERO));
        CALLS.fetch_add(1, Ordering::Relaxed);
    });
}

#[test]
fn calls_in_a_handler_below_calls_of_the_thread_allocate_nothing() {
    let (near, far) = ENDS.get_or_init(|| ends(Policy::DEFAULT));
    let thread = std::thread::spawn(|| {
        while !IS_OVER.load(Ordering::Relaxed) {
            let _ = near.write(b"message");
            let _ = far.read(&mut [0; 64]);
        }
    });
    // SAFETY: the handler does what this test is about.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    for signal in 1..=30 {
        // SAFETY: the thread is joined below.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
        while CALLS.load(Ordering::Relaxed) < signal {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
    IS_OVER.store(true, Ordering::Relaxed);
    thread.join().expect("no panic");
}

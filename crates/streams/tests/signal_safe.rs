//! Calls on an open stream allocate nothing, so that a signal handler may make them: a thread's first calls too, and calls below
//! another one of the same thread. The allocator refuses while such a call is made.
//!
//! docs/guarantees.md lists the calls that allocate: `receive`, ioctls, modules that keep or answer messages, and the rare
//! errors that are named there.

use std::os::unix::thread::JoinHandleExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use std::io::{IoSlice, IoSliceMut};

use headwater_os::refusing_allocator::{RefusingAllocator, in_handler};
use headwater_streams::{
    Errno, Events, Flush, Message, MessageFilter, Module, ModuleInfo, Options, Policy, Priority, Queue, ReadMode,
    ReadOptions, Result, Side, SignalEvents, Stream, register,
};

#[global_allocator]
static REFUSING: RefusingAllocator = RefusingAllocator;

/// Every call that transfers data, also those that fail because they would wait.
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
    use_vectors(near, far);
    use_badly(near, far);
}

/// Pieces that are one write, and one read.
fn use_vectors(near: &Stream, far: &Stream) {
    let (mut one, mut other) = ([0; 1000], [0; 5000]);
    assert_eq!(near.writev(&[IoSlice::new(&[1; 3000]), IoSlice::new(&[2; 2000])]).expect("room"), 5000);
    let mut buffers = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
    assert_eq!(far.readv(&mut buffers).expect("there"), 5000);
    assert_eq!((one[999], other[1999], other[2000], other[3999]), (1, 1, 2, 2));
    let mut buffers = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
    assert_eq!(far.readv(&mut buffers).expect_err("empty").errno(), Errno::Again);
}

/// Calls that fail for other reasons than that they would wait.
fn use_badly(near: &Stream, far: &Stream) {
    let long = [0; 70_000];
    let errors = [
        (near.putmsg(Some(&long), None).map(drop), Errno::Range),
        (near.putmsg(Some(b"c"), Some(&long)).map(drop), Errno::Range),
        (near.putpmsg(None, Some(b"d"), Priority::High).map(drop), Errno::Inval),
        (near.signals().set(SignalEvents::from_bits_retain(0x8000)), Errno::Inval),
        (near.signals().set(SignalEvents::default()), Errno::Inval),
        (near.settings().set_water_marks(1, 2), Errno::Inval),
        (near.pop(), Errno::Inval),
        (far.band().map(drop), Errno::Nodata),
    ];
    for (done, errno) in errors {
        assert!(done.is_err_and(|error| error.errno() == errno));
    }
    near.putmsg(Some(b"control"), None).expect("room");
    assert!(far.read(&mut [0; 9]).is_err_and(|error| error.errno() == Errno::Badmsg));
    assert!(far.getpmsg(None, None, MessageFilter::Band(1)).is_err_and(|error| error.errno() == Errno::Again));
    far.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep)).expect("known");
    far.settings().set_read_options(ReadOptions::new()).expect("known");
    far.getmsg(Some(&mut [0; 9]), None).expect("there");
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

/// Makes calls on its own stream from within its put procedure, as a signal handler does that interrupts a call.
#[derive(Debug)]
struct Within;

static WITHIN: OnceLock<Stream> = OnceLock::new();
static TIME_US: AtomicU32 = AtomicU32::new(0);

impl Module for Within {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("within")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Write {
            let near = WITHIN.get().expect("before the first write");
            let start = Instant::now();
            assert_eq!(near.write(b"below").expect_err("a call is in the way").errno(), Errno::Again);
            TIME_US.store(start.elapsed().as_micros() as u32, Ordering::Relaxed);
        }
        queue.put_next(message)
    }
}

#[test]
fn a_call_below_another_of_its_thread_fails_soon() {
    register(Within).expect("a new name");
    let (near, far) = ends(Policy::DEFAULT);
    near.set_nonblocking(false).expect("fine");
    near.push("within").expect("known");
    let near = WITHIN.get_or_init(|| near);
    let mut shortest_us = u32::MAX;
    // The shortest of several: the machine may be busy.
    for _ in 0..30 {
        near.write(b"above").expect("room");
        shortest_us = shortest_us.min(TIME_US.load(Ordering::Relaxed));
        assert_eq!(far.read(&mut [0; 64]).expect("there"), 5);
    }
    assert!(shortest_us < 5_000, "{shortest_us} us");
}

#[test]
fn modules_that_others_push_and_pop_cost_no_allocation() {
    let (near, far) = ends(Policy::DEFAULT);
    let mut data = [0; 16];
    for modules in [&["nullmod"][..], &["nullmod", "nullmod"], &["srvmod"]] {
        for module in modules {
            far.push(module).expect("known");
            in_handler(|| assert_eq!(near.write(b"bytes").expect("room"), 5));
            in_handler(|| assert_eq!(far.read(&mut data).expect("there"), 5));
            in_handler(|| assert_eq!(far.write(b"back").expect("room"), 4));
            in_handler(|| assert_eq!(near.read(&mut data).expect("there"), 4));
        }
        in_handler(|| (0..modules.len()).for_each(|_| far.pop().expect("pushed")));
        in_handler(|| assert_eq!(near.write(b"bytes").expect("room"), 5));
        in_handler(|| assert_eq!(far.read(&mut data).expect("there"), 5));
    }
}

#[test]
fn what_a_killed_process_held_is_taken_over_without_an_allocation() {
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        let (near, far) = ends(policy);
        near.write(b"before").expect("room");
        let (mut told, tell) = std::io::pipe().expect("pipe");
        // SAFETY: the child uses what it has a copy of, and is killed.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let mut handle = near.direct();
            handle.write(b"from the child").expect("room");
            let _place = handle.reserve(10);
            std::io::Write::write_all(&mut &tell, b"x").expect("pipe");
            loop {
                std::thread::park();
            }
        }
        std::io::Read::read_exact(&mut told, &mut [0]).expect("the child is ready");
        // SAFETY: the child of above.
        unsafe { libc::kill(child, libc::SIGKILL) };
        let mut waited = 0;
        in_handler(|| {
            // It is a zombie, or about to be one.
            while near.write(b"after").is_err_and(|error| error.errno() == Errno::Again) {
                waited += 1;
                assert!(waited < 500);
            }
            let mut data = [0; 100];
            let mut read = 0;
            while let Ok(count) = far.read(&mut data[read..]) {
                read += count;
            }
            assert_eq!(&data[..read], b"beforefrom the childafter");
        });
        // SAFETY: as above.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

#[test]
fn signals_are_sent_without_an_allocation() {
    // SAFETY: sets no handler.
    unsafe { libc::signal(libc::SIGPOLL, libc::SIG_IGN) };
    let (near, far) = ends(Policy::DEFAULT);
    near.signals().set(SignalEvents::INPUT | SignalEvents::HIPRI).expect("room");
    in_handler(|| {
        assert_eq!(far.write(b"x").expect("room"), 1);
        far.putpmsg(Some(b"first"), None, Priority::High).expect("always");
        assert_eq!(near.signals().get().expect("it is registered"), SignalEvents::INPUT | SignalEvents::HIPRI);
    });
}

#[test]
fn a_raised_error_and_a_hang_up_are_told_without_an_allocation() {
    let (near, far) = ends(Policy::DEFAULT);
    drop(far);
    in_handler(|| {
        assert!(near.write(b"x").is_err_and(|error| error.errno() == Errno::Pipe));
        assert_eq!(near.read(&mut [0; 9]).expect("the end"), 0);
        assert!(near.getmsg(None, None).is_ok());
    });
    let clone = near.clone();
    near.close().expect("close");
    in_handler(|| assert!(clone.read(&mut [0; 9]).is_err_and(|error| error.errno() == Errno::Badf)));
}

//! A `Stream` is used by all threads of a process at once, as a descriptor is.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::in_own_process;
use headwater_os::child::Child;
use headwater_streams::{DirectStream, Errno, Events, Flush, ReadHalf, Stream, WriteHalf, pipe};

const A_WHILE: Duration = Duration::from_millis(50);

const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<Stream>();
    shared::<ReadHalf>();
    shared::<WriteHalf>();
    sent::<Stream>();
};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc").count()
}

#[test]
fn a_clone_costs_no_descriptor() {
    in_own_process!();
    // In a child of its own: other tests open and close descriptors.
    let mut child = Child::fork(|| {
        let (near, far) = pipe().expect("a pipe");
        let before = descriptors();
        let clones: Vec<Stream> = (0..100).map(|_| near.clone()).collect();
        let direct: Vec<DirectStream> = clones.iter().map(Stream::direct).collect();
        let same = descriptors() == before;
        drop((near, clones));
        far.set_nonblocking(true).expect("a switch");
        let open = far.read(&mut [0]).is_err_and(|error| error.errno() == Errno::Again);
        drop(direct);
        i32::from(!(same && open && far.read(&mut [0]).is_ok_and(|count| count == 0)))
    })
    .expect("fork");
    assert!(child.wait().expect("wait").success());
}

#[test]
fn threads_read_write_and_poll_at_the_same_end() {
    const BYTES: usize = 4 << 20;
    let (near, far) = pipe().expect("a pipe");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let count = std::io::copy(&mut &far, &mut &far).expect("an echo");
            far.shutdown(Shutdown::Write).expect("still open");
            count
        });
        scope.spawn(|| {
            let mut piece = [0; 1000];
            for start in (0..BYTES).step_by(piece.len()) {
                for (at, byte) in piece.iter_mut().enumerate() {
                    *byte = ((start + at) % 251) as u8;
                }
                (&near).write_all(&piece[..piece.len().min(BYTES - start)]).expect("room");
            }
            near.shutdown(Shutdown::Write).expect("still open");
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                near.poll(Events::IN, Some(Duration::from_millis(1))).expect("a poll");
                near.nread().expect("a count");
            }
        });
        let mut all = Vec::new();
        (&near).read_to_end(&mut all).expect("the echo");
        done.store(true, Ordering::Relaxed);
        assert_eq!(all.len(), BYTES);
        assert!(all.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8));
        assert_eq!(echo.join().expect("an echo"), BYTES as u64);
    });
}

#[test]
fn the_other_end_sees_the_end_with_the_last_clone() {
    let (near, far) = pipe().expect("a pipe");
    far.set_nonblocking(true).expect("a switch");
    let clone = near.clone();
    let used = thread::spawn(move || clone.write(b"x").map(|_| clone)).join().expect("a thread").expect("room");
    assert_eq!(far.read(&mut [0; 8]).expect("a byte"), 1);
    drop(near);
    assert_eq!(far.read(&mut [0]).expect_err("one clone is left").errno(), Errno::Again);
    drop(used);
    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    assert_eq!(far.write(b"x").expect_err("nobody reads").errno(), Errno::Pipe);
}

#[test]
fn a_reader_that_waits_sees_the_end_when_a_thread_drops_the_last_clone() {
    let (near, far) = pipe().expect("a pipe");
    let reader = thread::spawn(move || far.read(&mut [0]));
    let dropper = thread::spawn(move || {
        near.attach().expect("a place");
        thread::sleep(A_WHILE);
    });
    dropper.join().expect("a thread");
    assert_eq!(reader.join().expect("a thread").expect("the end"), 0);
}

#[test]
fn to_be_nonblocking_is_the_end_s_and_not_the_clone_s() {
    let (near, _far) = pipe().expect("a pipe");
    let clone = near.clone();
    assert!(!clone.is_nonblocking());
    near.set_nonblocking(true).expect("a switch");
    assert!(clone.is_nonblocking());
    let refused = thread::spawn(move || clone.read(&mut [0])).join().expect("a thread");
    assert_eq!(refused.expect_err("nothing is there").errno(), Errno::Again);
}

#[test]
fn the_half_that_writes_ends_its_direction_and_the_other_reads_on() {
    let (near, far) = pipe().expect("a pipe");
    let (mut reads, mut writes) = near.into_split();
    writes.write_all(b"question").expect("room");
    drop(writes);
    let mut question = String::new();
    (&far).read_to_string(&mut question).expect("up to the end");
    (&far).write_all(b"answer").expect("the other direction is open");
    drop(far);
    let mut answer = String::new();
    reads.read_to_string(&mut answer).expect("up to the end");
    assert_eq!((question.as_str(), answer.as_str()), ("question", "answer"));
}

#[test]
fn halves_become_the_whole_again_with_both_directions_open() {
    let (near, far) = pipe().expect("a pipe");
    let ((reads, writes), (far_reads, far_writes)) = (near.into_split(), far.into_split());
    let (far_reads, writes) = far_reads.reunite(writes).expect_err("halves of two ends");
    let near = reads.reunite(writes).expect("halves of one end");
    let far = far_reads.reunite(far_writes).expect("halves of one end");
    near.write(b"x").expect("open");
    far.write(b"y").expect("open");
    let mut byte = [0];
    assert_eq!((far.read(&mut byte).expect("a byte"), byte), (1, *b"x"));
    assert_eq!((near.read(&mut byte).expect("a byte"), byte), (1, *b"y"));
}

#[test]
fn threads_that_come_and_go_do_not_use_up_the_places() {
    let (near, far) = pipe().expect("a pipe");
    for _ in 0..1000 {
        let clone = near.clone();
        thread::spawn(move || clone.write(b"x").expect("a place and room")).join().expect("a thread");
    }
    assert_eq!(far.read(&mut [0; 2000]).expect("all of them"), 1000);
}

/// The values of the handler below: an end, which it borrows, and the result of its write.
static SEEN: AtomicI64 = AtomicI64::new(i64::MIN);
static END: std::sync::OnceLock<Stream> = std::sync::OnceLock::new();

#[test]
fn a_signal_handler_may_call_while_its_thread_waits_in_a_call() {
    in_own_process!();
    extern "C" fn write_one(_: libc::c_int) {
        let written = END.get().expect("set before").write(b"from the handler");
        SEEN.store(written.map_or(-1, |count| count as i64), Ordering::Relaxed);
    }
    let (near, far) = pipe().expect("a pipe");
    let near = END.get_or_init(|| near);
    // SAFETY: the handler has the right type, and what it uses is set for good.
    unsafe {
        let handler: extern "C" fn(libc::c_int) = write_one;
        libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
    }
    // SAFETY: a thread may always ask for its own handle.
    let reader = unsafe { libc::pthread_self() };
    let interrupter = thread::spawn(move || {
        thread::sleep(A_WHILE);
        // SAFETY: the reader lives until this thread was joined.
        unsafe { libc::pthread_kill(reader, libc::SIGUSR1) };
    });
    let interrupted = near.read(&mut [0; 8]).expect_err("a handler ran");
    interrupter.join().expect("a thread");
    assert_eq!((interrupted.errno(), SEEN.load(Ordering::Relaxed)), (Errno::Intr, 16));
    let mut text = [0; 32];
    let count = far.read(&mut text).expect("what the handler wrote");
    assert_eq!(&text[..count], b"from the handler");
}

#[test]
fn a_flush_beside_a_reader_leaves_the_stream_whole() {
    let (near, far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Its errors are the reader's as well.
            while !is_over.load(Ordering::Relaxed) && far.putpmsg(Some(b"control"), Some(&[7; 300]), 3).is_ok() {
                std::hint::spin_loop();
            }
        });
        scope.spawn(|| {
            let flush = Flush::READ;
            while !is_over.load(Ordering::Relaxed) && far.flush_queues(flush).is_ok() {
                std::hint::spin_loop();
            }
        });
        let until = Instant::now() + Duration::from_millis(500);
        let read = loop {
            match near.receive() {
                Ok(Some(message)) if message.data() != Some(&[7; 300][..]) => break Err(format!("{message:?}")),
                Err(error) if error.errno() != Errno::Again => break Err(error.to_string()),
                _ if Instant::now() > until => break Ok(()),
                _ => {}
            }
        };
        is_over.store(true, Ordering::Relaxed);
        // Ends the wait of a writer.
        let _ = near.shutdown(Shutdown::Read);
        read.expect("whole messages");
    });
}

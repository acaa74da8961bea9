//! Two waiters of one end: threads that read and write, sleepers that their own end's modules wake.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_streams::{Errno, Options, Stream, pipe};

use crate::common::stopwatch::Stopwatch;
use crate::common::{child, in_own_process, joined};

/// Longer than any wait that is ended by an event; the watch of a sleeper is a second.
const LATE: Duration = Duration::from_millis(600);
/// Until a waiter sleeps on its doorbell.
const ASLEEP: Duration = Duration::from_millis(40);

#[test]
fn one_thread_reads_while_another_writes_and_none_stalls() {
    let (near, far) = Options::new().hiwat(100).lowat(50).pipe().expect("pipe");
    let (reader, writer) = (near.clone(), near);
    const ROUNDS: u8 = 40;
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 200];
        for round in 0..ROUNDS {
            // Long enough that both threads of the other end go to the doorbell.
            std::thread::sleep(Duration::from_millis(15));
            let mut read = 0;
            while read < 200 {
                read += far.read(&mut buffer[read..]).expect("no error");
            }
            far.write(&[round]).expect("the reader lives");
        }
    });
    let reading = std::thread::spawn(move || {
        let mut byte = [0];
        for round in 0..ROUNDS {
            let start = Stopwatch::start();
            assert_eq!(reader.read(&mut byte).expect("no error"), 1);
            assert_eq!(byte, [round]);
            assert!(start.elapsed() < LATE, "byte {round} took {:?}", start.elapsed());
        }
    });
    for round in 0..ROUNDS {
        let start = Stopwatch::start();
        writer.write(&[round; 200]).expect("room");
        assert!(start.elapsed() < LATE, "message {round} took {:?}", start.elapsed());
    }
    reading.join().expect("no panic");
    echo.join().expect("no panic");
}

/// Runs `wait` on one handle of an end until it sleeps, then makes the module of that end act through another handle.
fn own_module_does<T: Send + 'static>(
    request: &'static [u8],
    prepare: impl FnOnce(&Stream),
    wait: impl FnOnce(&Stream) -> T + Send + 'static,
) -> T {
    let (mut near, _far) = pipe().expect("pipe");
    near.push("testmod").expect("known");
    prepare(&mut near);
    let waiter = near.clone();
    let begun = Arc::new(OnceLock::new());
    let start = begun.clone();
    let waiting = std::thread::spawn(move || (wait(&waiter), Stopwatch::elapsed(begun.get().expect("asleep"))));
    std::thread::sleep(ASLEEP);
    let _ = start.set(Stopwatch::start());
    // In a band of its own, for which there is room whatever has been written.
    near.putpmsg(Some(request), None, 1).expect("room");
    let (done, late) = waiting.join().expect("no panic");
    assert!(late < LATE, "woken after {late:?}");
    done
}

#[test]
fn an_answer_of_the_own_module_wakes_a_reader_of_the_same_end() {
    let got = own_module_does(
        b"proto hello",
        |_| (),
        |near| {
            let mut control = [0; 16];
            near.getmsg(Some(&mut control), None)
                .map(|got| control[..got.control.unwrap_or(0)].to_vec())
                .expect("a message")
        },
    );
    assert_eq!(got, b"hello");
}

#[test]
fn a_hang_up_by_the_own_module_wakes_a_reader_of_the_same_end() {
    assert_eq!(own_module_does(b"hangup", |_| (), |near| near.read(&mut [0]).expect("the end")), 0);
}

#[test]
fn an_error_by_the_own_module_wakes_a_reader_of_the_same_end() {
    let errno = own_module_does(b"error 71 71", |_| (), |near| near.read(&mut [0]).expect_err("raised").errno());
    assert_eq!(errno, Errno::Proto);
}

#[test]
fn an_error_by_the_own_module_wakes_a_writer_of_the_same_end() {
    let errno = own_module_does(
        b"error 71 71",
        // Above hiwat, but for one message more.
        |near| drop(near.write(&vec![0; 65_000])),
        |near| loop {
            if let Err(error) = near.write(&[0; 600]) {
                return error.errno();
            }
        },
    );
    assert_eq!(errno, Errno::Proto);
}

#[test]
fn an_answer_wakes_a_reader_that_slept_before_the_other_handle_was_in_use() {
    let (reader, _far) = pipe().expect("pipe");
    let mut other = reader.direct();
    reader.push("testmod").expect("known");
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(reader.getmsg(Some(&mut [0; 16]), None).map(|got| got.control)));
    std::thread::sleep(ASLEEP);
    other.putpmsg(Some(b"proto hello"), None, 1).expect("room");
    let got = told.recv_timeout(Duration::from_secs(10)).expect("it hangs");
    assert_eq!(got.expect("a message"), Some(5));
}

/// Checks that `act` with another handle of the end wakes a reader that has slept alone; returns the delay.
fn wakes_a_lone_sleeper(act: impl FnOnce(Stream)) -> Duration {
    let (reader, _far) = pipe().expect("pipe");
    let other = reader.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let begun = Arc::new(OnceLock::new());
    let start = begun.clone();
    std::thread::spawn(move || {
        let mut control = [0; 16];
        let got = reader.getmsg(Some(&mut control), None).map(|got| got.control);
        tell.send((got, Stopwatch::elapsed(begun.get().expect("asleep")), reader.counters().blocks))
    });
    std::thread::sleep(3 * ASLEEP);
    let _ = start.set(Stopwatch::start());
    act(other);
    let (got, late, blocks) = told.recv_timeout(Duration::from_secs(10)).expect("it hangs");
    assert_eq!(got.expect("a message"), Some(5));
    assert!(blocks < 10, "it fell asleep {blocks} times: nobody told it of anything");
    late
}

/// Pushes a module and makes it answer.
fn answer(stream: Stream) -> headwater_streams::Result<()> {
    stream.push("testmod")?;
    stream.putpmsg(Some(b"proto hello"), None, 1)
}

#[test]
fn a_handle_that_comes_later_and_pushes_a_module_wakes_a_lone_sleeper() {
    for _ in 0..5 {
        let late = wakes_a_lone_sleeper(|other| answer(other).expect("room"));
        assert!(late < Duration::from_millis(100), "{late:?}");
    }
}

#[test]
fn a_process_that_comes_later_and_pushes_a_module_wakes_a_lone_sleeper() {
    in_own_process!();
    let mut delays = (0..3).map(|_| {
        wakes_a_lone_sleeper(|other| {
            let other = std::cell::Cell::new(Some(other));
            joined(child(|| answer(other.take().expect("there"))));
        })
    });
    // What the child waits for a CPU is in them: the best counts.
    assert!(delays.any(|late| late < Duration::from_millis(500)), "late each time");
}

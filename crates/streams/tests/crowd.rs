//! Thousands of processes and as many threads use one stream at the same time; with `HEADWATER_TIMES=10` ten thousand of each. A
//! program of its own: nothing may run beside so many processes.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::Stream;

mod common;

use common::{child, extent, setting};

/// What each writes: its number, twice.
const MESSAGE: usize = 4;

/// Counts what arrives: each number has to come twice.
fn count(reader: Stream, users: usize) -> Vec<u8> {
    let mut seen = vec![0; users];
    let (mut buffer, mut held) = (vec![0; 64 << 10], 0);
    loop {
        let count = reader.read(&mut buffer[held..]).expect("no error");
        if count == 0 {
            assert_eq!(held, 0, "a part of a message");
            return seen;
        }
        held += count;
        let whole = held - held % MESSAGE;
        for number in buffer[..whole].chunks(MESSAGE) {
            seen[u32::from_le_bytes(number.try_into().expect("four bytes")) as usize] += 1u8;
        }
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
}

/// Writes a number when all are there, after `wait` again, and leaves.
fn write_twice(stream: &Stream, number: usize, wait: impl Fn()) {
    for _ in 0..2 {
        assert_eq!(stream.write(&(number as u32).to_le_bytes()).expect("room"), MESSAGE);
        wait();
    }
}

#[test]
fn a_thousand_processes_and_as_many_threads_lose_nothing() {
    let users = extent("HEADWATER_USERS", 1000) as usize;
    let patience = Duration::from_secs(setting("HEADWATER_PATIENCE", 300));
    common::within(patience, "a crowd at one stream".into());
    let (near, far) = headwater_streams::pipe().expect("pipe");
    // Each process writes to `met` when it has written once; all end when `go` is shut down.
    let (met, mut is_met) = UnixStream::pair().expect("pair");
    let (go, gone) = UnixStream::pair().expect("pair");
    let start = Instant::now();
    let reader = std::thread::Builder::new().spawn(move || count(far, 2 * users)).expect("a thread");
    let processes: Vec<Child> = (0..users)
        .map(|number| {
            child(|| {
                let stream = near.clone();
                stream.write(&(number as u32).to_le_bytes())?;
                (&met).write_all(b"x")?;
                assert_eq!((&gone).read(&mut [0])?, 0);
                stream.write(&(number as u32).to_le_bytes())?;
                // Not all destructors: as a program ends by exit(3).
                std::mem::forget(stream);
                Ok(())
            })
        })
        .collect();
    is_met.read_exact(&mut vec![0; users]).expect("each has written");
    let of_processes = start.elapsed();
    let all = Barrier::new(users);
    std::thread::scope(|scope| {
        for number in users..2 * users {
            let stream = near.clone();
            let all = &all;
            let body = move || {
                write_twice(&stream, number, || {
                    all.wait();
                })
            };
            std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, body).expect("a thread");
        }
    });
    let of_threads = start.elapsed() - of_processes;
    go.shutdown(Shutdown::Write).expect("the processes wait");
    for mut process in processes {
        assert!(process.wait().expect("wait").success());
    }
    drop(near);
    let seen = reader.join().expect("no panic");
    assert_eq!(seen.iter().position(|times| *times != 2), None);
    println!("{users} processes {of_processes:.1?}, {users} threads {of_threads:.1?}, all {:.1?}", start.elapsed());
}

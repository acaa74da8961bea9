//! Kills: a process that has the master or the slave of a pseudo-terminal is killed at any moment. The other side is hung up, and
//! no call of it waits for ever.

use std::io::{Read, Write, pipe};
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Errno, Events, Flush, Result, Stream};
use headwater_terminals::termios::numbers::{TCGETS, TCSETS};

use super::common::{
    Random, calm, expect_nothing_left, extent, in_own_process, open_things, polled, private_directory, setting, within,
};
use super::{PATIENCE, ioctl, master, slave, terminal, unlocked};

/// How long a process works before it is killed, at most.
const WORK_US: usize = 20_000;

/// Every kind of call, until an error: what one side does while the other does the same.
fn work(side: &Stream, random: &mut Random) -> Result<()> {
    side.set_nonblocking(true)?;
    let has_ended = |done: Result<usize>| match done {
        Err(error) if error.errno() != Errno::Again => Err(error),
        done => Ok(done.is_ok_and(|count| count == 0)),
    };
    loop {
        let ended = match random.below(8) {
            0..=2 => has_ended(side.write(b"a line\n"))?,
            3..=5 => has_ended(side.read(&mut [0; 64]))?,
            6 => side.flush_queues(Flush::READ).map(|()| false)?,
            // The slave's modules answer it, for either side.
            _ => {
                drop(ioctl(side, TCGETS, &[]).and_then(|(_, bytes)| ioctl(side, TCSETS, &bytes)));
                false
            }
        };
        if ended {
            return Ok(());
        }
    }
}

/// Until the side is hung up: then reads give the end, after what was sent before, and writes fail.
fn expect_hang_up(side: &Stream) {
    // For poll(2), which shows what comes to a descriptor that does not wait.
    side.set_nonblocking(true).expect("open");
    while polled(side, libc::POLLIN, PATIENCE) & libc::POLLHUP == 0 {
        if let Err(error) = side.read(&mut [0; 256]) {
            assert_eq!(error.errno(), Errno::Again);
        }
    }
    side.set_nonblocking(false).expect("open");
    // And once more: the message of no bytes is no end.
    for _ in 0..2 {
        while side.read(&mut [0; 256]).expect("data, or the end") > 0 {}
    }
    assert_eq!(side.write(b"x").expect_err("no other side").errno(), Errno::Io);
    assert_ne!(polled(side, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
}

/// Works at a side for a while, and kills the process of the other.
fn work_beside(side: &Stream, other: &mut Child, random: &mut Random) {
    let until = Instant::now() + Duration::from_micros(random.below(WORK_US) as u64);
    let pid = other.id();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        // SAFETY: our own child, which is waited for after this thread has ended.
        unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
    });
    // It ends because of the hang-up.
    let _ = work(side, random);
    killer.join().expect("no panic");
    other.wait().expect("wait");
}

#[test]
fn a_slaves_process_is_killed_at_any_moment() {
    in_own_process!();
    let directory = private_directory();
    let before = open_things();
    let mut random = Random(setting("HEADWATER_SEED", 1));
    for round in 0..extent("HEADWATER_ROUNDS", 20) {
        within(PATIENCE, format!("the process of a slave is killed, round {round}"));
        let (master, number) = unlocked(directory.path());
        let (mut told, mut tell) = pipe().expect("pipe");
        let mut other = Child::fork(|| {
            let Ok(terminal) = terminal(directory.path(), number) else { return 1 };
            let _ = tell.write_all(b"x");
            let _ = work(&terminal, &mut Random(round + 1));
            0
        })
        .expect("fork");
        drop(tell);
        told.read_exact(&mut [0]).expect("it is open");
        work_beside(&master, &mut other, &mut random);
        expect_hang_up(&master);
        assert_eq!(slave(directory.path(), number).expect_err("hung up").errno(), Errno::Nxio);
    }
    expect_nothing_left(before);
    calm();
}

#[test]
fn a_masters_process_is_killed_at_any_moment() {
    in_own_process!();
    let directory = private_directory();
    let before = open_things();
    let mut random = Random(setting("HEADWATER_SEED", 2));
    for round in 0..extent("HEADWATER_ROUNDS", 20) {
        within(PATIENCE, format!("the process of a master is killed, round {round}"));
        let (mut told, mut tell, mut opened) = {
            let (told, tell) = pipe().expect("pipe");
            (told, tell, pipe().expect("pipe"))
        };
        let mut other = Child::fork(|| {
            let (master, number) = unlocked(directory.path());
            let _ = tell.write_all(&number.to_ne_bytes());
            let _ = opened.0.read_exact(&mut [0]);
            let _ = work(&master, &mut Random(round + 1));
            0
        })
        .expect("fork");
        let mut number = [0; 4];
        told.read_exact(&mut number).expect("the master's number");
        let terminal = terminal(directory.path(), u32::from_ne_bytes(number)).expect("unlocked");
        opened.1.write_all(b"x").expect("it waits");
        work_beside(&terminal, &mut other, &mut random);
        expect_hang_up(&terminal);
    }
    expect_nothing_left(before);
    calm();
}

/// The process may be killed before it has opened its side, in the middle of that, or after it: the other side works or is hung up.
#[test]
fn a_process_is_killed_while_it_opens_a_side() {
    in_own_process!();
    let directory = private_directory();
    let before = open_things();
    let mut random = Random(setting("HEADWATER_SEED", 3));
    for round in 0..extent("HEADWATER_ROUNDS", 30) {
        within(PATIENCE, format!("a process is killed while it opens a slave, round {round}"));
        let (side, number) = unlocked(directory.path());
        let mut other = Child::fork(|| {
            let opened = terminal(directory.path(), number);
            std::thread::sleep(PATIENCE);
            drop(opened);
            0
        })
        .expect("fork");
        std::thread::sleep(Duration::from_micros(random.below(3_000) as u64));
        other.kill();
        other.wait().expect("wait");
        if side.poll(Events::IN, Some(Duration::from_millis(20))).expect("open").intersects(Events::IN | Events::HUP) {
            expect_hang_up(&side);
        } else {
            // It was never opened.
            let terminal = terminal(directory.path(), number).expect("unlocked");
            side.write(b"a line\n").expect("room");
            assert_eq!(terminal.read(&mut [0; 64]).expect("a line"), 7);
        }

        within(PATIENCE, format!("a process is killed while it opens a master, round {round}"));
        let mut other = Child::fork(|| {
            let master = open_master(directory.path());
            std::thread::sleep(PATIENCE);
            drop(master);
            0
        })
        .expect("fork");
        std::thread::sleep(Duration::from_micros(random.below(3_000) as u64));
        other.kill();
        other.wait().expect("wait");
        assert!(master(directory.path()).minor().is_some(), "masters are opened as before");
    }
    expect_nothing_left(before);
    calm();
}

fn open_master(directory: &Path) -> Option<Stream> {
    let (handle, _) = unlocked(directory);
    DeviceOptions::new().directory(directory).minor(handle.minor()?).open("pts").ok()?;
    Some(handle)
}

//! How the end of a stream is noticed: by every handle, after every kind of end, in one direction alone.

use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use headwater_streams::{DirectStream, Errno, Events, Options, Stream, pipe};

use crate::common::{child, extent, in_own_process, polled, read_all};

#[test]
fn every_handle_notices_that_the_other_end_was_closed() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let mut users: [DirectStream; 4] = std::array::from_fn(|_| near.direct());
    for handle in &mut users {
        handle.write(b"a").expect("room");
    }
    assert_eq!(far.read(&mut [0; 9]).expect("there"), 4);
    drop(far);
    for handle in &mut users {
        assert_eq!(handle.write(b"b").expect_err("nobody reads").errno(), Errno::Pipe);
        assert_eq!(handle.read(&mut [0]).expect("the end"), 0);
    }
}

#[test]
fn after_a_read_has_seen_the_end_no_write_succeeds() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let mut other = near.direct();
    near.write(b"a").expect("room");
    other.write(b"b").expect("room");
    let mut peer = child(|| {
        let mut far = far.direct();
        far.read(&mut [0; 2])?;
        headwater_os::child::kill_self()
    });
    drop(far);
    peer.wait().expect("wait");
    assert_eq!(near.read(&mut [0]).expect("the end"), 0);
    assert_eq!(near.write(b"c").expect_err("nobody reads").errno(), Errno::Pipe);
    assert_eq!(other.write(b"c").expect_err("nor here").errno(), Errno::Pipe);
}

#[test]
fn after_poll_has_said_hung_up_no_write_succeeds() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.write(b"a").expect("room");
    let mut peer = child(|| {
        far.clone().read(&mut [0])?;
        headwater_os::child::kill_self()
    });
    drop(far);
    peer.wait().expect("wait");
    assert!(near.poll(Events::IN, Some(Duration::from_secs(5))).expect("poll").intersects(Events::HUP));
    assert_eq!(near.write(b"c").expect_err("nobody reads").errno(), Errno::Pipe);
}

#[test]
fn an_end_that_writes_no_more_still_reads() {
    let (near, far) = pipe().expect("pipe");
    near.write(b"last words").expect("room");
    near.shutdown(Shutdown::Write).expect("shutdown");
    assert_eq!(near.write(b"x").expect_err("shut").errno(), Errno::Pipe);
    assert_eq!(polled(&far, libc::POLLIN | libc::POLLRDHUP, Duration::ZERO), libc::POLLIN | libc::POLLRDHUP);
    assert_eq!(read_all(&far), b"last words");
    assert_eq!(
        far.poll(Events::IN, Some(Duration::from_secs(5))).expect("poll"),
        Events::IN,
        "the end is read at once"
    );
    for _ in 0..100 {
        assert_eq!(far.write(b"answer").expect("it still reads"), 6);
        assert_eq!(near.read(&mut [0; 6]).expect("there"), 6);
    }
    drop(far);
    assert_eq!(near.read(&mut [0]).expect("the end"), 0);
}

#[test]
fn an_end_that_reads_no_more_refuses_what_the_other_writes() {
    let (near, far) = pipe().expect("pipe");
    far.write(b"before").expect("room");
    near.shutdown(Shutdown::Read).expect("shutdown");
    assert_eq!(far.write(b"after").expect_err("shut").errno(), Errno::Pipe);
    assert_eq!(read_all(&near), b"before");
    near.write(b"the other way").expect("room");
    assert_eq!(far.read(&mut [0; 20]).expect("there"), 13);
}

#[test]
fn shutting_down_wakes_a_reader_and_a_writer_that_sleep() {
    let (near, far) = Options::new().hiwat(1000).lowat(500).pipe().expect("pipe");
    let mut far_reader = far.direct();
    let mut far_writer = far.direct();
    drop(far);
    let reader = std::thread::spawn(move || far_reader.read(&mut [0]).expect("the end"));
    let writer = std::thread::spawn(move || {
        loop {
            if let Err(error) = far_writer.write(&[0; 100]) {
                return error.errno();
            }
        }
    });
    // Until both sleep, also on the doorbell.
    std::thread::sleep(Duration::from_millis(60));
    near.shutdown(Shutdown::Both).expect("shutdown");
    assert_eq!(reader.join().expect("no panic"), 0);
    assert_eq!(writer.join().expect("no panic"), Errno::Pipe);
}

#[test]
fn a_fifo_has_no_half_to_shut_down() {
    let (_directory, path) = crate::common::fifo();
    let reader = crate::common::open(&path, headwater_streams::Access::Read).expect("open");
    assert_eq!(reader.shutdown(Shutdown::Read).expect_err("refused").errno(), Errno::Inval);
    let _ = (reader.as_fd(), std::io::stdout().flush());
}

/// Kills a reader and waits until the kernel has torn it down; returns how many writes of 64 bytes still succeed.
fn writes_after_the_death_of(reads: impl FnOnce(&Stream), writes: impl FnOnce(&Stream)) -> usize {
    let (mut near, far) = pipe().expect("pipe");
    let mut far = Some(far);
    let mut reader = child(|| {
        let mut far = far.take().expect("there");
        reads(&mut far);
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    drop(far);
    writes(&mut near);
    std::thread::sleep(Duration::from_millis(30));
    reader.kill();
    reader.wait().expect("wait");
    let refused = (0..10_000).find_map(|count| near.write(&[0; 64]).err().map(|error| (count, error.errno())));
    let (count, errno) = refused.expect("somebody reads");
    assert_eq!(errno, Errno::Pipe);
    count
}

#[test]
fn a_reader_that_is_killed_while_it_waits_is_noticed_by_the_next_write() {
    in_own_process!();
    let waits = |far: &Stream| while far.read(&mut [0; 64]).is_ok() {};
    assert_eq!(writes_after_the_death_of(waits, |_| ()), 0);
    let some = |near: &Stream| (0..500).for_each(|_| assert_eq!(near.write(&[1; 64]).expect("room"), 64));
    assert_eq!(writes_after_the_death_of(waits, some), 0);
}

#[test]
fn a_reader_that_is_killed_at_its_work_is_noticed_before_as_much_again_is_written() {
    in_own_process!();
    let works = |far: &Stream| assert!(far.read(&mut [0; 64]).expect("there") > 0);
    let one = |near: &Stream| {
        std::thread::sleep(Duration::from_millis(30));
        near.write(&[1; 64]).expect("room");
    };
    assert_eq!(writes_after_the_death_of(works, one), 0, "it waited for what was the last");
    let some = |near: &Stream| {
        std::thread::sleep(Duration::from_millis(30));
        (0..10).for_each(|_| assert_eq!(near.write(&[1; 64]).expect("room"), 64));
    };
    let unnoticed = writes_after_the_death_of(works, some);
    assert!(unnoticed <= 11, "{unnoticed} writes succeeded");
}

#[test]
fn a_poll_for_room_waits_also_after_the_other_end_writes_no_more() {
    for wanted in [Events::OUT, Events::OUT | Events::PRI] {
        let (near, far) = pipe().expect("pipe");
        far.set_nonblocking(true).expect("set");
        near.shutdown(Shutdown::Write).expect("shutdown");
        while far.write(&[1; 1000]).is_ok() {}
        let time = Duration::from_millis(50);
        let start = Instant::now();
        assert!(far.poll(wanted, Some(time)).expect("no error").is_empty(), "full");
        assert!(start.elapsed() >= time, "{:?}", start.elapsed());
        let reading = std::thread::spawn(move || {
            std::thread::sleep(time);
            near.read(&mut [0; 65_000]).expect("there");
            near
        });
        assert_eq!(far.poll(wanted, Some(Duration::from_secs(10))).expect("no error"), Events::OUT);
        reading.join().expect("no panic");
    }
}

#[test]
fn what_was_read_before_the_reader_left_is_no_error_of_the_write() {
    in_own_process!();
    for round in 0..extent("HEADWATER_CLOSE_ROUNDS", 500) {
        let (near, far) = pipe().expect("pipe");
        // Long enough for one that polls and one that waits on the futex.
        let reader = std::thread::spawn(move || {
            let mut got = [0; 8];
            if round % 2 == 0 {
                polled(far.as_fd(), libc::POLLIN, Duration::from_secs(4));
            }
            assert_eq!(far.read(&mut got).expect("read"), 5);
        });
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
        assert_eq!(near.write(b"hello").expect("it was read"), 5, "round {round}");
        reader.join().expect("no panic");
        assert_eq!(near.write(b"after").expect_err("nobody reads").errno(), Errno::Pipe);
    }
}

//! `loop`: two streams that a driver pairs, in one process and in two: data written to the one is read from the other,
//! flow controlled, and each is hung up when the last process that has the other has ended.

use crate::common;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Random, calm, child, extent, in_own_process, joined, polled, private_directory, setting, within};
use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Errno, Options, Priority, Result, Stream};

const PATIENCE: Duration = Duration::from_secs(20);

fn open_with(directory: &Path, minor: u32, hiwat: u32) -> Result<Stream> {
    let stream = Options::new().hiwat(hiwat).lowat(hiwat / 4).maxpsz(1000);
    let options = DeviceOptions::new().minor(minor).directory(directory.to_owned()).stream(stream);
    options.open("loop")
}

fn open(directory: &Path, minor: u32) -> Result<Stream> {
    open_with(directory, minor, 65536)
}

fn text(handle: &Stream) -> String {
    let mut bytes = [0; 64];
    let count = handle.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn what_is_written_to_the_one_is_read_from_the_other() {
    in_own_process!();
    within(PATIENCE, "a loop in one process".to_owned());
    let directory = private_directory();
    let before = common::open_things();
    let one = open(directory.path(), 4).expect("free");
    // It waits in the driver's queue until the partner comes.
    one.write(b"early").expect("room");
    one.putpmsg(Some(b"control"), Some(b"data"), 2).expect("room");
    let two = open(directory.path(), 5).expect("free");
    let first = two.receive().expect("no error").expect("there");
    assert_eq!((first.priority(), first.control()), (Priority::Band(2), Some(&b"control"[..])));
    assert_eq!(text(&two), "early");
    for round in 0..5 {
        one.write(format!("one {round}").as_bytes()).expect("room");
        two.write(format!("two {round}").as_bytes()).expect("room");
        assert_eq!((text(&two), text(&one)), (format!("one {round}"), format!("two {round}")));
    }
    two.putpmsg(Some(b"urgent"), None, Priority::High).expect("waits for nobody");
    assert_eq!(one.receive().expect("no error").expect("there").priority(), Priority::High);
    assert_eq!(open(directory.path(), 4).expect_err("once").errno(), Errno::Busy);
    assert_eq!(
        (one.modules().look().expect("loop"), two.modules().list().expect("list")),
        ("loop".to_owned(), vec!["loop".to_owned()])
    );
    one.write(b"last").expect("room");
    drop(one);
    assert_eq!(text(&two), "last", "what was written before is read");
    assert_eq!(text(&two), "");
    assert_eq!(two.write(b"x").expect_err("it is closed").errno(), Errno::Pipe);
    drop(two);
    common::expect_nothing_left(before);
    // Both numbers are free again.
    let (one, two) = (open(directory.path(), 4).expect("free"), open(directory.path(), 5).expect("free"));
    two.write(b"anew").expect("room");
    assert_eq!(text(&one), "anew");
    calm();
}

#[test]
fn a_partner_that_comes_while_the_stream_is_read_is_met() {
    in_own_process!();
    within(PATIENCE, "partners come and go beside a reader that does not wait".to_owned());
    let directory = private_directory();
    for round in 0..extent("HEADWATER_ROUNDS", 100) {
        let one = open(directory.path(), 10).expect("free");
        one.set_nonblocking(true).expect("arm");
        let reads = std::thread::spawn(move || {
            let end = Instant::now() + Duration::from_secs(5);
            // It has no partner, then one that is silent, then one that has gone.
            while one.read(&mut [0; 8]).is_err_and(|error| error.errno() == Errno::Again) {
                assert!(Instant::now() < end, "round {round}: the partner has gone, and the reader was not told");
            }
        });
        std::thread::sleep(Duration::from_micros(round % 50 * 10));
        drop(open(directory.path(), 11).expect("free"));
        reads.join().expect("told");
    }
    calm();
}

#[test]
fn what_a_reader_takes_before_it_meets_its_partner_makes_room_too() {
    in_own_process!();
    const BYTES: usize = 20 * 300;
    within(PATIENCE, "partners come and write beside a reader that does not wait".to_owned());
    let directory = private_directory();
    for round in 0..extent("HEADWATER_ROUNDS", 100) {
        let one = open_with(directory.path(), 12, 2000).expect("free");
        one.set_nonblocking(true).expect("arm");
        let reads = std::thread::spawn(move || {
            let (end, mut read) = (Instant::now() + Duration::from_secs(5), 0);
            while read < BYTES {
                match one.read(&mut [0; BYTES]) {
                    Ok(count) => read += count,
                    Err(error) => assert_eq!(error.errno(), Errno::Again, "{error}"),
                }
                assert!(Instant::now() < end, "round {round}: {read} bytes, the rest stays with the driver");
            }
        });
        std::thread::sleep(Duration::from_micros(round % 50 * 10));
        let two = open_with(directory.path(), 13, 2000).expect("free");
        let writes = std::thread::spawn(move || {
            let two = two;
            for _ in 0..BYTES / 300 {
                two.write(&[7; 300]).expect("room, in the end");
            }
            two
        });
        reads.join().expect("all came");
        writes.join().expect("no panic");
    }
    calm();
}

#[test]
fn a_writer_waits_for_the_reader_of_another_process_and_nothing_is_lost() {
    in_own_process!();
    const BYTES: usize = 300_000;
    let directory = private_directory();
    for (round, modules) in [&[][..], &["srvmod"], &["nullmod"]].into_iter().enumerate() {
        within(PATIENCE, format!("bytes through a loop between two processes, {modules:?}"));
        let reader = child(|| {
            let stream = open_with(directory.path(), 1, 3000)?;
            modules.iter().try_for_each(|name| stream.push(name))?;
            let (mut read, mut buffer) = (0, [0; 700]);
            while read < BYTES {
                let count = stream.read(&mut buffer)?;
                assert!(count > 0, "the end after {read} bytes");
                assert!(buffer[..count].iter().enumerate().all(|(at, byte)| *byte == ((read + at) % 251) as u8));
                read += count;
                if read % 64 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
            stream.write(b"done").map(drop)
        });
        let stream = open_with(directory.path(), 0, 3000).expect("free");
        modules.iter().for_each(|name| stream.push(name).expect("known"));
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        assert_eq!(stream.write(&bytes).unwrap_or_else(|error| panic!("round {round}: {error}")), BYTES);
        assert_eq!(text(&stream), "done");
        joined(reader);
        drop(stream);
    }
    calm();
}

#[test]
fn the_descriptor_tells_of_data_of_room_and_of_the_partner_s_death() {
    in_own_process!();
    let directory = private_directory();
    for kills in [false, true] {
        within(PATIENCE, format!("a foreign event loop at a loop; the partner is killed: {kills}"));
        let (waits, go) = std::io::pipe().expect("pipe");
        let stream = open_with(directory.path(), 2, 2000).expect("free");
        stream.set_nonblocking(true).expect("arm");
        let mut parents = Some((stream, go));
        let mut partner = child(|| {
            drop(parents.take());
            let stream = open_with(directory.path(), 3, 2000)?;
            stream.write(b"hello")?;
            std::thread::sleep(Duration::from_millis(100));
            let mut read = 0;
            while read < 20_000 {
                read += stream.read(&mut [0; 500])?;
            }
            stream.write(b"enough")?;
            let _ = std::io::Read::read(&mut &waits, &mut [0]);
            Ok(())
        });
        let (stream, go) = parents.take().expect("a copy");
        // An event loop outside of the library: it makes calls when the descriptor is ready.
        let mut got = Vec::new();
        while got.len() < 5 {
            assert_ne!(polled(&stream, libc::POLLIN, Duration::from_secs(10)) & libc::POLLIN, 0);
            let mut buffer = [0; 32];
            match stream.read(&mut buffer) {
                Ok(count) => got.extend_from_slice(&buffer[..count]),
                Err(error) => assert_eq!(error.errno(), Errno::Again, "{error}"),
            }
        }
        assert_eq!(got, b"hello");
        let (mut sent, mut refused) = (0, 0);
        while sent < 20_000 {
            assert_ne!(polled(&stream, libc::POLLOUT, Duration::from_secs(10)) & libc::POLLOUT, 0, "after {sent}");
            match stream.write(&[1; 400]) {
                Ok(count) => sent += count,
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Again, "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0, "it was never full");
        stream.set_nonblocking(false).expect("wait");
        assert_eq!(text(&stream), "enough");
        assert_eq!(polled(&stream, libc::POLLIN, Duration::ZERO) & libc::POLLHUP, 0, "the partner lives");
        if kills {
            partner.kill();
            partner.wait().expect("wait");
        } else {
            drop(go);
            joined(partner);
        }
        let start = Instant::now();
        assert_ne!(polled(&stream, libc::POLLIN, Duration::from_secs(10)) & libc::POLLHUP, 0);
        assert!(start.elapsed() < Duration::from_secs(1));
        assert_eq!(text(&stream), "");
        assert_eq!(stream.write(b"x").expect_err("it is gone").errno(), Errno::Pipe);
    }
    calm();
}

#[test]
fn a_reader_that_sleeps_is_woken_by_the_death_of_the_partner() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "a reader of a loop sleeps, and the partner is killed".to_owned());
    let mut partner = child(|| {
        let stream = open(directory.path(), 7)?;
        stream.write(b"here")?;
        // Reads nothing, calls nothing.
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    let stream = open(directory.path(), 6).expect("free");
    assert_eq!(text(&stream), "here");
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        partner.kill();
        partner.wait().expect("wait");
    });
    assert_eq!(text(&stream), "");
    killer.join().expect("no panic");
    calm();
}

#[test]
fn partners_that_are_killed_at_any_moment_leave_the_other_usable_or_hung_up() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let mut random = Random(setting("HEADWATER_SEED", 1));
    let directory = private_directory();
    let before = common::open_things();
    let (mut rounds, mut hung_up) = (0, 0);
    while Instant::now() < until {
        within(PATIENCE, format!("a partner is killed, round {rounds}"));
        let mut partner = Child::fork(|| {
            let Ok(stream) = open_with(directory.path(), 9, 2000) else { return 1 };
            loop {
                let _ = stream.write(&[2; 300]);
                let _ = stream.read(&mut [0; 300]);
            }
        })
        .expect("fork");
        if random.one_in(2) {
            std::thread::sleep(Duration::from_micros(random.next() % 3000));
        }
        let stream = open_with(directory.path(), 8, 2000).expect("free");
        stream.set_nonblocking(true).expect("arm");
        let end = Instant::now() + Duration::from_micros(random.next() % 8000);
        let mut met = false;
        while Instant::now() < end {
            let _ = stream.write(&[1; 200]);
            met |= stream.read(&mut [0; 400]).is_ok();
        }
        partner.kill();
        partner.wait().expect("wait");
        stream.set_nonblocking(false).expect("wait");
        if met {
            // The remaining data, and then the end.
            while stream.read(&mut [0; 4000]).expect("no error") > 0 {}
            assert_eq!(stream.write(b"x").expect_err("it is gone").errno(), Errno::Pipe);
            hung_up += 1;
        }
        drop(stream);
        rounds += 1;
    }
    assert!(hung_up > 0);
    common::expect_nothing_left(before);
    println!("{rounds} rounds, {hung_up} with a partner");
    calm();
}

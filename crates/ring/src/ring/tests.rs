use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use headwater_os::watch::ProcessId;
use proptest::prelude::*;

use super::pair;
use crate::Region;
use crate::error::Error;
use crate::layout::Words;
use crate::parker::{ASLEEP, AWAKE, CLOSED};
use crate::{Receiver, Sender, Wait};

fn ring(window: usize) -> (Sender, Receiver) {
    pair(window, Wait::Sleep).expect("ring")
}

/// The same region as the pair's, as a peer that breaks the protocol sees it.
fn hostile(end: &impl AsFd) -> Region {
    Region::open(end.as_fd().try_clone_to_owned().expect("dup")).expect("open")
}

fn byte_at(position: u64) -> u8 {
    (position % 251) as u8
}

#[test]
fn bytes_arrive_over_the_end_of_the_window() {
    let (mut sender, mut receiver) = ring(64);
    for round in 0..50u8 {
        let message = [round; 37];
        assert_eq!(sender.try_write(&message).expect("room"), 37);
        let mut read = [0; 37];
        receiver.read_exact(&mut read).expect("there");
        assert_eq!(read, message);
    }
}

#[test]
fn a_full_ring_takes_what_fits_and_an_empty_one_gives_nothing() {
    let (mut sender, mut receiver) = ring(64);
    let mut buffer = [0; 100];
    assert_eq!(receiver.try_read(&mut buffer).expect("empty"), 0);
    assert_eq!(sender.try_write(&[1; 100]).expect("part"), 64);
    assert_eq!(sender.try_write(&[1; 100]).expect("full"), 0);
    assert_eq!(receiver.try_read(&mut buffer[..10]).expect("part"), 10);
    assert_eq!(sender.try_write(&[2; 100]).expect("part"), 10);
    assert_eq!(receiver.try_read(&mut buffer).expect("rest"), 64);
    assert_eq!(buffer[53..64], [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn empty_operations_move_nothing() {
    let (mut sender, mut receiver) = ring(64);
    assert_eq!(sender.try_write(&[]).expect("nothing"), 0);
    assert_eq!(receiver.try_read(&mut []).expect("nothing"), 0);
    assert_eq!(receiver.read_some(&mut []).expect("nothing"), 0);
    sender.write_all(&[]).expect("nothing");
    receiver.read_exact(&mut []).expect("nothing");
}

#[test]
fn windows_that_are_no_power_of_two_or_too_large_are_refused() {
    for window in [0, 1, 32, 65, 4095, 1 << 31] {
        let error = pair(window, Wait::Sleep).expect_err("refused");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{window}");
    }
}

#[test]
fn a_closed_sender_is_read_to_its_end() {
    let (mut sender, mut receiver) = ring(64);
    sender.write_all(b"last words").expect("room");
    drop(sender);
    let mut buffer = [0; 64];
    assert_eq!(receiver.read_some(&mut buffer).expect("bytes"), 10);
    assert_eq!(receiver.read_some(&mut buffer).expect("the end"), 0);
    assert!(matches!(receiver.try_read(&mut buffer), Err(Error::Closed)));
    assert!(matches!(receiver.read_exact(&mut buffer), Err(Error::UnexpectedEnd)));
}

#[test]
fn a_write_to_a_closed_receiver_fails_at_once() {
    let (mut sender, mut receiver) = ring(64);
    sender.write_all(&[1]).expect("room");
    receiver.attach().expect("attach");
    drop(receiver);
    assert!(matches!(sender.try_write(&[1]), Err(Error::Closed)));
    assert!(matches!(sender.write_all(&[1]), Err(Error::Closed)));
    let error = std::io::Error::from(sender.write_all(&[1]).expect_err("closed"));
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn a_half_that_was_never_attached_closes_nothing() {
    let (mut sender, receiver) = ring(64);
    drop(receiver);
    assert_eq!(sender.try_write(&[1]).expect("room"), 1);
}

#[test]
fn a_half_has_one_owner_for_ever() {
    let (mut sender, receiver) = ring(64);
    sender.attach().expect("first");
    sender.attach().expect("again");
    let second = Sender::open(receiver.as_fd().try_clone_to_owned().expect("dup"), Wait::Sleep);
    assert!(matches!(second, Err(Error::InUse(pid)) if pid == std::process::id()), "{second:?}");
    drop(sender);
    let third = Sender::open(receiver.as_fd().try_clone_to_owned().expect("dup"), Wait::Sleep);
    assert!(matches!(third, Err(Error::InUse(_))), "a closed half is not taken over");
}

#[test]
fn a_half_opened_by_descriptor_works() {
    let (mut sender, receiver) = ring(64);
    let mut opened = Receiver::open(receiver.as_fd().try_clone_to_owned().expect("dup"), Wait::Sleep).expect("open");
    sender.write_all(b"through the descriptor").expect("room");
    let mut text = [0; 22];
    opened.read_exact(&mut text).expect("there");
    assert_eq!(&text, b"through the descriptor");
}

/// Streams `total` bytes between two threads with the given sizes of writes and reads.
fn stream(window: usize, wait: Wait, total: u64, writes: Vec<usize>, reads: Vec<usize>) {
    let (mut sender, mut receiver) = pair(window, wait).expect("ring");
    let writer = thread::spawn(move || {
        let mut at = 0;
        for size in writes.iter().cycle() {
            let message: Vec<u8> = (at..total.min(at + *size as u64)).map(byte_at).collect();
            sender.write_all(&message).expect("the receiver lives");
            at += message.len() as u64;
            if at == total {
                return;
            }
        }
        unreachable!("the sizes repeat");
    });
    let mut at = 0;
    for size in reads.iter().cycle() {
        let mut buffer = vec![0; *size];
        let read = receiver.read_some(&mut buffer).expect("no error");
        for byte in &buffer[..read] {
            assert_eq!(*byte, byte_at(at), "byte {at}");
            at += 1;
        }
        if read == 0 {
            break;
        }
    }
    assert_eq!(at, total);
    writer.join().expect("writer");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The model is the stream itself: every byte once, in order, whatever the sizes.
    #[test]
    fn any_sizes_give_the_same_stream(
        window_log2 in 6..17u32,
        total in 1..60_000u64,
        writes in prop::collection::vec(1..3000usize, 1..8),
        reads in prop::collection::vec(1..3000usize, 1..8),
    ) {
        stream(1 << window_log2, Wait::Sleep, total, writes, reads);
    }
}

#[test]
fn a_spinning_pair_gives_the_same_stream() {
    stream(4096, Wait::Spin, 200_000, vec![1, 64, 5000], vec![4096, 3]);
}

#[test]
fn a_message_as_long_as_the_window_passes() {
    stream(64 << 10, Wait::Sleep, 4 << 20, vec![64 << 10], vec![64 << 10]);
}

/// Ping-pong makes both ends meet an empty ring each time, with pauses that let them fall asleep. A lost wake-up shows
/// as a rescue; one is allowed, because the waker can be held up for as long as the rescue takes.
#[test]
fn no_wake_up_is_lost() {
    const ROUNDS: u32 = 3_000;
    let (mut there_in, mut there_out) = ring(64);
    let (mut back_in, mut back_out) = ring(64);
    let echo = thread::spawn(move || {
        let mut byte = [0];
        for round in 0..ROUNDS {
            there_out.read_exact(&mut byte).expect("ping");
            pause(round.wrapping_mul(2_654_435_761) >> 25);
            back_in.write_all(&byte).expect("pong");
        }
        there_out.counters()
    });
    for round in 0..ROUNDS {
        there_in.write_all(&[round as u8]).expect("ping");
        let mut byte = [0];
        back_out.read_exact(&mut byte).expect("pong");
        assert_eq!(byte[0], round as u8);
        pause(round.wrapping_mul(40_503) >> 9 & 127);
        assert!(back_out.counters().rescues <= 1, "round {round}");
    }
    let (there, back) = (echo.join().expect("echo"), back_out.counters());
    assert!(there.rescues <= 1);
    assert!(there.sleeps + back.sleeps > 100, "hardly anybody slept: nothing was tested");
}

/// Spins, or for a short time sleeps: then the other end finds no running peer, and sleeps too.
fn pause(microseconds: u32) {
    if microseconds < 16 {
        return thread::sleep(Duration::from_micros(100));
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(microseconds.into()) {
        std::hint::spin_loop();
    }
}

/// A sleeper is woken by the other end's leaving, and does not find it by the time limit.
#[test]
fn closing_wakes_the_sleeper() {
    let (mut sender, mut receiver) = ring(64);
    sender.attach().expect("attach");
    let region = hostile(&sender);
    let reader = thread::spawn(move || receiver.read_some(&mut [0]).map(|read| (read, receiver.counters())));
    while region.words().receiver.0.status.load(Ordering::SeqCst) != ASLEEP {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(5));
    drop(sender);
    let (read, counters) = reader.join().expect("reader").expect("no error");
    assert_eq!((read, counters.rescues), (0, 0), "{counters:?}");
}

/// How often the receiver woke a sleeping sender above the low-water mark, and in all, while it read half a window.
fn wakes_while_draining() -> (u64, u64) {
    let (mut sender, mut receiver) = ring(4096);
    sender.write_all(&[0; 4096]).expect("room");
    let writer = thread::spawn(move || sender.write_all(&[1]).map(|()| sender));
    let region = hostile(&receiver);
    while region.words().sender.0.status.load(Ordering::SeqCst) == AWAKE {
        thread::yield_now();
    }
    for _ in 0..2047 {
        receiver.read_exact(&mut [0]).expect("there");
    }
    let above = receiver.counters().wakes;
    receiver.read_exact(&mut [0; 2049]).expect("there");
    writer.join().expect("writer").expect("the receiver lives");
    (above, receiver.counters().wakes)
}

#[test]
fn a_sleeping_sender_is_woken_once_and_at_low_water() {
    // On a busy machine the sender may look by itself, after 100 ms; then no sleeper is left to wake, and the test
    // tries again.
    let wakes = (0..20).map(|_| wakes_while_draining()).find(|(_, all)| *all > 0);
    assert_eq!(wakes, Some((0, 1)));
}

/// The receiver takes little and then waits for something else: the sender must not wait for low water for ever.
#[test]
fn a_sender_above_low_water_uses_the_room_there_is() {
    let (mut sender, mut receiver) = ring(4096);
    sender.write_all(&[0; 4096]).expect("room");
    let writer = thread::spawn(move || sender.write_all(&[1; 4]).map(|()| sender));
    receiver.read_exact(&mut [0; 4]).expect("there");
    writer.join().expect("writer").expect("the receiver lives");
}

#[test]
fn a_dead_owner_ends_the_stream() {
    let (mut sender, mut receiver) = ring(64);
    receiver.attach().expect("attach");
    let region = hostile(&sender);
    // A process that ended before we looked: our own number with another start.
    let own = ProcessId::own();
    region.words().sender.0.owner.store(own.place(), Ordering::SeqCst);
    region.words().sender.0.birth.store(own.birth() ^ 1 << 32, Ordering::SeqCst);
    let start = Instant::now();
    assert_eq!(receiver.read_some(&mut [0]).expect("the end"), 0);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(matches!(sender.attach(), Err(Error::InUse(_))));
}

/// What one word of garbage does to each end. The words are written by a peer that breaks the protocol.
fn spoil(write: impl Fn(&Words), act: impl Fn(&mut Sender, &mut Receiver) -> Result<usize, Error>) -> Error {
    let (mut sender, mut receiver) = ring(64);
    sender.write_all(&[1; 16]).expect("room");
    receiver.read_exact(&mut [0; 8]).expect("there");
    let region = hostile(&sender);
    write(region.words());
    let error = act(&mut sender, &mut receiver).expect_err("noticed");
    let again = act(&mut sender, &mut receiver).expect_err("the stream is dead");
    assert_eq!(error.to_string(), again.to_string());
    error
}

#[test]
fn hostile_indices_are_corrupt() {
    for tail in [0, 7, 15, 8 + 65, 1 << 40, u64::MAX, 1 << 63] {
        let error =
            spoil(|words| words.tail.0.store(tail, Ordering::SeqCst), |_, receiver| receiver.try_read(&mut [0; 32]));
        assert!(matches!(error, Error::Corrupt(_)), "tail {tail}: {error}");
    }
    for head in [17, 1 << 40, u64::MAX, 1 << 63] {
        let error = spoil(|words| words.head.0.store(head, Ordering::SeqCst), |sender, _| sender.try_write(&[0; 64]));
        assert!(matches!(error, Error::Corrupt(_)), "head {head}: {error}");
    }
}

#[test]
fn hostile_status_is_corrupt() {
    for status in [CLOSED + 1, u32::MAX] {
        let error = spoil(
            |words| words.receiver.0.status.store(status, Ordering::SeqCst),
            |sender, _| sender.try_write(&[0; 1]),
        );
        assert!(matches!(error, Error::Corrupt(_)), "{error}");
        let error = spoil(
            |words| words.sender.0.status.store(status, Ordering::SeqCst),
            |_, receiver| receiver.try_read(&mut [0; 1]),
        );
        assert!(matches!(error, Error::Corrupt(_)), "{error}");
    }
}

/// A thread writes garbage to all words while both ends run; each end must finish by itself: an error, the end of the
/// stream, or its share of the work.
#[test]
fn garbage_on_every_word_never_hangs_or_crashes() {
    for seed in 1..=40u64 {
        let (mut sender, mut receiver) = ring(256);
        let region = hostile(&sender);
        let writer = thread::spawn(move || (0..20_000).try_for_each(|_| sender.write_all(&[1; 20])).is_err());
        let reader = thread::spawn(move || {
            let mut buffer = [0; 50];
            (0..20_000).map(|_| receiver.read_some(&mut buffer)).take_while(|read| matches!(read, Ok(1..))).count()
        });
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        while !(writer.is_finished() && reader.is_finished()) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let words = region.words();
            match random % 6 {
                0 => words.tail.0.store(random >> (random & 63), Ordering::Relaxed),
                1 => words.head.0.store(random >> (random & 63), Ordering::Relaxed),
                2 => words.sender.0.status.store((random >> 8) as u32 & 3, Ordering::Relaxed),
                3 => words.receiver.0.status.store((random >> 8) as u32 & 3, Ordering::Relaxed),
                4 => words.sender.0.cpu.store((random >> 8) as u32, Ordering::Relaxed),
                _ => words.receiver.0.owner.store(random, Ordering::Relaxed),
            }
            thread::yield_now();
        }
        writer.join().expect("the writer does not panic");
        reader.join().expect("the reader does not panic");
    }
}

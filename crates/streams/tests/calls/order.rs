//! The order in which a reader finds messages, with a writer on another thread: earlier messages are read before later
//! ones, unless the later one is of a higher band or priority.
//!
//! The critical moment of a reader is some ten nanoseconds long, so this is a sample; `HEADWATER_ORDER_MS` makes
//! it longer. The unit test of `head::front` interrupts a reader in that very moment.

use crate::common;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater_streams::{ControlMode, Errno, MessageFilter, Priority, ReadOptions, Stream, pipe};

/// Sends a message ahead and a plain one after it, again and again, as long as the reader takes them; `round` is read by
/// the reader, `taken` by us.
fn send(near: &Stream, high: bool, taken: &AtomicU64, stop: &AtomicBool) {
    for round in 1u64.. {
        let bytes = round.to_le_bytes();
        if high {
            near.putpmsg(Some(&bytes), None, Priority::High).expect("always");
        } else {
            near.putpmsg(Some(&bytes), None, 1).expect("room");
        }
        near.write(&bytes).expect("room");
        while taken.load(Ordering::Acquire) < round {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            std::thread::yield_now();
        }
        // The reader looks again and again while nothing is there, and so it is often preempted between two looks.
        (0..round % 16 * 50).for_each(|_| std::hint::spin_loop());
    }
}

/// Runs a reader that returns for each message whether it is plain, against that writer.
fn read_in_order(high: bool, mut next: impl FnMut(&Stream) -> Option<(bool, u64)>) {
    let _alone = common::alone();
    let (near, mut far) = pipe().expect("pipe");
    let (taken, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    far.set_nonblocking(true).expect("arm");
    std::thread::scope(|scope| {
        scope.spawn(|| send(&near, high, &taken, &stop));
        let end = Instant::now() + Duration::from_millis(common::setting("HEADWATER_ORDER_MS", 200));
        let (mut ahead, mut round) = (0, 0);
        while Instant::now() < end {
            for _ in 0..1000 {
                match next(&mut far) {
                    Some((false, number)) => ahead = number,
                    Some((true, number)) => {
                        round = number;
                        if ahead != round {
                            stop.store(true, Ordering::Relaxed);
                        }
                        assert_eq!(ahead, round, "plain data came before the message that was sent before it");
                        taken.store(round, Ordering::Release);
                    }
                    None => {}
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(round > 0, "nothing was read");
        println!("{round} rounds");
    });
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// Peeks until there is a message, which makes no call of the kernel, and then gets it.
fn get(far: &Stream) -> Option<(bool, u64)> {
    let (mut control, mut data) = ([0; 8], [0; 8]);
    far.peek(None, None, MessageFilter::Any).expect("fine")?;
    let got = far.getmsg(Some(&mut control), Some(&mut data)).expect("there");
    match got.control {
        Some(_) => Some((false, number(&control))),
        None => Some((true, number(&data))),
    }
}

/// Reads; a control part as data. Messages sent ahead and plain ones are distinguished by their turn.
fn reader() -> impl FnMut(&Stream) -> Option<(bool, u64)> {
    let mut seen = 0;
    let mut options = Some(ReadOptions::new().control(ControlMode::AsData));
    move |far| {
        if let Some(options) = options.take() {
            far.settings().set_read_options(options).expect("fine");
        }
        let mut bytes = [0; 8];
        match far.read(&mut bytes) {
            Ok(count) => {
                assert_eq!(count, 8);
                seen += 1;
                Some((seen % 2 == 0, number(&bytes)))
            }
            Err(error) => {
                assert_eq!(error.errno(), Errno::Again);
                None
            }
        }
    }
}

#[test]
fn plain_data_never_overtakes_a_band_that_was_sent_before_it() {
    read_in_order(false, get);
}

#[test]
fn a_read_never_finds_plain_data_before_a_band_that_was_sent_before_it() {
    read_in_order(false, reader());
}

#[test]
fn plain_data_never_overtakes_high_priority_that_was_sent_before_it() {
    read_in_order(true, get);
}

//! Every order in which two ends of a small ring can run, with the orderings of the language and not of one processor.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p headwater-ring --release loom`

use loom::thread;

use crate::{Error, Wait, pair};

/// Runs the model over all orders with at most `preemptions` forced switches (all published bugs of such algorithms
/// needed two).
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// The stream is longer than the window, so both ends meet full and empty, sleep and wake; one lost wake-up is a
/// deadlock, one early publication a race or a wrong byte.
#[test]
fn loom_bytes_arrive_in_order_and_no_wake_up_is_lost() {
    explore(2, || {
        let (mut sender, mut receiver) = pair(2, Wait::Sleep).expect("region");
        let writer = thread::spawn(move || {
            for byte in 1..=3u8 {
                sender.write_all(&[byte]).expect("the receiver lives");
            }
        });
        let mut read = [0; 3];
        for byte in &mut read {
            receiver.read_exact(std::slice::from_mut(byte)).expect("the sender writes three");
        }
        assert_eq!(read, [1, 2, 3]);
        assert_eq!(receiver.read_some(&mut [0]).expect("the end"), 0);
        writer.join().expect("writer");
    });
}

/// A long message goes through in pieces and over the end of the window.
#[test]
fn loom_a_message_longer_than_the_window_passes() {
    explore(2, || {
        let (mut sender, mut receiver) = pair(2, Wait::Sleep).expect("region");
        let writer = thread::spawn(move || sender.write_all(&[1, 2, 3]).expect("the receiver lives"));
        let mut read = [0; 3];
        receiver.read_exact(&mut read).expect("three bytes");
        assert_eq!(read, [1, 2, 3]);
        writer.join().expect("writer");
    });
}

/// A sender that meets a full ring while the receiver leaves is woken and told.
#[test]
fn loom_a_closing_receiver_frees_a_waiting_sender() {
    explore(3, || {
        let (mut sender, mut receiver) = pair(2, Wait::Sleep).expect("region");
        let reader = thread::spawn(move || {
            receiver.attach().expect("nobody else does");
            receiver.try_read(&mut [0]).map(drop)
        });
        let outcome = (0..5).try_for_each(|_| sender.write_all(&[7]));
        assert!(matches!(outcome, Err(Error::Closed)), "{outcome:?}");
        drop(reader.join());
    });
}

/// What was published before the sender closed is read before the end is seen.
#[test]
fn loom_the_end_comes_after_the_last_byte() {
    explore(3, || {
        let (mut sender, mut receiver) = pair(4, Wait::Sleep).expect("region");
        let writer = thread::spawn(move || {
            sender.write_all(&[1]).expect("the receiver lives");
            sender.write_all(&[2]).expect("the receiver lives");
        });
        let mut read = Vec::new();
        let mut byte = [0];
        while receiver.read_some(&mut byte).expect("no error") == 1 {
            read.push(byte[0]);
        }
        assert_eq!(read, [1, 2]);
        writer.join().expect("writer");
    });
}

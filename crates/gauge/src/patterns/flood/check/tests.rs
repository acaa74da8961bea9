//! Loss must be exact, and nothing but loss may pass.

use super::*;

const SIZES: [usize; 8] = [1, 2, 7, 8, 15, 64, 4096, 10_000];

fn message(size: usize, sequence: u64) -> Vec<u8> {
    Payload::new(size).message(sequence).to_vec()
}

#[test]
fn what_is_missing_is_exactly_what_was_lost() {
    for size in SIZES {
        for full_check in [false, true] {
            let mut check = LossyCheck::new(size, 1000..4000, full_check);
            let survives = |sequence: &u64| sequence % 7 != 3 && !(1500..2600).contains(sequence);
            for sequence in (1000..4000).filter(survives) {
                check.push(&message(size, sequence)).unwrap_or_else(|error| panic!("size {size}: {error}"));
            }
            assert_eq!(check.received(), (1000..4000).filter(survives).count() as u64, "size {size}");
        }
    }
}

#[test]
fn a_message_that_comes_twice_does_not_pass() {
    for size in SIZES.into_iter().filter(|&size| size >= 7) {
        let mut check = LossyCheck::new(size, 0..100, false);
        check.push(&message(size, 5)).expect("the first time");
        assert!(check.push(&message(size, 5)).is_err(), "size {size}");
        assert_eq!(check.received(), 1);
    }
}

#[test]
fn a_message_out_of_order_does_not_pass() {
    for size in SIZES.into_iter().filter(|&size| size >= 7) {
        let mut check = LossyCheck::new(size, 0..100, false);
        check.push(&message(size, 9)).expect("in order");
        assert!(check.push(&message(size, 8)).is_err(), "size {size}");
    }
}

#[test]
fn a_message_beyond_the_round_does_not_pass() {
    for size in SIZES.into_iter().filter(|&size| size >= 7) {
        assert!(LossyCheck::new(size, 0..100, false).push(&message(size, 100)).is_err(), "size {size}");
    }
}

#[test]
fn a_message_of_an_earlier_round_is_not_counted() {
    for size in SIZES.into_iter().filter(|&size| size >= 8) {
        let mut check = LossyCheck::new(size, 50..100, false);
        check.push(&message(size, 49)).expect("passed over");
        assert_eq!(check.received(), 0, "size {size}");
    }
}

#[test]
fn damage_and_other_lengths_do_not_pass() {
    for size in SIZES.into_iter().filter(|&size| size >= 7) {
        let mut damaged = message(size, 3);
        damaged[size - 1] ^= 0x40;
        assert!(LossyCheck::new(size, 0..100, true).push(&damaged).is_err(), "size {size}");
        let whole = message(size, 3);
        assert!(LossyCheck::new(size, 0..100, false).push(&whole[..size - 1]).is_err(), "size {size}");
    }
}

#[test]
fn more_received_than_sent_is_an_error() {
    let mut check = LossyCheck::new(8, 0..10, false);
    for sequence in 0..3 {
        check.push(&message(8, sequence)).expect("in order");
    }
    assert!(check.finish(3).is_ok());
    assert!(check.finish(2).is_err());
}

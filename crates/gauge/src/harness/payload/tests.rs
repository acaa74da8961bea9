//! Order, loss, duplication and damage must all be seen, at every size.

use super::*;

const SIZES: [usize; 14] = [1, 2, 7, 8, 9, 15, 16, 17, 64, 4096, 4104, 4112, 10_000, 65_536];

#[test]
fn a_right_message_passes_and_its_neighbours_do_not() {
    for size in SIZES {
        let mut sender = Payload::new(size);
        let mut receiver = Payload::new(size);
        for sequence in [0, 1, 2, 255, 256, 1 << 40] {
            receiver.poison();
            receiver.space().copy_from_slice(sender.message(sequence));
            receiver.verify(sequence).expect("the same message");
            receiver.verify_all(sequence).expect("the same message, every byte");
            assert!(receiver.verify(sequence + 1).is_err(), "size {size}: the next message");
            assert!(receiver.verify_all(sequence + 1).is_err(), "size {size}: the next message");
        }
    }
}

#[test]
fn the_full_check_sees_every_damaged_byte() {
    for size in SIZES {
        let message = Payload::new(size).message(7).to_vec();
        let mut receiver = Payload::new(size);
        for damaged in 0..size {
            receiver.space().copy_from_slice(&message);
            receiver.space()[damaged] ^= 1;
            assert!(receiver.verify_all(7).is_err(), "size {size}, byte {damaged}");
            if size > 8 * STRIDE && damaged > 64 {
                break;
            }
        }
    }
}

#[test]
fn the_full_check_sees_a_message_that_was_not_delivered_whole() {
    for size in SIZES.into_iter().filter(|&size| size > 1) {
        let message = Payload::new(size).message(7).to_vec();
        let mut receiver = Payload::new(size);
        receiver.poison();
        receiver.space()[..size - 1].copy_from_slice(&message[..size - 1]);
        assert!(receiver.verify_all(7).is_err(), "size {size}");
    }
}

#[test]
fn a_stream_passes_however_it_is_cut() {
    for size in SIZES {
        let mut sender = Payload::new(size);
        let stream: Vec<u8> = (5..45).flat_map(|sequence| sender.message(sequence).to_vec()).collect();
        for piece in [1, 3, 8, 63, 64, 65, 4095, 4096, 9_000, 65_536] {
            let mut check = StreamCheck::new(size, 5);
            for chunk in stream.chunks(piece) {
                check.push(chunk).unwrap_or_else(|error| panic!("size {size}, pieces of {piece}: {error}"));
            }
            assert_eq!((check.sequence(), check.offset()), (45, 0));
        }
    }
}

#[test]
fn a_stream_with_a_lost_message_does_not_pass() {
    for size in SIZES {
        let mut sender = Payload::new(size);
        let stream: Vec<u8> = [0, 1, 3, 4, 5].iter().flat_map(|&sequence| sender.message(sequence).to_vec()).collect();
        for piece in [1, 64, 4096, 65_536] {
            let mut check = StreamCheck::new(size, 0);
            let all = stream.chunks(piece).try_for_each(|chunk| check.push(chunk));
            assert!(all.is_err(), "size {size}, pieces of {piece}");
        }
    }
}

#[test]
fn a_stamp_tells_its_message() {
    let numbers = (0..1000).chain([u64::MAX, u64::MAX - 1, 1 << 31, 1 << 32, 1 << 63, 0x0123_4567_89AB_CDEF]);
    for sequence in numbers {
        assert_eq!(sequence_of(stamp(sequence)), sequence);
    }
}

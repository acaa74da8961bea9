//! Greedy reads take exactly the round, see every fault, and mark batches that add up.

use super::*;
use crate::patterns::testing::{open, round_in_threads};
use crate::transports::pipe::Pipe;

#[test]
fn a_round_ends_with_its_last_byte_and_marks_every_batch() {
    for size in [1, 7, 3000, 70_000] {
        let mut ends = open::<StreamFull, Pipe>(size);
        let mut round = Round { batch: 5, batches: 40, full_check: true, ..Round::default() };
        for full_check in [true, false] {
            round.full_check = full_check;
            let [received, sent] = round_in_threads::<StreamFull, _>(size, &mut ends, [&round, &round]);
            sent.expect("sent");
            let report = received.unwrap_or_else(|error| panic!("size {size}, full check {full_check}: {error}"));
            assert_eq!(report.stamps_ns.len(), 40, "size {size}");
            assert!(report.stamps_ns.is_sorted(), "size {size}: {:?}", report.stamps_ns);
            assert!(report.stamps_ns[39] <= report.end_ns, "size {size}");
            round.first += round.messages();
        }
        // The sender's side is closed, so that a byte that was left would show before the end of file.
        let (sender, mut receiver) = ends;
        drop(sender);
        assert_eq!(receiver.receive_some(&mut [0; 16]).expect("end of file"), 0, "size {size}");
    }
}

#[test]
fn a_message_that_is_not_the_expected_one_is_seen() {
    for full_check in [true, false] {
        let mut ends = open::<StreamFull, Pipe>(24);
        let expected = Round { batch: 10, batches: 1, full_check, ..Round::default() };
        let sent = Round { first: 1, ..expected.clone() };
        let [received, _] = round_in_threads::<StreamFull, _>(24, &mut ends, [&expected, &sent]);
        assert_eq!(received.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
    }
}

#[test]
fn a_read_over_several_ends_of_batches_leaves_none_empty() {
    let mut marks = BatchEnds::new(1_000, &Round { first: 100, batch: 10, batches: 5, ..Round::default() });
    marks.pass(1_200, 112);
    marks.pass(2_700, 142);
    marks.pass(3_100, 150);
    assert_eq!(marks.stamps_ns, [1_166, 1_600, 2_100, 2_600, 3_100]);
}

#[test]
fn only_byte_streams_are_accepted() {
    use crate::transports::{Transport, null::Null};
    StreamFull::accepts(&Pipe::INFO, 1).expect("a pipe is a byte stream");
    StreamFull::accepts(&Null::INFO, 1).expect_err("null gives one message per read");
}

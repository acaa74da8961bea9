//! Each repetition is timed from the sender's first message to the receiver's last.

use super::*;
use crate::patterns::testing::{open, round_in_threads};
use crate::transports::pipe::Pipe;

#[test]
fn every_repetition_is_timed_from_first_send_to_last_receive() {
    let mut ends = open::<Matrix, Pipe>(100);
    for full_check in [true, false] {
        let round = Round { batch: 2_000, batches: 5, full_check, ..Round::default() };
        let [received, sent] = round_in_threads::<Matrix, _>(100, &mut ends, [&round, &round]);
        let (starts_ns, ends_ns) = (sent.expect("sent").stamps_ns, received.expect("received").stamps_ns);
        assert_eq!((starts_ns.len(), ends_ns.len()), (5, 5));
        for (start_ns, end_ns) in starts_ns.iter().zip(&ends_ns) {
            assert!(start_ns < end_ns);
        }
        for (end_ns, next_start_ns) in ends_ns.iter().zip(&starts_ns[1..]) {
            assert!(end_ns < next_start_ns, "a repetition starts after the last one has ended at both sides");
        }
    }
}

#[test]
fn a_message_that_is_not_the_expected_one_is_seen() {
    let mut ends = open::<Matrix, Pipe>(100);
    let expected = Round { batch: 10, batches: 1, ..Round::default() };
    let sent = Round { first: 1, ..expected.clone() };
    let [received, _] = round_in_threads::<Matrix, _>(100, &mut ends, [&expected, &sent]);
    assert_eq!(received.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
}

#[test]
fn times_are_taken_pair_by_pair() {
    assert_eq!(between(&[10, 20, 30], &[15, 29, 31]), [5, 9, 1]);
}

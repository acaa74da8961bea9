//! Messages keep their pace, and each is timed.

use super::*;
use crate::patterns::testing::{open, round_in_threads};
use crate::transports::pipe::Pipe;

#[test]
fn no_message_is_sent_before_it_is_due() {
    let mut ends = open::<Paced<1_000>, Pipe>(64);
    let round = Round { batch: 20, batches: 1, full_check: true, ..Round::default() };
    let [received, sent] = round_in_threads::<Paced<1_000>, _>(64, &mut ends, [&round, &round]);
    let (sent, received) = (sent.expect("sent"), received.expect("received"));
    for (number, &sent_ns) in (1..).zip(&sent.stamps_ns) {
        assert!(sent_ns >= sent.start_ns + number * 1_000_000, "message {number}");
    }
    assert_eq!(received.stamps_ns.len(), 20);
    assert!(between(&sent.stamps_ns, &received.stamps_ns).iter().all(|&delay_ns| delay_ns > 0));
}

#[test]
fn delays_become_medians_of_groups_the_last_of_which_may_be_shorter() {
    assert_eq!(medians(vec![3, 1, 2, 9, 7, 8, 5], 3), [2.0, 8.0, 5.0]);
}

#[test]
fn a_launch_has_the_messages_that_are_due_in_its_time_and_never_none() {
    assert_eq!(Paced::<100>::messages(0.25, 2), 25);
    assert_eq!(Paced::<100>::messages(0.001, 2), 2);
    assert_eq!(Paced::<10_000>::messages(0.25, 2), 2500);
}

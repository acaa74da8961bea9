//! The receiver sleeps before every message, and groups keep their median.

use super::*;
use crate::patterns::testing::{open, round_in_threads};
use crate::transports::Transport;
use crate::transports::null::Null;
use crate::transports::pipe::Pipe;
use crate::transports::ring::RingSpin;

#[test]
fn the_receiver_has_waited_for_a_pause_before_every_message() {
    let mut ends = open::<Wake, Pipe>(64);
    let round = Round { batch: GROUP, batches: 2, full_check: true, ..Round::default() };
    let [received, sent] = round_in_threads::<Wake, _>(64, &mut ends, [&round, &round]);
    let (sends_ns, receives_ns) = (sent.expect("sent").stamps_ns, received.expect("received").stamps_ns);
    assert_eq!((sends_ns.len(), receives_ns.len()), (22, 22));
    assert!(between(&sends_ns, &receives_ns).iter().all(|&delay_ns| delay_ns > 0));
    for (last_received_ns, sent_ns) in receives_ns.iter().zip(&sends_ns[1..]) {
        assert!(sent_ns - last_received_ns >= PAUSE.as_nanos() as u64);
    }
}

#[test]
fn a_group_gives_its_median_however_its_worst_looks() {
    let mut delays_ns: Vec<u64> = (1..=11).rev().chain([7; 10]).chain([1_000_000]).collect();
    assert_eq!(medians(&mut delays_ns), [6.0, 7.0]);
}

#[test]
fn there_is_always_a_group() {
    assert_eq!(groups(0.0), 1);
    assert_eq!(groups(0.25), 41);
}

#[test]
fn only_transports_whose_receiver_sleeps_are_accepted() {
    Wake::accepts(&Pipe::INFO, 1).expect("a pipe's reader sleeps");
    Wake::accepts(&Null::INFO, 1).expect_err("no process sleeps");
    Wake::accepts(&RingSpin::INFO, 1).expect_err("it spins");
}

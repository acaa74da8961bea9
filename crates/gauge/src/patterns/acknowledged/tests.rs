//! Every message is acknowledged, by its own first byte, over byte streams and datagrams.

use super::*;
use crate::patterns::testing::{open, round_in_threads};
use crate::transports::udp::plain::Udp;
use crate::transports::unix::UnixStream;
use crate::transports::{Transport, streams::options::HeldWrites};

fn goes<T: Transport>()
where
    T::End: Send,
{
    for size in [1, 7, 3000, 60_000] {
        let mut ends = open::<Acknowledged, T>(size);
        let mut round = Round { batch: 5, batches: 40, full_check: true, ..Round::default() };
        for full_check in [true, false] {
            round.full_check = full_check;
            let [received, sent] = round_in_threads::<Acknowledged, _>(size, &mut ends, [&round, &round]);
            received.expect("received");
            let report = sent.unwrap_or_else(|error| panic!("{} {size}: {error}", T::INFO.name));
            assert_eq!(report.stamps_ns.len(), 40, "size {size}");
            assert!(report.stamps_ns.is_sorted() && report.stamps_ns[39] <= report.end_ns, "size {size}");
            round.first += round.messages();
        }
    }
}

#[test]
fn every_message_is_acknowledged_over_streams_and_datagrams() {
    goes::<UnixStream>();
    goes::<Udp>();
}

#[test]
fn an_acknowledgement_of_another_message_is_seen() {
    let mut ends = open::<Acknowledged, UnixStream>(64);
    let round = Round { batch: 1, batches: 1, ..Round::default() };
    let wrong = crate::harness::payload::stamp(7).to_le_bytes()[0];
    ends.1.send(&[wrong]).expect("room");
    let [_, sent] = round_in_threads::<Acknowledged, _>(64, &mut ends, [&round, &round]);
    assert_eq!(sent.map_err(|error| error.kind()).expect_err("not its own"), io::ErrorKind::InvalidData);
}

#[test]
fn a_transport_that_holds_messages_back_is_refused() {
    Acknowledged::accepts(&Udp::INFO, 1).expect("a lossy transport is what this is for");
    Acknowledged::accepts(&Udp::INFO, 65_508).expect_err("longer than a datagram");
    Acknowledged::accepts(&HeldWrites::INFO, 1).expect_err("nothing comes after the acknowledgement");
}

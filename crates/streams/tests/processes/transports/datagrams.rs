//! Datagrams of `ticlts`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_streams::Errno;
use headwater_streams::tpi::{Primitive, PrimitiveNumber, State, TransportError};

use super::{PATIENCE, ask, ask_with, bind, bound, is, next, open, refused, state, told};
use crate::common::{in_own_process, private_directory, within};

fn send(from: &headwater_streams::Stream, destination: &[u8], data: &[u8]) {
    ask_with(from, Primitive::UnitdataReq { destination, options: b"" }, Some(data));
}

#[test]
fn a_datagram_goes_to_the_endpoint_of_its_address_and_says_where_it_is_from() {
    in_own_process!();
    within(PATIENCE, "datagrams between three endpoints".to_owned());
    let directory = private_directory();
    let ends = [&b"one"[..], b"two", b"three"].map(|address| (bound(directory.path(), "ticlts", address, 0), address));
    for (from, source) in &ends {
        for (_, destination) in &ends {
            send(from, destination, &[*source, b">", *destination].concat());
        }
    }
    for (to, destination) in &ends {
        for (_, source) in &ends {
            let datagram = next(to);
            is(&datagram, Primitive::UnitdataInd { source, options: b"" });
            assert_eq!(datagram.data(), Some(&[*source, b">", *destination].concat()[..]));
        }
    }
}

#[test]
fn an_address_is_one_endpoint_s_until_it_gives_it_up_or_ends() {
    in_own_process!();
    within(PATIENCE, "addresses are taken and given up".to_owned());
    let directory = private_directory();
    let (one, two) = (bound(directory.path(), "ticlts", b"name", 0), open(directory.path(), "ticlts"));
    let bind_two = || ask(&two, Primitive::BindReq { address: b"name", waiting: 0 });
    bind_two();
    refused(&two, PrimitiveNumber::BindReq, TransportError::AddressBusy);
    assert_eq!(state(&two), State::Unbound);
    // Another transport has addresses of its own.
    drop(bound(directory.path(), "ticots", b"name", 0));
    ask(&one, Primitive::UnbindReq);
    told(&one, Primitive::OkAck { of: PrimitiveNumber::UnbindReq });
    bind(&two, b"name", 0);
    ask(&one, Primitive::BindReq { address: b"name", waiting: 0 });
    refused(&one, PrimitiveNumber::BindReq, TransportError::AddressBusy);
    drop(two);
    bind(&one, b"name", 0);
    // One that the provider chooses.
    let (three, four) = (open(directory.path(), "ticlts"), open(directory.path(), "ticlts"));
    let chosen = [&three, &four].map(|endpoint| {
        ask(endpoint, Primitive::BindReq { address: b"", waiting: 3 });
        let answer = next(endpoint);
        match Primitive::decode(answer.control().expect("an answer")) {
            Ok(Primitive::BindAck { address, waiting: 0 }) => address.to_vec(),
            other => panic!("{other:?}"),
        }
    });
    assert_ne!(chosen[0], chosen[1]);
    send(&three, &chosen[1], b"x");
    is(&next(&four), Primitive::UnitdataInd { source: &chosen[0], options: b"" });
    ask(&four, Primitive::AddrReq);
    told(&four, Primitive::AddrAck { local: &chosen[1], remote: b"" });
}

#[test]
fn a_datagram_to_no_endpoint_or_too_long_comes_back_as_an_error() {
    in_own_process!();
    within(PATIENCE, "datagrams that cannot be sent".to_owned());
    let directory = private_directory();
    let one = bound(directory.path(), "ticlts", b"one", 0);
    let two = bound(directory.path(), "ticlts", b"two", 0);
    let error = |destination: &[u8], errno: i32| {
        told(&one, Primitive::UderrorInd { destination, options: b"", error: errno as u32 });
    };
    send(&one, b"nowhere", b"x");
    error(b"nowhere", 111);
    send(&one, b"", b"x");
    error(b"", 99);
    ask_with(&one, Primitive::UnitdataReq { destination: b"two", options: b"0123" }, Some(b"x"));
    told(&one, Primitive::UderrorInd { destination: b"two", options: b"0123", error: Errno::Inval.number() as u32 });
    assert_eq!(
        one.putmsg(Some(&Primitive::UnitdataReq { destination: b"two", options: b"" }.encode()), Some(&[0; 70_000]))
            .map_err(|error| error.errno()),
        Err(Errno::Range)
    );
    send(&one, b"two", b"arrives");
    assert_eq!(next(&two).data(), Some(&b"arrives"[..]));
    // It has ended, and another has its address.
    drop(two);
    send(&one, b"two", b"x");
    error(b"two", 111);
    let two = bound(directory.path(), "ticlts", b"two", 0);
    send(&one, b"two", b"again");
    assert_eq!(next(&two).data(), Some(&b"again"[..]));
    assert_eq!(state(&one), State::Idle);
}

#[test]
fn a_full_receiver_stops_its_senders_and_nothing_is_lost() {
    in_own_process!();
    within(PATIENCE, "three senders and a slow receiver".to_owned());
    const EACH: u32 = 3000;
    let directory = private_directory();
    let receiver = bound(directory.path(), "ticlts", b"receiver", 0);
    let waited = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for sender in 0u8..3 {
            let (directory, waited) = (directory.path(), &waited);
            scope.spawn(move || {
                let endpoint = bound(directory, "ticlts", &[b's', sender], 0);
                for number in 0..EACH {
                    let start = std::time::Instant::now();
                    send(&endpoint, b"receiver", &[&number.to_le_bytes()[..], &[sender; 60]].concat());
                    waited.fetch_or(start.elapsed() > Duration::from_millis(10), Ordering::Relaxed);
                }
                // Until all has been read: what waits in the endpoint is gone with it.
                endpoint.receive().expect("no error");
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        let mut expected = [0; 3];
        for _ in 0..3 * EACH {
            let datagram = next(&receiver);
            let data = datagram.data().expect("data");
            let sender = data[4] as usize;
            assert_eq!(data[..4], u32::to_le_bytes(expected[sender]), "of {sender}");
            is(&datagram, Primitive::UnitdataInd { source: &[b's', sender as u8], options: b"" });
            expected[sender] += 1;
        }
        assert_eq!(expected, [EACH; 3]);
        for sender in 0u8..3 {
            send(&receiver, &[b's', sender], b"end");
        }
    });
    assert!(waited.into_inner(), "no sender has waited");
}

#[test]
fn a_full_receiver_stops_the_datagrams_of_an_endpoint_to_all_others_and_no_other_endpoint() {
    in_own_process!();
    within(PATIENCE, "datagrams behind one to a full receiver".to_owned());
    let directory = private_directory();
    let [full, third, sender, other] =
        [&b"full"[..], b"third", b"sender", b"other"].map(|address| bound(directory.path(), "ticlts", address, 0));
    third.set_nonblocking(true).expect("set");
    // From here on the short way leads to both.
    for _ in 0..3 {
        send(&sender, b"third", b"before");
        send(&sender, b"full", &[7; 1000]);
        assert_eq!(next(&third).data(), Some(&b"before"[..]));
    }
    sender.set_nonblocking(true).expect("set");
    // What does not take the short way any more waits in the endpoint.
    let (mut sent, mut waiting) = (3, 0);
    while waiting < 3 {
        let before = sender.counters().short_sends;
        send(&sender, b"full", &[7; 1000]);
        sent += 1;
        waiting = if sender.counters().short_sends > before { 0 } else { waiting + 1 };
    }
    send(&sender, b"third", b"behind");
    send(&other, b"third", b"beside");
    assert_eq!(next(&third).data(), Some(&b"beside"[..]));
    assert_eq!(third.receive().expect_err("it waits").errno(), Errno::Again);
    // Until the endpoint takes no more, for whomever.
    let request = |destination| Primitive::UnitdataReq { destination, options: b"" }.encode();
    while sender.putmsg(Some(&request(b"full")), Some(&[7; 1000])).is_ok() {
        sent += 1;
    }
    let answer = sender.putmsg(Some(&request(b"third")), Some(b"no room")).expect_err("full");
    assert_eq!(answer.errno(), Errno::Again);
    for _ in 0..sent {
        assert_eq!(next(&full).data(), Some(&[7; 1000][..]));
    }
    third.set_nonblocking(false).expect("set");
    assert_eq!(next(&third).data(), Some(&b"behind"[..]));
}

#[test]
fn the_end_of_a_full_receiver_is_told_to_its_senders() {
    in_own_process!();
    within(PATIENCE, "a receiver ends while a sender waits".to_owned());
    let directory = private_directory();
    let receiver = bound(directory.path(), "ticlts", b"receiver", 0);
    let sender = bound(directory.path(), "ticlts", b"sender", 0);
    sender.set_nonblocking(true).expect("set");
    let request = Primitive::UnitdataReq { destination: b"receiver", options: b"" }.encode();
    while sender.putmsg(Some(&request), Some(&[7; 1000])).is_ok() {}
    sender.set_nonblocking(false).expect("set");
    drop(receiver);
    told(&sender, Primitive::UderrorInd { destination: b"receiver", options: b"", error: 111 });
}

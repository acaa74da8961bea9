//! Datagrams that are not delivered while the program fetches no T_UDERR: the transport keeps a bounded number of errors, and none is lost.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use headwater_streams::tpi::InternetAddress;
use headwater_xti::{Binding, Endpoint, Look, TransportError as E};

use super::{directory, event, open};

/// More datagrams than any stream can store.
const MANY: usize = 10_000;

/// An endpoint of each transport of datagrams, and an address to which it can send nothing.
fn endpoints(place: &std::path::Path) -> Vec<(&'static str, Endpoint, Vec<u8>)> {
    let address = |address: SocketAddr| InternetAddress::from(address).bytes().to_vec();
    let local = address((Ipv4Addr::LOCALHOST, 0).into());
    // An IPv4 socket cannot send to an IPv6 address.
    let other_family = address((Ipv6Addr::LOCALHOST, 9).into());
    let transports = [
        ("ticlts", b"me".to_vec(), b"nobody".to_vec()),
        ("udp", local.clone(), other_family.clone()),
        ("inet-udp", local, other_family),
    ];
    let made = transports.into_iter().map(|(name, own, absent)| {
        let endpoint = open(place, name);
        endpoint.bind(&Binding::to(&own)).expect("a free address");
        (name, endpoint, absent)
    });
    made.collect()
}

/// Sends datagrams until one is refused. Returns the number of datagrams that were sent, and the error.
fn flood(endpoint: &Endpoint, absent: &[u8]) -> (usize, E) {
    for sent in 0..MANY {
        if let Err(error) = endpoint.send_to(absent, &[], b"x") {
            return (sent, error.t_errno);
        }
    }
    panic!("{MANY} datagrams were sent to no address");
}

#[test]
fn sender_gets_look_until_errors_are_fetched() {
    let place = directory();
    for (name, endpoint, absent) in endpoints(place.path()) {
        for nonblocking in [false, true] {
            endpoint.stream().set_nonblocking(nonblocking).expect("it can");
            let (sent, refusal) = flood(&endpoint, &absent);
            assert_eq!(refusal, E::Look, "{name}, {nonblocking}: after {sent}");
            assert!(sent > 100, "{name}: {sent}");
            assert_eq!(endpoint.look(), Ok(Some(Look::DatagramError)), "{name}");
            for at in 0..sent {
                event(&endpoint, Look::DatagramError);
                let error =
                    endpoint.receive_error().unwrap_or_else(|error| panic!("{name}: error {at} of {sent}: {error}"));
                assert_eq!(error.address, absent, "{name}");
            }
            assert_eq!(endpoint.look(), Ok(None), "{name}: no error is told twice");
            endpoint.send_to(&absent, &[], b"x").expect("there is room for its error again");
            event(&endpoint, Look::DatagramError);
            endpoint.receive_error().expect("it is there");
        }
    }
}

#[test]
fn unfetched_errors_leave_room_for_requests_and_datagrams() {
    let place = directory();
    let sender = open(place.path(), "ticlts");
    sender.bind(&Binding::to(b"me")).expect("a free address");
    let receiver = open(place.path(), "ticlts");
    receiver.bind(&Binding::to(b"you")).expect("a free address");
    flood(&sender, b"nobody");
    sender.send_to(b"you", &[], b"x").expect("another receiver has room");
    assert_eq!(receiver.receive_from(&mut [], &mut [], &mut [0; 8]).expect("it has come").data, 1);
    assert_eq!(sender.info().expect("an answer").tsdu, receiver.info().expect("an answer").tsdu);
    assert_eq!(sender.addresses().expect("an answer").local, b"me");
}

/// Behind a datagram that waits for its receiver, each is queued; when the queue moves on, errors beyond those that are kept are dropped,
/// as the network may drop them: nothing would take them out of the queue.
#[test]
fn undeliverable_datagrams_drain_without_fetched_errors() {
    let place = directory();
    let sender = open(place.path(), "ticlts");
    sender.bind(&Binding::to(b"me")).expect("a free address");
    let receiver = open(place.path(), "ticlts");
    receiver.bind(&Binding::to(b"you")).expect("a free address");
    flood(&sender, b"nobody");
    sender.stream().set_nonblocking(true).expect("it can");
    let full = loop {
        if let Err(error) = sender.send_to(b"you", &[], &[0; 1000]) {
            break error.t_errno;
        }
    };
    // Neither queue has room, and an error is in front.
    assert_eq!(full, E::Look);
    let mut received = 0;
    receiver.stream().set_nonblocking(true).expect("it can");
    while received < 30 {
        match receiver.receive_from(&mut [], &mut [], &mut [0; 1000]) {
            Ok(_) => received += 1,
            Err(error) => assert_eq!(error.t_errno, E::NoData),
        }
    }
    // Undeliverable datagrams are queued behind those to the receiver, however much room there is for errors.
    while sender.send_to(b"nobody", &[], b"x").is_ok() {}
    let mut quiet = 0;
    while quiet < 100 {
        match receiver.receive_from(&mut [], &mut [], &mut [0; 1000]) {
            Ok(_) => quiet = 0,
            Err(_) => quiet += 1,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    sender.send_to(b"you", &[], b"last").expect("the queue has moved on");
    receiver.stream().set_nonblocking(false).expect("it can");
    let mut data = [0; 8];
    let got = receiver.receive_from(&mut [], &mut [], &mut data).expect("it has come");
    assert_eq!(&data[..got.data], b"last");
}

//! Endpoints of the library among each other.

use std::time::Duration;

use headwater_streams::Errno;
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, State, TransportError};

use super::{
    OTHER_FAMILY, PATIENCE, REFUSED, TOO_LONG, address, ask, bind, bound, is_empty, open, received, reported, send,
};
use crate::common::{calm, in_own_process, private_directory, within};

#[test]
fn a_datagram_says_from_which_address_it_is() {
    in_own_process!();
    within(PATIENCE, "datagrams between endpoints".to_owned());
    let directory = private_directory();
    for (from, to, at, source) in [
        ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1", "127.0.0.1"),
        ("0.0.0.0:0", "127.0.0.1:0", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.2:0", "0.0.0.0:0", "127.0.0.3", "127.0.0.2"),
        ("[::1]:0", "[::1]:0", "::1", "::1"),
        ("[::]:0", "[::]:0", "::1", "::1"),
    ] {
        let ((one, own), (two, other)) = (bound(directory.path(), from), bound(directory.path(), to));
        let to = std::net::SocketAddr::new(at.parse().expect("an address"), other.port());
        send(&one, to, b"hello");
        let source = std::net::SocketAddr::new(source.parse().expect("an address"), own.port());
        assert_eq!(received(&two), (b"hello".to_vec(), source));
        send(&one, to, b"");
        assert_eq!(received(&two), (Vec::new(), source));
    }
    calm();
}

#[test]
fn a_slow_receiver_stops_its_senders_and_nothing_is_lost() {
    in_own_process!();
    within(PATIENCE, "four senders and a slow receiver".to_owned());
    const SENDERS: u16 = 4;
    const EACH: u32 = 1000;
    let directory = private_directory();
    let (receiver, to) = bound(directory.path(), "127.0.0.1:0");
    let senders: Vec<_> = (0..SENDERS).map(|_| bound(directory.path(), "127.0.0.1:0")).collect();
    std::thread::scope(|scope| {
        for (sender, _) in &senders {
            scope.spawn(move || {
                for number in 0..EACH {
                    // More than a socket would keep.
                    let mut data = vec![1; 1000];
                    data[..4].copy_from_slice(&number.to_le_bytes());
                    send(sender, to, &data);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        let mut next = [0; SENDERS as usize];
        for _ in 0..u32::from(SENDERS) * EACH {
            let (data, source) = received(&receiver);
            let sender = senders.iter().position(|(_, own)| *own == source).expect("one of them");
            assert_eq!(u32::from_le_bytes(*data.first_chunk().expect("a number")), next[sender]);
            next[sender] += 1;
        }
        assert_eq!(next, [EACH; SENDERS as usize]);
    });
    calm();
}

#[test]
fn datagrams_are_as_long_as_those_of_udp() {
    in_own_process!();
    within(PATIENCE, "the longest datagrams".to_owned());
    let directory = private_directory();
    for (of, most) in [("127.0.0.1:0", 65_507), ("[::1]:0", 65_527)] {
        let ((one, _), (two, to)) = (bound(directory.path(), of), bound(directory.path(), of));
        send(&one, to, &vec![7; most]);
        assert_eq!(received(&two).0, vec![7; most]);
        send(&one, to, &vec![7; most + 1]);
        assert_eq!(reported(&one, to), TOO_LONG);
        // Also through the socket.
        drop(two);
        send(&one, to, &vec![7; most + 1]);
        assert_eq!(reported(&one, to), TOO_LONG);
        ask(&one, Primitive::InfoReq);
        let answer = one.receive().expect("no error").expect("no end");
        match Primitive::decode(answer.control().expect("an answer")) {
            Ok(Primitive::InfoAck(info)) => assert_eq!((info.tsdu, info.state), (most as i32, State::Idle)),
            other => panic!("{other:?}"),
        }
    }
    calm();
}

#[test]
fn a_closed_or_unbound_receiver_is_not_reached() {
    in_own_process!();
    within(PATIENCE, "receivers that give their address up".to_owned());
    let directory = private_directory();
    let (one, _) = bound(directory.path(), "127.0.0.1:0");
    let (two, to) = bound(directory.path(), "127.0.0.1:0");
    send(&one, to, b"first");
    assert_eq!(received(&two).0, b"first");
    ask(&two, Primitive::UnbindReq);
    let answer = two.receive().expect("no error").expect("no end");
    let done = Primitive::OkAck { of: PrimitiveNumber::UnbindReq };
    assert_eq!(Primitive::decode(answer.control().expect("an answer")), Ok(done));
    send(&one, to, b"second");
    assert_eq!(reported(&one, to), REFUSED);
    assert!(is_empty(&two));
    // Another endpoint has it, then none.
    let three = open(directory.path());
    assert_eq!(bind(&three, to), Ok(to));
    for _ in 0..300 {
        send(&one, to, b"third");
        assert_eq!(received(&three).0, b"third");
    }
    drop(three);
    send(&one, to, b"fourth");
    assert_eq!(reported(&one, to), REFUSED);
    assert_eq!(bind(&two, to), Ok(to));
    calm();
}

#[test]
fn bad_addresses_and_requests_are_refused() {
    in_own_process!();
    within(PATIENCE, "bad requests".to_owned());
    let directory = private_directory();
    let (one, own) = bound(directory.path(), "127.0.0.1:0");
    let two = open(directory.path());
    assert_eq!(bind(&two, own), Err((TransportError::AddressBusy, 0)));
    assert_eq!(bind(&two, address("192.0.2.1:0")), Err((TransportError::BadAddress, 0)));
    for bad in [&b"printer"[..], &[2, 0, 1]] {
        ask(&two, Primitive::BindReq { address: bad, waiting: 0 });
        let answer = two.receive().expect("no error").expect("no end");
        let refused = Primitive::ErrorAck { of: PrimitiveNumber::BindReq, error: TransportError::BadAddress, errno: 0 };
        assert_eq!(Primitive::decode(answer.control().expect("an answer")), Ok(refused));
    }
    send(&one, address("[::1]:9"), b"x");
    assert_eq!(reported(&one, address("[::1]:9")), OTHER_FAMILY);
    one.send_to(InternetAddress::from(own).bytes(), b"option", b"x").expect("taken");
    let report = one.receive().expect("no error").expect("no end");
    match Primitive::decode(report.control().expect("a report")) {
        Ok(Primitive::UderrorInd { options: b"option", error, .. }) => assert_eq!(error, Errno::Inval.number() as u32),
        other => panic!("{other:?}"),
    }
    // Of a transport with connections.
    ask(&one, Primitive::DisconReq { sequence: 1 });
    let answer = one.receive().expect("no error").expect("no end");
    match Primitive::decode(answer.control().expect("an answer")) {
        Ok(Primitive::ErrorAck { error, .. }) => assert_eq!(error, TransportError::NotSupported),
        other => panic!("{other:?}"),
    }
    // A datagram before the bind ends the stream.
    send(&two, own, b"x");
    assert_eq!(two.receive().expect_err("broken").errno(), Errno::Proto);
    assert!(is_empty(&one));
    calm();
}

//! `inet-udp` and `inet-rawip`.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, Service, State, TransportError};
use headwater_streams::{Events, Stream};

use super::{PATIENCE, ask, ask_with, bind_answer, bound_to, is, next, open, refused, state, told};
use crate::common::{child, in_own_process, joined, within};

pub fn send(endpoint: &Stream, to: SocketAddr, data: &[u8]) {
    let address = InternetAddress::from(to);
    ask_with(endpoint, Primitive::UnitdataReq { destination: address.bytes(), options: b"" }, Some(data));
}

pub fn got(endpoint: &Stream, from: SocketAddr, data: &[u8]) {
    let message = next(endpoint);
    is(&message, Primitive::UnitdataInd { source: InternetAddress::from(from).bytes(), options: b"" });
    assert_eq!(message.data().unwrap_or_default(), data);
}

fn undelivered(endpoint: &Stream, to: SocketAddr, error: i32) {
    let address = InternetAddress::from(to);
    told(endpoint, Primitive::UderrorInd { destination: address.bytes(), options: b"", error: error as u32 });
}

fn plain(address: &str) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind(address).expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let own = socket.local_addr().expect("bound");
    (socket, own)
}

#[test]
fn datagrams_of_every_length_go_to_a_plain_socket_and_come_from_one() {
    in_own_process!();
    within(PATIENCE, "datagrams".to_owned());
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (socket, to) = plain(address);
        let (endpoint, own) = bound_to("inet-udp", address, 0);
        let mut buffer = vec![0; 70_000];
        for len in [0, 1, 64, 1024, 1472, 9000, 65_507] {
            let data: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
            send(&endpoint, to, &data);
            let (count, from) = socket.recv_from(&mut buffer).expect("sent");
            assert_eq!((count, from, buffer[..count] == data), (len, own, true));
            socket.send_to(&data, own).expect("room");
            got(&endpoint, to, &data);
        }
        assert_eq!(state(&endpoint), State::Idle);
    }
}

#[test]
fn two_endpoints_exchange_datagrams_and_each_indication_has_its_sender() {
    in_own_process!();
    within(PATIENCE, "two endpoints".to_owned());
    let ends = [(); 3].map(|()| bound_to("inet-udp", "127.0.0.1:0", 0));
    for round in 0..100u32 {
        for (endpoint, own) in &ends {
            for (other, to) in &ends {
                if to != own {
                    send(endpoint, *to, &round.to_le_bytes());
                    got(other, *own, &round.to_le_bytes());
                }
            }
        }
    }
}

#[test]
fn a_datagram_to_nobody_comes_back_with_its_destination() {
    in_own_process!();
    within(PATIENCE, "refused datagrams".to_owned());
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (endpoint, own) = bound_to("inet-udp", address, 0);
        let gone = plain(address).1;
        for _ in 0..20 {
            send(&endpoint, gone, b"lost");
            undelivered(&endpoint, gone, libc::ECONNREFUSED);
            // The error is not that of the next datagram.
            // The port that is gone is free, and may be given out again.
            let mut plains = std::iter::repeat_with(|| plain(address));
            let (socket, to) = plains.find(|(_, to)| *to != gone).expect("another port");
            send(&endpoint, gone, b"lost");
            send(&endpoint, to, b"found");
            assert_eq!(socket.recv_from(&mut [0; 16]).expect("sent"), (5, own));
            undelivered(&endpoint, gone, libc::ECONNREFUSED);
        }
        assert_eq!(state(&endpoint), State::Idle);
    }
}

#[test]
fn what_cannot_be_sent_is_told_and_the_endpoint_goes_on() {
    in_own_process!();
    within(PATIENCE, "datagrams that cannot be sent".to_owned());
    let (endpoint, _) = bound_to("inet-udp", "127.0.0.1:0", 0);
    let (socket, to) = plain("127.0.0.1:0");
    let address = InternetAddress::from(to);
    // Longer than UDP allows, but not than the stream does.
    ask_with(&endpoint, Primitive::UnitdataReq { destination: address.bytes(), options: b"" }, Some(&[0; 65_508]));
    undelivered(&endpoint, to, libc::EMSGSIZE);
    ask_with(&endpoint, Primitive::UnitdataReq { destination: address.bytes(), options: &[0; 16] }, Some(b"x"));
    told(&endpoint, Primitive::UderrorInd { destination: address.bytes(), options: &[0; 16], error: 22 });
    ask_with(&endpoint, Primitive::UnitdataReq { destination: b"printer", options: b"" }, Some(b"x"));
    told(&endpoint, Primitive::UderrorInd { destination: b"printer", options: b"", error: libc::EDESTADDRREQ as u32 });
    // Of the other family.
    let v6 = "[::1]:9".parse().unwrap();
    send(&endpoint, v6, b"x");
    undelivered(&endpoint, v6, libc::EAFNOSUPPORT);
    send(&endpoint, to, b"good");
    assert_eq!(socket.recv(&mut [0; 16]).expect("sent"), 4);
}

#[test]
fn addresses_are_taken_refused_told_and_given_up() {
    in_own_process!();
    within(PATIENCE, "addresses".to_owned());
    let of = PrimitiveNumber::BindReq;
    for driver in ["inet-udp", "inet-tcp"] {
        let (endpoint, own) = bound_to(driver, "127.0.0.1:0", 0);
        assert_ne!(own.port(), 0);
        let address = InternetAddress::from(own);
        ask(&endpoint, Primitive::AddrReq);
        told(&endpoint, Primitive::AddrAck { local: address.bytes(), remote: b"" });
        ask(&endpoint, Primitive::BindReq { address: address.bytes(), waiting: 0 });
        refused(&endpoint, of, TransportError::OutOfState);

        let other = open(driver);
        ask(&other, Primitive::BindReq { address: address.bytes(), waiting: 0 });
        refused(&other, of, TransportError::AddressBusy);
        for wrong in [&b"printer"[..], &address.bytes()[..15], &[0; 16], &[0; 200]] {
            ask(&other, Primitive::BindReq { address: wrong, waiting: 0 });
            refused(&other, of, TransportError::BadAddress);
        }
        // An address of documentation, which this host does not have.
        let foreign = InternetAddress::from("192.0.2.1:0".parse::<SocketAddr>().unwrap());
        ask(&other, Primitive::BindReq { address: foreign.bytes(), waiting: 0 });
        refused(&other, of, TransportError::BadAddress);
        assert_eq!(state(&other), State::Unbound);

        ask(&endpoint, Primitive::UnbindReq);
        told(&endpoint, Primitive::OkAck { of: PrimitiveNumber::UnbindReq });
        ask(&other, Primitive::BindReq { address: address.bytes(), waiting: 0 });
        assert_eq!(bind_answer(&other, 0), own);
        // And without an address, any.
        ask(&endpoint, Primitive::BindReq { address: b"", waiting: 0 });
        assert_ne!(bind_answer(&endpoint, 0).port(), 0);
    }
}

/// Takes the process's privileges away.
fn without_privileges() {
    const NOBODY: u32 = 65_534;
    // SAFETY: the call changes this process alone, a child of the test.
    assert_eq!(unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) }, 0);
}

#[test]
fn ports_and_raw_sockets_of_the_privileged_are_refused() {
    in_own_process!();
    within(PATIENCE, "privileges".to_owned());
    // SAFETY: the call only asks.
    if unsafe { libc::geteuid() } == 0 {
        joined(child(|| {
            let raw = open("inet-rawip");
            without_privileges();
            let icmp = InternetAddress::from("127.0.0.1:1".parse::<SocketAddr>().unwrap());
            ask(&raw, Primitive::BindReq { address: icmp.bytes(), waiting: 0 });
            refused(&raw, PrimitiveNumber::BindReq, TransportError::Access);
            Ok(())
        }));
        let raw = open("inet-rawip");
        for wrong in ["127.0.0.1:0", "127.0.0.1:256"] {
            let address = InternetAddress::from(wrong.parse::<SocketAddr>().unwrap());
            ask(&raw, Primitive::BindReq { address: address.bytes(), waiting: 0 });
            refused(&raw, PrimitiveNumber::BindReq, TransportError::BadAddress);
        }
    }
}

#[test]
fn raw_datagrams_of_a_protocol_arrive_with_their_header() {
    in_own_process!();
    within(PATIENCE, "raw datagrams".to_owned());
    let ends = [(); 2].map(|()| open("inet-rawip"));
    // A protocol for experiments (RFC 3692).
    let address = InternetAddress::from("127.0.0.1:253".parse::<SocketAddr>().unwrap());
    for endpoint in &ends {
        ask(endpoint, Primitive::BindReq { address: address.bytes(), waiting: 0 });
        let message = next(endpoint);
        match Primitive::decode(message.control().unwrap()) {
            Ok(Primitive::BindAck { address: own, .. }) => assert_eq!(own, address.bytes()),
            // Not allowed here.
            Ok(Primitive::ErrorAck { error: TransportError::Access, .. }) => return,
            other => panic!("{other:?}"),
        }
    }
    send(&ends[0], "127.0.0.1:0".parse().unwrap(), b"raw");
    let message = next(&ends[1]);
    let packet = message.data().expect("a packet");
    assert_eq!((packet.len(), packet[0], packet[9], &packet[20..]), (23, 0x45, 253, &b"raw"[..]));
}

#[test]
fn a_reader_that_is_behind_leaves_datagrams_in_the_socket_and_loses_none_that_fit_there() {
    in_own_process!();
    within(PATIENCE, "a slow reader".to_owned());
    let (endpoint, own) = bound_to("inet-udp", "127.0.0.1:0", 0);
    let (socket, from) = plain("127.0.0.1:0");
    let data = |number: u32| [&number.to_le_bytes()[..], &[number as u8; 1020]].concat();
    const COUNT: u32 = 150;
    for number in 0..COUNT {
        socket.send_to(&data(number), own).expect("room");
        if number % 10 == 0 {
            endpoint.poll(Events::default(), Some(Duration::ZERO)).expect("it looks at the socket");
        }
    }
    let (waiting, _) = endpoint.nread().expect("no error");
    assert!(waiting > 0, "the stream has read nothing");
    for number in 0..COUNT {
        got(&endpoint, from, &data(number));
    }
}

#[test]
fn the_provider_tells_its_sizes() {
    for (driver, service, tsdu, tidu) in [
        ("inet-udp", Service::Datagrams, 65_507, 65_507),
        ("inet-rawip", Service::Datagrams, 65_515, 65_515),
        ("inet-tcp", Service::OrderlyConnections, 0, 65_536),
    ] {
        let endpoint = open(driver);
        ask(&endpoint, Primitive::InfoReq);
        let message = next(&endpoint);
        let Ok(Primitive::InfoAck(info)) = Primitive::decode(message.control().unwrap()) else { panic!("{message:?}") };
        assert_eq!((info.service, info.state, info.tsdu, info.tidu), (service, State::Unbound, tsdu, tidu));
        assert_eq!(info.address, 28);
    }
}

//! `inet-tcp` that listens: connections of plain sockets and of other endpoints.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use headwater_streams::Stream;
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, State, TransportError};

use super::connections::{got, send};
use super::{PATIENCE, acceptor, ask, asked, bound_to, call, next, open, refused, state, told};
use crate::common::{in_own_process, within};

const ANY: &str = "127.0.0.1:0";

pub fn accept(listener: &Stream, on: &Stream, sequence: u32) {
    ask(listener, Primitive::ConnRes { acceptor: acceptor(on), options: b"", sequence });
    told(listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
}

fn source(bytes: &[u8]) -> SocketAddr {
    InternetAddress::decode(bytes).expect("one of the internet")
}

fn speak(endpoint: &Stream, socket: &mut TcpStream) {
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket.write_all(b"in").expect("room");
    assert_eq!(got(endpoint, 2), b"in");
    send(endpoint, b"out");
    let mut bytes = [0; 3];
    socket.read_exact(&mut bytes).expect("sent");
    assert_eq!(&bytes, b"out");
}

#[test]
fn a_connection_is_accepted_by_another_endpoint_of_the_process() {
    in_own_process!();
    within(PATIENCE, "accepting".to_owned());
    for address in [ANY, "[::1]:0"] {
        let (listener, to) = bound_to("inet-tcp", address, 2);
        for is_bound in [true, false] {
            let mut socket = TcpStream::connect(to).expect("a listener");
            let (sequence, from) = asked(&listener);
            assert_eq!(source(&from), socket.local_addr().unwrap());
            assert_eq!(state(&listener), State::AwaitResponse);
            let called = if is_bound { bound_to("inet-tcp", address, 0).0 } else { open("inet-tcp") };
            accept(&listener, &called, sequence);
            assert_eq!((state(&listener), state(&called)), (State::Idle, State::Connected));
            speak(&called, &mut socket);
            ask(&called, Primitive::AddrReq);
            let (local, remote) = (InternetAddress::from(to), InternetAddress::from(socket.local_addr().unwrap()));
            told(&called, Primitive::AddrAck { local: local.bytes(), remote: remote.bytes() });
            drop(socket);
            told(&called, Primitive::OrdrelInd);
            ask(&called, Primitive::OrdrelReq);
            assert_eq!(state(&called), State::Idle);
        }
    }
}

#[test]
fn the_listener_accepts_itself_and_listens_again_afterwards() {
    in_own_process!();
    within(PATIENCE, "accepting on the same stream".to_owned());
    let (listener, to) = bound_to("inet-tcp", ANY, 1);
    for round in 0..6 {
        let mut socket = TcpStream::connect(to).expect("a listener");
        let (sequence, _) = asked(&listener);
        accept(&listener, &listener, sequence);
        assert_eq!(state(&listener), State::Connected);
        speak(&listener, &mut socket);
        // A caller of meanwhile waits in the kernel.
        let other = TcpStream::connect(to).expect("a listener");
        match round % 3 {
            0 => {
                drop(socket);
                told(&listener, Primitive::OrdrelInd);
                ask(&listener, Primitive::OrdrelReq);
            }
            1 => {
                ask(&listener, Primitive::OrdrelReq);
                assert_eq!(socket.read(&mut [0; 8]).expect("the end"), 0);
                drop(socket);
                told(&listener, Primitive::OrdrelInd);
            }
            _ => {
                ask(&listener, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
                told(&listener, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
            }
        }
        let (sequence, from) = asked(&listener);
        assert_eq!(source(&from), other.local_addr().unwrap());
        ask(&listener, Primitive::DisconReq { sequence });
        told(&listener, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
        assert_eq!(state(&listener), State::Idle);
    }
}

#[test]
fn several_connections_wait_and_are_accepted_refused_and_withdrawn_in_any_order() {
    in_own_process!();
    within(PATIENCE, "several calls".to_owned());
    let (listener, to) = bound_to("inet-tcp", ANY, 3);
    let mut sockets: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(to).expect("a listener")).collect();
    let calls: Vec<(u32, SocketAddr)> = (0..3)
        .map(|_| {
            let (sequence, from) = asked(&listener);
            (sequence, source(&from))
        })
        .collect();
    for (socket, (_, from)) in sockets.iter().zip(&calls) {
        assert_eq!(socket.local_addr().unwrap(), *from);
    }
    // The kernel has room for it now.
    sockets.push(TcpStream::connect(to).expect("a listener"));
    let of = PrimitiveNumber::ConnRes;
    let called = open("inet-tcp");
    ask(&listener, Primitive::ConnRes { acceptor: acceptor(&listener), options: b"", sequence: calls[0].0 });
    refused(&listener, of, TransportError::IndicationsWait);
    for wrong in [0, u32::MAX, calls[2].0 + 1] {
        ask(&listener, Primitive::ConnRes { acceptor: acceptor(&called), options: b"", sequence: wrong });
        refused(&listener, of, TransportError::BadSequence);
        ask(&listener, Primitive::DisconReq { sequence: wrong });
        refused(&listener, PrimitiveNumber::DisconReq, TransportError::BadSequence);
    }
    ask(&listener, Primitive::ConnRes { acceptor: 0, options: b"", sequence: calls[0].0 });
    refused(&listener, of, TransportError::BadFile);
    let (other_listener, _) = bound_to("inet-tcp", ANY, 1);
    ask(&listener, Primitive::ConnRes { acceptor: acceptor(&other_listener), options: b"", sequence: calls[0].0 });
    refused(&listener, of, TransportError::AcceptorListens);

    // The second is accepted, and the place is the fourth's.
    accept(&listener, &called, calls[1].0);
    speak(&called, &mut sockets[1]);
    let (fourth, from) = asked(&listener);
    assert_eq!(source(&from), sockets[3].local_addr().unwrap());
    ask(&listener, Primitive::ConnRes { acceptor: acceptor(&called), options: b"", sequence: calls[0].0 });
    refused(&listener, of, TransportError::OutOfState);
    // The first is refused, which resets it.
    ask(&listener, Primitive::DisconReq { sequence: calls[0].0 });
    told(&listener, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    assert_eq!(sockets[0].read(&mut [0; 8]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
    let (fifth, _) = asked(&listener);
    // The third gives up.
    reset(sockets.remove(2));
    told(&listener, Primitive::DisconInd { reason: libc::ECONNRESET as u32, sequence: calls[2].0 });
    for sequence in [fifth, fourth] {
        assert_eq!(state(&listener), State::AwaitResponse);
        ask(&listener, Primitive::DisconReq { sequence });
        told(&listener, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    }
    assert_eq!(state(&listener), State::Idle);
}

/// Closes the socket with a reset.
fn reset(socket: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the kernel reads the structure, whose size is told.
    let done = unsafe {
        let (value, len) = ((&raw const linger).cast(), size_of::<libc::linger>() as u32);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, len)
    };
    assert_eq!(done, 0);
}

#[test]
fn a_listeners_address_is_its_own_and_free_after_it() {
    in_own_process!();
    within(PATIENCE, "a listener's address".to_owned());
    let (listener, to) = bound_to("inet-tcp", ANY, 1);
    let address = InternetAddress::from(to);
    let other = open("inet-tcp");
    for waiting in [0, 1] {
        ask(&other, Primitive::BindReq { address: address.bytes(), waiting });
        refused(&other, PrimitiveNumber::BindReq, TransportError::AddressBusy);
    }
    let socket = TcpStream::connect(to).expect("a listener");
    asked(&listener);
    drop(listener);
    // What waited is lost with it.
    assert_eq!((&socket).read(&mut [0; 8]).map_err(|error| error.kind()).unwrap_or(0), 0);
    assert_eq!(TcpStream::connect(to).expect_err("no listener").kind(), ErrorKind::ConnectionRefused);
    TcpListener::bind(to).expect("it is free");
    let (listener, _) = bound_to("inet-tcp", &to.to_string(), 1);
    ask(&listener, Primitive::UnbindReq);
    told(&listener, Primitive::OkAck { of: PrimitiveNumber::UnbindReq });
    assert_eq!(TcpStream::connect(to).expect_err("no listener").kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn two_endpoints_connect_to_each_other() {
    in_own_process!();
    within(PATIENCE, "two endpoints".to_owned());
    let (listener, to) = bound_to("inet-tcp", ANY, 1);
    let (caller, _) = bound_to("inet-tcp", ANY, 0);
    call(&caller, to);
    let (sequence, _) = asked(&listener);
    let called = open("inet-tcp");
    accept(&listener, &called, sequence);
    told(&caller, Primitive::ConnCon { responder: InternetAddress::from(to).bytes(), options: b"" });
    for (from, at) in [(&caller, &called), (&called, &caller)] {
        send(from, &[7; 3000]);
        assert_eq!(got(at, 3000), [7; 3000]);
    }
    ask(&caller, Primitive::OrdrelReq);
    told(&called, Primitive::OrdrelInd);
    ask(&called, Primitive::OrdrelReq);
    told(&caller, Primitive::OrdrelInd);
    assert_eq!((state(&caller), state(&called)), (State::Idle, State::Idle));
}

#[test]
fn a_waiting_reader_gets_a_call_that_comes_later() {
    in_own_process!();
    within(PATIENCE, "a late call".to_owned());
    let (listener, to) = bound_to("inet-tcp", ANY, 1);
    let caller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        TcpStream::connect(to).expect("a listener")
    });
    let message = next(&listener);
    assert!(matches!(Primitive::decode(message.control().unwrap()), Ok(Primitive::ConnInd { .. })));
    drop(caller.join());
}

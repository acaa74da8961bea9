//! `inet-tcp` that connects: to plain sockets.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use headwater_streams::tpi::{
    InternetAddress, ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, State, TransportError, TransportOption,
    XTI_GENERIC, XTI_SNDBUF,
};
use headwater_streams::{Errno, Events, Stream};

use super::{
    PATIENCE, ask, ask_with, bound_to, call, connected_to, disconnected, is, next, open, refused, state, told,
};
use crate::common::{Random, in_own_process, within};

pub fn listener(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).expect("a port");
    let own = listener.local_addr().expect("bound");
    (listener, own)
}

/// A connection to a plain socket.
fn pair(address: &str) -> (Stream, TcpStream) {
    let (listener, to) = listener(address);
    let endpoint = connected_to(to);
    let (socket, _) = listener.accept().expect("called");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    (endpoint, socket)
}

pub fn send(endpoint: &Stream, data: &[u8]) {
    ask_with(endpoint, Primitive::DataReq { more: false }, Some(data));
}

/// So many bytes of data come, in whatever pieces.
pub fn got(endpoint: &Stream, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        let message = next(endpoint);
        is(&message, Primitive::DataInd { more: false });
        all.extend_from_slice(message.data().expect("data"));
    }
    assert_eq!(all.len(), count);
    all
}

fn read(socket: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    socket.read_exact(&mut bytes).expect("sent");
    bytes
}

/// Makes a close of the socket reset the connection.
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
fn data_go_both_ways_and_the_connection_ends_in_order_from_either_side() {
    in_own_process!();
    within(PATIENCE, "orderly releases".to_owned());
    for address in ["127.0.0.1:0", "[::1]:0"] {
        for we_are_first in [true, false] {
            let (endpoint, mut socket) = pair(address);
            send(&endpoint, b"request");
            assert_eq!(read(&mut socket, 7), b"request");
            socket.write_all(b"answer").expect("room");
            assert_eq!(got(&endpoint, 6), b"answer");
            assert_eq!(state(&endpoint), State::Connected);
            // Plain data are data too.
            endpoint.write(b"plain").expect("room");
            assert_eq!(read(&mut socket, 5), b"plain");
            if we_are_first {
                ask(&endpoint, Primitive::OrdrelReq);
                assert_eq!(socket.read(&mut [0; 8]).expect("the end"), 0);
                assert_eq!(state(&endpoint), State::AwaitRelease);
                socket.write_all(b"last").expect("room");
                assert_eq!(got(&endpoint, 4), b"last");
                socket.shutdown(Shutdown::Write).expect("connected");
                told(&endpoint, Primitive::OrdrelInd);
            } else {
                socket.shutdown(Shutdown::Write).expect("connected");
                told(&endpoint, Primitive::OrdrelInd);
                assert_eq!(state(&endpoint), State::Releasing);
                send(&endpoint, b"last");
                ask(&endpoint, Primitive::OrdrelReq);
                assert_eq!(read(&mut socket, 4), b"last");
                assert_eq!(socket.read(&mut [0; 8]).expect("the end"), 0);
            }
            assert_eq!(state(&endpoint), State::Idle);
        }
    }
}

#[test]
fn a_refused_connection_is_told_with_the_reason_and_can_be_tried_again() {
    in_own_process!();
    within(PATIENCE, "refused connections".to_owned());
    let (endpoint, own) = bound_to("inet-tcp", "127.0.0.1:0", 0);
    let (gone, to) = listener("127.0.0.1:0");
    drop(gone);
    for _ in 0..10 {
        call(&endpoint, to);
        assert_eq!(disconnected(&endpoint), libc::ECONNREFUSED as u32);
        assert_eq!(state(&endpoint), State::Idle);
    }
    let listener = TcpListener::bind(to).expect("free again");
    call(&endpoint, to);
    told(&endpoint, Primitive::ConnCon { responder: InternetAddress::from(to).bytes(), options: b"" });
    let (mut socket, from) = listener.accept().expect("called");
    assert_eq!(from, own, "another port than the one that was bound");
    send(&endpoint, b"x");
    assert_eq!(read(&mut socket, 1), b"x");
    // Once more, after each kind of end.
    ask(&endpoint, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
    told(&endpoint, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    assert_eq!(socket.read(&mut [0; 8]).expect_err("reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(state(&endpoint), State::Idle);
    call(&endpoint, to);
    told(&endpoint, Primitive::ConnCon { responder: InternetAddress::from(to).bytes(), options: b"" });
    let (socket, _) = listener.accept().expect("called");
    reset(socket);
    assert_eq!(disconnected(&endpoint), libc::ECONNRESET as u32);
    assert_eq!(state(&endpoint), State::Idle);
    call(&endpoint, to);
    told(&endpoint, Primitive::ConnCon { responder: InternetAddress::from(to).bytes(), options: b"" });
}

#[test]
fn a_reset_is_told_in_each_state_of_a_connection() {
    in_own_process!();
    within(PATIENCE, "resets".to_owned());
    for before in [State::Connected, State::AwaitRelease, State::Releasing] {
        let (endpoint, mut socket) = pair("127.0.0.1:0");
        match before {
            State::AwaitRelease => {
                ask(&endpoint, Primitive::OrdrelReq);
                assert_eq!(socket.read(&mut [0; 8]).expect("the end"), 0);
            }
            State::Releasing => {
                socket.shutdown(Shutdown::Write).expect("connected");
                told(&endpoint, Primitive::OrdrelInd);
            }
            _ => {}
        }
        assert_eq!(state(&endpoint), before);
        if before == State::Releasing {
            // A reset is sent for data that are not read.
            send(&endpoint, b"unread");
            std::thread::sleep(Duration::from_millis(20));
        }
        reset(socket);
        assert!([libc::ECONNRESET as u32, libc::EPIPE as u32].contains(&disconnected(&endpoint)), "{before:?}");
        assert_eq!(state(&endpoint), State::Idle);
    }
}

#[test]
fn urgent_bytes_are_expedited_data_in_both_directions() {
    in_own_process!();
    within(PATIENCE, "urgent bytes".to_owned());
    let (endpoint, socket) = pair("127.0.0.1:0");
    let fd = socket.as_raw_fd();
    for round in 0..20u8 {
        ask_with(&endpoint, Primitive::ExdataReq { more: false }, Some(&[round]));
        let mut byte = [0u8; 1];
        // SAFETY: the buffer has the one byte that the kernel may write.
        let mut urgent = || unsafe { libc::recv(fd, byte.as_mut_ptr().cast(), 1, libc::MSG_OOB) };
        while urgent() < 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(byte, [round]);
        // SAFETY: one byte is read.
        assert_eq!(unsafe { libc::send(fd, [round].as_ptr().cast(), 1, libc::MSG_OOB) }, 1);
        let message = next(&endpoint);
        is(&message, Primitive::ExdataInd { more: false });
        assert_eq!((message.data(), message.header.band), (Some(&[round][..]), 1));
    }
    // More is more than TCP has.
    ask_with(&endpoint, Primitive::ExdataReq { more: false }, Some(b"ab"));
    assert_eq!(endpoint.receive().expect_err("fatal").errno(), Errno::Proto);
}

fn sum(bytes: &[u8], so_far: u64) -> u64 {
    bytes.iter().fold(so_far, |sum, byte| (sum.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

const MUCH: usize = 50 << 20;

#[test]
fn fifty_megabytes_reach_a_slow_socket_whole() {
    in_own_process!();
    within(PATIENCE, "much data to a socket".to_owned());
    let (endpoint, mut socket) = pair("127.0.0.1:0");
    let reader = std::thread::spawn(move || {
        let (mut buffer, mut count, mut found, mut random) = (vec![0; 100_000], 0, 0, Random(1));
        loop {
            let len = 1 + random.below(buffer.len() - 1);
            match socket.read(&mut buffer[..len]).expect("no error") {
                0 => return (count, found),
                got => {
                    found = sum(&buffer[..got], found);
                    count += got;
                }
            }
            if random.one_in(200) {
                std::thread::sleep(Duration::from_millis(3));
            }
        }
    });
    let (mut random, mut left, mut sent) = (Random(2), MUCH, 0);
    let data: Vec<u8> = (0..200_000).map(|_| random.next() as u8).collect();
    while left > 0 {
        let len = (1 + random.below(60_000)).min(left);
        let at = random.below(data.len() - len);
        send(&endpoint, &data[at..at + len]);
        sent = sum(&data[at..at + len], sent);
        left -= len;
    }
    // Behind all that waits; and no call is made at the stream from here on.
    ask(&endpoint, Primitive::OrdrelReq);
    assert_eq!(reader.join().expect("no panic"), (MUCH, sent));
}

#[test]
fn fifty_megabytes_of_a_socket_reach_a_slow_reader_whole() {
    in_own_process!();
    within(PATIENCE, "much data of a socket".to_owned());
    let (endpoint, mut socket) = pair("127.0.0.1:0");
    let writer = std::thread::spawn(move || {
        let (mut random, mut left, mut sent) = (Random(3), MUCH, 0);
        let data: Vec<u8> = (0..200_000).map(|_| random.next() as u8).collect();
        while left > 0 {
            let len = (1 + random.below(60_000)).min(left);
            let at = random.below(data.len() - len);
            socket.write_all(&data[at..at + len]).expect("room");
            sent = sum(&data[at..at + len], sent);
            left -= len;
        }
        socket.shutdown(Shutdown::Write).expect("connected");
        (sent, socket)
    });
    let (mut count, mut found, mut random) = (0, 0, Random(4));
    loop {
        let message = next(&endpoint);
        match Primitive::decode(message.control().expect("an indication")) {
            Ok(Primitive::DataInd { .. }) => {
                let data = message.data().expect("data");
                found = sum(data, found);
                count += data.len();
            }
            Ok(Primitive::OrdrelInd) => break,
            other => panic!("{other:?}"),
        }
        if random.one_in(100) {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    assert_eq!((count, found), (MUCH, writer.join().expect("no panic").0));
}

#[test]
fn requests_that_the_state_or_an_argument_forbids_are_refused() {
    in_own_process!();
    within(PATIENCE, "wrong requests".to_owned());
    let (connect, disconnect) = (PrimitiveNumber::ConnReq, PrimitiveNumber::DisconReq);
    let (gone, to) = listener("127.0.0.1:0");
    let address = InternetAddress::from(to);
    let endpoint = open("inet-tcp");
    ask(&endpoint, Primitive::ConnReq { destination: address.bytes(), options: b"" });
    refused(&endpoint, connect, TransportError::OutOfState);
    let (endpoint, _) = bound_to("inet-tcp", "127.0.0.1:0", 0);
    ask(&endpoint, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
    refused(&endpoint, disconnect, TransportError::OutOfState);
    ask(&endpoint, Primitive::ConnReq { destination: b"printer", options: b"" });
    refused(&endpoint, connect, TransportError::BadAddress);
    ask(&endpoint, Primitive::ConnReq { destination: address.bytes(), options: &[0; 16] });
    refused(&endpoint, connect, TransportError::BadOptions);
    ask_with(&endpoint, Primitive::ConnReq { destination: address.bytes(), options: b"" }, Some(b"data"));
    refused(&endpoint, connect, TransportError::BadData);
    ask_with(&endpoint, Primitive::UnitdataReq { destination: address.bytes(), options: b"" }, Some(b"data"));
    assert_eq!(endpoint.receive().expect_err("fatal").errno(), Errno::Proto);
    // A datagram's endpoint has no connections.
    let (datagrams, _) = bound_to("inet-udp", "127.0.0.1:0", 0);
    ask(&datagrams, Primitive::ConnReq { destination: address.bytes(), options: b"" });
    refused(&datagrams, connect, TransportError::NotSupported);
    drop(gone);
}

#[test]
fn a_connection_that_nobody_answers_can_be_given_up() {
    in_own_process!();
    within(PATIENCE, "no answer".to_owned());
    let (listener, to) = listener("127.0.0.1:0");
    // SAFETY: the call changes the length of the queue alone.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    // The kernel answers the first, and no more than a few others.
    let _kept: Vec<TcpStream> =
        (0..4).map_while(|_| TcpStream::connect_timeout(&to, Duration::from_millis(100)).ok()).collect();
    let (endpoint, _) = bound_to("inet-tcp", "127.0.0.1:0", 0);
    call(&endpoint, to);
    assert!(endpoint.poll(Events::IN | Events::PRI, Some(Duration::from_millis(50))).expect("poll").is_empty());
    assert_eq!(state(&endpoint), State::AwaitConfirm);
    ask(&endpoint, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
    told(&endpoint, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    assert_eq!(state(&endpoint), State::Idle);
}

/// A connection to a plain socket, both of whose buffers hold next to nothing.
fn narrow_pair() -> (Stream, TcpStream) {
    let (listener, to) = listener("127.0.0.1:0");
    let (small, len) = (4096i32, size_of::<i32>() as u32);
    // SAFETY: the kernel reads the number, whose size is told.
    let done = unsafe {
        libc::setsockopt(listener.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw const small).cast(), len)
    };
    assert_eq!(done, 0);
    let endpoint = connected_to(to);
    let (socket, _) = listener.accept().expect("called");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut list = Vec::new();
    let (level, name, status) = (XTI_GENERIC, XTI_SNDBUF, OptionStatus::NONE);
    TransportOption { level, name, status, value: &small.to_ne_bytes() }.append_to(&mut list);
    ask(&endpoint, Primitive::OptmgmtReq { options: &list, flags: ManagementFlags::NEGOTIATE });
    next(&endpoint);
    (endpoint, socket)
}

#[test]
fn what_waits_for_a_full_socket_is_sent_also_while_no_call_is_made() {
    in_own_process!();
    within(PATIENCE, "data behind a full socket".to_owned());
    let (endpoint, mut socket) = narrow_pair();
    // Less than the write queue holds, and more than the sockets do.
    for number in 0..60u8 {
        send(&endpoint, &[number; 1000]);
    }
    for number in 0..60u8 {
        assert_eq!(read(&mut socket, 1000), [number; 1000]);
    }
}

#[test]
fn a_message_that_a_socket_takes_in_parts_arrives_byte_by_byte_in_its_place() {
    in_own_process!();
    within(PATIENCE, "messages that are longer than a socket's room".to_owned());
    const LEN: usize = 20_000;
    const COUNT: usize = 40;
    let (endpoint, mut socket) = narrow_pair();
    // A period that is prime to all lengths: a byte too many or too few moves all behind it.
    let data: Vec<u8> = (0..LEN * COUNT).map(|at| (at % 251) as u8).collect();
    let mut messages = data.chunks(LEN);
    send(&endpoint, messages.next().expect("the first"));
    let mut start = [0; LEN];
    let there = socket.peek(&mut start).expect("a part");
    assert!(there < LEN, "the socket has taken the message as a whole");
    let reader = std::thread::spawn(move || {
        let (mut found, mut buffer, mut random) = (Vec::new(), [0; LEN], Random(5));
        loop {
            let len = 1 + random.below(LEN - 1);
            match socket.read(&mut buffer[..len]).expect("no error") {
                0 => return found,
                got => found.extend_from_slice(&buffer[..got]),
            }
            if random.one_in(10) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    for message in messages {
        send(&endpoint, message);
    }
    ask(&endpoint, Primitive::OrdrelReq);
    let found = reader.join().expect("no panic");
    let wrong = found.iter().zip(&data).position(|(found, sent)| found != sent);
    assert_eq!((found.len(), wrong), (data.len(), None));
}

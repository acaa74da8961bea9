//! Endpoints of several processes: the socket is the kernel's, so it continues with whichever process is left.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use headwater_streams::tpi::{Primitive, State};

use super::connections::{got, send};
use super::datagrams;
use super::listeners::accept;
use super::{PATIENCE, acceptor, ask, asked, bound_to, connected_to, next, open, state};
use crate::common::{child, in_own_process, joined, within};

#[test]
fn a_child_goes_on_with_the_endpoint_when_its_parent_has_closed_it() {
    in_own_process!();
    within(PATIENCE, "a child with endpoints".to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let connection = connected_to(listener.local_addr().unwrap());
    let (mut socket, _) = listener.accept().expect("called");
    let (endpoint, own) = bound_to("inet-udp", "127.0.0.1:0", 0);
    let plain = UdpSocket::bind("127.0.0.1:0").expect("a port");
    plain.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let to = plain.local_addr().unwrap();
    let mut ends = Some((connection, endpoint));
    let process = child(|| {
        let (connection, endpoint) = ends.as_ref().expect("here");
        std::thread::sleep(Duration::from_millis(30));
        datagrams::send(endpoint, to, b"from the child");
        datagrams::got(endpoint, to, b"to the child");
        send(connection, b"hello");
        assert_eq!(got(connection, 3), b"you");
        ask(connection, Primitive::OrdrelReq);
        Ok(())
    });
    drop(ends.take());
    let mut bytes = [0; 32];
    assert_eq!(plain.recv_from(&mut bytes).expect("sent"), (14, own));
    plain.send_to(b"to the child", own).expect("room");
    assert_eq!(socket.read(&mut bytes).expect("sent"), 5);
    socket.write_all(b"you").expect("room");
    assert_eq!(socket.read(&mut bytes).expect("the end"), 0);
    joined(process);
}

#[test]
fn a_connection_made_in_a_child_is_the_parents_too() {
    in_own_process!();
    within(PATIENCE, "a child that connects".to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().unwrap();
    let (endpoint, _) = bound_to("inet-tcp", "127.0.0.1:0", 0);
    joined(child(|| {
        super::call(&endpoint, to);
        next(&endpoint);
        Ok(())
    }));
    let (mut socket, _) = listener.accept().expect("called");
    assert_eq!(state(&endpoint), State::Connected);
    send(&endpoint, b"parent");
    let mut bytes = [0; 6];
    socket.read_exact(&mut bytes).expect("sent");
    assert_eq!(&bytes, b"parent");
}

#[test]
fn a_child_accepts_on_an_endpoint_that_it_has_inherited() {
    in_own_process!();
    within(PATIENCE, "a child that accepts".to_owned());
    let (listener, to) = bound_to("inet-tcp", "127.0.0.1:0", 2);
    let called = open("inet-tcp");
    acceptor(&called);
    let mut socket = TcpStream::connect(to).expect("a listener");
    let (sequence, _) = asked(&listener);
    joined(child(|| {
        accept(&listener, &called, sequence);
        Ok(())
    }));
    assert_eq!((state(&listener), state(&called)), (State::Idle, State::Connected));
    socket.write_all(b"x").expect("room");
    assert_eq!(got(&called, 1), b"x");
}

#[test]
fn a_peer_learns_of_a_killed_process_and_its_address_is_free() {
    in_own_process!();
    within(PATIENCE, "killed processes".to_owned());
    for round in 0..10u64 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().unwrap();
        let mut process = child(|| {
            let connection = connected_to(to);
            loop {
                send(&connection, &[1; 1000]);
            }
        });
        let (mut socket, from) = listener.accept().expect("called");
        socket.read_exact(&mut [0; 5000]).expect("sent");
        std::thread::sleep(Duration::from_micros(round * 137));
        process.kill();
        process.wait().expect("wait");
        // All that it has sent, and then the end.
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        drop(socket);
        drop(UdpSocket::bind(from).expect("UDP has ports of its own"));
    }
}

#[test]
fn a_survivor_goes_on_when_another_process_of_the_endpoint_is_killed() {
    in_own_process!();
    within(PATIENCE, "a survivor".to_owned());
    let (endpoint, own) = bound_to("inet-udp", "127.0.0.1:0", 0);
    let plain = UdpSocket::bind("127.0.0.1:0").expect("a port");
    plain.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let to = plain.local_addr().unwrap();
    for round in 0..20u64 {
        let mut process = child(|| {
            loop {
                datagrams::send(&endpoint, to, b"victim");
                datagrams::got(&endpoint, to, b"echo");
            }
        });
        let mut bytes = [0; 16];
        for _ in 0..20 {
            let count = plain.recv(&mut bytes).expect("sent");
            assert_eq!(&bytes[..count], b"victim");
            plain.send_to(b"echo", own).expect("room");
        }
        std::thread::sleep(Duration::from_micros(round * 31));
        process.kill();
        process.wait().expect("wait");
        // What the victim has not read is the survivor's.
        plain.send_to(b"end", own).expect("room");
        loop {
            let message = next(&endpoint);
            if message.data() == Some(b"end") {
                break;
            }
            assert_eq!(message.data(), Some(&b"echo"[..]));
        }
        plain.set_nonblocking(true).expect("a socket");
        while plain.recv(&mut bytes).is_ok() {}
        plain.set_nonblocking(false).expect("a socket");
        datagrams::send(&endpoint, to, b"survivor");
        let count = plain.recv(&mut bytes).expect("sent");
        assert_eq!(&bytes[..count], b"survivor");
    }
}

#[test]
fn a_listener_whose_process_was_killed_is_taken_over() {
    in_own_process!();
    within(PATIENCE, "a killed listener".to_owned());
    let (listener, to) = bound_to("inet-tcp", "127.0.0.1:0", 2);
    let mut process = child(|| {
        loop {
            let (sequence, _) = asked(&listener);
            ask(&listener, Primitive::DisconReq { sequence });
            next(&listener);
        }
    });
    for _ in 0..20 {
        let _ = TcpStream::connect(to).expect("a listener").read(&mut [0; 8]);
    }
    process.kill();
    process.wait().expect("wait");
    let called = open("inet-tcp");
    let mut socket = TcpStream::connect(to).expect("a listener");
    let own = socket.local_addr().unwrap();
    loop {
        let message = next(&listener);
        match Primitive::decode(message.control().unwrap()) {
            Ok(Primitive::ConnInd { source, sequence, .. })
                if headwater_streams::tpi::InternetAddress::decode(source) == Some(own) =>
            {
                accept(&listener, &called, sequence);
                break;
            }
            // What the killed process has left unread.
            Ok(Primitive::ConnInd { sequence, .. }) => ask(&listener, Primitive::DisconReq { sequence }),
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
    socket.write_all(b"x").expect("room");
    assert_eq!(got(&called, 1), b"x");
    is_connected(&called);
}

fn is_connected(endpoint: &headwater_streams::Stream) {
    ask(endpoint, Primitive::AddrReq);
    assert!(matches!(
        Primitive::decode(next(endpoint).control().unwrap()),
        Ok(Primitive::AddrAck { remote, .. }) if !remote.is_empty()
    ));
}

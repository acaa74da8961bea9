//! Plain sockets at the other end.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use super::{PATIENCE, REFUSED, address, bind, bound, open, received, reported, send};
use crate::common::{calm, in_own_process, private_directory, within};
use headwater_streams::Events;
use headwater_streams::tpi::TransportError;

#[test]
fn sockets_and_endpoints_answer_each_other() {
    in_own_process!();
    within(PATIENCE, "questions and answers with a socket".to_owned());
    let directory = private_directory();
    for of in ["127.0.0.1:0", "[::1]:0"] {
        let (endpoint, own) = bound(directory.path(), of);
        let socket = UdpSocket::bind(of).expect("a port");
        let at = socket.local_addr().expect("bound");
        let mut buffer = [0; 2000];
        for round in 0..1000_u32 {
            let data = vec![round as u8; round as usize];
            socket.send_to(&data, own).expect("sent");
            assert_eq!(received(&endpoint), (data.clone(), at));
            send(&endpoint, at, &data);
            let (len, from) = socket.recv_from(&mut buffer).expect("sent");
            assert_eq!((&buffer[..len], from), (&data[..], own));
        }
        assert!(endpoint.counters().short_sends > 500, "datagrams go by the socket without the procedures");
    }
    calm();
}

#[test]
fn a_port_is_one_s_alone_among_sockets_and_endpoints() {
    in_own_process!();
    within(PATIENCE, "ports that are taken".to_owned());
    let directory = private_directory();
    let (endpoint, own) = bound(directory.path(), "127.0.0.1:0");
    assert_eq!(UdpSocket::bind(own).expect_err("taken").kind(), ErrorKind::AddrInUse);
    drop(endpoint);
    let socket = UdpSocket::bind(own).expect("free at once");
    let endpoint = open(directory.path());
    assert_eq!(bind(&endpoint, own), Err((TransportError::AddressBusy, 0)));
    drop(socket);
    assert_eq!(bind(&endpoint, own), Ok(own));
    calm();
}

#[test]
fn a_datagram_to_a_port_that_none_has_is_reported() {
    in_own_process!();
    within(PATIENCE, "unreachable ports".to_owned());
    let directory = private_directory();
    let (endpoint, _) = bound(directory.path(), "127.0.0.1:0");
    let none = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let at = socket.local_addr().expect("bound");
    for _ in 0..100 {
        send(&endpoint, none, b"lost");
        // One that arrives, right behind one that does not.
        send(&endpoint, at, b"arrives");
        assert_eq!(socket.recv(&mut [0; 16]).expect("it arrives"), 7);
        assert_eq!(reported(&endpoint, none), REFUSED);
    }
    calm();
}

#[test]
fn a_socket_waits_while_the_reader_is_behind() {
    in_own_process!();
    within(PATIENCE, "a socket sends more than the stream takes".to_owned());
    let directory = private_directory();
    let (endpoint, own) = bound(directory.path(), "127.0.0.1:0");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    // More than the stream's high-water mark of 64 KiB, and less than the socket keeps beside it.
    const COUNT: u32 = 85;
    for number in 0..COUNT {
        let mut data = [0; 1000];
        data[..4].copy_from_slice(&number.to_le_bytes());
        socket.send_to(&data, own).expect("sent");
    }
    // These fill the stream, and leave the rest in the socket.
    for _ in 0..3 {
        assert!(endpoint.poll(Events::PRI, Some(Duration::from_millis(20))).expect("poll").is_empty());
    }
    assert!(endpoint.nread().expect("no error").1 < COUNT as usize);
    for number in 0..COUNT {
        assert_eq!(received(&endpoint).0[..4], number.to_le_bytes());
    }
    calm();
}

#[test]
fn an_endpoint_of_any_address_answers_from_the_right_one() {
    in_own_process!();
    within(PATIENCE, "an endpoint of any address".to_owned());
    let directory = private_directory();
    let (endpoint, own) = bound(directory.path(), "0.0.0.0:0");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.send_to(b"x", ("127.0.0.1", own.port())).expect("sent");
    let (_, from) = received(&endpoint);
    send(&endpoint, from, b"y");
    let (_, source) = socket.recv_from(&mut [0; 16]).expect("sent");
    assert_eq!(source, address(&format!("127.0.0.1:{}", own.port())));
    calm();
}

//! Datagrams.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use headwater_streams::Events;
use headwater_streams::tpi::InternetAddress;

use super::{PATIENCE, bound, directory, fails};

const WITH_DATAGRAMS: [&str; 3] = ["ticlts", "udp", "inet-udp"];

#[test]
fn datagrams_keep_boundaries_and_sender() {
    for transport in WITH_DATAGRAMS {
        let directory = directory();
        let (receiver, address) = bound(directory.path(), transport);
        let (sender, own) = bound(directory.path(), transport);
        for text in [&b"one"[..], b"and two", &[7; 900]] {
            assert_eq!(sender.send_to(&address, text).expect("room"), text.len());
        }
        let mut data = [0; 1000];
        let (len, from) = receiver.recv_from(&mut data).expect("one");
        assert_eq!((&data[..len], &from), (&b"one"[..], &own), "{transport}");
        // Both calls discard data that does not fit.
        let (len, _) = receiver.recv_from(&mut data[..3]).expect("two");
        assert_eq!(&data[..len], b"and");
        assert_eq!(receiver.recv(&mut data[..10]).expect("three"), 10);
        receiver.set_nonblocking(true).expect("open");
        fails(receiver.recv(&mut data), libc::EAGAIN);
        fails(receiver.recv_from(&mut data), libc::EAGAIN);
        fails(receiver.send(b"x"), libc::EDESTADDRREQ);
        fails(receiver.send_to(&[], b"x"), libc::EDESTADDRREQ);
        fails(receiver.peer_address(), libc::ENOTCONN);
        fails(receiver.listen(1), libc::EOPNOTSUPP);
        fails(receiver.accept(), libc::EOPNOTSUPP);
        fails(sender.send_to(&address, &vec![0; 1 << 20]), libc::EMSGSIZE);
    }
}

#[test]
fn default_destination_filters_received_datagrams() {
    for transport in WITH_DATAGRAMS {
        let directory = directory();
        let (receiver, address) = bound(directory.path(), transport);
        let (friend, friends) = bound(directory.path(), transport);
        let (stranger, _) = bound(directory.path(), transport);
        receiver.connect(&friends).expect("any address");
        assert_eq!(receiver.peer_address().expect("set"), friends);
        stranger.send_to(&address, b"stranger").expect("room");
        friend.connect(&address).expect("any address");
        assert_eq!(friend.send(b"friend").expect("room"), 6);
        let mut data = [0; 100];
        assert_eq!((receiver.recv(&mut data).expect("one"), &data[..6]), (6, &b"friend"[..]), "{transport}");
        assert_eq!(receiver.send(b"answer").expect("room"), 6);
        assert_eq!(friend.recv_from(&mut data).expect("one"), (6, address.clone()));
        // Without a default destination again.
        receiver.connect(&[]).expect("open");
        fails(receiver.send(b"x"), libc::EDESTADDRREQ);
        stranger.send_to(&address, b"stranger").expect("room");
        assert_eq!(receiver.recv(&mut data).expect("one"), 8);
    }
}

#[test]
fn refused_datagram_is_reported_once_with_a_default_destination() {
    for transport in WITH_DATAGRAMS {
        let directory = directory();
        let (gone, address) = bound(directory.path(), transport);
        // It would get the address that is given up.
        let (sender, _) = bound(directory.path(), transport);
        drop(gone);
        // Without one no process asks for errors.
        sender.send_to(&address, b"lost").expect("room");
        std::thread::sleep(Duration::from_millis(50));
        sender.set_nonblocking(true).expect("open");
        fails(sender.recv(&mut [0; 8]), libc::EAGAIN);
        sender.connect(&address).expect("any address");
        sender.send(b"lost").expect("room");
        let start = Instant::now();
        let error = loop {
            match sender.recv(&mut [0; 8]) {
                Err(error) if error.raw_os_error() != Some(libc::EAGAIN) => break error,
                Err(_) => {}
                Ok(len) => panic!("{len} bytes"),
            }
            assert!(start.elapsed() < PATIENCE, "{transport}: no error");
            let _ = sender.poll(Events::IN, Some(Duration::from_millis(10)));
        };
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED), "{transport}");
        fails(sender.recv(&mut [0; 8]), libc::EAGAIN);
    }
}

#[test]
fn kernel_sockets_are_peers() {
    for transport in ["udp", "inet-udp"] {
        let directory = directory();
        let (socket, address) = bound(directory.path(), transport);
        let peer = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let at = InternetAddress::decode(&address).expect("an address of IP");
        peer.send_to(b"over UDP", at).expect("room");
        let mut data = [0; 100];
        let (len, from) = socket.recv_from(&mut data).expect("one");
        assert_eq!(&data[..len], b"over UDP");
        assert_eq!(InternetAddress::decode(&from), peer.local_addr().ok());
        socket.connect(&from).expect("any address");
        socket.send(b"and back").expect("room");
        peer.set_read_timeout(Some(PATIENCE)).expect("open");
        let (len, from) = peer.recv_from(&mut data).expect("one");
        assert_eq!((&data[..len], from), (&b"and back"[..], at));
    }
}

//! Many datagrams per call over the loopback interface.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use super::*;

fn pair() -> (UdpSocket, UdpSocket) {
    let bound = || UdpSocket::bind("127.0.0.1:0").expect("loopback can be bound");
    let (sender, receiver) = (bound(), bound());
    sender.connect(receiver.local_addr().expect("bound")).expect("connects");
    receiver.connect(sender.local_addr().expect("bound")).expect("connects");
    receiver.set_read_timeout(Some(Duration::from_millis(200))).expect("a valid timeout");
    (sender, receiver)
}

#[test]
fn a_batch_arrives_datagram_by_datagram() {
    let (sender, receiver) = pair();
    for size in [1, 7, 8, 100] {
        let mut out = Batch::new(16, size, 8);
        for index in 0..16 {
            out.slot(index).fill(index as u8);
        }
        assert_eq!(out.send(&sender, 2, 10).expect("sendmmsg"), 10);
        let mut into = Batch::new(32, size, 8);
        let mut next = 2u8;
        while next < 12 {
            for index in 0..into.receive(&receiver).expect("recvmmsg") {
                assert_eq!(into.received(index), vec![next; size]);
                next += 1;
            }
        }
        assert_eq!(next, 12);
    }
}

#[test]
fn an_empty_socket_times_out() {
    let (_sender, receiver) = pair();
    let error = Batch::new(4, 8, 8).receive(&receiver).expect_err("nothing was sent");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_shorter_datagram_keeps_its_length() {
    let (sender, receiver) = pair();
    sender.send(&[5; 3]).expect("send");
    let mut into = Batch::new(4, 8, 8);
    assert_eq!(into.receive(&receiver).expect("recvmmsg"), 1);
    assert_eq!(into.received(0), [5; 3]);
}

#[test]
fn segments_arrive_together_with_their_length() {
    let (sender, receiver) = pair();
    if let Err(error) = set_segment_bytes(&sender, 100).and_then(|()| accept_segments(&receiver)) {
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT), "{error}");
        return;
    }
    let message: Vec<u8> = (0..950).map(|position| (position / 100) as u8).collect();
    sender.send(&message).expect("ten segments");
    let mut buffer = vec![0; 65_536];
    let mut received = Vec::new();
    while received.len() < message.len() {
        let segments = receive_segments(&receiver, &mut buffer).expect("recvmsg");
        // The rest of 50 bytes may come on its own; everything else is cut at 100.
        assert!(segments.segment_bytes == 100 || segments.bytes == 50, "{segments:?}");
        received.extend_from_slice(&buffer[..segments.bytes]);
    }
    assert_eq!(received, message);
}

#[test]
fn a_single_datagram_is_one_segment() {
    let (sender, receiver) = pair();
    if accept_segments(&receiver).is_err() {
        return;
    }
    sender.send(&[9; 33]).expect("send");
    let mut buffer = vec![0; 64];
    let segments = receive_segments(&receiver, &mut buffer).expect("recvmsg");
    assert_eq!(segments, Segments { bytes: 33, segment_bytes: 33 });
}

//! Two processes with different directories of devices: their datagrams go through sockets, which is said once.

use std::fs::File;
use std::io::{Read, Seek};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::{PATIENCE, bound, received, send};
use crate::common::users::started;
use crate::common::{child, in_own_process, joined, private_directory, within};

/// What a process writes to standard error that sends from an endpoint of a directory to that address.
fn said(directory: &Path, to: std::net::SocketAddr) -> String {
    let mut told = tempfile::tempfile().expect("a file");
    let standard_error: &File = &told;
    joined(child(|| {
        // SAFETY: two open numbers.
        unsafe { libc::dup2(standard_error.as_raw_fd(), 2) };
        for _ in 0..2 {
            let (endpoint, _) = bound(directory, "127.0.0.1:0");
            (0..3).for_each(|_| send(&endpoint, to, b"x"));
        }
        Ok(())
    }));
    let mut text = String::new();
    told.rewind().expect("a file");
    told.read_to_string(&mut text).expect("text");
    text
}

#[test]
fn datagrams_between_two_directories_arrive_through_sockets_which_is_said_once() {
    in_own_process!();
    within(PATIENCE, "two directories".to_owned());
    let (one, two) = (private_directory(), private_directory());
    let port = UdpSocket::bind("127.0.0.1:0").expect("a free port").local_addr().expect("known");
    let mut receiver = started(|ready| {
        let (endpoint, has) = bound(one.path(), &port.to_string());
        assert_eq!(has, port);
        ready();
        loop {
            received(&endpoint);
        }
    });
    let told = said(two.path(), port);
    assert_eq!(told.lines().count(), 1, "{told}");
    for text in [
        &port.to_string(),
        one.path().to_str().expect("text"),
        two.path().to_str().expect("text"),
        "HEADWATER_RUNTIME_DIR",
    ] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(said(one.path(), port), "", "one directory");
    receiver.kill();
    receiver.wait().expect("wait");
    let socket = UdpSocket::bind(port).expect("the port is free");
    assert_eq!(said(two.path(), port), "", "a program that knows sockets alone");
    assert_eq!(socket.recv(&mut [0; 8]).expect("it has come"), 1);
    drop(socket);
    assert_eq!(said(two.path(), port), "", "no program");
}

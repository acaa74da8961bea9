//! The calls of sockets over transports: connections, datagrams, their errors, and sockets that several processes share.

mod connections;
mod datagrams;
#[path = "../../../streams/tests/common/own_process.rs"]
mod own_process;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use headwater_streams::tpi::InternetAddress;
use headwater_xti::{EndpointOptions, Socket};

const PATIENCE: Duration = Duration::from_secs(30);

fn directory() -> tempfile::TempDir {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().expect("a directory")
}

fn open(directory: &Path, transport: &str) -> Socket {
    EndpointOptions::new().directory(directory).socket(transport).expect("a free number")
}

/// Returns a free address of this machine for a transport.
fn any_address(transport: &str) -> Vec<u8> {
    match transport {
        "ticlts" | "ticots" | "ticotsord" => Vec::new(),
        _ => InternetAddress::from(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).bytes().to_vec(),
    }
}

/// A socket with an address.
fn bound(directory: &Path, transport: &str) -> (Socket, Vec<u8>) {
    let socket = open(directory, transport);
    socket.bind(&any_address(transport)).expect("a free address");
    let address = socket.local_address().expect("bound");
    (socket, address)
}

/// Returns two connected sockets, first the one that has connected.
fn connected(directory: &Path, transport: &str) -> (Socket, Socket) {
    let (listener, address) = bound(directory, transport);
    listener.listen(4).expect("it has connections");
    let near = open(directory, transport);
    let (far, from) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| near.connect(&address).expect("accepted"));
        let accepted = listener.accept().expect("a caller");
        asking.join().expect("no panic");
        accepted
    });
    assert_eq!(near.peer_address().expect("connected"), address);
    assert_eq!(from, near.local_address().expect("bound"));
    assert_eq!(far.peer_address().expect("connected"), from);
    (near, far)
}

#[track_caller]
fn fails<T: std::fmt::Debug>(done: io::Result<T>, expected: i32) {
    let error = done.expect_err("it fails");
    assert_eq!(error.raw_os_error(), Some(expected), "{error}");
}

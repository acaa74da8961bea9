//! Connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Instant;

use headwater_streams::Events;
use headwater_streams::tpi::InternetAddress;
use headwater_xti::Direction;

use super::{PATIENCE, any_address, bound, connected, directory, fails, open};

const WITH_CONNECTIONS: [&str; 3] = ["ticots", "ticotsord", "inet-tcp"];
const ORDERLY: [&str; 2] = ["ticotsord", "inet-tcp"];

#[test]
fn data_is_received_in_both_directions() {
    for transport in WITH_CONNECTIONS {
        let directory = directory();
        let (near, far) = connected(directory.path(), transport);
        let long: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut sent = 0;
                while sent < long.len() {
                    sent += near.send(&long[sent..]).expect("connected");
                }
            });
            let (mut got, mut piece) = (Vec::new(), [0; 7_000]);
            while got.len() < long.len() {
                let len = far.recv(&mut piece).expect("connected");
                assert!(len > 0, "{transport}: the end after {} bytes", got.len());
                got.extend_from_slice(&piece[..len]);
            }
            assert!(got == long, "{transport}: other bytes");
        });
        assert_eq!(far.send(b"back").expect("connected"), 4);
        let mut text = [0; 16];
        assert_eq!((near.recv(&mut text).expect("data"), &text[..4]), (4, &b"back"[..]));
    }
}

#[test]
fn shutdown_ends_one_direction_for_all_readers() {
    for transport in ORDERLY {
        let directory = directory();
        let (near, far) = connected(directory.path(), transport);
        near.send(b"last").expect("connected");
        near.shutdown(Direction::Write).expect("orderly");
        for _ in 0..3 {
            fails(near.send(b"x"), libc::EPIPE);
        }
        let mut text = [0; 16];
        assert_eq!((far.recv(&mut text).expect("data"), &text[..4]), (4, &b"last"[..]));
        for _ in 0..3 {
            assert_eq!(far.recv(&mut text).expect("the end"), 0, "{transport}");
        }
        assert!(far.poll(Events::IN, Some(PATIENCE)).expect("open").contains(Events::IN));
        // The other direction.
        far.send(b"answer").expect("half open");
        assert_eq!((near.recv(&mut text).expect("data"), &text[..6]), (6, &b"answer"[..]));
        far.shutdown(Direction::Write).expect("orderly");
        near.set_nonblocking(true).expect("open");
        while near.recv(&mut text).is_err_and(|error| error.raw_os_error() == Some(libc::EAGAIN)) {
            near.poll(Events::IN, Some(PATIENCE)).expect("open");
        }
        assert_eq!(near.recv(&mut text).expect("the end"), 0);
        assert!(near.poll(Events::IN, Some(PATIENCE)).expect("open").contains(Events::IN));
    }
}

#[test]
fn shutdown_for_reading_ends_receiving() {
    let directory = directory();
    let (near, far) = connected(directory.path(), "ticotsord");
    near.shutdown(Direction::Read).expect("connected");
    far.send(b"too late").expect("connected");
    let mut text = [0; 16];
    for _ in 0..3 {
        assert_eq!(near.recv(&mut text).expect("the end"), 0);
    }
    near.send(b"goes on").expect("connected");
    assert_eq!(far.recv(&mut text).expect("data"), 7);
}

#[test]
fn close_reads_as_end_after_the_data() {
    for transport in WITH_CONNECTIONS {
        let directory = directory();
        let (near, far) = connected(directory.path(), transport);
        near.send(b"last").expect("connected");
        drop(near);
        let mut text = [0; 16];
        assert_eq!((far.recv(&mut text).expect("data"), &text[..4]), (4, &b"last"[..]), "{transport}");
        assert_eq!(far.recv(&mut text).expect("the end"), 0, "{transport}");
        let start = Instant::now();
        // Over a network the first send may still succeed.
        while far.send(b"x").is_ok() {
            assert!(start.elapsed() < PATIENCE, "{transport}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        fails(far.send(b"x"), libc::EPIPE);
    }
}

#[test]
fn connect_is_refused_without_a_listener() {
    for transport in WITH_CONNECTIONS {
        let directory = directory();
        // An address that no socket has, and one that does not listen.
        let (other, taken) = bound(directory.path(), transport);
        for _ in 0..2 {
            let socket = open(directory.path(), transport);
            fails(socket.connect(&taken), libc::ECONNREFUSED);
            fails(socket.send(b"x"), libc::ENOTCONN);
            fails(socket.recv(&mut [0]), libc::ENOTCONN);
            fails(socket.peer_address(), libc::ENOTCONN);
            fails(socket.shutdown(Direction::Write), libc::ENOTCONN);
            assert!(socket.take_error().expect("open").is_none());
        }
        other.listen(1).expect("bound");
        let socket = open(directory.path(), transport);
        // A request that the provider refuses has no effect.
        fails(socket.connect(&[0xff; 200]), libc::EADDRNOTAVAIL);
        let _far = std::thread::scope(|scope| {
            let asking = scope.spawn(|| socket.connect(&taken));
            let far = other.accept().expect("a caller");
            asking.join().expect("no panic").expect("it listens now");
            far
        });
        fails(socket.connect(&taken), libc::EISCONN);
    }
}

#[test]
fn nonblocking_connect_does_not_wait() {
    for transport in ["ticots", "ticotsord"] {
        let directory = directory();
        let (listener, address) = bound(directory.path(), transport);
        listener.listen(2).expect("bound");
        let socket = open(directory.path(), transport);
        socket.set_nonblocking(true).expect("open");
        fails(socket.connect(&address), libc::EINPROGRESS);
        fails(socket.connect(&address), libc::EALREADY);
        let short = std::time::Duration::from_millis(20);
        assert_eq!(socket.poll(Events::OUT, Some(short)).expect("open"), Events::empty());
        fails(socket.send(b"x"), libc::ENOTCONN);
        let far = std::thread::scope(|scope| {
            let polling = scope.spawn(|| socket.poll(Events::OUT, Some(PATIENCE)).expect("open"));
            std::thread::sleep(short);
            let (far, _) = listener.accept().expect("a caller");
            assert_eq!(polling.join().expect("no panic"), Events::OUT);
            far
        });
        socket.connect(&address).expect("it is there");
        fails(socket.connect(&address), libc::EISCONN);
        socket.send(b"x").expect("connected");
        assert_eq!(far.recv(&mut [0; 8]).expect("data"), 1);

        // One that is refused in the end.
        let socket = open(directory.path(), transport);
        socket.set_nonblocking(true).expect("open");
        fails(socket.connect(&address), libc::EINPROGRESS);
        drop(listener);
        assert_eq!(socket.poll(Events::OUT, Some(PATIENCE)).expect("open"), Events::OUT);
        fails(socket.connect(&address), libc::ECONNREFUSED);
        assert!(socket.take_error().expect("open").is_none());
    }
}

#[test]
fn accept_skips_callers_that_are_gone() {
    for transport in ["ticots", "ticotsord"] {
        let directory = directory();
        let (listener, address) = bound(directory.path(), transport);
        listener.listen(8).expect("bound");
        let gone = open(directory.path(), transport);
        gone.set_nonblocking(true).expect("open");
        fails(gone.connect(&address), libc::EINPROGRESS);
        drop(gone);
        let socket = open(directory.path(), transport);
        socket.set_nonblocking(true).expect("open");
        fails(socket.connect(&address), libc::EINPROGRESS);
        let (far, from) = listener.accept().expect("a caller");
        assert_eq!(from, socket.local_address().expect("bound"));
        assert_eq!(socket.poll(Events::OUT, Some(PATIENCE)).expect("open"), Events::OUT);
        socket.connect(&address).expect("it is there");
        far.send(b"hello").expect("connected");
        assert_eq!(socket.recv(&mut [0; 8]).expect("data"), 5);
        listener.set_nonblocking(true).expect("open");
        fails(listener.accept(), libc::EAGAIN);
    }
}

#[test]
fn address_is_bound_once() {
    for transport in WITH_CONNECTIONS {
        let directory = directory();
        let (listener, address) = bound(directory.path(), transport);
        listener.listen(1).expect("bound");
        let other = open(directory.path(), transport);
        fails(other.bind(&address), libc::EADDRINUSE);
        other.bind(&any_address(transport)).expect("a free one");
        fails(other.bind(&any_address(transport)), libc::EINVAL);
        fails(other.recv_from(&mut [0]), libc::EOPNOTSUPP);
        fails(other.send_to(&address, b"x"), libc::EOPNOTSUPP);
    }
    fails(headwater_xti::EndpointOptions::new().directory(directory().path()).socket("nuls"), libc::ENXIO);
    fails(headwater_xti::EndpointOptions::new().socket("no-driver"), libc::ENXIO);
}

/// A client and a server of the kernel's sockets at the other end.
#[test]
fn kernel_sockets_are_peers() {
    let directory = directory();
    let (listener, address) = bound(directory.path(), "inet-tcp");
    listener.listen(4).expect("bound");
    let at = InternetAddress::decode(&address).expect("an address of IP");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut peer = TcpStream::connect(at).expect("it listens");
            peer.write_all(b"over TCP").expect("connected");
            peer.shutdown(Shutdown::Write).expect("connected");
            let mut text = String::new();
            peer.read_to_string(&mut text).expect("connected");
            assert_eq!(text, "and back");
        });
        let (near, _) = listener.accept().expect("a caller");
        let (mut got, mut piece) = (Vec::new(), [0; 3]);
        loop {
            match near.recv(&mut piece).expect("connected") {
                0 => break,
                len => got.extend_from_slice(&piece[..len]),
            }
        }
        assert_eq!(got, b"over TCP");
        near.send(b"and back").expect("half open");
        near.shutdown(Direction::Write).expect("orderly");
    });

    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let socket = open(directory.path(), "inet-tcp");
    socket.connect(InternetAddress::from(server.local_addr().expect("bound")).bytes()).expect("it listens");
    let (mut peer, _) = server.accept().expect("a caller");
    socket.send(b"to the kernel").expect("connected");
    let mut text = [0; 13];
    peer.read_exact(&mut text).expect("connected");
    assert_eq!(&text, b"to the kernel");
}

/// A forked process shares the socket: a direction that one process shuts down has ended for both.
#[test]
fn processes_share_a_shutdown() {
    // A child has copies of the sockets of other tests, and keeps their addresses taken.
    let Some(_alone) = super::own_process::run_in_own_process() else { return };
    let directory = directory();
    let (near, far) = connected(directory.path(), "ticotsord");
    // SAFETY: the child only calls the socket, and exits without running the parent's destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = near.shutdown(Direction::Write).is_ok() && far.recv(&mut [0; 8]).is_ok_and(|len| len == 0);
        // SAFETY: no memory is involved.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = -1;
    // SAFETY: `status` is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    fails(near.send(b"x"), libc::EPIPE);
    assert_eq!(far.recv(&mut [0; 8]).expect("the end, once more"), 0);
    far.send(b"goes on").expect("half open");
    assert_eq!(near.recv(&mut [0; 8]).expect("data"), 7);
}

//! Sockets of the internet's protocols: UDP, TCP and raw IP. None of the calls waits.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::net::{
    AddressFamily, Protocol, RawProtocol, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind,
    connect, connect_unspec, getpeername, getsockname, listen, recv, send, shutdown, socket_with, sockopt,
};

use crate::own_numbers::settled;

mod control;
mod datagram;
mod namespace;
mod setting;

pub use datagram::{Fields, IpOptions, Undelivered, receive, send_to, send_with, undelivered};
pub use namespace::{is_udp, namespace, source_within_machine};
pub use setting::{Setting, never_linger};

/// A kind of socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UDP.
    Datagrams,
    /// TCP.
    Connections,
    /// An IP protocol of that number, without a transport.
    Raw(u8),
}

/// Makes a socket that does not wait, closed by exec. One for datagrams reports those that were not delivered: see [`undelivered`].
///
/// # Errors
/// The errors of socket(2) and setsockopt(2): `EPERM` for a raw socket without `CAP_NET_RAW`.
pub fn open(kind: Kind, is_v6: bool) -> io::Result<OwnedFd> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let (of, protocol) = match kind {
        Kind::Datagrams => (SocketType::DGRAM, None),
        Kind::Connections => (SocketType::STREAM, None),
        Kind::Raw(number) => {
            let number = RawProtocol::new(number.into()).ok_or(rustix::io::Errno::PROTONOSUPPORT)?;
            (SocketType::RAW, Some(Protocol::from_raw(number)))
        }
    };
    let socket = settled(socket_with(family, of, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)?);
    if kind != Kind::Connections {
        datagram::prepare(socket.as_fd(), is_v6)?;
    }
    Ok(socket)
}

/// How many bytes of a connection its other end has not acknowledged; the end of what is sent is one more.
///
/// # Errors
/// The errors of ioctl(2).
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes a number there.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(count.unsigned_abs()) }
}

/// Gives the socket an address.
///
/// # Errors
/// The errors of bind(2).
pub fn take_address(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    Ok(bind(socket, &address)?)
}

/// Lets others connect to the socket: the kernel completes so many connections before [`accept`] takes them.
///
/// # Errors
/// The errors of listen(2).
pub fn wait_for_calls(socket: BorrowedFd<'_>, waiting: u32) -> io::Result<()> {
    Ok(listen(socket, waiting.min(i32::MAX as u32) as i32)?)
}

/// Takes a connection that another has made.
///
/// # Errors
/// `WouldBlock` if there is none; the errors of accept(2).
pub fn accept(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(settled(accept_with(socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?))
}

/// Begins to connect. False: it is under way, and the socket is writable when it is over.
///
/// # Errors
/// The errors of connect(2).
pub fn call(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<bool> {
    match connect(socket, &address) {
        Err(rustix::io::Errno::INPROGRESS) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

/// Whether the socket's call for a connection is under way.
pub fn is_calling(socket: BorrowedFd<'_>) -> bool {
    /// TCP_SYN_SENT, TCP_SYN_RECV of the kernel.
    const CALLING: [u8; 2] = [2, 3];
    // The first byte of the structure tcp_info is the state.
    let (mut state, mut len) = (0u8, 1);
    // SAFETY: the kernel writes at most `len` bytes, which `state` has.
    let done = unsafe {
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut state).cast(), &raw mut len)
    };
    done == 0 && CALLING.contains(&state)
}

/// The error that the socket has met since it was asked last.
///
/// # Errors
/// The errors of getsockopt(2), and the error.
pub fn check(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Ends a connection at once: the peer gets a reset, whichever processes have copies of the socket.
///
/// # Errors
/// The errors of connect(2).
pub fn abort(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(connect_unspec(socket)?)
}

/// Ends this socket's direction of a connection, behind all that was sent.
///
/// # Errors
/// The errors of shutdown(2).
pub fn end_sending(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(shutdown(socket, Shutdown::Write)?)
}

/// The socket's own address.
///
/// # Errors
/// The errors of getsockname(2).
pub fn own_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    Ok(getsockname(socket)?.try_into()?)
}

/// The address of the other end of a connection.
///
/// # Errors
/// `NotConnected`; the errors of getpeername(2).
pub fn other_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    match getpeername(socket)? {
        Some(address) => Ok(address.try_into()?),
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// Sends bytes of a connection, and returns how many; the last one as urgent if that is asked for.
///
/// # Errors
/// `WouldBlock` if the socket is full; the errors of send(2). There is no SIGPIPE.
pub fn send_bytes(socket: BorrowedFd<'_>, data: &[u8], is_urgent: bool) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | if is_urgent { SendFlags::OOB } else { SendFlags::empty() };
    Ok(send(socket, data, flags)?)
}

/// Receives bytes of a connection into the free room of an empty buffer: none at the end.
///
/// # Errors
/// `WouldBlock` if there are none; the errors of recv(2).
pub fn receive_bytes(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    Ok(recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT)?.0)
}

/// Receives the urgent byte of a connection.
///
/// # Errors
/// `InvalidInput` if there is none, or it was taken; `WouldBlock` if it is announced and has not come; the errors of recv(2).
pub fn receive_urgent(socket: BorrowedFd<'_>) -> io::Result<Option<u8>> {
    let mut byte = [0; 1];
    let (_, count) = recv(socket, &mut byte[..], RecvFlags::DONTWAIT | RecvFlags::OOB)?;
    Ok((count > 0).then_some(byte[0]))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::readiness::{self, Watched};

    fn until_ready(socket: &OwnedFd, events: u16) {
        let mut polled = [Watched::new(socket.as_fd(), events)];
        readiness::wait(&mut polled, Some(Duration::from_secs(10))).expect("poll");
        assert_ne!(polled[0].ready, 0, "nothing happened");
    }

    pub(super) fn bound(kind: Kind, is_v6: bool) -> OwnedFd {
        let socket = open(kind, is_v6).expect("a socket");
        let address = if is_v6 { "[::1]:0" } else { "127.0.0.1:0" };
        take_address(socket.as_fd(), address.parse().unwrap()).expect("a port");
        socket
    }

    #[test]
    fn a_connection_carries_bytes_and_an_urgent_one_and_is_aborted() {
        let listener = bound(Kind::Connections, false);
        wait_for_calls(listener.as_fd(), 1).expect("listen");
        let caller = open(Kind::Connections, false).expect("a socket");
        call(caller.as_fd(), own_address(listener.as_fd()).expect("bound")).expect("a listener");
        until_ready(&listener, Watched::IN);
        let called = accept(listener.as_fd()).expect("one");
        until_ready(&caller, Watched::OUT);
        check(caller.as_fd()).expect("connected");
        assert_eq!(other_address(called.as_fd()).unwrap(), own_address(caller.as_fd()).unwrap());
        assert_eq!(send_bytes(caller.as_fd(), b"ab", true).expect("room"), 2);
        until_ready(&called, Watched::IN);
        let mut bytes = Vec::with_capacity(8);
        assert_eq!(receive_bytes(called.as_fd(), &mut bytes).expect("there"), 1);
        assert_eq!((&bytes[..], receive_urgent(called.as_fd()).expect("there")), (&b"a"[..], Some(b'b')));
        abort(caller.as_fd()).expect("connected");
        until_ready(&called, Watched::IN);
        let error = receive_bytes(called.as_fd(), &mut bytes).expect_err("a reset");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn settings_are_read_as_they_were_set() {
        let sockets = [false, true].map(|is_v6| open(Kind::Connections, is_v6).expect("a socket"));
        for (setting, words) in [
            (Setting::Linger, [1, 7]),
            (Setting::Linger, [1, 0]),
            (Setting::Linger, [1, 8]),
            (Setting::Linger, [0, 0]),
            (Setting::TimeToLive, [9, 0]),
            (Setting::TypeOfService, [16, 0]),
            (Setting::NoDelay, [1, 0]),
            (Setting::KeepAliveAfter, [77, 0]),
        ] {
            for socket in &sockets {
                setting.set(socket.as_fd(), words).expect("allowed");
                assert_eq!(setting.get(socket.as_fd()).expect("there"), words, "{setting:?}");
            }
        }
        let error = Setting::TimeToLive.set(sockets[0].as_fd(), [256, 0]).expect_err("a byte");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

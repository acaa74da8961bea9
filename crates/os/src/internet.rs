//! Internet sockets: UDP, TCP and raw IP. No call waits.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::net::{
    AddressFamily, Protocol, RawProtocol, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with,
    connect_unspec, getpeername, getsockname, recv, send, shutdown, socket_with, sockopt,
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
    /// Raw IP, with this protocol number.
    Raw(u8),
}

/// Makes a non-blocking socket, which is closed by exec. A socket for datagrams reports those that were not delivered; see
/// [`undelivered`].
///
/// # Errors
/// The errors of socket(2) and setsockopt(2): `EPERM` for a raw socket without `CAP_NET_RAW`.
pub fn open(kind: Kind, is_v6: bool) -> io::Result<OwnedFd> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let (socket_type, protocol) = match kind {
        Kind::Datagrams => (SocketType::DGRAM, None),
        Kind::Connections => (SocketType::STREAM, None),
        Kind::Raw(number) => {
            let number = RawProtocol::new(number.into()).ok_or(rustix::io::Errno::PROTONOSUPPORT)?;
            (SocketType::RAW, Some(Protocol::from_raw(number)))
        }
    };
    let socket = settled(socket_with(family, socket_type, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)?);
    if kind != Kind::Connections {
        datagram::prepare(socket.as_fd(), is_v6)?;
    }
    Ok(socket)
}

/// Returns the number of sent bytes that the other end of a connection has not acknowledged. The end of the data (FIN) counts
/// as one byte.
///
/// # Errors
/// The errors of ioctl(2).
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes a number there.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(count.unsigned_abs()) }
}

/// Binds the socket to an address.
///
/// # Errors
/// The errors of bind(2).
pub fn bind(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    Ok(rustix::net::bind(socket, &address)?)
}

/// Makes the socket listen. The kernel completes up to `waiting` connections before [`accept`] takes them.
///
/// # Errors
/// The errors of listen(2).
pub fn listen(socket: BorrowedFd<'_>, waiting: u32) -> io::Result<()> {
    Ok(rustix::net::listen(socket, waiting.min(i32::MAX as u32) as i32)?)
}

/// Accepts a connection.
///
/// # Errors
/// `WouldBlock` if none is waiting; the errors of accept(2).
pub fn accept(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(settled(accept_with(socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?))
}

/// Begins to connect, and returns whether the connection is complete. If not, the socket becomes writable when the attempt is
/// over.
///
/// # Errors
/// The errors of connect(2).
pub fn connect(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<bool> {
    match rustix::net::connect(socket, &address) {
        Err(rustix::io::Errno::INPROGRESS) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

/// Returns whether the socket is still connecting.
pub fn is_connecting(socket: BorrowedFd<'_>) -> bool {
    /// The kernel's states TCP_SYN_SENT and TCP_SYN_RECV.
    const CONNECTING: [u8; 2] = [2, 3];
    // The first byte of `tcp_info` is the state.
    let (mut state, mut len) = (0u8, 1);
    // SAFETY: the kernel writes at most `len` bytes, which `state` has.
    let done = unsafe {
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut state).cast(), &raw mut len)
    };
    done == 0 && CONNECTING.contains(&state)
}

/// Takes the pending error of the socket.
///
/// # Errors
/// The pending error; the errors of getsockopt(2).
pub fn check(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Aborts a connection: the peer gets a reset, also if other processes have copies of the socket.
///
/// # Errors
/// The errors of connect(2).
pub fn abort(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(connect_unspec(socket)?)
}

/// Ends sending over a connection, after all data that was sent.
///
/// # Errors
/// The errors of shutdown(2).
pub fn shutdown_write(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(shutdown(socket, Shutdown::Write)?)
}

/// Returns the socket's own address.
///
/// # Errors
/// The errors of getsockname(2).
pub fn own_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    Ok(getsockname(socket)?.try_into()?)
}

/// Returns the address of the other end of a connection.
///
/// # Errors
/// `NotConnected`; the errors of getpeername(2).
pub fn other_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    match getpeername(socket)? {
        Some(address) => Ok(address.try_into()?),
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// Sends bytes over a connection, and returns how many were sent. If `is_urgent`, the last byte is sent as urgent.
///
/// # Errors
/// `WouldBlock` if the socket is full; the errors of send(2). There is no SIGPIPE.
pub fn send_bytes(socket: BorrowedFd<'_>, data: &[u8], is_urgent: bool) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | if is_urgent { SendFlags::OOB } else { SendFlags::empty() };
    Ok(send(socket, data, flags)?)
}

/// Receives bytes from a connection into the spare capacity of an emptied buffer. Returns 0 at the end of the data.
///
/// # Errors
/// `WouldBlock` if there is no data; the errors of recv(2).
pub fn receive_bytes(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    Ok(recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT)?.0)
}

/// Receives the urgent byte of a connection.
///
/// # Errors
/// `InvalidInput` if there is none, or it was received before; `WouldBlock` if it was announced but has not arrived; the
/// errors of recv(2).
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
        bind(socket.as_fd(), address.parse().unwrap()).expect("a port");
        socket
    }

    #[test]
    fn connection_carries_urgent_bytes_and_is_aborted() {
        let listener = bound(Kind::Connections, false);
        listen(listener.as_fd(), 1).expect("listen");
        let caller = open(Kind::Connections, false).expect("a socket");
        connect(caller.as_fd(), own_address(listener.as_fd()).expect("bound")).expect("a listener");
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

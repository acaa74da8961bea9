//! `tcp`: a TCP connection over the loopback interface, with `TCP_NODELAY` at both ends, so that a small message never
//! waits for the acknowledgement of the previous one. The buffers are the machine's, which adapts their size.
//!
//! `tcp-nagle`: the same without that option, as netperf's TCP_STREAM has it: the sender collects small messages until
//! the previous ones are acknowledged (Nagle's algorithm, RFC 896).
//!
//! The listener uses a port of 127.0.0.1 that the kernel chooses, accepts this one connection and is closed.

use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, accept_with, bind, connect, getpeername,
    getsockname, listen, socket_with,
};

use super::pipe::set_nonblocking;
use super::unix::SocketEnd;
use super::{Info, Setup, Transport, Unavailable};

/// A TCP connection with TCP_NODELAY.
#[derive(Debug)]
pub struct Tcp;

impl Transport for Tcp {
    type End = SocketEnd;

    const INFO: Info = Info {
        name: "tcp",
        summary: "TCP over loopback, TCP_NODELAY",
        blocking: "sleeps in recv and send",
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
        let (sender, receiver) = pair(setup)?;
        for end in [&sender, &receiver] {
            set_tcp_nodelay(&end.socket, true).map_err(|error| Unavailable::call("setsockopt TCP_NODELAY", error))?;
        }
        Ok((sender, receiver))
    }
}

/// A TCP connection with Nagle's algorithm.
#[derive(Debug)]
pub struct TcpNagle;

impl Transport for TcpNagle {
    type End = SocketEnd;

    const INFO: Info =
        Info { name: "tcp-nagle", summary: "TCP over loopback without TCP_NODELAY", special: true, ..Tcp::INFO };

    fn open(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
        pair(setup)
    }
}

/// Returns the two ends of a connection with the default options.
fn pair(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
    let (sender, receiver) = connection()?;
    if setup.nonblocking {
        for end in [&sender, &receiver] {
            set_nonblocking(end).map_err(|error| Unavailable::call("fcntl F_SETFL", error))?;
        }
    }
    Ok((SocketEnd { socket: sender }, SocketEnd { socket: receiver }))
}

/// Makes a connection over loopback. Returns the connecting end and the accepted one.
///
/// # Errors
/// [`Unavailable`] with the call that failed.
pub fn connection() -> Result<(OwnedFd, OwnedFd), Unavailable> {
    let socket = || {
        socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| Unavailable::call("socket", error))
    };
    let (listener, connecting) = (socket()?, socket()?);
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
        .map_err(|error| Unavailable::call("bind to 127.0.0.1", error))?;
    listen(&listener, 1).map_err(|error| Unavailable::call("listen", error))?;
    let address = getsockname(&listener).map_err(|error| Unavailable::call("getsockname", error))?;
    // The connection is complete as soon as it is in the listener's backlog.
    connect(&connecting, &address).map_err(|error| Unavailable::call("connect to 127.0.0.1", error))?;
    let own = getsockname(&connecting).map_err(|error| Unavailable::call("getsockname", error))?;
    loop {
        let accepted =
            accept_with(&listener, SocketFlags::CLOEXEC).map_err(|error| Unavailable::call("accept", error))?;
        // Any process of this machine may have connected first; such a connection is closed.
        if getpeername(&accepted).map_err(|error| Unavailable::call("getpeername", error))?.as_ref() == Some(&own) {
            return Ok((connecting, accepted));
        }
    }
}

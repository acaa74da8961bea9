//! `fifo-socket`: a named, one-way byte channel on an AF_UNIX stream socket: the implementation of FIFOs in older
//! FreeBSD kernels, with the socket buffers of this kernel.
//!
//! A listener is bound to a name and one connection is made; then the name and the listener are removed, before the
//! first message. Each end shuts down the direction that it does not use, so that the channel is one-way. A round trip
//! takes two channels.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::unlink;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, shutdown,
    socket_with,
};

use super::fifo::one_way_pair;
use super::pipe::{PipeEnd, set_nonblocking};
use super::{Info, Setup, Transport, Unavailable};

/// The FIFO made of a socket.
#[derive(Debug)]
pub struct FifoSocket;

impl Transport for FifoSocket {
    type End = PipeEnd;

    const INFO: Info = Info {
        name: "fifo-socket",
        summary: "named one-way byte channel on an AF_UNIX stream socket, as FIFOs of older FreeBSD were",
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(PipeEnd, PipeEnd), Unavailable> {
        one_way_pair(setup, |name| one_way(setup, name))
    }
}

fn one_way(setup: &Setup<'_>, name: &str) -> Result<(OwnedFd, OwnedFd), Unavailable> {
    let path = setup.directory.join(format!("socket-{name}"));
    let (read, write) = connection(&path)?;
    shutdown(&read, Shutdown::Write)
        .and_then(|()| shutdown(&write, Shutdown::Read))
        .map_err(|error| Unavailable::call("shutdown", error))?;
    if setup.nonblocking {
        for end in [&read, &write] {
            set_nonblocking(end).map_err(|error| Unavailable::call("fcntl F_SETFL", error))?;
        }
    }
    Ok((read, write))
}

/// Makes a connection through the name `path`, and removes the name. Returns the accepted end, then the connecting one.
fn connection(path: &Path) -> Result<(OwnedFd, OwnedFd), Unavailable> {
    let address = SocketAddrUnix::new(path).map_err(|error| {
        Unavailable(format!("a socket's name of {} B: {error}; sun_path holds 108", path.as_os_str().len()))
    })?;
    let socket = || {
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| Unavailable::call("socket", error))
    };
    let (listener, write) = (socket()?, socket()?);
    bind(&listener, &address).map_err(|error| Unavailable::call("bind", error))?;
    // The connection waits in the listener's backlog until it is accepted.
    let connected = listen(&listener, 1).and_then(|()| connect(&write, &address));
    unlink(path).map_err(|error| Unavailable::call("unlink of the socket", error))?;
    connected.map_err(|error| Unavailable::call("connect", error))?;
    let read = accept_with(&listener, SocketFlags::CLOEXEC).map_err(|error| Unavailable::call("accept", error))?;
    Ok((read, write))
}

//! `unix-stream`, `unix-dgram`, `unix-seqpacket`: a connected pair of AF_UNIX sockets (`socketpair(2)`), one pair for
//! both directions. All three are reliable; a sender waits for room in its own send buffer.
//!
//! The datagram and sequenced-packet sockets refuse a message that does not fit the send buffer (`EMSGSIZE`). The
//! buffers keep the machine's default (`net.core.wmem_default`) unless a message needs more. Opening the pair sends one
//! message as a trial.
//!
//! The receiver of `unix-dgram` is not notified when its sender closes or dies, and waits on. A sender is notified of a
//! dead receiver (`ECONNREFUSED`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os_tools::library_calls;
use rustix::net::sockopt::{set_socket_send_buffer_size, socket_send_buffer_size};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// Bytes of the send buffer that are not available to a message: the kernel compares its length with the buffer minus
/// 32.
const OVERHEAD_BYTES: usize = 32;

/// The byte stream.
#[derive(Debug)]
pub struct UnixStream;

/// Datagrams.
#[derive(Debug)]
pub struct UnixDatagram;

/// A connection that keeps the boundaries of messages.
#[derive(Debug)]
pub struct UnixSeqpacket;

const INFO: Info = Info {
    name: "unix-stream",
    summary: "AF_UNIX stream socket pair",
    blocking: "sleeps in recv and send",
    ..Info::BYTES
};

impl Transport for UnixStream {
    type End = SocketEnd;
    const INFO: Info = INFO;

    fn open(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
        pair(setup, SocketType::STREAM)
    }
}

impl Transport for UnixDatagram {
    type End = SocketEnd;

    const INFO: Info =
        Info { name: "unix-dgram", summary: "AF_UNIX datagram socket pair", keeps_boundaries: true, ..INFO };

    fn open(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
        message_pair(setup, SocketType::DGRAM)
    }
}

impl Transport for UnixSeqpacket {
    type End = SocketEnd;

    const INFO: Info = Info {
        name: "unix-seqpacket",
        summary: "AF_UNIX sequenced-packet socket pair",
        keeps_boundaries: true,
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(SocketEnd, SocketEnd), Unavailable> {
        message_pair(setup, SocketType::SEQPACKET)
    }
}

fn pair(setup: &Setup<'_>, kind: SocketType) -> Result<(SocketEnd, SocketEnd), Unavailable> {
    let mode = if setup.nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    let (sender, receiver) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | mode, None)
        .map_err(|error| Unavailable::call("socketpair", error))?;
    Ok((SocketEnd { socket: sender }, SocketEnd { socket: receiver }))
}

/// Returns a pair that has passed one message of the setup's size in each direction that is used.
fn message_pair(setup: &Setup<'_>, kind: SocketType) -> Result<(SocketEnd, SocketEnd), Unavailable> {
    let (sender, receiver) = pair(setup, kind)?;
    make_room(&sender.socket, setup.size)?;
    try_message(&sender.socket, &receiver.socket, setup.size)?;
    if setup.duplex {
        make_room(&receiver.socket, setup.size)?;
        try_message(&receiver.socket, &sender.socket, setup.size)?;
    }
    Ok((sender, receiver))
}

/// Makes the send buffer large enough for a message of `size` bytes.
fn make_room(socket: &OwnedFd, size: usize) -> Result<(), Unavailable> {
    let bytes = || socket_send_buffer_size(socket).map_err(|error| Unavailable::call("getsockopt SO_SNDBUF", error));
    let needed = size.saturating_add(OVERHEAD_BYTES);
    let default = bytes()?;
    if default >= needed {
        return Ok(());
    }
    // The kernel doubles the requested size, for its own structures, up to twice net.core.wmem_max.
    set_socket_send_buffer_size(socket, needed).map_err(|error| Unavailable::call("setsockopt SO_SNDBUF", error))?;
    match bytes()? {
        raised if raised >= needed => Ok(()),
        raised => Err(Unavailable(format!(
            "a message of {size} B needs a send buffer of {needed} B, and this machine gives {raised} B; see \
             net.core.wmem_max"
        ))),
    }
}

/// Moves one message of `size` bytes, without waiting.
fn try_message(from: &OwnedFd, to: &OwnedFd, size: usize) -> Result<(), Unavailable> {
    let mut message = vec![0; size];
    let refused = |error: io::Error| Unavailable(format!("a message of {size} B: {error}"));
    let sent =
        send(from, &message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).map_err(|error| refused(error.into()))?;
    let (received, _) = recv(to, message.as_mut_slice(), RecvFlags::DONTWAIT).map_err(|error| refused(error.into()))?;
    if (sent, received) == (size, size) {
        Ok(())
    } else {
        Err(Unavailable(format!("of a message of {size} B, {sent} B were sent and {received} B received")))
    }
}

/// An end of a connected socket of any family.
#[derive(Debug)]
pub struct SocketEnd {
    /// Both directions.
    pub(super) socket: OwnedFd,
}

impl Endpoint for SocketEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        library_calls::send(&self.socket, message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        library_calls::recv(&self.socket, buffer)
    }

    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

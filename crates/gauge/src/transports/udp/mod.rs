//! The UDP transports over the loopback interface: [`plain`], several datagrams per call ([`batch`]), segmentation
//! offload ([`segment`]), and unconnected sockets ([`unconnected`]). This file creates the sockets for all of them.
//!
//! Both sockets are bound to 127.0.0.1 and, except in [`unconnected`], connected to each other. 131071 bytes are
//! requested for each buffer, as netperf's UDP_STREAM does in the published rows; the kernel doubles that to 262142,
//! for its own structures. Datagrams that do not fit the receiver's buffer are dropped: the sender does not wait, and
//! neither side is notified. A pattern that floods counts the losses. A round trip has one message in transit; if that
//! is lost, both sides sleep until the harness ends the launch.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use headwater_os_tools::library_calls;
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout, socket_recv_buffer_size,
    socket_send_buffer_size,
};
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, bind, connect, getsockname, socket_with,
};

use super::{Info, Loss, Setup, Unavailable};

pub mod batch;
pub mod plain;
pub mod segment;
pub mod unconnected;

/// Requested size in bytes of the send and the receive buffer (`SO_SNDBUF`, `SO_RCVBUF`).
pub(super) const BUFFER_BYTES: usize = 131_071;

/// The longest datagram of IPv4: 65535 bytes minus the headers of IP (20) and UDP (8).
const SIZE_MAX: usize = 65_507;

/// How long a receiver of a burst waits for a message.
const SILENCE: Duration = Duration::from_millis(5);

const INFO: Info = Info {
    name: "udp",
    summary: "UDP over loopback, one datagram per call, socket buffers 131071",
    blocking: "receiver sleeps in recv; a sender never waits, what does not fit is dropped",
    keeps_boundaries: true,
    loss: Loss::Possible,
    size_max: Some(SIZE_MAX),
    pollable: false,
    ..Info::BYTES
};

/// A connected socket, and whether its receive calls time out after [`SILENCE`].
#[derive(Debug)]
struct UdpSocket {
    socket: OwnedFd,
    gives_up: bool,
}

impl UdpSocket {
    #[inline]
    fn send(&self, message: &[u8]) -> io::Result<usize> {
        library_calls::send(&self.socket, message)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        library_calls::recv(&self.socket, buffer)
    }

    /// Makes receive calls time out after [`SILENCE`]. Called at the first burst, and never in a round trip, which then
    /// does not pay for a timer.
    #[inline]
    fn time_out_after_silence(&mut self) -> io::Result<()> {
        if !self.gives_up {
            receive_until_silence(&self.socket)?;
            self.gives_up = true;
        }
        Ok(())
    }
}

/// Makes receive calls of a socket time out after [`SILENCE`].
fn receive_until_silence(socket: impl AsFd) -> io::Result<()> {
    Ok(set_socket_timeout(&socket, Timeout::Recv, Some(SILENCE))?)
}

/// Returns two sockets that are connected to each other, for messages of at most `size_max` bytes.
fn pair(setup: &Setup<'_>, size_max: usize) -> Result<(UdpSocket, UdpSocket), Unavailable> {
    if setup.size > size_max {
        return Err(Unavailable(format!("a message holds at most {size_max} B")));
    }
    let (sender, receiver) = (bound(setup)?, bound(setup)?);
    for (from, to) in [(&sender, &receiver), (&receiver, &sender)] {
        let address = getsockname(to).map_err(|error| Unavailable::call("getsockname", error))?;
        connect(from, &address).map_err(|error| Unavailable::call("connect", error))?;
    }
    let socket = |socket| UdpSocket { socket, gives_up: false };
    Ok((socket(sender), socket(receiver)))
}

/// Returns a socket with its buffers on a port of 127.0.0.1 that the kernel chooses.
fn bound(setup: &Setup<'_>) -> Result<OwnedFd, Unavailable> {
    let mode = if setup.nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC | mode, None)
        .map_err(|error| Unavailable::call("socket", error))?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
        .map_err(|error| Unavailable::call("bind to 127.0.0.1", error))?;
    set_buffer("SO_SNDBUF", "wmem_max", || {
        set_socket_send_buffer_size(&socket, BUFFER_BYTES)?;
        socket_send_buffer_size(&socket)
    })?;
    set_buffer("SO_RCVBUF", "rmem_max", || {
        set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
        socket_recv_buffer_size(&socket)
    })?;
    Ok(socket)
}

/// Sets a buffer size and verifies it: rows with smaller buffers would not be comparable.
fn set_buffer(option: &str, limit: &str, set: impl Fn() -> Result<usize, Errno>) -> Result<(), Unavailable> {
    let bytes = set().map_err(|error| Unavailable::call(&format!("setsockopt {option}"), error))?;
    if bytes >= 2 * BUFFER_BYTES {
        return Ok(());
    }
    Err(Unavailable(format!("{option} of {BUFFER_BYTES} B: the kernel grants {} B; see net.core.{limit}", bytes / 2)))
}

/// Whether a send failed for lack of buffers. A flood counts these and continues.
fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

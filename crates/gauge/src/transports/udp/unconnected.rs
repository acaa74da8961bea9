//! `udp-unconnected`: one datagram per system call over unconnected sockets: every send names the receiver, every
//! receive returns the sender's address, and an answer goes to the source of the message.
//!
//! Servers with many clients do this, and netperf does unless it is told to connect its sockets (`-- -n`). In contrast
//! to [`super::plain`], the kernel looks up the route for each send, and copies addresses in both directions.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use super::{INFO, SIZE_MAX, bound, receive_until_silence};
use crate::harness::payload::Payload;
use crate::transports::{Endpoint, Info, Setup, Transport, Unavailable};

/// UDP over unconnected sockets.
#[derive(Debug)]
pub struct UdpUnconnected;

impl Transport for UdpUnconnected {
    type End = UdpUnconnectedEnd;

    const INFO: Info = Info {
        name: "udp-unconnected",
        summary: "UDP over loopback, sockets not connected: sendto and recvfrom with addresses, socket buffers 131071",
        special: true,
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(UdpUnconnectedEnd, UdpUnconnectedEnd), Unavailable> {
        if setup.size > SIZE_MAX {
            return Err(Unavailable(format!("a message holds at most {SIZE_MAX} B")));
        }
        let (sender, receiver) = (bound(setup)?, bound(setup)?);
        let (sender, receiver) = (UdpSocket::from(sender), UdpSocket::from(receiver));
        let address = |socket: &UdpSocket| socket.local_addr().map_err(|error| Unavailable::call("getsockname", error));
        let (of_sender, of_receiver) = (address(&sender)?, address(&receiver)?);
        let end = |socket, peer| UdpUnconnectedEnd { socket, peer, gives_up: false };
        Ok((end(sender, of_receiver), end(receiver, of_sender)))
    }
}

/// A bound socket.
#[derive(Debug)]
pub struct UdpUnconnectedEnd {
    socket: UdpSocket,
    /// The destination of the next message: the other end, confirmed by the source of each received message.
    peer: SocketAddr,
    gives_up: bool,
}

impl Endpoint for UdpUnconnectedEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.socket.send_to(message, self.peer)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, from) = self.socket.recv_from(buffer)?;
        // Any process of this machine may send here. Its message is not answered, and the payload check detects it.
        if from == self.peer {
            return Ok(count);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a message of another program came to this port"))
    }

    #[inline]
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if !self.gives_up {
            receive_until_silence(&self.socket)?;
            self.gives_up = true;
        }
        let count = self.receive_some(space.space())?;
        each(&space.space()[..count])
    }
}

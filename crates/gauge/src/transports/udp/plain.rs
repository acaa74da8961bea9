//! `udp`: one datagram per system call.

use std::io;

use super::{INFO, SIZE_MAX, UdpSocket, pair};
use crate::harness::payload::Payload;
use crate::transports::{Endpoint, Info, Setup, Transport, Unavailable};

/// UDP with one datagram per call.
#[derive(Debug)]
pub struct Udp;

impl Transport for Udp {
    type End = UdpEnd;
    const INFO: Info = INFO;

    fn open(setup: &Setup<'_>) -> Result<(UdpEnd, UdpEnd), Unavailable> {
        let (sender, receiver) = pair(setup, SIZE_MAX)?;
        Ok((UdpEnd { socket: sender }, UdpEnd { socket: receiver }))
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct UdpEnd {
    socket: UdpSocket,
}

impl Endpoint for UdpEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.socket.send(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buffer)
    }

    #[inline]
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.socket.time_out_after_silence()?;
        let count = self.socket.receive(space.space())?;
        each(&space.space()[..count])
    }
}

//! Combines two ends into one: messages are sent to one end and received from the other. With it, a pattern over two
//! one-way channels can use the loops of patterns over one channel.

use std::io;

use crate::transports::Endpoint;

/// The sender's end of one channel and the receiver's of another.
#[derive(Debug)]
pub(super) struct Joined<'a, E> {
    /// The end to which messages are sent.
    pub out: &'a mut E,
    /// The end from which messages are received.
    pub back: &'a mut E,
}

impl<E: Endpoint> Endpoint for Joined<'_, E> {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.out.send_some(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.back.receive_some(buffer)
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.out.send(message)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.back.receive(buffer)
    }
}

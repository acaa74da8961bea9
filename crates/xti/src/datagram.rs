//! Datagrams, and their errors. Sending and receiving one takes no memory from the heap, unless its address and options are long.

use std::io::{IoSlice, IoSliceMut};

use headwater_streams::tpi::{Primitive, PrimitiveNumber, Service, TransportError};

use crate::data::{gathered, scattered};
use crate::endpoint::{Endpoint, Look};
use crate::error::{Result, XtiError};
use crate::line::ControlRoom;
use crate::state::Event;

/// A datagram that was received into the caller's buffers: how many bytes of each.
///
/// Source: XNS 5.2, t_rcvudata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_unitdata")]
pub struct Datagram {
    /// Of the sender's address. 0 for the rest of a datagram.
    pub address: usize,
    /// Of options.
    pub options: usize,
    /// Of data.
    pub data: usize,
    /// More of it waits, which the next call receives (T_MORE).
    pub more: bool,
}

/// The error of a datagram that this endpoint has sent.
///
/// Source: XNS 5.2, t_rcvuderr.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_uderr")]
pub struct DatagramError {
    /// Where it was sent to.
    pub address: Vec<u8>,
    /// The options with which it was sent.
    pub options: Vec<u8>,
    /// The error, whose numbers are the transport's. The loop-back transports have those of errno.
    pub error: u32,
}

/// The transports that have datagrams.
const WITH_DATAGRAMS: &[Service] = &[Service::Datagrams];
/// Bytes of T_UNITDATA_REQ before its parts.
const HEADER: usize = 20;
/// Control parts up to these lengths are made without memory from the heap: those with an address of the Internet, and nearly all. Each
/// byte of the room is written first, and a sender's stores wait for those into shared memory before them.
const SHORTEST: usize = 64;
const SHORT: usize = 256;

impl Endpoint {
    /// Sends a datagram (t_sndudata).
    ///
    /// # Errors
    /// TFLOW for an endpoint that does not wait, if there is no room; TLOOK, whether or not it waits, if the transport keeps no
    /// further error of a datagram until some are [fetched](Endpoint::receive_error); TBADDATA for more bytes than the transport carries, or none where
    /// it carries no empty datagram; TBADADDR without an address; TNOTSUPPORT, TOUTSTATE, TSYSERR. That the datagram
    /// did not arrive is an event ([`Endpoint::receive_error`]).
    #[doc(alias = "t_sndudata")]
    pub fn send_to(&self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.check_service(WITH_DATAGRAMS)?;
        self.check(Event::SendDatagram)?;
        if data.is_empty() && !self.info.sends_zero {
            return Err(TransportError::BadData.into());
        }
        if self.check_data(data.len(), self.info.tsdu).is_err() {
            // The longest datagram may be another one since the endpoint has its address.
            self.check_data(data.len(), self.info()?.tsdu)?;
        }
        if address.is_empty() || self.info.address >= 0 && address.len() > self.info.address.cast_unsigned() as usize {
            return Err(TransportError::BadAddress.into());
        }
        loop {
            let sent = match short_request(&mut [0; SHORTEST], address, options) {
                Some(control) => self.line.send(control, Some(data), false),
                None => self.send_longer(address, options, data),
            };
            match sent {
                Err(error) if error.t_errno == TransportError::Flow => {
                    if let Some(error) = self.refused(error)? {
                        return Err(error);
                    }
                }
                sent => return sent,
            }
        }
    }

    /// The error of a datagram that the provider has not taken: TLOOK if it was refused because errors of datagrams wait to be
    /// fetched. None: the other thread that has fetched them has made room.
    #[cold]
    fn refused(&self, error: XtiError) -> Result<Option<XtiError>> {
        let (event, waits) = (self.line.look_now()?, !self.line.stream.is_nonblocking());
        Ok(match event {
            Some(Look::DatagramError) => Some(TransportError::Look.into()),
            // Datagrams are before the errors: the program has to receive those first.
            Some(_) if waits || self.line.has_room(false)? => Some(TransportError::Look.into()),
            None if waits => {
                std::thread::yield_now();
                None
            }
            _ => Some(self.noting_flow(error, false)),
        })
    }

    #[inline(never)]
    fn send_longer(&self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        let mut room = [0; SHORT];
        match short_request(&mut room, address, options) {
            Some(control) => self.line.send(control, Some(data), false),
            None => {
                let request = Primitive::UnitdataReq { destination: address, options };
                self.line.send(&request.encode(), Some(data), false)
            }
        }
    }

    /// Sends several pieces as one datagram (t_sndvudata).
    ///
    /// # Errors
    /// TBADDATA for more than [`VECTOR_MAX`](crate::VECTOR_MAX) pieces; else as [`Endpoint::send_to`].
    #[doc(alias = "t_sndvudata")]
    pub fn send_vectored_to(&self, address: &[u8], options: &[u8], pieces: &[IoSlice<'_>]) -> Result<()> {
        match pieces {
            [one] => self.send_to(address, options, one),
            pieces => self.send_to(address, options, &gathered(pieces)?),
        }
    }

    /// Receives a datagram (t_rcvudata), and waits for one. A buffer of no bytes for the address or the options means that they are
    /// not wanted. Data that do not fit wait for the next call, which gets no address and no options.
    ///
    /// # Errors
    /// TNODATA for an endpoint that does not wait; TBUFOVFLW if the address or the options do not fit: the datagram is then
    /// discarded; TLOOK if a datagram could not be sent ([`Endpoint::receive_error`]); TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_rcvudata")]
    pub fn receive_from(&self, address: &mut [u8], options: &mut [u8], data: &mut [u8]) -> Result<Datagram> {
        self.check_service(WITH_DATAGRAMS)?;
        self.check(Event::ReceiveDatagram)?;
        let mut room = ControlRoom::new();
        let arrived = self.line.receive(&mut room, data)?;
        let (from, with) = match arrived.control.map(Primitive::decode) {
            None => (&[][..], &[][..]),
            Some(Ok(Primitive::UnitdataInd { source, options })) => (source, options),
            Some(_) => return Err(TransportError::Protocol.into()),
        };
        let (Some(address), Some(options)) = (copied(from, address), copied(with, options)) else {
            if arrived.more {
                self.discard_rest()?;
            }
            return Err(TransportError::BufferOverflow.into());
        };
        Ok(Datagram { address, options, data: arrived.data, more: arrived.more })
    }

    /// Drops the rest of a datagram that was begun.
    fn discard_rest(&self) -> Result<()> {
        let (mut room, mut sink) = (ControlRoom::new(), [0; 4096]);
        while self.line.receive(&mut room, &mut sink)?.more {}
        Ok(())
    }

    /// Receives a datagram's data into several buffers as if they were one (t_rcvvudata).
    ///
    /// # Errors
    /// TBADDATA for more than [`VECTOR_MAX`](crate::VECTOR_MAX) buffers; else as [`Endpoint::receive_from`].
    #[doc(alias = "t_rcvvudata")]
    pub fn receive_vectored_from(
        &self,
        address: &mut [u8],
        options: &mut [u8],
        buffers: &mut [IoSliceMut<'_>],
    ) -> Result<Datagram> {
        scattered(buffers, |data| self.receive_from(address, options, data).map(|datagram| (datagram, datagram.data)))
    }

    /// Fetches the error of a datagram (t_rcvuderr).
    ///
    /// # Errors
    /// TNOUDERR if none is in front; TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_rcvuderr")]
    pub fn receive_error(&self) -> Result<DatagramError> {
        self.check_service(WITH_DATAGRAMS)?;
        self.check(Event::ReceiveDatagramError)?;
        let found = self.line.fetch(Look::DatagramError, false)?.ok_or(TransportError::NoDatagramError)?;
        match found.primitive()? {
            Primitive::UderrorInd { destination, options, error } => {
                Ok(DatagramError { address: destination.to_vec(), options: options.to_vec(), error })
            }
            _ => Err(TransportError::Protocol.into()),
        }
    }
}

/// T_UNITDATA_REQ, if it is short.
fn short_request<'r>(room: &'r mut [u8], address: &[u8], options: &[u8]) -> Option<&'r [u8]> {
    let options_at = (HEADER + address.len()).next_multiple_of(4);
    let end = options_at + options.len();
    if end > room.len() {
        return None;
    }
    let number = PrimitiveNumber::UnitdataReq.value();
    let words = [number, address.len() as u32, HEADER as u32, options.len() as u32, options_at as u32];
    for (place, word) in room.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    room[HEADER..HEADER + address.len()].copy_from_slice(address);
    room[options_at..end].copy_from_slice(options);
    Some(&room[..end])
}

/// Copies a part, if it is wanted. None: it does not fit.
fn copied(part: &[u8], buffer: &mut [u8]) -> Option<usize> {
    if buffer.is_empty() {
        return Some(0);
    }
    buffer.get_mut(..part.len())?.copy_from_slice(part);
    Some(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_request_is_as_the_codec_makes_it() {
        for (address, options) in [(&b"a"[..], &b""[..]), (b"abcd", b"12345678"), (b"abcde", b"1234")] {
            let mut room = [0; SHORT];
            let made = short_request(&mut room, address, options).expect("short");
            assert_eq!(Primitive::decode(made), Ok(Primitive::UnitdataReq { destination: address, options }));
        }
        assert_eq!(short_request(&mut [0; SHORT], &[1; 108], &[2; 132]), None);
    }
}

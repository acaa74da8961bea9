//! Datagrams and their errors. Sending and receiving a datagram does not allocate, unless its address and options are long.

use std::io::{IoSlice, IoSliceMut};

use headwater_streams::tpi::{Primitive, PrimitiveNumber, Service, TransportError};

use crate::data::{gathered, scattered};
use crate::endpoint::{Endpoint, Look};
use crate::error::{Result, XtiError};
use crate::line::ControlRoom;
use crate::state::Event;

/// The sizes of a datagram that was received into the caller's buffers.
///
/// Source: XNS 5.2, t_rcvudata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_unitdata")]
pub struct Datagram {
    /// The length of the sender's address in bytes; 0 for the rest of a datagram.
    pub address: usize,
    /// The length of the options in bytes.
    pub options: usize,
    /// The length of the data in bytes.
    pub data: usize,
    /// The next call receives the rest of the datagram (T_MORE).
    pub more: bool,
}

/// The error of a datagram that this endpoint has sent.
///
/// Source: XNS 5.2, t_rcvuderr.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_uderr")]
pub struct DatagramError {
    /// The destination of the datagram.
    pub address: Vec<u8>,
    /// The options of the datagram.
    pub options: Vec<u8>,
    /// The error. The transport defines the numbers; those of the loop-back transports are errno.
    pub error: u32,
}

/// The transports that have datagrams.
const WITH_DATAGRAMS: &[Service] = &[Service::Datagrams];
/// The length of T_UNITDATA_REQ before its parts, in bytes.
const HEADER: usize = 20;
/// Control parts up to these two lengths are encoded without allocating: those with an Internet address, and nearly all others. There
/// are two lengths because each byte of the buffer is written first, and these stores delay the sender.
const SHORTEST: usize = 64;
const SHORT: usize = 256;

impl Endpoint {
    /// Sends a datagram (t_sndudata).
    ///
    /// # Errors
    /// TFLOW if the endpoint is non-blocking and there is no room; TLOOK, also if it is blocking, if the transport can store no further
    /// error of a datagram until some are [fetched](Endpoint::receive_error); TBADDATA if the data is longer than the transport
    /// allows, or is empty and the transport has no empty datagrams; TBADADDR without an address; TNOTSUPPORT, TOUTSTATE, TSYSERR. A
    /// datagram that is not delivered is an event ([`Endpoint::receive_error`]).
    #[doc(alias = "t_sndudata")]
    pub fn send_to(&self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.check_service(WITH_DATAGRAMS)?;
        self.check(Event::SendDatagram)?;
        if data.is_empty() && !self.info.sends_zero {
            return Err(TransportError::BadData.into());
        }
        if self.check_data(data.len(), self.info.tsdu).is_err() {
            // The limit may have changed when the endpoint was bound.
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

    /// Converts the error of a datagram that the provider has not taken. It is TLOOK if errors of datagrams must be fetched first.
    /// Returns `None` if another thread has fetched them, and the caller must try again.
    #[cold]
    fn refused(&self, error: XtiError) -> Result<Option<XtiError>> {
        let (event, waits) = (self.line.look_now()?, !self.line.stream.is_nonblocking());
        Ok(match event {
            Some(Look::DatagramError) => Some(TransportError::Look.into()),
            // Datagrams are in front of the errors: the program must receive them first.
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
    /// TBADDATA for more than [`VECTOR_MAX`](crate::VECTOR_MAX) pieces; those of [`Endpoint::send_to`].
    #[doc(alias = "t_sndvudata")]
    pub fn send_vectored_to(&self, address: &[u8], options: &[u8], pieces: &[IoSlice<'_>]) -> Result<()> {
        match pieces {
            [one] => self.send_to(address, options, one),
            pieces => self.send_to(address, options, &gathered(pieces)?),
        }
    }

    /// Receives a datagram (t_rcvudata), and waits for one. An empty buffer means that the address or the options are not wanted. If
    /// the data does not fit, the next call receives the rest, without address and options.
    ///
    /// # Errors
    /// TNODATA if the endpoint is non-blocking; TBUFOVFLW if the address or the options do not fit: then the datagram is discarded;
    /// TLOOK if a datagram was not delivered ([`Endpoint::receive_error`]); TNOTSUPPORT, TOUTSTATE, TSYSERR.
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

    /// Drops the rest of a datagram.
    fn discard_rest(&self) -> Result<()> {
        let (mut room, mut sink) = (ControlRoom::new(), [0; 4096]);
        while self.line.receive(&mut room, &mut sink)?.more {}
        Ok(())
    }

    /// Receives a datagram's data into several buffers as if they were one (t_rcvvudata).
    ///
    /// # Errors
    /// TBADDATA for more than [`VECTOR_MAX`](crate::VECTOR_MAX) buffers; those of [`Endpoint::receive_from`].
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

/// Encodes T_UNITDATA_REQ if it fits `room`; otherwise `None`.
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

/// Copies a part if it is wanted, and returns its length; `None` if it does not fit.
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

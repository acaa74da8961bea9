//! Data of connections.

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::Ordering;

use headwater_streams::tpi::{Primitive, PrimitiveNumber, TransportError};

use crate::connection::WITH_CONNECTIONS;
use crate::endpoint::{Endpoint, Look, VECTOR_MAX};
use crate::error::{Result, XtiError};
use crate::line::ControlRoom;
use crate::state::Event;

/// Flags for sending data.
///
/// Source: XNS 5.2, t_snd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SendFlags {
    /// The message continues in the next call (T_MORE).
    pub more: bool,
    /// The data is expedited (T_EXPEDITED).
    pub expedited: bool,
}

impl SendFlags {
    /// T_MORE.
    pub const MORE: SendFlags = SendFlags { more: true, expedited: false };
    /// T_EXPEDITED.
    pub const EXPEDITED: SendFlags = SendFlags { more: false, expedited: true };
}

/// The size and the flags of received data.
///
/// Source: XNS 5.2, t_rcv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedData {
    /// The number of bytes.
    pub len: usize,
    /// The message continues in the next call (T_MORE).
    pub more: bool,
    /// The data is expedited (T_EXPEDITED).
    pub expedited: bool,
}

impl Endpoint {
    /// Sends data over a connection (t_snd). Returns the number of bytes sent. It is less than the length of `data` only if a signal
    /// has arrived, or if the endpoint is non-blocking and there is no room for the rest.
    ///
    /// # Errors
    /// TFLOW if the endpoint is non-blocking and there is no room; TLOOK if the connection has ended; TBADDATA if the data is longer
    /// than the longest message, or is empty and the transport sends no empty messages; TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_snd")]
    pub fn send(&self, data: &[u8], flags: SendFlags) -> Result<usize> {
        self.check_service(WITH_CONNECTIONS)?;
        self.check(Event::Send)?;
        if data.is_empty() && !self.info.sends_zero {
            return Err(TransportError::BadData.into());
        }
        match if flags.expedited { self.info.etsdu } else { self.info.tsdu } {
            -2 => return Err(TransportError::NotSupported.into()),
            max if max > 0 && data.len() > max.cast_unsigned() as usize => return Err(TransportError::BadData.into()),
            _ => {}
        }
        if self.line.is_in_front(Look::Disconnect)? {
            return Err(TransportError::Look.into());
        }
        let piece_max = usize::try_from(self.info.tidu).ok().filter(|max| *max > 0).unwrap_or(usize::MAX);
        let mut sent = 0;
        loop {
            let piece = &data[sent..(sent + piece_max.min(data.len() - sent))];
            let more = flags.more || sent + piece.len() < data.len();
            let number = if flags.expedited { PrimitiveNumber::ExdataReq } else { PrimitiveNumber::DataReq };
            match self.line.send(&data_request(number, more), Some(piece), flags.expedited) {
                Ok(()) => sent += piece.len(),
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => return Err(self.noting_flow(error, flags.expedited)),
            }
            if sent == data.len() {
                return Ok(sent);
            }
        }
    }

    /// Records a TFLOW, whose end will be an event.
    pub(crate) fn noting_flow(&self, error: XtiError, expedited: bool) -> XtiError {
        if error.t_errno == TransportError::Flow {
            self.full[usize::from(expedited)].store(true, Ordering::Relaxed);
        }
        error
    }

    /// Sends several pieces as if they were one (t_sndv).
    ///
    /// # Errors
    /// TBADDATA for more than [`VECTOR_MAX`] pieces; those of [`Endpoint::send`].
    #[doc(alias = "t_sndv")]
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>], flags: SendFlags) -> Result<usize> {
        match pieces {
            [one] => self.send(one, flags),
            pieces => self.send(&gathered(pieces)?, flags),
        }
    }

    /// Receives data from a connection (t_rcv), and waits for some.
    ///
    /// # Errors
    /// TNODATA if the endpoint is non-blocking; TLOOK if the other end has ended the connection or its direction; TNOTSUPPORT,
    /// TOUTSTATE, TSYSERR.
    #[doc(alias = "t_rcv")]
    pub fn receive(&self, data: &mut [u8]) -> Result<ReceivedData> {
        self.check_service(WITH_CONNECTIONS)?;
        self.check(Event::Receive)?;
        let mut room = ControlRoom::new();
        let arrived = self.line.receive(&mut room, data)?;
        let (expedited, goes_on) = match arrived.control.map(Primitive::decode) {
            // The rest of a message, or the message of a write(2) of the other end.
            None => (arrived.expedited, self.goes_on[usize::from(arrived.expedited)].load(Ordering::Relaxed)),
            Some(Ok(Primitive::DataInd { more })) => (false, more),
            Some(Ok(Primitive::ExdataInd { more })) => (true, more),
            Some(Ok(Primitive::OptdataInd { more, expedited, .. })) => (expedited, more),
            Some(_) => return Err(TransportError::Protocol.into()),
        };
        self.goes_on[usize::from(expedited)].store(goes_on && arrived.more, Ordering::Relaxed);
        Ok(ReceivedData { len: arrived.data, more: arrived.more || goes_on, expedited })
    }

    /// Receives into several buffers as if they were one (t_rcvv).
    ///
    /// # Errors
    /// TBADDATA for more than [`VECTOR_MAX`] buffers; those of [`Endpoint::receive`].
    #[doc(alias = "t_rcvv")]
    pub fn receive_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<ReceivedData> {
        scattered(buffers, |data| self.receive(data).map(|received| (received, received.len)))
    }

    /// Resets the flags of data at the beginning of a connection.
    pub(crate) fn begin_data(&self) {
        for flag in self.goes_on.iter().chain(&self.full) {
            flag.store(false, Ordering::Relaxed);
        }
    }
}

/// Encodes T_DATA_REQ or T_EXDATA_REQ without allocating.
fn data_request(number: PrimitiveNumber, more: bool) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.value().to_ne_bytes());
    bytes[4..].copy_from_slice(&u32::from(more).to_ne_bytes());
    bytes
}

/// Joins the pieces.
pub(crate) fn gathered(pieces: &[IoSlice<'_>]) -> Result<Vec<u8>> {
    if pieces.len() > VECTOR_MAX {
        return Err(TransportError::BadData.into());
    }
    Ok(pieces.iter().flat_map(|piece| piece.iter().copied()).collect())
}

/// Receives into one buffer, and copies the bytes to several. `receive` also returns the number of bytes.
pub(crate) fn scattered<T>(
    buffers: &mut [IoSliceMut<'_>],
    receive: impl FnOnce(&mut [u8]) -> Result<(T, usize)>,
) -> Result<T> {
    if buffers.len() > VECTOR_MAX {
        return Err(TransportError::BadData.into());
    }
    if let [one] = buffers {
        return receive(one).map(|(received, _)| received);
    }
    let mut whole = vec![0; buffers.iter().map(|buffer| buffer.len()).sum()];
    let (received, len) = receive(&mut whole)?;
    let mut rest = &whole[..len];
    for buffer in buffers {
        let (now, later) = rest.split_at(buffer.len().min(rest.len()));
        buffer[..now.len()].copy_from_slice(now);
        rest = later;
    }
    Ok(received)
}

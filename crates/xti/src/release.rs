//! The two ways to end a connection: disconnection, which is abortive, and orderly release.

use std::sync::atomic::Ordering;

use headwater_streams::tpi::{Primitive, Service, TransportError};

use crate::connection::{WITH_CONNECTIONS, data_part};
use crate::endpoint::{Endpoint, Look};
use crate::error::Result;
use crate::state::{Event, State};

/// The reason why a connection has ended, or was refused.
///
/// Source: XNS 5.2, t_rcvdis.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_discon")]
pub struct Disconnect {
    /// The reason. The transport defines the numbers; those of the loop-back transports are errno: `ECONNREFUSED`, `ECONNRESET`,
    /// `ECONNABORTED`.
    pub reason: u32,
    /// The number of the connection, if it was waiting to be accepted.
    pub sequence: Option<u32>,
    /// User data.
    pub data: Vec<u8>,
}

/// The transports with orderly release.
const ORDERLY: &[Service] = &[Service::OrderlyConnections];

impl Endpoint {
    /// Aborts the connection, or the request for one (t_snddis). Data that the other end has not received is lost.
    ///
    /// # Errors
    /// TLOOK if it has already ended; TBADDATA, TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_snddis")]
    pub fn disconnect(&self, data: &[u8]) -> Result<()> {
        if self.state() == State::Listening {
            // The caller must name one of the waiting connections: `refuse`.
            return Err(self.check_service(WITH_CONNECTIONS).err().unwrap_or(TransportError::BadSequence.into()));
        }
        self.end(Primitive::NO_SEQUENCE, data)
    }

    /// Refuses a connection that is waiting to be accepted (t_snddis with a sequence number).
    ///
    /// # Errors
    /// TBADSEQ if no connection with this number is waiting; those of [`Endpoint::disconnect`].
    #[doc(alias = "t_snddis")]
    pub fn refuse(&self, sequence: u32, data: &[u8]) -> Result<()> {
        self.end(sequence, data)
    }

    fn end(&self, sequence: u32, data: &[u8]) -> Result<()> {
        self.check_service(WITH_CONNECTIONS)?;
        let refuses = self.state() == State::Listening;
        let callers = self.callers.load(Ordering::Relaxed);
        let next = self.check(if refuses && callers > 1 { Event::RefuseOneOfMany } else { Event::Disconnect })?;
        self.check_data(data.len(), self.info.disconnect_data)?;
        if self.line.is_in_front(Look::Disconnect)? {
            return Err(TransportError::Look.into());
        }
        let asked = self.line.ask_before_data(Primitive::DisconReq { sequence }, data_part(data));
        match asked.map_err(|error| self.or_look(error)) {
            // The other end has ended the connection, and its disconnection is queued behind data. Drop both.
            Err(error) if error.t_errno == TransportError::OutOfState && !refuses => {}
            asked => asked?,
        }
        if refuses {
            let _ = self.callers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| callers.checked_sub(1));
        } else {
            self.line.drain()?;
        }
        self.set_state(next);
        Ok(())
    }

    /// Fetches a disconnection (t_rcvdis).
    ///
    /// # Errors
    /// TNODIS if none is in front; TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_rcvdis")]
    pub fn receive_disconnect(&self) -> Result<Disconnect> {
        self.check_service(WITH_CONNECTIONS)?;
        let state = self.state();
        let event = match (state, self.callers.load(Ordering::Relaxed)) {
            (State::Listening, 0 | 1) => Event::CallerGone,
            (State::Listening, _) => Event::OneCallerGone,
            _ => Event::ReceiveDisconnect,
        };
        let next = self.check(event)?;
        let found = self.line.fetch(Look::Disconnect, false)?.ok_or(TransportError::NoDisconnect)?;
        let Primitive::DisconInd { reason, sequence } = found.primitive()? else {
            return Err(TransportError::Protocol.into());
        };
        let disconnect = Disconnect {
            reason,
            sequence: (sequence != Primitive::NO_SEQUENCE).then_some(sequence),
            data: found.data.clone(),
        };
        if state == State::Listening {
            let _ = self.callers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| callers.checked_sub(1));
        }
        self.set_state(next);
        Ok(disconnect)
    }

    /// Ends this endpoint's direction by an orderly release (t_sndrel, t_sndreldata). The other end receives the release after all
    /// data.
    ///
    /// # Errors
    /// TLOOK if a disconnection is in front; TFLOW; TBADDATA if there is data, which no transport accepts here; TNOTSUPPORT,
    /// TOUTSTATE, TSYSERR.
    #[doc(alias = "t_sndrel")]
    #[doc(alias = "t_sndreldata")]
    pub fn release(&self, data: &[u8]) -> Result<()> {
        self.check_service(ORDERLY)?;
        let next = self.check(Event::Release)?;
        if !data.is_empty() {
            return Err(TransportError::BadData.into());
        }
        if self.line.is_in_front(Look::Disconnect)? {
            return Err(TransportError::Look.into());
        }
        self.line.send(&Primitive::OrdrelReq.encode(), None, false)?;
        self.set_state(next);
        Ok(())
    }

    /// Fetches the orderly release of the other end (t_rcvrel, t_rcvreldata). Returns its data.
    ///
    /// # Errors
    /// TNOREL if none is in front; TLOOK if a disconnection is in front; TNOTSUPPORT, TOUTSTATE, TSYSERR.
    #[doc(alias = "t_rcvrel")]
    #[doc(alias = "t_rcvreldata")]
    pub fn receive_release(&self) -> Result<Vec<u8>> {
        self.check_service(ORDERLY)?;
        let next = self.check(Event::ReceiveRelease)?;
        match self.line.fetch(Look::Release, false)? {
            Some(found) => {
                self.set_state(next);
                Ok(found.data)
            }
            None if self.line.is_in_front(Look::Disconnect)? => Err(TransportError::Look.into()),
            None => Err(TransportError::NoRelease.into()),
        }
    }
}

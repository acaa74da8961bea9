//! Connections: requesting and accepting them.

use std::sync::atomic::Ordering;

use headwater_streams::tpi::{Primitive, Service, TransportError};

use crate::endpoint::{Endpoint, Look};
use crate::error::{Result, XtiError};
use crate::state::{Event, State};

/// The transports that have connections.
pub(crate) const WITH_CONNECTIONS: &[Service] = &[Service::Connections, Service::OrderlyConnections];

/// A request for a connection, or an answer to one.
///
/// Source: XNS 5.2, t_connect, t_listen, t_accept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "t_call")]
pub struct Call {
    /// The address of the other end.
    pub address: Vec<u8>,
    /// Options, as an [`OptionList`](crate::OptionList) has them.
    pub options: Vec<u8>,
    /// User data.
    pub data: Vec<u8>,
}

impl Call {
    /// Makes a request to this address, without options and data.
    pub fn to(address: &[u8]) -> Call {
        Call { address: address.to_vec(), ..Call::default() }
    }
}

/// A connection that is waiting to be accepted.
///
/// Source: XNS 5.2, t_listen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incoming {
    /// The caller's address, options and data.
    pub call: Call,
    /// The number of the connection in [`Endpoint::accept`] and [`Endpoint::refuse`].
    pub sequence: u32,
}

impl Endpoint {
    /// Requests a connection (t_connect), and waits until the other end has accepted it. Returns the answer of the other end.
    ///
    /// ```
    /// use headwater_xti::{Binding, Call, EndpointOptions, SendFlags};
    ///
    /// # let path = std::env::temp_dir().join(format!("headwater-xti-connect-{}", std::process::id()));
    /// let options = EndpointOptions::new().directory(&path);
    /// let (shop, till, customer) = (options.open("ticots")?, options.open("ticots")?, options.open("ticots")?);
    /// shop.bind(&Binding::to(b"shop").listening(1))?;
    /// till.bind(&Binding::any())?;
    /// customer.bind(&Binding::any())?;
    /// let serving = std::thread::spawn(move || {
    ///     let incoming = shop.listen()?;
    ///     shop.accept(&till, incoming.sequence, &Call::default())?;
    ///     till.send(b"welcome", SendFlags::default())
    /// });
    /// customer.connect(&Call::to(b"shop"))?;
    /// let mut text = [0; 16];
    /// let received = customer.receive(&mut text)?;
    /// assert_eq!((&text[..received.len], received.more), (&b"welcome"[..], false));
    /// assert_eq!(serving.join().unwrap()?, 7);
    /// # std::fs::remove_dir_all(path).ok();
    /// # Ok::<(), headwater_xti::XtiError>(())
    /// ```
    ///
    /// # Errors
    /// TNODATA if the endpoint is non-blocking, and TSYSERR with `EINTR` after a signal: the request continues, and
    /// [`Endpoint::receive_connect`] gets the answer. TLOOK if it is refused ([`Endpoint::receive_disconnect`]). TBADADDR, TBADOPT,
    /// TBADDATA, TACCES, TADDRBUSY of the provider; TNOTSUPPORT; TOUTSTATE.
    #[doc(alias = "t_connect")]
    pub fn connect(&self, call: &Call) -> Result<Call> {
        self.check_service(WITH_CONNECTIONS)?;
        let next = self.check(Event::ConnectBegun)?;
        self.check_data(call.data.len(), self.info.connect_data)?;
        if self.line.is_in_front(Look::Listen)? {
            return Err(TransportError::Look.into());
        }
        let request = Primitive::ConnReq { destination: &call.address, options: &call.options };
        self.line.ask(request, data_part(&call.data))?;
        self.set_state(next);
        // Also if the answer has already arrived, so that the program fetches it in the same way however fast the other end is.
        if self.stream().is_nonblocking() && !self.line.is_in_front(Look::Disconnect)? {
            return Err(TransportError::NoData.into());
        }
        self.receive_connect()
    }

    /// Waits until the other end has accepted (t_rcvconnect), after an [`Endpoint::connect`] that did not wait.
    ///
    /// # Errors
    /// TNODATA if the endpoint is non-blocking; TLOOK if the connection is refused; TNOTSUPPORT; TOUTSTATE; TSYSERR.
    #[doc(alias = "t_rcvconnect")]
    pub fn receive_connect(&self) -> Result<Call> {
        self.check_service(WITH_CONNECTIONS)?;
        let next = self.check(Event::ReceiveConnect)?;
        let Some(indication) = self.line.fetch(Look::Connect, true)? else { return Err(TransportError::Look.into()) };
        let Primitive::ConnCon { responder, options } = indication.primitive()? else {
            return Err(TransportError::Protocol.into());
        };
        let answer = Call { address: responder.to_vec(), options: options.to_vec(), data: indication.data.clone() };
        self.begin_data();
        self.set_state(next);
        Ok(answer)
    }

    /// Waits for a request for a connection (t_listen).
    ///
    /// # Errors
    /// TBADQLEN if the endpoint was not bound to listen; TQFULL if the queue of connections is full; TNODATA if the endpoint is
    /// non-blocking; TLOOK if a waiting connection has ended ([`Endpoint::receive_disconnect`]); TNOTSUPPORT; TOUTSTATE; TSYSERR.
    #[doc(alias = "t_listen")]
    pub fn listen(&self) -> Result<Incoming> {
        self.check_service(WITH_CONNECTIONS)?;
        let next = self.check(Event::Listen)?;
        match self.waiting_max.load(Ordering::Relaxed) {
            0 => return Err(TransportError::BadQueueLength.into()),
            max if self.callers.load(Ordering::Relaxed) >= max => return Err(TransportError::QueueFull.into()),
            _ => {}
        }
        let Some(indication) = self.line.fetch(Look::Listen, true)? else { return Err(TransportError::Look.into()) };
        let Primitive::ConnInd { source, options, sequence } = indication.primitive()? else {
            return Err(TransportError::Protocol.into());
        };
        let call = Call { address: source.to_vec(), options: options.to_vec(), data: indication.data.clone() };
        self.callers.fetch_add(1, Ordering::Relaxed);
        self.set_state(next);
        Ok(Incoming { call, sequence })
    }

    /// Accepts a connection at `acceptor`, which may be this endpoint (t_accept).
    ///
    /// # Errors
    /// If `acceptor` is this endpoint: TLOOK if another connection is requested or this one has ended, and TINDOUT if other
    /// connections are waiting. TBADSEQ; TPROVMISMATCH, TRESQLEN, TRESADDR if `acceptor` cannot accept it; TOUTSTATE of either
    /// endpoint; TBADOPT, TBADDATA, TACCES, TNOTSUPPORT, TSYSERR.
    #[doc(alias = "t_accept")]
    pub fn accept(&self, acceptor: &Endpoint, sequence: u32, call: &Call) -> Result<()> {
        self.check_service(WITH_CONNECTIONS)?;
        let is_own = self.stream().is_same(acceptor.stream());
        let callers = self.callers.load(Ordering::Relaxed);
        let event = match (is_own, callers) {
            (true, _) => Event::AcceptHere,
            (false, 0 | 1) => Event::AcceptElsewhere,
            (false, _) => Event::AcceptOneOfMany,
        };
        let next = self.check(event)?;
        if is_own && callers > 1 {
            return Err(TransportError::IndicationsWait.into());
        }
        let taken = if is_own { State::Connected } else { acceptor.check(Event::TakeConnection)? };
        if !is_own && self.stream().modules().list()?.last() != acceptor.stream().modules().list()?.last() {
            return Err(TransportError::ProviderMismatch.into());
        }
        if is_own && matches!(self.line.look()?, Some(Look::Listen | Look::Disconnect)) {
            return Err(TransportError::Look.into());
        }
        self.check_data(call.data.len(), self.info.connect_data)?;
        let request = Primitive::ConnRes { acceptor: acceptor.acceptor()?, options: &call.options, sequence };
        self.line.ask(request, data_part(&call.data)).map_err(|error| self.or_look(error))?;
        let _ = self.callers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| callers.checked_sub(1));
        if !is_own {
            self.set_state(next);
        }
        acceptor.begin_data();
        acceptor.set_state(taken);
        Ok(())
    }

    /// Converts an error to TLOOK if a disconnection is its reason.
    pub(crate) fn or_look(&self, error: XtiError) -> XtiError {
        let has_ended = matches!(error.t_errno, TransportError::BadSequence | TransportError::OutOfState)
            && self.line.is_in_front(Look::Disconnect).unwrap_or(false);
        if has_ended { TransportError::Look.into() } else { error }
    }

    /// Fails with TBADDATA if there is more data than the transport allows with a primitive.
    pub(crate) fn check_data(&self, len: usize, max: i32) -> Result<()> {
        let fits = match max {
            -1 => true,
            max => len <= usize::try_from(max).unwrap_or(0),
        };
        if fits { Ok(()) } else { Err(TransportError::BadData.into()) }
    }
}

/// Returns the data part of a message; `None` if it is empty.
pub(crate) fn data_part(data: &[u8]) -> Option<&[u8]> {
    (!data.is_empty()).then_some(data)
}

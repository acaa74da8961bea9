//! `xti-ticots`, `xti-inet-tcp`: connections, one call of t_snd and t_rcv per message, answers over the same connection.

use std::io;
use std::marker::PhantomData;

use headwater_streams::tpi::TransportError;
use headwater_xti::{Binding, Call, Endpoint, EndpointOptions, SendFlags, State, XtiError};

use super::super::{Info, Loss, Setup, Transport, Unavailable};
use super::{INFO, Provider, binding, error_of, open};
use crate::transports;

/// The loop-back transport of connections.
#[derive(Debug)]
pub struct Ticots;

impl Provider for Ticots {
    const INFO: Info = Info {
        name: "xti-ticots",
        summary: "XTI over the loop-back transport of connections, in shared memory",
        keeps_boundaries: false,
        loss: Loss::Never,
        ..INFO
    };
    const DRIVER: &'static str = "ticots";
    const HAS_PORTS: bool = false;
    const IS_OVER_SOCKETS: bool = false;
}

/// TCP sockets of the kernel below.
#[derive(Debug)]
pub struct InetTcp;

impl Provider for InetTcp {
    const INFO: Info = Info {
        name: "xti-inet-tcp",
        summary: "XTI over TCP sockets (XTIoS): t_snd and t_rcv over loopback",
        blocking: "sleeps in poll",
        keeps_boundaries: false,
        loss: Loss::Never,
        ..INFO
    };
    const DRIVER: &'static str = "inet-tcp";
    const HAS_PORTS: bool = true;
    const IS_OVER_SOCKETS: bool = true;
}

/// The transport.
#[derive(Debug)]
pub struct Connections<P>(PhantomData<P>);

impl<P: Provider> Transport for Connections<P> {
    type End = ConnectionEnd;

    const INFO: Info = P::INFO;

    fn open(setup: &Setup<'_>) -> Result<(ConnectionEnd, ConnectionEnd), Unavailable> {
        let (sender, receiver) = open::<P>(setup, connected::<P>)?;
        Ok((ConnectionEnd(sender), ConnectionEnd(receiver)))
    }
}

/// Two endpoints with a connection. One thread makes both, so the caller does not wait for the acceptor.
fn connected<P: Provider>(options: &EndpointOptions) -> Result<(Endpoint, Endpoint), XtiError> {
    let listener = options.open(P::DRIVER)?;
    let bound = listener.bind(&binding::<P>().listening(1))?;
    let (caller, acceptor) = (options.open(P::DRIVER)?, options.open(P::DRIVER)?);
    caller.bind(&Binding::any())?;
    caller.stream().set_nonblocking(true)?;
    match caller.connect(&Call::to(&bound.address)) {
        Err(error) if error.t_errno == TransportError::NoData => {}
        done => drop(done?),
    }
    let incoming = listener.listen()?;
    listener.accept(&acceptor, incoming.sequence, &Call::default())?;
    caller.stream().set_nonblocking(false)?;
    if caller.state() != State::Connected {
        caller.receive_connect()?;
    }
    Ok((caller, acceptor))
}

/// An end of a connection.
#[derive(Debug)]
pub struct ConnectionEnd(Endpoint);

impl transports::Endpoint for ConnectionEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.send(message, SendFlags::default()).map_err(error_of)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.receive(buffer) {
            Ok(received) => Ok(received.len),
            // The other end has gone.
            Err(error) if error.t_errno == TransportError::Look => Ok(0),
            Err(error) => Err(error_of(error)),
        }
    }
}

//! `xti-udp`, `xti-inet-udp`, `xti-ticlts`: one datagram per call of t_sndudata and t_rcvudata. Each send names the receiver, and
//! each receive returns the sender's address, as with unconnected sockets.

use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use headwater_streams::Events;
use headwater_xti::{Endpoint, EndpointOptions, XtiError};

use super::super::{Info, Loss, Setup, Transport, Unavailable};
use super::{INFO, Provider, binding, endpoint, error_of, open};
use crate::harness::payload::Payload;
use crate::transports;

/// STREAMS UDP: between endpoints of this library in shared memory.
#[derive(Debug)]
pub struct Udp;

impl Provider for Udp {
    const INFO: Info = Info { size_max: Some(65_507), ..INFO };
    const DRIVER: &'static str = "udp";
    const HAS_PORTS: bool = true;
    const IS_OVER_SOCKETS: bool = false;
}

/// UDP sockets of the kernel below.
#[derive(Debug)]
pub struct InetUdp;

impl Provider for InetUdp {
    const INFO: Info = Info {
        name: "xti-inet-udp",
        summary: "XTI over UDP sockets (XTIoS): t_sndudata and t_rcvudata over loopback",
        blocking: "receiver sleeps in poll; what does not fit its socket is dropped",
        loss: Loss::Possible,
        size_max: Some(65_507),
        ..INFO
    };
    const DRIVER: &'static str = "inet-udp";
    const HAS_PORTS: bool = true;
    const IS_OVER_SOCKETS: bool = true;
}

/// The loop-back transport of datagrams.
#[derive(Debug)]
pub struct Ticlts;

impl Provider for Ticlts {
    const INFO: Info = Info {
        name: "xti-ticlts",
        summary: "XTI over the loop-back transport of datagrams, in shared memory",
        loss: Loss::Never,
        size_max: Some(65_536),
        ..INFO
    };
    const DRIVER: &'static str = "ticlts";
    const HAS_PORTS: bool = false;
    const IS_OVER_SOCKETS: bool = false;
}

/// Room for an address of any of them.
const ADDRESS_ROOM: usize = 128;

/// How long a receiver of a burst waits for a message.
const SILENCE: Duration = Duration::from_millis(5);

/// The transport.
#[derive(Debug)]
pub struct Datagrams<P>(PhantomData<P>);

impl<P: Provider> Transport for Datagrams<P> {
    type End = DatagramEnd;

    const INFO: Info = P::INFO;

    fn open(setup: &Setup<'_>) -> Result<(DatagramEnd, DatagramEnd), Unavailable> {
        let (sender, receiver) = open::<P>(setup, connected::<P>)?;
        let address = |end: &Endpoint| match end.addresses() {
            Ok(addresses) => Ok(addresses.local),
            Err(error) => Err(Unavailable(format!("t_getprotaddr: {error}"))),
        };
        let (of_sender, of_receiver) = (address(&sender)?, address(&receiver)?);
        let end = |endpoint, peer| DatagramEnd { endpoint, peer, from: [0; ADDRESS_ROOM] };
        Ok((end(sender, of_receiver), end(receiver, of_sender)))
    }
}

/// Two endpoints that have met: a datagram has gone either way.
fn connected<P: Provider>(options: &EndpointOptions) -> Result<(Endpoint, Endpoint), XtiError> {
    let (sender, receiver) = (endpoint::<P>(options)?, endpoint::<P>(options)?);
    for end in [&sender, &receiver] {
        end.bind(&binding::<P>())?;
    }
    for (from, to) in [(&sender, &receiver), (&receiver, &sender)] {
        from.send_to(&to.addresses()?.local, &[], b"x")?;
        to.receive_from(&mut [0; ADDRESS_ROOM], &mut [], &mut [0; 1])?;
    }
    Ok((sender, receiver))
}

/// A bound endpoint.
#[derive(Debug)]
pub struct DatagramEnd {
    endpoint: Endpoint,
    /// The destination of each message, and the source of those that come.
    peer: Vec<u8>,
    /// Where the source of a message is put.
    from: [u8; ADDRESS_ROOM],
}

impl transports::Endpoint for DatagramEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.endpoint.send_to(&self.peer, &[], message).map(|()| message.len()).map_err(error_of)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.endpoint.receive_from(&mut self.from, &mut [], buffer).map_err(error_of)?;
        if self.from[..received.address] != self.peer || received.more {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a message of another program came to this address",
            ));
        }
        Ok(received.data)
    }

    #[inline]
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.endpoint.stream().poll(Events::IN, Some(SILENCE))?.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.receive_some(space.space())?;
        each(&space.space()[..count])
    }
}

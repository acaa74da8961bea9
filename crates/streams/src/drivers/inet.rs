//! `inet-udp`, `inet-tcp`, `inet-rawip`: transports over the kernel's sockets. Their users speak TPI ([`tpi`](crate::tpi)) to any host,
//! and the peer may be any program with a socket.
//!
//! Each stream has a socket of its own, which all processes of the stream share. A request reaches the socket in the thread that makes
//! it, and a reader that waits reads the socket itself. What a full socket does not take waits in the write queue; what a full read
//! queue does not take waits in the socket.
//!
//! - An address is a `sockaddr_in` or `sockaddr_in6` ([`InternetAddress`]). No address: any port of any
//!   IPv4 address of this host. The port of an address of `inet-rawip` is the number of the IP protocol.
//! - `inet-udp` and `inet-rawip` have datagrams (T_CLTS). One that the network reports as undeliverable comes back as T_UDERROR_IND.
//! - `inet-tcp` has connections with orderly release (T_COTS_ORD). Its T_DISCON_REQ resets the connection. Expedited data are one urgent byte.
//!
//! ```
//! use headwater_streams::tpi::{InternetAddress, Primitive};
//! use headwater_streams::Device;
//!
//! let plain = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! let endpoint = Device::open_private("inet-udp")?;
//! endpoint.putmsg(Some(&Primitive::BindReq { address: b"", waiting: 0 }.encode()), None)?;
//! let answer = endpoint.receive()?.expect("an answer");
//! assert!(matches!(Primitive::decode(answer.control().unwrap()), Ok(Primitive::BindAck { .. })));
//!
//! let address = InternetAddress::from(plain.local_addr()?);
//! let request = Primitive::UnitdataReq { destination: address.bytes(), options: b"" };
//! endpoint.putmsg(Some(&request.encode()), Some(b"to a socket"))?;
//! let mut bytes = [0; 16];
//! let (count, sender) = plain.recv_from(&mut bytes)?;
//! assert_eq!(&bytes[..count], b"to a socket");
//!
//! plain.send_to(b"and back", sender)?;
//! let datagram = endpoint.receive()?.expect("one was sent");
//! let indication = Primitive::UnitdataInd { source: address.bytes(), options: b"" };
//! assert_eq!(Primitive::decode(datagram.control().unwrap()), Ok(indication));
//! assert_eq!(datagram.data(), Some(&b"and back"[..]));
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::os::fd::OwnedFd;
use std::sync::Arc;

use headwater_os::internet;

use super::provider::answer::{answer, fatal, refuse};
use super::provider::options::OPTIONS_MAX;
use super::provider::{Admitted, admit};
use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::kind::Kind;
use crate::options::events::Events;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;
use crate::process::file_kind::FileKind;
use crate::tpi::{Event, InternetAddress, Primitive, PrimitiveNumber, ProviderInfo, Service, State, TransportError};

mod acceptors;
mod bind;
mod bytes;
mod connect;
mod datagrams;
mod listen;
mod local;
mod memory;
mod options;

/// The driver.
#[derive(Debug)]
pub struct Inet {
    name: &'static str,
    protocol: Protocol,
}

/// What its sockets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Udp,
    Tcp,
    RawIp,
}

/// UDP.
pub(super) static UDP: Inet = Inet { name: "inet-udp", protocol: Protocol::Udp };
/// TCP.
pub(super) static TCP: Inet = Inet { name: "inet-tcp", protocol: Protocol::Tcp };
/// Datagrams of any IP protocol.
pub(super) static RAWIP: Inet = Inet { name: "inet-rawip", protocol: Protocol::RawIp };

/// The places of the files: the socket of the address or connection, the one that listens, and connections that wait to be accepted.
const SOCKET: usize = 0;
const LISTENER: usize = 1;
const WAITING: usize = 2;

/// The longest datagram in bytes: what the length fields of UDP and IPv4 leave, and of IPv4 alone.
const UDP_MAX: usize = 65_507;
const RAW_MAX: usize = 65_515;
/// The longest address: a `sockaddr_in6`.
const ADDRESS_MAX: i32 = 28;
/// The most data of one request that is not a datagram.
const TIDU: i32 = crate::limits::MAXPSZ as i32;

impl Protocol {
    const fn service(self) -> Service {
        match self {
            Protocol::Tcp => Service::OrderlyConnections,
            Protocol::Udp | Protocol::RawIp => Service::Datagrams,
        }
    }

    const fn files(self) -> &'static [FileKind] {
        match self {
            Protocol::Udp => &[FileKind::Udp],
            Protocol::Tcp => &[FileKind::Tcp; WAITING + memory::CALLS_MAX],
            Protocol::RawIp => &[FileKind::RawIp],
        }
    }

    /// The longest datagram.
    const fn datagram_max(self) -> usize {
        if matches!(self, Protocol::RawIp) { RAW_MAX } else { UDP_MAX }
    }
}

impl Driver for Inet {
    fn info(&self) -> DriverInfo {
        let (hiwat, lowat) = (crate::limits::HIWAT, crate::limits::LOWAT);
        let info = DriverInfo::new(self.name).service(Side::Read).service(Side::Write).water_marks(hiwat, lowat);
        let info = info.instance(memory::LEN).with_files(self.protocol.files());
        DriverInfo { read_place: Some(SOCKET), steps: memory::STEPS, ..info }
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if opening.is_first { bind::prepare(queue, self.protocol) } else { Ok(()) }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.settle()?;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::Data if self.protocol.service() == Service::Datagrams => fatal(queue),
            Kind::Data => match memory::state(queue)? {
                State::Connected | State::Releasing => bytes::pass(message, queue),
                State::Idle => Ok(()),
                _ => fatal(queue),
            },
            Kind::Proto | Kind::PcProto => self.request(message, queue),
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        match (queue.side(), self.protocol) {
            (Side::Read, protocol) => watch_to_read(queue, protocol),
            (Side::Write, protocol) => {
                queue.settle()?;
                if protocol != Protocol::Tcp {
                    return datagrams::pass_waiting(queue);
                }
                listen::take_calls(queue)?;
                bytes::pass_waiting(queue)
            }
        }
    }

    fn ready(&self, place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        match (self.protocol, place) {
            (Protocol::Tcp, SOCKET) => connect::ready(events, queue),
            (Protocol::Tcp, _) => listen::ready(place, events, queue),
            _ => datagrams::ready(events, queue),
        }
    }
}

impl Inet {
    /// A primitive of the user.
    fn request<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let service = self.protocol.service();
        let primitive = match admit(&message, service, memory::state(queue)?, queue)? {
            Admitted::Request(primitive) => primitive,
            Admitted::Question(question) => return self.inform(&question, queue),
            Admitted::Nothing => return Ok(()),
        };
        bind::tidy(queue, self.protocol)?;
        match primitive {
            Primitive::UnitdataReq { destination, options } => {
                let len = message.data().map_or(0, <[u8]>::len);
                match datagrams::check(destination, options, len, self.protocol) {
                    Ok(()) => datagrams::pass(message, queue),
                    Err(errno) => datagrams::report(queue, destination, options, errno),
                }
            }
            // A raw socket needs a right, and a process of the stream that lacks it may have queued the request for one that has it.
            Primitive::BindReq { .. } if self.protocol == Protocol::RawIp && queue.was_queued() => {
                refuse(queue, PrimitiveNumber::BindReq, TransportError::Access)
            }
            Primitive::BindReq { address, waiting } => bind::bind(queue, self.protocol, address, waiting),
            Primitive::UnbindReq => bind::unbind(queue, self.protocol),
            Primitive::OptmgmtReq { options, flags } => options::manage(queue, self.protocol, options, flags),
            Primitive::ConnReq { destination, options } => {
                let has_data = message.data().is_some_and(|data| !data.is_empty());
                connect::connect(queue, destination, options, has_data)
            }
            Primitive::ConnRes { acceptor, options, sequence } => listen::accept(queue, acceptor, options, sequence),
            Primitive::DisconReq { sequence } => connect::disconnect(queue, sequence),
            Primitive::OrdrelReq => {
                // First: a connection whose user has ended it ends, also if this process does here.
                bytes::pass(message, queue)?;
                queue.along_own(|own| match memory::state(own)?.after(Event::OrdrelReq) {
                    Some(next) => memory::set_state(own, next),
                    // It was lost meanwhile, and the user is told.
                    None => Ok(()),
                })?;
                // Of an endpoint that listens: it takes calls again.
                queue.enable();
                Ok(())
            }
            _ if !bytes::is_possible(&message) => fatal(queue),
            _ => bytes::pass(message, queue),
        }
    }

    /// Answers a question that any state allows.
    fn inform(&self, question: &Primitive<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        match question {
            Primitive::AddrReq => {
                let (local, remote) = bind::addresses(queue)?;
                let bytes = |address: &Option<InternetAddress>| {
                    address.as_ref().map_or_else(Vec::new, |address| address.bytes().to_vec())
                };
                answer(queue, Primitive::AddrAck { local: &bytes(&local), remote: &bytes(&remote) })
            }
            Primitive::CapabilityReq { wanted } => {
                let (info, acceptor) = (self.provider(queue)?, acceptors::note(queue));
                answer(queue, Primitive::CapabilityAck { given: *wanted, info, acceptor })
            }
            _ => {
                let info = self.provider(queue)?;
                answer(queue, Primitive::InfoAck(info))
            }
        }
    }

    fn provider(&self, queue: &Queue<'_, '_, '_>) -> Result<ProviderInfo> {
        let service = self.protocol.service();
        let datagrams = service == Service::Datagrams;
        let datagram = self.protocol.datagram_max() as i32;
        Ok(ProviderInfo {
            // Of a connection: no boundaries.
            tsdu: if datagrams { datagram } else { 0 },
            etsdu: if datagrams { ProviderInfo::INVALID } else { bytes::URGENT_MAX as i32 },
            connect_data: ProviderInfo::INVALID,
            disconnect_data: ProviderInfo::INVALID,
            address: ADDRESS_MAX,
            options: OPTIONS_MAX as i32,
            tidu: if datagrams { datagram } else { TIDU },
            service,
            state: memory::state(queue)?,
            flags: if datagrams { ProviderInfo::SENDZERO } else { 0 },
        })
    }
}

/// There is room above: the socket is read again.
fn watch_to_read(queue: &mut Queue<'_, '_, '_>, protocol: Protocol) -> Result<()> {
    match memory::state(queue)? {
        State::Idle if protocol.service() == Service::Datagrams => queue.watch(SOCKET, Events::IN),
        State::Connected | State::AwaitRelease => queue.watch(SOCKET, Events::IN | Events::PRI),
        State::Idle | State::AwaitResponse if memory::waiting_max(queue)? > 0 => queue.watch(LISTENER, Events::IN),
        _ => Ok(()),
    }
}

/// All events for which a file may be watched.
const ALL: Events = Events::IN.union(Events::OUT).union(Events::PRI);

/// The socket at the usual place.
fn socket(queue: &Queue<'_, '_, '_>) -> Result<Option<Arc<OwnedFd>>> {
    queue.file(SOCKET)
}

/// The number of the error of a call, as TPI has it for reasons.
fn number_of(error: &std::io::Error) -> u32 {
    error.raw_os_error().unwrap_or(Errno::Io.number()).unsigned_abs()
}

fn address_of(address: std::net::SocketAddr) -> InternetAddress {
    InternetAddress::from(address)
}

/// A socket of a protocol that has one before it is bound.
fn new_socket(protocol: Protocol, is_v6: bool) -> std::io::Result<OwnedFd> {
    let kind = if protocol == Protocol::Tcp { internet::Kind::Connections } else { internet::Kind::Datagrams };
    internet::open(kind, is_v6)
}

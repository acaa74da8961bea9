//! `ticlts`, `ticots`, `ticotsord`: loop-back transports. Endpoints of unrelated processes send each other datagrams, or have connections,
//! the third with orderly release. Their users speak TPI ([`tpi`](crate::tpi)).
//!
//! An address is any 1 to 108 bytes. Endpoints of one directory of devices find each other by it. A T_BIND_REQ without an address takes
//! one of 4 bytes that no other endpoint has.
//!
//! ```
//! use headwater_streams::tpi::{Primitive, State};
//! use headwater_streams::{DeviceOptions, Message};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-ticlts-{}", std::process::id()));
//! let options = DeviceOptions::new().directory(&path);
//! let (sender, receiver) = (options.open("ticlts")?, options.open("ticlts")?);
//! for (endpoint, address) in [(&sender, &b"me"[..]), (&receiver, b"printer")] {
//!     endpoint.putmsg(Some(&Primitive::BindReq { address, waiting: 0 }.encode()), None)?;
//!     let answer = endpoint.receive()?.expect("an answer");
//!     assert_eq!(Primitive::decode(answer.control().unwrap()), Ok(Primitive::BindAck { address, waiting: 0 }));
//! }
//! let request = Primitive::UnitdataReq { destination: b"printer", options: b"" };
//! sender.putmsg(Some(&request.encode()), Some(b"page 1"))?;
//!
//! let datagram = receiver.receive()?.expect("one was sent");
//! let indication = Primitive::UnitdataInd { source: b"me", options: b"" };
//! assert_eq!(Primitive::decode(datagram.control().unwrap()), Ok(indication));
//! assert_eq!(datagram.data(), Some(&b"page 1"[..]));
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::os::fd::BorrowedFd;

use crate::error::{Errno, Result, fixed};
use crate::message::Message;
use crate::message::kind::Kind;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, Primitive, ProviderInfo, Service, State};

mod bind;
mod connect;
pub(super) mod datagram;
pub(super) mod inform;
pub(super) mod local;
pub(super) mod memory;
pub(super) mod options;
pub(super) mod send;
mod verify;

use super::provider::answer::fatal;
use super::provider::options::OPTIONS_MAX;
use super::provider::{Admitted, admit};

/// The driver.
#[derive(Debug)]
pub struct Transport {
    name: &'static str,
    service: Service,
}

/// Datagrams.
pub(super) static TICLTS: Transport = Transport { name: "ticlts", service: Service::Datagrams };
/// Connections.
pub(super) static TICOTS: Transport = Transport { name: "ticots", service: Service::Connections };
/// Connections with orderly release.
pub(super) static TICOTSORD: Transport = Transport { name: "ticotsord", service: Service::OrderlyConnections };

/// The longest datagram in bytes: as long as the data of any message of a stream with the usual sizes.
const DATAGRAM_MAX: usize = crate::limits::MAXPSZ as usize;

impl Driver for Transport {
    fn info(&self) -> DriverInfo {
        let info = DriverInfo::new(self.name).service(Side::Read).service(Side::Write).instance(memory::WITH_STEPS);
        DriverInfo { has_peers: true, steps: memory::STEPS, ..info }
    }

    fn open(&self, _opening: &Opening, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        Err(fixed!(Inval, "a transport is opened by name: no process finds the addresses of a private stream"))
    }

    fn open_named(&self, _opening: &Opening, _directory: BorrowedFd<'_>, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        if !queue.is_stand_in() {
            // What fails here the peers find out by themselves.
            let _ = connect::leave(queue);
        }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.settle()?;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::Data if self.service == Service::Datagrams => fatal(queue),
            Kind::Data => match memory::state(queue)? {
                State::Connected | State::Releasing => send::pass(message, queue, send::send),
                State::Idle => Ok(()),
                _ => fatal(queue),
            },
            Kind::Proto | Kind::PcProto => self.request(message, queue),
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Read {
            // There is room above: senders continue.
            let senders = memory::take_senders(queue)?;
            queue.serve_peers(senders);
            return Ok(());
        }
        queue.settle()?;
        send::pass_waiting(queue, send::send)
    }

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        self.service(queue)?;
        if queue.side() == Side::Write { verify::verify(queue) } else { Ok(()) }
    }
}

impl Transport {
    /// A primitive of the user.
    fn request<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let primitive = match admit(&message, self.service, memory::state(queue)?, queue)? {
            Admitted::Request(primitive) => primitive,
            Admitted::Question(question) => {
                let info = self.provider(queue)?;
                return inform::inform(&question, info, queue);
            }
            Admitted::Nothing => return Ok(()),
        };
        bind::tidy(queue)?;
        match primitive {
            Primitive::BindReq { address, waiting } => {
                let waiting = if self.service == Service::Datagrams { 0 } else { waiting };
                bind::bind(queue, address, waiting)
            }
            Primitive::UnbindReq => bind::unbind(queue),
            Primitive::OptmgmtReq { options, flags } => options::manage(queue, options, flags),
            Primitive::ConnReq { destination, options } => {
                let has_data = message.data().is_some_and(|data| !data.is_empty());
                connect::connect(queue, destination, options, has_data)
            }
            Primitive::ConnRes { acceptor, options, sequence } => connect::accept(queue, acceptor, options, sequence),
            Primitive::DisconReq { sequence } => connect::disconnect(queue, sequence),
            Primitive::OrdrelReq => {
                verify::begin(queue);
                let has_ended = queue.along_own(|own| match memory::state(own)?.after(Event::OrdrelReq) {
                    Some(next) => memory::set_state(own, next).map(|()| true),
                    // It was lost meanwhile, and the user is told.
                    None => Ok(false),
                })?;
                if has_ended { send::pass(message, queue, send::send) } else { Ok(()) }
            }
            Primitive::UnitdataReq { destination, options } => {
                let len = message.data().map_or(0, <[u8]>::len);
                match datagram::check(destination, options, len) {
                    Ok(()) => send::pass(message, queue, send::send),
                    Err(errno) => datagram::report(queue, destination, options, errno),
                }
            }
            _ => send::pass(message, queue, send::send),
        }
    }

    fn provider(&self, queue: &Queue<'_, '_, '_>) -> Result<ProviderInfo> {
        let datagrams = self.service == Service::Datagrams;
        let of_connections = if datagrams { ProviderInfo::INVALID } else { ProviderInfo::INFINITE };
        Ok(ProviderInfo {
            tsdu: if datagrams { DATAGRAM_MAX as i32 } else { ProviderInfo::INFINITE },
            etsdu: of_connections,
            connect_data: ProviderInfo::INVALID,
            disconnect_data: ProviderInfo::INVALID,
            address: crate::limits::ADDRESS_MAX as i32,
            options: OPTIONS_MAX as i32,
            tidu: crate::limits::MAXPSZ as i32,
            service: self.service,
            state: memory::state(queue)?,
            flags: ProviderInfo::SENDZERO,
        })
    }
}

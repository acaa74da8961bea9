//! `udp`: UDP over IPv4 and IPv6. Its users speak TPI ([`tpi`](crate::tpi)); an address is an
//! [`InternetAddress`].
//!
//! Each endpoint has a UDP socket of the kernel, bound to its address: so the kernel makes ports unique, and everything else that speaks
//! UDP reaches the endpoint. To another endpoint of this library in the same directory of devices, on the same machine and in
//! the same network namespace, datagrams go through shared memory, with flow control: none is lost. All others go through the socket.
//!
//! A T_BIND_REQ without an address, or with port 0, takes a free port. An endpoint has the address family of its bind; one of IPv6
//! receives no datagrams of IPv4. What the network reports about a datagram comes as a T_UDERROR_IND, whose error is an error number.
//!
//! There is no T_CONN_REQ: TPI has none for a transport of datagrams. A library of transport calls keeps a default destination itself.
//!
//! ```
//! use headwater_streams::DeviceOptions;
//! use headwater_streams::tpi::{InternetAddress, Primitive};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-udp-{}", std::process::id()));
//! let endpoint = DeviceOptions::new().directory(&path).open("udp")?;
//! let loopback = InternetAddress::from("127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap());
//! endpoint.putmsg(Some(&Primitive::BindReq { address: loopback.bytes(), waiting: 0 }.encode()), None)?;
//! let answer = endpoint.receive()?.expect("an answer");
//! let Ok(Primitive::BindAck { address, .. }) = Primitive::decode(answer.control().unwrap()) else { panic!("{answer:?}") };
//! let address = InternetAddress::decode(address).expect("an address");
//!
//! // Any program sends to it.
//! let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! socket.send_to(b"hello", address)?;
//! let (mut source, mut data) = ([0; 28], [0; 64]);
//! let received = endpoint.recv_from(&mut source, &mut [], &mut data)?.expect("one was sent");
//! assert_eq!(&data[..received.data], b"hello");
//! assert_eq!(InternetAddress::decode(&source[..received.address]), Some(socket.local_addr()?));
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::os::fd::BorrowedFd;

use crate::error::{Errno, Result, fixed};
use crate::message::Message;
use crate::message::kind::Kind;
use crate::options::events::Events;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;
use crate::process::file_kind::FileKind;
use crate::tpi::{InternetAddress, Primitive, ProviderInfo, Service};

use super::provider::answer::fatal;
use super::provider::options::OPTIONS_MAX;
use super::provider::{Admitted, admit};
use super::transport::{datagram, inform, memory, options as generic, send as queued};

mod bind;
mod options;
mod other_directory;
mod receive;
mod send;
mod words;

/// The driver.
#[derive(Debug)]
pub struct Udp;

/// The place of the socket among the stream's files.
const SOCKET: usize = 0;

/// The longest datagram of IPv4 in bytes: a packet has 65535, of which the headers take 28. A header of IPv6 does not count.
const DATAGRAM_MAX_V4: usize = 65_507;
const DATAGRAM_MAX_V6: usize = 65_527;

impl Driver for Udp {
    fn info(&self) -> DriverInfo {
        let info = DriverInfo::new("udp").service(Side::Read).service(Side::Write).instance(memory::WITH_STEPS);
        let info = info.with_files(&[FileKind::Udp]);
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
            // What fails here the senders find out by themselves. The kernel closes the socket with the last process.
            let _ = bind::leave(queue);
        }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.settle()?;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::Data => fatal(queue),
            Kind::Proto | Kind::PcProto => request(message, queue),
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Write {
            queue.settle()?;
            return queued::pass_waiting(queue, send::send);
        }
        // There is room above: senders continue, and the socket is read again.
        let senders = memory::take_senders(queue)?;
        queue.serve_peers(senders);
        if memory::state(queue)? != crate::tpi::State::Unbound {
            queue.watch_again(SOCKET, Events::IN);
        }
        Ok(())
    }

    fn ready(&self, place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        receive::ready(place, events, queue)
    }
}

/// A primitive of the user.
fn request<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let primitive = match admit(&message, Service::Datagrams, memory::state(queue)?, queue)? {
        Admitted::Nothing => return Ok(()),
        Admitted::Question(question) => {
            let info = provider(queue)?;
            return inform::inform(&question, info, queue);
        }
        Admitted::Request(primitive) => primitive,
    };
    bind::tidy(queue)?;
    match primitive {
        Primitive::BindReq { address, .. } => bind::bind(queue, address),
        Primitive::UnbindReq => bind::unbind(queue),
        Primitive::OptmgmtReq { options, flags } => options::manage(queue, options, flags),
        Primitive::UnitdataReq { destination, options } => {
            let len = message.data().map_or(0, <[u8]>::len);
            match send::check(queue, destination, options, len)? {
                Ok(()) => queued::pass(message, queue, send::send),
                Err(errno) => datagram::report(queue, destination, options, errno),
            }
        }
        // Nothing else is a request to a transport of datagrams.
        _ => fatal(queue),
    }
}

fn provider(queue: &Queue<'_, '_, '_>) -> Result<ProviderInfo> {
    let is_v6 = words::own_address(queue)?.is_some_and(|own| own.is_ipv6());
    let longest = if is_v6 { DATAGRAM_MAX_V6 } else { DATAGRAM_MAX_V4 };
    Ok(ProviderInfo {
        tsdu: longest as i32,
        etsdu: ProviderInfo::INVALID,
        connect_data: ProviderInfo::INVALID,
        disconnect_data: ProviderInfo::INVALID,
        address: InternetAddress::LEN_MAX as i32,
        options: OPTIONS_MAX as i32,
        tidu: longest as i32,
        service: Service::Datagrams,
        state: memory::state(queue)?,
        flags: ProviderInfo::SENDZERO,
    })
}

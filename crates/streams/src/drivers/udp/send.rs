//! T_UNITDATA_REQ: to another endpoint of the library through shared memory, to all others through the socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use headwater_os::internet::{self, Fields};

use super::super::internet_options::{fields_of, options_of};
use super::super::provider::answer::is_unreported;
use super::super::transport::datagram::{self, Outcome, TOO_LONG, report, to_endpoint};
use super::super::transport::local::{Receiver, known};
use super::memory::{self, Address};
use super::{DATAGRAM_MAX_V4, DATAGRAM_MAX_V6, SOCKET, options, other_directory, words};
use crate::error::{Errno, Result};
use crate::message::Message;
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::plumb::route::{Control, Route};
use crate::tpi::{InternetAddress, Primitive};

/// EAFNOSUPPORT.
const OTHER_FAMILY: Errno = Errno::new(97);
/// A process that does not have the socket leaves a datagram to those that have it, and looks again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Datagrams before, whose errors one send may find.
const ERRORS_MAX: usize = 64;

/// Whether a datagram can be sent to anyone; the error of its T_UDERROR_IND.
pub(super) fn check(
    queue: &Queue<'_, '_, '_>,
    destination: &[u8],
    options: &[u8],
    len: usize,
) -> Result<std::result::Result<(), Errno>> {
    let (Some(to), Some(own)) = (InternetAddress::decode(destination), words::own_address(queue)?) else {
        return Ok(Err(OTHER_FAMILY));
    };
    let most = if own.is_ipv6() { DATAGRAM_MAX_V6 } else { DATAGRAM_MAX_V4 };
    Ok(match () {
        () if to.is_ipv6() != own.is_ipv6() => Err(OTHER_FAMILY),
        () if len > most => Err(TOO_LONG),
        () => fields_of(options, to.is_ipv6()).map(drop),
    })
}

/// The longest datagram to an address.
fn longest(destination: &[u8]) -> usize {
    let is_v6 = InternetAddress::decode(destination).is_some_and(|to| to.is_ipv6());
    if is_v6 { DATAGRAM_MAX_V6 } else { DATAGRAM_MAX_V4 }
}

/// False: the datagram waits for room, and is left.
pub(super) fn send<'m>(message: &mut Option<Message<'m>>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
    let Some(destination) = datagram::destination(message.as_ref()) else { return Ok(true) };
    let own = own_options(message.as_ref());
    let is_v6 = InternetAddress::decode(destination.bytes()).is_some_and(|to| to.is_ipv6());
    let Ok(Some(fields)) = options::fields(queue, own, is_v6)? else {
        return by_socket(message.as_ref(), queue, &destination);
    };
    let told = options_of(&fields);
    match to_endpoint(message, queue, &destination, (find, longest(destination.bytes()), &told))? {
        Outcome::Done => Ok(true),
        Outcome::Waits => Ok(false),
        Outcome::Elsewhere => by_socket(message.as_ref(), queue, &destination),
    }
}

/// The options of a datagram, as it waits in a queue.
fn own_options<'m>(message: Option<&'m Message<'_>>) -> &'m [u8] {
    match message.and_then(|message| Primitive::decode(message.control()?).ok()) {
        Some(Primitive::UnitdataReq { options, .. }) => options,
        _ => &[],
    }
}

/// The endpoint of the library that has an address. If none has, that is noted.
fn find(queue: &mut Queue<'_, '_, '_>, destination: &Address) -> Result<Option<Receiver>> {
    let found = find_endpoint(queue, destination)?;
    if found.is_none() {
        let (_, own_binds) = memory::binding(queue)?;
        known(queue).note_elsewhere(destination, own_binds);
        if let Some(to) = InternetAddress::decode(destination.bytes()) {
            other_directory::look(queue, to)?;
        }
    }
    Ok(found)
}

fn find_endpoint(queue: &mut Queue<'_, '_, '_>, destination: &Address) -> Result<Option<Receiver>> {
    let (Some(to), Some(own)) = (InternetAddress::decode(destination.bytes()), words::own_address(queue)?) else {
        return Ok(None);
    };
    let namespace = words::namespace(queue)?;
    let any: IpAddr = if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let mut exact = to;
    if let SocketAddr::V6(exact) = &mut exact {
        exact.set_flowinfo(0);
    }
    for bound in [exact, SocketAddr::new(any, to.port())] {
        let Some(minor) = queue.addresses()?.find(&words::name(namespace, bound))? else { continue };
        // Only for an address that has a name: the kernel's answer takes a socket, ten times as long as the look for a name.
        let Some(source) = source(to, own, namespace) else { return Ok(None) };
        let Some(peer) = queue.find_peer(minor)? else { continue };
        // The peer's memory and the directory say what they will: the kernel says to what address a socket is bound, and where.
        let Some(socket) = queue.file_of_peer(&peer, SOCKET)? else { continue };
        let socket = socket.as_fd();
        let has_it = internet::is_udp(socket)
            && internet::own_address(socket).is_ok_and(|has| has == bound)
            && internet::namespace(socket).is_ok_and(|of| of == namespace);
        let Some(address) = Address::of(InternetAddress::from(bound).bytes()).filter(|_| has_it) else { continue };
        if let Some(binds) = datagram::binding_of(queue, &peer, &address)? {
            return Ok(Some(Receiver { peer, binds, source }));
        }
    }
    Ok(None)
}

/// The source that a receiver on this machine sees in datagrams from `own` to `to`. None: `to` is no address of this machine.
fn source(to: SocketAddr, own: SocketAddr, namespace: u64) -> Option<Address> {
    let source = internet::source_within_machine(to, namespace)?;
    let source = SocketAddr::new(if own.ip().is_unspecified() { source } else { own.ip() }, own.port());
    Address::of(InternetAddress::from(source).bytes())
}

/// False: the socket is full, and the datagram is left.
fn by_socket(message: Option<&Message<'_>>, queue: &mut Queue<'_, '_, '_>, destination: &Address) -> Result<bool> {
    let (Some(message), Some(to)) = (message, InternetAddress::decode(destination.bytes())) else { return Ok(true) };
    let Ok(file) = queue.file(SOCKET) else {
        // A peer's process, which has room for an earlier datagram.
        queue.enable_after(LOOK_AGAIN);
        return Ok(false);
    };
    let Some(socket) = file else { return Ok(true) };
    let (data, own) = (message.data().unwrap_or_default(), own_options(Some(message)));
    let fields = fields_of(own, to.is_ipv6()).unwrap_or(Fields::USUAL);
    for _ in 0..ERRORS_MAX {
        let error = match internet::send_with(socket.as_fd(), data, to, &fields) {
            Ok(true) => {
                if own.is_empty() {
                    note_socket(queue, message, destination, to)?;
                }
                return queue.has_sent().map(|()| true);
            }
            Ok(false) => {
                queue.watch(SOCKET, Events::OUT)?;
                return Ok(false);
            }
            Err(error) => Errno::new(error.raw_os_error().unwrap_or(0)),
        };
        // Of this datagram, or of one before: then there is a report about that one, and this one is sent again.
        let Some(refused) = internet::undelivered(socket.as_fd()) else {
            return report(queue, destination.bytes(), own, error).map(|()| true);
        };
        let about = refused.destination.map(InternetAddress::from);
        let about = about.as_ref().map_or(destination.bytes(), InternetAddress::bytes);
        let told = report(queue, about, &[], Errno::new(refused.errno));
        if error == TOO_LONG {
            return told.map(|()| true);
        }
        // That of one before may be lost, as the network may lose it.
        if let Err(error) = told
            && !is_unreported(&error)
        {
            return Err(error);
        }
    }
    report(queue, destination.bytes(), &[], Errno::new(ERROR_OF_MANY)).map(|()| true)
}

/// The next datagrams to that address go by the socket, until it is time to look again for an endpoint of the library.
fn note_socket(
    queue: &mut Queue<'_, '_, '_>,
    message: &Message<'_>,
    destination: &Address,
    to: SocketAddr,
) -> Result<()> {
    let (state, own_binds) = memory::binding(queue)?;
    let left = known(queue).take_left(destination, own_binds);
    if let (Some(request), Some((file, version)), true) =
        (message.control().and_then(Control::of), queue.file_and_version(SOCKET)?, left > 0)
    {
        let own = memory::is_bound(state, own_binds);
        let longest = longest(destination.bytes());
        queue.note_route(Route::by_socket(request, own, (&file, version), to, left, longest));
    }
    Ok(())
}

/// ECONNREFUSED: each of many errors was of another datagram.
const ERROR_OF_MANY: i32 = 111;

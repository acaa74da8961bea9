//! T_BIND_REQ, T_UNBIND_REQ and the addresses of an endpoint.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use headwater_os::internet::{self, Setting};
use headwater_os::own_numbers;

use super::memory::{self, CALLS_MAX, Use};
use super::{LISTENER, Protocol, SOCKET, WAITING, address_of, new_socket, options, socket};
use crate::drivers::provider::answer::{answer, flush, message, refuse, refuse_by};
use crate::error::{Errno, Result};
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{InternetAddress, Primitive, PrimitiveNumber, State, TransportError};

/// EADDRINUSE, EADDRNOTAVAIL.
const IN_USE: Errno = Errno::new(98);
const NOT_AVAILABLE: Errno = Errno::new(99);

/// Gives a new or unbound endpoint a socket, on which options can be set. One of a raw protocol gets it when the protocol is known.
pub(super) fn prepare(queue: &mut Queue<'_, '_, '_>, protocol: Protocol) -> Result<()> {
    let socket = if protocol == Protocol::RawIp { None } else { Some(new_socket(protocol, false)?) };
    queue.set_file(SOCKET, socket)
}

/// Gives an endpoint without an address files as a new one has, if a process was killed while it gave it an address, or took it away.
pub(super) fn tidy(queue: &mut Queue<'_, '_, '_>, protocol: Protocol) -> Result<()> {
    if memory::state(queue)? == State::Unbound && memory::usage(queue)? != Use::Fresh {
        clear(queue, protocol)?;
        return queue.along_own(|own| {
            memory::bind(own, None, 0)?;
            memory::set_usage(own, Use::Fresh)
        });
    }
    Ok(())
}

/// The files of a new endpoint.
fn clear(queue: &mut Queue<'_, '_, '_>, protocol: Protocol) -> Result<()> {
    for place in LISTENER..WAITING + CALLS_MAX {
        if queue.file(place)?.is_some() {
            queue.set_file(place, None)?;
        }
    }
    prepare(queue, protocol)
}

pub(super) fn bind(queue: &mut Queue<'_, '_, '_>, protocol: Protocol, asked: &[u8], waiting: u32) -> Result<()> {
    let of = PrimitiveNumber::BindReq;
    let address = match (asked, protocol) {
        ([], Protocol::Udp | Protocol::Tcp) => Some(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
        _ => InternetAddress::decode(asked),
    };
    let Some(address) = address else { return refuse(queue, of, TransportError::BadAddress) };
    let waiting = if protocol == Protocol::Tcp { (waiting as usize).min(CALLS_MAX) } else { 0 };
    // The socket gets the address before the endpoint has it. If this process is killed meanwhile, the next one takes another socket.
    queue.along_own(|own| memory::set_usage(own, Use::Lost))?;
    let (socket, bound) = match take(queue, protocol, address, waiting) {
        Ok(taken) => taken,
        Err(error) => {
            let has_address = |socket: &OwnedFd| internet::own_address(socket.as_fd()).is_ok_and(|own| own.port() != 0);
            if !socket(queue)?.is_some_and(|socket| has_address(&socket)) {
                queue.along_own(|own| memory::set_usage(own, Use::Fresh))?;
            }
            return refuse_address(queue, of, &error, asked.is_empty());
        }
    };
    let place = if waiting > 0 { LISTENER } else { SOCKET };
    if place == LISTENER {
        queue.set_file(SOCKET, None)?;
    }
    queue.set_file(place, Some(socket))?;
    let (bound, waiting) = (address_of(bound), waiting as u32);
    queue.along_own(|own| {
        memory::bind(own, Some(bound), waiting)?;
        memory::set_usage(own, Use::Fresh)?;
        memory::set_state(own, State::Idle)?;
        if place == LISTENER || protocol != Protocol::Tcp {
            own.watch(place, Events::IN)?;
        }
        own.put_next(message(Primitive::BindAck { address: bound.bytes(), waiting }))
    })
}

/// A socket that has the address, and the address with the port that the kernel has chosen.
fn take(
    queue: &Queue<'_, '_, '_>,
    protocol: Protocol,
    mut address: SocketAddr,
    waiting: usize,
) -> io::Result<(OwnedFd, SocketAddr)> {
    let number = address.port();
    let socket = match socket(queue)? {
        _ if protocol == Protocol::RawIp => {
            let number = u8::try_from(number).ok().filter(|number| *number > 0);
            let Some(number) = number else { return Err(io::Error::from_raw_os_error(NOT_AVAILABLE.number())) };
            address.set_port(0);
            internet::open(internet::Kind::Raw(number), address.is_ipv6())?
        }
        // The one whose options the user has set perhaps.
        Some(socket) if !address.is_ipv6() => own_numbers::copy(socket.as_fd())?,
        old => {
            let socket = new_socket(protocol, address.is_ipv6())?;
            if let Some(old) = old {
                let usual = new_socket(protocol, false)?;
                options::keep(old.as_fd(), socket.as_fd(), Some(usual.as_fd()));
                Setting::ReuseAddress.set(socket.as_fd(), Setting::ReuseAddress.get(old.as_fd())?)?;
            }
            socket
        }
    };
    let fd = socket.as_fd();
    if waiting > 0 {
        // Not behind connections of an earlier listener that are not quite over.
        Setting::ReuseAddress.set(fd, [1, 0])?;
    }
    internet::bind(fd, address)?;
    if waiting > 0 {
        internet::listen(fd, waiting as u32)?;
    }
    let mut bound = internet::own_address(fd)?;
    if protocol == Protocol::RawIp {
        bound.set_port(number);
    }
    Ok((socket, bound))
}

/// The address could not be had.
pub(super) fn refuse_address(
    queue: &mut Queue<'_, '_, '_>,
    of: PrimitiveNumber,
    error: &io::Error,
    is_any: bool,
) -> Result<()> {
    match error.raw_os_error().map(Errno::new) {
        Some(IN_USE) if is_any => refuse(queue, of, TransportError::NoAddress),
        Some(IN_USE) => refuse(queue, of, TransportError::AddressBusy),
        Some(NOT_AVAILABLE) => refuse(queue, of, TransportError::BadAddress),
        number => {
            let error = number.map_or(crate::Error::new(Errno::Io, error.to_string()), |number| {
                crate::Error::new(number, error.to_string())
            });
            refuse_by(queue, of, &error)
        }
    }
}

pub(super) fn unbind(queue: &mut Queue<'_, '_, '_>, protocol: Protocol) -> Result<()> {
    queue.along_own(|own| {
        memory::set_state(own, State::Unbound)?;
        memory::set_usage(own, Use::Lost)
    })?;
    while queue.get()?.is_some() {}
    tidy(queue, protocol)?;
    flush(queue)?;
    answer(queue, Primitive::OkAck { of: PrimitiveNumber::UnbindReq })
}

/// The addresses of both ends, as T_ADDR_REQ asks for them.
pub(super) fn addresses(queue: &Queue<'_, '_, '_>) -> Result<(Option<InternetAddress>, Option<InternetAddress>)> {
    let is_connected = matches!(memory::state(queue)?, State::Connected | State::Releasing | State::AwaitRelease);
    let (mut local, mut remote) = (memory::bound(queue)?, None);
    if is_connected && let Some(socket) = socket(queue)? {
        // After a reset the kernel does not know them any more.
        local = internet::own_address(socket.as_fd()).ok().or(local);
        remote = internet::other_address(socket.as_fd()).ok();
    }
    Ok((local.map(address_of), remote.map(address_of)))
}

//! T_BIND_REQ, T_UNBIND_REQ, and the end of an endpoint.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use headwater_os::internet::{self, Kind, Setting};

use super::super::provider::answer::{answer, flush, message, refuse, refuse_by};
use super::{SOCKET, memory, options, words};
use crate::error::Result;
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{InternetAddress, Primitive, PrimitiveNumber, State, TransportError};

/// A process that ends gives up its port a moment before its name in the directory. A bind that finds only the name taken tries again,
/// so often and with such a rest.
const TRIES: u32 = 50;
const REST: Duration = Duration::from_millis(1);

/// EADDRINUSE, EADDRNOTAVAIL.
const ADDRESS_IN_USE: i32 = 98;
const ADDRESS_NOT_AVAILABLE: i32 = 99;

/// Gives up what an endpoint without an address has of one, if a process was killed while it took it or gave it up.
pub(super) fn tidy(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if memory::state(queue)? != State::Unbound || words::own_address(queue)?.is_none() {
        return Ok(());
    }
    give_up(queue)?;
    if queue.file(SOCKET)?.is_some() {
        queue.set_file(SOCKET, None)?;
    }
    queue.along_own(|own| memory::bind(own, &[], 0))
}

/// Gives up the name and the port of the address that is noted.
fn give_up(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(bound) = words::own_address(queue)? else { return Ok(()) };
    let name = words::name(words::namespace(queue)?, bound);
    let minor = queue.minor().unwrap_or(0);
    // It may be another endpoint's, if it was not to be had. At once: a process that fetches the stream at this moment has copies of its files.
    if !options::shares_address(queue)? && queue.addresses()?.take(&name, minor)? {
        queue.addresses()?.give_up(&name)?;
    }
    Ok(())
}

pub(super) fn bind(queue: &mut Queue<'_, '_, '_>, address: &[u8]) -> Result<()> {
    let of = PrimitiveNumber::BindReq;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let asked = if address.is_empty() { Some(any) } else { InternetAddress::decode(address) };
    let Some(asked) = asked else { return refuse(queue, of, TransportError::BadAddress) };
    let made = bound(queue, asked);
    let (socket, bound, namespace) = match made {
        Ok(made) => made,
        Err(error) => {
            return match error.raw_os_error() {
                Some(ADDRESS_IN_USE) => refuse(queue, of, TransportError::AddressBusy),
                Some(ADDRESS_NOT_AVAILABLE) => refuse(queue, of, TransportError::BadAddress),
                _ => refuse_by(queue, of, &error.into()),
            };
        }
    };
    // An address that several endpoints may have is the kernel's alone: it says which of them gets a datagram.
    let name = words::name(namespace, bound);
    let address = InternetAddress::from(bound);
    // Before they are taken: if this process is killed meanwhile, the next one gives them up.
    queue.along_own(|own| {
        words::set_namespace(own, namespace)?;
        memory::bind(own, address.bytes(), 0)
    })?;
    if !options::shares_address(queue)? {
        let taken = take(queue, &name);
        if !matches!(taken, Ok(true)) {
            queue.along_own(|own| memory::bind(own, &[], 0))?;
        }
        match taken {
            Ok(true) => {}
            Ok(false) => return refuse(queue, of, TransportError::AddressBusy),
            Err(error) if error.is_held() => return Err(error),
            Err(error) => return refuse_by(queue, of, &error),
        }
    }
    if let Err(error) = queue.set_file(SOCKET, Some(socket)) {
        tidy(queue)?;
        return refuse_by(queue, of, &error);
    }
    queue.watch(SOCKET, Events::IN)?;
    queue.along_own(|own| {
        memory::bind(own, address.bytes(), 0)?;
        memory::set_state(own, State::Idle)?;
        own.put_next(message(Primitive::BindAck { address: address.bytes(), waiting: 0 }))
    })
}

/// A socket that has an address, the address with the port that the kernel has chosen, and its namespace.
fn bound(queue: &Queue<'_, '_, '_>, address: SocketAddr) -> io::Result<(OwnedFd, SocketAddr, u64)> {
    let socket = internet::open(Kind::Datagrams, address.is_ipv6())?;
    let fd = socket.as_fd();
    if address.is_ipv6() {
        Setting::OnlyV6.set(fd, [1, 0])?;
    }
    options::set_all(queue, fd, address.is_ipv6())?;
    internet::bind(fd, address)?;
    let (bound, namespace) = (internet::own_address(fd)?, internet::namespace(fd)?);
    Ok((socket, bound, namespace))
}

/// Takes the name, whose port the stream has. False: another stream keeps it.
fn take(queue: &Queue<'_, '_, '_>, name: &[u8]) -> Result<bool> {
    let (minor, addresses) = (queue.minor().unwrap_or(0), queue.addresses()?);
    for _ in 0..TRIES {
        if addresses.take(name, minor)? {
            return Ok(true);
        }
        std::thread::sleep(REST);
    }
    Ok(false)
}

pub(super) fn unbind(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let of = PrimitiveNumber::UnbindReq;
    if let Err(error) = leave(queue) {
        return refuse_by(queue, of, &error);
    }
    flush(queue)?;
    answer(queue, Primitive::OkAck { of })
}

/// The endpoint has no address from now on.
pub(super) fn leave(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let senders = queue.along_own(|own| {
        memory::set_state(own, State::Unbound)?;
        memory::take_senders(own)
    })?;
    queue.serve_peers(senders);
    tidy(queue)
}

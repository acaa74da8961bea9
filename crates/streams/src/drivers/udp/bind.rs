//! T_BIND_REQ, T_UNBIND_REQ, and the end of an endpoint.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use headwater_os::udp_socket;

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

pub(super) fn bind(queue: &mut Queue<'_, '_, '_>, address: &[u8]) -> Result<()> {
    let of = PrimitiveNumber::BindReq;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let asked = if address.is_empty() { Some(any) } else { InternetAddress::decode(address) };
    let Some(asked) = asked else { return refuse(queue, of, TransportError::BadAddress) };
    let made = udp_socket::bind(asked, &options::of_socket(queue)?).and_then(|socket| {
        let (bound, namespace) = (udp_socket::local(socket.as_fd())?, udp_socket::namespace(socket.as_fd())?);
        Ok((socket, bound, namespace))
    });
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
    if !options::shares_address(queue)? {
        match take(queue, &name) {
            Ok(true) => {}
            Ok(false) => return refuse(queue, of, TransportError::AddressBusy),
            Err(error) if error.is_held() => return Err(error),
            Err(error) => return refuse_by(queue, of, &error),
        }
    }
    if let Err(error) = queue.set_file(SOCKET, Some(socket)) {
        queue.addresses()?.give_up(&name)?;
        return refuse_by(queue, of, &error);
    }
    queue.watch(SOCKET, Events::IN)?;
    let address = InternetAddress::from(bound);
    queue.along_own(|own| {
        words::set_namespace(own, namespace)?;
        memory::bind(own, address.bytes(), 0)?;
        memory::set_state(own, State::Idle)?;
        own.put_next(message(Primitive::BindAck { address: address.bytes(), waiting: 0 }))
    })
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
    if let Err(error) = leave(queue).and_then(|()| queue.set_file(SOCKET, None)) {
        return refuse_by(queue, of, &error);
    }
    flush(queue)?;
    answer(queue, Primitive::OkAck { of })
}

/// The endpoint has no address from now on.
pub(super) fn leave(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let bound = words::own_address(queue)?;
    let name = bound.map(|bound| words::namespace(queue).map(|namespace| words::name(namespace, bound))).transpose()?;
    let senders = queue.along_own(|own| {
        memory::bind(own, &[], 0)?;
        memory::set_state(own, State::Unbound)?;
        memory::take_senders(own)
    })?;
    if let Some(name) = name
        && !options::shares_address(queue)?
    {
        // At once: a process that fetches the stream at this moment has copies of its files.
        queue.addresses()?.give_up(&name)?;
    }
    queue.serve_peers(senders);
    Ok(())
}

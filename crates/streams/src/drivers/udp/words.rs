//! The memory of an endpoint of `udp`: that of every transport's endpoint, and behind it the network namespace and the options.

use std::net::SocketAddr;

use super::memory;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::InternetAddress;

/// The number of the socket's network namespace; changed by a bind, under the locks of both directions.
const NAMESPACE: usize = memory::LEN;
/// Options, each in a place of its own: the length of the value plus one, 0 where the user has set none, then the value. Of the write
/// side alone.
const OPTIONS: usize = NAMESPACE + 8;
const OPTION_BYTES: usize = 48;
pub(super) const OPTIONS_MAX: usize = 7;

const _: () = assert!(OPTIONS + OPTION_BYTES * OPTIONS_MAX + memory::STEPS <= memory::WITH_STEPS);

/// The address of the endpoint; None before a bind.
pub(super) fn own_address(queue: &Queue<'_, '_, '_>) -> Result<Option<SocketAddr>> {
    Ok(InternetAddress::decode(memory::local(queue)?.bytes()))
}

pub(super) fn namespace(queue: &Queue<'_, '_, '_>) -> Result<u64> {
    let mut bytes = [0; 8];
    queue.read_instance(NAMESPACE, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

pub(super) fn set_namespace(queue: &mut Queue<'_, '_, '_>, namespace: u64) -> Result<()> {
    queue.write_instance(NAMESPACE, &namespace.to_ne_bytes())
}

/// What the user has set the option of that number to.
pub(super) fn option(queue: &Queue<'_, '_, '_>, number: usize) -> Result<Option<Vec<u8>>> {
    let mut bytes = [0; OPTION_BYTES];
    queue.read_instance(OPTIONS + OPTION_BYTES * number, &mut bytes)?;
    let value = usize::from(bytes[0]).checked_sub(1).and_then(|len| bytes[1..].get(..len));
    Ok(value.map(<[u8]>::to_vec))
}

pub(super) fn set_option(queue: &mut Queue<'_, '_, '_>, number: usize, value: &[u8]) -> Result<()> {
    let mut bytes = [0; OPTION_BYTES];
    bytes[0] = value.len() as u8 + 1;
    bytes[1..=value.len()].copy_from_slice(value);
    queue.write_instance(OPTIONS + OPTION_BYTES * number, &bytes)
}

/// The name under which an endpoint is found: addresses of different namespaces are different.
pub(super) fn name(namespace: u64, address: SocketAddr) -> Vec<u8> {
    let mut name = namespace.to_be_bytes().to_vec();
    name.extend_from_slice(InternetAddress::from(address).bytes());
    name
}

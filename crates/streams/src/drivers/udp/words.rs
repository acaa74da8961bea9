//! The memory of an endpoint of `udp`: that of every transport's endpoint, and behind it the network namespace and the options.

use std::net::SocketAddr;

use super::memory;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::InternetAddress;

/// The number of the socket's network namespace; changed by a bind, under the locks of both directions.
const NAMESPACE: usize = memory::LEN;
/// Options: a word each, the value plus one; 0 where the user has set none. Of the write side alone.
const OPTIONS: usize = NAMESPACE + 8;
pub(super) const OPTIONS_MAX: usize = 6;

const _: () = assert!(OPTIONS + 4 * OPTIONS_MAX + memory::STEPS <= memory::WITH_STEPS);

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
pub(super) fn option(queue: &Queue<'_, '_, '_>, number: usize) -> Result<Option<i32>> {
    let mut bytes = [0; 4];
    queue.read_instance(OPTIONS + 4 * number, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes).checked_sub(1).filter(|value| (0..=0xff).contains(value)))
}

pub(super) fn set_option(queue: &mut Queue<'_, '_, '_>, number: usize, value: i32) -> Result<()> {
    queue.write_instance(OPTIONS + 4 * number, &(value + 1).to_ne_bytes())
}

/// The name under which an endpoint is found: addresses of different namespaces are different.
pub(super) fn name(namespace: u64, address: SocketAddr) -> Vec<u8> {
    let mut name = namespace.to_be_bytes().to_vec();
    name.extend_from_slice(InternetAddress::from(address).bytes());
    name
}

//! The memory of an endpoint over a socket, shared by all processes of the stream.
//!
//! It is changed under the lock of the stream's direction 1, but for [`SENDING`], which the write side alone uses. What a message tells of
//! is among the first [`STEPS`] bytes: both are done in one step, or neither.

use std::net::SocketAddr;

use crate::drivers::provider::words::{self, set_word, word};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::plumb::route::Condition;
use crate::tpi::{InternetAddress, State};

/// Bytes of the memory that are changed in steps, and of all of it.
pub(super) const STEPS: usize = 256;
pub(super) const LEN: usize = 4 * STEPS;

const STATE: usize = 0;
/// How many connections may wait; not 0: the endpoint listens.
const WAITING_MAX: usize = 4;
const SEQUENCE: usize = 8;
/// What was done with the socket: [`Use`].
const USE: usize = 12;
/// The sequence number of a connection that is being handed to another endpoint; 0: of none.
const HANDED: usize = 16;
/// The address that was asked for by T_BIND_REQ: a length, then the bytes.
const BOUND: usize = 32;
const BOUND_BYTES: usize = 28;
/// The sequence numbers of connections that wait to be accepted; 0: the place is free.
const CALLS: usize = 96;
/// At most so many of them: the files of a stream are few.
pub(super) const CALLS_MAX: usize = crate::limits::DRIVER_FILES - super::WAITING;

/// Not 0 while a service procedure sends a message that is still in the queue.
const SENDING: usize = STEPS;
/// Not 0 while bytes of a connection have been taken from the socket, and have not come to the user.
const RECEIVING: usize = STEPS + 4;

const _: () = assert!(BOUND + 4 + BOUND_BYTES <= CALLS && CALLS + 4 * CALLS_MAX <= STEPS);
const _: () = assert!(RECEIVING + 4 + STEPS <= LEN);

/// What was done with the socket of an endpoint for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing.
    Fresh = 0,
    /// It has, or had, a connection, and what is to be sent is sent there.
    Connection = 1,
    /// Its connection was lost, and what is to be sent is discarded. Of an endpoint without an address: the files are not what they should be.
    Lost = 2,
}

pub(super) fn state(queue: &Queue<'_, '_, '_>) -> Result<State> {
    words::state(queue, STATE)
}

pub(super) fn set_state(queue: &mut Queue<'_, '_, '_>, state: State) -> Result<()> {
    set_word(queue, STATE, state.number())
}

/// That the state is idle, as it is now.
pub(super) fn is_idle(queue: &Queue<'_, '_, '_>) -> Result<Condition> {
    const { assert!(WAITING_MAX == STATE + 4) };
    Ok(Condition::words(STATE, State::Idle.number(), word(queue, WAITING_MAX)?))
}

pub(super) fn usage(queue: &Queue<'_, '_, '_>) -> Result<Use> {
    Ok(match word(queue, USE)? {
        0 => Use::Fresh,
        1 => Use::Connection,
        _ => Use::Lost,
    })
}

pub(super) fn set_usage(queue: &mut Queue<'_, '_, '_>, usage: Use) -> Result<()> {
    set_word(queue, USE, usage as u32)
}

pub(super) fn is_sending(queue: &Queue<'_, '_, '_>) -> Result<bool> {
    Ok(word(queue, SENDING)? != 0)
}

pub(super) fn set_sending(queue: &mut Queue<'_, '_, '_>, sends: bool) -> Result<()> {
    set_word(queue, SENDING, sends.into())
}

pub(super) fn is_receiving(queue: &Queue<'_, '_, '_>) -> Result<bool> {
    Ok(word(queue, RECEIVING)? != 0)
}

pub(super) fn set_receiving(queue: &mut Queue<'_, '_, '_>, receives: bool) -> Result<()> {
    set_word(queue, RECEIVING, receives.into())
}

/// The connection that is being handed over, by its sequence number.
pub(super) fn handed(queue: &Queue<'_, '_, '_>) -> Result<Option<u32>> {
    Ok(Some(word(queue, HANDED)?).filter(|sequence| *sequence != 0))
}

pub(super) fn set_handed(queue: &mut Queue<'_, '_, '_>, sequence: Option<u32>) -> Result<()> {
    set_word(queue, HANDED, sequence.unwrap_or(0))
}

/// The endpoint has an address from now on, or none.
pub(super) fn bind(queue: &mut Queue<'_, '_, '_>, address: Option<InternetAddress>, waiting_max: u32) -> Result<()> {
    let bytes = address.as_ref().map_or(&[][..], InternetAddress::bytes);
    queue.write_instance(BOUND + 4, bytes)?;
    set_word(queue, BOUND, bytes.len() as u32)?;
    set_word(queue, WAITING_MAX, waiting_max)
}

/// The address of the endpoint; None: it has none of its own.
pub(super) fn bound(queue: &Queue<'_, '_, '_>) -> Result<Option<SocketAddr>> {
    let len = (word(queue, BOUND)? as usize).min(BOUND_BYTES);
    let mut bytes = [0; BOUND_BYTES];
    queue.read_instance(BOUND + 4, &mut bytes[..len])?;
    Ok(InternetAddress::decode(&bytes[..len]))
}

/// How many connections may wait, at most [`CALLS_MAX`].
pub(super) fn waiting_max(queue: &Queue<'_, '_, '_>) -> Result<usize> {
    Ok((word(queue, WAITING_MAX)? as usize).min(CALLS_MAX))
}

/// The sequence numbers of the connections that wait, by place.
pub(super) fn calls(queue: &Queue<'_, '_, '_>) -> Result<[u32; CALLS_MAX]> {
    let mut bytes = [[0; 4]; CALLS_MAX];
    queue.read_instance(CALLS, bytes.as_flattened_mut())?;
    Ok(bytes.map(u32::from_ne_bytes))
}

/// A connection waits at a place from now on. Its sequence number, which no other one at this endpoint has.
pub(super) fn add_call(queue: &mut Queue<'_, '_, '_>, place: usize) -> Result<u32> {
    let sequence = (word(queue, SEQUENCE)? % i32::MAX as u32) + 1;
    set_word(queue, SEQUENCE, sequence)?;
    set_word(queue, CALLS + 4 * place, sequence)?;
    Ok(sequence)
}

/// No connection waits at a place any more.
pub(super) fn remove_call(queue: &mut Queue<'_, '_, '_>, place: usize) -> Result<()> {
    set_word(queue, CALLS + 4 * place, 0)
}

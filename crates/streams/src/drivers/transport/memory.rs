//! The memory of a transport's endpoint, shared by its own processes and its peers'.
//!
//! It is changed under the lock of the endpoint's direction 1, but for [`AWAITED`] and [`LOOKS`], which the write side alone uses. What a
//! message tells of is among the first [`STEPS`] bytes: both are done in one step, or neither. Peers may have written anything, so whatever is read is checked, and leads to no more than a connection that fails.

use crate::drivers::provider::words::{self, set_word, word};
use crate::error::Result;
use crate::limits::{ADDRESS_MAX, MINORS};
use crate::plumb::queue::Queue;
use crate::plumb::route::Condition;
use crate::tpi::State;

/// Bytes of the memory without the room in which a step is saved, and with it.
pub(in crate::drivers) const LEN: usize = 4096;
pub(in crate::drivers) const WITH_STEPS: usize = 2 * LEN;
/// Bytes of the memory that are changed in steps.
pub(in crate::drivers) const STEPS: usize = WAITING + QUEUE_MAX * WAITING_BYTES;

/// The state, and next to it how often the endpoint was bound or unbound: a sender reads both at once.
const STATE: usize = 0;
const BINDS: usize = 4;
/// How many connections may wait.
const WAITING_MAX: usize = 8;
/// The last sequence number, and the last number of a connection of this endpoint.
const SEQUENCE: usize = 12;
const CONNECTION: usize = 16;
/// The other end: minor number plus one, the number of the connection there, and the cookie of the stream.
const OTHER: usize = 20;
const OTHER_CONNECTION: usize = 24;
const OTHER_COOKIE: usize = 32;
/// Addresses: a length, then the bytes.
const LOCAL: usize = 64;
const REMOTE: usize = 192;
/// Connections that wait to be accepted.
const WAITING: usize = 320;
const WAITING_BYTES: usize = 24;
/// At most so many of them.
pub(in crate::drivers) const QUEUE_MAX: usize = 64;
/// The minor number, plus one, of the peer for whose room the write side waits.
const AWAITED: usize = STEPS;
/// How often a thread has found the other end gone.
const LOOKS: usize = STEPS + 4;
/// A bit for each minor number: senders that wait for room here.
const SENDERS: usize = 2048;
const SENDERS_BYTES: usize = MINORS as usize / 8;

const _: () = assert!(LOOKS + 4 <= SENDERS && SENDERS + SENDERS_BYTES <= LEN);

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers) struct Other {
    pub minor: u32,
    pub cookie: u64,
    /// The number of the connection there. Of a listener: the sequence number.
    pub connection: u32,
}

/// A connection that waits to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers) struct Waiting {
    pub sequence: u32,
    pub from: Other,
}

pub(in crate::drivers) fn state(queue: &Queue<'_, '_, '_>) -> Result<State> {
    words::state(queue, STATE)
}

pub(in crate::drivers) fn set_state(queue: &mut Queue<'_, '_, '_>, state: State) -> Result<()> {
    set_word(queue, STATE, state.number())
}

/// The state, and which of the endpoint's bindings it is.
pub(in crate::drivers) fn binding(queue: &Queue<'_, '_, '_>) -> Result<(u32, u32)> {
    let mut bytes = [[0; 4]; 2];
    queue.read_instance(STATE, bytes.as_flattened_mut())?;
    let [state, binds] = bytes.map(u32::from_ne_bytes);
    Ok((state, binds))
}

/// That the state and the binding are these.
pub(in crate::drivers) fn is_bound(state: u32, binds: u32) -> Condition {
    const { assert!(BINDS == STATE + 4) };
    Condition::words(STATE, state, binds)
}

/// Of a sender: that its state, binding and other end are these.
pub(in crate::drivers) fn sends_to(state: u32, binds: u32, other: Other) -> [Condition; 3] {
    const { assert!(OTHER_CONNECTION == OTHER + 4) };
    let cookie = [other.cookie as u32, (other.cookie >> 32) as u32];
    // The order of the halves of a word in memory.
    let [first, second] = if cfg!(target_endian = "little") { cookie } else { [cookie[1], cookie[0]] };
    [
        is_bound(state, binds),
        Condition::words(OTHER, other.minor + 1, other.connection),
        Condition::words(OTHER_COOKIE, first, second),
    ]
}

/// Of a receiver: as [`is_connected_to`].
pub(in crate::drivers) fn receives_from(minor: u32, number: u32) -> Condition {
    const { assert!(OTHER == CONNECTION + 4) };
    Condition::words(CONNECTION, number, minor + 1)
}

/// Gives the endpoint an address; an empty one takes it away.
pub(in crate::drivers) fn bind(queue: &mut Queue<'_, '_, '_>, address: &[u8], waiting_max: u32) -> Result<()> {
    set_address(queue, LOCAL, address)?;
    set_word(queue, WAITING_MAX, waiting_max)?;
    renew(queue)
}

/// What senders have found out about the endpoint, and it about receivers, is to be found out again: as after a new bind.
pub(in crate::drivers) fn renew(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let binds = word(queue, BINDS)?;
    set_word(queue, BINDS, binds.wrapping_add(1))
}

pub(in crate::drivers) fn waiting_max(queue: &Queue<'_, '_, '_>) -> Result<u32> {
    word(queue, WAITING_MAX)
}

/// An address, which is short: no memory is allocated.
#[derive(Debug, Clone, Copy)]
pub(in crate::drivers) struct Address {
    bytes: [u8; ADDRESS_MAX],
    len: usize,
}

impl Address {
    /// None for one that is too long.
    pub fn of(address: &[u8]) -> Option<Address> {
        let mut bytes = [0; ADDRESS_MAX];
        bytes.get_mut(..address.len())?.copy_from_slice(address);
        Some(Address { bytes, len: address.len() })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

pub(in crate::drivers) fn local(queue: &Queue<'_, '_, '_>) -> Result<Address> {
    address(queue, LOCAL)
}

pub(in crate::drivers) fn remote(queue: &Queue<'_, '_, '_>) -> Result<Address> {
    address(queue, REMOTE)
}

pub(in crate::drivers) fn set_remote(queue: &mut Queue<'_, '_, '_>, address: &[u8]) -> Result<()> {
    set_address(queue, REMOTE, address)
}

fn address(queue: &Queue<'_, '_, '_>, at: usize) -> Result<Address> {
    let len = (word(queue, at)? as usize).min(ADDRESS_MAX);
    let mut bytes = [0; ADDRESS_MAX];
    queue.read_instance(at + 4, &mut bytes[..len])?;
    Ok(Address { bytes, len })
}

fn set_address(queue: &mut Queue<'_, '_, '_>, at: usize, address: &[u8]) -> Result<()> {
    let len = address.len().min(ADDRESS_MAX);
    queue.write_instance(at + 4, &address[..len])?;
    set_word(queue, at, len as u32)
}

/// A new number of a connection of this endpoint.
pub(in crate::drivers) fn new_connection(queue: &mut Queue<'_, '_, '_>) -> Result<u32> {
    let number = word(queue, CONNECTION)?.wrapping_add(1).max(1);
    set_word(queue, CONNECTION, number)?;
    Ok(number)
}

/// The number of the present connection, or of the last one.
pub(in crate::drivers) fn connection(queue: &Queue<'_, '_, '_>) -> Result<u32> {
    word(queue, CONNECTION)
}

pub(in crate::drivers) fn new_sequence(queue: &mut Queue<'_, '_, '_>) -> Result<u32> {
    // Never the number that means none.
    let number = word(queue, SEQUENCE)?.wrapping_add(1) % (u32::MAX - 1);
    set_word(queue, SEQUENCE, number)?;
    Ok(number)
}

/// The other end, if there is one.
pub(in crate::drivers) fn other(queue: &Queue<'_, '_, '_>) -> Result<Option<Other>> {
    let Some(minor) = word(queue, OTHER)?.checked_sub(1).filter(|minor| *minor < MINORS) else { return Ok(None) };
    let mut cookie = [0; 8];
    queue.read_instance(OTHER_COOKIE, &mut cookie)?;
    Ok(Some(Other { minor, cookie: u64::from_ne_bytes(cookie), connection: word(queue, OTHER_CONNECTION)? }))
}

pub(in crate::drivers) fn set_other(queue: &mut Queue<'_, '_, '_>, other: Option<Other>) -> Result<()> {
    if let Some(other) = other {
        queue.write_instance(OTHER_COOKIE, &other.cookie.to_ne_bytes())?;
        set_word(queue, OTHER_CONNECTION, other.connection)?;
    }
    set_word(queue, OTHER, other.map_or(0, |other| other.minor + 1))
}

/// Whether the endpoint's other end is that stream, and the connection that of this number.
pub(in crate::drivers) fn is_connected_to(queue: &Queue<'_, '_, '_>, minor: u32, number: u32) -> Result<bool> {
    Ok(word(queue, OTHER)? == minor + 1 && connection(queue)? == number)
}

/// For whose room the write side waits. Of the write side alone.
pub(in crate::drivers) fn awaited(queue: &Queue<'_, '_, '_>) -> Result<Option<u32>> {
    Ok(word(queue, AWAITED)?.checked_sub(1).filter(|minor| *minor < MINORS))
}

pub(in crate::drivers) fn set_awaited(queue: &mut Queue<'_, '_, '_>, minor: Option<u32>) -> Result<()> {
    set_word(queue, AWAITED, minor.map_or(0, |minor| minor + 1))
}

/// Counts a look that has found the other end gone; returns how many there were.
pub(in crate::drivers) fn count_look(queue: &mut Queue<'_, '_, '_>) -> Result<u32> {
    let looks = word(queue, LOOKS)?.wrapping_add(1);
    set_word(queue, LOOKS, looks)?;
    Ok(looks)
}

pub(in crate::drivers) fn forget_looks(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    set_word(queue, LOOKS, 0)
}

/// The connections that wait to be accepted, with their places.
pub(in crate::drivers) fn waiting(queue: &Queue<'_, '_, '_>) -> Result<Vec<(usize, Waiting)>> {
    let mut all = Vec::new();
    for place in 0..QUEUE_MAX {
        let mut bytes = [0; WAITING_BYTES];
        queue.read_instance(WAITING + place * WAITING_BYTES, &mut bytes)?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let Some(minor) = word(0).checked_sub(1).filter(|minor| *minor < MINORS) else { continue };
        let cookie = u64::from_ne_bytes(std::array::from_fn(|byte| bytes[16 + byte]));
        all.push((place, Waiting { sequence: word(4), from: Other { minor, cookie, connection: word(8) } }));
    }
    Ok(all)
}

/// Adds one. False if there is no place.
pub(in crate::drivers) fn add_waiting(queue: &mut Queue<'_, '_, '_>, new: Waiting) -> Result<bool> {
    let taken = waiting(queue)?;
    let free = (0..QUEUE_MAX).find(|place| taken.iter().all(|(other, _)| other != place));
    let Some(place) = free else { return Ok(false) };
    let at = WAITING + place * WAITING_BYTES;
    let Waiting { sequence, from } = new;
    queue.write_instance(at + 4, &sequence.to_ne_bytes())?;
    queue.write_instance(at + 8, &from.connection.to_ne_bytes())?;
    queue.write_instance(at + 16, &from.cookie.to_ne_bytes())?;
    // Last: it makes the entry one.
    set_word(queue, at, from.minor + 1)?;
    Ok(true)
}

pub(in crate::drivers) fn remove_waiting(queue: &mut Queue<'_, '_, '_>, place: usize) -> Result<()> {
    set_word(queue, WAITING + place * WAITING_BYTES, 0)
}

/// Notes that a stream waits for room here.
pub(in crate::drivers) fn note_sender(queue: &mut Queue<'_, '_, '_>, minor: u32) -> Result<()> {
    let at = SENDERS + minor as usize / 8;
    let mut byte = [0];
    queue.read_instance(at, &mut byte)?;
    queue.write_instance(at, &[byte[0] | 1 << (minor % 8)])
}

/// Takes all of them out.
pub(in crate::drivers) fn take_senders(queue: &mut Queue<'_, '_, '_>) -> Result<Vec<u32>> {
    let mut bits = [0; SENDERS_BYTES];
    queue.read_instance(SENDERS, &mut bits)?;
    if bits == [0; SENDERS_BYTES] {
        return Ok(Vec::new());
    }
    queue.write_instance(SENDERS, &[0; SENDERS_BYTES])?;
    Ok((0..MINORS).filter(|minor| bits[*minor as usize / 8] >> (minor % 8) & 1 == 1).collect())
}

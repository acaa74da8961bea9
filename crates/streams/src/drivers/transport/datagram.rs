//! Datagrams to other endpoints of the library.

use super::local::{Found, Receiver, known};
use super::memory::{self, Address};
use super::send::{Sent, find_bound, reach, wait_for};
use crate::drivers::provider::answer;
use crate::drivers::provider::options::OPTIONS_MAX;
use crate::error::{Errno, Result};
use crate::limits::ADDRESS_MAX;
use crate::message::Message;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Peer;
use crate::plumb::route::{Control, Route};
use crate::tpi::{Primitive, State};

/// EMSGSIZE, EADDRNOTAVAIL, ECONNREFUSED.
pub(in crate::drivers) const TOO_LONG: Errno = Errno::new(90);
const ADDRESS_NOT_AVAILABLE: Errno = Errno::new(99);
const REFUSED: Errno = Errno::new(111);

/// Whether a datagram can be sent to anyone; the error of its T_UDERROR_IND.
pub(super) fn check(destination: &[u8], options: &[u8], len: usize) -> std::result::Result<(), Errno> {
    if destination.is_empty() || destination.len() > ADDRESS_MAX {
        return Err(ADDRESS_NOT_AVAILABLE);
    }
    if !options.is_empty() {
        return Err(Errno::Inval);
    }
    if len > super::DATAGRAM_MAX { Err(TOO_LONG) } else { Ok(()) }
}

/// Tells the user that a datagram was not sent. On the write side.
///
/// Errors: as [`answer::report`].
pub(in crate::drivers) fn report(
    queue: &mut Queue<'_, '_, '_>,
    destination: &[u8],
    options: &[u8],
    errno: Errno,
) -> Result<()> {
    let destination = &destination[..destination.len().min(ADDRESS_MAX)];
    let options = &options[..options.len().min(OPTIONS_MAX)];
    answer::report(queue, destination, options, errno)
}

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers) enum Outcome {
    /// It has been sent, or is of no use any more.
    Done,
    /// It waits for room, and is left.
    Waits,
    /// No endpoint of the library has the address; it is left.
    Elsewhere,
}

/// Looks up the receiver of an address. On the write side.
pub(in crate::drivers) type Find = fn(&mut Queue<'_, '_, '_>, &Address) -> Result<Option<Receiver>>;

/// The destination of a datagram, as it waits in a queue.
pub(in crate::drivers) fn destination(message: Option<&Message<'_>>) -> Option<Address> {
    match Primitive::decode(message?.control()?) {
        Ok(Primitive::UnitdataReq { destination, .. }) => Address::of(destination),
        _ => None,
    }
}

/// Sends a datagram to the endpoint that has an address, if one has. The next one with the same control part, and no more than `longest` bytes
/// of data, takes the short path. The receiver is told of `options`.
pub(in crate::drivers) fn to_endpoint<'m>(
    message: &mut Option<Message<'m>>,
    queue: &mut Queue<'_, '_, 'm>,
    destination: &Address,
    (find, longest, options): (Find, usize, &[u8]),
) -> Result<Outcome> {
    let (state, own_binds) = memory::binding(queue)?;
    if state != State::Idle.number() {
        // It was sent before the address was given up.
        return Ok(Outcome::Done);
    }
    let request = message.as_ref().and_then(|message| Control::of(message.control()?));
    let (minor, known) = (queue.minor().unwrap_or(0), known(queue));
    for _ in 0..2 {
        let receiver = match known.find(destination, own_binds) {
            Found::Receiver(receiver) => receiver,
            Found::Elsewhere => break,
            Found::Nothing => {
                let Some(receiver) = find(queue, destination)? else { break };
                known.note_receiver(destination, own_binds, &receiver);
                receiver
            }
        };
        let Receiver { peer, binds, source } = receiver;
        if peer.is_found_gone() {
            known.forget(destination);
            continue;
        }
        // Made before the receiver's lock is taken.
        let control = Primitive::UnitdataInd { source: source.bytes(), options }.encode();
        let parts = request.zip(Control::of(&control));
        let sent = reach(queue, &peer, |there| {
            if memory::binding(there)? != (State::Idle.number(), binds) {
                return Ok(Sent::Gone);
            }
            if !there.can_put_next(0)? {
                memory::note_sender(there, minor)?;
                return Ok(Sent::Full);
            }
            let Some(mut message) = message.take() else { return Ok(Sent::Gone) };
            message.set_control(control);
            there.put_next(message)?;
            Ok(Sent::Yes)
        })?;
        match sent {
            Sent::Yes => {
                if let Some((request, indication)) = parts {
                    let own = memory::is_bound(state, own_binds);
                    let there = memory::is_bound(State::Idle.number(), binds);
                    queue.note_route(Route::to_peer([request, indication], [own; 3], peer, there, longest));
                }
                return queue.has_sent().map(|()| Outcome::Done);
            }
            Sent::Full if !peer.is_gone() => return wait_for(queue, &peer).map(|_| Outcome::Waits),
            Sent::Full | Sent::Gone => known.forget(destination),
        }
        if message.is_none() {
            return Ok(Outcome::Done);
        }
    }
    Ok(Outcome::Elsewhere)
}

/// Sends a datagram of a loop-back transport. False: it waits for room, and is left.
pub(super) fn send<'m>(message: &mut Option<Message<'m>>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
    let Some(destination) = destination(message.as_ref()) else { return Ok(true) };
    match to_endpoint(message, queue, &destination, (find, super::DATAGRAM_MAX, &[]))? {
        Outcome::Done => Ok(true),
        Outcome::Waits => Ok(false),
        Outcome::Elsewhere => report(queue, destination.bytes(), &[], REFUSED).map(|()| true),
    }
}

fn find(queue: &mut Queue<'_, '_, '_>, address: &Address) -> Result<Option<Receiver>> {
    let Some(peer) = find_bound(queue, address)? else { return Ok(None) };
    let Some(binds) = binding_of(queue, &peer, address)? else { return Ok(None) };
    Ok(Some(Receiver { peer, binds, source: memory::local(queue)? }))
}

/// Which binding of a peer is to that address; None: the present one is to another.
pub(in crate::drivers) fn binding_of(
    queue: &mut Queue<'_, '_, '_>,
    peer: &Peer,
    address: &Address,
) -> Result<Option<u32>> {
    reach(queue, peer, |there| {
        Ok((memory::local(there)?.bytes() == address.bytes()).then_some(memory::binding(there)?.1))
    })
}

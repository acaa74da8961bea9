//! Connections: asking for one, accepting and refusing it, and its end.
//!
//! Each step changes one endpoint under the lock of its direction 1, and finds out whether the other one is still what it was:
//! by the cookie of its stream and the number of the connection there. So whichever process is killed between two steps, what is left
//! is a connection whose other end does not know it, which ends with the next message or when the thread of [`look`] finds out.

use std::sync::Arc;
use std::time::Duration;

use super::local::find_other;
use super::memory::{self, Address, Other, Waiting};
use super::send::{find_bound, reach};
use super::verify;
use crate::drivers::provider::answer::{message, refuse};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Peer;
use crate::tpi::{Event, Primitive, PrimitiveNumber, State, TransportError};

/// Reasons of T_DISCON_IND, which the loop-back transports take from errno: ECONNABORTED, ECONNRESET, ECONNREFUSED.
pub(super) const ABORTED: u32 = 103;
const RESET: u32 = 104;
const REFUSED: u32 = 111;

/// An endpoint that waits for the answer of a listener looks so often whether another endpoint has accepted.
const ACCEPTED: Duration = Duration::from_millis(20);

/// How many looks a close procedure of the other end may take.
const CLOSING_LOOKS: u32 = 25;

/// T_CONN_REQ.
pub(in crate::drivers) fn connect(
    queue: &mut Queue<'_, '_, '_>,
    destination: &[u8],
    options: &[u8],
    has_data: bool,
) -> Result<()> {
    let of = PrimitiveNumber::ConnReq;
    let Some(address) = Address::of(destination).filter(|address| !address.bytes().is_empty()) else {
        return refuse(queue, of, TransportError::BadAddress);
    };
    if !options.is_empty() {
        return refuse(queue, of, TransportError::BadOptions);
    }
    if has_data {
        return refuse(queue, of, TransportError::BadData);
    }
    let (minor, cookie, source) = (queue.minor().unwrap_or(0), queue.cookie(), memory::local(queue)?);
    verify::begin(queue);
    let connection = queue.along_own(|own| {
        memory::set_other(own, None)?;
        memory::set_remote(own, address.bytes())?;
        memory::set_state(own, State::AwaitConfirm)?;
        let connection = memory::new_connection(own)?;
        own.put_next(message(Primitive::OkAck { of }))?;
        Ok(connection)
    })?;
    let from = Other { minor, cookie, connection };
    let asked = match find_bound(queue, &address) {
        Err(error) if error.is_held() => return Err(error),
        Ok(Some(listener)) if listener.id().0 != minor => {
            let sequence = reach(queue, &listener, |there| ask(there, &address, &source, from));
            sequence?.map(|sequence| (listener, sequence))
        }
        _ => None,
    };
    let Some((listener, sequence)) = asked else {
        return queue.along_own(|own| {
            memory::set_state(own, State::Idle)?;
            own.put_next(disconnected(REFUSED, Primitive::NO_SEQUENCE))
        });
    };
    let (listener_minor, listener_cookie) = listener.id();
    queue.along_own(|own| {
        // Perhaps the listener has accepted already.
        if memory::state(own)? == State::AwaitConfirm && memory::other(own)?.is_none() {
            let listener = Other { minor: listener_minor, cookie: listener_cookie, connection: sequence };
            memory::set_other(own, Some(listener))?;
        }
        Ok(())
    })?;
    queue.watch_peers(look);
    Ok(())
}

/// At a listener: a connection is asked for. Its sequence number; None: it is refused.
fn ask(there: &mut Queue<'_, '_, '_>, address: &Address, source: &Address, from: Other) -> Result<Option<u32>> {
    let state = memory::state(there)?;
    let Some(next) = state.after(Event::ConnInd) else { return Ok(None) };
    let waits = memory::waiting(there)?.len();
    let is_it = memory::local(there)?.bytes() == address.bytes();
    if !is_it || waits >= memory::waiting_max(there)? as usize || !there.can_put_next(0)? {
        return Ok(None);
    }
    let sequence = memory::new_sequence(there)?;
    if !memory::add_waiting(there, Waiting { sequence, from })? {
        return Ok(None);
    }
    memory::set_state(there, next)?;
    there.put_next(message(Primitive::ConnInd { source: source.bytes(), options: &[], sequence }))?;
    Ok(Some(sequence))
}

/// T_CONN_RES.
pub(in crate::drivers) fn accept(
    queue: &mut Queue<'_, '_, '_>,
    acceptor: u32,
    options: &[u8],
    sequence: u32,
) -> Result<()> {
    let of = PrimitiveNumber::ConnRes;
    if !options.is_empty() {
        return refuse(queue, of, TransportError::BadOptions);
    }
    let all = memory::waiting(queue)?;
    let Some((place, waiting)) = all.iter().find(|(_, waiting)| waiting.sequence == sequence).copied() else {
        return refuse(queue, of, TransportError::BadSequence);
    };
    let own_minor = queue.minor().unwrap_or(0);
    let Some(minor) = acceptor.checked_sub(1) else { return refuse(queue, of, TransportError::BadFile) };
    let is_own = minor == own_minor;
    if is_own && all.len() > 1 {
        return refuse(queue, of, TransportError::IndicationsWait);
    }
    let from = waiting.from;
    let caller = find_other_of(queue, from)?;
    let address = match &caller {
        Some(caller) => Some(reach(queue, caller, |there| memory::local(there).map(Some))?.unwrap_or_else(empty)),
        None => None,
    };
    let remote = address.unwrap_or_else(empty);
    // The endpoint that accepts, then the one that has asked, then the listener. Without the second the call still waits here; and both may be
    // repeated. A listener that accepts itself is the first and the last at once: it looks later whether the other end knows.
    let local = memory::local(queue)?;
    let left = all.len() - 1;
    let (peer, taken) = if is_own {
        verify::begin(queue);
        let taken = queue.along_own(|own| {
            let taken = take(own, from, &remote, true)?;
            if taken.is_ok() {
                memory::remove_waiting(own, place)?;
                own.put_next(message(Primitive::OkAck { of }))?;
            }
            Ok(taken)
        })?;
        (None, taken)
    } else {
        let found = if minor < crate::limits::MINORS { queue.find_peer(minor)? } else { None };
        let Some(peer) = found else { return refuse(queue, of, TransportError::BadFile) };
        let taken = reach(queue, &peer, |there| {
            verify::begin(there);
            take(there, from, &remote, false).map(Some)
        })?;
        let Some(taken) = taken else { return refuse(queue, of, TransportError::BadFile) };
        (Some(peer), taken)
    };
    let (connection, cookie) = match taken {
        Ok(taken) => taken,
        Err(error) => return refuse(queue, of, error),
    };
    let to = Other { minor, cookie, connection };
    let is_confirmed = match &caller {
        Some(caller) => reach(queue, caller, |there| confirm(there, Some(own_minor), from, to, &local))?,
        None => false,
    };
    if peer.is_some() {
        queue.along_own(|own| {
            memory::remove_waiting(own, place)?;
            memory::set_state(own, if left == 0 { State::Idle } else { State::AwaitResponse })?;
            own.put_next(message(Primitive::OkAck { of }))
        })?;
    }
    let caller = Other { ..from };
    match (&peer, is_confirmed) {
        (None, true) => queue.watch_peers(look),
        (Some(peer), true) => Queue::watch_peers_of(peer, look),
        (None, false) => queue.along_own(|own| end(own, caller, RESET))?,
        (Some(peer), false) => reach(queue, peer, |there| end(there, caller, RESET))?,
    }
    Ok(())
}

/// The endpoint that has asked for a connection, if it lives.
fn find_other_of(queue: &mut Queue<'_, '_, '_>, other: Other) -> Result<Option<Arc<Peer>>> {
    let found = queue.find_peer(other.minor)?;
    Ok(found.filter(|peer| peer.id() == (other.minor, other.cookie) && !peer.is_gone()))
}

fn empty() -> Address {
    Address::of(&[]).expect("it is short")
}

/// At the endpoint that accepts: it is connected from now on. The number of the connection, and the stream's cookie.
fn take(
    there: &mut Queue<'_, '_, '_>,
    from: Other,
    remote: &Address,
    is_listener: bool,
) -> Result<std::result::Result<(u32, u64), TransportError>> {
    let state = memory::state(there)?;
    if !is_listener && memory::waiting_max(there)? > 0 {
        return Ok(Err(TransportError::AcceptorListens));
    }
    if !is_listener && state == State::Connected && memory::other(there)? == Some(from) {
        // A process was killed that had come so far.
        return Ok(Ok((memory::connection(there)?, there.cookie())));
    }
    if !is_listener && state.after(Event::PassConn).is_none() {
        return Ok(Err(TransportError::OutOfState));
    }
    memory::set_other(there, Some(from))?;
    memory::set_remote(there, remote.bytes())?;
    let connection = memory::new_connection(there)?;
    memory::set_state(there, State::Connected)?;
    Ok(Ok((connection, there.cookie())))
}

/// At the endpoint that has asked: the connection was accepted. False if it is not asked for any more.
///
/// `listener`: who was asked, if that is known.
pub(super) fn confirm(
    there: &mut Queue<'_, '_, '_>,
    listener: Option<u32>,
    from: Other,
    to: Other,
    responder: &Address,
) -> Result<bool> {
    if memory::state(there)? == State::Connected && memory::other(there)? == Some(to) {
        return Ok(true);
    }
    let is_of_listener = |other: Other| listener.is_none_or(|listener| other.minor == listener);
    let is_asked = memory::state(there)? == State::AwaitConfirm
        && memory::connection(there)? == from.connection
        && memory::other(there)?.is_none_or(is_of_listener);
    if !is_asked {
        return Ok(false);
    }
    memory::set_other(there, Some(to))?;
    memory::set_remote(there, responder.bytes())?;
    memory::set_state(there, State::Connected)?;
    there.put_next(message(Primitive::ConnCon { responder: responder.bytes(), options: &[] }))?;
    Ok(true)
}

/// T_DISCON_REQ.
pub(in crate::drivers) fn disconnect(queue: &mut Queue<'_, '_, '_>, sequence: u32) -> Result<()> {
    let of = PrimitiveNumber::DisconReq;
    if memory::state(queue)? == State::AwaitResponse {
        let all = memory::waiting(queue)?;
        let Some((place, waiting)) = all.iter().find(|(_, waiting)| waiting.sequence == sequence).copied() else {
            return refuse(queue, of, TransportError::BadSequence);
        };
        refuse_waiting(queue, waiting)?;
        return queue.along_own(|own| {
            memory::remove_waiting(own, place)?;
            memory::set_state(own, if all.len() == 1 { State::Idle } else { State::AwaitResponse })?;
            own.put_next(message(Primitive::OkAck { of }))
        });
    }
    discard(queue)?;
    verify::begin(queue);
    // The other end first: if this process is killed behind it, the next look finds that it does not know the connection.
    let (other, asked) = (memory::other(queue)?, memory::state(queue)? == State::AwaitConfirm);
    if let Some(other) = other {
        tell_end(queue, other, asked)?;
    }
    queue.along_own(|own| {
        if memory::state(own)?.after(Event::DisconReq).is_none() {
            // It was lost meanwhile, and the user is told.
            return own.put_next(message(Primitive::ErrorAck { of, error: TransportError::OutOfState, errno: 0 }));
        }
        memory::set_other(own, None)?;
        memory::set_state(own, State::Idle)?;
        own.put_next(message(Primitive::OkAck { of }))
    })
}

/// Discards what was not sent.
fn discard(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    while queue.get()?.is_some() {}
    memory::set_awaited(queue, None)
}

/// Tells the other end that the connection is over; `asked`: it is a listener that has not accepted, as far as is known.
fn tell_end(queue: &mut Queue<'_, '_, '_>, other: Other, asked: bool) -> Result<()> {
    let (minor, cookie) = (queue.minor().unwrap_or(0), queue.cookie());
    let connection = memory::connection(queue)?;
    let Some(peer) = find_other(queue, other)? else { return Ok(()) };
    let own = Other { minor, cookie, connection };
    reach(queue, &peer, |there| {
        if asked && withdraw(there, own)? {
            return Ok(());
        }
        if memory::connection(there)? != other.connection {
            return Ok(());
        }
        let asks_here = memory::other(there)?.is_none_or(|listener| listener.minor == minor);
        if memory::state(there)? == State::AwaitConfirm && asks_here {
            // A process was killed that had accepted here, and had not said so.
            memory::set_other(there, Some(own))?;
        }
        end(there, own, RESET)
    })
}

/// Tells the other end that this one has ended in order. False if it does not wait for that.
fn release(queue: &mut Queue<'_, '_, '_>, other: Other) -> Result<bool> {
    let minor = queue.minor().unwrap_or(0);
    let Some(peer) = find_other(queue, other)? else { return Ok(false) };
    reach(queue, &peer, |there| {
        if !memory::is_connected_to(there, minor, other.connection)? || memory::state(there)? != State::AwaitRelease {
            return Ok(false);
        }
        memory::set_state(there, State::Idle)?;
        memory::set_other(there, None)?;
        there.put_next(message(Primitive::OrdrelInd))?;
        Ok(true)
    })
}

/// At a listener: a connection that waits is not asked for any more. False if it does not wait there.
fn withdraw(there: &mut Queue<'_, '_, '_>, from: Other) -> Result<bool> {
    let all = memory::waiting(there)?;
    let Some((place, waiting)) = all.iter().find(|(_, waiting)| waiting.from == from).copied() else {
        return Ok(false);
    };
    memory::remove_waiting(there, place)?;
    if all.len() == 1 {
        memory::set_state(there, State::Idle)?;
    }
    there.put_next(disconnected(ABORTED, waiting.sequence))?;
    Ok(true)
}

/// At an endpoint: its connection to that one is over.
fn end(there: &mut Queue<'_, '_, '_>, own: Other, reason: u32) -> Result<()> {
    let is_it = memory::other(there)?.is_some_and(|other| other == own);
    let Some(next) = memory::state(there)?.after(Event::DisconInd1).filter(|_| is_it) else { return Ok(()) };
    memory::set_other(there, None)?;
    memory::set_state(there, next)?;
    there.put_next(disconnected(reason, Primitive::NO_SEQUENCE))
}

/// Tells an endpoint that has asked for a connection that it is refused.
fn refuse_waiting(queue: &mut Queue<'_, '_, '_>, waiting: Waiting) -> Result<()> {
    let Some(caller) = find_other_of(queue, waiting.from)? else { return Ok(()) };
    reach(queue, &caller, |there| {
        let is_asked =
            memory::state(there)? == State::AwaitConfirm && memory::connection(there)? == waiting.from.connection;
        if !is_asked {
            return Ok(());
        }
        memory::set_other(there, None)?;
        memory::set_state(there, State::Idle)?;
        there.put_next(disconnected(REFUSED, Primitive::NO_SEQUENCE))
    })
}

pub(super) fn disconnected(reason: u32, sequence: u32) -> crate::message::Message<'static> {
    message(Primitive::DisconInd { reason, sequence })
}

/// The other end has gone, or does not know the connection.
pub(in crate::drivers) fn lost(queue: &mut Queue<'_, '_, '_>, other: Other) -> Result<()> {
    let is_over = queue.along_own(|own| {
        // A listener that has gone has refused.
        let reason = if memory::state(own)? == State::AwaitConfirm { REFUSED } else { RESET };
        end(own, other, reason)?;
        Ok(memory::other(own)? != Some(other))
    })?;
    if is_over { memory::set_awaited(queue, None) } else { Ok(()) }
}

/// What a thread does that waits for the end of peers.
pub(in crate::drivers) fn look(queue: &mut Queue<'_, '_, '_>) -> Result<(Option<Arc<Peer>>, Option<Duration>)> {
    queue.settle()?;
    let state = memory::state(queue)?;
    if let Some(other) = memory::other(queue)? {
        let found = find_other(queue, other)?;
        let peer = found.clone().filter(|peer| !peer.is_gone());
        if peer.is_none() {
            // A close procedure comes after the kernel's hang-up, and ends the connection in its own way; a killed process calls none.
            let looks = memory::count_look(queue)?;
            if looks == 1 || looks <= CLOSING_LOOKS && found.is_some_and(|peer| peer.is_closed()) {
                return Ok((None, Some(ACCEPTED)));
            }
            memory::forget_looks(queue)?;
            lost(queue, other)?;
            queue.enable();
            return Ok((None, None));
        }
        memory::forget_looks(queue)?;
        return Ok((peer, (state == State::AwaitConfirm).then_some(ACCEPTED)));
    }
    if state == State::AwaitConfirm {
        return Ok((None, Some(ACCEPTED)));
    }
    let Some(minor) = memory::awaited(queue)? else { return Ok((None, None)) };
    let peer = queue.find_peer(minor)?.filter(|peer| !peer.is_gone());
    if peer.is_none() {
        // The service procedure finds out for which messages that matters.
        queue.enable();
    }
    Ok((peer, None))
}

/// The stream is closed by its last user.
pub(in crate::drivers) fn leave(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let address = memory::local(queue)?;
    let (state, other, waiting, senders) = queue.along_own(|own| {
        let (state, other, waiting) = (memory::state(own)?, memory::other(own)?, memory::waiting(own)?);
        memory::bind(own, &[], 0)?;
        memory::set_other(own, None)?;
        memory::set_state(own, State::Unbound)?;
        for (place, _) in &waiting {
            memory::remove_waiting(own, *place)?;
        }
        Ok((state, other, waiting, memory::take_senders(own)?))
    })?;
    if !address.bytes().is_empty() {
        // At once: a process that fetches the stream at this moment has copies of its files.
        queue.addresses()?.give_up(address.bytes())?;
    }
    for (_, waiting) in waiting {
        refuse_waiting(queue, waiting)?;
    }
    if let Some(other) = other {
        // All that was to be sent has been: the end of this direction is in order too.
        let is_done = state == State::Releasing && queue.size(0).0 == 0;
        if !is_done || !release(queue, other)? {
            tell_end(queue, other, state == State::AwaitConfirm)?;
        }
    }
    queue.serve_peers(senders);
    Ok(())
}

//! Connections that others ask for: T_CONN_IND, T_CONN_RES and the refusal of one.
//!
//! The kernel has answered the other end before the user has. So a connection that is refused is reset, and the other end sees it made and
//! then lost.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use headwater_os::internet;
use headwater_os::own_numbers;

use super::acceptors::{self, Acceptor};
use super::connect::ABORTED;
use super::memory::{self, Use};
use super::{ALL, LISTENER, SOCKET, WAITING, address_of, number_of};
use crate::drivers::provider::answer::{message, refuse, refuse_by};
use crate::error::Result;
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, Primitive, PrimitiveNumber, State, TransportError};

/// When a process that could not take a connection tries again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Something has happened at the listening socket, or at one that waits to be accepted.
pub(super) fn ready(place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if place == LISTENER {
        // The write side takes calls: the stream gets a file for each. If this process is killed before that, another one looks again.
        queue.enable_after(ACCEPT_AGAIN);
        queue.enable_other();
        return queue.unwatch(place, Events::IN);
    }
    let Some(socket) = queue.file(place)? else { return queue.unwatch(place, ALL) };
    if !events.intersects(Events::ERR | Events::HUP) {
        // An urgent byte, which is for the endpoint that accepts.
        return queue.unwatch(place, events);
    }
    let error = internet::check(socket.as_fd()).err();
    if error.is_none() && internet::other_address(socket.as_fd()).is_ok() {
        // The event was one of another connection, which had the place before.
        return Ok(());
    }
    let reason = error.map_or(ABORTED, |error| number_of(&error));
    let (calls, at) = (memory::calls(queue)?, place - WAITING);
    let Some(sequence) = calls.get(at).copied().filter(|sequence| *sequence != 0) else {
        queue.enable_other();
        return queue.unwatch(place, ALL);
    };
    let is_last = calls.iter().filter(|sequence| **sequence != 0).count() == 1;
    let event = if is_last { Event::DisconInd2 } else { Event::DisconInd3 };
    if memory::handed(queue)? == Some(sequence) {
        // The endpoint that accepts it is told, or the listener again if none does.
        return queue.unwatch(place, ALL);
    }
    let Some(next) = memory::state(queue)?.after(event) else { return Ok(()) };
    memory::remove_call(queue, at)?;
    memory::set_state(queue, next)?;
    queue.put_next(message(Primitive::DisconInd { reason, sequence }))?;
    queue.enable_other();
    queue.unwatch(place, ALL)
}

/// Takes connections from the kernel, as many as may wait. On the write side.
pub(super) fn take_calls(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(listener) = queue.file(LISTENER)? else { return Ok(()) };
    give_up_handed(queue)?;
    let calls = memory::calls(queue)?;
    for (at, sequence) in calls.into_iter().enumerate() {
        // What a killed process has left, or a caller that has gone.
        if sequence == 0 && queue.file(WAITING + at)?.is_some() {
            queue.set_file(WAITING + at, None)?;
        }
    }
    let waiting_max = memory::waiting_max(queue)?;
    for (at, sequence) in calls.into_iter().enumerate().take(waiting_max) {
        if sequence != 0 {
            continue;
        }
        if memory::state(queue)?.after(Event::ConnInd).is_none() {
            // Connected itself. It comes by here when that is over.
            return Ok(());
        }
        let socket = match internet::accept(listener.as_fd()) {
            Ok(socket) => socket,
            // There is none, or it has gone.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {
                return queue.watch(LISTENER, Events::IN);
            }
            // Without a free descriptor, perhaps.
            Err(_) => {
                queue.enable_after(ACCEPT_AGAIN);
                return Ok(());
            }
        };
        let Ok(source) = internet::other_address(socket.as_fd()) else { continue };
        let source = address_of(source);
        queue.set_file(WAITING + at, Some(socket))?;
        queue.along_own(|own| {
            let Some(next) = memory::state(own)?.after(Event::ConnInd) else { return Ok(()) };
            let sequence = memory::add_call(own, at)?;
            memory::set_state(own, next)?;
            own.watch(WAITING + at, Events::PRI)?;
            own.put_next(message(Primitive::ConnInd { source: source.bytes(), options: &[], sequence }))
        })?;
    }
    Ok(())
}

/// A process was killed while it handed a connection over: whether another endpoint has it cannot be known here, so it is not the listener's
/// any more. If no other has it, it ends.
fn give_up_handed(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(sequence) = memory::handed(queue)? else { return Ok(()) };
    queue.along_own(|own| {
        let calls = memory::calls(own)?;
        memory::set_handed(own, None)?;
        let Some(at) = calls.iter().position(|call| *call == sequence) else { return Ok(()) };
        memory::remove_call(own, at)?;
        memory::set_state(own, state_of(&calls, at))?;
        own.put_next(message(Primitive::DisconInd { reason: ABORTED, sequence }))
    })
}

/// The state of a listener without one of its calls.
fn state_of(calls: &[u32; memory::CALLS_MAX], without: usize) -> State {
    let is_left = calls.iter().enumerate().any(|(at, call)| at != without && *call != 0);
    if is_left { State::AwaitResponse } else { State::Idle }
}

/// T_CONN_RES.
pub(super) fn accept(queue: &mut Queue<'_, '_, '_>, acceptor: u32, options: &[u8], sequence: u32) -> Result<()> {
    let of = PrimitiveNumber::ConnRes;
    if !options.is_empty() {
        return refuse(queue, of, TransportError::BadOptions);
    }
    give_up_handed(queue)?;
    let calls = memory::calls(queue)?;
    let Some(at) = calls.iter().position(|call| sequence != 0 && *call == sequence) else {
        return refuse(queue, of, TransportError::BadSequence);
    };
    let left = calls.iter().filter(|call| **call != 0).count() - 1;
    let place = WAITING + at;
    let Some(socket) = queue.file(place)? else { return refuse(queue, of, TransportError::BadSequence) };
    let is_own = acceptor == acceptors::number(queue);
    let other = if is_own {
        if left > 0 {
            return refuse(queue, of, TransportError::IndicationsWait);
        }
        queue.set_file(SOCKET, Some(own_numbers::copy(socket.as_fd())?))?;
        None
    } else {
        let Some(other) = Acceptor::find(acceptor) else { return refuse(queue, of, TransportError::BadFile) };
        Some((other, own_numbers::copy(socket.as_fd())?))
    };
    // From here on the end of this connection is not told as that of one that waits.
    queue.enable_after(ACCEPT_AGAIN);
    let waits = queue.along_own(|own| {
        let waits = memory::calls(own)?[at] == sequence;
        if waits {
            memory::set_handed(own, Some(sequence))?;
        }
        Ok(waits)
    })?;
    if !waits {
        // The caller has been faster.
        if is_own {
            queue.set_file(SOCKET, None)?;
        }
        return refuse(queue, of, TransportError::BadSequence);
    }
    if let Some((other, copy)) = other {
        let refused = match other.with(|there| adopt(there, copy)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Ok(error)),
            // Another thread is in the middle of a call there.
            Err(error) if error.is_held() => Some(Ok(TransportError::StateChanging)),
            Err(error) => Some(Err(error)),
        };
        if let Some(refused) = refused {
            queue.along_own(|own| {
                memory::set_handed(own, None)?;
                own.watch(place, Events::PRI)
            })?;
            return match refused {
                Ok(error) => refuse(queue, of, error),
                Err(error) => refuse_by(queue, of, &error),
            };
        }
    }
    queue.along_own(|own| {
        memory::remove_call(own, at)?;
        memory::set_handed(own, None)?;
        if is_own {
            begin(own)?;
        } else {
            let next = state_of(&memory::calls(own)?, at);
            memory::set_state(own, next)?;
        }
        own.put_next(message(Primitive::OkAck { of }))?;
        own.unwatch(place, ALL)
    })?;
    queue.set_file(place, None)?;
    // Others may have waited for a place.
    queue.enable();
    Ok(())
}

/// At the endpoint that accepts: it has the connection from now on.
fn adopt(there: &mut Queue<'_, '_, '_>, socket: OwnedFd) -> Result<std::result::Result<(), TransportError>> {
    if memory::waiting_max(there)? > 0 {
        return Ok(Err(TransportError::AcceptorListens));
    }
    if memory::state(there)?.after(Event::PassConn).is_none() {
        return Ok(Err(TransportError::OutOfState));
    }
    if there.size(0).0 > 0 {
        return Ok(Err(TransportError::StateChanging));
    }
    there.set_file(SOCKET, Some(socket))?;
    there.along_own(begin).map(Ok)
}

/// The endpoint is connected, by the socket that it has now.
fn begin(own: &mut Queue<'_, '_, '_>) -> Result<()> {
    own.watch(SOCKET, Events::IN | Events::PRI)?;
    memory::set_usage(own, Use::Connection)?;
    memory::set_receiving(own, false)?;
    memory::set_state(own, State::Connected)
}

/// T_DISCON_REQ of a connection that waits.
pub(super) fn refuse_call(queue: &mut Queue<'_, '_, '_>, sequence: u32) -> Result<()> {
    let of = PrimitiveNumber::DisconReq;
    let calls = memory::calls(queue)?;
    let Some(at) = calls.iter().position(|call| sequence != 0 && *call == sequence) else {
        return refuse(queue, of, TransportError::BadSequence);
    };
    queue.along_own(|own| {
        let calls = memory::calls(own)?;
        if calls[at] != sequence {
            // The caller has been faster.
            return own.put_next(message(Primitive::ErrorAck { of, error: TransportError::BadSequence, errno: 0 }));
        }
        memory::remove_call(own, at)?;
        memory::set_state(own, state_of(&calls, at))?;
        if let Some(socket) = own.file(WAITING + at)? {
            // Not before: a thread that waits would tell of the end. One that has gone has nothing to reset.
            let _ = internet::abort(socket.as_fd());
        }
        own.put_next(message(Primitive::OkAck { of }))
    })?;
    queue.set_file(WAITING + at, None)?;
    queue.enable();
    Ok(())
}

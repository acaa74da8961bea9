//! Connections: asking for one, its end, and what the socket of one tells.
//!
//! The state is changed under the lock of the stream's direction 1, together with the call to the socket that goes with it.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};

use headwater_os::internet::{self, Setting};

use super::memory::{self, Use};
use super::{ALL, Protocol, SOCKET, address_of, bind, bytes, listen, new_socket, number_of, options, socket};
use crate::drivers::provider::answer::{message, refuse};
use crate::error::{Errno, Result};
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, InternetAddress, Primitive, PrimitiveNumber, State, TransportError};

/// ECONNABORTED.
pub(super) const ABORTED: u32 = 103;

/// T_CONN_REQ.
pub(super) fn connect(queue: &mut Queue<'_, '_, '_>, destination: &[u8], options: &[u8], has_data: bool) -> Result<()> {
    let of = PrimitiveNumber::ConnReq;
    let Some(address) = InternetAddress::decode(destination) else {
        return refuse(queue, of, TransportError::BadAddress);
    };
    if !options.is_empty() {
        return refuse(queue, of, TransportError::BadOptions);
    }
    if has_data {
        return refuse(queue, of, TransportError::BadData);
    }
    if queue.size(0).0 > 0 && memory::usage(queue)? == Use::Connection {
        // The last connection has ended in order, and its last data wait for the socket.
        return refuse(queue, of, TransportError::StateChanging);
    }
    while queue.get()?.is_some() {}
    let socket = match fresh(queue, address.is_ipv6()) {
        Ok(socket) => socket,
        Err(error) => return bind::refuse_address(queue, of, &error, false),
    };
    if let Some(socket) = socket {
        queue.set_file(SOCKET, Some(socket))?;
    }
    queue.along_own(|own| {
        memory::set_state(own, State::AwaitConfirm)?;
        memory::set_usage(own, Use::Connection)?;
        memory::set_receiving(own, false)?;
        // A socket that was not called, because this process is killed, is ready too.
        own.watch(SOCKET, Events::OUT)?;
        own.put_next(message(Primitive::OkAck { of }))?;
        let Some(socket) = self::socket(own)? else { return lost(own, Errno::Badf.number().unsigned_abs()) };
        match internet::connect(socket.as_fd(), address) {
            Ok(true) => confirmed(own),
            Ok(false) => Ok(()),
            Err(error) => lost(own, number_of(&error)),
        }
    })
}

/// A socket with the endpoint's address, for a new connection. None: the one that is there will do.
fn fresh(queue: &Queue<'_, '_, '_>, is_v6: bool) -> io::Result<Option<OwnedFd>> {
    let (old, bound) = (socket(queue)?, memory::bound(queue)?);
    if let Some(old) = &old
        && memory::usage(queue)? == Use::Fresh
        && (bound.is_some() || internet::own_address(old.as_fd())?.is_ipv6() == is_v6)
    {
        return Ok(None);
    }
    let socket = new_socket(Protocol::Tcp, bound.map_or(is_v6, |bound| bound.is_ipv6()))?;
    let Some(old) = old else {
        if let Some(bound) = bound {
            internet::bind(socket.as_fd(), bound)?;
        }
        return Ok(Some(socket));
    };
    if let Some(bound) = bound {
        // The old one has the address too, perhaps until the kernel has ended its connection.
        let reuses = Setting::ReuseAddress.get(old.as_fd())?;
        for socket in [old.as_fd(), socket.as_fd()] {
            Setting::ReuseAddress.set(socket, [1, 0])?;
        }
        internet::bind(socket.as_fd(), bound)?;
        Setting::ReuseAddress.set(socket.as_fd(), reuses)?;
    }
    options::keep(old.as_fd(), socket.as_fd(), None);
    Ok(Some(socket))
}

/// The other end has answered.
fn confirmed(own: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(socket) = socket(own)? else { return Ok(()) };
    let responder = match internet::other_address(socket.as_fd()) {
        Ok(responder) => address_of(responder),
        // The event was one of an earlier connection; or a process was killed before it called, or with the error in its hands.
        Err(error) if error.kind() == ErrorKind::NotConnected => {
            return if internet::is_connecting(socket.as_fd()) { Ok(()) } else { lost(own, ABORTED) };
        }
        Err(error) => return lost(own, number_of(&error)),
    };
    own.watch(SOCKET, Events::IN | Events::PRI)?;
    memory::set_state(own, State::Connected)?;
    own.put_next(message(Primitive::ConnCon { responder: responder.bytes(), options: &[] }))?;
    own.unwatch(SOCKET, Events::OUT)
}

/// The connection is over, or was refused.
pub(super) fn lost(own: &mut Queue<'_, '_, '_>, reason: u32) -> Result<()> {
    let Some(next) = memory::state(own)?.after(Event::DisconInd1) else { return own.unwatch(SOCKET, ALL) };
    memory::set_state(own, next)?;
    memory::set_usage(own, Use::Lost)?;
    own.put_next(message(Primitive::DisconInd { reason, sequence: Primitive::NO_SEQUENCE }))?;
    // Not before: another process continues here if this one is killed.
    own.unwatch(SOCKET, ALL)?;
    // Which discards what waits in the write queue, and takes calls again if the endpoint listens.
    own.enable_other();
    Ok(())
}

/// The other end has ended its direction.
pub(super) fn ended(own: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(next) = memory::state(own)?.after(Event::OrdrelInd) else { return Ok(()) };
    memory::set_state(own, next)?;
    own.put_next(message(Primitive::OrdrelInd))?;
    // Of urgent bytes none comes: it is a reset that is watched for.
    own.unwatch(SOCKET, if next == State::Idle { Events::IN | Events::PRI } else { Events::IN })?;
    if next == State::Idle {
        own.enable_other();
    }
    Ok(())
}

/// T_DISCON_REQ.
pub(super) fn disconnect(queue: &mut Queue<'_, '_, '_>, sequence: u32) -> Result<()> {
    let of = PrimitiveNumber::DisconReq;
    if memory::state(queue)? == State::AwaitResponse {
        return listen::refuse_call(queue, sequence);
    }
    while queue.get()?.is_some() {}
    let is_done = queue.along_own(|own| {
        // Perhaps the other end has been faster.
        if memory::state(own)?.after(Event::DisconReq).is_none() {
            return Ok(false);
        }
        memory::set_usage(own, Use::Lost)?;
        memory::set_state(own, State::Idle)?;
        if let Some(socket) = socket(own)? {
            // One that is over already has nothing to reset.
            let _ = internet::abort(socket.as_fd());
        }
        own.put_next(message(Primitive::OkAck { of }))?;
        own.unwatch(SOCKET, ALL)?;
        Ok(true)
    })?;
    queue.enable();
    if is_done { Ok(()) } else { refuse(queue, of, TransportError::OutOfState) }
}

/// Something has happened at the socket of a connection.
pub(super) fn ready(events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(socket) = socket(queue)? else { return queue.unwatch(SOCKET, ALL) };
    match memory::state(queue)? {
        State::AwaitConfirm => match internet::check(socket.as_fd()) {
            Ok(()) => confirmed(queue),
            Err(error) => lost(queue, number_of(&error)),
        },
        state @ (State::Connected | State::AwaitRelease | State::Releasing) => {
            if events.intersects(Events::OUT) {
                // The write side takes it back when it has sent all that waits.
                queue.enable_other();
            }
            if state != State::Releasing {
                return bytes::receive(socket.as_fd(), queue);
            }
            queue.unwatch(SOCKET, events & (Events::IN | Events::PRI))?;
            match internet::check(socket.as_fd()) {
                Err(error) => lost(queue, number_of(&error)),
                Ok(()) if events.intersects(Events::HUP) => queue.unwatch(SOCKET, Events::PRI),
                Ok(()) => Ok(()),
            }
        }
        // Both directions have ended in order, and the last data wait for the socket.
        State::Idle if events.intersects(Events::OUT) => {
            queue.enable_other();
            queue.unwatch(SOCKET, Events::IN | Events::PRI)
        }
        _ => queue.unwatch(SOCKET, ALL),
    }
}

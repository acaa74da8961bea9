//! Messages on their way to a peer, with the queue in which they wait; and all that a connection carries.

use std::sync::Arc;
use std::time::Duration;

use super::connect;
use super::datagram;
use super::local::find_other;
use super::memory::{self, Address};
use crate::drivers::provider::answer::is_unreported;
use crate::error::Result;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Peer;
use crate::plumb::route::{Control, Route};
use crate::tpi::{Event, Primitive, PrimitiveNumber, State};

/// A sender that waits for room looks again after this time, also if the receiver's processes cannot reach it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The band of expedited data.
const EXPEDITED: u8 = 1;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sent {
    Yes,
    /// The receiver is full; this stream is noted there.
    Full,
    /// The receiver is not the one that was meant, or has gone.
    #[default]
    Gone,
}

/// Sends a message, and takes it out; false: it waits for room, and is left.
pub(in crate::drivers) type Send = for<'m> fn(&mut Option<Message<'m>>, &mut Queue<'_, '_, 'm>) -> Result<bool>;

/// Sends a message, or leaves it in the write queue.
pub(in crate::drivers) fn pass<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>, send: Send) -> Result<()> {
    let mut message = Some(message);
    // Behind those that wait.
    if queue.size(0).0 == 0 && send(&mut message, queue)? {
        return Ok(());
    }
    message.map_or(Ok(()), |message| queue.put_queue(message))
}

/// Sends what waits in the write queue, as long as there is room.
pub(in crate::drivers) fn pass_waiting(queue: &mut Queue<'_, '_, '_>, send: Send) -> Result<()> {
    while let Some(message) = queue.get()? {
        let mut message = Some(message);
        match (send(&mut message, queue), message) {
            // The user is behind with the errors of datagrams, and may wait for this queue: the error of one more is dropped with it.
            (Err(error), _) if is_unreported(&error) => {}
            (Ok(false), Some(message)) => return queue.put_back(&message),
            (sent, _) => sent.map(drop)?,
        }
    }
    if memory::awaited(queue)?.is_some() {
        memory::set_awaited(queue, None)?;
        queue.forget_time();
    }
    Ok(())
}

/// Sends a message of a loop-back transport.
pub(super) fn send<'m>(message: &mut Option<Message<'m>>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
    let number = message.as_ref().and_then(|message| Primitive::number_of(message.control()?).ok());
    if number == Some(PrimitiveNumber::UnitdataReq) {
        datagram::send(message, queue)
    } else {
        over_connection(message, queue)
    }
}

/// The stream that probably has an address.
pub(in crate::drivers) fn find_bound(queue: &mut Queue<'_, '_, '_>, address: &Address) -> Result<Option<Arc<Peer>>> {
    let Some(minor) = queue.addresses()?.find(address.bytes())? else { return Ok(None) };
    queue.find_peer(minor)
}

/// Does something at a peer. What fails there is no error of this stream: the peer is as good as gone.
pub(in crate::drivers) fn reach<'m, T: Default>(
    queue: &mut Queue<'_, '_, 'm>,
    peer: &Peer,
    action: impl FnOnce(&mut Queue<'_, '_, 'm>) -> Result<T>,
) -> Result<T> {
    match queue.along_peer(peer, action) {
        Err(error) if !error.is_held() => Ok(T::default()),
        done => done,
    }
}

/// The first message of the write queue waits for room at a peer. Returns that it was not sent.
pub(super) fn wait_for(queue: &mut Queue<'_, '_, '_>, peer: &Peer) -> Result<bool> {
    let minor = peer.id().0;
    queue.enable_after(LOOK_AGAIN);
    if memory::awaited(queue)? != Some(minor) {
        memory::set_awaited(queue, Some(minor))?;
        queue.watch_peers(connect::look);
    }
    Ok(false)
}

fn over_connection<'m>(message: &mut Option<Message<'m>>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
    let Some(other) = memory::other(queue)? else { return Ok(true) };
    let Some(peer) = find_other(queue, other)?.filter(|peer| !peer.is_found_gone()) else {
        return connect::lost(queue, other).map(|()| true);
    };
    let minor = queue.minor().unwrap_or(0);
    let (state, binds) = memory::binding(queue)?;
    let mut parts = None;
    let request = message.as_ref().and_then(|message| Control::of(message.control()?));
    let sent = reach(queue, &peer, |there| {
        if !memory::is_connected_to(there, minor, other.connection)? {
            return Ok(Sent::Gone);
        }
        let Some(way) = message.as_ref().map(indication) else { return Ok(Sent::Gone) };
        let (control, band, ends) = way;
        if !there.can_put_next(band)? {
            memory::note_sender(there, minor)?;
            return Ok(Sent::Full);
        }
        let Some(mut message) = message.take() else { return Ok(Sent::Gone) };
        if ends {
            let Some(next) = memory::state(there)?.after(Event::OrdrelInd) else { return Ok(Sent::Gone) };
            memory::set_state(there, next)?;
            if next == State::Idle {
                memory::set_other(there, None)?;
            }
        }
        if let Some(control) = control {
            parts = request.zip(Control::of(&control)).filter(|_| band == 0 && !ends);
            message.set_control(control);
            message.header = MessageHeader { band, ..message.header };
        }
        there.put_next(message)?;
        Ok(Sent::Yes)
    })?;
    match sent {
        Sent::Yes => {
            if let Some((request, indication)) = parts {
                let there = memory::receives_from(minor, other.connection);
                let own = memory::sends_to(state, binds, other);
                queue.note_route(Route::to_peer([request, indication], own, peer.clone(), there, usize::MAX));
            }
            queue.has_sent()?;
        }
        Sent::Full if !peer.is_gone() => return wait_for(queue, &peer),
        Sent::Full | Sent::Gone => return connect::lost(queue, other).map(|()| true),
    }
    // Both directions have ended in order, and all that was to be sent has been.
    if memory::state(queue)? == State::Idle && queue.size(0).0 == 0 {
        queue.along_own(|own| {
            let is_same = memory::other(own)? == Some(other) && memory::state(own)? == State::Idle;
            if is_same { memory::set_other(own, None) } else { Ok(()) }
        })?;
    }
    Ok(true)
}

/// What a request becomes at the other end: its control part, its band, and whether it ends the direction.
fn indication(message: &Message<'_>) -> (Option<Vec<u8>>, u8, bool) {
    if message.header.kind == Kind::Data {
        return (None, message.header.band, false);
    }
    let request = Primitive::decode(message.control().unwrap_or_default());
    let (made, band, ends) = match request {
        Ok(Primitive::ExdataReq { more }) => (Primitive::ExdataInd { more }, EXPEDITED, false),
        Ok(Primitive::OptdataReq { more, expedited, options }) => {
            let band = if expedited { EXPEDITED } else { 0 };
            (Primitive::OptdataInd { more, expedited, options }, band, false)
        }
        Ok(Primitive::OrdrelReq) => (Primitive::OrdrelInd, 0, true),
        Ok(Primitive::DataReq { more }) => (Primitive::DataInd { more }, 0, false),
        // Nothing else is sent or queued.
        _ => (Primitive::DataInd { more: false }, 0, false),
    };
    (Some(made.encode()), band, ends)
}

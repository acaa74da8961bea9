//! The data of a connection, in both directions: plain, urgent, and the end.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet;

use super::connect::ABORTED;
use super::local::with_buffer;
use super::memory::{self, Use};
use super::{SOCKET, connect, number_of, socket};
use crate::error::Result;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, State};

/// Bytes of expedited data at most: TCP has one urgent byte.
pub(super) const URGENT_MAX: usize = 1;
/// The band of expedited data.
const EXPEDITED: u8 = 1;
/// How many pieces one look at the socket takes: meanwhile the stream is locked.
const AT_ONCE: usize = 8;

/// Whether a request of data can be sent at all.
pub(super) fn is_possible(message: &Message<'_>) -> bool {
    let urgent_fits = || message.data().map_or(0, <[u8]>::len) <= URGENT_MAX;
    match Primitive::decode(message.control().unwrap_or_default()) {
        Ok(Primitive::DataReq { .. }) => true,
        Ok(Primitive::ExdataReq { .. }) => urgent_fits(),
        Ok(Primitive::OptdataReq { expedited, options, .. }) => options.is_empty() && (!expedited || urgent_fits()),
        _ => false,
    }
}

/// Sends a message, or what the socket does not take of it from the write queue.
pub(super) fn pass<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    // Behind those that wait.
    if queue.size(0).0 == 0 && queue.size(EXPEDITED).1 == 0 && send(&mut message, queue)? {
        return Ok(());
    }
    queue.serve_in_background();
    queue.put_queue(message)
}

/// Sends what waits in the write queue, as long as the socket has room.
pub(super) fn pass_waiting(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if memory::is_sending(queue)? {
        // A process was killed in here, and how much of its message is on its way cannot be known.
        memory::set_sending(queue, false)?;
        if let Some(socket) = socket(queue)? {
            let _ = internet::abort(socket.as_fd());
        }
        queue.along_own(|own| connect::lost(own, ABORTED))?;
    }
    while let Some(mut message) = queue.get()? {
        memory::set_sending(queue, true)?;
        let sent = send(&mut message, queue);
        let is_over = matches!(sent, Ok(true));
        let kept = if is_over { Ok(()) } else { queue.put_back(&message) };
        memory::set_sending(queue, false)?;
        if !is_over {
            return sent.and(kept);
        }
    }
    queue.unwatch(SOCKET, Events::OUT)
}

/// Sends a message, and removes from it what was sent. False: the socket is full, and is watched.
fn send(message: &mut Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    let Some(socket) = socket(queue)?.filter(|_| memory::usage(queue).is_ok_and(|usage| usage == Use::Connection))
    else {
        return Ok(true);
    };
    let is_urgent = match Primitive::decode(message.control().unwrap_or_default()) {
        Ok(Primitive::OrdrelReq) => {
            // A connection that is over tells the user by itself.
            let _ = internet::shutdown_write(socket.as_fd());
            return queue.has_sent().map(|()| true);
        }
        Ok(Primitive::ExdataReq { .. } | Primitive::OptdataReq { expedited: true, .. }) => true,
        _ => false,
    };
    let (data, mut sent) = (message.data().unwrap_or_default(), 0);
    while sent < data.len() {
        match internet::send_bytes(socket.as_fd(), &data[sent..], is_urgent) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                queue.watch(SOCKET, Events::OUT)?;
                if sent > 0 {
                    // The call is completed from here on.
                    queue.wait_for_others();
                    message.data_mut().drain(..sent);
                }
                return Ok(false);
            }
            Err(error) => {
                let reason = number_of(&error);
                queue.along_own(|own| connect::lost(own, reason))?;
                break;
            }
        }
    }
    queue.has_sent().map(|()| true)
}

/// Takes what has come to the socket of a connection.
///
/// The kernel discards an urgent byte at which a read of plain bytes begins, so it is looked for before each. One that arrives between the
/// two calls is lost, as it is to any program that reads a socket without its being in line.
pub(super) fn receive(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if memory::is_receiving(queue)? {
        // A process was killed with bytes in its hands: the rest would be another stream than the one that was sent.
        memory::set_receiving(queue, false)?;
        let _ = internet::abort(socket);
        return connect::lost(queue, ABORTED);
    }
    with_buffer(queue, |queue, buffer| {
        for _ in 0..AT_ONCE {
            if !queue.can_put_next(0)? || !receive_urgent(socket, queue)? {
                return queue.unwatch(SOCKET, Events::IN | Events::PRI);
            }
            memory::set_receiving(queue, true)?;
            let received = internet::receive_bytes(socket, buffer);
            if !matches!(received, Ok(1..)) {
                memory::set_receiving(queue, false)?;
            }
            match received {
                Ok(0) => return end(socket, queue),
                Ok(_) => {
                    let control = Primitive::DataInd { more: false }.encode();
                    let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
                    queue.put_next(Message::from_parts(header, Some(control), Some(buffer.clone())))?;
                    memory::set_receiving(queue, false)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return connect::lost(queue, number_of(&error)),
            }
        }
        Ok(())
    })
}

/// Nothing more comes.
fn end(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    // A reset looks like an orderly end when a killed process has taken its error.
    let is_reset = memory::state(queue)? == State::Connected && internet::other_address(socket).is_err();
    if is_reset { connect::lost(queue, ABORTED) } else { connect::ended(queue) }
}

/// Takes the urgent byte, if there is one. False: there is no room for it above.
fn receive_urgent(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    if !queue.can_put_next(EXPEDITED)? {
        return Ok(false);
    }
    let Ok(Some(byte)) = internet::receive_urgent(socket) else { return Ok(true) };
    let control = Primitive::ExdataInd { more: false }.encode();
    let header = MessageHeader { whole: true, band: EXPEDITED, ..MessageHeader::of(Kind::Proto) };
    queue.put_next(Message::from_parts(header, Some(control), Some(vec![byte]))).map(|()| true)
}

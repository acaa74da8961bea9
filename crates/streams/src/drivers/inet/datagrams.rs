//! Datagrams: T_UNITDATA_REQ, T_UNITDATA_IND and T_UDERROR_IND.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet;

use super::local::with_buffer;
use super::{ALL, Protocol, RAW_MAX, SOCKET, address_of, memory, number_of, socket};
use crate::drivers::provider::answer::{answer, message as message_of};
use crate::drivers::provider::options::OPTIONS_MAX;
use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::plumb::route::{Control, Route};
use crate::tpi::{InternetAddress, Primitive, State};

/// EMSGSIZE, EDESTADDRREQ.
const TOO_LONG: Errno = Errno::new(90);
const NO_DESTINATION: Errno = Errno::new(89);

/// How many datagrams one look at the socket takes: meanwhile the stream is locked.
const AT_ONCE: usize = 32;
/// How often a datagram is sent again after an error that the kernel has kept from an earlier one.
const TRIES: usize = 4;

/// Whether a datagram can be sent at all; the error of its T_UDERROR_IND.
pub(super) fn check(
    destination: &[u8],
    options: &[u8],
    len: usize,
    protocol: Protocol,
) -> std::result::Result<(), Errno> {
    if InternetAddress::decode(destination).is_none() {
        return Err(NO_DESTINATION);
    }
    if !options.is_empty() {
        return Err(Errno::Inval);
    }
    if len > protocol.datagram_max() { Err(TOO_LONG) } else { Ok(()) }
}

/// Tells the user that a datagram was not sent.
pub(super) fn report(queue: &mut Queue<'_, '_, '_>, destination: &[u8], options: &[u8], errno: Errno) -> Result<()> {
    let destination = &destination[..destination.len().min(super::ADDRESS_MAX as usize)];
    let options = &options[..options.len().min(OPTIONS_MAX)];
    answer(queue, Primitive::UderrorInd { destination, options, error: errno.number().unsigned_abs() })
}

/// Sends a datagram, or leaves it in the write queue.
pub(super) fn pass<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    // Behind those that wait.
    if queue.size(0).0 == 0 && send(&message, queue)? {
        return Ok(());
    }
    queue.serve_in_background();
    queue.put_queue(message)
}

/// Sends what waits in the write queue, as long as the socket has room.
pub(super) fn pass_waiting(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    while let Some(message) = queue.get()? {
        if !send(&message, queue)? {
            return queue.put_back(&message);
        }
    }
    queue.unwatch(SOCKET, Events::OUT)
}

/// False: the socket is full, and is watched.
fn send(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    let Ok(Primitive::UnitdataReq { destination, .. }) = Primitive::decode(message.control().unwrap_or_default())
    else {
        return Ok(true);
    };
    let (Some(to), Some(socket)) = (InternetAddress::decode(destination), socket(queue)?) else { return Ok(true) };
    if memory::state(queue)? != State::Idle {
        // It was sent before the address was given up.
        return Ok(true);
    }
    match send_to(socket.as_fd(), message.data().unwrap_or_default(), to) {
        Ok(()) => {
            if let (Some(request), Some((file, version))) =
                (message.control().and_then(Control::of), queue.file_and_version(SOCKET)?)
            {
                let own = memory::is_idle(queue)?;
                queue.note_route(Route::by_socket(request, own, (&file, version), to, u32::MAX, RAW_MAX));
            }
            queue.has_sent().map(|()| true)
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            queue.watch(SOCKET, Events::OUT)?;
            Ok(false)
        }
        Err(error) => report(queue, destination, &[], Errno::new(number_of(&error).cast_signed())).map(|()| true),
    }
}

fn send_to(socket: BorrowedFd<'_>, data: &[u8], to: std::net::SocketAddr) -> io::Result<()> {
    let mut sent = internet::send_to(socket, data, to);
    for _ in 1..TRIES {
        // An error of the network is that of an earlier datagram: its report waits in the socket.
        match &sent {
            Err(error) if is_of_network(error) => sent = internet::send_to(socket, data, to),
            _ => break,
        }
    }
    sent
}

/// Whether the error may be one that the network has reported about an earlier datagram.
fn is_of_network(error: &io::Error) -> bool {
    let kinds = [ErrorKind::ConnectionRefused, ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable];
    kinds.contains(&error.kind())
}

/// The socket has something, or has room again.
pub(super) fn ready(events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if events.intersects(Events::OUT) {
        // The write side takes it back when it has sent all that waits.
        queue.enable_other();
    }
    let Some(socket) = socket(queue)?.filter(|_| memory::state(queue).is_ok_and(|state| state == State::Idle)) else {
        return queue.unwatch(SOCKET, ALL);
    };
    if events.intersects(Events::ERR) {
        report_undelivered(socket.as_fd(), queue)?;
    }
    if !events.intersects(Events::IN | Events::HUP) {
        return Ok(());
    }
    with_buffer(queue, |queue, buffer| {
        // Most datagrams come from where the one before came from.
        let (mut from, mut control) = (None, indication(None));
        for _ in 0..AT_ONCE {
            if !queue.can_put_next(0)? {
                return queue.unwatch(SOCKET, Events::IN);
            }
            match internet::receive_from(socket.as_fd(), buffer) {
                Ok(source) => {
                    if source != from {
                        control = indication(source.map(address_of));
                        from = source;
                    }
                    if !queue.append_for_head(&control, buffer)? {
                        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
                        queue.put_next(Message::of_parts(header, Some(control.clone()), Some(buffer.clone())))?;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // That of an earlier datagram; it is cleared by that.
                Err(_) => report_undelivered(socket.as_fd(), queue)?,
            }
        }
        Ok(())
    })
}

/// The control part of a datagram from an address.
fn indication(source: Option<InternetAddress>) -> Vec<u8> {
    let source = source.as_ref().map_or(&[][..], InternetAddress::bytes);
    Primitive::UnitdataInd { source, options: &[] }.encode()
}

/// Tells the user of datagrams that were not delivered. A reader that is behind is not told: as the network may lose such a report.
fn report_undelivered(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    for _ in 0..AT_ONCE {
        let Ok(Some(undelivered)) = internet::undelivered(socket) else { return Ok(()) };
        if queue.can_put_next(0)? {
            let destination = address_of(undelivered.destination);
            let (destination, error) = (destination.bytes(), undelivered.errno);
            queue.put_next(message_of(Primitive::UderrorInd { destination, options: &[], error }))?;
        }
    }
    Ok(())
}

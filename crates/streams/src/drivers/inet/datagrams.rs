//! Datagrams: T_UNITDATA_REQ, T_UNITDATA_IND and T_UDERROR_IND.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet::{self, Fields};

use super::local::with_buffer;
use super::{ALL, Protocol, RAW_MAX, SOCKET, address_of, memory, number_of, socket};
use crate::drivers::internet_options::{fields_of, options_of};
use crate::drivers::provider::answer::{self, message as message_of};
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
    let to = InternetAddress::decode(destination).ok_or(NO_DESTINATION)?;
    fields_of(options, to.is_ipv6())?;
    if len > protocol.datagram_max() { Err(TOO_LONG) } else { Ok(()) }
}

/// Tells the user that a datagram was not sent.
pub(super) fn report(queue: &mut Queue<'_, '_, '_>, destination: &[u8], options: &[u8], errno: Errno) -> Result<()> {
    let destination = &destination[..destination.len().min(super::ADDRESS_MAX as usize)];
    let options = &options[..options.len().min(OPTIONS_MAX)];
    answer::report(queue, destination, options, errno)
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
        match send(&message, queue) {
            // As in `transport::send::pass_waiting`.
            Err(error) if answer::is_unreported(&error) => {}
            Ok(true) => {}
            Ok(false) => return queue.put_back(&message),
            Err(error) => return Err(error),
        }
    }
    queue.unwatch(SOCKET, Events::OUT)
}

/// False: the socket is full, and is watched.
fn send(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    let Ok(Primitive::UnitdataReq { destination, options }) = Primitive::decode(message.control().unwrap_or_default())
    else {
        return Ok(true);
    };
    let (Some(to), Some(socket)) = (InternetAddress::decode(destination), socket(queue)?) else { return Ok(true) };
    if memory::state(queue)? != State::Idle {
        // It was sent before the address was given up.
        return Ok(true);
    }
    let fields = fields_of(options, to.is_ipv6()).unwrap_or(Fields::USUAL);
    match send_to(socket.as_fd(), message.data().unwrap_or_default(), to, &fields) {
        Ok(true) => {
            if let (Some(request), Some((file, version)), true) =
                (message.control().and_then(Control::of), queue.file_and_version(SOCKET)?, fields == Fields::USUAL)
            {
                let own = memory::is_idle(queue)?;
                queue.note_route(Route::by_socket(request, own, (&file, version), to, u32::MAX, RAW_MAX));
            }
            queue.has_sent().map(|()| true)
        }
        Ok(false) => {
            queue.watch(SOCKET, Events::OUT)?;
            Ok(false)
        }
        Err(error) => report(queue, destination, options, Errno::new(number_of(&error).cast_signed())).map(|()| true),
    }
}

fn send_to(socket: BorrowedFd<'_>, data: &[u8], to: SocketAddr, fields: &Fields) -> io::Result<bool> {
    let mut sent = internet::send_with(socket, data, to, fields);
    for _ in 1..TRIES {
        // An error of the network is that of an earlier datagram: its report waits in the socket.
        match &sent {
            Err(error) if is_of_network(error) => sent = internet::send_with(socket, data, to, fields),
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
        let (mut from, mut control) = ((None, Fields::USUAL), indication(None, &Fields::USUAL));
        for _ in 0..AT_ONCE {
            if !queue.can_put_next(0)? {
                return queue.unwatch(SOCKET, Events::IN);
            }
            match internet::receive(socket.as_fd(), buffer) {
                Ok(Some(now)) => {
                    if now != from {
                        control = indication(now.0.map(address_of), &now.1);
                        from = now;
                    }
                    if !queue.append_for_head(&control, buffer)? {
                        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
                        queue.put_next(Message::from_parts(header, Some(control.clone()), Some(buffer.clone())))?;
                    }
                }
                Ok(None) => break,
                // That of an earlier datagram; it is cleared by that.
                Err(_) => report_undelivered(socket.as_fd(), queue)?,
            }
        }
        Ok(())
    })
}

/// The control part of a datagram from an address, with such fields.
fn indication(source: Option<InternetAddress>, fields: &Fields) -> Vec<u8> {
    let source = source.as_ref().map_or(&[][..], InternetAddress::bytes);
    Primitive::UnitdataInd { source, options: &options_of(fields) }.encode()
}

/// Tells the user of datagrams that were not delivered. A reader that is behind is not told: as the network may lose such a report.
fn report_undelivered(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    for _ in 0..AT_ONCE {
        let Some(undelivered) = internet::undelivered(socket) else { return Ok(()) };
        if let Some(destination) = undelivered.destination.map(address_of)
            && queue.can_put_next(0)?
        {
            let (destination, error) = (destination.bytes(), undelivered.errno.unsigned_abs());
            queue.put_next(message_of(Primitive::UderrorInd { destination, options: &[], error }))?;
        }
    }
    Ok(())
}

//! What comes from the socket: datagrams, and errors of those that were sent.

use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet;

use super::super::internet_options::options_of;
use super::super::provider::answer::message;
use super::SOCKET;
use crate::error::Result;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::options::events::Events;
use crate::plumb::queue::Queue;
use crate::tpi::{InternetAddress, Primitive};

/// Datagrams that one call takes; the caller comes again as long as there are more.
const BATCH: usize = 64;
/// Errors that one call takes.
const ERRORS: usize = 64;
/// Longer than any datagram.
const BUFFER: usize = 64 << 10;

pub(super) fn ready(place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if events.contains(Events::OUT) {
        queue.enable_other();
        queue.unwatch(place, Events::OUT)?;
    }
    if place != SOCKET {
        return queue.unwatch(place, events);
    }
    let Some(socket) = queue.file(SOCKET)? else { return queue.unwatch(place, events) };
    if events.contains(Events::ERR) {
        take_errors(socket.as_fd(), queue)?;
    }
    if !queue.can_put_next(0)? {
        // Until the read side's service procedure runs.
        return queue.unwatch(SOCKET, Events::IN);
    }
    take_datagrams(socket.as_fd(), &mut Vec::with_capacity(BUFFER), queue)
}

fn take_datagrams(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    for _ in 0..BATCH {
        if !queue.can_put_next(0)? {
            return queue.unwatch(SOCKET, Events::IN);
        }
        let (source, fields) = match internet::receive(socket, buffer) {
            Ok(Some((Some(source), fields))) => (source, fields),
            // The kernel always says it.
            Ok(Some((None, _))) => continue,
            Ok(None) => return Ok(()),
            // The report is in the queue of errors.
            Err(_) => {
                take_errors(socket, queue)?;
                continue;
            }
        };
        let source = InternetAddress::from(source);
        let control = Primitive::UnitdataInd { source: source.bytes(), options: &options_of(&fields) }.encode();
        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
        if !queue.append_for_head(&control, buffer)? {
            queue.put_next(Message::from_parts(header, Some(control), Some(buffer.clone())))?;
        }
    }
    Ok(())
}

/// Errors come whether or not the reader is behind. Those for which there is no room then are discarded: nothing else takes them out,
/// and the socket is ready as long as one is there.
fn take_errors(socket: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    for _ in 0..ERRORS {
        let Some(refused) = internet::undelivered(socket) else { break };
        if let Some(destination) = refused.destination.filter(|_| refused.errno != 0)
            && queue.can_put_next(0)?
        {
            let destination = InternetAddress::from(destination);
            let error = refused.errno.unsigned_abs();
            let told = Primitive::UderrorInd { destination: destination.bytes(), options: &[], error };
            queue.put_next(message(told))?;
        }
    }
    Ok(())
}

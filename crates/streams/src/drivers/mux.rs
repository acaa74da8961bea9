//! `mux`: one upper stream, and several that are linked below it. A message whose control part begins with the mux id of a lower
//! stream goes down there, without the id; what comes up a lower stream arrives above with the id before its control part. The end
//! of a lower stream arrives as its id alone, without data.
//!
//! A lower stream that is full stops the writer above, whatever lower stream its next message is for; a reader above that does not
//! keep up stops the lower streams. Also the template of a multiplexer.

use crate::error::{Errno, Error, Result};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::message::link::{LinkRequest, MuxId};
use crate::plumb::driver::{Driver, DriverInfo};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;

/// The driver.
#[derive(Debug)]
pub struct Mux;

impl Driver for Mux {
    fn info(&self) -> DriverInfo {
        DriverInfo { services: [false, true], multiplexes: true, ..DriverInfo::new("mux") }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let band = message.header.band;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => match LinkRequest::of(&message)? {
                Some(_) => queue.acknowledge(&message, 0, None),
                None => queue.refuse(&message, Errno::Inval),
            },
            Kind::Data | Kind::Proto | Kind::PcProto => {
                let lower = lower_of(&message)?;
                let is_high = message.header.kind.is_high_priority();
                let goes = queue.has_lower(lower)?
                    && (is_high || queue.size(band).0 == 0 && queue.can_put_lower(lower, band)?);
                if goes { put_lower(message, lower, queue) } else { queue.put_queue(message) }
            }
            // What asks a device for something that this one has not.
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Read {
            return Ok(());
        }
        while let Some(message) = queue.get()? {
            let lower = lower_of(&message)?;
            let is_high = message.header.kind.is_high_priority();
            let goes = match queue.has_lower(lower) {
                Ok(true) if !is_high => queue.can_put_lower(lower, message.header.band),
                goes => goes,
            };
            match goes {
                Ok(false) => return queue.put_back(&message),
                Ok(true) => {}
                Err(error) if error.is_held() => return Err(error),
                // It was unlinked, or is at its end.
                Err(_) => continue,
            }
            match put_lower(message, lower, queue) {
                Err(error) if error.is_held() => return Err(error),
                // As above: nobody is left to be told.
                _ => {}
            }
        }
        Ok(())
    }

    fn lower_put<'m>(&self, lower: MuxId, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
        let MessageHeader { kind, band, .. } = message.header;
        let header = match kind {
            Kind::Hangup | Kind::Error => MessageHeader::of(Kind::Proto),
            _ if !kind.is_high_priority() && !queue.can_put_next(band)? => return Ok(false),
            Kind::Data => MessageHeader { kind: Kind::Proto, ..message.header },
            _ => message.header,
        };
        let control = [&lower.bytes(), message.control().unwrap_or_default()].concat();
        let data = message.data().filter(|_| !matches!(kind, Kind::Hangup | Kind::Error));
        queue.put_next(Message::of_parts(header, Some(control), data.map(<[u8]>::to_vec)))?;
        Ok(true)
    }
}

/// The lower stream that a message is for.
fn lower_of(message: &Message<'_>) -> Result<MuxId> {
    let id = message.control().and_then(MuxId::split_from);
    id.map(|(id, _)| id)
        .ok_or_else(|| Error::new(Errno::Inval, "the message names no lower stream in its control part"))
}

/// Sends a message down without the id: as plain data, if it has no more control part then.
fn put_lower<'m>(mut message: Message<'m>, lower: MuxId, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let control = message.control_mut().split_off(MuxId::LEN);
    if control.is_empty() {
        let header = MessageHeader { kind: Kind::Data, ..message.header };
        let data = message.data().unwrap_or_default().to_vec();
        return queue.put_lower(lower, Message::of_parts(header, None, Some(data)));
    }
    *message.control_mut() = control;
    queue.put_lower(lower, message)
}

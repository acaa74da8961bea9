//! `mux`: one upper stream, and several that are linked below it. A message whose control part begins with the mux id of a lower
//! stream goes down there, without the id; what comes up a lower stream arrives above with the id before its control part. The end
//! of a lower stream arrives as its id alone, without data.
//!
//! A lower stream that is full stops the writer above, whatever lower stream its next message is for; a reader above that does not
//! keep up stops the lower streams. Also the template of a multiplexer.
//!
//! An ioctl ([`ioctl::ROUTE`]) connects lower streams: what comes up one goes down the other, in whichever process serves them, and
//! no process has to read above. So N streams share M others.

use crate::error::{Errno, Error, Result, fixed};
use crate::limits::LINKS;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::{Kind, MessageHeader};
use crate::message::link::{LinkRequest, MuxId};
use crate::plumb::driver::{Driver, DriverInfo};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;

/// The driver.
#[derive(Debug)]
pub struct Mux;

/// Ioctls of the driver.
pub mod ioctl {
    /// What comes up one lower stream goes down another one. Data: the mux ids of the two. Four zeros in the place of the second:
    /// it comes up again.
    ///
    /// It fails with `ENXIO` for an id of no lower stream, `EINVAL` for other data.
    #[doc = include_str!("../../doc/routes.md")]
    pub const ROUTE: u32 = (b'm' as u32) << 8 | 1;
}

/// Bytes of a route in the driver's memory: the ids of the lower stream that it leads from, or 0, and to.
const ROUTE_BYTES: usize = 2 * MuxId::LEN;

impl Driver for Mux {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("mux").service(Side::Write).instance(LINKS * ROUTE_BYTES).multiplexes()
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let band = message.header.band;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => match LinkRequest::of(&message)? {
                Some(LinkRequest::Link(_)) => queue.acknowledge(&message, 0, None),
                Some(LinkRequest::Unlink(lower)) => {
                    forget_routes(queue, |from, to| [from, to].contains(&lower.number()))?;
                    queue.acknowledge(&message, 0, None)
                }
                None if IoctlBlock::of(&message)?.command == ioctl::ROUTE => match set_route(queue, &message) {
                    Ok(()) => queue.acknowledge(&message, 0, None),
                    Err(error) if error.is_held() => Err(error),
                    Err(error) => queue.refuse(&message, error.errno()),
                },
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
                // As above: there is no stream left to notify.
                _ => {}
            }
        }
        Ok(())
    }

    fn lower_put<'m>(&self, lower: MuxId, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
        let MessageHeader { kind, band, .. } = message.header;
        if matches!(kind, Kind::Hangup | Kind::Error) {
            let header = MessageHeader::of(Kind::Proto);
            return queue.put_next(Message::from_parts(header, Some(lower.bytes().to_vec()), None)).map(|()| true);
        }
        let route = route_from(queue, lower)?;
        let has_room = match route {
            _ if kind.is_high_priority() => true,
            Some(_) => queue.can_put_other(band)?,
            None => queue.can_put_next(band)?,
        };
        if !has_room {
            return Ok(false);
        }
        let header =
            if kind == Kind::Data { MessageHeader { kind: Kind::Proto, ..message.header } } else { message.header };
        let control = [&route.unwrap_or(lower).bytes(), message.control().unwrap_or_default()].concat();
        let message = Message::from_parts(header, Some(control), message.data().map(<[u8]>::to_vec));
        if route.is_some() {
            // As if it had been written above: the service procedure of that side sends it down.
            queue.put_other_queue(&message)?;
            queue.enable_other();
        } else {
            queue.put_next(message)?;
        }
        Ok(true)
    }
}

fn routes(queue: &Queue<'_, '_, '_>) -> Result<[[u8; ROUTE_BYTES]; LINKS]> {
    let mut routes = [[0; ROUTE_BYTES]; LINKS];
    queue.read_instance(0, routes.as_flattened_mut())?;
    Ok(routes)
}

fn ids_of(route: [u8; ROUTE_BYTES]) -> (u32, u32) {
    let [from, to] = [0, MuxId::LEN].map(|at| std::array::from_fn(|byte| route[at + byte]));
    (u32::from_ne_bytes(from), u32::from_ne_bytes(to))
}

fn route_from(queue: &Queue<'_, '_, '_>, lower: MuxId) -> Result<Option<MuxId>> {
    let found = routes(queue)?.into_iter().map(ids_of).find(|(from, _)| *from == lower.number());
    Ok(found.and_then(|(_, to)| MuxId::new(to)))
}

/// On the write side, which alone changes the routes.
fn set_route(queue: &mut Queue<'_, '_, '_>, ioctl: &Message<'_>) -> Result<()> {
    let data = ioctl.data().and_then(|data| data.try_into().ok());
    let (from, to) = data.map(ids_of).ok_or_else(|| fixed!(Inval, "a route is two mux ids"))?;
    let lowers = queue.lowers();
    let is_linked = |number: u32| MuxId::new(number).is_some_and(|id| lowers.contains(&id));
    if !is_linked(from) || to != 0 && !is_linked(to) {
        return Err(fixed!(Nxio, "the route is of a stream that is not linked below"));
    }
    // Of lower streams whose last process was killed the driver was not told.
    forget_routes(queue, |other, _| other == from || !is_linked(other))?;
    if to == 0 {
        return Ok(());
    }
    let free = routes(queue)?.into_iter().position(|route| ids_of(route).0 == 0);
    let at = free.ok_or_else(|| fixed!(Nosr, "there are as many routes as there can be"))? * ROUTE_BYTES;
    // A read side that looks meanwhile finds no route, or the new one.
    queue.write_instance(at + MuxId::LEN, &to.to_ne_bytes())?;
    queue.write_instance(at, &from.to_ne_bytes())
}

fn forget_routes(queue: &mut Queue<'_, '_, '_>, which: impl Fn(u32, u32) -> bool) -> Result<()> {
    for (at, route) in routes(queue)?.into_iter().enumerate() {
        let (from, to) = ids_of(route);
        if from != 0 && which(from, to) {
            queue.write_instance(at * ROUTE_BYTES, &[0; MuxId::LEN])?;
        }
    }
    Ok(())
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
        return queue.put_lower(lower, Message::from_parts(header, None, Some(data)));
    }
    *message.control_mut() = control;
    queue.put_lower(lower, message)
}

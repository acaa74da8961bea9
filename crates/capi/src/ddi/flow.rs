//! Flow control, enabling, flushing, and the settings of queues.

use std::ffi::{c_int, c_long};

use headwater_streams::{Flush, Kind, Message, MessageHeader, Queue, Side};

use super::context::{Context, Place, enter, locate};
use super::instance::Pair;
use super::queue::own_of;
use super::types::{CQueue, QNOENB};
use super::worker::{self, Post};

/// Returns whether a queue has room for a message of a band (canput, bcanput).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn can_put(queue: *mut CQueue, band: u8) -> bool {
    // SAFETY: the caller promises that `queue` is null or a queue. The pair of a running procedure lives.
    unsafe {
        match locate(queue) {
            Some((_, located)) if located.is_behind => can_put_next(own_of(queue), band),
            Some((Place::Own(context), _)) => context.run(|queue| queue.can_put(band)).unwrap_or(false),
            Some((Place::Other(context), located)) => {
                let pair = &*context.pair;
                let has_service = pair.definition.services[located.side as usize];
                let ask = |queue: &mut Queue<'_, '_, '_>| {
                    if has_service { queue.can_put_other(band) } else { queue.can_reply(band) }
                };
                context.run(ask).unwrap_or(false)
            }
            Some((Place::Elsewhere(pair, side), _)) => worker::has_room(pair, side),
            Some((Place::Outside(pair, side), _)) => {
                enter(pair, side, |context| context.run(|queue| queue.can_put(band))).unwrap_or(false)
            }
            Some((Place::Nowhere, _)) | None => false,
        }
    }
}

/// Returns whether the next queue has room for a message of a band (canputnext, bcanputnext).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn can_put_next(queue: *mut CQueue, band: u8) -> bool {
    // SAFETY: the caller promises that `queue` is null or a queue.
    match unsafe { locate(queue) } {
        Some((Place::Own(context), _)) => context.run(|queue| queue.can_put_next(band)).unwrap_or(false),
        Some((Place::Other(context), _)) => context.run(|queue| queue.can_reply(band)).unwrap_or(false),
        Some((Place::Elsewhere(pair, side), _)) => worker::has_room(pair, side),
        Some((Place::Outside(pair, side), _)) => {
            enter(pair, side, |context| context.run(|queue| queue.can_put_next(band))).unwrap_or(false)
        }
        Some((Place::Nowhere, _)) | None => false,
    }
}

/// Schedules the service procedure of a queue (qenable).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn enable(queue: *mut CQueue) {
    let own = |queue: &mut Queue<'_, '_, '_>| {
        queue.enable();
        Ok(())
    };
    // SAFETY: the caller promises that `queue` is null or a queue.
    match unsafe { locate(queue) } {
        Some((Place::Own(context), _)) => {
            context.run(own);
        }
        Some((Place::Other(context), _)) => {
            context.run(|queue| {
                queue.enable_other();
                Ok(())
            });
        }
        Some((Place::Elsewhere(pair, side), _)) => worker::post(pair, side, Post::Enable),
        Some((Place::Outside(pair, side), _)) => {
            enter(pair, side, |context| context.run(own));
        }
        Some((Place::Nowhere, _)) | None => {}
    }
}

/// Calls `action` with a queue, if it is that of the running procedure, or if no procedure runs. Otherwise returns
/// `None`.
///
/// # Safety
/// `queue` is null or a queue.
unsafe fn on_own<T>(
    queue: *mut CQueue,
    mut action: impl FnMut(&mut Queue<'static, 'static, 'static>) -> headwater_streams::Result<T>,
) -> Option<T> {
    // SAFETY: the caller promises that `queue` is null or a queue.
    match unsafe { locate(queue) } {
        Some((Place::Own(context), _)) => {
            let done = context.run(&mut action);
            context.refresh();
            done
        }
        Some((Place::Outside(pair, side), _)) => enter(pair, side, |context| context.run(&mut action)),
        _ => None,
    }
}

/// Makes the procedure's own queue passive or active (noenable, enableok).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn set_passive(queue: *mut CQueue, is_passive: bool) {
    // SAFETY: the caller promises that `queue` is null or a queue. The fields belong to the procedure of its side,
    // which calls this.
    unsafe {
        on_own(queue, |queue| {
            if is_passive {
                queue.set_passive()
            } else {
                queue.set_active()
            }
            Ok(())
        });
        if let Some(fields) = queue.as_mut() {
            fields.flag = if is_passive { fields.flag | QNOENB } else { fields.flag & !QNOENB };
        }
    }
}

/// Returns how many messages are in the queue (qsize).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn size(queue: *mut CQueue) -> c_int {
    // SAFETY: the caller promises that `queue` is null or a queue.
    let count = unsafe {
        match locate(queue) {
            Some((Place::Other(context), _)) => context.run(|queue| Ok(queue.size_of_other(0).0)),
            _ => on_own(queue, |queue| Ok(queue.size(0).0)),
        }
    };
    count.unwrap_or(0) as c_int
}

/// Flushes a queue (flushq, flushband): all bands or one, and only data or, if `all`, everything.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn flush(queue: *mut CQueue, band: Option<u8>, all: bool) {
    // SAFETY: the caller promises that `queue` is null or a queue.
    unsafe {
        match locate(queue) {
            Some((Place::Other(context), located)) => flush_by_message(context, located.side, band),
            Some((Place::Own(context), located)) => {
                if all || !has_more_than_data(context) {
                    flush_by_message(context, located.side, band);
                } else {
                    flush_data(context, band);
                }
                context.refresh();
            }
            Some((Place::Outside(pair, side), _)) => {
                enter(pair, side, |context| {
                    flush_by_message(context, side, band);
                    Some(())
                });
            }
            _ => {}
        }
    }
}

fn flush_by_message(context: &mut Context, side: Side, band: Option<u8>) {
    let flush = if side == Side::Read { Flush::READ } else { Flush::WRITE };
    let bytes = band.map_or(flush, |band| flush.in_band(band)).bytes();
    context.run(|queue| queue.flush_as(&Message::new(MessageHeader::of(Kind::Flush), None, Some(&bytes))));
}

/// Returns whether FLUSHDATA flushes a message of this type.
fn is_data(header: &MessageHeader) -> bool {
    matches!(header.kind, Kind::Data | Kind::Proto | Kind::PcProto | Kind::Delay)
}

fn has_more_than_data(context: &mut Context) -> bool {
    context.run(|queue| Ok(queue.messages()?.iter().any(|header| !is_data(header)))).unwrap_or(false)
}

fn flush_data(context: &mut Context, band: Option<u8>) {
    context.run(|queue| {
        let headers = queue.messages()?;
        let goes = |header: &MessageHeader| is_data(header) && band.is_none_or(|band| header.band == band);
        let places = headers.iter().enumerate().filter(|(_, header)| goes(header)).map(|(place, _)| place);
        for place in places.rev() {
            queue.remove(place)?;
        }
        Ok(())
    });
}

const QHIWAT: c_int = 0;
const QLOWAT: c_int = 1;
const QMAXPSZ: c_int = 2;
const QMINPSZ: c_int = 3;
const QCOUNT: c_int = 4;
const QFLAG: c_int = 7;

/// Returns a setting of a queue (strqget). `None` if there is no such setting, or if the queue is one of another
/// stream.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn setting(queue: *mut CQueue, what: c_int, band: u8) -> Option<c_long> {
    // SAFETY: the caller promises that `queue` is null or a queue. Its fields belong to the procedure of its side,
    // which calls this.
    unsafe {
        if what == QFLAG {
            return queue.as_ref().map(|fields| c_long::from(fields.flag));
        }
        let (marks, sizes, count) = match locate(queue)? {
            (Place::Other(context), _) => {
                let found = context.run(|queue| Ok((queue.water_marks_of_other(), queue.size_of_other(band).1)))?;
                let fields = &*queue;
                (found.0, (fields.minpsz, fields.maxpsz), found.1)
            }
            (Place::Nowhere, _) => return None,
            _ => {
                let read = |queue: &mut Queue<'static, 'static, 'static>| {
                    let (minpsz, maxpsz) = queue.packet_sizes();
                    let maxpsz = if maxpsz == 0 { -1 } else { maxpsz as isize };
                    Ok((queue.water_marks(), (minpsz as isize, maxpsz), queue.size(band).1))
                };
                on_own(queue, read)?
            }
        };
        Some(match what {
            QHIWAT => marks.0.into(),
            QLOWAT => marks.1.into(),
            QMINPSZ => sizes.0 as c_long,
            QMAXPSZ => sizes.1 as c_long,
            QCOUNT => count as c_long,
            _ => return None,
        })
    }
}

/// Changes a setting of a queue (strqset). Returns false if there is no such setting, if it cannot be changed, or if
/// the value makes no sense.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn set(queue: *mut CQueue, what: c_int, value: c_long) -> bool {
    let Ok(number) = u32::try_from(if what == QMAXPSZ && value == -1 { 0 } else { value }) else { return false };
    let marks = |(hiwat, lowat): (u32, u32)| match what {
        // A module that sets both marks one after the other may have them in the wrong order for a moment.
        QHIWAT => Some((number, lowat.min(number))),
        QLOWAT => Some((hiwat, number.min(hiwat))),
        _ => None,
    };
    // SAFETY: the caller promises that `queue` is null or a queue.
    let done = unsafe {
        match locate(queue) {
            Some((Place::Other(context), _)) => context.run(|queue| {
                let Some((hiwat, lowat)) = marks(queue.water_marks_of_other()) else { return Ok(false) };
                queue.set_water_marks_of_other(hiwat, lowat).map(|()| true)
            }),
            _ => on_own(queue, |queue| {
                let (minpsz, maxpsz) = queue.packet_sizes();
                match (what, marks(queue.water_marks())) {
                    (_, Some((hiwat, lowat))) => queue.set_water_marks(hiwat, lowat),
                    (QMINPSZ, _) => queue.set_packet_sizes(number, if maxpsz == 0 { 0 } else { maxpsz.max(number) }),
                    (QMAXPSZ, _) => {
                        queue.set_packet_sizes(if number == 0 { minpsz } else { minpsz.min(number) }, number)
                    }
                    _ => return Ok(false),
                }
                .map(|()| true)
            }),
        }
    };
    let is_set = done == Some(true);
    if is_set {
        // SAFETY: the operation has succeeded, so `queue` is a queue. Its fields belong to the procedure of its side,
        // which calls this.
        unsafe { note(queue, what, value) };
    }
    is_set
}

/// Stores a changed setting in the field that C reads.
///
/// # Safety
/// `queue` is a queue, and the caller runs a procedure of its side.
unsafe fn note(queue: *mut CQueue, what: c_int, value: c_long) {
    // SAFETY: the caller promises that `queue` is a queue whose fields belong to it.
    unsafe {
        match what {
            QHIWAT => (*queue).hiwat = value as usize,
            QLOWAT => (*queue).lowat = value as usize,
            QMINPSZ => (*queue).minpsz = value as isize,
            _ => (*queue).maxpsz = value as isize,
        }
    }
}

/// Returns whether the next queue is one of the same side (SAMESTR).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn is_followed(queue: *mut CQueue) -> bool {
    // SAFETY: the caller promises that `queue` is null or a queue.
    unsafe {
        match Pair::find(queue) {
            Some((_, located)) if located.is_behind => false,
            Some((_, _)) => on_own(queue, |queue| Ok(queue.is_followed_by_same_side())).unwrap_or(false),
            None => false,
        }
    }
}

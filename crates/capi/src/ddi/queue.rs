//! Messages into queues and out of them: putnext, putq, getq and their relatives, and frozen queues.

use std::ffi::c_int;
use std::ptr;

use headwater_streams::{Errno, Error, Kind, Message, MessageHeader, Queue, Result, Side};

use super::block;
use super::context::{Context, Place, enter, locate, message_of};
use super::convert;
use super::instance::Pair;
use super::types::{CQueue, Mblk};
use super::worker::{self, Post};

/// Enters the stream and does an operation there as a procedure of the queue.
fn on_own<T>(pair: &Pair, side: Side, action: impl FnOnce(&mut Context) -> Option<T>) -> Option<T> {
    let mut action = Some(action);
    enter(pair, side, |context| action.take().and_then(|action| action(context)))
}

/// Passes a message to the next queue (putnext). The message is used up.
///
/// # Safety
/// `queue` is null or a queue; `mp` is null or a message that the caller owns.
pub unsafe fn put_next(queue: *mut CQueue, mp: *mut Mblk) {
    if mp.is_null() {
        return;
    }
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`.
    unsafe {
        match locate(queue) {
            Some((Place::Own(context), _)) => {
                if let Some(message) = message_of(mp, Some(context)) {
                    context.run(|queue| queue.put_next(message));
                    context.refresh();
                }
            }
            Some((Place::Other(context), _)) => {
                if let Some(message) = message_of(mp, Some(context)) {
                    send_back(context, message);
                }
            }
            Some((Place::Elsewhere(pair, side), _)) => {
                if let Some(message) = message_of(mp, None) {
                    worker::post(pair, side, Post::PutNext(message));
                }
            }
            Some((Place::Outside(pair, side), _)) => {
                if let Some(message) = message_of(mp, None) {
                    on_own(pair, side, |context| context.run(|queue| queue.put_next(message)));
                }
            }
            Some((Place::Nowhere, _)) | None => block::free_message(mp),
        }
    }
}

/// Sends a message on from the module's other queue.
fn send_back(context: &mut Context, message: Message<'static>) {
    if let Some(held_back) = &mut context.held_back {
        held_back.push(message);
        return;
    }
    context.run(|queue| queue.reply(message));
}

/// Sends a message back (qreply).
///
/// # Safety
/// `queue` is null or a queue; `mp` is null or a message that the caller owns.
pub unsafe fn reply(queue: *mut CQueue, mp: *mut Mblk) {
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`.
    unsafe { put_next(other(queue), mp) }
}

/// Returns the other queue of the pair (OTHERQ).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn other(queue: *mut CQueue) -> *mut CQueue {
    // SAFETY: the caller promises that `queue` is null or a queue.
    match unsafe { Pair::find(queue) } {
        Some((pair, located)) => {
            let side = if located.side == Side::Read { Side::Write } else { Side::Read };
            if located.is_behind { pair.behind(side) } else { pair.queue(side) }
        }
        None => ptr::null_mut(),
    }
}

/// Calls the put procedure of a queue (put).
///
/// # Safety
/// `queue` is null or a queue; `mp` is a message that the caller owns.
pub unsafe fn put(queue: *mut CQueue, mp: *mut Mblk) {
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`.
    unsafe {
        match locate(queue) {
            Some((_, located)) if located.is_behind => put_next(own_of(queue), mp),
            Some((Place::Own(_) | Place::Other(_), _)) => call_put(queue, mp),
            Some((Place::Elsewhere(pair, side), _)) => {
                if let Some(message) = message_of(mp, None) {
                    worker::post(pair, side, Post::Put(message));
                }
            }
            Some((Place::Outside(pair, side), _)) => {
                on_own(pair, side, |_| {
                    call_put(queue, mp);
                    Some(())
                });
            }
            Some((Place::Nowhere, _)) | None => block::free_message(mp),
        }
    }
}

/// Calls the put procedure in C of a queue. If it has none, passes the message to the next queue.
///
/// # Safety
/// `queue` is a queue; `mp` is a message that the caller owns.
pub unsafe fn call_put(queue: *mut CQueue, mp: *mut Mblk) {
    // SAFETY: the caller promises that `queue` is a queue and that it owns the message `mp`; the procedure is that of
    // the queue's qinit.
    unsafe {
        match (*queue).qinfo.as_ref().and_then(|qinit| qinit.put) {
            Some(put) => {
                put(queue, mp);
            }
            None => put_next(queue, mp),
        }
    }
}

/// Returns the module's own queue, for one that stands for the queue behind it.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn own_of(queue: *mut CQueue) -> *mut CQueue {
    // SAFETY: the caller promises that `queue` is null or a queue.
    unsafe { Pair::find(queue) }.map_or(ptr::null_mut(), |(pair, located)| pair.queue(located.side))
}

/// Puts a message in a queue (putq). Returns 0 if the stream has no memory; the message then still belongs to the
/// caller.
///
/// # Safety
/// `queue` is null or a queue; `mp` is null or a message that the caller owns.
pub unsafe fn put_queue(queue: *mut CQueue, mp: *mut Mblk) -> c_int {
    if mp.is_null() {
        return 0;
    }
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`.
    unsafe {
        match locate(queue) {
            Some((Place::Own(context), _)) => {
                let done = queue_message(context, mp);
                context.refresh();
                done
            }
            Some((Place::Other(context), _)) => {
                if let Some(message) = message_of(mp, Some(context)) {
                    context.run(|queue| {
                        queue.put_other_queue(&message)?;
                        queue.enable_other();
                        Ok(())
                    });
                }
                1
            }
            Some((Place::Elsewhere(pair, side), _)) => {
                if let Some(message) = message_of(mp, None) {
                    worker::post(pair, side, Post::PutQueue(message));
                }
                1
            }
            Some((Place::Outside(pair, side), _)) => {
                on_own(pair, side, |context| Some(queue_message(context, mp))).unwrap_or(0)
            }
            Some((Place::Nowhere, _)) | None => 0,
        }
    }
}

/// Puts a message in the queue of the running procedure.
///
/// # Safety
/// `mp` is a message that the caller owns.
unsafe fn queue_message(context: &mut Context, mp: *mut Mblk) -> c_int {
    // SAFETY: the caller owns the message `mp`.
    unsafe {
        let has_memory = context.run(|queue| Ok(queue.has_memory() || is_high(mp)));
        if has_memory != Some(true) {
            context.fail(Error::new(Errno::Nosr, "the stream has no memory for a message that a module queues"));
            return 0;
        }
        if let Some(message) = message_of(mp, Some(context)) {
            context.run(|queue| queue.put_queue(message));
        }
        1
    }
}

/// # Safety
/// `mp` is a message.
unsafe fn is_high(mp: *mut Mblk) -> bool {
    // SAFETY: the caller promises that `mp` is a message.
    unsafe { block::kind(mp) & 0x80 != 0 }
}

/// Puts a message back at the front of its queue (putbq). Returns 0 if nothing was done.
///
/// # Safety
/// `queue` is null or a queue; `mp` is null or a message that the caller owns.
pub unsafe fn put_back(queue: *mut CQueue, mp: *mut Mblk) -> c_int {
    if mp.is_null() {
        return 0;
    }
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`.
    unsafe {
        match locate(queue) {
            Some((Place::Own(context), _)) => {
                if let Some(message) = message_of(mp, Some(context)) {
                    context.run(|queue| queue.put_back(&message));
                    context.refresh();
                }
                1
            }
            Some((Place::Other(_) | Place::Elsewhere(..), _)) => put_queue(queue, mp),
            Some((Place::Outside(pair, side), _)) => {
                let put = |context: &mut Context| {
                    message_of(mp, Some(context)).and_then(|message| context.run(|queue| queue.put_back(&message)))
                };
                on_own(pair, side, put).map_or(0, |()| 1)
            }
            Some((Place::Nowhere, _)) | None => 0,
        }
    }
}

/// Takes a message out of a queue (getq). Returns null if there is none.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn get(queue: *mut CQueue) -> *mut Mblk {
    // SAFETY: the caller promises that `queue` is null or a queue.
    unsafe {
        match locate(queue) {
            Some((Place::Own(context), _)) => {
                let got = get_blocks(context);
                context.refresh();
                got
            }
            Some((Place::Outside(pair, side), _)) => {
                on_own(pair, side, |context| Some(get_blocks(context))).unwrap_or(ptr::null_mut())
            }
            _ => ptr::null_mut(),
        }
    }
}

fn get_blocks(context: &mut Context) -> *mut Mblk {
    let got = context.run(|queue| Ok(queue.get()?.map_or(ptr::null_mut(), convert::to_blocks)));
    got.unwrap_or(ptr::null_mut())
}

/// Sends a control message (putctl, putctl1, putnextctl, putnextctl1). Returns false if `kind` is no type of control
/// messages.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn put_control(queue: *mut CQueue, kind: c_int, parameter: Option<c_int>, next: bool) -> bool {
    let kind = u8::try_from(kind).ok();
    let Some(kind) = kind.and_then(Kind::of) else { return false };
    // As in SVR4: there is no control message of a data type, and M_DELAY has a parameter.
    if matches!(kind, Kind::Data | Kind::Proto | Kind::PcProto) || kind == Kind::Delay && parameter.is_none() {
        return false;
    }
    let mp = block::from_vec(parameter.into_iter().map(|parameter| parameter as u8).collect());
    // SAFETY: `mp` was just made and is ours; the caller promises that `queue` is null or a queue.
    unsafe {
        block::label(mp, kind as u8, 0, 0);
        if next { put_next(queue, mp) } else { put(queue, mp) }
    }
    true
}

/// Freezes a queue (freezestr). Until it is thawed, `q_first` leads to a block for each message, which has the type and
/// the band of the message and no bytes.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn freeze(queue: *mut CQueue) {
    // SAFETY: the caller promises that `queue` is null or a queue.
    let Some((Place::Own(context), _)) = (unsafe { locate(queue) }) else { return };
    if !context.frozen.is_empty() {
        return;
    }
    let headers: Vec<MessageHeader> = context.run(|queue| queue.messages()).unwrap_or_default();
    context.frozen = headers.into_iter().map(stand_in).collect();
    show(context, queue);
}

fn stand_in(header: MessageHeader) -> *mut Mblk {
    let mp = block::allocate(0);
    // SAFETY: `mp` was just made.
    unsafe { block::label(mp, header.kind as u8, header.band, 0) };
    mp
}

/// Links the blocks of a frozen queue, and stores the first and the last one in the queue.
fn show(context: &mut Context, queue: *mut CQueue) {
    let frozen = &context.frozen;
    for (at, mp) in frozen.iter().enumerate() {
        let neighbour = |at: Option<usize>| at.and_then(|at| frozen.get(at)).copied().unwrap_or(ptr::null_mut());
        // SAFETY: the blocks in `frozen` are ours; one that is handed over leaves the list first.
        unsafe { ((**mp).next, (**mp).prev) = (neighbour(Some(at + 1)), neighbour(at.checked_sub(1))) };
    }
    let ends = [frozen.first(), frozen.last()].map(|mp| mp.copied().unwrap_or(ptr::null_mut()));
    // SAFETY: `queue` is that of the running procedure, whose thread alone uses these fields.
    unsafe { [(*queue).first, (*queue).last] = ends };
}

/// Thaws a queue. Called by unfreezestr, and at the end of a procedure.
pub fn thaw(context: &mut Context) {
    for mp in std::mem::take(&mut context.frozen) {
        // SAFETY: the blocks in `frozen` are ours.
        unsafe { block::free(mp) };
    }
}

/// Thaws a queue (unfreezestr).
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn unfreeze(queue: *mut CQueue) {
    // SAFETY: the caller promises that `queue` is null or a queue.
    if let Some((Place::Own(context), _)) = unsafe { locate(queue) } {
        thaw(context);
        context.refresh();
    }
}

/// Calls `action` with the frozen queue. A queue that is not frozen is frozen meanwhile.
///
/// # Safety
/// `queue` is null or a queue.
unsafe fn frozen<T>(queue: *mut CQueue, action: impl FnOnce(&mut Context) -> Option<T>) -> Option<T> {
    // SAFETY: the caller promises that `queue` is null or a queue.
    unsafe {
        let Some((Place::Own(context), _)) = locate(queue) else { return None };
        let is_frozen = !context.frozen.is_empty();
        if !is_frozen {
            freeze(queue);
        }
        let done = action(context);
        if is_frozen {
            show(context, queue);
        } else {
            thaw(context);
            context.refresh();
        }
        done
    }
}

/// Puts a message before another one of the queue, or at its end if `before` is null (insq). Returns 0 if the message
/// may not stand there.
///
/// # Safety
/// `queue` is null or a queue; `before` is null or a block of [`freeze`]; `mp` is a message that the caller owns.
pub unsafe fn insert(queue: *mut CQueue, before: *mut Mblk, mp: *mut Mblk) -> c_int {
    // SAFETY: the caller promises that `queue` is null or a queue, and that it owns the message `mp`. The blocks of
    // `mp` are duplicated, because the queue may refuse the message.
    let done = unsafe {
        frozen(queue, |context| {
            let place = match context.frozen.iter().position(|known| *known == before) {
                Some(place) => place,
                // The queue is not frozen, so `before` is its `q_first`, which stands for the first message.
                None if !before.is_null() => 0,
                None => context.frozen.len(),
            };
            let copied = block::each_block(mp, block::duplicate);
            let message = message_of(copied, Some(context))?;
            let header = message.header;
            let fits = context.run(|queue| insert_at(queue, place, &message))?;
            if fits {
                block::free_message(mp);
                context.frozen.insert(place.min(context.frozen.len()), stand_in(header));
            }
            fits.then_some(1)
        })
    };
    done.unwrap_or(0)
}

/// Returns false if the message's priority or band does not allow the place.
fn insert_at(queue: &mut Queue<'_, '_, '_>, place: usize, message: &Message<'_>) -> Result<bool> {
    match queue.insert(place, message) {
        Err(error) if error.errno() == Errno::Inval => Ok(false),
        done => done.map(|()| true),
    }
}

/// Takes a message out of the queue (rmvq). The block that stood for the message then has its bytes, and belongs to the
/// caller.
///
/// # Safety
/// `queue` is null or a queue; `mp` is a block of [`freeze`].
pub unsafe fn remove(queue: *mut CQueue, mp: *mut Mblk) {
    // SAFETY: the caller promises that `queue` is null or a queue; `mp` is used only if it is one of our blocks.
    unsafe {
        frozen(queue, |context| {
            let place = context.frozen.iter().position(|known| *known == mp)?;
            let got = context.run(|queue| Ok(queue.remove(place)?.map(convert::to_blocks)))??;
            context.frozen.remove(place);
            ((*mp).next, (*mp).prev) = (ptr::null_mut(), ptr::null_mut());
            ((*mp).cont, (*mp).band, (*mp).flag) = ((*got).cont, (*got).band, (*got).flag);
            let (rptr, wptr) = ((*got).rptr, (*got).wptr);
            block::rebase(mp, block::into_datap(got), rptr, wptr);
            Some(())
        });
    }
}

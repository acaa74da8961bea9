//! The chunk that `bufmod` gathers: bytes in the module's memory, and one message in its read queue that stands for them.
//!
//! The chunk exists as long as that message is in the queue. So the rules for messages between two queues hold for the chunk too: a
//! process that is killed leaves it either there or passed on, and a reader at the end of the stream gets it. It can be
//! added to as long as that message is the last in the queue. All of this is done under the writer's lock of the direction.
//!
//! | word of the state | |
//! |---|---|
//! | 0 | bytes of the chunk, and messages in it in the upper half; of no meaning without a chunk |
//! | 1 | messages that were dropped |
//! | 2 | bits: an interval is running |
//! | 3 | the last request of the write side that was met |

use super::ioctl::{self, Settings};
use super::{BufferFlags, CHUNK_MAX, PacketHeader, is_exhausted, now};
use crate::error::Result;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::queue::Queue;

/// Where the chunk begins in the module's memory.
pub(super) const AT: usize = 64;
const _: () = assert!(ioctl::LEN <= AT);

const GATHERED: usize = 0;
const DROPS: usize = 1;
const INTERVAL: usize = 2;
const MET: usize = 3;

/// An interval has begun: it has a time, or lasts until the next request.
const RUNNING: u64 = 1;

/// Bytes and messages of the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Gathered {
    len: usize,
    count: u32,
}

impl Gathered {
    fn of(queue: &Queue<'_, '_, '_>) -> Gathered {
        let word = queue.state()[GATHERED];
        Gathered { len: (word as u32).min(CHUNK_MAX) as usize, count: (word >> 32) as u32 }
    }

    fn store(self, queue: &mut Queue<'_, '_, '_>) {
        set(queue, GATHERED, self.len as u64 | u64::from(self.count) << 32);
    }
}

fn set(queue: &mut Queue<'_, '_, '_>, word: usize, value: u64) {
    let mut state = queue.state();
    state[word] = value;
    queue.set_state(state);
}

fn note_drops(queue: &mut Queue<'_, '_, '_>, count: u32) {
    let drops = queue.state()[DROPS];
    set(queue, DROPS, drops.wrapping_add(count.into()));
}

/// The state of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// A chunk that can be added to.
    Chunk,
    /// Messages for which there was no room.
    Messages,
}

fn waiting(queue: &mut Queue<'_, '_, '_>) -> Result<Waiting> {
    if queue.size(0).0 == 0 {
        return Ok(Waiting::Nothing);
    }
    Ok(match queue.messages()?.last() {
        None => Waiting::Nothing,
        Some(&STAND_IN) => Waiting::Chunk,
        Some(_) => Waiting::Messages,
    })
}

/// The header of the message that stands for the chunk: that of an M_CTL with marks that no other one has.
const STAND_IN: MessageHeader = MessageHeader { marked: true, turned: true, ..MessageHeader::of(Kind::Control) };

/// Takes a message of data into the chunk.
pub(super) fn gather(message: &Message<'_>, settings: Settings, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    obey(queue)?;
    let unit = Unit::of(message, settings, queue.state()[DROPS]);
    let limit = (settings.chunk as usize).min(queue.data_max());
    if limit == 0 || settings.time.is_some_and(|time| time.is_zero()) {
        make_room(0, settings, queue)?;
        return pass_alone(unit, settings, queue);
    }
    let is_first = queue.state()[INTERVAL] & RUNNING == 0;
    let is_passed = settings.flags.contains(BufferFlags::DEFER_CHUNK) && is_first || unit.bytes.len() > limit;
    match make_room(limit.saturating_sub(unit.bytes.len()), settings, queue)? {
        Waiting::Chunk if !is_passed => append(&unit.bytes, Gathered::of(queue), queue)?,
        Waiting::Nothing if !is_passed => begin(unit, settings, queue)?,
        _ => pass_alone(unit, settings, queue)?,
    }
    begin_interval(settings, queue);
    Ok(())
}

/// Passes the chunk on if it has more than `len_max` bytes. Returns what waits then.
fn make_room(len_max: usize, settings: Settings, queue: &mut Queue<'_, '_, '_>) -> Result<Waiting> {
    let waits = waiting(queue)?;
    if waits != Waiting::Chunk || Gathered::of(queue).len <= len_max {
        return Ok(waits);
    }
    Ok(if pass_chunk(settings, queue)? { Waiting::Nothing } else { Waiting::Messages })
}

/// Begins a chunk.
fn begin(unit: Unit, settings: Settings, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    append(&unit.bytes, Gathered::default(), queue)?;
    queue.set_passive();
    match queue.put_queue(Message::from_parts(STAND_IN, None, None)) {
        Err(error) if is_exhausted(error.errno()) => pass_alone(unit, settings, queue),
        put => put,
    }
}

/// A message as it stands in a chunk.
#[derive(Debug)]
struct Unit {
    bytes: Vec<u8>,
    /// Its header, if it is passed on alone.
    alone: MessageHeader,
}

impl Unit {
    fn of(message: &Message<'_>, settings: Settings, drops: u64) -> Unit {
        Unit { bytes: unit(message, settings, drops), alone: MessageHeader { kind: Kind::Data, ..message.header } }
    }
}

fn unit(message: &Message<'_>, settings: Settings, drops: u64) -> Vec<u8> {
    let parts = || message.control().into_iter().chain(message.data_blocks());
    let original_len: usize = parts().map(<[u8]>::len).sum();
    let kept = if settings.snap == 0 { original_len } else { original_len.min(settings.snap as usize) };
    let has_header = !settings.flags.contains(BufferFlags::NO_HEADER);
    let before = if has_header { PacketHeader::LEN } else { 0 };
    let mut unit = vec![0; before];
    for part in parts() {
        unit.extend_from_slice(&part[..part.len().min(before + kept - unit.len())]);
    }
    if has_header {
        unit.resize(unit.len().next_multiple_of(PacketHeader::ALIGNMENT), 0);
        let time = now();
        let header = PacketHeader {
            original_len: original_len as u32,
            message_len: kept as u32,
            total_len: unit.len() as u32,
            drops: drops as u32,
            seconds: time.as_secs() as u32,
            microseconds: time.subsec_micros(),
        };
        unit[..PacketHeader::LEN].copy_from_slice(&header.bytes());
    }
    unit
}

/// Adds to the chunk. The bytes count when the word is stored.
fn append(unit: &[u8], gathered: Gathered, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    queue.write_instance(AT + gathered.len, unit)?;
    Gathered { len: gathered.len + unit.len(), count: gathered.count.saturating_add(1) }.store(queue);
    Ok(())
}

/// The chunk as a message.
fn message_of(gathered: Gathered, queue: &Queue<'_, '_, '_>) -> Result<Message<'static>> {
    let mut bytes = vec![0; gathered.len];
    queue.read_instance(AT, &mut bytes)?;
    // The next chunk is not appended to it.
    let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Data) };
    Ok(Message::from_parts(header, None, Some(bytes)))
}

/// Passes the chunk on, which is all that waits; or drops it. False: it stays, because the next queue does not take it.
fn pass_chunk(settings: Settings, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    let has_room = queue.can_put_next(0)?;
    if !has_room && settings.flags.contains(BufferFlags::NO_DROPS) {
        return Ok(false);
    }
    let gathered = Gathered::of(queue);
    queue.get()?;
    if has_room && gathered.count > 0 {
        let chunk = message_of(gathered, queue)?;
        send(chunk, gathered.count, queue)?;
    } else {
        note_drops(queue, gathered.count);
    }
    Gathered::default().store(queue);
    Ok(true)
}

/// Passes a message on as a chunk of its own.
fn pass_alone(unit: Unit, settings: Settings, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let has_room = queue.can_put_next(unit.alone.band)?;
    let message = Message::from_parts(unit.alone, None, Some(unit.bytes));
    if queue.size(0).0 > 0 || !has_room && settings.flags.contains(BufferFlags::NO_DROPS) {
        return put_behind(message, has_room, queue);
    }
    if has_room {
        return send(message, 1, queue);
    }
    note_drops(queue, 1);
    Ok(())
}

/// Sends a chunk up. What the rest of the way has no memory for is dropped and counted.
fn send<'m>(chunk: Message<'m>, count: u32, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match queue.put_next(chunk) {
        Err(error) if is_exhausted(error.errno()) => {
            note_drops(queue, count);
            Ok(())
        }
        sent => sent,
    }
}

/// Passes a message on that is not gathered, behind all that is, when the next queue takes it.
pub(super) fn pass_behind<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if message.header == STAND_IN {
        message.header.turned = false;
    }
    pass_all(queue)?;
    let has_room = queue.can_put_next(message.header.band)?;
    if has_room && queue.size(0).0 == 0 {
        return queue.put_next(message);
    }
    put_behind(message, has_room, queue)
}

fn put_behind<'m>(message: Message<'m>, has_room: bool, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    queue.put_queue(message)?;
    if has_room {
        queue.enable();
    }
    Ok(())
}

/// Passes on all that waits, as far as the next queue takes it.
pub(super) fn pass_all(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    while queue.size(0).0 > 0 {
        let Some(message) = queue.get()? else { break };
        if !queue.can_put_next(message.header.band)? {
            return queue.put_back(&message);
        }
        if message.header != STAND_IN {
            send(message, 1, queue)?;
            continue;
        }
        let gathered = Gathered::of(queue);
        // None, if a process was killed while it passed the chunk on.
        if gathered.count > 0 {
            let chunk = message_of(gathered, queue)?;
            send(chunk, gathered.count, queue)?;
            Gathered::default().store(queue);
        }
    }
    Ok(())
}

/// Forgets the chunk, whose message was flushed.
pub(super) fn forget(queue: &mut Queue<'_, '_, '_>) {
    Gathered::default().store(queue);
}

/// Begins an interval with a message, unless one is running.
fn begin_interval(settings: Settings, queue: &mut Queue<'_, '_, '_>) {
    if queue.state()[INTERVAL] & RUNNING != 0 {
        return;
    }
    // First the time: an interval that is running ends.
    if let Some(time) = settings.time {
        queue.enable_after(time);
    }
    set(queue, INTERVAL, RUNNING);
}

/// The interval is over: the next message begins another one.
pub(super) fn end_interval(queue: &mut Queue<'_, '_, '_>) {
    queue.forget_time();
    set(queue, INTERVAL, 0);
}

/// Notes the requests of the write side: the interval is over.
pub(super) fn obey(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let requests = u64::from(Settings::load(queue)?.requests);
    if requests != queue.state()[MET] {
        pass_all(queue)?;
        end_interval(queue);
        set(queue, MET, requests);
    }
    Ok(())
}

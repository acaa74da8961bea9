//! A direction's store: the queues whose messages do not wait in the lane, and the blocks that hold them.
//!
//! Modules' queues, bands above 0 and messages of high priority are kept here, and everything where a stream has no lane.
//! A message is one block, which holds it whole if it is small (the fast buffer), and pages for what is longer. All is
//! done under one lock. A change is made visible by one store of a link, so that after a death in between the lists are
//! whole; the values derived from them (ends, counts, free lists) are then computed anew ([`repair`]).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use headwater_shm::{BiasedLock, Placed, Window, probe};

use super::flow::{self, WaterMarks};
use super::lane::{Part, there};
use super::order::Rank;
use crate::error::{Result, corrupt};
use crate::layout::{Band, Block, Flow, QUEUES, QueueWords, StoreWords};
use crate::limits::{BLOCKS, PAGE};
use crate::message::Message;
use crate::message::kind::MessageHeader;

mod edit;
mod guard;
mod memory;
mod repair;
mod step;
mod transfer;

pub(crate) use guard::{StoreGuard, StoreSide};

/// The queue's service procedure is to run (QENAB).
pub(crate) const ENABLED: u32 = 1;
/// In the head's queue, for all queues: a writer was refused because the store's memory is used up, and waits.
const MEMORY: u32 = 4;
/// It has put a message back, so later ordinary messages do not enable it; the process that makes room does (QWANTR not
/// set).
pub(crate) const PUT_BACK: u32 = 2;
/// Ordinary messages that arrive do not enable it (QNOENB).
pub(crate) const DISABLED: u32 = 8;
/// It is to be enabled when there is memory again (bufcall).
pub(crate) const WANTS_MEMORY: u32 = 16;
/// The highest band of the queue that was ever used.
const BAND_SHIFT: u32 = 8;
const BAND_MASK: u32 = 0xff << BAND_SHIFT;

/// The highest band of a queue that was ever used, as its flags say.
pub(crate) fn highest_band(flags: u32) -> u8 {
    ((flags & BAND_MASK) >> BAND_SHIFT) as u8
}

/// The queue of the reading head; those of modules follow.
pub(crate) const HEAD: usize = 0;
/// The queue of the answers to the reading head's ioctl.
pub(crate) const ANSWERS: usize = QUEUES - 2;

/// One member's view of a direction's store.
#[derive(Debug)]
pub(crate) struct Store {
    words: Placed<StoreWords>,
    /// The water marks of the head's queue, which the lane has too.
    flow: Placed<Flow>,
    /// For each page the next one of its message or of the free list, plus one.
    links: Placed<[AtomicU32]>,
    /// The fast buffers, one for each block.
    fast: Window,
    pages: Window,
    /// Bytes of the largest message, and how many pages it takes.
    message_max: u64,
    message_pages: usize,
    lock: BiasedLock,
}

/// The message at the front of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    block: usize,
    pub header: MessageHeader,
    pub control: Option<Part>,
    pub data: Option<Part>,
}

/// The messages to flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Everything.
    All,
    /// The ordinary messages of one band.
    Band(u8),
}

impl Store {
    pub fn new(
        words: Placed<StoreWords>,
        flow: Placed<Flow>,
        links: Placed<[AtomicU32]>,
        fast: Window,
        pages: Window,
        message_max: u64,
        lock: BiasedLock,
    ) -> Store {
        let message_pages = message_max.div_ceil(PAGE as u64) as usize;
        Store { words, flow, links, fast, pages, message_max, message_pages, lock }
    }

    /// Forgets the parent's lock, in a forked child.
    pub fn forget(&mut self) {
        self.lock.forget();
    }

    pub fn retire(&mut self) {
        self.lock.retire();
    }

    /// Whether a queue is empty, read without the lock.
    #[inline]
    pub fn is_empty(&self, queue: usize) -> bool {
        self.words.queues[queue].first.load(Ordering::Relaxed) == 0
    }

    /// Whether messages wait in a queue of a module or driver: a look from without the lock.
    pub fn holds_for_services(&self) -> bool {
        (HEAD + 1..QUEUES).any(|queue| queue != ANSWERS && !self.is_empty(queue))
    }

    /// Whether a waiter for room in a band may continue, read without the lock.
    pub fn may_go_on(&self, queue: usize, band: u8) -> bool {
        flow::may_go_on(self.band(queue, band), self.water_marks(queue)) && self.may_allocate()
    }

    /// Whether a process waits for memory, and there is some, read without the lock.
    #[inline]
    pub fn is_memory_awaited(&self) -> bool {
        self.words.queues[HEAD].flags.load(Ordering::Relaxed) & MEMORY != 0 && self.may_allocate()
    }

    /// As [`Store::is_memory_awaited`]; clears the note, and the caller notifies the waiter.
    pub fn take_memory_awaited(&self) -> bool {
        let flags = &self.words.queues[HEAD].flags;
        self.is_memory_awaited() && flags.fetch_and(!MEMORY, Ordering::Relaxed) & MEMORY != 0
    }

    /// The water marks of a queue.
    pub fn water_marks(&self, queue: usize) -> WaterMarks {
        let words = &self.words.queues[queue];
        if queue == HEAD { WaterMarks::of(&self.flow) } else { WaterMarks::load(&words.hiwat, &words.lowat) }
    }

    fn band(&self, queue: usize, band: u8) -> &Band {
        &self.words.queues[queue].bands[usize::from(band)]
    }

    /// Forgets what a module's queue was asked for by the one that had it before.
    pub fn reset_flags(&self, queue: usize) {
        self.words.queues[queue].flags.fetch_and(!(ENABLED | PUT_BACK | DISABLED | WANTS_MEMORY), Ordering::Relaxed);
    }

    /// Sets the water marks of a module's queue.
    pub fn set_marks(&self, queue: usize, hiwat: u32, lowat: u32) {
        self.words.queues[queue].hiwat.store(hiwat, Ordering::Relaxed);
        self.words.queues[queue].lowat.store(lowat, Ordering::Relaxed);
    }

    /// The shortest and the longest data part that a module's queue takes from a head; a longest of 0: as the head has it.
    pub fn packet_sizes(&self, queue: usize) -> [u32; 2] {
        self.words.queues[queue].packet_sizes.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    /// Sets them.
    pub fn set_packet_sizes(&self, queue: usize, sizes: [u32; 2]) {
        for (word, size) in self.words.queues[queue].packet_sizes.iter().zip(sizes) {
            word.store(size, Ordering::Relaxed);
        }
    }

    /// How many messages have come to a queue, read without the lock: it changes with each.
    pub fn arrivals(&self, queue: usize) -> u64 {
        // Acquire pairs with the Release in `count_put`.
        self.words.queues[queue].messages_put.load(Ordering::Acquire)
    }

    /// How many messages are in a queue, and how many bytes in one of its bands.
    pub fn size(&self, queue: usize, band: u8) -> (usize, usize) {
        let queue = &self.words.queues[queue];
        let bytes = queue.bands[usize::from(band)].count.load(Ordering::Relaxed);
        (queue.messages.load(Ordering::Relaxed) as usize, bytes as usize)
    }

    /// Notes that a process waits for memory.
    fn await_memory(&self) {
        self.words.queues[HEAD].flags.fetch_or(MEMORY, Ordering::Relaxed);
        probe::at();
    }

    /// Asks for a queue's service procedure to be run (qenable).
    pub fn enable(&self, queue: usize) {
        self.words.queues[queue].flags.fetch_or(ENABLED, Ordering::Relaxed);
        probe::at();
    }

    /// Enables a queue for a new message, unless its service procedure has put the message before it back.
    pub fn enable_for(&self, queue: usize, header: MessageHeader) {
        let (high, flags) = (header.kind.is_high_priority(), self.words.queues[queue].flags.load(Ordering::Relaxed));
        let ordinary = !high && header.band == 0;
        if high || flags & DISABLED == 0 && (!ordinary || flags & PUT_BACK == 0) {
            self.enable(queue);
        }
    }

    /// Notes that a queue's service procedure has put a message back.
    pub fn note_put_back(&self, queue: usize) {
        self.words.queues[queue].flags.fetch_or(PUT_BACK, Ordering::Relaxed);
        probe::at();
    }

    /// Whether a queue's service procedure is to run.
    pub fn is_enabled(&self, queue: usize) -> bool {
        self.words.queues[queue].flags.load(Ordering::Relaxed) & ENABLED != 0
    }

    /// Clears the request to run a queue's service procedure; returns whether it was set.
    pub fn take_enabled(&self, queue: usize) -> bool {
        let flags = &self.words.queues[queue].flags;
        let taken = ENABLED | PUT_BACK;
        flags.load(Ordering::Relaxed) & ENABLED != 0 && flags.fetch_and(!taken, Ordering::Relaxed) & ENABLED != 0
    }
}

/// The operations under the lock.
impl StoreGuard<'_> {
    /// Whether a queue takes another message of that band (bcanput). If not, the process that makes room enables the
    /// waiter.
    pub fn can_put(&mut self, queue: usize, band: u8) -> bool {
        let memory = self.may_allocate();
        if !memory {
            self.await_memory();
        }
        flow::can_put(self.band(queue, band), self.water_marks(queue), memory)
    }

    /// Stores a message behind `place` others of its queue, which the order must allow. False if there is no memory for
    /// it.
    pub fn put_at(&mut self, queue: usize, message: &Message<'_>, place: usize) -> Result<bool> {
        if !self.leaves_spare(message) {
            return Ok(false);
        }
        let before = place.checked_sub(1).map(|last| self.at(queue, last)).transpose()?.flatten();
        self.begin();
        let is_put = self.insert_behind(queue, message, |_| Ok(before.map(|stored| stored.block)))?;
        Ok(self.count_put(is_put, queue, message))
    }

    /// Stores a message behind those of its rank (putq). False if there is no memory for it.
    pub fn put(&mut self, queue: usize, message: &Message<'_>) -> Result<bool> {
        if !self.leaves_spare(message) {
            return Ok(false);
        }
        let rank = Rank::of(message.header);
        let is_put = self.insert(queue, message, |other| rank.stands_behind(other))?;
        Ok(self.count_put(is_put, queue, message))
    }

    /// Stores a message before those of its rank (putbq). False if there is no memory for it, which cannot happen for
    /// one message that was taken before: [`Store::put`] leaves as much as the largest takes.
    pub fn put_back(&mut self, queue: usize, message: &Message<'_>) -> Result<bool> {
        let rank = Rank::of(message.header);
        self.insert(queue, message, |other| rank.goes_back_behind(other))
    }

    /// The message at the front.
    pub fn first(&self, queue: usize) -> Result<Option<Stored>> {
        match self.index(self.words.queues[queue].first.load(Ordering::Acquire))? {
            Some(block) => self.read(block).map(Some),
            None => Ok(None),
        }
    }

    /// The first message that `fits` accepts, and its place.
    pub fn find(&self, queue: usize, mut fits: impl FnMut(&Stored) -> bool) -> Result<Option<Stored>> {
        let mut next = self.words.queues[queue].first.load(Ordering::Acquire);
        for _ in 0..=BLOCKS {
            let Some(block) = self.index(next)? else { return Ok(None) };
            let stored = self.read(block)?;
            if fits(&stored) {
                return Ok(Some(stored));
            }
            next = self.words.blocks[block].next.load(Ordering::Relaxed);
        }
        Err(corrupt!("a queue has no end"))
    }

    /// The number of messages in a queue that `fits` accepts.
    pub fn count(&self, queue: usize, fits: impl Fn(MessageHeader) -> bool) -> Result<usize> {
        let mut count = 0;
        self.find(queue, |stored| {
            count += usize::from(fits(stored.header));
            false
        })?;
        Ok(count)
    }

    /// Copies what is left of the control part, as far as it fits.
    pub fn copy_control(&self, stored: &Stored, buffer: &mut [u8]) -> Result<usize> {
        self.copy_part(stored.block, 0, stored.control, buffer)
    }

    /// Copies what is left of the data part, as far as it fits.
    pub fn copy_data(&self, stored: &Stored, buffer: &mut [u8]) -> Result<usize> {
        let skip = stored.control.map_or(0, |part| part.len as usize);
        self.copy_part(stored.block, skip, stored.data, buffer)
    }

    /// Takes the given numbers of further bytes of the parts of the message at the front, a part with its last byte,
    /// and nothing of a part that is None; it is removed when no part of it is left, or if `all` is set. Returns
    /// whether that makes room for a waiter.
    pub fn take(
        &mut self,
        queue: usize,
        stored: &Stored,
        control: Option<usize>,
        data: Option<usize>,
        all: bool,
    ) -> Result<bool> {
        let control_rest = stored.control.map(|part| part.less(control));
        let data_rest = stored.data.map(|part| part.less(data));
        let left = |control: Option<Part>, data: Option<Part>| -> usize {
            [control, data].into_iter().flatten().map(Part::left).sum()
        };
        let gone = all || there(control_rest).is_none() && there(data_rest).is_none();
        let before = left(stored.control, stored.data);
        let bytes = if gone { before } else { before - left(control_rest, data_rest) };
        self.begin();
        let block = &self.words.blocks[stored.block];
        if gone {
            self.unlink(queue, stored.block)?;
            self.free(stored.block)?;
        } else {
            block.control_taken.store(control_rest.map_or(0, Part::taken_word), Ordering::Relaxed);
            probe::at();
            block.data_taken.store(data_rest.map_or(0, Part::taken_word), Ordering::Relaxed);
        }
        probe::at();
        let room = self.count_down(queue, stored.header, bytes);
        self.done();
        Ok(room)
    }

    /// A message that was found, as a whole.
    pub fn copy(&self, stored: &Stored) -> Result<Message<'static>> {
        let bytes = |part: Option<Part>| there(part).map(|left| vec![0; left]);
        let (mut control, mut data) = (bytes(stored.control), bytes(stored.data));
        if let Some(control) = &mut control {
            self.copy_control(stored, control)?;
        }
        if let Some(data) = &mut data {
            self.copy_data(stored, data)?;
        }
        Ok(Message::from_parts(stored.header, control, data))
    }

    /// Discards messages (flushq, flushband). Returns whether that makes room for a waiter.
    pub fn flush(&mut self, queue: usize, which: Which) -> Result<bool> {
        let fits = |header: MessageHeader| match which {
            Which::All => true,
            Which::Band(band) => !header.kind.is_high_priority() && header.band == band,
        };
        let mut room = false;
        for _ in 0..=BLOCKS {
            let Some(stored) = self.find(queue, |stored| fits(stored.header))? else { return Ok(room) };
            room |= self.take(queue, &stored, None, None, true)?;
        }
        Err(corrupt!("a queue has no end"))
    }

    fn insert(&mut self, queue: usize, message: &Message<'_>, behind: impl Fn(Rank) -> bool) -> Result<bool> {
        self.begin();
        self.insert_behind(queue, message, |store| {
            let words = &store.words.queues[queue];
            let (first, last) = (words.first.load(Ordering::Relaxed), words.last.load(Ordering::Relaxed));
            // Most messages belong at the end.
            match store.index(last)? {
                None => Ok(None),
                Some(last) if behind(Rank::of(store.read(last)?.header)) => Ok(Some(last)),
                Some(_) => store.last_behind(first, behind),
            }
        })
    }

    /// Stores a message behind the block that `before` finds, or first. The change has begun.
    #[inline]
    fn insert_behind(
        &mut self,
        queue: usize,
        message: &Message<'_>,
        before: impl FnOnce(&StoreGuard<'_>) -> Result<Option<usize>>,
    ) -> Result<bool> {
        let Some(block) = self.allocate(message)? else {
            self.done();
            return Ok(false);
        };
        let before = before(self)?;
        let words = &self.words.queues[queue];
        let link = before.map_or(&words.first, |before| &self.words.blocks[before].next);
        let next = link.load(Ordering::Relaxed);
        self.words.blocks[block].next.store(next, Ordering::Relaxed);
        probe::at();
        self.words.blocks[block].origin.store(self.origin(), Ordering::Relaxed);
        // This store makes it a message of the queue. Release: after a death, `repair` reads what it leads to.
        link.store(block as u32 + 1, Ordering::Release);
        probe::at();
        self.note_arrival();
        if next == 0 {
            words.last.store(block as u32 + 1, Ordering::Relaxed);
        }
        probe::at();
        self.count_up(words, message.header, message.len());
        probe::at();
        words.messages.store(words.messages.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.done();
        Ok(true)
    }

    /// The last block from `first` on behind which the message stands.
    fn last_behind(&self, first: u32, behind: impl Fn(Rank) -> bool) -> Result<Option<usize>> {
        let (mut before, mut next) = (None, first);
        for _ in 0..=BLOCKS {
            match self.index(next)? {
                Some(block) if behind(Rank::of(self.read(block)?.header)) => {
                    before = Some(block);
                    next = self.words.blocks[block].next.load(Ordering::Relaxed);
                }
                _ => return Ok(before),
            }
        }
        Err(corrupt!("a queue has no end"))
    }

    /// Takes a block out of its queue.
    fn unlink(&mut self, queue: usize, block: usize) -> Result<()> {
        let words = &self.words.queues[queue];
        let wanted = block as u32 + 1;
        let mut before = None;
        let mut at = words.first.load(Ordering::Relaxed);
        for _ in 0..=BLOCKS {
            if at == wanted {
                break;
            }
            before = self.index(at)?;
            let Some(before) = before else { return Err(corrupt!("a message left its queue")) };
            at = self.words.blocks[before].next.load(Ordering::Relaxed);
        }
        let next = self.words.blocks[block].next.load(Ordering::Relaxed);
        self.index(next)?;
        if next == wanted {
            return Err(corrupt!("a queue has no end"));
        }
        let link = before.map_or(&words.first, |before| &self.words.blocks[before].next);
        link.store(next, Ordering::Release);
        probe::at();
        if next == 0 {
            words.last.store(before.map_or(0, |before| before as u32 + 1), Ordering::Relaxed);
        }
        probe::at();
        words.messages.store(words.messages.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
        Ok(())
    }

    /// Counts bytes that were put into a band. Messages of high priority, which do not wait, are not counted.
    fn count_up(&self, words: &QueueWords, header: MessageHeader, bytes: usize) {
        if !header.kind.is_high_priority() {
            flow::count_up(&words.bands[usize::from(header.band)], bytes);
            let band = u32::from(header.band) << BAND_SHIFT;
            // Other bits of the word may change at the same time.
            let higher = |flags: u32| (flags & BAND_MASK < band).then_some(flags & !BAND_MASK | band);
            let _ = words.flags.fetch_update(Ordering::Relaxed, Ordering::Relaxed, higher);
        }
    }

    /// Counts a message that was put for the first time: for the inspection, and for waiters.
    fn count_put(&self, is_put: bool, queue: usize, message: &Message<'_>) -> bool {
        if is_put {
            let words = &self.words.queues[queue];
            let add = |word: &AtomicU64, count: u64| {
                // Release pairs with the Acquire in `Store::arrivals`: the message is there.
                word.store(word.load(Ordering::Relaxed).wrapping_add(count), Ordering::Release)
            };
            add(&words.messages_put, 1);
            add(&words.bytes_put, message.len() as u64);
        }
        is_put
    }

    /// Whether a message can be put into some band above 0 that was ever used.
    pub fn can_put_in_some_band(&mut self, queue: usize) -> bool {
        let highest = highest_band(self.words.queues[queue].flags.load(Ordering::Relaxed));
        (1..=highest).any(|band| self.can_put(queue, band))
    }

    /// Counts bytes that have left a band; returns whether that makes room for a waiter.
    fn count_down(&self, queue: usize, header: MessageHeader, bytes: usize) -> bool {
        let counts = !header.kind.is_high_priority();
        counts && flow::count_down(self.band(queue, header.band), self.water_marks(queue), bytes)
    }

    /// Reads a block's head, each word once.
    fn read(&self, block: usize) -> Result<Stored> {
        let Block { control, data, control_taken, data_taken, header, .. } = &self.words.blocks[block];
        let part =
            |len: &AtomicU32, taken: &AtomicU32| Part::of(len.load(Ordering::Relaxed), taken.load(Ordering::Relaxed));
        let header = MessageHeader::from_word(header.load(Ordering::Relaxed))?;
        let (control, data) = (part(control, control_taken)?, part(data, data_taken)?);
        // A copy allocates a buffer of that length.
        let len: u64 = [control, data].into_iter().flatten().map(|part| u64::from(part.len)).sum();
        if len > self.message_max {
            return Err(corrupt!("a stored message is longer than the stream allows"));
        }
        Ok(Stored { block, header, control, data })
    }

    /// A link from shared memory, checked: the block that it leads to.
    fn index(&self, link: u32) -> Result<Option<usize>> {
        match link as usize {
            0 => Ok(None),
            link if link <= BLOCKS => Ok(Some(link - 1)),
            _ => Err(corrupt!("a link between messages")),
        }
    }

    fn begin(&self) {
        self.words.dirty.store(1, Ordering::Relaxed);
        // Before the following stores: a process that finds a partial change also finds the mark.
        fence(Ordering::Release);
        probe::at();
    }

    fn done(&self) {
        probe::at();
        self.words.dirty.store(0, Ordering::Release);
        probe::at();
    }
}

#[cfg(test)]
mod tests;

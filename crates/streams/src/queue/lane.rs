//! A lane: the fast path of a direction's band 0, from the last put procedure to the reading head.
//!
//! It is the head's queue for band 0, stored as a ring of bytes. Plain data needs nothing beside its bytes: a write that
//! follows another is thereby appended to it (write coalescing). A message with boundaries has a *mark* in a second ring:
//! its beginning, the lengths of its parts, and its header. One side writes and one reads, each under its lock, and
//! each publishes by one store; what is not published does not exist, so a process may die between any two stores.
//!
//! Everything that does not arrive in the order in which it was sent (bands, high priority) is in the direction's store.

use headwater_shm::probe;
use headwater_shm::sync::Ordering;

use crate::error::{Result, corrupt};
use crate::layout::{ABSENT, LaneWords, RecordHeader};
use crate::message::kind::MessageHeader;

pub(crate) mod reader;
pub(crate) mod writer;

/// The right to a side that stays held without its guard, from which the guard is made again. If it is lost, the side
/// stays held.
#[cfg(not(loom))]
#[derive(Debug)]
#[must_use]
pub(crate) struct Kept(());

/// A guard of a side.
#[cfg(not(loom))]
pub(crate) trait Guard {
    /// Releases what is held beside the lane's lock.
    fn keep_lane_alone(&mut self);
}

#[cfg(not(loom))]
impl Kept {
    /// Leaves a side held.
    pub fn of(mut guard: impl Guard) -> Kept {
        guard.keep_lane_alone();
        std::mem::forget(guard);
        Kept(())
    }
}

impl LaneWords {
    /// Bytes in the queue of a lane whose writer is at `tail`, for flow control: fewer than lie in its window where the data part of the
    /// message at the front was taken before its control part. Read without the lock.
    fn queued(&self, tail: u64) -> u64 {
        // Acquire: `early` is not older than the position, and so never too large.
        let head = self.head.0.bytes.load(Ordering::Acquire);
        tail.wrapping_sub(head).saturating_sub(self.head.0.early.load(Ordering::Relaxed))
    }
}

/// A part of a message with boundaries: its length and how much has been taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub len: u32,
    pub taken: u32,
    /// It has been taken as a whole. A part of no bytes has nothing left, and may still be there.
    pub gone: bool,
}

impl Part {
    /// From its words in shared memory; None for a part that the message never had.
    pub fn of(len: u32, taken: u32) -> Result<Option<Part>> {
        match (len, taken) {
            (ABSENT, _) => Ok(None),
            (len, ABSENT) => Ok(Some(Part { len, taken: len, gone: true })),
            (len, taken) if taken <= len => Ok(Some(Part { len, taken, gone: len > 0 && taken == len })),
            _ => Err(corrupt!("more of a message is taken than there is")),
        }
    }

    /// Its second word in shared memory.
    pub fn taken_word(self) -> u32 {
        if self.gone { ABSENT } else { self.taken }
    }

    /// Bytes left.
    pub fn left(self) -> usize {
        (self.len - self.taken) as usize
    }

    /// The rest after `count` more bytes were taken, and the part with the last of them. None: the part was not
    /// touched.
    pub fn less(self, count: Option<usize>) -> Part {
        let Some(count) = count else { return self };
        let count = count.min(self.left());
        Part { taken: self.taken + count as u32, gone: count == self.left(), ..self }
    }
}

/// Bytes left of a part, if the part is still there.
pub(crate) fn there(part: Option<Part>) -> Option<usize> {
    part.filter(|part| !part.gone).map(Part::left)
}

/// A message with boundaries in a lane, read from its mark and checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// Number of its first byte.
    pub at: u64,
    pub header: MessageHeader,
    pub control: Option<Part>,
    pub data: Option<Part>,
}

impl Record {
    /// Writes the mark of a fresh message.
    fn write(slot: &RecordHeader, at: u64, header: MessageHeader, control: Option<u32>, data: Option<u32>) {
        // Relaxed: published with the bytes.
        slot.at.store(at, Ordering::Relaxed);
        let lengths = u64::from(control.unwrap_or(ABSENT)) | u64::from(data.unwrap_or(ABSENT)) << 32;
        probe::at();
        slot.lengths.store(lengths, Ordering::Relaxed);
        slot.header.store(header.word(), Ordering::Relaxed);
        slot.taken.store(0, Ordering::Relaxed);
    }

    /// Reads a mark, each word once.
    fn read(slot: &RecordHeader) -> Result<Record> {
        let lengths = slot.lengths.load(Ordering::Relaxed);
        let taken = slot.taken.load(Ordering::Relaxed);
        Ok(Record {
            at: slot.at.load(Ordering::Relaxed),
            header: MessageHeader::from_word(slot.header.load(Ordering::Relaxed))?,
            control: Part::of(lengths as u32, taken as u32)?,
            data: Part::of((lengths >> 32) as u32, (taken >> 32) as u32)?,
        })
    }

    fn control_len(&self) -> u64 {
        self.control.map_or(0, |part| u64::from(part.len))
    }

    fn data_len(&self) -> u64 {
        self.data.map_or(0, |part| u64::from(part.len))
    }

    /// Number of the first byte of its data part.
    fn data_at(&self) -> u64 {
        self.at.wrapping_add(self.control_len())
    }

    /// Number of the byte behind it. A message without bytes occupies one, so that it has a place in the order.
    pub fn end(&self) -> u64 {
        self.at.wrapping_add((self.control_len() + self.data_len()).max(1))
    }

    /// Bytes taken of this message that lie behind that position.
    fn early(&self) -> u64 {
        let parts = [self.control, self.data].into_iter().flatten();
        let taken: u64 = parts.map(|part| u64::from(part.taken)).sum();
        taken.saturating_sub(self.given_back().wrapping_sub(self.at))
    }

    /// The position up to which the lane is free for the writer again, given the bytes taken of this message.
    fn given_back(&self) -> u64 {
        match (self.control, self.data) {
            (Some(control), _) if control.left() > 0 => self.at.wrapping_add(u64::from(control.taken)),
            (_, Some(data)) if data.left() > 0 => self.data_at().wrapping_add(u64::from(data.taken)),
            // A part without bytes is left, and keeps the last byte for its place.
            _ => self.end().wrapping_sub(1),
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

//! The table of a region's members: a first part inside the region, and further chunks that are made when they are needed.
//!
//! [`Membership`](crate::Membership) takes its slot here, and finds the slots of other members. Most regions have two members and
//! need only the first part. Each chunk doubles the table. A process maps a chunk when it first needs a slot in it.

#[cfg(not(loom))]
use std::io::ErrorKind;
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
use headwater_os::memory::SharedMemory;
#[cfg(not(loom))]
use headwater_os::set_once::OnceBox;

use crate::cache_padded::CachePadded;
use crate::error::{Error, LOCK_HOLDER, TABLE};
use crate::member::Member;
use crate::probe;
#[cfg(not(loom))]
use crate::sync::AtomicU32;
use crate::sync::{Ordering, Placed, ProcessId};

/// The number of slots in the first part of the table: 8 KiB, of which only used cache lines are ever accessed.
pub const MEMBERS: usize = 64;
/// The largest number of further chunks. Each is as long as all parts before it.
const CHUNKS: usize = 13;
/// The largest number of members of a region: half a million, more than the threads of a kernel in practice. A member is a handle
/// that a process uses, so this limits the number of processes and threads that use a stream at the same time.
pub const MEMBERS_MAX: usize = MEMBERS << CHUNKS;
/// The number of slots of a full table that a new member checks for dead members. Each check costs some system calls.
const SEARCHED: usize = 64;
/// The table grows if fewer than this many of the checked slots are free or become free.
const FREED_MIN: usize = 8;
/// The largest number of slots that one call checks if the table cannot grow, or if it counts users. Each check costs some system
/// calls, and a process that corrupts the table must not delay others.
const ASKED_MAX: usize = 4096;
/// The largest number of searches for a slot in one call. Each search doubles the table or finds free slots, so more are needed only
/// if a process corrupts the table.
const SEARCHES_MAX: usize = 64;

/// The table of a region's members. Clones share the mapped chunks.
#[derive(Debug, Clone)]
pub struct Members {
    first: Placed<[CachePadded<Member>]>,
    #[cfg(not(loom))]
    more: Option<Arc<More>>,
}

/// The chunks of a table.
#[cfg(not(loom))]
#[derive(Debug)]
struct More {
    /// The number of chunks in use. A process that finds all slots taken increments it. It never decreases.
    used: Placed<AtomicU32>,
    memory: Arc<SharedMemory>,
    /// The offset of the first chunk in the memory.
    at: usize,
    mapped: [OnceBox<Placed<[CachePadded<Member>]>>; CHUNKS],
}

impl Members {
    /// Makes a table that does not grow.
    pub fn fixed(first: Placed<[CachePadded<Member>]>) -> Members {
        Members {
            first,
            #[cfg(not(loom))]
            more: None,
        }
    }

    /// Makes a table that grows. Its chunks are in `memory`, beginning at byte `at`, which is a multiple of the page size. `used`
    /// is the number of chunks.
    ///
    /// # Panics
    /// If `first` does not have [`MEMBERS`] slots.
    #[cfg(not(loom))]
    pub fn growing(
        first: Placed<[CachePadded<Member>]>,
        used: Placed<AtomicU32>,
        memory: &Arc<SharedMemory>,
        at: usize,
    ) -> Members {
        assert_eq!(first.len(), MEMBERS);
        let more = More { used, memory: memory.clone(), at, mapped: Default::default() };
        Members { first, more: Some(Arc::new(more)) }
    }

    /// Returns whether another process has a member at this side that is not known to have ended. Also returns true if there are
    /// more dead members than one call checks.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the table contradicts itself; [`Error::System`] if a part of it cannot be mapped.
    pub fn is_used_by_another(&self, side: usize) -> Result<bool, Error> {
        let (own, mut asked) = (ProcessId::own(), 0);
        for slot in 0..self.len() {
            let Some((process, at)) = self.slot(slot)?.occupant() else { continue };
            let is_other = (process.place(), process.birth()) != (own.place(), own.birth());
            if process.place() != 0 && at == side as u32 + 1 && is_other {
                asked += 1;
                if asked > ASKED_MAX || !process.has_ended() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns a slot.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the table has no such slot; [`Error::System`] if the memory cannot be mapped.
    pub(crate) fn slot(&self, slot: usize) -> Result<&Member, Error> {
        match self.first.get(slot) {
            Some(member) => Ok(&member.0),
            None => self.beyond(slot),
        }
    }

    /// Returns a slot together with its mapping.
    pub(crate) fn hold(&self, slot: usize) -> Result<Placed<Member>, Error> {
        if slot < self.first.len() {
            return Ok(self.first.part(|first| &first[slot].0));
        }
        self.hold_beyond(slot)
    }

    /// Takes a slot for a process: a free one, that of a process that has ended, or one of a new chunk.
    pub(crate) fn take(&self, process: ProcessId) -> Result<usize, Error> {
        for _ in 0..SEARCHES_MAX {
            let len = self.len();
            if let Some(slot) = self.take_free(len, process)? {
                return Ok(slot);
            }
            // Processes that find the table full at the same time begin at different slots.
            let start = process.place() as usize % len;
            if self.free_dead((start..len).chain(0..start).take(SEARCHED))? >= FREED_MIN {
                continue;
            }
            if let Err(error) = self.grow(len)
                && self.free_dead((start..len).chain(0..start).take(ASKED_MAX))? == 0
            {
                return Err(error);
            }
        }
        Err(Error::Corrupt(TABLE))
    }

    fn take_free(&self, len: usize, process: ProcessId) -> Result<Option<usize>, Error> {
        for at in 0..len {
            let place = &self.slot(at)?.place;
            // Acquire pairs with the Release in the drop of the slot's last member; Release pairs with the Acquire in `occupant`.
            if place.load(Ordering::Relaxed) == 0
                && place.compare_exchange(0, process.place(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Frees the slots of processes that have ended. Returns how many of the checked slots are free.
    fn free_dead(&self, slots: impl Iterator<Item = usize>) -> Result<usize, Error> {
        let mut freed = 0;
        for at in slots {
            let member = self.slot(at)?;
            let Some((found, _)) = member.occupant() else { continue };
            if found.place() == 0 {
                freed += 1;
            } else if found.has_ended() {
                // Either exchange fails if another new member was faster. It cannot succeed for a later member, because the birth
                // word of a later member has another value: 0 until that member stores its own.
                let is_free =
                    member.birth.compare_exchange(found.birth(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
                probe::at();
                freed += usize::from(
                    is_free
                        && member.place.compare_exchange(found.place(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok(),
                );
            }
        }
        Ok(freed)
    }
}

#[cfg(not(loom))]
impl Members {
    /// Returns the present number of slots.
    pub(crate) fn len(&self) -> usize {
        // Another process may have written any number there.
        let used = |more: &More| (more.used.load(Ordering::Acquire) as usize).min(CHUNKS);
        self.first.len() << self.more.as_deref().map_or(0, used)
    }

    #[cold]
    fn beyond(&self, slot: usize) -> Result<&Member, Error> {
        let (chunk, at) = self.place_of(slot)?;
        Ok(&self.chunk(chunk)?[at].0)
    }

    #[cold]
    fn hold_beyond(&self, slot: usize) -> Result<Placed<Member>, Error> {
        let (chunk, at) = self.place_of(slot)?;
        Ok(self.chunk(chunk)?.part(|chunk| &chunk[at].0))
    }

    /// Returns the chunk of a slot that is not in the first part, and the index of the slot in the chunk.
    fn place_of(&self, slot: usize) -> Result<(usize, usize), Error> {
        if slot < MEMBERS || slot >= self.len() {
            return Err(Error::Corrupt(LOCK_HOLDER));
        }
        let chunk = (slot / MEMBERS).ilog2() as usize;
        Ok((chunk, slot - (MEMBERS << chunk)))
    }

    fn chunk(&self, chunk: usize) -> Result<&Placed<[CachePadded<Member>]>, Error> {
        let more = self.more.as_deref().ok_or(Error::Corrupt(LOCK_HOLDER))?;
        if let Some(mapped) = more.mapped[chunk].get() {
            return Ok(mapped);
        }
        // The chunk has as many slots as all parts before it. The first part is not in this memory range.
        let slot = size_of::<CachePadded<Member>>();
        let (len, at) = (MEMBERS << chunk, more.at + ((MEMBERS << chunk) - MEMBERS) * slot);
        let part = more.memory.part(at, len * slot).map_err(|error| match error.kind() {
            // The memory is too short for the number of chunks.
            ErrorKind::InvalidInput => Error::Corrupt(TABLE),
            _ => error.into(),
        })?;
        let part = Arc::new(part);
        Ok(more.mapped[chunk].set(Placed::slice_at(&part, 0, len).expect("it was mapped for them")))
    }

    /// Adds a chunk to a table of `len` slots, unless another process has just done so.
    fn grow(&self, len: usize) -> Result<(), Error> {
        let more = self.more.as_deref().filter(|_| len < MEMBERS_MAX).ok_or(Error::Full(len))?;
        let used = (len / MEMBERS).ilog2();
        let slot = size_of::<CachePadded<Member>>();
        more.memory.reach(more.at + (2 * len - MEMBERS) * slot)?;
        probe::at();
        // Release pairs with the Acquire in `len`: the memory is long enough. The exchange fails if another process has done the
        // same.
        let _ = more.used.compare_exchange(used, used + 1, Ordering::Release, Ordering::Relaxed);
        Ok(())
    }
}

/// The table for loom, which does not grow.
#[cfg(loom)]
impl Members {
    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    fn beyond(&self, _slot: usize) -> Result<&Member, Error> {
        Err(Error::Corrupt(LOCK_HOLDER))
    }

    fn hold_beyond(&self, _slot: usize) -> Result<Placed<Member>, Error> {
        Err(Error::Corrupt(LOCK_HOLDER))
    }

    fn grow(&self, len: usize) -> Result<(), Error> {
        Err(Error::Full(len))
    }

    /// Makes a table for loom, whose atomics cannot be made of zeros.
    pub(crate) fn model(slots: usize) -> Members {
        Members::fixed(Placed::from_vec((0..slots).map(|_| CachePadded(Member::model())).collect()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

//! The users of a region: its members, each with its process and the locks that it is busy with. Their table is in `members.rs`.
//!
//! A member is one handle of one process. Its number is written into the [`lock`](crate::biased_lock)s that it holds,
//! so that other members can tell a live holder from a dead one. A forked child is another member, and so is the
//! program that a member's process executes. Code that uses the table trusts it no further than one read: a number is
//! checked before it selects a slot, and a slot only names the process to ask the kernel about.
//!
//! A member counts as dead only on proof: its slot is free; the kernel reports that its process, in this PID namespace,
//! has ended or executed another program; or the kernel has reported that no process is left at its side of the stream.
//! A member of another PID namespace counts as alive until then.

use std::sync::Arc;

use crate::biased_lock::{self, BiasedLockWords};
use crate::error::{Error, LOCK_HOLDER};
use crate::limit::Limit;
use crate::members::Members;
use crate::probe;
use crate::shareable;
use crate::sync::{AtomicU32, AtomicU64, Fence, LocalBool, LocalU64, Ordering, Placed, ProcessId, epoch};

shareable! {
    /// One member's slot. Only its member writes it, except for a newcomer that takes it from a dead member: it sets
    /// `birth` to 0 and then `place`. The other fields are valid only while `birth` is not 0.
    pub struct Member {
        /// The `os::watch::ProcessId` of its process: the place; 0: the slot is free.
        pub(crate) place: AtomicU64,
        /// The birth; 0: the member has not stored it yet.
        pub(crate) birth: AtomicU64,
        /// The image.
        pub(crate) image: AtomicU64,
        /// The bits of the locks that it uses by its bias at this moment. Only the member writes it.
        pub(crate) busy: AtomicU32,
        /// The member's side of the stream, plus one; 0: not set.
        pub(crate) side: AtomicU32,
        /// Counts the members that have had the slot: a lock word that names one of them is not taken for the next.
        pub(crate) tag: AtomicU32,
    }
}

impl Member {
    /// The process that has the slot, and its side plus one; None while the slot is free or changes hands.
    pub(crate) fn occupant(&self) -> Option<(ProcessId, u32)> {
        // Acquire pairs with the Release stores of the member: the next reads see values at least as new.
        let place = self.place.load(Ordering::Acquire);
        let birth = self.birth.load(Ordering::Acquire);
        let (image, side) = match birth {
            0 => (0, 0),
            _ => (self.image.load(Ordering::Relaxed), self.side.load(Ordering::Acquire)),
        };
        (self.place.load(Ordering::Relaxed) == place).then_some((ProcessId::from_words(place, birth, image), side))
    }
}

/// A handle's place in the table, given back when it is dropped by the process that took it.
#[derive(Debug)]
pub struct Membership {
    /// Our own slot.
    own: Placed<Member>,
    table: Members,
    /// Slot number plus one, so that 0 names no member.
    number: u32,
    /// The value that names this member in the locks that it holds: the number, and the slot's tag.
    mark: u64,
    /// The `os::fork` epoch of the process: a forked child has a copy of us.
    epoch: u64,
    pub(crate) fence: Fence,
    /// A [`Limit`], for this call of the handle's thread.
    limit: LocalU64,
    /// One bit for each side at which, as the kernel has reported, no process is left.
    gone: LocalU64,
    /// Set when calls that wait are to end.
    cancel: Option<Arc<LocalBool>>,
}

impl Membership {
    /// Takes a free slot, or that of a process that has ended, and makes this process reachable for the other members'
    /// barriers. `locks` are all locks that the members of this table use: their words are cleared of the slot's
    /// previous member.
    ///
    /// # Errors
    /// [`Error::Full`] when all slots are taken by the living and the table has its full length; [`Error::System`] if the kernel
    /// refuses memory for more slots, or as [`Fence::join`] says.
    pub fn join(table: &Members, fence: Fence, locks: &[&BiasedLockWords]) -> Result<Membership, Error> {
        // First the fence, then the slot: a process that is seen as a member is also reached by barriers.
        fence.join()?;
        let process = ProcessId::own();
        let slot = table.take(process)?;
        probe::at();
        let number = slot as u32 + 1;
        let own = table.hold(slot)?;
        locks.iter().for_each(|lock| lock.strike_out(number));
        // Release: a waiter for our predecessor continues, and sees what the predecessor did before it died.
        own.busy.store(0, Ordering::Release);
        probe::at();
        own.side.store(0, Ordering::Relaxed);
        let tag = own.tag.load(Ordering::Relaxed).wrapping_add(1);
        own.tag.store(tag, Ordering::Relaxed);
        own.image.store(process.image(), Ordering::Relaxed);
        // Release pairs with the Acquire in `occupant`.
        own.birth.store(process.birth(), Ordering::Release);
        probe::at();
        let (limit, gone) = (LocalU64::new(Limit::Signal.word()), LocalU64::new(0));
        let mark = biased_lock::mark(number, tag);
        Ok(Membership { own, table: table.clone(), number, mark, epoch: epoch(), fence, limit, gone, cancel: None })
    }

    /// Stores the side of the stream (below 64) at which this member is, for [`Membership::note_gone`] of others.
    pub fn set_side(&self, side: usize) {
        // Release pairs with the Acquire in `occupant`.
        self.own.side.store(side as u32 + 1, Ordering::Release);
    }

    /// Sets the flag by which another thread of this process cancels calls that wait for locks, except those without a
    /// limit.
    pub fn set_cancel(&mut self, cancel: Arc<LocalBool>) {
        self.cancel = Some(cancel);
    }

    /// Whether calls that wait are to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Notes that the kernel reports no process at a side, and none can come again: its members are dead.
    pub fn note_gone(&self, side: usize) {
        self.gone.fetch_or(1 << side, Ordering::Relaxed);
    }

    /// How long calls wait from now on for locks that others hold; [`Limit::Signal`] at first.
    pub fn set_limit(&self, limit: Limit) {
        self.limit.store(limit.word(), Ordering::Relaxed);
    }

    /// How long calls wait for locks that others hold.
    pub fn limit(&self) -> Limit {
        Limit::from_word(self.limit.load(Ordering::Relaxed))
    }

    /// Whether this is the process that joined, and not a forked child with a copy of it.
    pub fn is_ours(&self) -> bool {
        self.epoch == epoch()
    }

    /// Slot number plus one.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The value that names this member in the locks that it holds.
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// This member's own slot.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Member {
        &self.own
    }

    /// The slot of another member, or an error for an invalid number.
    pub(crate) fn other(&self, number: u32) -> Result<&Member, Error> {
        self.table.slot((number as usize).checked_sub(1).ok_or(Error::Corrupt(LOCK_HOLDER))?)
    }

    /// Whether it is certain that the member has ended: its slot is free, or its process has ended.
    pub(crate) fn has_ended(&self, number: u32) -> Result<bool, Error> {
        let Some((process, side)) = self.other(number)?.occupant() else { return Ok(false) };
        let gone = self.gone.load(Ordering::Relaxed);
        let is_gone = (1..=64).contains(&side) && gone >> (side - 1) & 1 == 1;
        if process.place() == 0 || is_gone {
            return Ok(true);
        }
        // A newcomer may have taken the slot while we asked.
        Ok(process.has_ended() && self.other(number)?.occupant().is_some_and(|(now, _)| now == process))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A forked child that drops its copy leaves the parent's slot alone.
        if self.is_ours() {
            // First `birth`, which validates the other fields: the next member of the slot has not stored anything yet.
            self.own().birth.store(0, Ordering::Relaxed);
            probe::at();
            // Release pairs with the Acquire in `Members::take`: what we did as member comes before what the next one does.
            self.own().place.store(0, Ordering::Release);
        }
    }
}

/// A free slot for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
impl Member {
    pub(crate) fn model() -> Member {
        let word = || AtomicU64::new(0);
        let half = || AtomicU32::new(0);
        Member { place: word(), birth: word(), image: word(), busy: half(), side: half(), tag: half() }
    }
}

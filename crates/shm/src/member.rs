//! The members of a region: its users, each with its process and the locks that it is busy with. Their table is in `members.rs`.
//!
//! A member is one handle of one process. Its number is stored in the [`lock`](crate::biased_lock)s that it holds, so that other
//! members can tell a live holder from a dead one. A forked child is another member, and so is a program that the process of a
//! member executes. Code that uses the table does not trust it: it checks a number before it selects a slot, and a slot only
//! names the process to ask the kernel about.
//!
//! A member counts as dead only if that is certain. Either its slot is free; or the kernel reports that its process, in this PID
//! namespace, has ended or executed another program; or the kernel has reported that no process is left at its side of the
//! stream. A member of another PID namespace counts as alive until then.

use std::sync::Arc;

use crate::biased_lock::{self, BiasedLockWords};
use crate::error::{Error, LOCK_HOLDER};
use crate::limit::Limit;
use crate::members::Members;
use crate::probe;
use crate::shareable;
use crate::sync::{AtomicU32, AtomicU64, Fence, LocalBool, LocalU64, Ordering, Placed, ProcessId, epoch};

shareable! {
    /// The slot of a member. Only the member writes it, with one exception: a new member that takes the slot of a dead one sets
    /// `birth` to 0, and then `place`. The other fields are valid only while `birth` is not 0.
    pub struct Member {
        /// The place word of the process's `os::watch::ProcessId`; 0 if the slot is free.
        pub(crate) place: AtomicU64,
        /// The birth word of the `ProcessId`; 0 if the member has not stored it yet.
        pub(crate) birth: AtomicU64,
        /// The image word of the `ProcessId`.
        pub(crate) image: AtomicU64,
        /// The bits of the locks that the member is inside by its bias. Written only by the member.
        pub(crate) busy: AtomicU32,
        /// The member's side of the stream, plus one; 0 if it is not set.
        pub(crate) side: AtomicU32,
        /// The number of members that have had the slot. It distinguishes their lock words.
        pub(crate) tag: AtomicU32,
    }
}

impl Member {
    /// Returns the process that has the slot, and its side plus one. The process has the place 0 if the slot is free. Returns
    /// `None` if the slot changed during the call.
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

/// A slot in the table of members, taken by a handle. Dropping it frees the slot, except in a forked child.
#[derive(Debug)]
pub struct Membership {
    /// The slot.
    own: Placed<Member>,
    table: Members,
    /// The index of the slot, plus one, so that 0 names no member.
    number: u32,
    /// The value that names this member in the locks that it holds: the number and the tag.
    mark: u64,
    /// The `os::fork` epoch of the process, by which a forked child recognizes its copy.
    epoch: u64,
    pub(crate) fence: Fence,
    /// The [`Limit`] of the present call, as a word.
    limit: LocalU64,
    /// A bit for each side at which, as the kernel has reported, no process is left.
    gone: LocalU64,
    /// Set when waiting calls must end.
    cancel: Option<Arc<LocalBool>>,
}

impl Membership {
    /// Takes a free slot, or that of a process that has ended, and joins the fence. `locks` must be all locks that the members of
    /// this table use: the previous member of the slot is removed from their words.
    ///
    /// # Errors
    /// [`Error::Full`] if live members have all slots and the table cannot grow any more; [`Error::System`] if the kernel refuses
    /// memory for more slots; the errors of [`Fence::join`].
    pub fn join(table: &Members, fence: Fence, locks: &[&BiasedLockWords]) -> Result<Membership, Error> {
        // Join the fence before taking the slot: barriers must reach every process that others see as a member.
        fence.join()?;
        let process = ProcessId::own();
        let slot = table.take(process)?;
        probe::at();
        let number = slot as u32 + 1;
        let own = table.hold(slot)?;
        locks.iter().for_each(|lock| lock.strike_out(number));
        // Release: a member that waits for our predecessor continues, and sees what the predecessor did before it died.
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

    /// Stores the member's side of the stream (below 64), for [`Membership::note_gone`] of other members.
    pub fn set_side(&self, side: usize) {
        // Release pairs with the Acquire in `occupant`.
        self.own.side.store(side as u32 + 1, Ordering::Release);
    }

    /// Sets the flag by which another thread of this process cancels calls that wait for locks. Calls with [`Limit::Unlimited`]
    /// cannot be cancelled.
    pub fn set_cancel(&mut self, cancel: Arc<LocalBool>) {
        self.cancel = Some(cancel);
    }

    /// Returns whether waiting calls must end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Records that, as the kernel reports, no process is left at a side, and none can come again. The members of this side are
    /// dead.
    pub fn note_gone(&self, side: usize) {
        self.gone.fetch_or(1 << side, Ordering::Relaxed);
    }

    /// Sets the time limit of future calls that wait for locks. It is [`Limit::Signal`] at first.
    pub fn set_limit(&self, limit: Limit) {
        self.limit.store(limit.word(), Ordering::Relaxed);
    }

    /// Returns the time limit of calls that wait for locks.
    pub fn limit(&self) -> Limit {
        Limit::from_word(self.limit.load(Ordering::Relaxed))
    }

    /// Returns whether this is the process that has joined, and not a forked child with a copy of the membership.
    pub fn is_ours(&self) -> bool {
        self.epoch == epoch()
    }

    /// Returns the number of the member: the index of its slot, plus one.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the value that names this member in the locks that it holds.
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// Returns this member's slot.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Member {
        &self.own
    }

    /// Returns the slot of another member, or an error if the number is invalid.
    pub(crate) fn other(&self, number: u32) -> Result<&Member, Error> {
        self.table.slot((number as usize).checked_sub(1).ok_or(Error::Corrupt(LOCK_HOLDER))?)
    }

    /// Returns whether it is certain that a member has ended: its slot is free, its process has ended, or its side is gone.
    pub(crate) fn has_ended(&self, number: u32) -> Result<bool, Error> {
        let Some((process, side)) = self.other(number)?.occupant() else { return Ok(false) };
        let gone = self.gone.load(Ordering::Relaxed);
        let is_gone = (1..=64).contains(&side) && gone >> (side - 1) & 1 == 1;
        if process.place() == 0 || is_gone {
            return Ok(true);
        }
        // A new member may have taken the slot during the check.
        Ok(process.has_ended() && self.other(number)?.occupant().is_some_and(|(now, _)| now == process))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A forked child that drops its copy must not free the parent's slot.
        if self.is_ours() {
            // Clear `birth` first, because it says that the other fields are valid: the next member has not stored them yet.
            self.own().birth.store(0, Ordering::Relaxed);
            probe::at();
            // Release pairs with the Acquire in `Members::take_free`: our actions come before those of the next member.
            self.own().place.store(0, Ordering::Release);
        }
    }
}

/// Makes a free slot for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
impl Member {
    pub(crate) fn model() -> Member {
        let word = || AtomicU64::new(0);
        let half = || AtomicU32::new(0);
        Member { place: word(), birth: word(), image: word(), busy: half(), side: half(), tag: half() }
    }
}

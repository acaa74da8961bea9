//! Who uses a region: a table of members, each with its process and what it is busy with.
//!
//! A member is one handle of one process; its number stands in the [`token`](crate::token)s that it holds, so that others
//! can tell a holder that works from one that has died. A forked child is another member. It trusts the table no further
//! than one read: a number is checked before it leads to a slot, and a slot says no more than which process to ask after.

use std::io;

use crate::error::Error;
use crate::layout::Apart;
use crate::probe;
use crate::shareable;
use crate::sync::{AtomicU32, AtomicU64, Fence, Ordering, Placed, ProcessId, Watch};
use crate::token::TokenWords;

/// Members that a region has room for. A member is a handle that a process uses, so this bounds how many processes and
/// threads may use one stream at the same time; the table then takes 8 KiB, of which only used lines are ever touched.
pub const MEMBERS: usize = 64;

shareable! {
    /// One member's standing.
    pub struct Member {
        /// The `os::watch::ProcessId` of its process; 0: the slot is free. Written by the member when it joins and leaves,
        /// and by a newcomer that finds the process dead.
        pub(crate) process: AtomicU64,
        /// The bits of the tokens that it uses by its bias at this moment. Only the member writes it.
        pub(crate) busy: AtomicU32,
    }
}

impl Member {
    /// Whether somebody has the slot, be he alive or dead.
    pub fn is_taken(&self) -> bool {
        self.process.load(Ordering::Relaxed) != 0
    }
}

/// The table of a region.
pub type Members = Placed<[Apart<Member>]>;

/// A handle's place in the table, given back when it is dropped by the process that took it.
#[derive(Debug)]
pub struct Membership {
    /// Our own slot.
    own: Placed<Member>,
    table: Members,
    /// Slot number plus one, so that 0 is nobody.
    number: u32,
    process: ProcessId,
    pub(crate) fence: Fence,
}

impl Membership {
    /// Takes a free slot, or that of a process that has ended, and makes this process reachable for the others' barriers.
    /// `tokens` are all that the members of this table use: what they still say of the slot's last user is struck out.
    ///
    /// Errors: [`Error::Full`] when all slots are taken by the living; [`Error::System`] as [`Fence::join`] says.
    pub fn join(table: &Members, fence: Fence, tokens: &[&TokenWords]) -> Result<Membership, Error> {
        // First the fence, then the slot: whoever is seen as member is also reached by barriers.
        fence.join()?;
        let process = ProcessId::own();
        let slot = take_free(table, process).map_or_else(|| take_dead(table, process), Ok)?;
        probe::at();
        let number = slot as u32 + 1;
        tokens.iter().for_each(|token| token.strike_out(number));
        // Release: who waits until our predecessor is not busy goes on, and sees what it did before it died.
        table[slot].0.busy.store(0, Ordering::Release);
        probe::at();
        Ok(Membership { own: table.part(|table| &table[slot].0), table: table.clone(), number, process, fence })
    }

    /// Slot number plus one.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// This member's own slot.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Member {
        &self.own
    }

    /// The slot of another member, or an error for a number that is none.
    pub(crate) fn other(&self, number: u32) -> Result<&Member, Error> {
        let slot = (number as usize).checked_sub(1).and_then(|slot| self.table.get(slot));
        Ok(&slot.ok_or(Error::Corrupt("a token's holder is no member"))?.0)
    }

    /// Whether the member's process has ended, or the slot is free. Asks the kernel.
    pub(crate) fn has_ended(&self, number: u32) -> Result<bool, Error> {
        has_ended(self.other(number)?).map_err(Error::System)
    }

    /// Whether the member's process is stopped, by a signal or a debugger.
    pub(crate) fn is_stopped(&self, number: u32) -> Result<bool, Error> {
        Ok(ProcessId::from_word(self.other(number)?.process.load(Ordering::Relaxed)).is_stopped())
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A forked child that drops its copy leaves the parent's slot alone.
        if self.process.pid() == std::process::id() {
            // Release pairs with the Acquire in `take_free`: what we did as member comes before what the next one does.
            self.own().process.store(0, Ordering::Release);
        }
    }
}

fn take_free(table: &Members, process: ProcessId) -> Option<usize> {
    // Acquire pairs with the Release in `drop`.
    table.iter().position(|slot| {
        slot.0.process.compare_exchange(0, process.word(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    })
}

fn take_dead(table: &Members, process: ProcessId) -> Result<usize, Error> {
    for (slot, member) in table.iter().enumerate() {
        let found = member.0.process.load(Ordering::Acquire);
        let dead = has_ended(&member.0).map_err(Error::System)?;
        // The exchange fails if another newcomer was faster.
        if dead
            && member.0.process.compare_exchange(found, process.word(), Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            return Ok(slot);
        }
    }
    Err(Error::Full(MEMBERS))
}

fn has_ended(member: &Member) -> io::Result<bool> {
    match member.process.load(Ordering::Acquire) {
        0 => Ok(true),
        word => Watch::begin(ProcessId::from_word(word))?.has_ended(),
    }
}

/// A table for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
pub(crate) fn twin_table(slots: usize) -> Members {
    let slot = || Apart(Member { process: AtomicU64::new(0), busy: AtomicU32::new(0) });
    Placed::from_vec((0..slots).map(|_| slot()).collect())
}

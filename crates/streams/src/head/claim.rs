//! How every process knows that an end is linked below a multiplexer, and that an entry of the upper stream stands for a link: by a
//! lock on a byte of either stream's memory, which the processes hold that can use the link. The kernel gives it up with the last of
//! them.
//!
//! A bit in the end's state and the id in the entry say so too, and are looked at by every call; but the process that made the link may
//! have died since, so a call that depends on them asks the kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use headwater_os::descriptors::Found;
use headwater_os::files::OFlags;
use headwater_os::ofd_lock;

use super::handle::Handle;
use super::state::{LINKED, linked};
use crate::error::Result;
use crate::message::link::MuxId;
use crate::process::region::Region;

/// The byte of end 0, far behind the memory. That of end 1 follows.
const ENDS: u64 = 1 << 62;
/// The byte of the first entry of an upper stream. Those of the others follow.
const ENTRIES: u64 = ENDS + 2;

/// The lock, held as long as any copy of it is open and it was not given up.
#[derive(Debug)]
pub(crate) struct Claim {
    file: OwnedFd,
    byte: u64,
}

impl Claim {
    fn take(region: &Region, byte: u64) -> Result<Option<Claim>> {
        // Another open file description than the memory's own, which the users of the stream have too.
        let file = Found::own(region.as_fd()).open(OFlags::RDWR)?;
        Ok(ofd_lock::mark(&file, byte, 1)?.then_some(Claim { file, byte }))
    }

    /// Takes an end for a multiplexer: its users are told, and their calls fail from now on. None if another one has it.
    pub fn take_end(lower: &mut Handle) -> Result<Option<Claim>> {
        let claim = Claim::take(&lower.end.region, ENDS + lower.end.side as u64)?;
        if claim.is_some() {
            lower.end.words().state.fetch_or(LINKED, Ordering::AcqRel);
            lower.announce_state()?;
        }
        Ok(claim)
    }

    /// Takes an entry of an upper stream, before its id is set. None if a process has it.
    pub fn take_entry(upper: &Region, slot: usize) -> Result<Option<Claim>> {
        Claim::take(upper, ENTRIES + slot as u64)
    }

    /// That of an end, which another process has handed over.
    pub fn of_end(file: OwnedFd, side: usize) -> Claim {
        Claim { file, byte: ENDS + side as u64 }
    }

    /// That of an entry, which another process has handed over.
    pub fn of_entry(file: OwnedFd, slot: usize) -> Claim {
        Claim { file, byte: ENTRIES + slot as u64 }
    }

    /// Gives the lock up, for all processes that have copies of it.
    pub fn give_up(self) -> Result<()> {
        Ok(ofd_lock::unmark(&self.file, self.byte, 1)?)
    }
}

fn is_held(region: &Region, side: usize) -> Result<bool> {
    Ok(ofd_lock::is_locked(region.as_fd(), ENDS + side as u64, 1)?)
}

/// Whether a process can use the link of an entry. If not, the entry is freed: the last one that could has ended.
pub(crate) fn is_alive(upper: &Region, slot: usize, id: MuxId) -> Result<bool> {
    if ofd_lock::is_locked(upper.as_fd(), ENTRIES + slot as u64, 1)? {
        return Ok(true);
    }
    let entry = &upper.fixed.device.links[slot].id;
    let _ = entry.compare_exchange(id.number(), 0, Ordering::AcqRel, Ordering::Relaxed);
    Ok(false)
}

/// Lets the users of an end go on, if no multiplexer has it any more.
pub(crate) fn free(lower: &mut Handle) -> Result<()> {
    if is_held(&lower.end.region, lower.end.side)? {
        return Ok(());
    }
    if lower.end.words().state.fetch_and(!LINKED, Ordering::AcqRel) & LINKED == 0 {
        return Ok(());
    }
    // One that takes it at this moment sets the bit after it has the lock.
    if is_held(&lower.end.region, lower.end.side)? {
        lower.end.words().state.fetch_or(LINKED, Ordering::AcqRel);
    }
    lower.announce_state()
}

/// Frees the entries of links that no process can use any more.
pub(crate) fn free_dead_entries(upper: &Region) -> Result<()> {
    for (slot, words) in upper.fixed.device.links.iter().enumerate() {
        if let Some(id) = MuxId::new(words.id.load(Ordering::Acquire)) {
            is_alive(upper, slot, id)?;
        }
    }
    Ok(())
}

/// A user's call has found the bit.
///
/// Errors: `EINVAL` if a multiplexer has the end.
pub(crate) fn look(user: &mut Handle) -> Result<()> {
    free(user)?;
    if user.end.words().state.load(Ordering::Acquire) & LINKED == 0 { Ok(()) } else { Err(linked()) }
}

impl AsFd for Claim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

//! By what everybody knows that an end is linked below a multiplexer: a lock on a byte of the stream's memory, which the processes
//! hold that have the upper stream open. The kernel gives it up with the last of them.
//!
//! A bit in the end's state says so too, and is looked at by every call; but who made the link may have died since, so a call
//! that finds the bit asks the kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use headwater_os::descriptors::Found;
use headwater_os::files::OFlags;
use headwater_os::ofd_lock;

use crate::error::Result;
use crate::head::handle::Handle;
use crate::head::state::{LINKED, linked};
use crate::process::region::Region;

/// The byte of end 0, far behind the memory.
const FIRST: u64 = 1 << 62;

/// The lock, held as long as any copy of it is open and nobody has given it up.
#[derive(Debug)]
pub(crate) struct Claim {
    file: OwnedFd,
    side: usize,
}

impl Claim {
    /// Takes an end for a multiplexer: its users are told, and their calls fail from now on. None if another one has it.
    pub fn take(lower: &mut Handle) -> Result<Option<Claim>> {
        let side = lower.end.side;
        // Another open file description than the memory's own, which the users of the end have too.
        let file = Found::own(lower.end.region.as_fd()).open(OFlags::RDWR)?;
        if !ofd_lock::mark(&file, FIRST + side as u64, 1)? {
            return Ok(None);
        }
        lower.end.words().state.fetch_or(LINKED, Ordering::AcqRel);
        lower.announce_state()?;
        Ok(Some(Claim { file, side }))
    }

    /// The one of another process, which has handed it over.
    pub fn of_file(file: OwnedFd, side: usize) -> Claim {
        Claim { file, side }
    }

    /// Gives the lock up, whoever has copies of it.
    pub fn give_up(self) -> Result<()> {
        Ok(ofd_lock::unmark(&self.file, FIRST + self.side as u64, 1)?)
    }
}

fn is_held(region: &Region, side: usize) -> Result<bool> {
    Ok(ofd_lock::is_locked(region.as_fd(), FIRST + side as u64, 1)?)
}

/// Lets the users of an end go on, if no multiplexer has it any more.
pub(super) fn free(lower: &mut Handle) -> Result<()> {
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

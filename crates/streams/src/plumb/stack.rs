//! Changing the stack of modules of an end. Under both directions' writer locks.

use std::sync::atomic::Ordering;

use headwater_os::files;
use headwater_shm::probe;

use super::chain;
use crate::error::{Errno, Error, Result, fixed};
use crate::layout::{Fixed, Plumbing};
use crate::limits::NSTRPUSH;
use crate::process::slot_name::write_name;

/// The place of a module on the stack that is about to be pushed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free {
    pub slot: usize,
    /// How many modules are below it.
    height: usize,
}

/// Where the next module is put, on an end that takes `most`, at most [`NSTRPUSH`].
pub(crate) fn free(fixed: &Fixed, end: usize, most: usize) -> Result<Free> {
    let stack = chain::stack(&fixed.plumbing[end])?;
    let height = stack.len();
    if height >= most {
        return Err(Error::new(Errno::Inval, format!("an end of this stream takes {most} modules (nstrpush)")));
    }
    let slot = (0..NSTRPUSH).find(|slot| !stack.iter().any(|taken| taken == *slot));
    Ok(Free { slot: slot.expect("there are as many slots as modules"), height })
}

/// Puts a module of that name on top. The last store takes effect.
pub(crate) fn push(fixed: &Fixed, end: usize, free: Free, name: &str) {
    let Free { slot, height } = free;
    let plumbing = &fixed.plumbing[end];
    let words = &fixed.slots[end][slot];
    write_name(words, name);
    probe::at();
    for word in words.state.iter().chain(&words.due_ns) {
        word.store(0, Ordering::Relaxed);
    }
    plumbing.order[height].store(slot as u8, Ordering::Relaxed);
    probe::at();
    plumbing.count.store(height as u32 + 1, Ordering::Release);
}

/// Lets only privileged processes pop the modules that are pushed now (I_ANCHOR).
pub(crate) fn anchor(plumbing: &Plumbing) -> Result<()> {
    let count = chain::stack(plumbing)?.len() as u32;
    plumbing.anchor.store(count, Ordering::Relaxed);
    Ok(())
}

/// Whether this process may pop the module on top. Errors: `EPERM` for an anchored one, unless the process is root's.
pub(crate) fn check_anchor(plumbing: &Plumbing) -> Result<()> {
    let count = chain::stack(plumbing)?.len();
    let is_anchored = count > 0 && count <= plumbing.anchor.load(Ordering::Relaxed) as usize;
    if is_anchored && files::own_user() != 0 {
        return Err(fixed!(Perm, "the module is anchored: only a process of root pops it"));
    }
    Ok(())
}

/// As [`pop`], if [`check_anchor`] allows it.
pub(crate) fn pop_free(plumbing: &Plumbing) -> Result<usize> {
    check_anchor(plumbing)?;
    pop(plumbing)
}

/// Takes the module on top away; returns its slot. What is below an anchor stays below it.
pub(crate) fn pop(plumbing: &Plumbing) -> Result<usize> {
    let stack = chain::stack(plumbing)?;
    let slot = stack.iter().next_back().ok_or_else(|| fixed!(Inval, "no module is pushed"))?;
    let left = stack.len() as u32 - 1;
    plumbing.count.store(left, Ordering::Release);
    plumbing.anchor.fetch_min(left, Ordering::Relaxed);
    Ok(slot)
}

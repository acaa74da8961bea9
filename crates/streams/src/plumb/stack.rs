//! Changing the stack of modules of an end. Under both directions' writer locks.

use std::sync::atomic::Ordering;

use headwater_shm::probe;

use super::chain;
use crate::error::{Errno, Error, Result, fixed};
use crate::layout::{Fixed, Plumbing};
use crate::limits::NSTRPUSH;

/// Puts a module of that name on top; returns its slot. The last store takes effect.
pub(crate) fn push(fixed: &Fixed, end: usize, name: &str, most: usize) -> Result<usize> {
    let plumbing = &fixed.plumbing[end];
    let stack = chain::stack(plumbing)?;
    if stack.len() >= most {
        return Err(Error::new(Errno::Inval, format!("an end of this stream takes {most} modules (nstrpush)")));
    }
    let slot = (0..NSTRPUSH)
        .find(|slot| !stack.iter().any(|taken| taken == *slot))
        .expect("there are as many slots as modules");
    let words = &fixed.slots[end][slot];
    chain::write_name(words, name);
    probe::at();
    for word in words.state.iter().chain(&words.due_ns) {
        word.store(0, Ordering::Relaxed);
    }
    plumbing.order[stack.len()].store(slot as u8, Ordering::Relaxed);
    probe::at();
    plumbing.count.store(stack.len() as u32 + 1, Ordering::Release);
    Ok(slot)
}

/// Takes the module on top away; returns its slot.
pub(crate) fn pop(plumbing: &Plumbing) -> Result<usize> {
    let stack = chain::stack(plumbing)?;
    let slot = stack.iter().next_back().ok_or_else(|| fixed!(Inval, "no module is pushed"))?;
    plumbing.count.store(stack.len() as u32 - 1, Ordering::Release);
    Ok(slot)
}

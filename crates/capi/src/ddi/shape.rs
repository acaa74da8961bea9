//! The shape of messages: blocks are linked, cut and joined.

use std::ptr;

use super::block::{self, allocate, bytes, kind, len, rebase};
use super::types::Mblk;

/// Links a message behind another one (linkb).
///
/// # Safety
/// `mp` is a message and `behind` null or a message; the caller owns both.
pub unsafe fn link(mp: *mut Mblk, behind: *mut Mblk) {
    // SAFETY: the caller owns all blocks of the message `mp`.
    unsafe {
        let mut last = mp;
        while !(*last).cont.is_null() {
            last = (*last).cont;
        }
        (*last).cont = behind;
    }
}

/// Takes a block out of a message (rmvb). Returns the rest: null if nothing is left, and -1 if the block is not in the
/// message.
///
/// # Safety
/// `mp` is a message that the caller owns.
pub unsafe fn remove(mp: *mut Mblk, out: *mut Mblk) -> *mut Mblk {
    // SAFETY: the caller owns all blocks of the message `mp`, and `out` is used only if it is one of them.
    unsafe {
        let mut first = mp;
        let mut place = &raw mut first;
        while !(*place).is_null() {
            if *place == out {
                *place = (*out).cont;
                (*out).cont = ptr::null_mut();
                return first;
            }
            place = &raw mut (**place).cont;
        }
    }
    ptr::without_provenance_mut(usize::MAX)
}

/// Returns the blocks at the beginning of a message that have the type of its first block, and the count of their
/// bytes.
///
/// # Safety
/// `mp` is a message.
unsafe fn alike(mp: *mut Mblk) -> (Vec<*mut Mblk>, usize) {
    let (mut blocks, mut total, mut next) = (Vec::new(), 0, mp);
    // SAFETY: the caller promises that `mp` is a message, so `cont` leads from block to block to null.
    unsafe {
        while !next.is_null() && kind(next) == kind(mp) {
            total += len(next);
            blocks.push(next);
            next = (*next).cont;
        }
    }
    (blocks, total)
}

/// Removes bytes from the beginning of a message, or from its end if `by` is negative (adjmsg). Only blocks with the
/// type of the first block, or of the last one, are cut. Returns false, and changes nothing, if they have fewer bytes.
///
/// # Safety
/// `mp` is null or a message that the caller owns.
pub unsafe fn adjust(mp: *mut Mblk, by: isize) -> bool {
    if mp.is_null() {
        return false;
    }
    let mut cut = by.unsigned_abs();
    // SAFETY: the caller owns all blocks of the message `mp`, and each pointer moves by at most the block's length.
    unsafe {
        let mut blocks = if by >= 0 { alike(mp).0 } else { alike_at_end(mp) };
        if blocks.iter().map(|block| len(*block)).sum::<usize>() < cut {
            return false;
        }
        if by < 0 {
            blocks.reverse();
        }
        for block in blocks {
            let here = cut.min(len(block));
            if by >= 0 {
                (*block).rptr = (*block).rptr.add(here)
            } else {
                (*block).wptr = (*block).wptr.sub(here)
            }
            cut -= here;
        }
    }
    true
}

/// Returns the blocks at the end of a message that have the type of its last block.
///
/// # Safety
/// `mp` is a message.
unsafe fn alike_at_end(mp: *mut Mblk) -> Vec<*mut Mblk> {
    let mut blocks: Vec<*mut Mblk> = Vec::new();
    let mut next = mp;
    // SAFETY: the caller promises that `mp` is a message, so `cont` leads from block to block to null.
    unsafe {
        while !next.is_null() {
            if blocks.last().is_some_and(|last| kind(*last) != kind(next)) {
                blocks.clear();
            }
            blocks.push(next);
            next = (*next).cont;
        }
    }
    blocks
}

/// Returns how many bytes are joined: `wanted`, or all `total` for -1. `None` if there are fewer.
fn joined_len(wanted: isize, total: usize) -> Option<usize> {
    match usize::try_from(wanted) {
        Ok(wanted) => Some(wanted).filter(|wanted| *wanted <= total),
        Err(_) => Some(total).filter(|_| wanted == -1),
    }
}

/// Joins the first `wanted` bytes in the first block, which keeps its address (pullupmsg). Returns false if there are
/// fewer bytes, or no memory.
///
/// # Safety
/// `mp` is null or a message that the caller owns.
pub unsafe fn pull_up(mp: *mut Mblk, wanted: isize) -> bool {
    if mp.is_null() {
        return false;
    }
    // SAFETY: the caller owns all blocks of the message `mp`, and the new buffer has room for the `wanted` bytes that
    // are copied.
    unsafe {
        let (blocks, total) = alike(mp);
        let Some(wanted) = joined_len(wanted, total) else { return false };
        if len(mp) >= wanted {
            return true;
        }
        let new = allocate(wanted);
        if new.is_null() {
            return false;
        }
        (*(*new).datap).kind = kind(mp);
        let mut left = wanted;
        for block in blocks {
            if left == 0 {
                break;
            }
            let here = left.min(len(block));
            ptr::copy_nonoverlapping((*block).rptr, (*new).wptr, here);
            ((*new).wptr, (*block).rptr) = ((*new).wptr.add(here), (*block).rptr.add(here));
            left -= here;
            if block != mp && len(block) == 0 {
                // The blocks between `mp` and this one have been freed already.
                (*mp).cont = (*block).cont;
                block::free(block);
            }
        }
        let (rptr, wptr) = ((*new).rptr, (*new).wptr);
        rebase(mp, block::into_datap(new), rptr, wptr);
        true
    }
}

/// Makes a new message whose first block has the first `wanted` bytes, and leaves the old one (msgpullup). Returns null
/// if there are fewer bytes, or no memory.
///
/// # Safety
/// `mp` is null or a message that the caller owns.
pub unsafe fn pulled_up(mp: *mut Mblk, wanted: isize) -> *mut Mblk {
    // SAFETY: the caller owns the message `mp`; `copied` is ours.
    unsafe {
        let copied = block::each_block(mp, block::copy);
        if copied.is_null() || pull_up(copied, wanted) {
            return copied;
        }
        block::free_message(copied);
        ptr::null_mut()
    }
}

/// Returns the count of bytes in blocks of M_DATA (msgdsize).
///
/// # Safety
/// `mp` is null or a message.
pub unsafe fn data_size(mp: *const Mblk) -> usize {
    let (mut total, mut next) = (0, mp);
    // SAFETY: the caller promises that `mp` is null or a message, so `cont` leads from block to block to null.
    unsafe {
        while !next.is_null() {
            if kind(next) == block::M_DATA {
                total += bytes(next).len();
            }
            next = (*next).cont;
        }
    }
    total
}

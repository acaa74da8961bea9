//! Message blocks: mblk_t, dblk_t and their buffers.
//!
//! One allocation, a `Home`, holds a block, its data block, and the vector that is the buffer. So the bytes of a
//! message are handed to the stream without a copy. Blocks that `dupb` makes are allocations of their own. Different
//! threads may free, duplicate and read blocks of one data block at the same time. One block belongs to one thread at a
//! time, as in SVR4.

use std::ffi::{c_ushort, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::types::{Dblk, FreeRoutine, Mblk};

/// The message type of data.
pub const M_DATA: u8 = 0;

/// The smallest buffer in bytes: an `allocb` of 0 gives a buffer too.
const BUFFER_MIN: usize = 8;

/// The allocation that holds a block and its data block.
#[derive(Debug)]
struct Home {
    mblk: Mblk,
    dblk: Dblk,
    /// The capacity of the vector at `dblk.base`; 0 if the buffer is external.
    capacity: usize,
    /// A copy of the external buffer's routine: `db_frtnp` is the caller's pointer, which may be short-lived.
    free_routine: Option<FreeRoutine>,
    /// 2 while both the block and the data block are in use, then 1.
    holders: AtomicU32,
}

fn make(base: *mut u8, len: usize, size: usize, capacity: usize, free_routine: *mut FreeRoutine) -> *mut Mblk {
    // SAFETY: `free_routine` is null or the routine that esballoc(9) was called with.
    let routine = unsafe { free_routine.as_ref() }.copied();
    let dblk = Dblk {
        free_routine,
        base,
        lim: base.wrapping_add(size),
        references: 1,
        kind: M_DATA,
        flags: 0,
        home: ptr::null_mut(),
    };
    let mblk = empty_mblk(base, base.wrapping_add(len));
    let home =
        Box::into_raw(Box::new(Home { mblk, dblk, capacity, free_routine: routine, holders: AtomicU32::new(2) }));
    // SAFETY: `home` was just made by `Box::into_raw`, and no other pointer to it exists.
    unsafe {
        (*home).mblk.datap = &raw mut (*home).dblk;
        (*home).mblk.home = home.cast();
        (*home).dblk.home = home.cast();
        &raw mut (*home).mblk
    }
}

fn empty_mblk(rptr: *mut u8, wptr: *mut u8) -> Mblk {
    Mblk {
        next: ptr::null_mut(),
        prev: ptr::null_mut(),
        cont: ptr::null_mut(),
        rptr,
        wptr,
        datap: ptr::null_mut(),
        band: 0,
        tag: 0,
        flag: 0,
        home: ptr::null_mut(),
    }
}

/// Makes a block of a vector, without a copy.
pub fn from_vec(bytes: Vec<u8>) -> *mut Mblk {
    let mut bytes = bytes;
    if bytes.capacity() < BUFFER_MIN {
        bytes.reserve_exact(BUFFER_MIN);
    }
    let (len, capacity) = (bytes.len(), bytes.capacity());
    let base = std::mem::ManuallyDrop::new(bytes).as_mut_ptr();
    make(base, len, capacity, capacity, ptr::null_mut())
}

/// Makes a block (allocb). Returns null if there is no memory.
pub fn allocate(size: usize) -> *mut Mblk {
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(size.max(BUFFER_MIN)).is_err() {
        return ptr::null_mut();
    }
    let capacity = bytes.capacity();
    let base = std::mem::ManuallyDrop::new(bytes).as_mut_ptr();
    make(base, 0, size.max(BUFFER_MIN), capacity, ptr::null_mut())
}

/// Makes a block with an external buffer (esballoc).
pub fn external(base: *mut u8, size: usize, free_routine: *mut FreeRoutine) -> *mut Mblk {
    if base.is_null() || free_routine.is_null() {
        return ptr::null_mut();
    }
    make(base, 0, size, 0, free_routine)
}

fn count_of<'a>(dblk: *mut Dblk) -> &'a AtomicU32 {
    // SAFETY: the caller has a reference to `dblk`, so it lives; `references` is changed only by atomic operations.
    unsafe { AtomicU32::from_ptr(&raw mut (*dblk).references) }
}

/// Removes one of the two users of an allocation.
///
/// # Safety
/// `home` is a [`Home`] of which the caller is a user.
unsafe fn leave(home: *mut c_void) {
    let home: *mut Home = home.cast();
    // SAFETY: the caller is a user of `home`, so it lives. Only the last user gets a count of 1, and frees it.
    unsafe {
        if (*home).holders.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            drop(Box::from_raw(home));
        }
    }
}

/// Gives up a reference to a data block.
///
/// # Safety
/// The caller has a reference to `dblk`, and uses it no more.
unsafe fn release(dblk: *mut Dblk) {
    if count_of(dblk).fetch_sub(1, Ordering::Release) != 1 {
        return;
    }
    fence(Ordering::Acquire);
    // SAFETY: the count shows that this was the last reference to `dblk`. The vector has the parts that `make` has
    // stored.
    unsafe {
        let home: *mut Home = (*dblk).home.cast();
        if (*home).capacity > 0 {
            drop(Vec::from_raw_parts((*dblk).base, 0, (*home).capacity));
        } else if let Some(FreeRoutine { function: Some(function), argument }) = (*home).free_routine {
            function(argument);
        }
        leave(home.cast());
    }
}

/// Frees the memory of a block, without its data block.
///
/// # Safety
/// The caller owns the block `mp`.
unsafe fn discard(mp: *mut Mblk) {
    // SAFETY: the caller owns `mp`. A block without a home was made by `Box::into_raw` in `duplicate`.
    unsafe { if (*mp).home.is_null() { drop(Box::from_raw(mp)) } else { leave((*mp).home) } }
}

/// Frees a block (freeb).
///
/// # Safety
/// `mp` is null or a block that the caller owns.
pub unsafe fn free(mp: *mut Mblk) {
    // SAFETY: the caller owns `mp`, and with it one reference to its data block.
    unsafe {
        if let Some(block) = mp.as_ref() {
            let datap = block.datap;
            if !datap.is_null() {
                release(datap);
            }
            discard(mp);
        }
    }
}

/// Frees a message (freemsg).
///
/// # Safety
/// `mp` is null or the first block of a message that the caller owns.
pub unsafe fn free_message(mut mp: *mut Mblk) {
    while !mp.is_null() {
        // SAFETY: the caller owns all blocks of the message `mp`; `cont` is read before the block is freed.
        unsafe {
            let next = (*mp).cont;
            free(mp);
            mp = next;
        }
    }
}

/// Makes another block with the same data block (dupb).
///
/// # Safety
/// `mp` is null or a block that the caller owns.
pub unsafe fn duplicate(mp: *mut Mblk) -> *mut Mblk {
    // SAFETY: the caller promises that `mp` is null or a block.
    let Some(block) = (unsafe { mp.as_ref() }) else { return ptr::null_mut() };
    count_of(block.datap).fetch_add(1, Ordering::Relaxed);
    let mut copy = empty_mblk(block.rptr, block.wptr);
    (copy.datap, copy.band, copy.tag, copy.flag) = (block.datap, block.band, block.tag, block.flag);
    Box::into_raw(Box::new(copy))
}

/// Copies a block (copyb): the new block has a buffer of the same size, with the same bytes at the same place.
///
/// # Safety
/// `mp` is null or a block that the caller owns.
pub unsafe fn copy(mp: *mut Mblk) -> *mut Mblk {
    // SAFETY: the caller promises that `mp` is null or a block; its bytes lie within its buffer, and the new buffer is
    // as large.
    unsafe {
        let Some(block) = mp.as_ref() else { return ptr::null_mut() };
        let source = &*block.datap;
        let size = source.lim.addr().wrapping_sub(source.base.addr());
        let before = block.rptr.addr().wrapping_sub(source.base.addr());
        let len = len(mp);
        let new = allocate(size);
        if new.is_null() {
            return new;
        }
        let rptr = (*(*new).datap).base.add(before);
        ptr::copy_nonoverlapping(block.rptr, rptr, len);
        ((*new).rptr, (*new).wptr) = (rptr, rptr.add(len));
        ((*new).band, (*new).tag, (*new).flag) = (block.band, block.tag, block.flag);
        (*(*new).datap).kind = source.kind;
        new
    }
}

/// Makes a message of what `each` makes of each block (dupmsg, copymsg). Returns null, and leaves nothing behind, if
/// `each` returns null.
///
/// # Safety
/// `mp` is null or a message that the caller owns.
pub unsafe fn each_block(mp: *mut Mblk, each: unsafe fn(*mut Mblk) -> *mut Mblk) -> *mut Mblk {
    let (mut first, mut last): (*mut Mblk, *mut Mblk) = (ptr::null_mut(), ptr::null_mut());
    let mut next = mp;
    while !next.is_null() {
        // SAFETY: the caller owns all blocks of the message `mp`; the new blocks are ours.
        unsafe {
            let new = each(next);
            if new.is_null() {
                free_message(first);
                return ptr::null_mut();
            }
            if first.is_null() {
                first = new
            } else {
                (*last).cont = new
            }
            last = new;
            next = (*next).cont;
        }
    }
    first
}

/// Returns the length of a block in bytes; 0 if its pointers are in the wrong order.
///
/// # Safety
/// `mp` is a block.
pub unsafe fn len(mp: *const Mblk) -> usize {
    // SAFETY: the caller promises that `mp` is a block.
    let (rptr, wptr) = unsafe { ((*mp).rptr.addr(), (*mp).wptr.addr()) };
    wptr.saturating_sub(rptr)
}

/// Returns the bytes of a block.
///
/// # Safety
/// `mp` is a block, which no thread changes while the slice is used.
pub unsafe fn bytes<'a>(mp: *const Mblk) -> &'a [u8] {
    // SAFETY: the caller promises that `mp` is a block that no thread changes. If `len` is 0, `rptr` may be null, and
    // is not used.
    unsafe {
        let len = len(mp);
        if len == 0 { &[] } else { std::slice::from_raw_parts((*mp).rptr, len) }
    }
}

/// Returns the message type of a block.
///
/// # Safety
/// `mp` is a block.
pub unsafe fn kind(mp: *const Mblk) -> u8 {
    // SAFETY: the caller promises that `mp` is a block, which has a data block.
    unsafe { (*(*mp).datap).kind }
}

/// Sets the type, the band and the flags of a block.
///
/// # Safety
/// `mp` is a block that the caller owns.
pub unsafe fn label(mp: *mut Mblk, kind: u8, band: u8, flag: c_ushort) {
    // SAFETY: the caller owns the block `mp`, which has a data block.
    unsafe {
        (*(*mp).datap).kind = kind;
        ((*mp).band, (*mp).flag) = (band, flag);
    }
}

/// Frees a block and returns its bytes. They are not copied if no other block has them and they begin where the buffer
/// does.
///
/// # Safety
/// `mp` is a block that the caller owns.
pub unsafe fn into_vec(mp: *mut Mblk) -> Vec<u8> {
    // SAFETY: the caller owns the block `mp`. If the vector is taken, the count shows that `mp` has the last reference,
    // and `len` is at most the capacity.
    unsafe {
        let datap = (*mp).datap;
        let home: *mut Home = (*datap).home.cast();
        let (len, capacity) = (len(mp), (*home).capacity);
        let is_alone = count_of(datap).load(Ordering::Acquire) == 1;
        if is_alone && capacity >= len && capacity > 0 && (*mp).rptr == (*datap).base {
            let taken = Vec::from_raw_parts((*datap).base, len, capacity);
            leave(home.cast());
            discard(mp);
            return taken;
        }
        let copied = bytes(mp).to_vec();
        free(mp);
        copied
    }
}

/// Replaces the data block of a block, and its pointers.
///
/// # Safety
/// The caller owns the block `mp` and a reference to `datap`, which it passes on; the pointers lie in the buffer of
/// `datap`.
pub unsafe fn rebase(mp: *mut Mblk, datap: *mut Dblk, rptr: *mut u8, wptr: *mut u8) {
    // SAFETY: the caller owns the block `mp`, and with it a reference to its former data block.
    unsafe {
        let former = (*mp).datap;
        ((*mp).datap, (*mp).rptr, (*mp).wptr) = (datap, rptr, wptr);
        release(former);
    }
}

/// Frees a block and returns its data block. The caller gets the reference.
///
/// # Safety
/// `mp` is a block that the caller owns.
pub unsafe fn into_datap(mp: *mut Mblk) -> *mut Dblk {
    // SAFETY: the caller owns the block `mp`.
    unsafe {
        let datap = (*mp).datap;
        discard(mp);
        datap
    }
}

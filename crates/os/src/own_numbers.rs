//! Where the library's own descriptors lie. Usually where the kernel puts them; a process that interposes the calls of a
//! program has them above the numbers that the program gets, and is told which they are.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::{io, mem, ptr};

use rustix::io::fcntl_dupfd_cloexec;

/// The lowest number of a descriptor that stays open longer than a call; 0: any.
static FLOOR: AtomicI32 = AtomicI32::new(0);
/// What is told of each, a `fn(RawFd)`; null: nothing.
static TOLD: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From now on a descriptor that this library keeps open gets a number of at least `floor`, if one is free there, and `told` is
/// called with it. It is told of descriptors only, not of their close.
pub fn set_floor(floor: RawFd, told: fn(RawFd)) {
    TOLD.store(told as *mut (), Ordering::Relaxed);
    // Release: a thread that sees the floor sees the function.
    FLOOR.store(floor, Ordering::Release);
}

/// Moves a descriptor that this library has just made, and will keep, to its own numbers.
pub(crate) fn settled(file: OwnedFd) -> OwnedFd {
    let floor = FLOOR.load(Ordering::Acquire);
    if floor == 0 {
        return file;
    }
    // Without a free number there it stays where it is.
    let moved = if file.as_raw_fd() >= floor { file } else { fcntl_dupfd_cloexec(&file, floor).unwrap_or(file) };
    tell(&moved);
    moved
}

/// Another descriptor of the same file, among the library's own numbers, closed by exec.
///
/// # Errors
/// `EMFILE` without a free descriptor.
pub fn copy(file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let floor = FLOOR.load(Ordering::Acquire);
    // Standard input, output and error are never taken by a library.
    let copy = match fcntl_dupfd_cloexec(file, floor.max(3)) {
        Err(_) if floor > 3 => file.try_clone_to_owned()?,
        copy => copy?,
    };
    if floor != 0 {
        tell(&copy);
    }
    Ok(copy)
}

fn tell(file: &impl AsFd) {
    let told = TOLD.load(Ordering::Relaxed);
    if !told.is_null() {
        // SAFETY: `set_floor` stores nothing but functions of this type, before it sets a floor.
        let told: fn(RawFd) = unsafe { mem::transmute(told) };
        told(file.as_fd().as_raw_fd());
    }
}

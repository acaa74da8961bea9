//! The file descriptors that the library opens for itself. Usually the kernel chooses their numbers. If the library interposes
//! the calls of a program, its own descriptors are above those that the program gets, and it records which ones they are.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::{io, mem, ptr};

use rustix::io::fcntl_dupfd_cloexec;

/// The lowest number for a descriptor that stays open longer than a call; 0: any number.
static FLOOR: AtomicI32 = AtomicI32::new(0);
/// The function that is called with each descriptor, a `fn(RawFd)`; null: none.
static TOLD: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Sets the lowest number for descriptors that this library keeps open from now on, and a function that is called with each of
/// them. A descriptor gets a lower number if none is free above. `told` is not called when a descriptor is closed.
pub fn set_floor(floor: RawFd, told: fn(RawFd)) {
    TOLD.store(told as *mut (), Ordering::Relaxed);
    // Release: a thread that sees the floor sees the function. Pairs with the Acquire loads of `FLOOR`.
    FLOOR.store(floor, Ordering::Release);
}

/// Moves a new descriptor that this library will keep to the library's own numbers.
pub(crate) fn settled(file: OwnedFd) -> OwnedFd {
    let floor = FLOOR.load(Ordering::Acquire);
    if floor == 0 {
        return file;
    }
    // If no number is free there, the descriptor is not moved.
    let moved = if file.as_raw_fd() >= floor { file } else { fcntl_dupfd_cloexec(&file, floor).unwrap_or(file) };
    tell(&moved);
    moved
}

/// Duplicates a descriptor to one of the library's own numbers. The copy is closed by exec.
///
/// # Errors
/// `EMFILE` without a free descriptor.
pub fn copy(file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let floor = FLOOR.load(Ordering::Acquire);
    // A library must not take the numbers of standard input, output and error.
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
        // SAFETY: `set_floor` stores only functions of this type, before it sets a floor.
        let told: fn(RawFd) = unsafe { mem::transmute(told) };
        told(file.as_fd().as_raw_fd());
    }
}

//! read, write, readv and writev.

use std::ffi::{c_int, c_void};
use std::io::{IoSlice, IoSliceMut};

use libc::iovec;

use super::{epoll, positioned};
use crate::errno::{Called, Failure, returned, returned_word, word};
use crate::memory::{self, CALL_MAX, Use};
use crate::next::next;
use crate::restart::restarting;
use crate::table::{self, Open, Seen};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_void, iovec, next};

    next! {
        read(fd: c_int, buffer: *mut c_void, count: usize) -> isize;
        write(fd: c_int, buffer: *const c_void, count: usize) -> isize;
        readv(fd: c_int, pieces: *const iovec, count: c_int) -> isize;
        writev(fd: c_int, pieces: *const iovec, count: c_int) -> isize;
        __read_chk(fd: c_int, buffer: *mut c_void, count: usize, room: usize) -> isize;
        eventfd_read(fd: c_int, value: *mut u64) -> c_int;
        eventfd_write(fd: c_int, value: u64) -> c_int;
    }
}

/// read(2).
///
/// # Safety
/// `buffer` points at `count` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    match table::seen(fd) {
        Some(seen) => read_stream(fd, buffer, count, seen),
        // SAFETY: the caller promises `count` writable bytes at `buffer` (read(2)).
        None => unsafe { real::read(fd, buffer, count) },
    }
}

/// Reads from a stream. It is a separate function, so that a call that is passed on saves no registers.
#[inline(never)]
extern "C" fn read_stream(fd: c_int, buffer: *mut c_void, count: usize, seen: Seen) -> isize {
    let done = table::with_handle(fd, seen, |open, known, handle| {
        if !open.mode.reads || !known.had(Use::Write, buffer as usize, count) {
            return None;
        }
        // SAFETY: the thread knows these `count` bytes as writable. The read is short, and the program must not use the
        // buffer meanwhile.
        let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast(), count) };
        handle.read_quickly(buffer).then_some(count as isize)
    });
    done.unwrap_or_else(|| read_any(fd, buffer, count))
}

#[inline(never)]
extern "C" fn read_any(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    match table::with_learning(fd, |open| word(read(open, buffer, count))) {
        Some(done) => returned_word(done),
        // The stream was closed meanwhile, or the descriptor is another file by now.
        // SAFETY: the caller of `hw_c_read` promises `count` writable bytes at `buffer`.
        None => unsafe { real::read(fd, buffer, count) },
    }
}

/// read(2) of a fortified program. The call ends the program if the buffer is too short.
///
/// # Safety
/// `buffer` points at `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___read_chk(fd: c_int, buffer: *mut c_void, count: usize, room: usize) -> isize {
    if count <= room && table::is_stream(fd) {
        // SAFETY: the caller promises `room` writable bytes at `buffer`, and `count` is at most `room`.
        return unsafe { hw_c_read(fd, buffer, count) };
    }
    // SAFETY: the caller promises `room` writable bytes at `buffer`; the function checks `count`.
    unsafe { real::__read_chk(fd, buffer, count, room) }
}

/// write(2).
///
/// # Safety
/// `buffer` points at `count` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    match table::seen(fd) {
        Some(seen) => write_stream(fd, buffer, count, seen),
        // SAFETY: the caller promises `count` readable bytes at `buffer` (write(2)).
        None => unsafe { real::write(fd, buffer, count) },
    }
}

/// Writes to a stream. It is a separate function, so that a call that is passed on saves no registers.
#[inline(never)]
extern "C" fn write_stream(fd: c_int, buffer: *const c_void, count: usize, seen: Seen) -> isize {
    let done = table::with_handle(fd, seen, |open, known, handle| {
        if !open.mode.writes || !known.had(Use::Read, buffer as usize, count) {
            return None;
        }
        // SAFETY: the thread knows these `count` bytes as readable. The write is short, and the program must not change
        // the buffer meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast(), count) };
        match handle.write_quickly(bytes) {
            Ok(false) => None,
            Ok(true) => Some(count as isize),
            Err(error) => Some(word(Err(error.into()))),
        }
    });
    match done {
        Some(done) => returned_word(done),
        None => write_any(fd, buffer, count),
    }
}

#[inline(never)]
extern "C" fn write_any(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    let Some(done) = table::with_learning(fd, |open| word(write(open, buffer, count))) else {
        // The stream was closed meanwhile, or the descriptor is another file by now.
        // SAFETY: the caller of `hw_c_write` promises `count` readable bytes at `buffer`.
        return unsafe { real::write(fd, buffer, count) };
    };
    let written = returned_word(done);
    if written > 0 && (written as usize) < count {
        epoll::was_full(fd);
    }
    written
}

/// read(2), under another name.
///
/// # Safety
/// `buffer` points at `count` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller promises `count` writable bytes at `buffer`.
    unsafe { hw_c_read(fd, buffer, count) }
}

/// write(2), under another name.
///
/// # Safety
/// `buffer` points at `count` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    // SAFETY: the caller promises `count` readable bytes at `buffer`.
    unsafe { hw_c_write(fd, buffer, count) }
}

/// eventfd_read(3): reads eight bytes. Returns 0 or -1.
///
/// # Safety
/// `value` points at a writable word of eight bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_eventfd_read(fd: c_int, value: *mut u64) -> c_int {
    if !table::is_stream(fd) {
        // SAFETY: the caller promises eight writable bytes at `value` (eventfd_read(3)).
        return unsafe { real::eventfd_read(fd, value) };
    }
    // SAFETY: the caller promises eight writable bytes at `value`.
    if unsafe { hw_c_read(fd, value.cast(), size_of::<u64>()) } == size_of::<u64>() as isize { 0 } else { -1 }
}

/// eventfd_write(3): writes eight bytes. Returns 0 or -1.
///
/// # Safety
/// Safe for any `fd`: no pointer is passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_eventfd_write(fd: c_int, value: u64) -> c_int {
    if !table::is_stream(fd) {
        // SAFETY: no pointer is passed.
        return unsafe { real::eventfd_write(fd, value) };
    }
    // SAFETY: `value` is our own word of eight bytes.
    if unsafe { hw_c_write(fd, (&raw const value).cast(), size_of::<u64>()) } == size_of::<u64>() as isize {
        0
    } else {
        -1
    }
}

/// readv(2).
///
/// # Safety
/// `pieces` points at `count` iovecs, whose buffers are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_readv(fd: c_int, pieces: *const iovec, count: c_int) -> isize {
    match table::with(fd, |open| readv_with(open, pieces, count, 0)) {
        Some(done) => returned(done),
        // SAFETY: the caller promises `count` iovecs at `pieces`, whose buffers are writable (readv(2)).
        None => unsafe { real::readv(fd, pieces, count) },
    }
}

/// writev(2).
///
/// # Safety
/// `pieces` points at `count` iovecs, whose buffers are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_writev(fd: c_int, pieces: *const iovec, count: c_int) -> isize {
    match table::with(fd, |open| writev_with(open, fd, pieces, count, 0)) {
        Some(done) => returned(done),
        // SAFETY: the caller promises `count` iovecs at `pieces`, whose buffers are readable (writev(2)).
        None => unsafe { real::writev(fd, pieces, count) },
    }
}

#[inline(always)]
fn read(open: &Open, buffer: *mut c_void, count: usize) -> Called<isize> {
    open.check_reads()?;
    // SAFETY: `bytes_mut` checks the buffer. What another thread of the program writes there meanwhile is the program's
    // affair.
    let buffer = unsafe { memory::bytes_mut(buffer, count.min(CALL_MAX))? };
    if count > CALL_MAX && open.stream.settings().read_options().fill {
        return read_long(open, buffer.as_mut_ptr().cast(), count);
    }
    match open.stream.read(buffer) {
        Ok(count) => Ok(count as isize),
        Err(error) => read_again(open, buffer, error.into()),
    }
}

#[cold]
fn read_again(open: &Open, buffer: &mut [u8], failure: Failure) -> Called<isize> {
    let mut first = Some(failure);
    restarting(|| match first.take() {
        Some(failure) => Err(failure),
        None => Ok(open.stream.read(buffer)? as isize),
    })
}

/// Reads until the whole count is there (RFILL), if the count is more than one call takes.
#[cold]
fn read_long(open: &Open, buffer: *mut c_void, count: usize) -> Called<isize> {
    let mut done = 0;
    while done < count {
        let more = (count - done).min(CALL_MAX);
        // SAFETY: `bytes_mut` checks the buffer. What another thread of the program writes there meanwhile is the
        // program's affair.
        let part = unsafe { memory::bytes_mut(buffer.wrapping_byte_add(done), more) };
        let read = part.and_then(|part| restarting(|| Ok(open.stream.read(part)?)));
        match read {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(_) if done > 0 => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(done as isize)
}

#[inline(always)]
fn write(open: &Open, buffer: *const c_void, count: usize) -> Called<isize> {
    let stream = open.to_write()?;
    if count > CALL_MAX {
        return write_long(open, buffer, count);
    }
    // SAFETY: `memory::bytes` checks the buffer. What another thread of the program writes there meanwhile is sent or
    // not.
    let bytes = unsafe { memory::bytes(buffer, count)? };
    match stream.write(bytes) {
        Ok(count) => Ok(count as isize),
        Err(error) => write_again(open, bytes, error.into()),
    }
}

#[cold]
fn write_again(open: &Open, bytes: &[u8], failure: Failure) -> Called<isize> {
    let mut first = Some(failure);
    restarting(|| match first.take() {
        Some(failure) => Err(failure),
        None => Ok(open.to_write()?.write(bytes)? as isize),
    })
}

#[cold]
fn write_long(open: &Open, buffer: *const c_void, count: usize) -> Called<isize> {
    // The whole buffer is checked before anything is sent.
    if !memory::may_use(Use::Read, buffer, count) {
        return Err(Failure(libc::EFAULT));
    }
    let mut done = 0;
    while done < count {
        let more = (count - done).min(CALL_MAX);
        // SAFETY: `memory::bytes` checks the buffer. What another thread of the program writes there meanwhile is sent
        // or not.
        let part = unsafe { memory::bytes(buffer.wrapping_byte_add(done), more) };
        match part.and_then(|part| restarting(|| Ok(open.to_write()?.write(part)?))) {
            Ok(written) => {
                done += written;
                if written < more {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(done as isize)
}

/// The most pieces of one call (IOV_MAX).
const PIECES_MAX: c_int = 1024;
/// The most pieces that need no allocation.
const PIECES: usize = 16;

/// Copies the iovecs of a call, and checks the lengths of their buffers.
fn pieces(at: *const iovec, count: c_int, place: &mut [iovec]) -> Called<()> {
    let len = size_of_val(place);
    if !(0..=PIECES_MAX).contains(&count) {
        return Err(Failure(libc::EINVAL));
    }
    // SAFETY: `memory::bytes` checks the iovecs, and the program must not change them during the call.
    let bytes = unsafe { memory::bytes(at.cast(), len)? };
    // SAFETY: `place` has `len` bytes, and any bytes are valid iovecs.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_mut_ptr().cast(), len) };
    let total = place.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.iov_len));
    total.filter(|total| isize::try_from(*total).is_ok()).map(drop).ok_or(Failure(libc::EINVAL))
}

/// Calls `action` with a copy of the iovecs.
fn with_pieces<T>(at: *const iovec, count: c_int, action: impl FnOnce(&[iovec]) -> Called<T>) -> Called<T> {
    let none = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let len = usize::try_from(count).ok().filter(|len| *len <= PIECES_MAX as usize).ok_or(Failure(libc::EINVAL))?;
    let (mut few, mut many) = ([none; PIECES], Vec::new());
    let place = if len <= PIECES {
        &mut few[..len]
    } else {
        many.resize(len, none);
        &mut many[..]
    };
    pieces(at, count, place)?;
    action(place)
}

/// Makes readv(2) on a stream, with the flags of preadv2(2).
pub fn readv_with(open: &Open, at: *const iovec, count: c_int, flags: c_int) -> Called<isize> {
    open.check_reads()?;
    with_pieces(at, count, |pieces| {
        let buffer = |piece: &iovec| {
            // SAFETY: `bytes_mut` checks the buffer. What another thread of the program writes there meanwhile is the
            // program's affair.
            Ok(IoSliceMut::new(unsafe { memory::bytes_mut(piece.iov_base, piece.iov_len)? }))
        };
        let is_now = positioned::is_now(flags)?;
        match pieces {
            [one] if !is_now => read(open, one.iov_base, one.iov_len),
            several => {
                let mut buffers = several.iter().map(buffer).collect::<Called<Vec<_>>>()?;
                if is_now {
                    return Ok(open.stream.readv_now(&mut buffers)? as isize);
                }
                restarting(|| Ok(open.stream.readv(&mut buffers)? as isize))
            }
        }
    })
}

/// Makes writev(2) on a stream, with the flags of pwritev2(2).
pub fn writev_with(open: &Open, fd: c_int, at: *const iovec, count: c_int, flags: c_int) -> Called<isize> {
    let stream = open.to_write()?;
    with_pieces(at, count, |pieces| {
        let bytes = |piece: &iovec| {
            // SAFETY: `memory::bytes` checks the buffer. What another thread of the program writes there meanwhile is
            // sent or not.
            Ok(IoSlice::new(unsafe { memory::bytes(piece.iov_base, piece.iov_len)? }))
        };
        let is_now = positioned::is_now(flags)?;
        match pieces {
            [one] if !is_now => write(open, one.iov_base, one.iov_len),
            several => {
                let total = several.iter().map(|piece| piece.iov_len).sum::<usize>();
                let all = several.iter().map(bytes).collect::<Called<Vec<_>>>()?;
                let written =
                    if is_now { Ok(stream.writev_now(&all)?) } else { restarting(|| Ok(stream.writev(&all)?)) };
                written.map(|written| {
                    if written < total {
                        epoll::was_full(fd);
                    }
                    written as isize
                })
            }
        }
    })
}

//! select and pselect: as poll, with sets of bits.

use std::ffi::{c_int, c_short};
use std::ptr;
use std::time::Duration;

use libc::{fd_set, pollfd, sigset_t, timespec, timeval};

use super::poll::{self, duration};
use crate::errno::{Called, Failure, returned};
use crate::memory;
use crate::next::next;
use crate::table;

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, fd_set, next, sigset_t, timespec, timeval};

    next! {
        select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int;
        pselect(
            count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec,
            mask: *const sigset_t
        ) -> c_int;
    }
}

/// select(2).
///
/// # Safety
/// Each set is null or has `count` bits; `time` is null or points at a writable timeval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let Some(sets) = Sets::with_streams(count, [read, write, except]) else {
        // SAFETY: the caller promises that each set is null or has `count` bits, and that `time` is null or writable
        // (select(2)).
        return unsafe { real::select(count, read, write, except, time) };
    };
    let timeout = if time.is_null() {
        Ok(None)
    } else {
        // SAFETY: `memory::get` checks that `time` is readable, and any bytes are a valid timeval.
        unsafe { memory::get(time) }.and_then(|time| match (u64::try_from(time.tv_sec), u32::try_from(time.tv_usec)) {
            (Ok(seconds), Ok(micro)) => Ok(Some(Duration::from_secs(seconds) + Duration::from_micros(micro.into()))),
            _ => Err(Failure(libc::EINVAL)),
        })
    };
    let begin = std::time::Instant::now();
    let done = timeout.and_then(|timeout| sets.select(timeout, ptr::null()).map(|done| (done, timeout)));
    // Linux stores how much time is left.
    if let Ok((_, Some(timeout))) = done {
        let left = timeout.saturating_sub(begin.elapsed());
        let left = timeval { tv_sec: left.as_secs() as libc::time_t, tv_usec: left.subsec_micros().into() };
        let _ = memory::put(time, left);
    }
    returned(done.map(|(done, _)| done))
}

/// select(2), under another name.
///
/// # Safety
/// Each set is null or has `count` bits; `time` is null or points at a writable timeval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: the caller promises that each set is null or has `count` bits, and that `time` is null or writable.
    unsafe { hw_c_select(count, read, write, except, time) }
}

/// pselect(2).
///
/// # Safety
/// Each set is null or has `count` bits; `time` and `mask` are null or point at their structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    match Sets::with_streams(count, [read, write, except]) {
        Some(sets) => returned(duration(time).and_then(|timeout| sets.select(timeout, mask))),
        // SAFETY: the caller promises that each set is null or has `count` bits, and that `time` and `mask` are null or
        // readable (pselect(2)).
        None => unsafe { real::pselect(count, read, write, except, time, mask) },
    }
}

/// The bits in a word of a set.
const BITS: usize = usize::BITS as usize;

/// The events of poll that each of the three sets asks for, and those that make a descriptor ready in it (select(2),
/// "Correspondence between select() and poll()"). A stream that is hung up, or whose other end is gone, reports POLLHUP
/// where the kernel's pipe reports POLLERR. A write then fails at once, so the descriptor is ready for writing (POSIX,
/// select).
const ASKED: [c_short; 3] =
    [libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND, libc::POLLOUT | libc::POLLWRNORM, libc::POLLPRI];
const TOLD: [c_short; 3] = [
    libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLHUP | libc::POLLERR,
    libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND | libc::POLLERR,
    libc::POLLPRI,
];
const TOLD_OF_STREAM: [c_short; 3] = [TOLD[0], TOLD[1] | libc::POLLHUP, TOLD[2]];

/// A copy of the sets of a call.
struct Sets {
    count: usize,
    at: [*mut usize; 3],
    words: [Vec<usize>; 3],
}

impl Sets {
    /// Copies the sets. Returns `None` if they contain no stream, or if the kernel is to refuse them.
    fn with_streams(count: c_int, at: [*mut fd_set; 3]) -> Option<Sets> {
        // Programs pass the size of the descriptor table as `count`, and the kernel looks only at open descriptors.
        let count = usize::try_from(count).ok().filter(|_| table::is_any())?.min(libc::FD_SETSIZE);
        let len = count.div_ceil(BITS);
        let words = |set: *mut fd_set| {
            if set.is_null() {
                return Some(Vec::new());
            }
            // SAFETY: `memory::bytes_mut` checks the set, and the program must not use it during the call.
            unsafe { memory::bytes_mut(set.cast(), len * size_of::<usize>()).ok()? };
            // SAFETY: `memory::bytes_mut` has found `len` words at `set` writable.
            Some((0..len).map(|at| unsafe { set.cast::<usize>().add(at).read_unaligned() }).collect())
        };
        let words = [words(at[0])?, words(at[1])?, words(at[2])?];
        let sets = Sets { count, at: at.map(|set| set.cast()), words };
        (0..count).any(|fd| table::is_stream(fd as c_int) && sets.asked(fd) != 0).then_some(sets)
    }

    fn is_in(&self, set: usize, fd: usize) -> bool {
        self.words[set].get(fd / BITS).is_some_and(|word| word >> (fd % BITS) & 1 != 0)
    }

    fn asked(&self, fd: usize) -> c_short {
        (0..3).filter(|set| self.is_in(*set, fd)).fold(0, |asked, set| asked | ASKED[set])
    }

    /// Returns whether the events of a descriptor make it ready in a set.
    fn is_told(&self, set: usize, one: &pollfd) -> bool {
        let told = if table::is_stream(one.fd) { TOLD_OF_STREAM } else { TOLD };
        one.revents & told[set] != 0 && self.is_in(set, one.fd as usize)
    }

    /// Waits, and stores the three sets. Returns how many bits are set in them.
    ///
    /// Errors: `EBADF` for a descriptor that is not open; those of poll.
    fn select(mut self, timeout: Option<Duration>, mask: *const sigset_t) -> Called<c_int> {
        let fds = (0..self.count).filter(|fd| self.asked(*fd) != 0);
        let mut polled: Vec<pollfd> =
            fds.map(|fd| pollfd { fd: fd as c_int, events: self.asked(fd), revents: 0 }).collect();
        let counts = |one: &pollfd| one.revents & libc::POLLNVAL != 0 || (0..3).any(|set| self.is_told(set, one));
        poll::poll_for(&mut polled, timeout, mask, counts)?;
        if polled.iter().any(|one| one.revents & libc::POLLNVAL != 0) {
            return Err(Failure(libc::EBADF));
        }
        let mut told = [const { Vec::new() }; 3];
        let mut count = 0;
        for (set, words) in told.iter_mut().enumerate() {
            *words = vec![0; self.words[set].len()];
            for one in polled.iter().filter(|one| self.is_told(set, one)) {
                words[one.fd as usize / BITS] |= 1 << (one.fd as usize % BITS);
                count += 1;
            }
        }
        self.words = told;
        for (words, at) in self.words.iter().zip(self.at) {
            for (index, word) in words.iter().enumerate() {
                memory::put(at.wrapping_add(index), *word)?;
            }
        }
        Ok(count)
    }
}

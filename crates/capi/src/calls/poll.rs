//! poll and ppoll: they wait for streams and for any other descriptors together.
//!
//! A set without a stream is passed on. For a stream, the library itself knows whether it is ready. If nothing is
//! ready, the library prepares the descriptors of the streams, and the kernel waits for all descriptors.

use std::ffi::{c_int, c_short, c_ulong};
use std::ptr;
use std::time::{Duration, Instant};

use headwater_streams::{Events, Prepared};
use libc::{pollfd, sigset_t, timespec};

use crate::errno::{Called, Failure, last, returned};
use crate::memory;
use crate::next::next;
use crate::stale;
use crate::table;

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_ulong, next, pollfd, sigset_t, timespec};

    next! {
        poll(polled: *mut pollfd, count: c_ulong, timeout_ms: c_int) -> c_int;
        ppoll(polled: *mut pollfd, count: c_ulong, time: *const timespec, mask: *const sigset_t) -> c_int;
        __poll_chk(polled: *mut pollfd, count: c_ulong, timeout_ms: c_int, room: usize) -> c_int;
        __ppoll_chk(
            polled: *mut pollfd, count: c_ulong, time: *const timespec, mask: *const sigset_t, room: usize
        ) -> c_int;
    }
}

/// poll(2).
///
/// # Safety
/// `polled` points at `count` writable entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_poll(polled: *mut pollfd, count: c_ulong, timeout_ms: c_int) -> c_int {
    match streams_in(polled, count) {
        Some(polled) => {
            let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
            returned(poll(polled, timeout, ptr::null()))
        }
        // SAFETY: the caller promises `count` writable entries at `polled` (poll(2)).
        None => unsafe { real::poll(polled, count, timeout_ms) },
    }
}

/// poll(2), under another name.
///
/// # Safety
/// `polled` points at `count` writable entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___poll(polled: *mut pollfd, count: c_ulong, timeout_ms: c_int) -> c_int {
    // SAFETY: the caller promises `count` writable entries at `polled`.
    unsafe { hw_c_poll(polled, count, timeout_ms) }
}

/// ppoll(2).
///
/// # Safety
/// `polled` points at `count` writable entries; `time` and `mask` are null or point at their structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_ppoll(
    polled: *mut pollfd,
    count: c_ulong,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    match streams_in(polled, count) {
        Some(polled) => returned(duration(time).and_then(|timeout| poll(polled, timeout, mask))),
        // SAFETY: the caller promises `count` writable entries at `polled`, and that `time` and `mask` are null or
        // readable (ppoll(2)).
        None => unsafe { real::ppoll(polled, count, time, mask) },
    }
}

/// poll(2) of a fortified program. `room` is the size in bytes of what `polled` points at.
///
/// # Safety
/// `polled` points at `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___poll_chk(polled: *mut pollfd, count: c_ulong, timeout_ms: c_int, room: usize) -> c_int {
    if room / size_of::<pollfd>() >= count as usize {
        // SAFETY: the caller promises `room` writable bytes at `polled`, which are enough for `count` entries.
        unsafe { hw_c_poll(polled, count, timeout_ms) }
    } else {
        // SAFETY: the function ends the program, because `count` entries do not fit `room` bytes.
        unsafe { real::__poll_chk(polled, count, timeout_ms, room) }
    }
}

/// ppoll(2) of a fortified program. `room` is the size in bytes of what `polled` points at.
///
/// # Safety
/// `polled` points at `room` writable bytes; `time` and `mask` are null or point at their structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___ppoll_chk(
    polled: *mut pollfd,
    count: c_ulong,
    time: *const timespec,
    mask: *const sigset_t,
    room: usize,
) -> c_int {
    if room / size_of::<pollfd>() >= count as usize {
        // SAFETY: the caller promises `room` writable bytes at `polled`, which are enough for `count` entries, and that
        // `time` and `mask` are null or readable.
        unsafe { hw_c_ppoll(polled, count, time, mask) }
    } else {
        // SAFETY: the function ends the program, because `count` entries do not fit `room` bytes.
        unsafe { real::__ppoll_chk(polled, count, time, mask, room) }
    }
}

/// Returns the set if there is a stream in it. A set that the program cannot write is left to the kernel, which refuses
/// it.
#[inline]
fn streams_in<'p>(polled: *mut pollfd, count: c_ulong) -> Option<&'p mut [pollfd]> {
    if !table::is_any() || count == 0 {
        return None;
    }
    let len = (count as usize).checked_mul(size_of::<pollfd>())?;
    // SAFETY: `memory::bytes_mut` checks the set; the program must not use it during the call.
    unsafe { memory::bytes_mut(polled.cast(), len).ok()? };
    // SAFETY: `memory::bytes_mut` has found the set writable, and any bytes are valid pollfds.
    let polled = unsafe { std::slice::from_raw_parts_mut(polled, count as usize) };
    polled.iter().any(|one| table::is_stream(one.fd)).then_some(polled)
}

/// Converts a timespec. `None` means no limit.
///
/// Errors: `EFAULT`, `EINVAL`.
pub fn duration(time: *const timespec) -> Called<Option<Duration>> {
    if time.is_null() {
        return Ok(None);
    }
    // SAFETY: `memory::get` checks that `time` is readable, and any bytes are a valid timespec.
    let time = unsafe { memory::get(time)? };
    match (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) {
        (Ok(seconds), Ok(nanoseconds)) if nanoseconds < 1_000_000_000 => Ok(Some(Duration::new(seconds, nanoseconds))),
        _ => Err(Failure(libc::EINVAL)),
    }
}

/// How one descriptor is polled.
enum Asked {
    /// Report these events: the library knows that the stream is ready.
    Ready(Events),
    /// Ask the kernel for these events of the stream's descriptor, and look again after the given time.
    Kernel(c_short, Option<Duration>),
    /// Ask the kernel, because the descriptor is no stream.
    Other,
}

fn ask(one: &pollfd) -> Called<Asked> {
    let wanted = Events::from_bits_truncate(one.events as u16);
    let prepared = table::with(one.fd, |open| match open.prepare_poll(wanted) {
        // The stream is below a multiplexer (STREAMS.md, section 4), or it is broken.
        Err(error) if error.errno() == headwater_streams::Errno::Inval => Ok(None),
        Err(error) if error.errno() == headwater_streams::Errno::Intr => Err(error.into()),
        Err(_) => Ok(Some(Prepared::Ready(Events::ERR))),
        Ok(prepared) => Ok(Some(prepared)),
    });
    Ok(match prepared {
        None => Asked::Other,
        Some(prepared) => match prepared? {
            None => Asked::Ready(Events::from_bits_retain(libc::POLLNVAL as u16)),
            Some(Prepared::Ready(events)) => Asked::Ready(events),
            Some(Prepared::Armed { reads, writes, look_every }) => {
                let events = if reads { libc::POLLIN } else { 0 } | if writes { libc::POLLOUT } else { 0 };
                Asked::Kernel(events, look_every)
            }
        },
    })
}

/// The most descriptors that need no allocation.
const FEW: usize = 16;

/// How often a descriptor is looked at again that is ready, but for nothing that counts: the kernel would end each wait
/// for it.
const UNCOUNTED_LOOK: Duration = Duration::from_millis(20);

/// Polls a set that contains streams. Returns how many descriptors have events.
///
/// Errors: `EINTR` after a signal; those of ppoll(2).
pub fn poll(polled: &mut [pollfd], timeout: Option<Duration>, mask: *const sigset_t) -> Called<c_int> {
    poll_for(polled, timeout, mask, |one| one.revents != 0)
}

/// Polls as [`poll`], for a caller to which not all events count. POLLHUP, POLLERR and POLLNVAL are reported to poll
/// even if the caller does not ask for them. Only events that count end the wait. Returns how many descriptors have
/// such events.
///
/// Errors: as [`poll`].
pub fn poll_for(
    polled: &mut [pollfd],
    timeout: Option<Duration>,
    mask: *const sigset_t,
    counts: impl Fn(&pollfd) -> bool,
) -> Called<c_int> {
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let none = pollfd { fd: -1, events: 0, revents: 0 };
    let (mut few, mut many) = ([none; FEW], Vec::new());
    let asked = match polled.len() {
        len @ ..=FEW => &mut few[..len],
        len => {
            many.resize(len, none);
            &mut many[..]
        }
    };
    let mut checks = stale::Checks::default();
    loop {
        let (mut ready, mut look_every) = (0, None::<Duration>);
        for (one, asks) in polled.iter_mut().zip(asked.iter_mut()) {
            let was_uncounted = asks.fd >= 0 && asks.revents != 0;
            one.revents = 0;
            *asks = pollfd { revents: 0, ..*one };
            match ask(one)? {
                // Left out in every second round, so that the wait is not ended by it each time.
                Asked::Other if was_uncounted => {
                    asks.fd = -1;
                    look_every = least(look_every, Some(UNCOUNTED_LOOK));
                }
                Asked::Other => {}
                Asked::Ready(events) => {
                    one.revents = events.bits() as c_short;
                    asks.fd = -1;
                    if counts(one) {
                        ready += 1;
                    } else {
                        look_every = least(look_every, Some(UNCOUNTED_LOOK));
                    }
                }
                Asked::Kernel(events, every) => {
                    asks.events = events;
                    look_every = least(look_every, every);
                }
            }
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let sleep = if ready > 0 { Some(Duration::ZERO) } else { checks.limit(least(left, look_every)) };
        match wait(asked, sleep, mask) {
            // What is ready is reported, even if the wait for the others fails.
            Err(_) if ready > 0 => return Ok(ready),
            waited => waited?,
        }
        for (one, asks) in polled.iter_mut().zip(asked.iter()) {
            if asks.fd >= 0 && !table::is_stream(one.fd) {
                one.revents = asks.revents;
                ready += c_int::from(asks.revents != 0 && counts(one));
            }
        }
        let is_over = timeout.is_some() && left == Some(Duration::ZERO);
        if ready > 0 || is_over {
            return Ok(ready);
        }
        checks.run();
    }
}

/// Returns the shorter of two times. `None` means no limit.
pub fn least(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The size in bytes of the kernel's signal set, which is smaller than the C library's.
pub const SIGNALS_BYTES: usize = 8;

/// Lets the kernel wait for the prepared descriptors and the others.
pub fn wait(asked: &mut [pollfd], sleep: Option<Duration>, mask: *const sigset_t) -> Called<()> {
    let time = sleep.map(|sleep| timespec {
        tv_sec: sleep.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: sleep.subsec_nanos().into(),
    });
    // This uses the system call and not ppoll(3), which is a cancellation point: a cancelled thread would be unwound
    // through this library. The system call stores the time that is left, so it gets a copy.
    let mut left = time;
    let time = left.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: `asked` and `time` are ours, and `mask` is the program's, which the kernel checks.
    match unsafe { libc::syscall(libc::SYS_ppoll, asked.as_mut_ptr(), asked.len(), time, mask, SIGNALS_BYTES) } {
        -1 => Err(last()),
        _ => Ok(()),
    }
}

//! epoll: streams in the kernel's sets.
//!
//! A stream's descriptor is in the set with what the kernel can tell of it, and the library looks again: an event of a stream
//! that is not ready is not told, and its descriptor is prepared anew. For that each stream in a set is known here by a word of
//! its own, which takes the place of the program's data.

use std::ffi::{c_int, c_uint};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_os::fork;
use headwater_streams::{Events, Prepared};
use libc::{epoll_event, sigset_t, timespec};

use super::poll::{SIGNALS_BYTES, duration};
use crate::errno::{Called, Failure, last, returned};
use crate::next::next;
use crate::{memory, own, table};

pub mod real {
    //! The next library's.
    use super::{c_int, epoll_event, next, sigset_t, timespec};

    next! {
        epoll_ctl(set: c_int, operation: c_int, number: c_int, event: *mut epoll_event) -> c_int;
        epoll_pwait(
            set: c_int, events: *mut epoll_event, most: c_int, timeout_ms: c_int, mask: *const sigset_t
        ) -> c_int;
        epoll_pwait2(
            set: c_int, events: *mut epoll_event, most: c_int, time: *const timespec, mask: *const sigset_t
        ) -> c_int;
    }
}

/// A stream in a set.
#[derive(Debug)]
struct Member {
    set: RawFd,
    number: RawFd,
    /// The events that the program has asked for.
    events: u32,
    data: u64,
    /// Told once, and not armed since (EPOLLONESHOT).
    spent: bool,
}

/// All of them. The kernel has the index and [`TAG`] as their data.
static MEMBERS: Mutex<Vec<Option<Member>>> = Mutex::new(Vec::new());

/// The upper half of the data of streams in the kernel's sets: no address of a program, and no descriptor.
const TAG: u64 = 0xfeed_57e4 << 32;

/// Uses the list while the process is not forked: a child would find it locked.
fn members<T>(action: impl FnOnce(&mut Vec<Option<Member>>) -> T) -> T {
    fork::held_off(|| action(&mut MEMBERS.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// epoll_ctl(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_ctl(set: c_int, operation: c_int, number: c_int, event: *mut epoll_event) -> c_int {
    if table::is_own(number) || table::is_own(set) {
        return returned(Err(Failure(libc::EBADF)));
    }
    if table::is_stream(number) {
        return returned(control(set, operation, number, event));
    }
    // SAFETY: by the caller.
    unsafe { real::epoll_ctl(set, operation, number, event) }
}

/// What the kernel is asked for: what the program wants, with whatever may make it ready.
fn asked(events: u32, index: usize) -> epoll_event {
    let kept = (libc::EPOLLET | libc::EPOLLWAKEUP | libc::EPOLLEXCLUSIVE | libc::EPOLLRDHUP) as u32;
    let reads = (libc::EPOLLIN | libc::EPOLLPRI | libc::EPOLLRDNORM | libc::EPOLLRDBAND) as u32;
    let writes = (libc::EPOLLOUT | libc::EPOLLWRNORM | libc::EPOLLWRBAND) as u32;
    let reads = if events & reads != 0 { libc::EPOLLIN as u32 } else { 0 };
    let writes = if events & writes != 0 { libc::EPOLLOUT as u32 } else { 0 };
    epoll_event { events: events & kept | reads | writes, u64: TAG | index as u64 }
}

fn control(set: c_int, operation: c_int, number: c_int, event: *mut epoll_event) -> Called<c_int> {
    let is_it =
        |member: &Option<Member>| member.as_ref().is_some_and(|member| (member.set, member.number) == (set, number));
    let wanted = match operation {
        libc::EPOLL_CTL_DEL => epoll_event { events: 0, u64: 0 },
        // SAFETY: any bytes are a value of the type.
        _ => unsafe { memory::get(event.cast_const())? },
    };
    members(|members| {
        let known = members.iter().position(is_it);
        let index = known.unwrap_or_else(|| members.iter().position(Option::is_none).unwrap_or(members.len()));
        let mut passed = asked(wanted.events, index);
        // SAFETY: the event is ours.
        if unsafe { real::epoll_ctl(set, operation, number, &mut passed) } != 0 {
            return Err(last());
        }
        let is_in = operation != libc::EPOLL_CTL_DEL;
        let member = is_in.then_some(Member { set, number, events: wanted.events, data: wanted.u64, spent: false });
        if index == members.len() {
            members.push(member);
        } else {
            members[index] = member;
        }
        Ok(())
    })?;
    if operation == libc::EPOLL_CTL_DEL {
        return Ok(0);
    }
    // Ready or prepared: either way the descriptor's state is right for the first wait.
    let _ = table::with(number, |open| Ok(open.stream.prepare_poll(events_of(wanted.events))?));
    Ok(0)
}

fn events_of(events: u32) -> Events {
    Events::from_bits_truncate(events as u16)
}

/// epoll_wait(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_wait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: by the caller.
    unsafe { hw_c_epoll_pwait(set, events, most, timeout_ms, ptr::null()) }
}

/// epoll_pwait(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_pwait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    if !has_streams(set) {
        // SAFETY: by the caller.
        return unsafe { real::epoll_pwait(set, events, most, timeout_ms, mask) };
    }
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    returned(wait(set, events, most, timeout, mask))
}

/// epoll_pwait2(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_pwait2(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !has_streams(set) {
        // SAFETY: by the caller.
        return unsafe { real::epoll_pwait2(set, events, most, time, mask) };
    }
    returned(duration(time).and_then(|timeout| wait(set, events, most, timeout, mask)))
}

fn has_streams(set: c_int) -> bool {
    table::is_any() && members(|members| members.iter().flatten().any(|member| member.set == set))
}

/// A number was closed: it is in no set any more, if the kernel says so, and a set of that number is gone.
pub fn forget(number: c_int) {
    let is_of = |member: &Member| member.number == number || member.set == number;
    members(|members| {
        for place in members.iter_mut().filter(|place| place.as_ref().is_some_and(is_of)) {
            // The kernel would keep it: the library has the same open file.
            if let Some(Member { set, .. }) = place.take().filter(|member| member.number == number) {
                // SAFETY: no event is passed. A set that was closed is refused.
                unsafe { own::hw_own_epoll_ctl(set, libc::EPOLL_CTL_DEL, number, ptr::null_mut()) };
            }
        }
    });
}

fn wait(
    set: c_int,
    place: *mut epoll_event,
    most: c_int,
    timeout: Option<Duration>,
    mask: *const sigset_t,
) -> Called<c_int> {
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        // The kernel's events alone say nothing where the stream's own end has acted: such streams are looked at.
        let look_every = prepare(set)?;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let sleep = match (left, look_every) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        // Rounded up: a millisecond that is not over is waited for.
        let sleep_ms = sleep.map_or(-1, |sleep| sleep.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as c_int);
        // SAFETY: the place is the program's, which the kernel checks.
        // Not a cancellation point, as in `poll`.
        let count = unsafe { libc::syscall(libc::SYS_epoll_pwait, set, place, most, sleep_ms, mask, SIGNALS_BYTES) };
        if count < 0 {
            return Err(last());
        }
        // SAFETY: the kernel has filled in so many.
        let events = unsafe { std::slice::from_raw_parts_mut(place, count as usize) };
        let kept = keep_ready(set, events)?;
        let is_over = timeout.is_some() && left == Some(Duration::ZERO);
        if kept > 0 || is_over {
            return Ok(kept as c_int);
        }
    }
}

/// Prepares the streams of a set. Returns how often those must be looked at whose descriptor does not tell all.
fn prepare(set: c_int) -> Called<Option<Duration>> {
    let is_asked = |member: &&Member| member.set == set && !member.spent && member.events & libc::EPOLLET as u32 == 0;
    let wanted: Vec<(c_int, u32)> = members(|members| {
        members.iter().flatten().filter(is_asked).map(|member| (member.number, member.events)).collect()
    });
    let mut look_every = None::<Duration>;
    for (number, events) in wanted {
        let prepared = table::with(number, |open| Ok(open.stream.prepare_poll(events_of(events))?));
        if let Some(Ok(Prepared::Armed { look_every: Some(every), .. })) = prepared {
            look_every = Some(look_every.map_or(every, |least| least.min(every)));
        }
    }
    Ok(look_every)
}

/// Replaces the library's data by the program's, and drops the events of streams that are not ready. Returns how many are left,
/// in front.
fn keep_ready(set: c_int, events: &mut [epoll_event]) -> Called<usize> {
    let mut kept = 0;
    for at in 0..events.len() {
        let event = events[at];
        let index = (event.u64 & u64::from(u32::MAX)) as usize;
        let mut event = event;
        if event.u64 & !u64::from(u32::MAX) == TAG {
            let known = members(|members| {
                let member = members.get(index)?.as_ref().filter(|member| member.set == set)?;
                Some((member.number, member.events, member.data, member.spent))
            });
            let Some((number, wanted, data, spent)) = known else { continue };
            let seen = event.events;
            let ready = if spent { None } else { ready(number, wanted, seen) };
            let Some(ready) = ready else { continue };
            event = epoll_event { events: ready, u64: data };
            if wanted & libc::EPOLLONESHOT as u32 != 0 {
                spend(set, number, index);
            }
        }
        events[kept] = event;
        kept += 1;
    }
    Ok(kept)
}

/// The events of a stream, if there are any.
fn ready(number: c_int, wanted: u32, seen: u32) -> Option<c_uint> {
    let always = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
    let looked = table::with(number, |open| Ok(open.stream.prepare_poll(events_of(wanted))?));
    match looked {
        Some(Ok(Prepared::Ready(events))) => {
            Some(u32::from(events.bits()) & (wanted | always)).filter(|ready| *ready != 0)
        }
        Some(Ok(Prepared::Armed { .. })) => None,
        // A stream that is broken, or was closed meanwhile: the kernel's word.
        _ => Some(seen & (wanted | always)).filter(|ready| *ready != 0),
    }
}

/// A stream that is told once is told no more until the program arms it anew.
fn spend(set: c_int, number: c_int, index: usize) {
    members(|members| {
        if let Some(Some(member)) = members.get_mut(index) {
            member.spent = true;
        }
    });
    let mut nothing = epoll_event { events: 0, u64: TAG | index as u64 };
    // SAFETY: the event is ours. An error leaves it to the flag.
    unsafe { own::hw_own_epoll_ctl(set, libc::EPOLL_CTL_MOD, number, (&raw mut nothing).cast()) };
}

//! epoll: streams in the epoll sets of the kernel.
//!
//! A stream's descriptor is in the kernel's set with the program's data, and with EPOLLRDNORM and EPOLLWRNORM instead
//! of EPOLLIN and EPOLLOUT. By these bits the library recognises an event of a stream, whichever process has added the
//! stream. The descriptor is readable and writable whenever the stream may be ready. So the library looks at the stream
//! of each event, drops the event if the stream is not ready, and prepares the descriptor anew. Before a wait the
//! library looks only at listed members: streams whose descriptor does not show every change, and, with EPOLLET,
//! streams that were reported since the last look, which the program may not have read until `EAGAIN`.

use std::ffi::{c_int, c_uint};
use std::os::fd::RawFd;
use std::ptr;
use std::time::{Duration, Instant};

use headwater_streams::{Events, Prepared};
use libc::{epoll_event, sigset_t, timespec};

use super::poll::{self, SIGNALS_BYTES, duration, least};
use crate::errno::{Called, Failure, last, returned};
use crate::next::next;
use crate::{memory, own, stale, table};

mod sets;

use sets::Member;
pub use sets::{copied, forget, is_set, lost};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, epoll_event, next, sigset_t, timespec};

    next! {
        epoll_ctl(set: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
        epoll_pwait(
            set: c_int, events: *mut epoll_event, most: c_int, timeout_ms: c_int, mask: *const sigset_t
        ) -> c_int;
        epoll_pwait2(
            set: c_int, events: *mut epoll_event, most: c_int, time: *const timespec, mask: *const sigset_t
        ) -> c_int;
    }
}

/// epoll_ctl(2).
///
/// # Safety
/// `event` points at an event, or `operation` is EPOLL_CTL_DEL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_ctl(set: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    if table::is_own(fd) || table::is_own(set) {
        return returned(Err(Failure(libc::EBADF)));
    }
    if table::is_stream(fd) {
        return returned(control(set, operation, fd, event));
    }
    // SAFETY: the caller promises an event at `event`, except for EPOLL_CTL_DEL (epoll_ctl(2)).
    unsafe { real::epoll_ctl(set, operation, fd, event) }
}

/// The bits that tell an event of a stream from those of other descriptors.
const READABLE: u32 = libc::EPOLLRDNORM as u32;
const WRITABLE: u32 = libc::EPOLLWRNORM as u32;
/// The events that are reported even if the program does not ask for them.
const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

/// Returns what the kernel is asked for: the descriptor's event that occurs whenever a wanted event of the stream may
/// have occurred.
fn asked(events: u32, data: u64) -> epoll_event {
    // EPOLLEXCLUSIVE is valid only with EPOLLIN and EPOLLOUT; without it, all sets are woken. EPOLLRDHUP is for
    // sockets, and no pipe reports it.
    let kept = (libc::EPOLLET | libc::EPOLLWAKEUP) as u32;
    let reads = (libc::EPOLLIN | libc::EPOLLPRI | libc::EPOLLRDNORM | libc::EPOLLRDBAND) as u32;
    let writes = (libc::EPOLLOUT | libc::EPOLLWRNORM | libc::EPOLLWRBAND) as u32;
    let reads = if events & reads != 0 { READABLE } else { 0 };
    let writes = if events & writes != 0 { WRITABLE } else { 0 };
    epoll_event { events: events & kept | reads | writes, u64: data }
}

/// The bits that the kernel accepts together with EPOLLEXCLUSIVE.
const WITH_EXCLUSIVE: u32 = (libc::EPOLLIN
    | libc::EPOLLOUT
    | libc::EPOLLERR
    | libc::EPOLLHUP
    | libc::EPOLLWAKEUP
    | libc::EPOLLET
    | libc::EPOLLEXCLUSIVE) as u32;

/// Checks EPOLLEXCLUSIVE as the kernel does, which does not see the bit; see [`asked`].
///
/// Errors: `EINVAL`.
fn check_exclusive(operation: c_int, events: u32, before: Option<u32>) -> Called<()> {
    let is_exclusive = |events: u32| events & libc::EPOLLEXCLUSIVE as u32 != 0;
    let is_changed = operation == libc::EPOLL_CTL_MOD && (is_exclusive(events) || before.is_some_and(is_exclusive));
    if is_changed || is_exclusive(events) && events & !WITH_EXCLUSIVE != 0 {
        return Err(Failure(libc::EINVAL));
    }
    Ok(())
}

/// Returns whether an event is one of a stream. This process or another one that shares the set may have added the
/// stream.
fn is_of_stream(events: u32) -> bool {
    events & (READABLE | WRITABLE) != 0 && events & (libc::EPOLLIN | libc::EPOLLOUT) as u32 == 0
}

/// Translates an event of a stream that another process has added. Only the kernel knows about it here.
fn translate(event: &mut epoll_event) {
    let bits = [(READABLE, libc::EPOLLIN as u32), (WRITABLE, libc::EPOLLOUT as u32)];
    let seen = event.events;
    event.events |= bits.iter().filter(|(bit, _)| seen & bit != 0).fold(0, |all, (_, bit)| all | bit);
}

/// Returns the result of a wait that began when this process had no stream in the set. `None` if another thread has
/// added the first stream meanwhile, and what the kernel has reported is not ready.
fn finished(set: c_int, events: *mut epoll_event, count: c_int, most: c_int) -> Option<c_int> {
    if count <= 0 || !is_set(set) {
        return Some(translated(events, count));
    }
    match take(set, events, count as usize, most as usize, Vec::new()) {
        Ok(0) => None,
        taken => Some(returned(taken.map(|kept| kept as c_int))),
    }
}

/// Translates the kernel's answer for a set in which this process has no stream.
fn translated(events: *mut epoll_event, count: c_int) -> c_int {
    if table::is_any() && count > 0 {
        // SAFETY: epoll_pwait has succeeded, so the kernel has filled in `count` events.
        let events = unsafe { std::slice::from_raw_parts_mut(events, count as usize) };
        events.iter_mut().filter(|event| is_of_stream(event.events)).for_each(translate);
    }
    count
}

fn control(set: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> Called<c_int> {
    let wanted = match operation {
        libc::EPOLL_CTL_DEL => epoll_event { events: 0, u64: 0 },
        // SAFETY: `memory::get` checks that `event` is readable, and any bytes are a valid epoll_event.
        _ => unsafe { memory::get(event.cast_const())? },
    };
    let mut passed = asked(wanted.events, wanted.u64);
    // The kernel's entry and the member change in one step, because other threads look at the member after an event.
    let mut in_both = |of: &mut sets::Set| {
        check_exclusive(operation, wanted.events, of.member(fd).map(|member| member.events))?;
        // SAFETY: `passed` is our own event.
        if unsafe { real::epoll_ctl(set, operation, fd, &mut passed) } != 0 {
            return Err(last());
        }
        match operation {
            libc::EPOLL_CTL_DEL => drop(of.remove(fd)),
            _ => of.insert(fd, Member::new(wanted.events, wanted.u64)),
        }
        Ok(0)
    };
    let done = sets::making(set, &mut in_both).unwrap_or(Err(Failure(libc::EMFILE)));
    if done.is_err() || operation == libc::EPOLL_CTL_DEL {
        sets::unmake_empty(set);
        return done;
    }
    // If preparing succeeds, the descriptor shows the right state for the first wait. Otherwise the stream is listed:
    // no descriptor shows a hang-up or an error that a module has raised.
    let prepared = table::with(fd, |open| Ok(open.prepare_poll(events_of(wanted.events))?));
    if !matches!(prepared, Some(Ok(Prepared::Armed { look_every: None, .. }))) {
        sets::using(set, |set| set.list(fd, true));
    }
    done
}

fn events_of(events: u32) -> Events {
    Events::from_bits_truncate(events as u16)
}

/// Lists a stream after a module was pushed or popped: its descriptor may no longer show every change.
pub fn look_again(fd: c_int) {
    sets::look_again(fd, |_| ());
}

/// Notes that a write to a stream has taken fewer bytes than it was given.
#[cold]
pub fn was_full(fd: c_int) {
    sets::look_again(fd, |member| member.was_full = true);
}

/// epoll_wait(2).
///
/// # Safety
/// `events` has room for `most` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_wait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: the caller promises room for `most` events at `events`; the mask is null.
    unsafe { hw_c_epoll_pwait(set, events, most, timeout_ms, ptr::null()) }
}

/// epoll_pwait(2).
///
/// # Safety
/// `events` has room for `most` events; `mask` is null or points at a signal set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_pwait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    if !is_set(set) {
        // SAFETY: the caller promises room for `most` events at `events`, and that `mask` is null or readable
        // (epoll_pwait(2)).
        let count = unsafe { real::epoll_pwait(set, events, most, timeout_ms, mask) };
        if let Some(count) = finished(set, events, count, most) {
            return count;
        }
    }
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    returned(wait(set, events, most, timeout, mask))
}

/// epoll_pwait2(2).
///
/// # Safety
/// `events` has room for `most` events; `time` and `mask` are null or point at their structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_epoll_pwait2(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !is_set(set) {
        // SAFETY: the caller promises room for `most` events at `events`, and that `time` and `mask` are null or
        // readable (epoll_pwait2(2)).
        let count = unsafe { real::epoll_pwait2(set, events, most, time, mask) };
        if let Some(count) = finished(set, events, count, most) {
            return count;
        }
    }
    returned(duration(time).and_then(|timeout| wait(set, events, most, timeout, mask)))
}

/// The number of waits that the kernel may end for streams that are not ready. After that a wait pauses: the stream has
/// a message that the program does not wait for, and the kernel would report it again at once.
const IN_VAIN: u32 = 10;
const NAP: Duration = Duration::from_millis(1);

fn wait(
    set: c_int,
    place: *mut epoll_event,
    most: c_int,
    timeout: Option<Duration>,
    mask: *const sigset_t,
) -> Called<c_int> {
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut in_vain = 0;
    let mut checks = stale::Checks::default();
    loop {
        let (ready, look_every) = look_at_listed(set);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let sleep = if ready.is_empty() { checks.limit(least(left, look_every)) } else { Some(Duration::ZERO) };
        // Rounded up, so that the last millisecond is waited for.
        let sleep_ms = sleep.map_or(-1, |sleep| sleep.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as c_int);
        // This uses the system call, which is no cancellation point, as in `poll`.
        // SAFETY: `place` and `mask` are the program's, and the kernel checks them.
        let count = unsafe { libc::syscall(libc::SYS_epoll_pwait, set, place, most, sleep_ms, mask, SIGNALS_BYTES) };
        if count < 0 {
            return Err(last());
        }
        let kept = take(set, place, count as usize, most as usize, ready)?;
        let is_over = timeout.is_some() && left == Some(Duration::ZERO);
        if kept > 0 || is_over {
            return Ok(kept as c_int);
        }
        checks.run();
        if count > 0 {
            in_vain += 1;
            if in_vain > IN_VAIN {
                poll::wait(&mut [], least(left, Some(NAP)), mask)?;
            }
        }
    }
}

/// Stores the events for the program at `place`: first those of the `count` events of the kernel that are ready, then
/// the listed members in `ready`. Returns how many were stored.
fn take(set: c_int, place: *mut epoll_event, count: usize, most: usize, ready: Vec<Looked>) -> Called<usize> {
    let room = most.min(count + ready.len());
    // SAFETY: `memory::bytes_mut` checks the events at `place`; the program must not use them during the call.
    unsafe { memory::bytes_mut(place.cast(), room * size_of::<epoll_event>())? };
    // SAFETY: `memory::bytes_mut` has found room for `room` events at `place`, and any bytes are valid events.
    let events = unsafe { std::slice::from_raw_parts_mut(place, room) };
    let mut kept = 0;
    // The members that are reported, and the index of each event.
    let mut reported: Vec<(RawFd, usize)> = Vec::new();
    for at in 0..count {
        if let Some((fd, event)) = reported_event(set, events[at], &reported) {
            events[kept] = event;
            reported.extend(fd.map(|fd| (fd, kept)));
            kept += 1;
        }
    }
    for looked in ready {
        if let Some((_, at)) = reported.iter().find(|(other, _)| *other == looked.fd) {
            events[*at].events |= looked.events;
        } else if kept < room && looked.report(set) {
            events[kept] = epoll_event { events: looked.events, u64: looked.member.data };
            kept += 1;
        }
    }
    Ok(kept)
}

/// Looks at the listed members of a set. Returns those that are ready, and how often to look at members whose
/// descriptor does not show every change.
fn look_at_listed(set: c_int) -> (Vec<Looked>, Option<Duration>) {
    let (mut ready, mut look_every) = (Vec::new(), None);
    for (fd, member) in sets::using(set, sets::Set::members_to_check).unwrap_or_default() {
        let Some(looked) = look_at(fd, &member, false) else { continue };
        look_every = least(look_every, looked.look_every);
        if looked.events != 0 {
            // The look is noted when the event is reported; there may be no room for it.
            ready.push(looked);
        } else {
            looked.note(set);
        }
    }
    (ready, look_every)
}

/// The result of a look at a member.
struct Looked {
    fd: RawFd,
    /// The events to report.
    events: u32,
    look_every: Option<Duration>,
    /// The member as it is after the look.
    member: Member,
}

impl Looked {
    /// Notes the look in the member, and lists the member for the next wait if needed.
    fn note(&self, set: c_int) {
        sets::using(set, |set| {
            let Some(member) = set.member(self.fd) else { return };
            (member.told, member.was_full) = (self.member.told, self.member.was_full);
            set.list(self.fd, self.look_every.is_some() || self.events != 0);
        });
    }

    /// Notes that the event is reported. With EPOLLONESHOT the member is then reported no more until the program arms
    /// it anew. Returns false if another thread has reported the event, or has changed what is asked for.
    fn report(&self, set: c_int) -> bool {
        let seen = &self.member;
        let is_first = sets::using(set, |of| {
            let member = of.member(self.fd)?;
            if member.spent || (member.events, member.data) != (seen.events, seen.data) {
                return None;
            }
            if member.events & libc::EPOLLONESHOT as u32 != 0 {
                member.spent = true;
                let mut nothing = epoll_event { events: libc::EPOLLONESHOT as c_uint, u64: seen.data };
                // SAFETY: `nothing` is our own event. If the call fails, `spent` still prevents a second report.
                unsafe { own::hw_own_epoll_ctl(set, libc::EPOLL_CTL_MOD, self.fd, (&raw mut nothing).cast()) };
            }
            Some(())
        });
        if is_first.flatten().is_none() {
            return false;
        }
        self.note(set);
        true
    }
}

/// Looks at a member after an event of the kernel or before a wait, and prepares the descriptor if the stream is not
/// ready. Returns `None` if the stream was closed meanwhile.
fn look_at(fd: RawFd, member: &Member, has_event: bool) -> Option<Looked> {
    let mut looked = Looked { fd, events: 0, look_every: None, member: *member };
    let wanted = events_of(member.events);
    let reported = table::with(fd, |open| {
        // A FIFO that is open for reading and writing is not reported by edges: each wait reports what is there.
        if member.is_edge() && open.writer.is_none() {
            let edge = open.stream.prepare_edge(wanted, &mut looked.member.told)?;
            looked.look_every = edge.look_every;
            // Room is a level. An event of the kernel, or a write that took less than it was given, shows that the room
            // is new.
            let is_new = !edge.room.is_empty() && (has_event || member.was_full);
            if is_new {
                looked.member.was_full = false;
            }
            // An edge reports everything that is there, as the kernel does.
            let is_edge = is_new || !edge.fresh.is_empty();
            return Ok(if is_edge { edge.fresh | edge.held | edge.room } else { Events::default() });
        }
        Ok(match open.prepare_poll(wanted)? {
            Prepared::Ready(events) => events,
            Prepared::Armed { look_every, .. } => {
                looked.look_every = look_every;
                Events::default()
            }
        })
    });
    looked.events = match reported? {
        Ok(events) => u32::from(events.bits()) & (member.events | ALWAYS),
        // As in poll, the stream is broken or below a multiplexer. With EPOLLET, only an event of the kernel counts as
        // an edge.
        Err(_) if has_event || !member.is_edge() => libc::EPOLLERR as u32,
        Err(_) => 0,
    };
    Some(looked)
}

/// Returns the event that the program gets for one of the kernel, and the member that caused it. `None` if the stream
/// is not ready.
fn reported_event(
    set: c_int,
    mut event: epoll_event,
    reported: &[(RawFd, usize)],
) -> Option<(Option<RawFd>, epoll_event)> {
    let (seen, data) = (event.events, event.u64);
    let is_certain = is_of_stream(seen);
    if !is_certain && seen & (libc::EPOLLIN | libc::EPOLLOUT) as u32 != 0 {
        return Some((None, event));
    }
    let members = sets::using(set, |set| set.with_data(data)).unwrap_or_default();
    // If a member was reported once already, a hang-up is taken as that member's, and not as that of another
    // descriptor.
    let is_known = !members.is_empty() && (is_certain || members.iter().any(|(_, member)| member.spent));
    for (fd, member) in members {
        if member.spent || reported.iter().any(|(other, _)| *other == fd) {
            continue;
        }
        // For a stream that was closed meanwhile, the kernel's event is reported.
        let closed = || Looked { fd, events: seen & (member.events | ALWAYS), look_every: None, member };
        let looked = look_at(fd, &member, true).unwrap_or_else(closed);
        if looked.events == 0 {
            looked.note(set);
        } else if looked.report(set) {
            event.events = looked.events;
            return Some((Some(fd), event));
        }
    }
    if is_known {
        return None;
    }
    // The event is one of another process's stream, or a hang-up of a descriptor that is no stream.
    if is_certain {
        translate(&mut event);
        event.events &= !(READABLE | WRITABLE);
    }
    Some((None, event))
}

//! The epoll sets of this process that have streams in them, and what the program has asked for. A set is found by its
//! descriptors: dup gives it another one, and a close takes one away.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_os::fork;
use headwater_streams::Told;

use crate::own;
use crate::table::FDS_MAX;

/// A stream in a set.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The events that the program has asked for.
    pub events: u32,
    pub data: u64,
    /// Whether the stream was reported once and not armed since (EPOLLONESHOT).
    pub spent: bool,
    /// With EPOLLET: the data that were reported to the program.
    pub told: Told,
    /// With EPOLLET: whether a write has taken less than it was given, and room has not been reported since.
    pub was_full: bool,
    /// The process (by its epoch) that has added the stream. In its children the kernel's entry is still the parent's.
    owner: u64,
}

impl Member {
    pub fn new(events: u32, data: u64) -> Member {
        let (told, owner) = (Told::default(), fork::epoch());
        Member { events, data, spent: false, told, was_full: false, owner }
    }

    /// Returns whether the member is reported by edges (EPOLLET).
    pub fn is_edge(&self) -> bool {
        self.events & libc::EPOLLET as u32 != 0
    }
}

/// An epoll set with streams.
#[derive(Debug)]
pub struct Set {
    fds: Vec<RawFd>,
    members: BTreeMap<RawFd, Member>,
    /// The members by the data that the kernel returns.
    by_data: BTreeSet<(u64, RawFd)>,
    /// The members to look at before the next wait. An entry may be that of a member that has left.
    listed: BTreeSet<RawFd>,
    /// The last member of the last round of looks, and the time of that round.
    round: (RawFd, Instant),
}

/// How often a round of looks is made at members whose descriptor showed every change at their last look: another
/// process may have changed the stream, so that the descriptor does not show every change any more.
const ROUND_EVERY: Duration = Duration::from_millis(20);
/// The most members of a round.
const ROUND: usize = 32;

/// The sets. [`PLACES`] has for each descriptor the index of its set plus one, or 0.
static SETS: Mutex<Vec<Option<Set>>> = Mutex::new(Vec::new());
static PLACES: [AtomicU32; FDS_MAX] = [const { AtomicU32::new(0) }; FDS_MAX];
/// How many sets there are.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Calls `action` with the sets. No thread forks meanwhile: a child would find the sets locked.
fn sets<T>(action: impl FnOnce(&mut Vec<Option<Set>>) -> T) -> T {
    fork::held_off(|| action(&mut SETS.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn place(fd: RawFd) -> Option<usize> {
    let place = PLACES.get(fd as u32 as usize)?.load(Ordering::Relaxed);
    (place as usize).checked_sub(1)
}

/// Returns whether the descriptor is a set that has or had streams in it.
#[inline]
pub fn is_set(fd: RawFd) -> bool {
    COUNT.load(Ordering::Relaxed) != 0 && place(fd).is_some()
}

/// Calls `action` with a set. Returns `None` if `fd` is no set with streams.
pub fn using<T>(fd: RawFd, action: impl FnOnce(&mut Set) -> T) -> Option<T> {
    let place = place(fd)?;
    sets(|sets| sets.get_mut(place)?.as_mut().map(action))
}

/// Calls `action` with a set, and makes one if `fd` is no set with streams yet. Returns `None` if the descriptor is too
/// high.
pub fn making<T>(fd: RawFd, action: impl FnOnce(&mut Set) -> T) -> Option<T> {
    let own = PLACES.get(fd as u32 as usize)?;
    sets(|sets| {
        if own.load(Ordering::Relaxed) == 0 {
            let free = sets.iter().position(Option::is_none).unwrap_or(sets.len());
            sets.resize_with(sets.len().max(free + 1), || None);
            sets[free] = Some(Set {
                fds: vec![fd],
                members: BTreeMap::new(),
                by_data: BTreeSet::new(),
                listed: BTreeSet::new(),
                round: (-1, Instant::now()),
            });
            own.store(free as u32 + 1, Ordering::Relaxed);
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
        sets[own.load(Ordering::Relaxed) as usize - 1].as_mut().map(action)
    })
}

/// Removes a set without members. Called after a call that made the set and failed.
pub fn unmake_empty(fd: RawFd) {
    let Some(place) = place(fd) else { return };
    sets(|sets| {
        let Some(one) = sets.get_mut(place) else { return };
        if let Some(set) = one.as_ref().filter(|set| set.members.is_empty() && set.fds.len() == 1) {
            PLACES[set.fds[0] as usize].store(0, Ordering::Relaxed);
            *one = None;
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    });
}

/// Notes that a set has got another descriptor.
pub fn copied(fd: RawFd, copy: RawFd) {
    let Some(place) = place(fd) else { return };
    let Some(new) = PLACES.get(copy as u32 as usize) else { return };
    sets(|sets| {
        if let Some(Some(set)) = sets.get_mut(place) {
            set.fds.push(copy);
            new.store(place as u32 + 1, Ordering::Relaxed);
        }
    });
}

/// Removes a descriptor that is to be closed: if it is a stream, from all sets; if it is a set, from that set.
pub fn forget(fd: RawFd) {
    forget_and(fd, |of, member| {
        // The kernel would keep the entry, because the library has the same open file. An entry that a parent has added
        // is left to the parent.
        if member.owner == fork::epoch() {
            // SAFETY: EPOLL_CTL_DEL ignores the event, which is null.
            unsafe { own::hw_own_epoll_ctl(of, libc::EPOLL_CTL_DEL, fd, ptr::null_mut()) };
        }
    });
}

/// Removes a descriptor as [`forget`], if it is closed already. It may be another file by now, so the kernel is not
/// told.
pub fn lost(fd: RawFd) {
    forget_and(fd, |_, _| ());
}

/// Removes a descriptor, and calls `left` with a descriptor of each set that the stream has left.
fn forget_and(fd: RawFd, left: impl Fn(RawFd, Member)) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    sets(|sets| {
        for set in sets.iter_mut().flatten() {
            if let (Some(member), Some(of)) = (set.remove(fd), set.fds.first()) {
                left(*of, member);
            }
        }
        let Some(place) = place(fd) else { return };
        PLACES[fd as usize].store(0, Ordering::Relaxed);
        if let Some(one) = sets.get_mut(place) {
            one.as_mut().into_iter().for_each(|set| set.fds.retain(|other| *other != fd));
            if one.as_ref().is_some_and(|set| set.fds.is_empty()) {
                *one = None;
                COUNT.fetch_sub(1, Ordering::Relaxed);
            }
        }
    });
}

/// Changes a member in all sets, and lists it for the next wait.
pub fn look_again(fd: RawFd, change: impl Fn(&mut Member)) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    sets(|sets| {
        for set in sets.iter_mut().flatten() {
            if let Some(member) = set.members.get_mut(&fd) {
                change(member);
                set.listed.insert(fd);
            }
        }
    });
}

impl Set {
    pub fn insert(&mut self, fd: RawFd, member: Member) {
        self.remove(fd);
        self.by_data.insert((member.data, fd));
        self.members.insert(fd, member);
    }

    pub fn remove(&mut self, fd: RawFd) -> Option<Member> {
        let member = self.members.remove(&fd)?;
        self.by_data.remove(&(member.data, fd));
        Some(member)
    }

    pub fn member(&mut self, fd: RawFd) -> Option<&mut Member> {
        self.members.get_mut(&fd)
    }

    /// Lists a member for the next wait, or unlists it.
    pub fn list(&mut self, fd: RawFd, is_listed: bool) {
        if is_listed {
            self.listed.insert(fd);
        } else {
            self.listed.remove(&fd);
        }
    }

    /// Returns the members with that data.
    pub fn with_data(&self, data: u64) -> Vec<(RawFd, Member)> {
        let fds = self.by_data.range((data, RawFd::MIN)..=(data, RawFd::MAX));
        fds.filter_map(|(_, fd)| Some((*fd, *self.members.get(fd)?))).collect()
    }

    /// Returns the members to look at before a wait.
    pub fn members_to_check(&mut self) -> Vec<(RawFd, Member)> {
        let (last, at) = self.round;
        if at.elapsed() >= ROUND_EVERY {
            let behind = self.members.range(last.saturating_add(1)..).take(ROUND);
            let next: Vec<RawFd> = behind.map(|(fd, _)| *fd).collect();
            self.round = (next.last().copied().filter(|_| next.len() == ROUND).unwrap_or(-1), Instant::now());
            self.listed.extend(next);
        }
        let Set { listed, members, .. } = self;
        listed.retain(|fd| members.contains_key(fd));
        let asked = listed.iter().filter_map(|fd| Some((*fd, *members.get(fd)?)));
        asked.filter(|(_, member)| !member.spent).collect()
    }
}

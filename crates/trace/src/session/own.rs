//! A thread's own log, where there are no restartable sequences.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use headwater_os::{clock, fork, ticks};
use headwater_shm::logs::{Alone, Logs};

use super::{count_outside, refused};

/// A log for a thread, in a session that this process has joined.
#[derive(Debug)]
pub(super) struct OwnLog {
    alone: Alone,
    /// Of the session, as events have it.
    tag: u8,
    /// Its stamps are the counter's.
    ticks: bool,
    /// Its thread is at an entry: what a signal handler writes meanwhile has no place. Written by that thread.
    busy: AtomicBool,
}

// Apart, because the first is read by a load and the second has something to do when the thread ends.
thread_local! {
    /// The log that this thread has claimed and may write to without a look at anything else.
    static OWN: Cell<Option<&'static OwnLog>> = const { Cell::new(None) };
    /// What it has claimed.
    static CLAIM: Claim = const { Claim { log: Cell::new(None) } };
    /// The thread is claiming one: what a signal handler writes meanwhile has no place.
    static CLAIMING: Cell<bool> = const { Cell::new(false) };
}

struct Claim {
    /// And the process that has claimed it: a forked child has another thread than the one whose log it is.
    log: Cell<Option<(&'static OwnLog, u64)>>,
}

/// The logs for threads in a session of that tag.
pub(super) fn all(logs: &Logs, tag: u8, ticks: bool) -> Vec<OwnLog> {
    let alone = (0..logs.len()).filter_map(|place| logs.alone(place));
    alone.map(|alone| OwnLog { alone, tag, ticks, busy: AtomicBool::new(false) }).collect()
}

/// The log of this thread in the session of that tag, if it has claimed one whose stamps are the counter's.
#[inline(always)]
pub(super) fn current(tag: u8) -> Option<&'static OwnLog> {
    OWN.get().filter(|own| own.tag == tag)
}

/// In a forked child: the log is the parent's.
pub(super) fn forget() {
    let _ = OWN.try_with(|own| own.set(None));
}

/// Appends an entry to this thread's log, after it has claimed one of `logs`, which are a session's, if it has none. What
/// cannot be written is counted.
#[cold]
#[inline(never)]
pub(super) fn claim_and_append(logs: &'static [OwnLog], tag: u8, words: &[u64]) {
    if let Some(own) = current(tag) {
        return own.append(ticks::now, words);
    }
    if CLAIMING.replace(true) {
        return count_outside(tag);
    }
    let claimed = CLAIM.try_with(|claim| claim.of(logs, tag)).ok().flatten();
    OWN.set(claimed.filter(|own| own.ticks));
    CLAIMING.set(false);
    match claimed {
        Some(own) if own.ticks => own.append(ticks::now, words),
        Some(own) => own.append(clock::now_ns, words),
        None => count_outside(tag),
    }
}

impl OwnLog {
    /// Appends an entry with the counter's stamp, as its owner, if nothing is in the way; if something is, nothing is done
    /// but `otherwise`.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, words: [u64; WORDS], otherwise: impl FnOnce()) {
        if !self.at_an_entry(|| self.alone.append_short(ticks::now, words)).unwrap_or(false) {
            otherwise();
        }
    }

    /// Appends an entry, as its owner. What cannot be written is counted.
    fn append(&self, time: impl Fn() -> u64, words: &[u64]) {
        match self.at_an_entry(|| self.alone.append(time(), words)) {
            Some(true) => {}
            Some(false) => refused(self.tag),
            None => count_outside(self.tag),
        }
    }

    /// Does it, unless this is a signal handler that has interrupted the thread at an entry.
    #[inline(always)]
    fn at_an_entry(&self, append: impl FnOnce() -> bool) -> Option<bool> {
        // Relaxed: one thread's own affair, like the fences: its signal handlers find it busy from before the first store
        // to after the last.
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let is_there = append();
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        Some(is_there)
    }
}

impl Claim {
    /// What this thread has in that session; one that it takes now, if it can.
    fn of(&self, logs: &'static [OwnLog], tag: u8) -> Option<&'static OwnLog> {
        let (epoch, thread) = (fork::epoch(), u64::from(headwater_os::thread::id()));
        let held = self.log.take().filter(|(_, process)| *process == epoch);
        let own = match held {
            Some((own, _)) if own.tag == tag => own,
            other => {
                // Of a session that was left.
                other.inspect(|(own, _)| own.alone.log().give_back());
                let own = logs.iter().find(|own| own.alone.log().claim(thread))?;
                // In a forked child it may have been another thread's.
                own.busy.store(false, Ordering::Relaxed);
                own
            }
        };
        self.log.set(Some((own, epoch)));
        Some(own)
    }
}

impl Drop for Claim {
    /// The thread ends: another may go on with its log.
    fn drop(&mut self) {
        let _ = OWN.try_with(|own| own.set(None));
        if let Some((own, _)) = self.log.take().filter(|(_, process)| *process == fork::epoch()) {
            own.alone.log().give_back();
        }
    }
}

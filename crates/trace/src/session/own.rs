//! A thread's own log, where there are no restartable sequences.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use headwater_os::rseq::Appended;
use headwater_os::thread::AtEnd;
use headwater_os::{clock, fork, thread_word, ticks};
use headwater_shm::logs::{Logs, ThreadWriter};

use super::write::Attempts;
use super::{AT_ONCE, count_outside, is_active, refused};

/// A log for a thread, in a session that this process has joined. On separate cache lines: if two threads' flags shared
/// a line, an event would cost more than twice as much.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct OwnLog {
    writer: ThreadWriter,
    /// Of the session, as events have it.
    tag: u8,
    /// Its stamps come from the time-stamp counter.
    ticks: bool,
    /// Its thread is writing an entry: entries of a signal handler are lost meanwhile. Written by that thread.
    busy: AtomicBool,
}

thread_word! {
    /// The log that this thread has claimed and may write to without further checks.
    mod own_log: &'static OwnLog = "headwater_trace_own_log_0_1_0"
}

// None of them has a destructor: registering one allocates, and the first event of a thread may stand in a signal
// handler.
thread_local! {
    /// Its claims, in each session of its process, and the process that has claimed: a forked child has another thread
    /// than the owner of the log.
    static CLAIMS: [Claim; AT_ONCE] = const { [const { Cell::new(None) }; AT_ONCE] };
    /// The thread is claiming one: entries of a signal handler are lost meanwhile.
    static CLAIMING: Cell<bool> = const { Cell::new(false) };
}

type Claim = Cell<Option<(&'static OwnLog, u64)>>;

/// When a thread with claims ends, other threads may use its logs.
static AT_END: AtEnd = AtEnd::new(give_back);

/// Must be called before a thread can claim a log.
///
/// # Errors
/// As those of [`AtEnd::prepare`].
pub(super) fn prepare() -> io::Result<()> {
    AT_END.prepare()
}

/// The logs for threads in a session of that tag.
pub(super) fn all(logs: &Logs, tag: u8, ticks: bool) -> Vec<OwnLog> {
    let writers = (0..logs.len()).filter_map(|place| logs.thread_writer(place));
    writers.map(|writer| OwnLog { writer, tag, ticks, busy: AtomicBool::new(false) }).collect()
}

/// The log of this thread in the session of that tag, if it has claimed one whose stamps are the counter's.
#[inline(always)]
pub(super) fn current(tag: u8) -> Option<&'static OwnLog> {
    own_log::get().filter(|own| own.tag == tag)
}

/// In a forked child: the log is the parent's.
pub(super) fn forget() {
    own_log::set(None);
}

/// Appends an entry to this thread's log; without one it first claims one of `logs`, which belong to a session. An
/// entry that cannot be written is counted.
#[cold]
#[inline(never)]
pub(super) fn claim_and_append(logs: &'static [OwnLog], tag: u8, words: &[u64]) {
    if let Some(own) = current(tag) {
        return own.append(ticks::now, words);
    }
    if CLAIMING.replace(true) {
        return count_outside(tag);
    }
    let claimed = CLAIMS.with(|claims| claim(claims, logs, tag));
    own_log::set(claimed.filter(|own| own.ticks));
    CLAIMING.set(false);
    match claimed {
        Some(own) if own.ticks => own.append(ticks::now, words),
        Some(own) => own.append(clock::now_ns, words),
        None => count_outside(tag),
    }
}

impl OwnLog {
    /// Appends an entry with the counter's stamp, as its owner, if the fast path applies; if it does not, only calls
    /// `otherwise`.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, words: [u64; WORDS], otherwise: impl FnOnce()) {
        if !self.at_an_entry(|| self.writer.append_short(ticks::now, words)).unwrap_or(false) {
            otherwise();
        }
    }

    /// Appends an entry, as its owner. An entry that cannot be written is counted.
    fn append(&self, time: impl Fn() -> u64, words: &[u64]) {
        let mut attempts = Attempts::of(self.tag);
        loop {
            match self.at_an_entry(|| self.writer.append(time(), words)) {
                Some(Appended::Due) if attempts.wake_recorder() => {}
                Some(Appended::Full) if attempts.wait_for_room() => {}
                Some(Appended::Full) => {
                    // As an append: a signal handler between its load and its store would count nothing.
                    self.at_an_entry(|| self.writer.count_lost());
                    return refused(self.tag);
                }
                Some(Appended::Written) => return,
                Some(Appended::Due | Appended::Elsewhere) | None => return count_outside(self.tag),
            }
        }
    }

    /// Calls `append`, unless this is a signal handler that has interrupted the thread in an entry.
    #[inline(always)]
    fn at_an_entry<T>(&self, append: impl FnOnce() -> T) -> Option<T> {
        // Relaxed: only one thread uses it, as with the fences: its signal handlers find it busy from before the first
        // store to after the last.
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let appended = append();
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        Some(appended)
    }
}

/// This thread's log in that session; claims one if it has none.
fn claim(claims: &[Claim], logs: &'static [OwnLog], tag: u8) -> Option<&'static OwnLog> {
    let (epoch, thread) = (fork::epoch(), u64::from(headwater_os::thread::id()));
    let held = |claim: &Claim| claim.get().filter(|(_, process)| *process == epoch).map(|(own, _)| own);
    if let Some(own) = claims.iter().filter_map(held).find(|own| own.tag == tag) {
        return Some(own);
    }
    let is_free = |claim: &&Claim| held(claim).is_none_or(|own| !is_active(own.tag));
    let place = claims.iter().find(is_free)?;
    // A log of a session that was left.
    held(place).inspect(|own| own.writer.log().give_back());
    place.set(None);
    let own = logs.iter().find(|own| own.writer.log().claim(thread))?;
    // In a forked child it may have belonged to another thread.
    own.busy.store(false, Ordering::Relaxed);
    place.set(Some((own, epoch)));
    AT_END.ask();
    Some(own)
}

/// At the end of a thread: other threads may use its logs.
extern "C" fn give_back(_: *mut c_void) {
    own_log::set(None);
    let here = fork::epoch();
    CLAIMS.with(|claims| {
        let held = claims.iter().filter_map(Cell::take).filter(|(_, process)| *process == here);
        held.for_each(|(own, _)| own.writer.log().give_back());
    });
}

#[cfg(test)]
mod tests;

//! What a thread knows of the program from its earlier calls: which memory it may use, and where its handles of the streams are that
//! it has used last.
//!
//! One count makes all of it wrong: it rises when the program unmaps or protects memory, and when a stream is closed in this process. What
//! a thread has learned is right as long as the count is the one at which it was learned. So a call that finds its buffer and its
//! stream here compares one word for both.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

use headwater_os::per_thread::Place;
use headwater_streams::Handle;

use crate::memory::{self, PAGE, Use};
use crate::table::Open;

/// How many ranges a thread remembers, of each kind.
const RANGES: usize = 4;

/// How many handles a thread remembers, by the last bits of the streams' numbers.
const HANDLES: usize = 8;

/// Counts the changes of the program that make knowledge wrong.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// The program has unmapped memory, or changed what may be done with it; or a stream has been taken out of the table, to be
/// closed.
#[inline]
pub fn changed() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// The count of changes.
#[inline(always)]
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

#[derive(Debug, Clone, Copy, Default)]
struct Range {
    from: usize,
    len: usize,
}

impl Range {
    #[inline(always)]
    fn has(self, from: usize, len: usize) -> bool {
        len <= self.len && from.wrapping_sub(self.from) <= self.len - len
    }
}

/// The calling thread's handle of a stream. A signal handler may read it at any time: the stream is null while the place is written.
#[derive(Debug, Default)]
struct KnownHandle {
    open: AtomicPtr<Open>,
    fd: Cell<usize>,
    place: Cell<Option<Place<Handle>>>,
}

/// What a thread knows.
#[derive(Debug, Default)]
pub struct Known {
    /// The count of changes for which it is right; 0 for none. Written after what it says is right was written.
    changes: AtomicU64,
    /// The one that was used last in front.
    read: [Cell<Range>; RANGES],
    written: [Cell<Range>; RANGES],
    handles: [KnownHandle; HANDLES],
    /// The thread is writing here: a signal handler learns nothing meanwhile.
    learning: Cell<bool>,
}

impl Known {
    /// A new thread has the record.
    pub fn forget(&self) {
        self.changes.store(0, Ordering::Release);
    }

    /// The count of changes for which the thread's knowledge is right.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        // Acquire: what is read after it is of this count or a later one.
        self.changes.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn ranges(&self, usage: Use) -> &[Cell<Range>; RANGES] {
        match usage {
            Use::Read => &self.read,
            Use::Write => &self.written,
        }
    }

    /// Whether the range that was used last has these bytes, if nothing has changed.
    #[inline(always)]
    pub fn had(&self, usage: Use, from: usize, len: usize) -> bool {
        self.ranges(usage)[0].get().has(from, len)
    }

    /// Whether the range that was used last has these bytes.
    #[inline(always)]
    pub fn may_use(&self, usage: Use, from: usize, len: usize) -> bool {
        self.changes() == changes() && self.had(usage, from, len)
    }

    /// Forgets all if something has changed. Returns the count for which all is right that is learned from now on.
    fn refresh(&self) -> u64 {
        let now = changes();
        if self.changes() != now {
            self.read.iter().chain(&self.written).for_each(|range| range.set(Range::default()));
            self.handles.iter().for_each(|handle| handle.open.store(ptr::null_mut(), Ordering::Relaxed));
            self.changes.store(now, Ordering::Release);
        }
        now
    }

    #[cold]
    #[inline(never)]
    pub fn look(&self, usage: Use, from: usize, len: usize) -> bool {
        let count = self.refresh();
        let known = self.ranges(usage);
        if let Some(at) = known.iter().position(|range| range.get().has(from, len)) {
            self.learn(count, || {
                let found = known[at].get();
                (0..at).rev().for_each(|before| known[before + 1].set(known[before].get()));
                known[0].set(found);
                || known[0].set(Range::default())
            });
            return true;
        }
        let first = from & !(PAGE - 1);
        let Some(last) = from.checked_add(len).and_then(|end| end.checked_next_multiple_of(PAGE)) else { return false };
        if !memory::is_there(usage, first, last - first) {
            return false;
        }
        self.learn(count, || {
            // The oldest one goes.
            known.windows(2).rev().for_each(|pair| pair[1].set(pair[0].get()));
            known[0].set(Range { from: first, len: last - first });
            || known[0].set(Range::default())
        });
        true
    }

    /// Has `write` note something that is right at that count; what it returns takes the note back.
    fn learn<U: FnOnce()>(&self, count: u64, write: impl FnOnce() -> U) {
        if self.learning.replace(true) {
            return;
        }
        // A signal handler of this thread sees that.
        compiler_fence(Ordering::SeqCst);
        let undo = write();
        compiler_fence(Ordering::SeqCst);
        if self.changes() != count {
            // Such a handler has changed something, and the thread has begun anew with another count.
            undo();
        }
        compiler_fence(Ordering::SeqCst);
        self.learning.set(false);
    }

    /// Where the thread's handle of a stream is, if nothing has changed since [`Known::changes`] was asked, before this.
    #[inline(always)]
    pub fn handle(&self, fd: usize, open: *const Open) -> Option<Place<Handle>> {
        let known = &self.handles[fd % HANDLES];
        // Acquire: before the place. The number too: a signal handler may have closed this stream and opened another one, at its
        // address and under another number, and learned that.
        let is_known = ptr::eq(known.open.load(Ordering::Acquire), open) && known.fd.get() == fd;
        if is_known { known.place.get() } else { None }
    }

    /// Remembers where the thread's handle of a stream is. The caller is in the middle of a call on it; `is_there` tells whether
    /// the number is still that stream.
    pub fn remember(
        &self,
        fd: usize,
        open: *const Open,
        place: Option<Place<Handle>>,
        is_there: impl FnOnce() -> bool,
    ) {
        let count = self.refresh();
        // After the count was read: if the stream is closed later, the count is another one.
        if place.is_none() || !is_there() {
            return;
        }
        let known = &self.handles[fd % HANDLES];
        self.learn(count, || {
            known.open.store(ptr::null_mut(), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            known.fd.set(fd);
            known.place.set(place);
            // Release: after the place.
            known.open.store(open.cast_mut(), Ordering::Release);
            || known.open.store(ptr::null_mut(), Ordering::Relaxed)
        });
    }
}

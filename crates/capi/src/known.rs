//! Keeps what a thread has learned from the program's earlier calls: which memory the program may use, and where the
//! thread's handles of recently used streams are.
//!
//! All of it becomes invalid at once, by one count. The count rises when the program unmaps or protects memory, and
//! when a stream is closed in this process. What a thread has learned is valid as long as the count is the one at which
//! the thread learned it. So a call that finds its buffer and its stream here compares one word for both.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

use headwater_os::per_thread::Place;
use headwater_streams::Handle;

use crate::memory::{self, PAGE, Use};
use crate::table::Open;

/// How many ranges a thread remembers, for reading and for writing each.
const RANGES: usize = 4;

/// How many handles a thread remembers. The last bits of a stream's descriptor choose the place.
const HANDLES: usize = 8;

/// Counts the changes that make what threads have learned invalid.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// Counts a change: the program has unmapped memory or changed its protection, or a stream was taken out of the table
/// to be closed.
#[inline]
pub fn changed() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// Returns the count of changes.
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

/// The calling thread's handle of a stream. A signal handler may read it at any time: `open` is null while the other
/// fields are written.
#[derive(Debug, Default)]
struct KnownHandle {
    open: AtomicPtr<Open>,
    fd: Cell<usize>,
    place: Cell<Option<Place<Handle>>>,
}

/// Holds what a thread has learned.
#[derive(Debug, Default)]
pub struct Known {
    /// The count of changes at which the other fields are valid; 0 if none. Written after the other fields.
    changes: AtomicU64,
    /// Ranges that may be read; the most recently used one is the first.
    read: [Cell<Range>; RANGES],
    written: [Cell<Range>; RANGES],
    handles: [KnownHandle; HANDLES],
    /// Whether the thread is writing here. A signal handler of the thread learns nothing meanwhile.
    learning: Cell<bool>,
}

impl Known {
    /// Forgets everything, because a new thread has taken over the record.
    pub fn forget(&self) {
        self.changes.store(0, Ordering::Release);
    }

    /// Returns the count of changes at which the thread's knowledge is valid.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        // Acquire pairs with the Release in `refresh`: what is read after it is of this count or a later one.
        self.changes.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn ranges(&self, usage: Use) -> &[Cell<Range>; RANGES] {
        match usage {
            Use::Read => &self.read,
            Use::Write => &self.written,
        }
    }

    /// Returns whether the most recently used range contains these bytes. The caller checks that nothing has changed.
    #[inline(always)]
    pub fn had(&self, usage: Use, from: usize, len: usize) -> bool {
        self.ranges(usage)[0].get().has(from, len)
    }

    /// Returns whether the most recently used range contains these bytes, and nothing has changed since.
    #[inline(always)]
    pub fn may_use(&self, usage: Use, from: usize, len: usize) -> bool {
        self.changes() == changes() && self.had(usage, from, len)
    }

    /// Forgets everything if something has changed. Returns the count at which everything that is learned from now on
    /// is valid.
    fn refresh(&self) -> u64 {
        let now = changes();
        if self.changes() != now {
            self.read.iter().chain(&self.written).for_each(|range| range.set(Range::default()));
            self.handles.iter().for_each(|handle| handle.open.store(ptr::null_mut(), Ordering::Relaxed));
            self.changes.store(now, Ordering::Release);
        }
        now
    }

    /// Looks for these bytes in what the thread has learned, then asks the kernel. Returns whether the program may use
    /// them.
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
            // The oldest range is dropped.
            known.windows(2).rev().for_each(|pair| pair[1].set(pair[0].get()));
            known[0].set(Range { from: first, len: last - first });
            || known[0].set(Range::default())
        });
        true
    }

    /// Calls `write`, which notes something that is valid at `count`. The function that `write` returns removes the
    /// note; it is called if the count has changed meanwhile.
    fn learn<U: FnOnce()>(&self, count: u64, write: impl FnOnce() -> U) {
        if self.learning.replace(true) {
            return;
        }
        // The fences order the stores for a signal handler of this thread.
        compiler_fence(Ordering::SeqCst);
        let undo = write();
        compiler_fence(Ordering::SeqCst);
        if self.changes() != count {
            // A signal handler has changed something, and the thread has begun anew with another count.
            undo();
        }
        compiler_fence(Ordering::SeqCst);
        self.learning.set(false);
    }

    /// Returns where the thread's handle of a stream is. It is valid if nothing has changed since the caller asked
    /// [`Known::changes`], which it must do first.
    #[inline(always)]
    pub fn handle(&self, fd: usize, open: *const Open) -> Option<Place<Handle>> {
        let known = &self.handles[fd % HANDLES];
        // Acquire pairs with the Release in `remember`: `place` is read after it. The descriptor is compared too: a
        // signal handler may have closed this stream, opened another one at the same address under another descriptor,
        // and learned that.
        let is_known = ptr::eq(known.open.load(Ordering::Acquire), open) && known.fd.get() == fd;
        if is_known { known.place.get() } else { None }
    }

    /// Remembers where the thread's handle of a stream is. The caller is in the middle of a call on the stream;
    /// `is_there` tells whether `fd` is still that stream.
    pub fn remember(
        &self,
        fd: usize,
        open: *const Open,
        place: Option<Place<Handle>>,
        is_there: impl FnOnce() -> bool,
    ) {
        let count = self.refresh();
        // This comes after the count was read: if the stream is closed later, the count is another one.
        if place.is_none() || !is_there() {
            return;
        }
        let known = &self.handles[fd % HANDLES];
        self.learn(count, || {
            known.open.store(ptr::null_mut(), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            known.fd.set(fd);
            known.place.set(place);
            // Release pairs with the Acquire in `handle`: the other fields are written before.
            known.open.store(open.cast_mut(), Ordering::Release);
            || known.open.store(ptr::null_mut(), Ordering::Relaxed)
        });
    }
}

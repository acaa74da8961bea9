//! The definition of a module or driver, and the pair of queues that C has for one stream in this process.

use std::ffi::c_int;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use headwater_os::set_once::SetOnce;
use headwater_streams::{LocalState, Queue, QueueRef, Side};

use super::block;
use super::context;
use super::types::{CQueue, Credentials, Mblk, QREADR, QUSE, Qinit};

/// A module or driver in C, as it was registered.
#[derive(Debug)]
pub struct Definition {
    pub name: &'static str,
    pub read: *mut Qinit,
    pub write: *mut Qinit,
    pub is_driver: bool,
    /// The bytes of memory that a driver has in the stream.
    pub shared: usize,
    /// Whether the read side and the write side have service procedures.
    pub services: [bool; 2],
    pub hiwat: u32,
    pub lowat: u32,
    pub minpsz: u32,
    /// 0 means any size.
    pub maxpsz: u32,
}

// SAFETY: strmod(9) requires that a streamtab and its parts stay where they are and are not changed, and that C's
// procedures may run in any thread.
unsafe impl Send for Definition {}
// SAFETY: `read` and `write` point at parts of a streamtab, which strmod(9) requires not to be changed.
unsafe impl Sync for Definition {}

/// The queues of one module in one stream.
///
/// `queues` is C's `q[0]` and `q[1]`. `behind` has one queue for each of them, which stands for the next queue in the
/// stream: C calls `canput(q->q_next)` and `put(q->q_next, mp)`.
#[repr(C)]
pub struct Pair {
    queues: [CQueue; 2],
    behind: [CQueue; 2],
    pub definition: &'static Definition,
    /// How the queues are reached from outside of procedures. Set by the first procedure.
    reference: Mutex<Option<QueueRef>>,
    /// The block that `q_first` points to if the queue is not empty.
    placeholder: *mut Mblk,
    /// The state of the module: [`NEW`], [`OPENED`] or [`CLOSED`].
    state: AtomicU32,
    /// Held while the open procedure runs.
    opening: Mutex<()>,
}

/// The longest time that noting how a queue is reached takes, even on a loaded machine.
const NOTED_MAX: Duration = Duration::from_millis(100);

const NEW: u32 = 0;
const OPENED: u32 = 1;
const CLOSED: u32 = 2;

/// Which queue of a pair a pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located {
    pub side: Side,
    /// Whether it is the queue that stands for the one behind.
    pub is_behind: bool,
}

impl Pair {
    fn new(definition: &'static Definition) -> *mut Pair {
        let pair = Box::into_raw(Box::new(Pair {
            queues: [CQueue::empty(), CQueue::empty()],
            behind: [CQueue::empty(), CQueue::empty()],
            definition,
            reference: Mutex::new(None),
            placeholder: block::allocate(0),
            state: AtomicU32::new(NEW),
            opening: Mutex::new(()),
        }));
        let sides = [(Side::Read, definition.read, QREADR | QUSE), (Side::Write, definition.write, QUSE)];
        for (side, qinit, flag) in sides {
            let has_next = !(definition.is_driver && side == Side::Write);
            // SAFETY: `pair` was just made by `Box::into_raw`, and no other thread has it.
            unsafe {
                let behind = &raw mut (*pair).behind[side as usize];
                ((*behind).qinfo, (*behind).flag, (*behind).home) = (context::behind_qinit(), flag, pair.cast());
                let queue = &raw mut (*pair).queues[side as usize];
                ((*queue).qinfo, (*queue).flag, (*queue).home) = (qinit, flag, pair.cast());
                (*queue).next = if has_next { behind } else { ptr::null_mut() };
                ((*queue).hiwat, (*queue).lowat) = (definition.hiwat as usize, definition.lowat as usize);
                (*queue).minpsz = definition.minpsz as isize;
                (*queue).maxpsz = if definition.maxpsz == 0 { -1 } else { definition.maxpsz as isize };
            }
        }
        pair
    }

    /// Finds the pair of a queue that C has passed. Returns `None` for null, and for a queue that is not this
    /// library's.
    ///
    /// # Safety
    /// `queue` is null or a queue.
    pub unsafe fn find<'a>(queue: *mut CQueue) -> Option<(&'a Pair, Located)> {
        // SAFETY: the caller promises that `queue` is null or a queue. Its `home` is set when it is made, and the pair
        // lives as long as its queues.
        let pair: &Pair = unsafe { queue.as_ref()?.home.cast::<Pair>().as_ref()? };
        let sides = [Side::Read, Side::Write];
        let found = sides.into_iter().find_map(|side| {
            let is_own = ptr::eq(queue, &raw const pair.queues[side as usize]);
            let is_behind = ptr::eq(queue, &raw const pair.behind[side as usize]);
            (is_own || is_behind).then_some(Located { side, is_behind })
        });
        Some((pair, found?))
    }

    /// Returns the queue of a side, as C knows it.
    pub fn queue(&self, side: Side) -> *mut CQueue {
        (&raw const self.queues[side as usize]).cast_mut()
    }

    /// Returns the queue that stands for the one behind, as C knows it.
    pub fn behind(&self, side: Side) -> *mut CQueue {
        (&raw const self.behind[side as usize]).cast_mut()
    }

    /// Copies the length of a queue to the fields that C reads.
    pub fn refresh(&self, queue: &Queue<'_, '_, '_>) {
        let (messages, bytes) = queue.size(0);
        let fields = self.queue(queue.side());
        let first = if messages == 0 { ptr::null_mut() } else { self.placeholder };
        // SAFETY: `fields` is a queue of this pair. Its fields belong to the one thread that runs a procedure of this
        // side.
        unsafe { ((*fields).first, (*fields).last, (*fields).count) = (first, first, bytes) };
    }

    pub fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPENED
    }

    /// Calls `open` if the module is not open here; of several threads only one does. Returns 0 or an errno.
    pub fn open_once(&self, open: impl FnOnce() -> c_int) -> c_int {
        if self.is_open() {
            return 0;
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_open() {
            return 0;
        }
        let failed = open();
        if failed == 0 {
            self.state.store(OPENED, Ordering::Release);
        }
        failed
    }

    /// Marks the module as closed. Returns whether the close procedure is to be called now.
    pub fn take_open(&self) -> bool {
        self.state.swap(CLOSED, Ordering::AcqRel) == OPENED
    }

    /// Returns how the queue of a side is reached from outside. Also `None` in a child that was forked while a thread
    /// of its parent was noting it.
    pub fn reference(&self, side: Side) -> Option<QueueRef> {
        let until = Instant::now() + NOTED_MAX;
        loop {
            match self.reference.try_lock() {
                Ok(reference) => return reference.as_ref().map(|reference| reference.of_side(side)),
                Err(TryLockError::Poisoned(_)) => return None,
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return None,
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }

    /// Notes how the queues are reached, if that is not known.
    pub fn set_reference(&self, queue: &Queue<'_, '_, '_>) {
        // If the lock is held, another thread notes the same at this moment, or this is a forked child in which it
        // stays held.
        if let Ok(mut reference) = self.reference.try_lock()
            && !reference.as_ref().is_some_and(QueueRef::is_open)
        {
            *reference = queue.reference();
        }
    }
}

/// The pair that a stream keeps for this process.
pub struct Instance {
    pair: *mut Pair,
    /// The push that the pair belongs to.
    generation: u64,
}

// SAFETY: the fields of a queue belong to the thread that runs a procedure of its side; locks and atomics guard the
// rest.
unsafe impl Send for Instance {}
// SAFETY: the fields of a queue belong to the thread that runs a procedure of its side; locks and atomics guard the
// rest.
unsafe impl Sync for Instance {}

impl fmt::Debug for Instance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Instance of {}", self.pair().definition.name)
    }
}

impl Instance {
    pub fn new(definition: &'static Definition, generation: u64) -> Instance {
        Instance { pair: Pair::new(definition), generation }
    }

    pub fn pair(&self) -> &Pair {
        // SAFETY: the pair is freed only when this is dropped.
        unsafe { &*self.pair }
    }

    pub fn is_of(&self, definition: &Definition, generation: u64) -> bool {
        self.generation == generation && ptr::eq(self.pair().definition, definition)
    }
}

impl LocalState for Instance {
    fn closed(&self) {
        let pair = self.pair();
        if pair.take_open() {
            context::close_detached(pair);
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: this owns the pair and its placeholder, and no procedure runs any more.
        unsafe {
            block::free(self.pair().placeholder);
            drop(Box::from_raw(self.pair));
        }
    }
}

/// Returns the credentials of this process, which C may read at any time.
pub fn own_credentials() -> *mut Credentials {
    static OWN: SetOnce<Credentials> = SetOnce::new();
    ptr::from_ref(OWN.get().unwrap_or_else(|| OWN.set(Credentials::own()))).cast_mut()
}

//! The library's thread of a process for modules in C. It runs timeouts and bufcalls, and sends what procedures send to
//! other streams.
//!
//! The first use starts the thread. A forked child has none of its parent's requests, and starts a thread of its own.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_os::fork::epoch;
use headwater_os::thread::Thread;
use headwater_streams::{Message, Queue, QueueRef, Result, Side};

use super::bridge;
use super::context::{is_in_procedure, try_enter};
use super::instance::{Definition, Pair};

/// The clock ticks of a second.
const HZ: i64 = 100;
/// How long the thread waits before it tries again what could not be done yet.
const REST: Duration = Duration::from_millis(5);
/// The bytes that may wait for a queue of another stream. If there are more, `canput` returns false.
const POSTED_MAX: usize = 64 << 10;

/// Work that a procedure has left to be done in another stream.
#[derive(Debug)]
pub enum Post {
    PutNext(Message<'static>),
    Put(Message<'static>),
    PutQueue(Message<'static>),
    Enable,
}

/// A callback of C, with its argument.
#[derive(Debug, Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    /// The queue as whose procedure a callback of qtimeout runs; null for any other callback.
    queue: *const Pair,
    side: Side,
    /// The bytes that must be available for a callback of bufcall.
    wants: Option<usize>,
}

// SAFETY: strmod(9) says that callbacks run in another thread, so C has prepared `argument` and `queue` for that.
unsafe impl Send for Callback {}

#[derive(Debug)]
struct Posted {
    key: usize,
    reference: QueueRef,
    definition: &'static Definition,
    post: Option<Post>,
}

#[derive(Debug, Default)]
struct Requests {
    last_id: i32,
    calls: BTreeMap<(Instant, i32), Callback>,
    /// When each callback is due, by its identifier.
    due: BTreeMap<i32, Instant>,
    running: Option<i32>,
    posts: VecDeque<Posted>,
}

#[derive(Debug)]
struct Worker {
    epoch: u64,
    requests: Mutex<Requests>,
    changed: Condvar,
    /// Signalled when a callback has returned.
    returned: Condvar,
}

static WORKER: AtomicPtr<Worker> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Returns this process's worker. `None` if no thread can be started.
fn worker() -> Option<&'static Worker> {
    let known = WORKER.load(Ordering::Acquire);
    // SAFETY: WORKER is null or a worker, and workers are never freed: a forked child leaves its parent's as it is.
    if let Some(worker) = unsafe { known.as_ref() }
        && worker.epoch == epoch()
    {
        return Some(worker);
    }
    let (requests, changed, returned) = Default::default();
    let new = Box::leak(Box::new(Worker { epoch: epoch(), requests, changed, returned }));
    match WORKER.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let new: &'static Worker = new;
            if Thread::start(move || new.serve()).is_err() {
                // The next request tries again.
                let _ =
                    WORKER.compare_exchange(ptr::from_ref(new).cast_mut(), known, Ordering::AcqRel, Ordering::Acquire);
                return None;
            }
            Some(new)
        }
        Err(_) => worker(),
    }
}

impl Worker {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        IS_WORKER.set(true);
        loop {
            let mut requests = self.lock();
            let posts = std::mem::take(&mut requests.posts);
            let due = requests.take_due();
            if posts.is_empty() && due.is_none() {
                let next = requests.calls.keys().next().map(|(due, _)| *due);
                drop(match next {
                    Some(next) => {
                        let time = next.saturating_duration_since(Instant::now());
                        self.changed.wait_timeout(requests, time).unwrap_or_else(PoisonError::into_inner).0
                    }
                    None => self.changed.wait(requests).unwrap_or_else(PoisonError::into_inner),
                });
                continue;
            }
            drop(requests);
            if let Some((id, callback)) = due {
                self.call(id, callback);
            }
            if !posts.is_empty() {
                self.send(posts);
            }
        }
    }

    fn call(&self, id: i32, callback: Callback) {
        let is_done = callback.run();
        let mut requests = self.lock();
        requests.running = None;
        if is_done {
            requests.due.remove(&id);
        } else if let Some(due) = requests.due.get_mut(&id) {
            let again = Instant::now() + REST;
            *due = again;
            requests.calls.insert((again, id), callback);
        }
        self.returned.notify_all();
    }

    /// Sends what was posted. What a stream does not take yet is put back, with everything posted later for the same
    /// queue.
    fn send(&self, posts: VecDeque<Posted>) {
        let mut left = VecDeque::new();
        for mut posted in posts {
            let waits = left.iter().any(|other: &Posted| other.key == posted.key);
            if waits || !posted.send() {
                left.push_back(posted);
            }
        }
        if left.is_empty() {
            return;
        }
        let mut requests = self.lock();
        left.extend(requests.posts.drain(..));
        requests.posts = left;
        drop(requests);
        std::thread::sleep(REST);
    }
}

impl Requests {
    fn take_due(&mut self) -> Option<(i32, Callback)> {
        let (&(due, id), callback) = self.calls.first_key_value()?;
        let callback = *callback;
        (due <= Instant::now()).then(|| {
            self.calls.remove(&(due, id));
            self.running = Some(id);
            (id, callback)
        })
    }
}

impl Callback {
    /// Runs the callback. Returns false if it is to be tried again.
    fn run(&self) -> bool {
        if let Some(wanted) = self.wants
            && Vec::<u8>::new().try_reserve_exact(wanted).is_err()
        {
            return false;
        }
        // SAFETY: C has asked for the call of `function` with `argument`. A module that is closed has taken its
        // requests back, so `queue` is null or a pair that lives.
        unsafe {
            let Some(pair) = self.queue.as_ref() else {
                (self.function)(self.argument);
                return true;
            };
            match try_enter(pair, self.side, |_| {
                (self.function)(self.argument);
                Some(())
            }) {
                Err(error) => !error.is_held(),
                Ok(_) => true,
            }
        }
    }
}

impl Posted {
    /// Sends what was posted. Returns false if the stream does not take it yet.
    fn send(&mut self) -> bool {
        let (definition, post) = (self.definition, &mut self.post);
        let sent = self.reference.with(|queue| send_by(queue, definition, post));
        match sent {
            Err(error) => !error.is_held(),
            Ok(is_sent) => is_sent,
        }
    }
}

fn send_by(queue: &mut Queue<'_, '_, '_>, definition: &'static Definition, place: &mut Option<Post>) -> Result<bool> {
    // What is taken out of `place` below cannot be put back.
    queue.wait_for_others();
    if let Some(Post::PutNext(message)) = place
        && !message.header.kind.is_high_priority()
        && !queue.can_put_next(message.header.band)?
    {
        return Ok(false);
    }
    match place.take() {
        Some(Post::PutNext(message)) => queue.put_next(message)?,
        Some(Post::Put(message)) => bridge::put(definition, message, queue)?,
        Some(Post::PutQueue(message)) => queue.put_queue(message)?,
        Some(Post::Enable) => queue.enable(),
        None => {}
    }
    Ok(true)
}

/// Leaves something to be done in another stream. It is lost if no thread can be started, or if no procedure has run in
/// that stream.
pub fn post(pair: &Pair, side: Side, post: Post) {
    let (Some(worker), Some(reference)) = (worker(), pair.reference(side)) else { return };
    let key = pair.queue(side).addr();
    worker.lock().posts.push_back(Posted { key, reference, definition: pair.definition, post: Some(post) });
    worker.changed.notify_one();
}

/// Returns whether less than [`POSTED_MAX`] bytes wait for a queue of another stream.
pub fn has_room(pair: &Pair, side: Side) -> bool {
    let Some(worker) = worker() else { return false };
    let key = pair.queue(side).addr();
    let len = |posted: &Posted| match &posted.post {
        Some(Post::PutNext(message) | Post::Put(message) | Post::PutQueue(message)) => message.len(),
        _ => 0,
    };
    let requests = worker.lock();
    requests.posts.iter().filter(|posted| posted.key == key).map(len).sum::<usize>() < POSTED_MAX
}

/// Requests a callback (timeout, qtimeout, bufcall). Returns its identifier, or 0 if no thread can be started.
pub fn request(
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    ticks: i64,
    queue: Option<(&Pair, Side)>,
    wants: Option<usize>,
) -> i32 {
    let (Some(function), Some(worker)) = (function, worker()) else { return 0 };
    let time = Duration::from_millis(ticks.max(0) as u64 * 1000 / HZ as u64);
    let (queue, side) = queue.map_or((ptr::null(), Side::Read), |(pair, side)| (ptr::from_ref(pair), side));
    let mut requests = worker.lock();
    let id = loop {
        requests.last_id = requests.last_id.checked_add(1).unwrap_or(1);
        if !requests.due.contains_key(&requests.last_id) {
            break requests.last_id;
        }
    };
    let due = Instant::now() + time;
    requests.calls.insert((due, id), Callback { function, argument, queue, side, wants });
    requests.due.insert(id, due);
    drop(requests);
    worker.changed.notify_one();
    id
}

/// Takes a request back (untimeout, quntimeout, unbufcall). Returns the ticks that were left; -1 if the callback was
/// called, or is not known. If the callback is running, this waits until it has returned, unless the caller is the
/// callback itself or a procedure.
pub fn take_back(id: i64) -> i64 {
    let (Ok(id), Some(worker)) = (i32::try_from(id), worker()) else { return -1 };
    let mut requests = worker.lock();
    let Some(due) = requests.due.remove(&id) else { return -1 };
    if requests.calls.remove(&(due, id)).is_some() {
        let left = due.saturating_duration_since(Instant::now());
        return left.as_millis() as i64 * HZ / 1000;
    }
    while requests.running == Some(id) && !IS_WORKER.get() && !is_in_procedure() {
        requests = worker.returned.wait(requests).unwrap_or_else(PoisonError::into_inner);
    }
    -1
}

//! Which of the program's descriptors are streams. Each such number is a kernel descriptor of the end's socket or pipe, so that
//! fork, exec, poll and the last close work by the kernel's word; the stream itself has its own descriptors elsewhere
//! (`headwater_os::own_numbers`), and is open in this process as long as one of the numbers is.
//!
//! A number that is no stream costs a call one load and one comparison.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use headwater_os::{descriptors, fork};
use headwater_streams::{Events, Handle, Prepared, Stream};
use headwater_xti::Endpoint;

use crate::calls::epoll;
use crate::errno::{Called, Failure, Word, guarded, guarded_word, last};
use crate::known::{self, Known};
use crate::own;
use crate::stdio;
use crate::threads;

/// The numbers that can be streams: below this one. A stream that would get a higher number is refused with `EMFILE`.
pub const FDS_MAX: usize = 1 << 16;

/// In a place of the table: the library's own descriptor, which the program has not got and may not close.
const OWN: usize = 1;

/// An open stream of this process.
#[derive(Debug)]
pub struct Open {
    pub stream: Stream,
    /// Of a FIFO that is open for both: its writing end, beside the reading one, whose descriptor the program has.
    pub writer: Option<Stream>,
    /// Whether the program may read and write, as it has said when it opened the stream.
    pub mode: Mode,
    /// The endpoint of a transport, from t_open or t_sync on. It has a clone of the stream.
    pub transport: OnceLock<Arc<Endpoint>>,
    /// The flags of F_SETFL that the program has set, but for O_NONBLOCK, which is the stream's.
    pub flags: AtomicI32,
    /// The process or group that is sent SIGIO for O_ASYNC, as F_GETOWN has it; 0: none.
    pub signal_owner: AtomicI32,
    /// How many numbers it has. Changed under the lock of the table.
    fd_count: AtomicU32,
}

/// For what a program has opened a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    pub reads: bool,
    pub writes: bool,
}

impl Mode {
    pub const BOTH: Mode = Mode { reads: true, writes: true };

    /// From the flags of open(2).
    pub fn from_flags(flags: c_int) -> Mode {
        let access = flags & libc::O_ACCMODE;
        Mode { reads: access != libc::O_WRONLY, writes: access != libc::O_RDONLY }
    }

    /// Among the flags of open(2).
    pub fn flags(self) -> c_int {
        match (self.reads, self.writes) {
            (true, true) => libc::O_RDWR,
            (false, _) => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        }
    }
}

impl Open {
    /// Errors: `EBADF` if the stream was not opened for reading.
    #[inline(always)]
    pub fn check_reads(&self) -> Called<()> {
        if self.mode.reads { Ok(()) } else { Err(Failure(libc::EBADF)) }
    }

    /// The end to which the program writes.
    ///
    /// Errors: `EBADF` if the stream was not opened for writing.
    #[inline(always)]
    pub fn to_write(&self) -> Called<&Stream> {
        if self.mode.writes { Ok(&self.stream) } else { self.writer.as_ref().ok_or(Failure(libc::EBADF)) }
    }

    /// The end whose write side the requests concern that are about it.
    pub fn write_side(&self) -> &Stream {
        self.writer.as_ref().unwrap_or(&self.stream)
    }

    /// O_NONBLOCK, of both ends.
    pub fn set_nonblocking(&self, nonblocking: bool) -> Called<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.set_nonblocking(nonblocking))?;
        Ok(self.stream.set_nonblocking(nonblocking)?)
    }

    /// As [`Stream::prepare_poll`]. The descriptor of a FIFO that is open for both shows no room: the program looks again for it.
    pub fn prepare_poll(&self, wanted: Events) -> headwater_streams::Result<Prepared> {
        let Some(writer) = &self.writer else { return self.stream.prepare_poll(wanted) };
        let room = wanted.intersection(Events::OUT | Events::WRNORM);
        if !room.is_empty() && writer.can_put(0)? {
            let now = self.stream.poll(wanted.difference(room), Some(Duration::ZERO))?;
            return Ok(Prepared::Ready(now | room));
        }
        Ok(match self.stream.prepare_poll(wanted.difference(room))? {
            Prepared::Armed { reads, look_every, .. } if !room.is_empty() => {
                Prepared::Armed { reads, writes: false, look_every: Some(look_every.unwrap_or(LOOK_FOR_ROOM)) }
            }
            prepared => prepared,
        })
    }
}

/// The highest number that was a stream.
static HIGHEST: AtomicI32 = AtomicI32::new(-1);

static TABLE: [AtomicPtr<Open>; FDS_MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; FDS_MAX];

/// Held by a thread that changes the table, never while the process is forked.
static CHANGING: Mutex<()> = Mutex::new(());

/// Streams that were closed while a call was in the middle of using them, to be freed later.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Retired(*mut Open);

// SAFETY: a `Retired` stream was taken out of the table, so the list alone owns it.
unsafe impl Send for Retired {}

/// How often a program that polls a FIFO which is open for both looks whether there is room.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(5);

/// How long a close waits for calls that it has ended, before the stream is left to a later close.
const CALLS_LOOKS: u32 = 100;
const CALLS_NAP: Duration = Duration::from_micros(500);

/// How many streams this process has open.
static STREAMS: AtomicU32 = AtomicU32::new(0);

/// Whether this process has a stream open.
#[inline]
pub fn is_any() -> bool {
    STREAMS.load(Ordering::Relaxed) != 0
}

/// Whether the number is a stream of the program.
#[inline(always)]
pub fn is_stream(fd: c_int) -> bool {
    seen(fd).is_some()
}

/// A stream that had the number when it was looked for. It may be closed and freed already.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Seen(*mut Open);

/// What the number is, if it is a stream of the program.
#[inline(always)]
pub fn seen(fd: c_int) -> Option<Seen> {
    let open = place(fd)?.load(Ordering::Acquire);
    (open as usize > OWN).then_some(Seen(open))
}

/// Whether the number is one of the library's own descriptors.
#[inline]
pub fn is_own(fd: c_int) -> bool {
    place(fd).is_some_and(|place| place.load(Ordering::Relaxed) as usize == OWN)
}

#[inline(always)]
fn place(fd: c_int) -> Option<&'static AtomicPtr<Open>> {
    TABLE.get(fd as u32 as usize)
}

/// Makes a call on the stream of that number. None if it is no stream.
#[inline(always)]
pub fn with<T>(fd: c_int, call: impl FnOnce(&Open) -> Called<T>) -> Option<Called<T>> {
    let place = place(fd)?;
    if place.load(Ordering::Acquire) as usize <= OWN {
        return None;
    }
    let using = threads::current().enter(place, OWN)?;
    // SAFETY: `enter` has noted in the thread's record that `open` is used, so it is not freed until `using` is
    // dropped.
    let open = unsafe { &*using.open };
    Some(guarded(|| call(open)))
}

/// Makes a short call with the handle that the thread knows from earlier calls. None if nothing was done: then [`with_learning`]
/// makes the call.
#[inline(always)]
pub fn with_handle(
    fd: c_int,
    seen: Seen,
    call: impl FnOnce(&Open, &Known, &mut Handle) -> Option<Word>,
) -> Option<Word> {
    let (using, known, place) = threads::current_if_known()?.enter_quickly(fd as usize, seen.0)?;
    // SAFETY: the thread's record says that `open` is used, so it is not freed until `using` is dropped.
    let open = unsafe { &*using.open };
    // SAFETY: neither the stream nor its handles are freed until `using` is dropped, and this handle is the calling
    // thread's.
    let mut handle = unsafe { place.hold()? };
    // In one word, so that it goes through the guard in a register.
    let done = guarded_word(|| call(open, known, &mut handle).unwrap_or(NOT_DONE));
    (done != NOT_DONE).then_some(done)
}

/// No count and no error.
const NOT_DONE: Word = Word::MIN;

/// As [`with`], in one word; the thread remembers its handle of the stream for [`with_handle`].
pub fn with_learning(fd: c_int, call: impl FnOnce(&Open) -> Word) -> Option<Word> {
    let place = place(fd)?;
    let thread = threads::current();
    let using = thread.enter(place, OWN)?;
    // SAFETY: `enter` has noted in the thread's record that `open` is used, so it is not freed until `using` is
    // dropped.
    let open = unsafe { &*using.open };
    Some(guarded_word(|| {
        let done = call(open);
        thread.remember(place, fd as usize, &using);
        done
    }))
}

/// As [`with`], where something else than a stream fails with `ENOSTR`, or `EBADF` if it is not open.
pub fn with_stream<T>(fd: c_int, call: impl FnOnce(&Open) -> Called<T>) -> Called<T> {
    with(fd, call).unwrap_or_else(|| Err(Failure(if own::is_open(fd) { libc::ENOSTR } else { libc::EBADF })))
}

/// Does something while no other thread changes the table and none forks. Signals are handled after it.
pub fn changing<T>(action: impl FnOnce(&Changes) -> T) -> T {
    fork::held_off(|| {
        let guard = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        action(&Changes { _guard: guard, closed: Mutex::default() })
    })
}

/// The right to change the table.
#[derive(Debug)]
pub struct Changes {
    _guard: MutexGuard<'static, ()>,
    /// Streams whose last number was taken.
    closed: Mutex<Vec<Retired>>,
}

/// Streams whose last number was closed: they are closed in this process when this is dropped, which may wait.
#[derive(Debug)]
#[must_use = "the streams are closed by dropping it, outside of the lock"]
pub struct Closed(Vec<Retired>);

impl Changes {
    /// Makes `number`, a descriptor of the stream's end that was just made, one of its numbers.
    pub fn add(&self, fd: c_int, open: *const Open) {
        if self.stream(fd).is_some() {
            // The program has closed it by a system call of its own.
            epoll::lost(fd);
            self.remove(fd);
        }
        self.put(fd, open);
    }

    fn put(&self, fd: c_int, open: *const Open) {
        // SAFETY: the caller promises a stream that is in the table or was just made: it is not freed while the table
        // is locked.
        unsafe { (*open).fd_count.fetch_add(1, Ordering::Relaxed) };
        HIGHEST.fetch_max(fd, Ordering::Relaxed);
        TABLE[fd as usize].store(open.cast_mut(), Ordering::Release);
    }

    /// The stream of that number, while the table is locked.
    pub fn stream(&self, fd: c_int) -> Option<*const Open> {
        let open = place(fd)?.load(Ordering::Relaxed);
        (open as usize > OWN).then_some(open.cast_const())
    }

    /// The number is no stream any more; its descriptor is the caller's affair.
    pub fn remove(&self, fd: c_int) {
        let Some(open) = self.stream(fd) else { return };
        TABLE[fd as usize].store(ptr::null_mut(), Ordering::Release);
        self.leave(open);
    }

    /// Gives a number, which may be a stream or none, another stream's descriptor or another file: `copy` does that in the kernel.
    /// Whichever it is, another thread's call at the number never takes a stream's descriptor for a file.
    pub fn replace(&self, fd: c_int, open: Option<*const Open>, copy: impl FnOnce() -> Called<()>) -> Called<()> {
        let before = self.stream(fd);
        let Some(open) = open else {
            // As long as it may be a stream it is one.
            return copy().map(|()| self.remove(fd));
        };
        self.put(fd, open);
        let copied = copy();
        if copied.is_ok() {
            before.into_iter().for_each(|before| self.leave(before));
        } else {
            TABLE[fd as usize].store(before.unwrap_or(ptr::null()).cast_mut(), Ordering::Release);
            self.leave(open);
        }
        copied
    }

    /// A stream has one number less; with its last one it goes.
    fn leave(&self, open: *const Open) {
        // SAFETY: the stream was in the table or was just made: it is not freed while the table is locked.
        if unsafe { (*open).fd_count.fetch_sub(1, Ordering::Relaxed) } == 1 {
            // After it has left the table: threads that know its handle look there anew.
            known::changed();
            self.closed.lock().unwrap_or_else(PoisonError::into_inner).push(Retired(open.cast_mut()));
        }
    }

    /// What `remove` has taken out.
    pub fn closed(&self) -> Closed {
        Closed(std::mem::take(&mut *self.closed.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// All numbers that are streams, ascending.
    pub fn streams(&self) -> impl Iterator<Item = (c_int, *const Open)> + '_ {
        (0..=HIGHEST.load(Ordering::Relaxed)).filter_map(|fd| Some((fd, self.stream(fd)?)))
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        for retired in std::mem::take(&mut self.0) {
            retire(retired);
        }
    }
}

/// Frees a stream that is not in the table any more, and what earlier closes have left.
fn retire(retired: Retired) {
    let open = retired.0;
    let (others, own) = threads::is_used(open);
    if others || own {
        // SAFETY: `open` is freed only below or by a later call: it is in no list yet.
        let stream = unsafe { &(*open).stream };
        // Calls of other threads end with EBADF; one of this thread, which a signal handler has interrupted, when it continues.
        let _ = guarded(|| Ok(stream.clone().close()?));
        // SAFETY: `open` is freed only below or by a later call: it is in no list yet.
        if let Some(writer) = unsafe { &(*open).writer } {
            let _ = guarded(|| Ok(writer.clone().close()?));
        }
        let waits = (0..if own { 0 } else { CALLS_LOOKS }).any(|_| {
            std::thread::sleep(CALLS_NAP);
            threads::is_used(open) == (false, false)
        });
        if !waits {
            with_retired(|left| left.push(retired));
            return;
        }
    }
    free(retired);
    let late = with_retired(|left| {
        let is_unused = |retired: &mut Retired| threads::is_used(retired.0) == (false, false);
        left.extract_if(.., is_unused).collect::<Vec<_>>()
    });
    late.into_iter().for_each(free);
}

/// Uses the list of closed streams. No signal handler runs meanwhile, which may close a stream, and no child finds it locked.
fn with_retired<T>(action: impl FnOnce(&mut Vec<Retired>) -> T) -> T {
    fork::held_off(|| action(&mut RETIRED.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Closes the stream in this process; the last close of a device waits for its driver's queue.
fn free(retired: Retired) {
    STREAMS.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: `new_open` has made the address by `Box::into_raw`; the table has it no more, and no thread uses it.
    let open = unsafe { Box::from_raw(retired.0) };
    let _ = guarded(|| {
        drop(open.transport);
        if let Some(writer) = open.writer {
            writer.drain();
        }
        open.stream.drain();
        Ok(())
    });
}

fn new_open(stream: Stream, writer: Option<Stream>, mode: Mode) -> *mut Open {
    STREAMS.fetch_add(1, Ordering::Relaxed);
    // What a call fails with after a panic is said by errno alone: standard error is the program's.
    static QUIET: std::sync::Once = std::sync::Once::new();
    fork::held_off(|| QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {}))));
    // Where it fails, fdopen says so.
    stdio::prepare();
    let (flags, signal_owner) = (AtomicI32::new(0), AtomicI32::new(0));
    let (transport, fd_count) = (OnceLock::new(), AtomicU32::new(0));
    Box::into_raw(Box::new(Open { stream, writer, mode, transport, flags, signal_owner, fd_count }))
}

/// Gives the program a number of a new stream: the lowest that is free, or one of at least `from`.
///
/// Errors: `EMFILE`.
pub fn open(stream: Stream, mode: Mode, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    give_fd(new_open(stream, None, mode), from, closed_by_exec)
}

/// The same of a FIFO that is open for both.
///
/// Errors: `EMFILE`.
pub fn open_both(reader: Stream, writer: Stream, closed_by_exec: bool) -> Called<c_int> {
    give_fd(new_open(reader, Some(writer), Mode { reads: true, writes: false }), 0, closed_by_exec)
}

fn give_fd(open: *mut Open, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    // SAFETY: `open` was just made by `new_open`.
    let end = unsafe { (*open).stream.as_raw_fd() };
    let (fd, closed) = changing(|changes| {
        let fd = own::duplicate(end, from, closed_by_exec).and_then(|fd| {
            if fd as usize >= FDS_MAX {
                own::close(fd);
                return Err(Failure(libc::EMFILE));
            }
            changes.add(fd, open);
            Ok(fd)
        });
        (fd, changes.closed())
    });
    drop(closed);
    if fd.is_err() {
        free(Retired(open));
    }
    fd
}

/// Gives a stream the number of a file that the program has received in its place.
///
/// Errors: `EMFILE` for a number that no stream can have.
pub fn replace(stream: Stream, mode: Mode, fd: c_int, closed_by_exec: bool) -> Called<()> {
    if fd as usize >= FDS_MAX {
        return Err(Failure(libc::EMFILE));
    }
    let open = new_open(stream, None, mode);
    // SAFETY: `open` was just made by `new_open`.
    let end = unsafe { (*open).stream.as_raw_fd() };
    let flags = if closed_by_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: the descriptor is a file that nothing uses yet; no pointer is passed.
    let copy = || if unsafe { own::hw_own_dup3(end, fd, flags) } < 0 { Err(last()) } else { Ok(()) };
    let (replaced, closed) = changing(|changes| (changes.replace(fd, Some(open), copy), changes.closed()));
    drop(closed);
    replaced
}

/// Makes a stream of descriptors that the program has already got under these numbers. A number that is another file is none.
pub fn adopt(stream: Stream, mode: Mode, fds: &[c_int]) -> Called<()> {
    let wanted = descriptors::inode(&stream)?;
    let is_it = |fd: c_int| {
        // SAFETY: the file is asked only for its inode, and no other thread of the program runs yet that could close
        // it.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        own::is_open(fd) && descriptors::inode(file).is_ok_and(|inode| inode == wanted)
    };
    let fds: Vec<c_int> =
        fds.iter().copied().filter(|fd| (0..FDS_MAX as c_int).contains(fd) && !is_stream(*fd) && is_it(*fd)).collect();
    if fds.is_empty() {
        return Err(Failure(libc::EBADF));
    }
    let open = new_open(stream, None, mode);
    changing(|changes| fds.iter().for_each(|fd| changes.add(*fd, open)));
    Ok(())
}

/// A descriptor of the library's own has this number.
pub fn mark_own(fd: c_int) {
    if let Some(place) = place(fd) {
        place.store(OWN as *mut Open, Ordering::Relaxed);
    }
}

/// The library's own descriptors, ascending.
pub fn own_fds() -> Vec<c_int> {
    (0..FDS_MAX as c_int).filter(|fd| is_own(*fd)).collect()
}

/// The library has closed a descriptor of its own.
pub fn forget_own(fd: c_int) {
    if let Some(place) = place(fd) {
        let _ = place.compare_exchange(OWN as *mut Open, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

//! The table of the program's descriptors that are streams. Each such descriptor is a kernel descriptor of the socket
//! or pipe of the stream's end, so that the kernel makes fork, exec, poll and the last close work. The stream itself
//! has its own descriptors elsewhere (`headwater_os::own_numbers`). It is open in this process as long as one of the
//! program's descriptors is.
//!
//! On a descriptor that is no stream, the table costs a call one load and one comparison.

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

/// The limit of descriptors that can be streams: they are below it. A stream that would get a higher descriptor is
/// refused with `EMFILE`.
pub const FDS_MAX: usize = 1 << 16;

/// In an entry of the table: the descriptor is the library's own, and the program may not use or close it.
const OWN: usize = 1;

/// An open stream of this process.
#[derive(Debug)]
pub struct Open {
    pub stream: Stream,
    /// The writing end of a FIFO that is open for reading and writing. `stream` is then the reading end, whose
    /// descriptor the program has.
    pub writer: Option<Stream>,
    /// Whether the program may read and write, as it said when it opened the stream.
    pub mode: Mode,
    /// The endpoint of a transport, set by t_open or t_sync. It has a clone of the stream.
    pub transport: OnceLock<Arc<Endpoint>>,
    /// The flags that the program has set by F_SETFL, except O_NONBLOCK, which the stream itself has.
    pub flags: AtomicI32,
    /// The process or group that is sent SIGIO for O_ASYNC, as F_GETOWN returns it; 0 if there is none.
    pub signal_owner: AtomicI32,
    /// How many descriptors of the program are this stream. Changed under the lock of the table.
    fd_count: AtomicU32,
}

/// How a program has opened a stream: for reading, for writing, or for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    pub reads: bool,
    pub writes: bool,
}

impl Mode {
    pub const BOTH: Mode = Mode { reads: true, writes: true };

    /// Makes the mode that these flags of open(2) ask for.
    pub fn from_flags(flags: c_int) -> Mode {
        let access = flags & libc::O_ACCMODE;
        Mode { reads: access != libc::O_WRONLY, writes: access != libc::O_RDONLY }
    }

    /// Returns the mode as flags of open(2).
    pub fn flags(self) -> c_int {
        match (self.reads, self.writes) {
            (true, true) => libc::O_RDWR,
            (false, _) => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        }
    }
}

impl Open {
    /// Checks that the stream was opened for reading.
    ///
    /// Errors: `EBADF` if it was not.
    #[inline(always)]
    pub fn check_reads(&self) -> Called<()> {
        if self.mode.reads { Ok(()) } else { Err(Failure(libc::EBADF)) }
    }

    /// Returns the end to which the program writes.
    ///
    /// Errors: `EBADF` if the stream was not opened for writing.
    #[inline(always)]
    pub fn to_write(&self) -> Called<&Stream> {
        if self.mode.writes { Ok(&self.stream) } else { self.writer.as_ref().ok_or(Failure(libc::EBADF)) }
    }

    /// Returns the end that requests about the write side concern.
    pub fn write_side(&self) -> &Stream {
        self.writer.as_ref().unwrap_or(&self.stream)
    }

    /// Sets O_NONBLOCK on both ends.
    pub fn set_nonblocking(&self, nonblocking: bool) -> Called<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.set_nonblocking(nonblocking))?;
        Ok(self.stream.set_nonblocking(nonblocking)?)
    }

    /// Prepares a poll as [`Stream::prepare_poll`] does. If a FIFO is open for reading and writing, its descriptor does
    /// not show room, so the program is told to look for room again after a while.
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

/// The highest descriptor that was a stream.
static HIGHEST: AtomicI32 = AtomicI32::new(-1);

static TABLE: [AtomicPtr<Open>; FDS_MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; FDS_MAX];

/// Held by a thread that changes the table. Never held while the process forks.
static CHANGING: Mutex<()> = Mutex::new(());

/// Streams that were closed while a call used them; they are freed later.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Retired(*mut Open);

// SAFETY: a `Retired` stream was taken out of the table, so the list alone owns it.
unsafe impl Send for Retired {}

/// How often a program that polls a FIFO open for reading and writing looks for room.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(5);

/// How often, and at what interval, a close looks whether the calls that it has ended are over. After that the stream
/// is left to a later close.
const CALLS_LOOKS: u32 = 100;
const CALLS_NAP: Duration = Duration::from_micros(500);

/// How many streams this process has open.
static STREAMS: AtomicU32 = AtomicU32::new(0);

/// Returns whether this process has a stream open.
#[inline]
pub fn is_any() -> bool {
    STREAMS.load(Ordering::Relaxed) != 0
}

/// Returns whether `fd` is a stream of the program.
#[inline(always)]
pub fn is_stream(fd: c_int) -> bool {
    seen(fd).is_some()
}

/// The stream that `fd` was when the table was read. It may be closed and freed by now.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Seen(*mut Open);

/// Looks up `fd`. Returns `None` if it is no stream of the program.
#[inline(always)]
pub fn seen(fd: c_int) -> Option<Seen> {
    let open = place(fd)?.load(Ordering::Acquire);
    (open as usize > OWN).then_some(Seen(open))
}

/// Returns whether `fd` is one of the library's own descriptors.
#[inline]
pub fn is_own(fd: c_int) -> bool {
    place(fd).is_some_and(|place| place.load(Ordering::Relaxed) as usize == OWN)
}

#[inline(always)]
fn place(fd: c_int) -> Option<&'static AtomicPtr<Open>> {
    TABLE.get(fd as u32 as usize)
}

/// Makes a call on the stream `fd`. Returns `None` if `fd` is no stream.
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

/// Makes a short call with the handle that the thread knows from earlier calls. Returns `None` if nothing was done; the
/// caller then uses [`with_learning`].
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
    // The result is one word, so that it goes through the guard in a register.
    let done = guarded_word(|| call(open, known, &mut handle).unwrap_or(NOT_DONE));
    (done != NOT_DONE).then_some(done)
}

/// A word that is neither a count nor an error.
const NOT_DONE: Word = Word::MIN;

/// Makes a call as [`with`], with a result of one word. The thread remembers its handle of the stream for
/// [`with_handle`].
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

/// Makes a call as [`with`]. Fails with `ENOSTR` if `fd` is not a stream, and with `EBADF` if it is not open.
pub fn with_stream<T>(fd: c_int, call: impl FnOnce(&Open) -> Called<T>) -> Called<T> {
    with(fd, call).unwrap_or_else(|| Err(Failure(if own::is_open(fd) { libc::ENOSTR } else { libc::EBADF })))
}

/// Calls `action` while no other thread changes the table and no thread forks. Signals are handled after it.
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
    /// Streams whose last descriptor was removed.
    closed: Mutex<Vec<Retired>>,
}

/// Streams whose last descriptor was removed. Dropping this closes them in this process, which may wait.
#[derive(Debug)]
#[must_use = "the streams are closed by dropping it, outside of the lock"]
pub struct Closed(Vec<Retired>);

impl Changes {
    /// Enters `fd`, a descriptor of the stream's end that was just made.
    pub fn add(&self, fd: c_int, open: *const Open) {
        if self.stream(fd).is_some() {
            // The program has closed the stream that had this descriptor by a system call of its own.
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

    /// Returns the stream `fd`. It is valid while the table is locked.
    pub fn stream(&self, fd: c_int) -> Option<*const Open> {
        let open = place(fd)?.load(Ordering::Relaxed);
        (open as usize > OWN).then_some(open.cast_const())
    }

    /// Removes `fd` from the table. The caller does what is needed with the descriptor itself.
    pub fn remove(&self, fd: c_int) {
        let Some(open) = self.stream(fd) else { return };
        TABLE[fd as usize].store(ptr::null_mut(), Ordering::Release);
        self.leave(open);
    }

    /// Makes `fd` a descriptor of another stream, or of another file if `open` is `None`. `copy` makes the change in
    /// the kernel. `fd` may be a stream before or not. At no moment does another thread's call on `fd` take a stream's
    /// descriptor for that of a file.
    pub fn replace(&self, fd: c_int, open: Option<*const Open>, copy: impl FnOnce() -> Called<()>) -> Called<()> {
        let before = self.stream(fd);
        let Some(open) = open else {
            // As long as the descriptor may be a stream, the table says that it is one.
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

    /// Counts one descriptor less of a stream. The stream is closed with its last one.
    fn leave(&self, open: *const Open) {
        // SAFETY: the stream was in the table or was just made: it is not freed while the table is locked.
        if unsafe { (*open).fd_count.fetch_sub(1, Ordering::Relaxed) } == 1 {
            // This comes after the stream has left the table: threads that know its handle then look there anew.
            known::changed();
            self.closed.lock().unwrap_or_else(PoisonError::into_inner).push(Retired(open.cast_mut()));
        }
    }

    /// Returns the streams that `remove` has taken out.
    pub fn closed(&self) -> Closed {
        Closed(std::mem::take(&mut *self.closed.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Iterates over all descriptors that are streams, in ascending order.
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

/// Frees a stream that is no longer in the table, and the streams that earlier closes have left.
fn retire(retired: Retired) {
    let open = retired.0;
    let (others, own) = threads::is_used(open);
    if others || own {
        // SAFETY: `open` is freed only below or by a later call: it is in no list yet.
        let stream = unsafe { &(*open).stream };
        // Calls of other threads end with EBADF. A call of this thread that a signal handler has interrupted ends so
        // when it continues.
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

/// Calls `action` with the list of closed streams. Meanwhile no signal handler runs, which might close a stream, and no
/// thread forks, so no child finds the list locked.
fn with_retired<T>(action: impl FnOnce(&mut Vec<Retired>) -> T) -> T {
    fork::held_off(|| action(&mut RETIRED.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Closes the stream in this process. The last close of a device waits for its driver's queue.
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
    // After a panic, errno alone says what the call failed with: standard error belongs to the program.
    static QUIET: std::sync::Once = std::sync::Once::new();
    fork::held_off(|| QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {}))));
    // If this fails, fdopen fails with ENOTSUP.
    stdio::prepare();
    let (flags, signal_owner) = (AtomicI32::new(0), AtomicI32::new(0));
    let (transport, fd_count) = (OnceLock::new(), AtomicU32::new(0));
    Box::into_raw(Box::new(Open { stream, writer, mode, transport, flags, signal_owner, fd_count }))
}

/// Gives the program a descriptor of a new stream: the lowest that is free from `from` on.
///
/// Errors: `EMFILE`.
pub fn open(stream: Stream, mode: Mode, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    give_fd(new_open(stream, None, mode), from, closed_by_exec)
}

/// Gives the program a descriptor of a FIFO that is open for reading and writing.
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

/// Makes a descriptor that the program has received the descriptor of a stream.
///
/// Errors: `EMFILE` for a descriptor that no stream can have.
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

/// Opens a stream under descriptors that the program already has. A descriptor that is another file is left out.
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

/// Notes that `fd` is one of the library's own descriptors.
pub fn mark_own(fd: c_int) {
    if let Some(place) = place(fd) {
        place.store(OWN as *mut Open, Ordering::Relaxed);
    }
}

/// Returns the library's own descriptors, in ascending order.
pub fn own_fds() -> Vec<c_int> {
    (0..FDS_MAX as c_int).filter(|fd| is_own(*fd)).collect()
}

/// Notes that the library has closed its own descriptor `fd`.
pub fn forget_own(fd: c_int) {
    if let Some(place) = place(fd) {
        let _ = place.compare_exchange(OWN as *mut Open, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

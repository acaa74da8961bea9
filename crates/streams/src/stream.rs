//! One end of a stream, for all threads of a process at once. Each thread's calls go through the thread's own handle,
//! which the stream makes at the thread's first call and keeps.

use std::fmt;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::per_thread::{Held, PerThread, Place};

use crate::counters::Counters;
use crate::error::Result;
use crate::head::handle::Handle;
use crate::process::end::{Access, closed};
use crate::process::endpoint::{AfterUse, Endpoint};
use crate::sched::answer::tell;

mod bytes;
mod datagrams;
mod direct;
mod files;
mod halves;
mod ioctl;
mod links;
mod messages;
mod modules;
mod passing;
mod poll;
mod settings;
mod signals;

pub use direct::DirectStream;
pub use files::Files;
pub use halves::{ReadHalf, WriteHalf};
pub use links::Links;
pub use modules::Modules;
pub use settings::Settings;
pub use signals::Signals;

/// One end of a stream.
///
/// Any number of threads may use it at once: one reads while another writes, polls or changes options. A clone is the same end
/// and costs no descriptor. The end is closed when its last clone, half and [`DirectStream`] in any process is dropped, or its last
/// process has ended; the other end notices at once. A forked child's copies count as clones.
///
/// A call in a signal handler that interrupts a call of its own thread on the same end does not wait for that one: where it
/// would have to, it fails with `EAGAIN`. Reads, writes, messages, polls and waits allocate nothing, a thread's first calls
/// neither, so a handler may make them; docs/guarantees.md lists the calls that allocate.
///
/// ```
/// use std::io::{Read, Write};
///
/// let (near, far) = headwater_streams::pipe()?;
/// let answers = far.clone();
/// let echo = std::thread::spawn(move || std::io::copy(&mut &far, &mut &answers));
/// (&near).write_all(b"hello")?;
/// near.shutdown(std::net::Shutdown::Write)?;
/// let mut text = String::new();
/// (&near).read_to_string(&mut text)?;
/// assert_eq!((text.as_str(), echo.join().unwrap()?), ("hello", 5));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

/// The state that the clones of an end share.
struct Shared {
    /// Dropped before the endpoint, which the last of them would close.
    handles: PerThread<Handle>,
    endpoint: Arc<Endpoint>,
    _after: AfterUse,
}

impl Stream {
    /// The calling thread's handle.
    #[inline(always)]
    fn own_handle(&self) -> Held<'_, Handle> {
        self.shared.handles.get(|| Handle::on(self.shared.endpoint.clone()))
    }

    /// Calls `action` with the calling thread's handle.
    #[inline(always)]
    fn with<T>(&self, action: impl FnOnce(&mut Handle) -> T) -> T {
        let mut handle = self.own_handle();
        handle.nonblocking = self.shared.endpoint.nonblocking.load(Ordering::Relaxed);
        handle.nested = handle.is_nested();
        action(&mut handle)
    }

    /// Where the calling thread's handle is, for the C library's [`Handle::read_quickly`]. None in a handler that has interrupted a call.
    #[doc(hidden)]
    pub fn place(&self) -> Option<Place<Handle>> {
        self.shared.handles.place(|| Handle::on(self.shared.endpoint.clone()))
    }

    /// Makes a call through the calling thread's handle, unless the end was closed.
    #[inline(always)]
    fn call<T>(&self, call: impl FnOnce(&mut Handle) -> Result<T>) -> Result<T> {
        let done = self.with(|handle| {
            // Pairs with the heavy one in `close`: either it sees us in the middle of a call, or we see it.
            handle.end.region.fence.light();
            handle.end.check_open()?;
            call(handle)
        });
        match done {
            // Closed meanwhile: the call's error comes from the replaced descriptor.
            Err(_) if self.shared.endpoint.is_closed() => Err(closed()),
            done => done,
        }
    }

    /// Closes this end in this process, while clones of it are left. The other end is told at once, if no other process has this
    /// one. Calls of other threads that wait on it return, and from now on every call fails with `EBADF`; so do those of
    /// a [`DirectStream`] and of an `AsyncStream` that were made of it. Its descriptor is not given to another file before the last clone is
    /// dropped.
    ///
    /// Dropping the last clone closes the end as well; this is for a thread that cannot drop the other clones.
    ///
    /// ```
    /// let (near, far) = headwater_streams::pipe()?;
    /// let reader = far.clone();
    /// let waiting = std::thread::spawn(move || reader.read(&mut [0; 8]));
    /// far.close()?;
    /// let error = waiting.join().unwrap().unwrap_err();
    /// assert_eq!(error.errno(), headwater_streams::Errno::Badf);
    /// assert_eq!(near.read(&mut [0; 8])?, 0);
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EBADF` if it was closed before; `EMFILE` without a free descriptor: then calls end and fail all the same, and the other
    /// end is told when the last clone is dropped.
    #[doc(alias = "close(2)")]
    pub fn close(self) -> Result<()> {
        let endpoint = &self.shared.endpoint;
        if !endpoint.announce_close() {
            return Err(closed());
        }
        // If it fails a call may begin meanwhile. Its data may then arrive after the end, and is lost.
        let _ = endpoint.region.fence.heavy();
        // Without it the sleepers wake up later: no reason to leave the end open.
        let woken = self.with(|handle| {
            handle.end_quick_calls();
            handle.end.wake_own()
        });
        tell(endpoint.words());
        #[cfg(feature = "tokio")]
        endpoint.end_futures();
        endpoint.wait_for_calls(|| self.shared.handles.is_used_by_another());
        endpoint.close()?;
        woken
    }

    /// Drops this clone when nothing waits in the write queues of the end's own modules any more, nor in its driver's if this is the
    /// last use of the stream, nor in the kernel's for as long as XTI_LINGER says of `inet-tcp`; or when the
    /// [close time](Settings::set_close_time) is over, a signal handler has run, or there is no reader. A non-blocking stream does
    /// not wait. What waits for modules is not lost by that: a reader of the other end runs their service procedures. What waits for
    /// a driver is gone with the last close. Dropping a clone waits for nothing.
    #[doc(alias = "close(2)")]
    #[doc = include_str!("../doc/close.md")]
    pub fn drain(self) {
        Handle::from(self).close();
    }

    /// Closes a direction of this end in all processes, as shutdown(2) does with a socket.
    ///
    /// [`Shutdown::Write`]: what was written is still read at the other end, and then the end of the stream; writing here
    /// fails with `EPIPE`. [`Shutdown::Read`]: reading here finds what is there and then the end; writing at the other
    /// end fails with `EPIPE`.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::net::Shutdown;
    ///
    /// let (mut near, mut far) = headwater_streams::pipe()?;
    /// near.write_all(b"question")?;
    /// near.shutdown(Shutdown::Write)?;
    /// let mut text = String::new();
    /// far.read_to_string(&mut text)?;
    /// far.write_all(b"answer")?;
    /// assert_eq!((text.as_str(), near.read(&mut [0; 16])?), ("question", 6));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EINVAL` for a FIFO, each end of which has one direction and is closed by dropping it, and for a device.
    #[doc = include_str!("../doc/shutdown.md")]
    #[doc(alias = "shutdown(2)")]
    pub fn shutdown(&self, direction: Shutdown) -> Result<()> {
        self.call(|handle| handle.shutdown(direction))
    }

    /// A user of this end apart from its clones, for one thread at a time: calls on it save the lookup of the thread's own state,
    /// and it lends out the stream's memory ([`DirectStream::reserve`], [`DirectStream::borrow`]).
    #[doc = include_str!("../doc/direct.md")]
    pub fn direct(&self) -> DirectStream {
        DirectStream::new(self)
    }

    /// A handle of this end, apart from those that the stream keeps for its threads.
    pub(crate) fn new_handle(&self) -> Handle {
        let mut handle = Handle::on(self.shared.endpoint.clone());
        handle.nonblocking = self.is_nonblocking();
        handle
    }

    /// Two halves, for two owners. Dropping the one that writes tells the other end that nothing more comes; the one that reads
    /// can go on.
    #[doc = include_str!("../doc/halves.md")]
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        halves::of(self)
    }

    /// Whether calls that would wait fail with `EAGAIN` instead (O_NONBLOCK), for all clones of the end in this process. Then the
    /// descriptor is readable, for poll and epoll, from when something can be done until a call has failed with `EAGAIN`.
    ///
    /// # Errors
    /// `EPROTO` on a broken stream, or what the kernel reports.
    #[doc = include_str!("../doc/nonblocking.md")]
    #[doc(alias = "O_NONBLOCK")]
    pub fn set_nonblocking(&self, nonblocking: bool) -> Result<()> {
        self.shared.endpoint.nonblocking.store(nonblocking, Ordering::Relaxed);
        self.call(|handle| handle.set_nonblocking(nonblocking))
    }

    /// Whether calls that would wait fail with `EAGAIN` instead.
    #[doc = include_str!("../doc/nonblocking.md")]
    pub fn is_nonblocking(&self) -> bool {
        self.shared.endpoint.nonblocking.load(Ordering::Relaxed)
    }

    /// The counts of the calling thread's calls on this end.
    #[doc = include_str!("../doc/users.md")]
    pub fn counters(&self) -> Counters {
        self.with(|handle| handle.counters())
    }

    /// Takes the calling thread's place among the users of the stream, so that its first call does not have to. A forked child does it
    /// again.
    ///
    /// # Errors
    /// `ENOSR` when the stream has as many users as it can; `EBADF` if the end was closed in this process.
    #[doc = include_str!("../doc/users.md")]
    pub fn attach(&self) -> Result<()> {
        self.call(|handle| handle.attach())
    }

    /// A number that no other end on this machine has, for [`Stream::putmsg_naming`]. It has no other meaning.
    #[doc = include_str!("../doc/identity.md")]
    pub fn id(&self) -> u64 {
        self.with(|handle| handle.id())
    }

    /// Whether the other value is a clone of this one, in this process.
    #[doc = include_str!("../doc/identity.md")]
    pub fn is_same(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether this end reads, writes, or, unless it is a FIFO's, does both.
    #[doc = include_str!("../doc/sizes.md")]
    #[doc(alias = "O_ACCMODE")]
    pub fn access(&self) -> Access {
        self.shared.endpoint.access
    }

    /// Of a FIFO: its node in the file system, a descriptor that cannot be read or written (O_PATH).
    #[doc = include_str!("../doc/fifos.md")]
    pub fn node(&self) -> Option<BorrowedFd<'_>> {
        self.shared.endpoint.node().map(AsFd::as_fd)
    }

    /// The minor number, of a device.
    #[doc = include_str!("../doc/sizes.md")]
    #[doc(alias = "getminor")]
    pub fn minor(&self) -> Option<u32> {
        self.shared.endpoint.opened_as().map(|(_, number)| number)
    }

    /// Whether this is an end of a pipe, with two directions.
    fn has_both_directions(&self) -> bool {
        self.shared.endpoint.access == Access::Both
    }
}

impl From<Handle> for Stream {
    fn from(handle: Handle) -> Stream {
        let endpoint = handle.end.endpoint.clone();
        endpoint.nonblocking.store(handle.nonblocking, Ordering::Relaxed);
        let after = AfterUse::of(&endpoint);
        Stream { shared: Arc::new(Shared { handles: PerThread::default(), endpoint, _after: after }) }
    }
}

impl From<Stream> for Handle {
    fn from(stream: Stream) -> Handle {
        stream.new_handle()
    }
}

impl AsFd for Stream {
    /// The end's descriptor: for poll and epoll, and to be passed on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.endpoint.doorbell().as_fd()
    }
}

impl AsRawFd for Stream {
    /// As [`AsFd::as_fd`], for event loops that ask for a number.
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { handles, endpoint, .. } = &*self.shared;
        formatter.debug_struct("Stream").field("endpoint", endpoint).field("handles", handles).finish()
    }
}

//! One end of a stream, for all threads of a process at once. Each thread's calls go through the thread's own handle,
//! which the stream makes at the thread's first call and keeps.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::per_thread::{Held, PerThread, Place};

use crate::counters::Counters;
use crate::error::Result;
use crate::head::handle::Handle;
use crate::head::options::{ErrorOptions, ReadOptions, WriteOptions};
use crate::head::{
    Events, IoctlTimeout, MessageFilter, Prepared, PreparedEdge, Received, ReceivedFile, SignalEvents, Told, UserMemory,
};
use crate::message::Message;
use crate::message::kind::Flush;
use crate::message::priority::Priority;
use crate::process::end::{Access, closed};
use crate::process::endpoint::{AfterUse, Endpoint};
use crate::sched::answer::tell;

mod datagrams;
mod halves;
mod links;
mod now;
mod passing;
mod readable;
mod size;

pub use halves::{ReadHalf, WriteHalf};

/// One end of a stream.
///
/// Any number of threads may use it at once: one reads while another writes, polls or changes options. A clone is the same end
/// and costs no descriptor. The end is closed when its last clone, half and [`Handle`] in any process is dropped, or its last
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
    /// handles and of an `AsyncStream` that were made of it. Its descriptor is not given to another file before the last clone is
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

    /// A handle of this end, for one thread and apart from those that the stream keeps: calls on it save the lookup of
    /// the thread's own, and it can lend out memory ([`Handle::reserve`], [`Handle::borrow`]).
    #[doc = include_str!("../doc/handles.md")]
    pub fn handle(&self) -> Handle {
        let mut handle = Handle::on(self.shared.endpoint.clone());
        handle.nonblocking = self.is_nonblocking();
        handle
    }

    /// A handle instead of this clone.
    #[doc = include_str!("../doc/handles.md")]
    pub fn into_handle(self) -> Handle {
        self.into()
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

    /// How this end reads.
    #[doc(alias = "I_GRDOPT")]
    #[doc = include_str!("../doc/read_options.md")]
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions::of(self.shared.endpoint.words())
    }

    /// How this end writes.
    #[doc(alias = "I_GWROPT")]
    #[doc = include_str!("../doc/write_options.md")]
    pub fn write_options(&self) -> WriteOptions {
        WriteOptions::of(self.shared.endpoint.words())
    }

    /// How this end reports errors.
    #[doc(alias = "I_GERROPT")]
    #[doc = include_str!("../doc/error_options.md")]
    pub fn error_options(&self) -> ErrorOptions {
        self.with(|handle| handle.error_options())
    }

    /// Changes how this end reports errors.
    #[doc(alias = "I_SERROPT")]
    #[doc = include_str!("../doc/error_options.md")]
    pub fn set_error_options(&self, options: ErrorOptions) {
        self.with(|handle| handle.set_error_options(options));
    }

    /// A number that no other end on this machine has.
    #[doc = include_str!("../doc/identity.md")]
    pub fn id(&self) -> u64 {
        self.with(|handle| handle.id())
    }

    /// As [`Stream::putpmsg`], with the name of another stream's end put into the control part.
    ///
    /// # Errors
    /// As [`Handle::putmsg_naming`], which says more.
    #[doc(alias = "I_FDINSERT")]
    #[doc = include_str!("../doc/identity.md")]
    pub fn putmsg_naming(
        &self,
        control: &[u8],
        data: Option<&[u8]>,
        priority: Priority,
        other: &Stream,
        offset: usize,
    ) -> Result<()> {
        let other = other.handle();
        self.call(|handle| handle.putmsg_naming(control, data, priority, &other, offset))
    }

    /// The longest time that [`Handle::close`] waits.
    #[doc(alias = "I_GETCLTIME")]
    #[doc = include_str!("../doc/close_time.md")]
    pub fn close_time(&self) -> Duration {
        self.with(|handle| handle.close_time())
    }

    /// The signals that modules have raised at this end (M_SIG, M_PCSIG) since the last call: bit N for signal N.
    #[doc = include_str!("../doc/raised_signals.md")]
    #[doc(alias = "M_SIG")]
    #[doc(alias = "M_PCSIG")]
    pub fn take_signals(&self) -> u64 {
        self.with(|handle| handle.take_signals())
    }

    /// The largest number of bytes of one write's message.
    #[doc = include_str!("../doc/sizes.md")]
    #[doc(alias = "q_maxpsz")]
    pub fn maxpsz(&self) -> usize {
        self.with(|handle| handle.maxpsz())
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

    /// Discards messages that wait in queues.
    ///
    /// # Errors
    /// As [`Handle::flush_queues`], which says more.
    #[doc(alias = "I_FLUSH")]
    #[doc(alias = "I_FLUSHBAND")]
    #[doc = include_str!("../doc/flush.md")]
    pub fn flush_queues(&self, flush: Flush) -> Result<()> {
        self.call(|handle| handle.flush_queues(flush))
    }

    /// Whether this is an end of a pipe, with two directions.
    fn has_both_directions(&self) -> bool {
        self.shared.endpoint.access == Access::Both
    }
}

/// Calls that the calling thread's handle makes.
macro_rules! calls {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Stream {
            $(
                $(#[$about])*
                ///
                /// # Errors
                #[doc = concat!("As [`Handle::", stringify!($name), "`], which says more.")]
                #[inline]
                pub fn $name(&self, $($argument: $type),*) -> Result<$result> {
                    self.call(|handle| handle.$name($($argument),*))
                }
            )*
        }
    };
}

calls! {
    /// Writes bytes and returns how many.
    #[doc(alias = "write(2)")]
    #[doc = include_str!("../doc/bytes.md")]
    write(bytes: &[u8]) -> usize;
    /// Writes several pieces as if they were one.
    #[doc(alias = "writev(2)")]
    #[doc = include_str!("../doc/bytes.md")]
    writev(pieces: &[IoSlice<'_>]) -> usize;
    /// Reads bytes, at most as many as the buffer takes, and waits until there are some. 0 is the end of the stream.
    #[doc(alias = "read(2)")]
    #[doc = include_str!("../doc/bytes.md")]
    read(buffer: &mut [u8]) -> usize;
    /// Reads into several buffers as if they were one.
    #[doc(alias = "readv(2)")]
    #[doc = include_str!("../doc/bytes.md")]
    readv(buffers: &mut [IoSliceMut<'_>]) -> usize;
    /// Sends an ordinary message of these parts, in band 0.
    #[doc = include_str!("../doc/messages.md")]
    putmsg(control: Option<&[u8]>, data: Option<&[u8]>) -> ();
    /// Sends a message of these parts, in a band or with high priority.
    #[doc = include_str!("../doc/messages.md")]
    #[doc(alias = "MSG_BAND")]
    #[doc(alias = "RS_HIPRI")]
    putpmsg(control: Option<&[u8]>, data: Option<&[u8]>, priority: impl Into<Priority>) -> ();
    /// Takes the first message, of any priority, and waits for one if there is none.
    #[doc = include_str!("../doc/messages.md")]
    getmsg(control: Option<&mut [u8]>, data: Option<&mut [u8]>) -> Received;
    /// Takes the message at the front, if it is one of those that are wanted.
    #[doc = include_str!("../doc/messages.md")]
    #[doc(alias = "MSG_BAND")]
    #[doc(alias = "RS_HIPRI")]
    getpmsg(control: Option<&mut [u8]>, data: Option<&mut [u8]>, filter: MessageFilter) -> Received;
    /// Copies the first message without taking it; None if there is none, or it is not of the wanted ones.
    #[doc(alias = "I_PEEK")]
    #[doc = include_str!("../doc/messages.md")]
    peek(control: Option<&mut [u8]>, data: Option<&mut [u8]>, filter: MessageFilter) -> Option<Received>;
    /// Takes the first message whole; None at the end of the stream.
    #[doc = include_str!("../doc/whole_messages.md")]
    #[doc(alias = "getpmsg")]
    receive() -> Option<Message<'static>>;
    /// Sends a message.
    #[doc = include_str!("../doc/whole_messages.md")]
    #[doc(alias = "putpmsg")]
    send_message(message: &Message<'_>) -> ();
    /// Whether the message at the front is marked.
    #[doc(alias = "I_ATMARK")]
    #[doc = include_str!("../doc/marks.md")]
    is_at_mark() -> bool;
    /// Whether the message at the front is the last one that is marked.
    #[doc = include_str!("../doc/marks.md")]
    #[doc(alias = "I_ATMARK")]
    #[doc(alias = "LASTMARK")]
    is_at_last_mark() -> bool;
    /// The band of the first message.
    #[doc(alias = "I_GETBAND")]
    #[doc = include_str!("../doc/queue_state.md")]
    band() -> u8;
    /// Whether a message of that band is there.
    #[doc(alias = "I_CKBAND")]
    #[doc = include_str!("../doc/queue_state.md")]
    has_band(band: u8) -> bool;
    /// Whether a message of that band can be written.
    #[doc(alias = "I_CANPUT")]
    #[doc = include_str!("../doc/queue_state.md")]
    can_put(band: u8) -> bool;
    /// Whether a message can be written in band 0, or in another that was used before.
    #[doc = include_str!("../doc/queue_state.md")]
    #[doc(alias = "I_CANPUT")]
    #[doc(alias = "ANYBAND")]
    can_put_in_any_band() -> bool;
    /// Waits until one of the events is there, or the time is over.
    #[doc(alias = "poll(2)")]
    #[doc = include_str!("../doc/poll.md")]
    poll(wanted: Events, timeout: Option<Duration>) -> Events;
    /// As `poll` without waiting; where no event is there, prepares the descriptor for a poll(2) of several files.
    #[doc(alias = "poll(2)")]
    #[doc = include_str!("../doc/poll.md")]
    prepare_poll(wanted: Events) -> Prepared;
    /// As `prepare_poll` for a descriptor that is polled edge-triggered, and for what was told before.
    #[doc(alias = "epoll(7)")]
    prepare_edge(wanted: Events, told: &mut Told) -> PreparedEdge;
    /// Closes one direction or both.
    #[doc(alias = "shutdown(2)")]
    #[doc = include_str!("../doc/shutdown.md")]
    shutdown(direction: Shutdown) -> ();
    /// Puts a module between this end's head and what is below.
    #[doc(alias = "I_PUSH")]
    #[doc = include_str!("../doc/modules.md")]
    push(name: &str) -> ();
    /// Takes the module away that was pushed last.
    #[doc(alias = "I_POP")]
    #[doc = include_str!("../doc/modules.md")]
    pop() -> ();
    /// Anchors the modules that are pushed on a device.
    #[doc(alias = "I_ANCHOR")]
    #[doc = include_str!("../doc/anchor.md")]
    anchor() -> ();
    /// The name of the module that was pushed last.
    #[doc(alias = "I_LOOK")]
    #[doc = include_str!("../doc/modules.md")]
    look() -> String;
    /// Whether a module of that name is pushed.
    #[doc(alias = "I_FIND")]
    #[doc = include_str!("../doc/modules.md")]
    find(name: &str) -> bool;
    /// The names of the end's modules, the last pushed first.
    #[doc(alias = "I_LIST")]
    #[doc = include_str!("../doc/modules.md")]
    list() -> Vec<String>;
    /// Sends an ioctl with data of its own down the stream, and waits for the answer.
    #[doc(alias = "I_STR")]
    #[doc = include_str!("../doc/ioctl.md")]
    #[doc(alias = "strioctl")]
    ioctl(command: u32, data: &mut Vec<u8>, timeout: IoctlTimeout) -> i32;
    /// Sends an ioctl with its argument alone down the stream; what it transfers is copied from and to the caller's memory.
    #[doc = include_str!("../doc/transparent_ioctl.md")]
    #[doc(alias = "M_COPYIN")]
    #[doc(alias = "M_COPYOUT")]
    transparent_ioctl(command: u32, argument: u64, memory: &mut dyn UserMemory) -> i32;
    /// Registers this process to be sent SIGPOLL or SIGURG when one of these events happens at this end.
    #[doc(alias = "I_SETSIG")]
    #[doc = include_str!("../doc/signals.md")]
    set_signals(events: SignalEvents) -> ();
    /// The events for which this process is registered.
    #[doc(alias = "I_GETSIG")]
    #[doc = include_str!("../doc/signals.md")]
    signals() -> SignalEvents;
    /// Registers another process, or a process group, which has a negative number.
    #[doc(alias = "I_ESETSIG")]
    #[doc = include_str!("../doc/signals.md")]
    set_signals_of(pid: i32, events: SignalEvents) -> ();
    /// The events for which another process, or a process group, is registered.
    #[doc(alias = "I_EGETSIG")]
    #[doc = include_str!("../doc/signals.md")]
    signals_of(pid: i32) -> SignalEvents;
    /// Changes how long [`Handle::close`] waits.
    #[doc(alias = "I_SETCLTIME")]
    #[doc = include_str!("../doc/close_time.md")]
    set_close_time(time: Duration) -> ();
    /// Sends an open file to the other end.
    #[doc(alias = "I_SENDFD")]
    #[doc = include_str!("../doc/files.md")]
    send_file(file: BorrowedFd<'_>) -> ();
    /// Takes an open file that the other end has sent.
    #[doc(alias = "I_RECVFD")]
    #[doc = include_str!("../doc/files.md")]
    receive_file() -> OwnedFd;
    /// Takes an open file that the other end has sent, with the user and group that have sent it.
    #[doc(alias = "I_RECVFD")]
    #[doc = include_str!("../doc/files.md")]
    receive_file_from() -> ReceivedFile;
    /// Changes how this end reads, in all processes.
    #[doc(alias = "I_SRDOPT")]
    #[doc = include_str!("../doc/read_options.md")]
    set_read_options(options: ReadOptions) -> ();
    /// Changes how this end writes, in all processes.
    #[doc(alias = "I_SWROPT")]
    #[doc = include_str!("../doc/write_options.md")]
    set_write_options(options: WriteOptions) -> ();
    /// Changes the water marks of this end's read queue.
    #[doc = include_str!("../doc/water_marks.md")]
    #[doc(alias = "SO_HIWAT")]
    #[doc(alias = "SO_LOWAT")]
    set_water_marks(hiwat: u32, lowat: u32) -> ();
    /// Whether exec keeps this end open.
    #[doc = include_str!("../doc/exec.md")]
    #[doc(alias = "FD_CLOEXEC")]
    set_inheritable(inheritable: bool) -> ();
    /// Takes the calling thread's place among the users of the stream, so that its first call does not have to.
    #[doc = include_str!("../doc/users.md")]
    attach() -> ();
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
        stream.handle()
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

impl io::Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(Stream::read(self, buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.readv(buffers)?)
    }
}

impl io::Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(Stream::write(self, bytes)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.writev(pieces)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut &*self, buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        io::Read::read_vectored(&mut &*self, buffers)
    }
}

impl io::Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*self, bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        io::Write::write_vectored(&mut &*self, pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { handles, endpoint, .. } = &*self.shared;
        formatter.debug_struct("Stream").field("endpoint", endpoint).field("handles", handles).finish()
    }
}

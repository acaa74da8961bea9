//! Streams under tokio: bytes by `AsyncRead` and `AsyncWrite`, messages by `Stream` and `Sink`. Feature `tokio`.
//!
//! A call that would wait first looks at the stream's memory for up to 20 us, in slices of 1 us between which the runtime runs its
//! other tasks ([`headwater_shm::Look`]). Only then it tries, which has the doorbell report what comes, and the task waits for that: a
//! reader until it is readable, a writer until it is writable. So two tasks can use the two halves (`tokio::io::split`). Actions of another handle of the
//! same end for readers show as an edge of writability
//! ([`Doorbell::nudge_own`](headwater_os::doorbell::Doorbell::nudge_own)), so both are woken by that.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use futures_core::Stream as MessageStream;
use futures_sink::Sink;
use headwater_os::fork;
use headwater_shm::{Look, Slice};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::task::coop::poll_proceed;

use crate::counters::Counters;
use crate::error::{Errno, Error, Result, fixed};
use crate::head::handle::Handle;
use crate::message::Message;
use crate::process::end::{Access, closed};
use crate::process::endpoint::OnClose;
use crate::stream::Stream;

/// One end of a stream, as tasks of a tokio runtime use it.
pub struct AsyncStream {
    /// Dropped before the handle, which then tells the other end to look whether it was the last one.
    waits: Arc<Waits>,
    handle: Handle,
    stream: Stream,
    /// The count of this end's own events at the last read without success; None: a read is to be tried.
    seen: Option<u32>,
    /// The looks of a reader and of a writer.
    looks: [Look; 2],
    /// A message that the sink has accepted and that has found no room yet. It is sent before all else.
    unsent: Option<Message<'static>>,
}

/// Which of [`AsyncStream::looks`].
const READS: usize = 0;
const WRITES: usize = 1;

/// The descriptor and the wakers at which the tasks of a stream wait.
#[derive(Debug)]
struct Waits {
    /// Another descriptor of the doorbell. None once the end was closed.
    doorbell: Mutex<Option<AsyncFd<OwnedFd>>>,
    tasks: Arc<Tasks>,
    /// The process of the runtime, by its fork epoch.
    epoch: u64,
}

impl Waits {
    fn doorbell(&self) -> MutexGuard<'_, Option<AsyncFd<OwnedFd>>> {
        self.doorbell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnClose for Waits {
    fn end_is_closed(&self) {
        // A child's copy: its locks may be held by threads that it does not have, and the descriptor is watched by the parent's
        // runtime, which would miss it.
        if !fork::word().is(self.epoch) {
            return;
        }
        drop(self.doorbell().take());
        // Later calls find no doorbell.
        self.tasks.wake_by_ref();
    }
}

/// The tasks that are woken by an edge of writability: the one that waits to write, and the one that waits to read.
#[derive(Debug, Default)]
struct Tasks {
    reader: Mutex<Option<Waker>>,
    writer: Mutex<Option<Waker>>,
}

impl Tasks {
    fn set(task: &Mutex<Option<Waker>>, waker: &Waker) {
        let mut task = task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

impl Wake for Tasks {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        for task in [&self.reader, &self.writer] {
            let waker = task.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl AsyncStream {
    /// Hands an end to the runtime that the calling task runs in. Its own calls never block, whatever the stream's O_NONBLOCK says.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor; what the runtime reports.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O enabled.
    #[doc = include_str!("../doc/tokio.md")]
    pub fn new(stream: Stream) -> Result<AsyncStream> {
        let mut handle = stream.new_handle();
        handle.set_nonblocking(true)?;
        let descriptor = stream.as_fd().try_clone_to_owned()?;
        #[expect(deprecated, reason = "an OwnedFd keeps its number, which is all that the unsafe successor asks for")]
        let doorbell = AsyncFd::with_interest(descriptor, Interest::READABLE | Interest::WRITABLE)?;
        let waits =
            Arc::new(Waits { doorbell: Mutex::new(Some(doorbell)), tasks: Arc::default(), epoch: fork::epoch() });
        let weak = Arc::downgrade(&waits);
        handle.end.endpoint.tell_of_close(weak);
        // A close that did not find this value.
        handle.end.check_open()?;
        Ok(AsyncStream { waits, handle, stream, seen: None, looks: Default::default(), unsent: None })
    }

    /// The end itself, for what does not wait: settings, modules, counters. Its reads and writes block the thread.
    #[doc = include_str!("../doc/tokio.md")]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The counts of the calls that were made on this value.
    #[doc = include_str!("../doc/tokio.md")]
    pub fn counters(&self) -> Counters {
        self.handle.counters()
    }

    /// Takes the next message, of any kind; None at the end of the stream.
    ///
    /// # Errors
    /// As [`Stream::receive`].
    #[doc = include_str!("../doc/tokio.md")]
    pub async fn receive(&mut self) -> Result<Option<Message<'static>>> {
        std::future::poll_fn(|context| self.poll_receive(context)).await.transpose()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// As [`Stream::send_message`].
    #[doc = include_str!("../doc/tokio.md")]
    pub async fn send_message(&mut self, message: &Message<'_>) -> Result<()> {
        std::future::poll_fn(|context| self.poll_send(context, message)).await
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message<'static>>>> {
        let budget = ready!(poll_proceed(context));
        ready!(self.poll_news(context))?;
        loop {
            let seen = self.handle.end.own_events();
            match self.handle.receive() {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => {
                    budget.made_progress();
                    return Poll::Ready(done.transpose());
                }
            }
            ready!(self.poll_packets(context, seen))?;
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>, message: &Message<'_>) -> Poll<Result<()>> {
        ready!(self.poll_unsent(context))?;
        self.poll_send_now(context, message)
    }

    /// Sends what the sink has accepted before.
    fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(message) = self.unsent.take() else { return Poll::Ready(Ok(())) };
        let sent = self.poll_send_now(context, &message);
        if sent.is_pending() {
            self.unsent = Some(message);
        }
        sent
    }

    /// `EAGAIN` means that no part of the message was sent, so it is sent again as a whole.
    fn poll_send_now(&mut self, context: &mut Context<'_>, message: &Message<'_>) -> Poll<Result<()>> {
        loop {
            match self.handle.send_message(message) {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(done),
            }
            ready!(self.poll_room(context))?;
        }
    }

    /// Whether a read is worth a try. If the last one had no success, and neither the doorbell nor a handle of this end
    /// has reported anything since, the task was woken for another reason.
    fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        match self.seen.take() {
            Some(seen) => self.poll_packets(context, seen),
            None => self.poll_look(context, READS).map(Ok),
        }
    }

    /// Looks whether a try would find something, before one that would wake the task by the doorbell.
    fn poll_look(&mut self, context: &mut Context<'_>, which: usize) -> Poll<()> {
        match self.handle.look_for_a_slice(&mut self.looks[which], which == WRITES) {
            Slice::Came | Slice::Over => Poll::Ready(()),
            Slice::Again => come_again(context),
        }
    }

    /// Waits until the doorbell is readable, or a handle of this end has done something since `seen`. The caller has
    /// tried without success after that, which has armed the doorbell.
    fn poll_packets(&mut self, context: &mut Context<'_>, seen: u32) -> Poll<Result<()>> {
        let Waits { tasks, .. } = &*self.waits;
        Tasks::set(&tasks.reader, context.waker());
        let mut doorbell = self.waits.doorbell();
        let Some(doorbell) = &mut *doorbell else { return Poll::Ready(Err(closed())) };
        if self.handle.end.endpoint.access == Access::Both {
            let waker = Waker::from(Arc::clone(tasks));
            // An edge from before the registration is skipped: its cause is seen below.
            while let Poll::Ready(edge) = doorbell.poll_write_ready_mut(&mut Context::from_waker(&waker)) {
                let mut edge = edge?;
                // This end writes no more, so no module answers.
                if edge.ready().is_write_closed() {
                    break;
                }
                edge.clear_ready();
            }
        }
        if self.handle.end.own_events() != seen {
            return Poll::Ready(Ok(()));
        }
        // Readiness from before the attempt is cleared; later readiness is not, and causes the next attempt.
        match doorbell.poll_read_ready_mut(context) {
            Poll::Ready(edge) => edge?.clear_ready(),
            Poll::Pending => {
                self.seen = Some(seen);
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Waits until the doorbell is writable.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Waits { tasks, .. } = &*self.waits;
        Tasks::set(&tasks.writer, context.waker());
        let mut doorbell = self.waits.doorbell();
        let Some(doorbell) = &mut *doorbell else { return Poll::Ready(Err(closed())) };
        let waker = Waker::from(Arc::clone(tasks));
        ready!(doorbell.poll_write_ready_mut(&mut Context::from_waker(&waker)))?.clear_ready();
        Poll::Ready(Ok(()))
    }
}

/// There is no notification of what the task waits for: it tries again after other tasks have run. Another user of the stream is in the
/// middle of a call, and a try waits some milliseconds; or the task looks, which it does for some microseconds. So this does not keep a
/// CPU busy.
fn come_again<T>(context: &Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

impl AsyncRead for AsyncStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let budget = ready!(poll_proceed(context));
        ready!(this.poll_news(context))?;
        loop {
            let seen = this.handle.end.own_events();
            match this.handle.read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    budget.made_progress();
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
            ready!(this.poll_packets(context, seen))?;
        }
    }
}

impl AsyncWrite for AsyncStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let budget = ready!(poll_proceed(context));
        ready!(this.poll_unsent(context))?;
        ready!(this.poll_look(context, WRITES));
        loop {
            match this.handle.write(bytes) {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => {
                    budget.made_progress();
                    return Poll::Ready(Ok(done?));
                }
            }
            ready!(this.poll_room(context))?;
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_unsent(context).map_err(io::Error::from)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Poll::Ready(match self.handle.end.endpoint.access {
            Access::Both => self.handle.shutdown(Shutdown::Write).map_err(io::Error::from),
            // An end of a FIFO is closed by dropping it.
            Access::Read | Access::Write => Ok(()),
        })
    }
}

impl MessageStream for AsyncStream {
    type Item = Result<Message<'static>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_receive(context)
    }
}

impl Sink<Message<'static>> for AsyncStream {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // The band of the next message is not known: there is a place for one of any band.
        self.poll_unsent(context)
    }

    /// Sends the message if there is room for it; if not, it goes when the sink is asked to be ready or flushed.
    fn start_send(mut self: Pin<&mut Self>, message: Message<'static>) -> Result<()> {
        if self.unsent.is_some() {
            return Err(fixed!(Again, "the sink was not asked whether it is ready"));
        }
        match self.handle.send_message(&message) {
            Err(error) if error.errno() == Errno::Again => {
                self.unsent = Some(message);
                Ok(())
            }
            done => done,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_unsent(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        AsyncWrite::poll_shutdown(self, context).map_err(Error::from)
    }
}

impl fmt::Debug for AsyncStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AsyncStream").field("stream", &self.handle).finish_non_exhaustive()
    }
}

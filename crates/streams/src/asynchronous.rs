//! Streams under tokio: bytes by `AsyncRead` and `AsyncWrite`, messages by `Stream` and `Sink`. Feature `tokio`.
//!
//! A call first tries; only when it would wait the task waits for the doorbell: a reader until it is readable, a writer
//! until it is writable. So two tasks can use the two halves (`tokio::io::split`).

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_core::Stream as MessageStream;
use futures_sink::Sink;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::error::{Errno, Error, Result, fixed};
use crate::head::stream::Stream;
use crate::message::owned::OwnedMessage;
use crate::process::end::{Access, Standing};

/// One end of a stream, as tasks of a tokio runtime use it.
pub struct AsyncStream {
    /// The doorbell. Dropped before the stream, which then tells the other end to look whether it was the last handle.
    doorbell: AsyncFd<OwnedFd>,
    stream: Stream,
    /// The task that waits to read, and what it has seen: what modules of this end answer to a write, or raise, no doorbell
    /// tells.
    reader: Option<(Waker, Standing)>,
    /// A message that the sink has accepted and that has found no room yet. It goes before all else.
    unsent: Option<OwnedMessage>,
}

impl AsyncStream {
    /// Hands an end to the runtime that the calling task runs in. The handle becomes non-blocking.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor; what the runtime reports.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O enabled.
    pub fn new(mut stream: Stream) -> Result<AsyncStream> {
        stream.set_nonblocking(true)?;
        let descriptor = stream.as_fd().try_clone_to_owned()?;
        #[expect(deprecated, reason = "an OwnedFd keeps its number, which is all that the unsafe successor asks for")]
        let doorbell = AsyncFd::with_interest(descriptor, Interest::READABLE | Interest::WRITABLE)?;
        Ok(AsyncStream { doorbell, stream, reader: None, unsent: None })
    }

    /// The end itself, for everything that does not wait: options, modules, counters.
    pub fn get_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Takes the next message, whatever it is; None at the end of the stream.
    ///
    /// # Errors
    /// As [`Stream::receive`].
    pub async fn receive(&mut self) -> Result<Option<OwnedMessage>> {
        std::future::poll_fn(|context| self.poll_receive(context)).await.transpose()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// As [`Stream::send_message`].
    pub async fn send_message(&mut self, message: &OwnedMessage) -> Result<()> {
        std::future::poll_fn(|context| self.poll_send(context, message)).await
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<OwnedMessage>>> {
        loop {
            match self.stream.receive() {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(done.transpose()),
            }
            if let Err(error) = ready!(self.poll_packets(context)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>, message: &OwnedMessage) -> Poll<Result<()>> {
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

    /// `EAGAIN` says that nothing of the message was sent, so it is sent again as a whole.
    fn poll_send_now(&mut self, context: &mut Context<'_>, message: &OwnedMessage) -> Poll<Result<()>> {
        loop {
            let sent = self.stream.send_message(message);
            self.wake_reader();
            match sent {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(done),
            }
            ready!(self.poll_room(context))?;
        }
    }

    /// Waits until the doorbell is readable. The caller has tried in vain, and the doorbell was armed by that.
    fn poll_packets(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.reader = Some((context.waker().clone(), self.stream.end.standing()));
        // What came before the attempt is forgotten; what comes after it is not, and makes the next attempt.
        ready!(self.doorbell.poll_read_ready_mut(context)).map_err(Error::from)?.clear_ready();
        Poll::Ready(Ok(()))
    }

    /// Waits until the doorbell is writable.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.doorbell.poll_write_ready_mut(context)).map_err(Error::from)?.clear_ready();
        Poll::Ready(Ok(()))
    }

    /// If a call has left something for this end's own reader, wakes it.
    fn wake_reader(&mut self) {
        let Stream { back, end, .. } = &self.stream;
        if let Some((reader, _)) = self.reader.take_if(|(_, before)| back.is_readable() || end.standing() != *before) {
            reader.wake();
        }
    }
}

/// Another user of the stream is in the middle of a call, and nobody tells when it comes out: the task tries again when
/// others have had their turn. A try waits some milliseconds, so this does not keep a CPU busy.
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
        loop {
            match this.stream.read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
            ready!(this.poll_packets(context))?;
        }
    }
}

impl AsyncWrite for AsyncStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(this.poll_unsent(context))?;
        loop {
            let written = this.stream.write(bytes);
            this.wake_reader();
            match written {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(Ok(done?)),
            }
            ready!(this.poll_room(context))?;
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_unsent(context).map_err(io::Error::from)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Poll::Ready(match self.stream.end.access {
            Access::Both => self.stream.shutdown(Shutdown::Write).map_err(io::Error::from),
            // An end of a FIFO is closed by dropping it.
            Access::Read | Access::Write => Ok(()),
        })
    }
}

impl MessageStream for AsyncStream {
    type Item = Result<OwnedMessage>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_receive(context)
    }
}

impl Sink<OwnedMessage> for AsyncStream {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // The band of the next message is not known: there is a place for one, whatever it is.
        self.poll_unsent(context)
    }

    /// Sends the message if there is room for it; if not, it goes when the sink is asked to be ready or flushed.
    fn start_send(mut self: Pin<&mut Self>, message: OwnedMessage) -> Result<()> {
        if self.unsent.is_some() {
            return Err(fixed!(Again, "the sink was not asked whether it is ready"));
        }
        let sent = self.stream.send_message(&message);
        self.wake_reader();
        match sent {
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
        formatter.debug_struct("AsyncStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

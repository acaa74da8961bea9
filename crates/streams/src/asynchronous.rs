//! Streams under tokio: bytes by `AsyncRead` and `AsyncWrite`, messages by `Stream` and `Sink`. Feature `tokio`.
//!
//! A call first tries; only when it would wait the task waits for the doorbell. Reading and writing wait on descriptors of
//! their own, so that two tasks can use the two halves (`tokio::io::split`).

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream as MessageStream;
use futures_sink::Sink;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::error::{Errno, Error, Result};
use crate::head::stream::Stream;
use crate::message::owned::OwnedMessage;

/// One end of a stream, as tasks of a tokio runtime use it.
pub struct AsyncStream {
    /// Both are the doorbell, which also rings when there is room. Dropped before the stream, which then tells the other
    /// end to look whether it was the last handle.
    to_read: AsyncFd<OwnedFd>,
    to_write: AsyncFd<OwnedFd>,
    stream: Stream,
}

impl AsyncStream {
    /// Hands an end to the runtime that the calling task runs in. The handle becomes non-blocking.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; what the runtime reports.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O enabled.
    pub fn new(mut stream: Stream) -> Result<AsyncStream> {
        stream.set_nonblocking(true)?;
        #[expect(deprecated, reason = "an OwnedFd keeps its number, which is all that the unsafe successor asks for")]
        let descriptor = || -> Result<AsyncFd<OwnedFd>> {
            Ok(AsyncFd::with_interest(stream.as_fd().try_clone_to_owned()?, Interest::READABLE)?)
        };
        let (to_read, to_write) = (descriptor()?, descriptor()?);
        Ok(AsyncStream { stream, to_read, to_write })
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
            if let Err(error) = ready!(await_bell(&mut self.to_read, context)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>, message: &OwnedMessage) -> Poll<Result<()>> {
        loop {
            match self.stream.send_message(message) {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(done),
            }
            ready!(await_bell(&mut self.to_write, context))?;
        }
    }
}

/// Another user of the stream is in the middle of a call, and nobody tells when it comes out: the task tries again when
/// others have had their turn. A try waits some milliseconds, so this does not keep a CPU busy.
fn come_again<T>(context: &Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Waits for the next bell. The caller has tried in vain, and the doorbell was armed by that.
fn await_bell(fd: &mut AsyncFd<OwnedFd>, context: &mut Context<'_>) -> Poll<Result<()>> {
    // What rang before the attempt is forgotten; what rings after it is not, and makes the next attempt.
    ready!(fd.poll_read_ready_mut(context)).map_err(Error::from)?.clear_ready();
    Poll::Ready(Ok(()))
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
            ready!(await_bell(&mut this.to_read, context))?;
        }
    }
}

impl AsyncWrite for AsyncStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        loop {
            match this.stream.write(bytes) {
                Err(error) if error.is_held() => return come_again(context),
                Err(error) if error.errno() == Errno::Again => {}
                done => return Poll::Ready(Ok(done?)),
            }
            ready!(await_bell(&mut this.to_write, context))?;
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An end is closed by dropping it; STREAMS knows no half of an end.
        Poll::Ready(Ok(()))
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
        let this = &mut *self;
        loop {
            match this.stream.can_put(0) {
                Err(error) if error.is_held() => return come_again(context),
                can_put => {
                    if can_put? || !this.stream.arm(false, Some(0))? {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
            ready!(await_bell(&mut this.to_write, context))?;
        }
    }

    fn start_send(mut self: Pin<&mut Self>, message: OwnedMessage) -> Result<()> {
        self.stream.send_message(&message)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for AsyncStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AsyncStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

//! A stream from a PostgreSQL server whose messages have a limit. The protocol's reader makes room for as many bytes as a
//! message announces, up to 2 GiB; so the announced length is checked before that reader sees it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The most bytes of a message. The largest is a part of a run's file, with at most 4 MiB, or a row with the figures of a
/// million launches.
pub const MESSAGE_MAX: u32 = 64 << 20;

/// The kind of a message and its length, which counts itself.
const HEAD: usize = 5;

/// A stream of messages.
pub struct Limited<S> {
    stream: S,
    /// The bytes of the head of the next message that have come.
    head: [u8; HEAD],
    have: usize,
    /// The bytes of the present message that are still to come.
    body: u32,
}

impl<S> Limited<S> {
    /// Returns a stream that begins with a message.
    pub fn new(stream: S) -> Limited<S> {
        Limited { stream, head: [0; HEAD], have: 0, body: 0 }
    }

    /// Follows the messages in bytes that have come.
    fn check(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some((first, rest)) = bytes.split_first() {
            if self.body > 0 {
                let skipped = bytes.len().min(self.body as usize);
                self.body -= skipped as u32;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.have] = *first;
            self.have = (self.have + 1) % HEAD;
            bytes = rest;
            if self.have == 0 {
                let len = u32::from_be_bytes(self.head[1..].try_into().expect("four bytes"));
                if len > MESSAGE_MAX {
                    let text = format!("the server announces a message of {len} bytes; the limit is {MESSAGE_MAX}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                self.body = len.saturating_sub(size_of::<u32>() as u32);
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Limited<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut own.stream).poll_read(context, buffer))?;
        Poll::Ready(own.check(&buffer.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Limited<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: TlsStream + Unpin> TlsStream for Limited<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream.channel_binding()
    }
}

/// A way to encrypt a stream, whose messages have the limit behind it.
pub struct LimitedTls<T>(pub T);

impl<S, T> TlsConnect<S> for LimitedTls<T>
where
    T: TlsConnect<S>,
    T::Stream: Unpin,
    T::Future: Send + 'static,
{
    type Stream = Limited<T::Stream>;
    type Error = T::Error;
    type Future = BoxFuture<'static, Result<Limited<T::Stream>, T::Error>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        Box::pin(async move { connecting.await.map(Limited::new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, len: u32) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend(len.to_be_bytes());
        bytes
    }

    #[test]
    fn a_message_longer_than_the_limit_is_refused_at_its_length_however_it_is_cut() {
        let good = [message(b'Z', 5), vec![b'I'], message(b'N', 4), message(b'D', 1000), vec![0xff; 996]].concat();
        for (len, is_refused) in [(MESSAGE_MAX, false), (MESSAGE_MAX + 1, true), (0x7fff_ffff, true), (u32::MAX, true)]
        {
            let all = [good.clone(), message(b'D', len)].concat();
            for cut in 1..=all.len() {
                let mut limited = Limited::new(());
                let whole = all.chunks(cut).try_for_each(|part| limited.check(part));
                assert_eq!(whole.is_err(), is_refused, "{len} in pieces of {cut}");
            }
        }
    }
}

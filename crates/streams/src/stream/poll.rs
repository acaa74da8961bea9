//! Waiting for events, by this library or by an event loop's poll(2) or epoll(7).

use std::time::Duration;

use super::Stream;
use crate::error::Result;
use crate::head::{Events, Prepared, PreparedEdge, Told};

impl Stream {
    /// Returns the events of `wanted` for which the stream is ready; waits until there is one, at most for `timeout`
    /// (None: no limit; zero: not at all). No event: the time is over.
    ///
    /// # Errors
    /// `EINTR` after a signal; `EPROTO` on a broken stream.
    #[doc = include_str!("../../doc/poll.md")]
    #[doc(alias = "poll(2)")]
    pub fn poll(&self, wanted: Events, timeout: Option<Duration>) -> Result<Events> {
        self.call(|handle| handle.poll(wanted, timeout))
    }

    /// As [`Stream::poll`] without waiting; where no event is there, the descriptor is prepared for a poll(2) of several files: it
    /// becomes readable or writable when the stream may be ready.
    ///
    /// ```
    /// use headwater_streams::{Events, Prepared, pipe};
    ///
    /// let (near, far) = pipe()?;
    /// let Prepared::Armed { reads, look_every, .. } = near.prepare_poll(Events::IN)? else { unreachable!("it is empty") };
    /// assert!(reads && look_every.is_none());
    /// // Here the program polls `near.as_fd()` and other files.
    /// far.write(b"x")?;
    /// assert_eq!(near.prepare_poll(Events::IN)?, Prepared::Ready(Events::IN));
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EPROTO` on a broken stream.
    #[doc(alias = "poll(2)")]
    pub fn prepare_poll(&self, wanted: Events) -> Result<Prepared> {
        self.call(|handle| handle.prepare_poll(wanted))
    }

    /// As [`Stream::prepare_poll`] for a program that polls the descriptor edge-triggered (EPOLLET): data that was there when the
    /// program was told is not ready again, and the descriptor has an edge when more arrives, whether or not the program has read
    /// until `EAGAIN`. Messages in bands or of high priority are told each time until they are read.
    ///
    /// ```
    /// use headwater_streams::{Events, Told, pipe};
    ///
    /// let (near, far) = pipe()?;
    /// let mut told = Told::default();
    /// far.write(b"ab")?;
    /// assert_eq!(near.prepare_edge(Events::IN, &mut told)?.fresh, Events::IN);
    /// near.read(&mut [0; 1])?;
    /// assert!(near.prepare_edge(Events::IN, &mut told)?.fresh.is_empty());
    /// far.write(b"c")?;
    /// assert_eq!(near.prepare_edge(Events::IN, &mut told)?.fresh, Events::IN);
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EPROTO` on a broken stream.
    #[doc(alias = "epoll(7)")]
    pub fn prepare_edge(&self, wanted: Events, told: &mut Told) -> Result<PreparedEdge> {
        self.call(|handle| handle.prepare_edge(wanted, told))
    }
}

//! Messages: sending and taking them, by parts or whole, and what the queue of this end holds.

use super::Stream;
use crate::error::Result;
use crate::head::{MessageFilter, Received};
use crate::message::Message;
use crate::message::kind::Flush;
use crate::message::priority::Priority;

impl Stream {
    /// Sends an ordinary message with these parts, in band 0 (putmsg with flags 0). As [`Stream::putpmsg`] with
    /// [`Priority::NORMAL`].
    ///
    /// # Errors
    /// As [`Stream::putpmsg`].
    #[doc = include_str!("../../doc/messages.md")]
    #[inline]
    pub fn putmsg(&self, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        self.call(|handle| handle.putmsg(control, data))
    }

    /// Sends a message of these parts (putpmsg, and putmsg with RS_HIPRI): M_PROTO with a control part, else M_DATA;
    /// [`Priority::High`] makes it an M_PCPROTO. No part at all sends nothing.
    ///
    /// # Errors
    /// `EINVAL` for high priority without a control part; `ERANGE` for parts beyond the stream's limits: a control part longer
    /// than strctlsz, data longer than maxpsz beside a control part, or longer than strmsgsz, or than 64 times maxpsz, without
    /// one; data shorter than the first module or driver below takes; else as [`Stream::write`]. High priority never waits. After any error but `EPIPE` nothing was sent, unless a module
    /// made it.
    #[doc = include_str!("../../doc/messages.md")]
    #[doc(alias = "MSG_BAND")]
    #[doc(alias = "RS_HIPRI")]
    #[inline]
    pub fn putpmsg(&self, control: Option<&[u8]>, data: Option<&[u8]>, priority: impl Into<Priority>) -> Result<()> {
        self.call(|handle| handle.putpmsg(control, data, priority))
    }

    /// Takes the first message, of any priority. As [`Stream::getpmsg`] with [`MessageFilter::Any`].
    ///
    /// # Errors
    /// As [`Stream::getpmsg`].
    #[doc = include_str!("../../doc/messages.md")]
    #[inline]
    pub fn getmsg(&self, control: Option<&mut [u8]>, data: Option<&mut [u8]>) -> Result<Received> {
        self.call(|handle| handle.getmsg(control, data))
    }

    /// Takes the message at the front, if it is one of those that are wanted; else waits until one of them is at the front. At the end
    /// of the stream no message comes any more, and a wait for another one than what is there is over, too. A part for which there is no buffer stays where it is (maxlen -1), also one of no bytes, and so do the bytes for which
    /// a buffer has no room; the rest keeps its type and band. A part that has been taken as a whole is not there any
    /// more: data whose control
    /// part is gone can be read. At the end of the stream both parts have length 0.
    ///
    /// # Errors
    /// `EAGAIN` for a non-blocking stream when none of the wanted ones is at the front; `EBADMSG` if the first message is one that getmsg
    /// does not take, a passed file; else as [`Stream::read`].
    #[doc = include_str!("../../doc/messages.md")]
    #[doc(alias = "MSG_BAND")]
    #[doc(alias = "RS_HIPRI")]
    #[inline]
    pub fn getpmsg(
        &self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Received> {
        self.call(|handle| handle.getpmsg(control, data, filter))
    }

    /// Takes the first message whole, of any kind, and waits for one if there is none; None at the end of the stream.
    /// Plain bytes become one message of the available data, up to `strmsgsz` bytes.
    ///
    /// # Errors
    /// As [`Stream::getpmsg`].
    #[doc = include_str!("../../doc/whole_messages.md")]
    #[doc(alias = "getpmsg")]
    #[inline]
    pub fn receive(&self) -> Result<Option<Message<'static>>> {
        self.call(|handle| handle.receive())
    }

    /// Sends a message of the type M_DATA, M_PROTO or M_PCPROTO. As [`Stream::putpmsg`] with its parts and its priority.
    ///
    /// # Errors
    /// `EINVAL` for a message of another type; else as [`Stream::putpmsg`].
    #[doc = include_str!("../../doc/whole_messages.md")]
    #[doc(alias = "putpmsg")]
    #[inline]
    pub fn send_message(&self, message: &Message<'_>) -> Result<()> {
        self.call(|handle| handle.send_message(message))
    }

    /// Copies the first message without taking it (I_PEEK); None if there is none, or it is not of the wanted ones.
    ///
    /// # Errors
    /// `EBADMSG` if the first message is one that getmsg does not take, and any is wanted; those of a stream with a read error.
    #[doc = include_str!("../../doc/messages.md")]
    #[doc(alias = "I_PEEK")]
    pub fn peek(
        &self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Option<Received>> {
        self.call(|handle| handle.peek(control, data, filter))
    }

    /// As [`Stream::putpmsg`], with the name of another stream's end put into the control part, from its byte `offset` on: the low
    /// 32 bits of its [`Stream::id`] in the order of the machine. So a module is told which stream is meant (I_FDINSERT).
    ///
    /// ```
    /// use headwater_streams::{Priority, pipe};
    ///
    /// let (near, far) = pipe()?;
    /// let (other, _peer) = pipe()?;
    /// near.putmsg_naming(&[0; 16], None, Priority::NORMAL, &other, 8)?;
    /// let mut control = [0; 16];
    /// far.getmsg(Some(&mut control), None)?;
    /// assert_eq!(control[8..12], (other.id() as u32).to_ne_bytes());
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EINVAL` for an offset that is no multiple of 4, or so large that the word is not all in the control part, and if the other
    /// stream's end is this one; `ENXIO` if the
    /// other stream was hung up; else as [`Stream::putpmsg`] (SUSv2, ioctl of STREAMS, I_FDINSERT).
    #[doc(alias = "I_FDINSERT")]
    #[doc = include_str!("../../doc/identity.md")]
    pub fn putmsg_naming(
        &self,
        control: &[u8],
        data: Option<&[u8]>,
        priority: Priority,
        other: &Stream,
        offset: usize,
    ) -> Result<()> {
        let other = other.new_handle();
        self.call(|handle| handle.putmsg_naming(control, data, priority, &other, offset))
    }

    /// Whether the message at the front is marked (I_ATMARK with ANYMARK).
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc = include_str!("../../doc/marks.md")]
    #[doc(alias = "I_ATMARK")]
    pub fn is_at_mark(&self) -> Result<bool> {
        self.call(|handle| handle.is_at_mark())
    }

    /// Whether the message at the front is marked, and no other behind it is (I_ATMARK with LASTMARK).
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc(alias = "LASTMARK")]
    #[doc = include_str!("../../doc/marks.md")]
    #[doc(alias = "I_ATMARK")]
    pub fn is_at_last_mark(&self) -> Result<bool> {
        self.call(|handle| handle.is_at_last_mark())
    }

    /// The band of the first message (I_GETBAND).
    ///
    /// # Errors
    /// `ENODATA` if there is none.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_GETBAND")]
    pub fn band(&self) -> Result<u8> {
        self.call(|handle| handle.band())
    }

    /// Whether a message of that band is there (I_CKBAND).
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_CKBAND")]
    pub fn has_band(&self, band: u8) -> Result<bool> {
        self.call(|handle| handle.has_band(band))
    }

    /// Whether a message of that band can be sent now (I_CANPUT).
    ///
    /// # Errors
    /// `ENXIO` after a hang-up, and those of a stream with a write error.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_CANPUT")]
    pub fn can_put(&self, band: u8) -> Result<bool> {
        self.call(|handle| handle.can_put(band))
    }

    /// Whether a message can be sent now in band 0, or in another that was used before (I_CANPUT with ANYBAND).
    ///
    /// # Errors
    /// As [`Stream::can_put`].
    #[doc(alias = "ANYBAND")]
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_CANPUT")]
    pub fn can_put_in_any_band(&self) -> Result<bool> {
        self.call(|handle| handle.can_put_in_any_band())
    }

    /// Discards messages that wait in queues (I_FLUSH, I_FLUSHBAND): an M_FLUSH goes down the stream and does it. On a
    /// pipe the far head takes "read" for its own; push `pipemod` on one end to turn it.
    ///
    /// # Errors
    /// `EINVAL` if neither side is to be flushed; `ENXIO` after a hang-up; those of a stream with an error.
    #[doc = include_str!("../../doc/flush.md")]
    #[doc(alias = "I_FLUSH")]
    #[doc(alias = "I_FLUSHBAND")]
    pub fn flush_queues(&self, flush: Flush) -> Result<()> {
        self.call(|handle| handle.flush_queues(flush))
    }
}

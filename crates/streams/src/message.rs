//! A message: its header and its parts.
//!
//! Between the put procedures a message lies in the memory of the process that sends it, borrowed from the caller
//! unless a module has changed it. It is copied into shared memory once, when it is queued.

mod chain;
pub mod ioctl;
pub mod kind;
pub mod link;
pub mod priority;

use chain::Chain;
use kind::{Kind, MessageHeader};
use priority::Priority;

use crate::error::Errno;

/// "Leave this side as it is" in an M_ERROR (NOERROR).
pub(crate) const NO_ERROR: u8 = 255;

/// A message: what users send and receive whole, and what modules pass on.
///
/// Its parts are borrowed from the caller, or its own. `Message<'static>` has bytes of its own; [`Stream::receive`] returns one.
/// Users send M_DATA, M_PROTO and M_PCPROTO ([`Message::data_of`], [`Message::proto_of`]); modules any type ([`Message::new`]).
///
/// ```
/// use headwater_streams::{Message, Priority};
///
/// let (near, far) = headwater_streams::pipe()?;
/// near.send_message(&Message::data_of(b"later"))?;
/// near.send_message(&Message::proto_of(b"control", b"now").with_priority(Priority::High))?;
/// let first = far.receive()?.expect("two were sent");
/// assert_eq!((first.control(), first.data()), (Some(&b"control"[..]), Some(&b"now"[..])));
/// assert_eq!(first.priority(), Priority::High);
/// # Ok::<(), headwater_streams::Error>(())
/// ```
///
/// [`Stream::receive`]: crate::Stream::receive
#[doc(alias = "msgb")]
#[doc(alias = "mblk")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Type, band and flags.
    pub header: MessageHeader,
    control: Option<Chain<'a>>,
    data: Option<Chain<'a>>,
}

impl<'a> Message<'a> {
    /// An ordinary message of data.
    #[inline]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn data_of(data: &'a [u8]) -> Message<'a> {
        Message { header: MessageHeader::of(Kind::Data), control: None, data: Some(Chain::borrowed(data)) }
    }

    /// A message of any type. For an [`Kind::Ioctl`] and its answers, [`Kind::Flush`], [`Kind::Error`] and the like the
    /// type defines the data part.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn new(header: MessageHeader, control: Option<&'a [u8]>, data: Option<&'a [u8]>) -> Message<'a> {
        Message { header, control: control.map(Chain::borrowed), data: data.map(Chain::borrowed) }
    }

    /// An ordinary message of a control part and data, as putmsg sends it.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn proto_of(control: &'a [u8], data: &'a [u8]) -> Message<'a> {
        Message::new(MessageHeader::of(Kind::Proto), Some(control), Some(data))
    }

    /// The same message in another band, or with high priority. As putpmsg, which makes an M_PCPROTO of an M_PROTO of high
    /// priority; data alone has no high priority, and sending it so is refused.
    #[must_use]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn with_priority(mut self, priority: impl Into<Priority>) -> Message<'a> {
        let priority = priority.into();
        self.header.kind = match (self.header.kind, priority) {
            (Kind::PcProto, Priority::Band(_)) => Kind::Proto,
            (Kind::Data | Kind::Proto, Priority::High) => Kind::PcProto,
            (kind, _) => kind,
        };
        self.header.band = priority.band();
        self
    }

    /// Returns its priority class.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn priority(&self) -> Priority {
        self.header.priority()
    }

    /// A message of any type that owns its bytes; [`Message::into_parts`] returns them.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn from_parts(header: MessageHeader, control: Option<Vec<u8>>, data: Option<Vec<u8>>) -> Message<'static> {
        Message { header, control: control.map(Chain::owned), data: data.map(Chain::owned) }
    }

    /// An M_ERROR: the read side has that error from now on, and the write side the other one. None: that side stays as it is.
    pub(crate) fn of_errors(read: Option<Errno>, write: Option<Errno>) -> Message<'static> {
        let code = |error: Option<Errno>| error.map_or(NO_ERROR, |error| error.number() as u8);
        Message::from_parts(MessageHeader::of(Kind::Error), None, Some(vec![code(read), code(write)]))
    }

    /// The control part, if there is one.
    #[inline]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn control(&self) -> Option<&[u8]> {
        self.control.as_ref().map(Chain::bytes)
    }

    /// The data part, if there is one. One of several blocks is joined for that, once (pullupmsg, msgpullup).
    #[doc(alias = "pullupmsg")]
    #[inline]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_ref().map(Chain::bytes)
    }

    /// The blocks of the data part as they lie.
    #[doc(alias = "b_cont")]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn data_blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.data.iter().flat_map(Chain::blocks)
    }

    /// Calls `each` with each block of the data part. For paths on which nearly all messages have one block.
    #[inline]
    pub(crate) fn each_data_block<E>(&self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match &self.data {
            Some(data) if data.is_one_block() => each(data.bytes()),
            data => data.iter().flat_map(Chain::blocks).try_for_each(each),
        }
    }

    /// Puts the data of another message behind this one's, as blocks of their own; nothing is copied (linkb).
    ///
    /// ```
    /// use headwater_streams::Message;
    ///
    /// let mut message = Message::data_of(b"head, ");
    /// message.link(Message::data_of(b"body"));
    /// assert_eq!(message.data_blocks().count(), 2);
    /// assert_eq!(message.data(), Some(&b"head, body"[..]));
    /// ```
    #[doc(alias = "linkb")]
    pub fn link(&mut self, other: Message<'a>) {
        match (&mut self.data, other.data) {
            (Some(data), Some(other)) => data.link(other),
            (data @ None, other) => *data = other,
            (_, None) => {}
        }
    }

    /// Takes the blocks of the data part behind the first off, as a message of data; None if there are none (unlinkb).
    #[doc(alias = "unlinkb")]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn unlink(&mut self) -> Option<Message<'a>> {
        let rest = self.data.as_mut()?.unlink()?;
        Some(Message { header: MessageHeader::of(Kind::Data), control: None, data: Some(rest) })
    }

    /// Returns another message of the same parts, which shares the bytes: they are copied before one of the two changes
    /// them (dupmsg).
    ///
    /// ```
    /// use headwater_streams::Message;
    ///
    /// let mut message = Message::data_of(b"abc").into_owned();
    /// let mut duplicate = message.duplicate();
    /// assert_eq!(message.data().map(<[u8]>::as_ptr), duplicate.data().map(<[u8]>::as_ptr));
    /// duplicate.data_mut()[0] = b'x';
    /// assert_eq!((message.data(), duplicate.data()), (Some(&b"abc"[..]), Some(&b"xbc"[..])));
    /// ```
    #[doc(alias = "dupmsg")]
    #[doc(alias = "dupb")]
    pub fn duplicate(&mut self) -> Message<'a> {
        let share = |part: &mut Option<Chain<'a>>| part.as_mut().map(Chain::share);
        Message { header: self.header, control: share(&mut self.control), data: share(&mut self.data) }
    }

    /// Removes `count` bytes from the beginning of the data part, or from its end if the number is negative. Returns
    /// false, and changes nothing, if the part has fewer bytes (adjmsg).
    #[doc(alias = "adjmsg")]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn trim(&mut self, count: isize) -> bool {
        let (len, cut) = (self.data.as_ref().map_or(0, Chain::len), count.unsigned_abs());
        if cut > len {
            return false;
        }
        if cut > 0 && count > 0 {
            self.data_mut().drain(..cut);
        } else if cut > 0 {
            self.data_mut().truncate(len - cut);
        }
        true
    }

    /// The data part, for changes; it exists afterwards.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn data_mut(&mut self) -> &mut Vec<u8> {
        self.data.get_or_insert_with(|| Chain::owned(Vec::new())).to_mut()
    }

    /// The control part, for changes; it exists afterwards.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn control_mut(&mut self) -> &mut Vec<u8> {
        self.control.get_or_insert_with(|| Chain::owned(Vec::new())).to_mut()
    }

    /// Gives the message another control part; what it had is not copied.
    pub(crate) fn set_control(&mut self, control: Vec<u8>) {
        self.control = Some(Chain::owned(control));
    }

    /// Makes the message one of plain data, which begins a record of its own.
    pub(crate) fn drop_control(&mut self) {
        self.control = None;
        self.header.kind = Kind::Data;
    }

    /// Bytes of both parts (msgdsize counts the data part alone).
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a message without bytes is one all the same")]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn len(&self) -> usize {
        self.control.as_ref().map_or(0, Chain::len) + self.data.as_ref().map_or(0, Chain::len)
    }

    /// Bytes of the data part, if there is one.
    #[doc(alias = "msgdsize")]
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn data_len(&self) -> Option<usize> {
        self.data.as_ref().map(Chain::len)
    }

    /// The control part and the data part, without a copy where they are the message's own.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn into_parts(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let bytes = |part: Option<Chain<'_>>| part.map(Chain::into_bytes);
        (bytes(self.control), bytes(self.data))
    }

    /// The same message with its own copy of the bytes.
    #[doc = include_str!("../doc/message_parts.md")]
    pub fn into_owned(self) -> Message<'static> {
        let own = |part: Option<Chain<'_>>| part.map(Chain::into_owned);
        Message { header: self.header, control: own(self.control), data: own(self.data) }
    }

    /// Whether it is data that a write made: no boundaries, nothing but bytes.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.header == MessageHeader::of(Kind::Data) && self.control.is_none()
    }
}

impl<'a> From<&'a [u8]> for Message<'a> {
    /// An ordinary message of data.
    fn from(data: &'a [u8]) -> Message<'a> {
        Message::data_of(data)
    }
}

impl From<Vec<u8>> for Message<'static> {
    /// An ordinary message of data.
    fn from(data: Vec<u8>) -> Message<'static> {
        Message::from_parts(MessageHeader::of(Kind::Data), None, Some(data))
    }
}

impl From<(Vec<u8>, Vec<u8>)> for Message<'static> {
    /// An ordinary message of a control part and data.
    fn from((control, data): (Vec<u8>, Vec<u8>)) -> Message<'static> {
        Message::from_parts(MessageHeader::of(Kind::Proto), Some(control), Some(data))
    }
}

//! A message: what it is, and its parts.
//!
//! Between the put procedures a message lies in the memory of the process that sends it, borrowed from the caller where
//! nobody has changed it. Only where it waits in a queue it is copied into shared memory, once.

use std::borrow::Cow;

pub mod ioctl;
pub mod kind;
pub mod owned;

use kind::{Kind, What};

/// A message on its way along a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Type, band and flags.
    pub what: What,
    control: Option<Cow<'a, [u8]>>,
    data: Option<Cow<'a, [u8]>>,
}

impl<'a> Message<'a> {
    /// An ordinary message of data.
    #[inline]
    pub fn data_of(data: &'a [u8]) -> Message<'a> {
        Message { what: What::of(Kind::Data), control: None, data: Some(Cow::Borrowed(data)) }
    }

    /// A message of any type. Of an [`Kind::Ioctl`] and its answers, [`Kind::Flush`], [`Kind::Error`] and the like the
    /// data part is theirs to define.
    pub fn new(what: What, control: Option<&'a [u8]>, data: Option<&'a [u8]>) -> Message<'a> {
        Message { what, control: control.map(Cow::Borrowed), data: data.map(Cow::Borrowed) }
    }

    pub(crate) fn of_parts(what: What, control: Option<Vec<u8>>, data: Option<Vec<u8>>) -> Message<'static> {
        Message { what, control: control.map(Cow::Owned), data: data.map(Cow::Owned) }
    }

    /// The control part, if there is one.
    #[inline]
    pub fn control(&self) -> Option<&[u8]> {
        self.control.as_deref()
    }

    /// The data part, if there is one.
    #[inline]
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }

    /// The data part, to be changed; it is there afterwards.
    pub fn data_mut(&mut self) -> &mut Vec<u8> {
        self.data.get_or_insert_with(|| Cow::Owned(Vec::new())).to_mut()
    }

    /// The control part, to be changed; it is there afterwards.
    pub fn control_mut(&mut self) -> &mut Vec<u8> {
        self.control.get_or_insert_with(|| Cow::Owned(Vec::new())).to_mut()
    }

    /// Bytes of both parts.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a message without bytes is one all the same")]
    pub fn len(&self) -> usize {
        self.control.as_ref().map_or(0, |part| part.len()) + self.data.as_ref().map_or(0, |part| part.len())
    }

    /// The same message with bytes of its own.
    pub fn into_owned(self) -> Message<'static> {
        let own = |part: Option<Cow<'_, [u8]>>| part.map(|bytes| Cow::Owned(bytes.into_owned()));
        Message { what: self.what, control: own(self.control), data: own(self.data) }
    }

    /// Whether it is data that a write made: no boundaries, nothing but bytes.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.what == What::of(Kind::Data) && self.control.is_none()
    }
}

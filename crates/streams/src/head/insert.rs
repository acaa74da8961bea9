//! I_FDINSERT: a message whose control part names another stream.

use super::handle::Handle;
use super::state::{self, Call};
use crate::error::{Error, Result, Text, fixed};
use crate::message::priority::Priority;

/// Bytes of the word that names a stream (t_uscalar_t).
const WORD: usize = 4;

impl Handle {
    /// A number that no other end on this machine has, for [`Handle::putmsg_naming`]. It has no other meaning.
    #[doc = include_str!("../../doc/identity.md")]
    pub fn id(&self) -> u64 {
        self.end.region.inode << 1 | self.end.side as u64
    }

    /// As [`Handle::putpmsg`], with the name of another stream's end put into the control part, from its byte `offset` on: the low
    /// 32 bits of its [`Handle::id`] in the order of the machine. So a module is told which stream is meant (I_FDINSERT).
    ///
    /// ```
    /// use headwater_streams::{Handle, Priority};
    ///
    /// let (mut near, mut far) = Handle::pair()?;
    /// let (other, _peer) = Handle::pair()?;
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
    /// other stream was hung up; else as [`Handle::putpmsg`] (SUSv2, ioctl of STREAMS, I_FDINSERT).
    #[doc(alias = "I_FDINSERT")]
    #[doc = include_str!("../../doc/identity.md")]
    pub fn putmsg_naming(
        &mut self,
        control: &[u8],
        data: Option<&[u8]>,
        priority: Priority,
        other: &Handle,
        offset: usize,
    ) -> Result<()> {
        let mut control = control.to_vec();
        let len = control.len();
        let place = offset.checked_add(WORD).and_then(|end| control.get_mut(offset..end));
        let Some(place) = place.filter(|_| offset.is_multiple_of(WORD)) else {
            return Err(Error::numbered(Text::NamePlace, offset as u64, len as u64));
        };
        if other.id() == self.id() {
            return Err(fixed!(Inval, "a message that names a stream is sent on another one"));
        }
        place.copy_from_slice(&(other.id() as u32).to_ne_bytes());
        state::check(other.end.words(), Call::Ioctl)?;
        self.putpmsg(Some(&control), data, priority)
    }
}

//! I_FDINSERT: a message whose control part names another stream.

use super::handle::Handle;
use super::state::{self, Call};
use crate::error::{Error, Result, Text, fixed};
use crate::message::priority::Priority;

/// Bytes of the word that names a stream (t_uscalar_t).
const WORD: usize = 4;

impl Handle {
    pub(crate) fn id(&self) -> u64 {
        self.end.region.inode << 1 | self.end.side as u64
    }

    pub(crate) fn putmsg_naming(
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

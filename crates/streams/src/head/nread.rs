//! How much there is to be read: I_NREAD and FIONREAD.

use super::handle::Handle;
use super::options::ReadOptions;
use super::peeked::ReadSide;
use super::read::ControlUse;
use super::state::{self, Call};
use crate::error::Result;
use crate::message::kind::{Kind, MessageHeader};
use crate::queue::lane::reader::LaneFront;
use crate::queue::lane::there;
use crate::queue::store::HEAD;

impl Handle {
    pub(crate) fn nread(&mut self) -> Result<(usize, usize)> {
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let counted = self.take_front(|front, item| {
            front.lane.look()?;
            let stored = front.store()?.count(HEAD, |header| header.kind != Kind::Signal)?;
            Ok(((item.data.unwrap_or(0), stored + front.lane.messages()), None))
        });
        Ok(self.remember_failure(counted)?.unwrap_or((0, 0)))
    }

    pub(crate) fn readable_bytes(&mut self) -> Result<usize> {
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let options = self.read_options();
        let counted = self.take_front(|front, _| Ok((front.readable_bytes(options)?, None)));
        Ok(self.remember_failure(counted)?.unwrap_or(0))
    }
}

impl ReadSide<'_> {
    fn readable_bytes(&mut self, options: ReadOptions) -> Result<usize> {
        self.lane.look()?;
        let mut sum = 0;
        // Counts a message; false at one that no read takes.
        let mut count = |header: MessageHeader, control: Option<usize>, data: Option<usize>| {
            if header.kind == Kind::Signal {
                return true;
            }
            let Ok(control) = ControlUse::of(header, control, options) else { return false };
            sum += control.to_read().unwrap_or(0) + data.unwrap_or(0);
            true
        };
        let stops =
            |stored: &crate::queue::store::Stored| !count(stored.header, there(stored.control), there(stored.data));
        if self.store()?.find(HEAD, stops)?.is_none() {
            self.lane.each(|front| match front {
                LaneFront::Plain(bytes) => count(MessageHeader::of(Kind::Data), None, Some(bytes as usize)),
                LaneFront::Record(record) => count(record.header, there(record.control), there(record.data)),
            });
        }
        Ok(sum)
    }
}

//! putmsg and putpmsg: messages with boundaries, a control part, a band, a priority.

use std::sync::atomic::Ordering;

use super::handle::Handle;
use crate::error::{Error, Result, Text, fixed};
use crate::limits::CUT_MAX;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::message::priority::Priority;
use crate::plumb::chain;

impl Handle {
    #[inline]
    pub(crate) fn putmsg(&mut self, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        self.put_parts(Priority::NORMAL, control, data)
    }

    #[inline]
    pub(crate) fn putpmsg(
        &mut self,
        control: Option<&[u8]>,
        data: Option<&[u8]>,
        priority: impl Into<Priority>,
    ) -> Result<()> {
        self.put_parts(priority.into(), control, data)
    }

    fn put_parts(&mut self, priority: Priority, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        self.puts = self.puts.wrapping_add(1);
        if let Some(control) = control
            && priority == Priority::NORMAL
        {
            let sent = self.put_by_route(control, data);
            if self.remember_failure(sent)? {
                return Ok(());
            }
        }
        if priority.is_high() && control.is_none() {
            return Err(fixed!(Inval, "a message of high priority needs a control part"));
        }
        let strctlsz = self.end.region.strctlsz as usize;
        if let Some(control) = control.filter(|control| control.len() > strctlsz) {
            return Err(Error::numbered(Text::ControlTooLong, control.len() as u64, strctlsz as u64));
        }
        let Some(control) = control else {
            return data.map_or(Ok(()), |data| self.put_data(priority.band(), data));
        };
        if let Some(data) = data {
            let (minpsz, maxpsz) = self.packet_sizes();
            if data.len() > maxpsz {
                return Err(Error::numbered(Text::DataTooLong, data.len() as u64, maxpsz as u64));
            }
            check_minpsz(data.len(), minpsz)?;
        }
        self.put_one(Message::new(MessageHeader::of_proto(priority), Some(control), data))
    }

    /// Data alone: cut into messages as write does, which are sent all or none. The queue may hold hiwat and all that one call
    /// sends.
    fn put_data(&mut self, band: u8, data: &[u8]) -> Result<()> {
        let (strmsgsz, maxpsz) = (self.end.region.strmsgsz as usize, self.data_sizes(data.len())?);
        let most = strmsgsz.min(CUT_MAX.saturating_mul(maxpsz));
        if data.len() > most {
            return Err(Error::numbered(Text::DataAloneTooLong, data.len() as u64, most as u64));
        }
        let header = MessageHeader { band, whole: true, ..MessageHeader::of(Kind::Data) };
        if data.is_empty() {
            return if self.write_options().zero {
                self.put_one(Message::new(header, None, Some(data)))
            } else {
                Ok(())
            };
        }
        self.attach()?;
        let done = self.send_with(header, |run| {
            data.chunks(maxpsz).try_for_each(|piece| run.put(0, Message::new(header, None, Some(piece))))
        });
        self.remember_failure(done)
    }

    fn put_one(&mut self, message: Message<'_>) -> Result<()> {
        self.attach()?;
        let done = self.send(message);
        self.remember_failure(done)
    }

    pub(crate) fn maxpsz(&self) -> usize {
        self.packet_sizes().1
    }

    /// Shortest and longest data part: those of the first queue below the head, if it has set any, else the other head's.
    pub(super) fn packet_sizes(&self) -> (usize, usize) {
        let region = &self.end.region;
        let flow = &region.fixed.lanes[self.end.side].flow.0;
        let set = chain::first_queue(region, self.end.side).map(|queue| self.out.store.packet_sizes(queue));
        let [minpsz, maxpsz] = set.unwrap_or_else(|| [flow.minpsz.load(Ordering::Relaxed), 0]);
        let maxpsz = if maxpsz == 0 { flow.maxpsz.load(Ordering::Relaxed) } else { maxpsz };
        (minpsz as usize, maxpsz.clamp(1, region.strmsgsz) as usize)
    }

    /// Into messages of which length so much plain data is cut.
    ///
    /// Errors: `ERANGE` for data that is too short, or too long for one message where there is a shortest: then none is cut.
    pub(super) fn data_sizes(&self, len: usize) -> Result<usize> {
        let (minpsz, maxpsz) = self.packet_sizes();
        check_minpsz(len, minpsz)?;
        if minpsz > 0 && len > maxpsz {
            return Err(Error::numbered(Text::DataOutOfRange, len as u64, maxpsz as u64));
        }
        Ok(maxpsz)
    }
}

/// Whether a data part is long enough.
///
/// Errors: `ERANGE` if not.
pub(super) fn check_minpsz(len: usize, minpsz: usize) -> Result<()> {
    if len < minpsz { Err(Error::numbered(Text::DataTooShort, len as u64, minpsz as u64)) } else { Ok(()) }
}

//! getmsg, getpmsg and I_PEEK: messages with boundaries.

use std::sync::atomic::Ordering;

use super::handle::Handle;
use super::peeked::{PeekedMessage, ReadSide};
use super::state::{self, Call};
use crate::error::{Errno, Result, fixed};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::message::priority::Priority;
use crate::queue::store::HEAD;

/// The wanted message (the flags of getpmsg).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MessageFilter {
    /// The first, of any priority (MSG_ANY).
    #[default]
    #[doc(alias = "MSG_ANY")]
    Any,
    /// Only one of high priority (RS_HIPRI, MSG_HIPRI).
    HighPriority,
    /// One of at least that band, or of high priority (MSG_BAND).
    Band(u8),
}

/// The result of getmsg or getpmsg: the bytes copied to the caller's buffers, and the rest of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Received {
    /// Bytes of the control part that were copied; None (a len of -1): the message has none, or none left, or it was not asked
    /// for.
    pub control: Option<usize>,
    /// Bytes of the data part that were copied; None: as above.
    pub data: Option<usize>,
    /// More of the control part waits (MORECTL).
    pub more_control: bool,
    /// More of the data part waits (MOREDATA).
    pub more_data: bool,
    /// Its priority class.
    pub priority: Priority,
}

/// The bytes of a message to take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// Bytes of each part: the part goes with its last byte, and one of no bytes with `Some(0)`; None leaves it alone. The
    /// message goes with its last part.
    pub control: Option<usize>,
    pub data: Option<usize>,
    /// The rest is discarded.
    pub all: bool,
}

impl Taken {
    /// The whole message.
    pub const ALL: Taken = Taken { control: None, data: None, all: true };
}

/// The result of one look at the front.
enum Found {
    Empty,
    /// A message that the caller does not want: one of a lower band or priority.
    Unwanted,
    Wanted(Received),
}

impl Received {
    /// After a hang-up, or when the other end is gone: both parts have length 0.
    const END: Received =
        Received { control: Some(0), data: Some(0), more_control: false, more_data: false, priority: Priority::NORMAL };
}

impl Handle {
    pub(crate) fn getmsg(&mut self, control: Option<&mut [u8]>, data: Option<&mut [u8]>) -> Result<Received> {
        self.getpmsg(control, data, MessageFilter::Any)
    }

    pub(crate) fn getpmsg(
        &mut self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Received> {
        self.attach_to_get()?;
        let done = self.get_or_wait(control, data, filter);
        self.remember_failure(done)
    }

    pub(crate) fn peek(
        &mut self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Option<Received>> {
        let is_usual = self.end.dead.is_none() && self.end.words().state.load(Ordering::Acquire) == 0;
        if is_usual && self.end.member().is_some() && !self.back.is_readable() {
            // Nothing is there, which two words tell.
            return Ok(None);
        }
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let done = self.get_now(control, data, filter, false);
        match self.remember_failure(done) {
            Err(error) if error.errno() == Errno::Badmsg && filter != MessageFilter::Any => Ok(None),
            Ok(Found::Wanted(got)) => Ok(Some(got)),
            done => done.map(|_| None),
        }
    }

    /// As [`Handle::attach`], unless this member knows already what is at the front: then the lock's notices tell what has changed.
    #[inline]
    pub(super) fn attach_to_get(&mut self) -> Result<()> {
        if self.back.reader.knows_record() && self.end.member().is_some() && self.end.dead.is_none() {
            return Ok(());
        }
        self.attach()
    }

    /// Before a look for messages with boundaries by a call that may wait: gathers them if that pays.
    #[inline]
    pub(super) fn gather_messages(&mut self) {
        if self.back.reader.known() == 0 && self.end.region.policy.stages {
            let lane = &self.back.reader;
            let sent = self.out.writer.sent().wrapping_add(self.puts);
            self.batching.before_look(lane.found(), self.message_len, lane.hiwat(), sent);
        }
    }

    fn get_or_wait(
        &mut self,
        mut control: Option<&mut [u8]>,
        mut data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Received> {
        loop {
            state::check(self.end.words(), Call::Read)?;
            if !self.nonblocking {
                self.gather_messages();
            }
            // Before the look: a message that comes later changes it.
            let seen = if filter == MessageFilter::Any { 0 } else { self.back.store.arrivals(HEAD) };
            let more = match self.get_now(control.as_deref_mut(), data.as_deref_mut(), filter, true)? {
                Found::Wanted(got) => return Ok(got),
                Found::Empty => self.wait_for_more(1)?,
                Found::Unwanted => self.wait_for_front(seen)?,
            };
            if !more {
                return Ok(Received::END);
            }
        }
    }

    pub(crate) fn receive(&mut self) -> Result<Option<Message<'static>>> {
        self.attach()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let done = self.receive_now();
            if let Some(message) = self.remember_failure(done)? {
                return Ok(Some(message));
            }
            if !self.wait_for_more(1)? {
                return Ok(None);
            }
        }
    }

    pub(crate) fn send_message(&mut self, message: &Message<'_>) -> Result<()> {
        if !matches!(message.header.kind, Kind::Data | Kind::Proto | Kind::PcProto) {
            return Err(fixed!(Inval, "a user sends M_DATA, M_PROTO and M_PCPROTO alone"));
        }
        self.putpmsg(message.control(), message.data(), message.priority())
    }

    fn receive_now(&mut self) -> Result<Option<Message<'static>>> {
        let most = self.end.region.strmsgsz as usize;
        self.take_front(|front, item| {
            check_takes(item)?;
            let ([control, data], taken) = front.copy_whole(item, most)?;
            let MessageHeader { kind, band, .. } = item.header;
            // The rest of an M_PROTO whose control part was taken before is data.
            let kind = if kind == Kind::Proto && control.is_none() { Kind::Data } else { kind };
            let header = MessageHeader { band, ..MessageHeader::of(kind) };
            Ok((Message::from_parts(header, control, data), Some(taken)))
        })
    }

    /// The available message, taken or only copied.
    fn get_now(
        &mut self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
        take: bool,
    ) -> Result<Found> {
        let found = self.take_front(|front, item| {
            check_takes(item)?;
            if !filter.wants(item.header) {
                return Ok((Found::Unwanted, None));
            }
            let (mut got_control, mut got_data) = (None, None);
            if let (Some(buffer), Some(_)) = (control, item.control) {
                got_control = Some(front.copy_control(item, buffer)?);
            }
            if let (Some(buffer), Some(_)) = (data, item.data) {
                got_data = Some(front.copy_data(item, buffer)?);
            }
            // None is less than a part of no bytes, which then stays.
            let (more_control, more_data) = (item.control > got_control, item.data > got_data);
            let taken = Taken { control: got_control, data: got_data, all: false };
            let priority = item.header.priority();
            let got = Received { control: got_control, data: got_data, more_control, more_data, priority };
            Ok((Found::Wanted(got), take.then_some(taken)))
        })?;
        Ok(found.unwrap_or(Found::Empty))
    }

    /// Calls `action` with the message at the front, under the reader's lock, and takes the parts that it returns. None
    /// if there is no message. Signals before the front are raised.
    pub(crate) fn take_front<T>(
        &mut self,
        action: impl FnOnce(&mut ReadSide<'_>, &PeekedMessage) -> Result<(T, Option<Taken>)>,
    ) -> Result<Option<T>> {
        let options = self.read_options();
        let Handle { back, end, message_len, .. } = self;
        let mut side = back.begin_reading(end, options)?;
        let done = side.take_front(|front, item| {
            *message_len = item.control.unwrap_or(0) + item.data.unwrap_or(0);
            action(front, item)
        });
        let room = side.end();
        self.after_taking(room);
        done
    }

    pub(crate) fn is_at_mark(&mut self) -> Result<bool> {
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let marked = self.take_front(|_, item| Ok((item.header.marked, None)));
        Ok(self.remember_failure(marked)?.unwrap_or(false))
    }

    pub(crate) fn is_at_last_mark(&mut self) -> Result<bool> {
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let last = self.take_front(|front, item| {
            front.lane.look()?;
            let stored = front.store()?.count(HEAD, |header| header.marked)?;
            Ok((item.header.marked && stored + front.lane.marked() == 1, None))
        });
        Ok(self.remember_failure(last)?.unwrap_or(false))
    }

    pub(crate) fn band(&mut self) -> Result<u8> {
        self.attach()?;
        state::check(self.end.words(), Call::GetBand)?;
        let band = self.take_front(|_, item| Ok((item.header.band, None)));
        self.remember_failure(band)?.ok_or_else(|| fixed!(Nodata, "no message is at the front"))
    }

    pub(crate) fn has_band(&mut self, band: u8) -> Result<bool> {
        self.attach()?;
        state::check(self.end.words(), Call::Peek)?;
        let fits = |header: MessageHeader| {
            header.kind != Kind::Signal && !header.kind.is_high_priority() && header.band == band
        };
        let found = self.take_front(|front, _| {
            front.lane.look()?;
            let stored = front.store()?.find(HEAD, |stored| fits(stored.header))?.is_some();
            Ok((stored || band == 0 && front.lane.messages() > 0, None))
        });
        Ok(self.remember_failure(found)?.unwrap_or(false))
    }

    pub(crate) fn can_put(&mut self, band: u8) -> Result<bool> {
        self.attach()?;
        state::check(self.end.words(), Call::SetWrite)?;
        let can_put = self.run(true, |run| run.can_put_from(0, band))?;
        if !can_put && self.end.words().listened.load(Ordering::Relaxed) != 0 {
            // A signal is sent when there is room.
            self.note_refused(band);
            return self.arm_to_write(band).map(|armed| !armed);
        }
        Ok(can_put)
    }

    pub(crate) fn can_put_in_any_band(&mut self) -> Result<bool> {
        Ok(self.can_put(0)? || self.run(true, |run| run.can_put_in_some_band())?)
    }

    /// Whether only the available data can still be read: the end has been hung up, its peer is gone, or one of the two
    /// has shut the direction down, as far as is known.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_hung_up() || self.end.shut_to_read()
    }

    /// Whether the end has been hung up, or its peer is gone, as far as is known.
    pub(crate) fn is_hung_up(&self) -> bool {
        self.end.peer_gone || self.end.words().state.load(Ordering::Acquire) & state::HUNG_UP != 0
    }
}

impl ReadSide<'_> {
    /// Copies both parts of a message, of plain bytes at most `most`. Returns what taking the copy takes, too.
    pub(super) fn copy_whole(&mut self, item: &PeekedMessage, most: usize) -> Result<([Option<Vec<u8>>; 2], Taken)> {
        let space = |part: Option<usize>| part.map(|len| vec![0; len.min(most)]);
        let (mut control, mut data) = (space(item.control), space(item.data));
        if let Some(control) = &mut control {
            self.copy_control(item, control)?;
        }
        if let Some(data) = &mut data {
            self.copy_data(item, data)?;
        }
        let len = |part: &Option<Vec<u8>>| part.as_ref().map(Vec::len);
        let taken = Taken { control: len(&control), data: len(&data), all: !item.is_plain() };
        Ok(([control, data], taken))
    }

    fn take_front<T>(
        &mut self,
        action: impl FnOnce(&mut Self, &PeekedMessage) -> Result<(T, Option<Taken>)>,
    ) -> Result<Option<T>> {
        if !self.lane.knows_record() {
            // All available plain bytes are one message.
            self.lane.look()?;
        }
        let Some(item) = self.front_but_signals()? else { return Ok(None) };
        let (done, taken) = action(self, &item)?;
        if let Some(taken) = taken {
            self.take(&item, taken)?;
        }
        Ok(Some(done))
    }
}

impl MessageFilter {
    fn wants(self, header: MessageHeader) -> bool {
        match self {
            MessageFilter::Any => true,
            MessageFilter::HighPriority => header.kind.is_high_priority(),
            MessageFilter::Band(band) => header.kind.is_high_priority() || header.band >= band,
        }
    }
}

fn check_takes(item: &PeekedMessage) -> Result<()> {
    if !matches!(item.header.kind, Kind::Data | Kind::Proto | Kind::PcProto) {
        return Err(fixed!(Badmsg, "a message that getmsg does not take is at the front"));
    }
    Ok(())
}

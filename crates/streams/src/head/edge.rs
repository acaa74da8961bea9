//! Edge-triggered polls: what has come since a program was told, though it left something unread.

use std::time::Duration;

use super::handle::Handle;
use super::peeked::ReadSide;
use super::poll::{Events, Prepared};
use crate::error::Result;

/// What a program that polls edge-triggered has been told of the data that a stream holds, and of its state. The default: nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// The reader's [`LaneReader::arrived`](crate::queue::lane::LaneReader::arrived) at that time.
    arrived: Option<u64>,
    /// `HUP` and `ERR`.
    state: Events,
    /// That no more data comes.
    ended: bool,
}

/// The result of [`Stream::prepare_edge`](crate::Stream::prepare_edge).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreparedEdge {
    /// The events of data, a hang-up or an error that the program has not been told of.
    pub fresh: Events,
    /// Those that it has been told of and that are still there. epoll reports all events of a descriptor with each edge.
    pub held: Events,
    /// The events of room: a level, of which only the program knows whether it is new.
    pub room: Events,
    /// The program must look again after this time.
    pub look_every: Option<Duration>,
}

impl Handle {
    pub(crate) fn prepare_edge(&mut self, wanted: Events, told: &mut Told) -> Result<PreparedEdge> {
        let reads = wanted & (Events::IN | Events::PRI | Events::RDNORM | Events::RDBAND);
        let writes = wanted & (Events::OUT | Events::WRNORM | Events::WRBAND);
        let none = Events::default();
        let mut prepared = PreparedEdge { fresh: none, held: none, room: none, look_every: None };
        // Before the look: what comes later is told once more rather than never.
        let arrived = self.arrived();
        match self.prepare_poll(reads)? {
            Prepared::Armed { look_every, .. } => {
                prepared.look_every = look_every;
                *told = Told::default();
            }
            Prepared::Ready(events) => {
                let state = events & (Events::HUP | Events::ERR);
                (prepared.fresh, prepared.held) = (state - told.state, state & told.state);
                told.state = state;
                let data = events & reads;
                let ended = self.end.shut_to_read();
                let is_told = arrived.is_some() && arrived == told.arrived && ended == told.ended;
                if !data.is_empty() && is_told && self.arm_for_more(arrived)? {
                    prepared.held |= data;
                } else if !data.is_empty() {
                    prepared.fresh |= data;
                    (told.arrived, told.ended) = (arrived, ended);
                }
            }
        }
        if !writes.is_empty() {
            match self.prepare_poll(writes)? {
                Prepared::Ready(events) => prepared.room = events & writes,
                Prepared::Armed { look_every, .. } => prepared.look_every = prepared.look_every.or(look_every),
            }
        }
        Ok(prepared)
    }

    /// A number that changes with each message that arrives. None while messages wait whose arrival is not counted.
    fn arrived(&self) -> Option<u64> {
        self.back.arrived()
    }

    /// Makes the descriptor report the next message, though there are unread ones. False: one has come since `arrived`.
    fn arm_for_more(&mut self, arrived: Option<u64>) -> Result<bool> {
        self.arm_while_unread(|side| side.arrived() != arrived)
    }

    /// As above. False: `more` holds already.
    pub(super) fn arm_while_unread(&mut self, more: impl Fn(&ReadSide<'_>) -> bool) -> Result<bool> {
        self.attach()?;
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let side = back.begin_reading(end, options)?;
        let armed = end.inbox().await_more(|| more(&side));
        drop(side);
        self.remember_failure(armed)
    }
}

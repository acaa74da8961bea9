//! Messages with a control part on their short path to another stream: by a [`Route`](crate::plumb::route::Route) that the driver of a
//! transport has noted. A message that does not find all as it was is left to the procedures.

use std::sync::atomic::Ordering;

use headwater_os::cpu;
use headwater_shm::{Limit, Stages};

use super::handle::Handle;
use crate::error::{Error, Result};
use crate::events;
use crate::message::kind::MessageHeader;
use crate::message::priority::Priority;
use crate::plumb::direction::Direction;
use crate::plumb::route::{Appended, Condition};

/// A reader that takes so many bytes within a stage is waited for.
const STEP: u64 = 4096;
/// No longer than for so many of these.
const STEPS_MAX: u32 = 64;

impl Handle {
    /// Sends an ordinary message if one with the same control part has a route, and nothing has changed since. Returns whether it
    /// was sent.
    #[inline]
    pub(super) fn put_by_route(&mut self, control: &[u8], data: Option<&[u8]>) -> Result<bool> {
        let sent = match self.try_route(control, data) {
            // The receiver keeps up and is behind by a queue: it has room soon, and the procedures would queue the message elsewhere.
            Ok(Appended::Full) if !self.nonblocking && self.waits_for_room_there(control) => {
                self.try_route(control, data)
            }
            sent => sent,
        };
        match sent {
            // As for a message that takes the procedures: the call fails, and nothing was sent.
            Err(error) if Error::is_held(&error) => Err(error),
            // The procedures meet the same error, and know what it means.
            sent => {
                let is_sent = sent.is_ok_and(|sent| sent == Appended::Yes);
                self.end.counters.short_sends += u64::from(is_sent);
                Ok(is_sent)
            }
        }
    }

    #[inline]
    fn try_route(&mut self, control: &[u8], data: Option<&[u8]>) -> Result<Appended> {
        let limit = self.limit();
        let Handle { out: Direction { writer, routes, data: path, .. }, end, .. } = self;
        let Some(me) = end.member().filter(|_| !end.peer_gone) else { return Ok(Appended::No) };
        let is_short = data.is_none_or(|data| data.len() <= path.data_max);
        if !writer.is_open_for(1) || !path.passes_proto || !is_short || events::are_calls_recorded() {
            return Ok(Appended::No);
        }
        let Some(route) = routes.find(control) else { return Ok(Appended::No) };
        // In the lane's order with what other threads send, and behind nothing that waits.
        let Some(_held) = writer.enter_quick(me, 1) else { return Ok(Appended::No) };
        route.send(&end.region, limit, data)
    }

    /// Passes the stages before a sleep until there is room at the end of a route, without a lock. Returns whether there is.
    #[cold]
    fn waits_for_room_there(&mut self, control: &[u8]) -> bool {
        let Handle { out, end, .. } = self;
        let peer = out.routes.find(control).and_then(|route| route.peer());
        end.region.policy.stages && peer.is_some_and(|peer| peer.waits_for_room(&mut end.stages))
    }

    /// As [`Handle::waits_for_room_there`], at the stream itself, in the driver's place.
    pub(crate) fn waits_in_drivers_place(&mut self, stages: &mut Stages) -> bool {
        let Handle { out, end, .. } = self;
        let same_cpu = end.peer_words().cpu.load(Ordering::Relaxed) == cpu::current() + 1;
        // Down to the low-water mark it takes a reader of small messages longer than a stage lasts: it may, as long as it reads.
        for _ in 0..STEPS_MAX {
            let before = out.writer.count_now();
            let is_on_its_way = || out.writer.count_now().saturating_add(STEP) <= before;
            if stages.pass(same_cpu, || out.writer.may_go_on() || is_on_its_way()).is_none() {
                break;
            }
            if out.writer.may_go_on() {
                return true;
            }
        }
        false
    }

    /// Appends a message to the lane of direction 1, in the driver's place, if there is room and nothing is in the way. It waits for the
    /// lock as `limit` allows.
    pub(crate) fn append_in_drivers_place(
        &mut self,
        limit: Limit,
        condition: &Condition,
        control: &[u8],
        data: Option<&[u8]>,
    ) -> Result<Appended> {
        self.nested = true;
        let Handle { out, end, .. } = self;
        let Some(me) = end.member() else { return Ok(Appended::No) };
        let region = &end.region;
        me.set_limit(limit);
        let begun = out.begin(me, region);
        me.set_limit(Limit::Now);
        let mut side = begun?;
        if !side.is_clear_for_proto() || !condition.holds(region) {
            return Ok(Appended::No);
        }
        if !side.lane.has_room()? {
            return Ok(Appended::Full);
        }
        side.lane.append(MessageHeader::of_proto(Priority::NORMAL), Some(control), data)?;
        drop(side);
        region.fence.light();
        if region.fixed.lanes[end.side].reader.0.sleep.load(Ordering::Relaxed) != 0 {
            // The message has arrived, whatever becomes of the notification.
            let _ = self.wake_far_reader(true, false);
        }
        let _ = self.serve_owed(true);
        Ok(Appended::Yes)
    }
}

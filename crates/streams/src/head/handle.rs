//! A handle of one end of a stream: how it is made, and the common parts of all its calls.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::clock::now_ns;
use headwater_os::mapped_vec::MappedVec;
use headwater_shm::{Limit, probe};

use super::read_batching::ReadBatching;
use super::state::LINKED;
use crate::counters::Counters;
use crate::error::{Result, fixed};
use crate::events::{self, WaitSide};
use crate::plumb::chain;
use crate::plumb::direction::Direction;
use crate::process::end::{Access, End, Role};
use crate::process::endpoint::Endpoint;
use crate::process::listeners::signal;
use crate::process::sleep::{BELL, FUTEX, OWED, RINGING, SERVICE, UNMET, calls_for_more, look_at, note_cpu};
use crate::queue::store::HEAD;
use crate::sched::action::{Action, by_pointer};
use crate::sched::{Effects, Other, Reply, Run};

/// One end of a stream, as one thread of one process uses it.
///
/// A [`Stream`](crate::Stream) keeps one for each thread that uses it; methods that have the name of one of its methods do what is
/// described there. A handle belongs to a thread at a time. A forked child may use its copies of its parent's handles, and passes for
/// another user of the same end. The end is closed when its last handle anywhere is dropped, or its last process has ended.
#[derive(Debug)]
pub struct Handle {
    /// The direction that this end writes.
    pub(crate) out: Direction,
    /// The direction that this end reads.
    pub(crate) back: Direction,
    pub(crate) end: End,
    pub(crate) nonblocking: bool,
    /// A poll is under way, which waits by itself.
    pub(super) polls: bool,
    /// An ioctl or a close is under way: until when it waits.
    pub(super) call_until_ns: Option<u64>,
    /// The call runs below another one of its thread, in a signal handler: it must not wait for that.
    pub(crate) nested: bool,
    /// Answers of modules that could not be sent, because another user of the other direction is in the middle of a call:
    /// with the next call. The direction is out or not.
    unsent: Vec<(bool, Reply)>,
    /// The work that other users have left is being done.
    pub(super) serves: bool,
    /// What has come up the streams that are linked below is being looked at, and whether it is to be done again.
    pub(super) serves_lowers: Option<bool>,
    /// Timeout procedures are being called.
    pub(super) serves_times: bool,
    pub(super) batching: ReadBatching,
    /// How often putmsg was called, for [`ReadBatching`].
    pub(super) puts: u64,
    /// Bytes of the last message that was found, for [`ReadBatching`].
    pub(super) message_len: usize,
    /// Where the pieces of readv and writev are one.
    scratch: MappedVec<u8>,
}

/// Replies to replies, in one call. Only modules that answer each other for ever cause more.
const REPLIES_MAX: usize = 10_000;

/// So many bytes of its own memory a handle keeps after a readv or writev.
const SCRATCH_KEPT: usize = 64 << 10;

/// How long one look of a poll waits for another user of the stream, in which one that runs comes out of its call.
const POLL_HELD_NS: u64 = 10_000_000;

impl Handle {
    /// The first handle of an end.
    pub(crate) fn of(endpoint: Endpoint) -> Handle {
        Handle::on(Arc::new(endpoint))
    }

    pub(crate) fn on(endpoint: Arc<Endpoint>) -> Handle {
        let end = End::new(endpoint);
        let mut out = Direction::new(&end.region, end.side);
        out.writer.distrust_reader();
        let back = Direction::new(&end.region, 1 - end.side);
        Handle {
            out,
            back,
            end,
            nonblocking: false,
            polls: false,
            call_until_ns: None,
            nested: false,
            unsent: Vec::new(),
            serves: false,
            serves_lowers: None,
            serves_times: false,
            batching: ReadBatching::default(),
            puts: 0,
            message_len: 0,
            scratch: MappedVec::default(),
        }
    }

    pub(crate) fn another(&self) -> Handle {
        let mut handle = Handle::on(self.end.endpoint.clone());
        handle.nonblocking = self.nonblocking;
        handle
    }

    pub(crate) fn set_nonblocking(&mut self, nonblocking: bool) -> Result<()> {
        self.nonblocking = nonblocking;
        self.end.set_limit(self.limit());
        // A FIFO's writer reads nothing: what lies in its doorbell says that there is room.
        if nonblocking && self.end.endpoint.access == Access::Write {
            self.attach()?;
        } else if nonblocking {
            match self.arm_to_read() {
                // Another user is in the middle of a read. The descriptor is readable if there is data.
                Err(error) if error.is_held() => {}
                armed => {
                    armed?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn counters(&self) -> Counters {
        let counters = self.end.counters;
        let service_runs = counters.service_runs + self.out.data.services;
        Counters { coalesced_bytes: self.out.writer.coalesced(), service_runs, ..counters }
    }

    pub(crate) fn attach(&mut self) -> Result<()> {
        self.end.check_open()?;
        if let Some(why) = &self.end.dead {
            return Err(why.again());
        }
        if self.end.join()? {
            self.out.forget();
            self.back.forget();
        }
        self.end.set_limit(self.limit());
        if let Some(driver) = self.end.region.driver {
            self.look_beyond(&driver.info())?;
        }
        if self.end.words().state.load(Ordering::Relaxed) & LINKED != 0 {
            self.look_at_link()?;
        }
        self.send_what_waits()?;
        self.serve_times().map(drop)
    }

    /// Sends answers of modules that could not go before.
    pub(super) fn send_what_waits(&mut self) -> Result<()> {
        if self.unsent.is_empty() { Ok(()) } else { self.send_unsent() }
    }

    /// Makes the calls from now on wait for other users until that time, until the next call decides anew.
    pub(crate) fn set_limit_until(&self, until_ns: u64) {
        self.end.set_limit(Limit::Until(until_ns));
    }

    /// How long this call waits for other users of the stream that do not come out of theirs: not at all, or until a signal
    /// handler runs; a poll for a moment, an ioctl for its time, or until a signal handler runs.
    pub(super) fn limit(&self) -> Limit {
        match self.call_until_ns {
            _ if self.polls => Limit::Until(now_ns() + POLL_HELD_NS),
            // The holder may be the call that a signal handler has interrupted.
            _ if self.nested && self.end.role == Role::User => Limit::Brief,
            _ if self.nested => Limit::Now,
            Some(until_ns) => Limit::Until(until_ns),
            None if self.nonblocking => Limit::Now,
            None => Limit::Signal,
        }
    }

    /// Does something with memory of the handle's own. It keeps that for the next time, unless it is much.
    pub(super) fn with_scratch<T>(
        &mut self,
        action: impl FnOnce(&mut Handle, &mut MappedVec<u8>) -> Result<T>,
    ) -> Result<T> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let done = action(self, &mut scratch);
        if scratch.len() <= SCRATCH_KEPT {
            self.scratch = scratch;
        }
        done
    }

    /// Makes a run along a direction, and what follows of it.
    #[inline]
    pub(crate) fn run<'m, T>(
        &mut self,
        outward: bool,
        action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>,
    ) -> Result<T> {
        by_pointer(action, |action| self.run_by_pointer(outward, action))
    }

    fn run_by_pointer<'m>(&mut self, outward: bool, action: &mut Action<'_, 'm>) -> Result<()> {
        self.run_inlined(outward, action)
    }

    /// As [`Handle::run`], with a copy of its code: for the path of messages.
    #[inline]
    pub(super) fn run_inlined<'m, T>(
        &mut self,
        outward: bool,
        action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>,
    ) -> Result<T> {
        let (done, effects) = self.run_once(outward, action)?;
        let used_other = effects.used_other;
        self.follow_up(outward, effects)?;
        let direction = if outward { &self.out } else { &self.back };
        if direction.chain.is_empty() {
            return done;
        }
        let mut served = self.serve_owed(outward);
        if used_other {
            served = served.and(self.serve_owed(!outward));
        }
        done.and_then(|done| served.map(|()| done))
    }

    /// Makes a run, and leaves to the caller what follows of it.
    #[inline]
    pub(super) fn run_once<'m, T>(
        &mut self,
        outward: bool,
        action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>,
    ) -> Result<(Result<T>, Effects)> {
        self.with_modules(outward, |handle| {
            let Handle { out, back, end, .. } = handle;
            let index = if outward { end.side } else { 1 - end.side };
            let (direction, other) = if outward { (out, back) } else { (back, out) };
            let (region, me, counters, beyond) = end.parts_for_run();
            let side = direction.begin(me, region)?;
            let mut run = Run::new(region, me, index, side, Other::Direction(other), counters);
            run.beyond = beyond;
            // The run changes it: from the first thing on that it has done, it does not stop half-way.
            let limit = me.limit();
            let mut done = action(&mut run);
            if !run.chain.is_empty() {
                done = run.finish(done);
            }
            me.set_limit(limit);
            if run.effects.owed {
                // Before the lock is released: its next holder checks the flags.
                region.fixed.lanes[index].writer.0.sleep.fetch_or(SERVICE | OWED, Ordering::Relaxed);
            }
            Ok((done, run.effects))
        })
    }

    /// Wakes the waiters for which a run has made progress, and sends its answers.
    #[inline]
    pub(crate) fn follow_up(&mut self, outward: bool, mut effects: Effects) -> Result<()> {
        probe::at();
        self.tell(outward, &effects)?;
        if effects.went_back {
            self.follow_up_back(outward)?;
        }
        if effects.replies.is_empty() { Ok(()) } else { self.send_replies(outward, &mut effects) }
    }

    #[cold]
    pub(super) fn send_replies(&mut self, outward: bool, effects: &mut Effects) -> Result<()> {
        let replies = effects.replies.drain(..).map(|reply| (!outward, reply));
        self.unsent.extend(replies);
        self.send_unsent()
    }

    /// Sends what modules have answered. What they answered to has been sent, so what cannot go now goes with the next call.
    #[cold]
    fn send_unsent(&mut self) -> Result<()> {
        // They stay in the list until it is their turn: what is done meanwhile may answer too, and goes behind them.
        let mut done = Ok(());
        for _ in 0..REPLIES_MAX {
            let Some((direction, _)) = self.unsent.first() else { break };
            let direction = *direction;
            // Taken out once it is its turn.
            let mut reply = Some(self.unsent.remove(0));
            let run = self.run_once(direction, |run| {
                let Some((_, Reply { from, message })) = reply.take() else { return Ok(()) };
                let at =
                    from.and_then(|(end, slot)| run.chain.iter().position(|link| (link.end, link.slot) == (end, slot)));
                run.put(at.map_or(0, |at| at + 1), message)
            });
            let (sent, effects) = match run {
                Err(error) if error.is_held() => {
                    // Another user is in the way: with the next call.
                    self.unsent.splice(0..0, reply);
                    self.unsent.truncate(REPLIES_MAX);
                    return done;
                }
                Err(error) => {
                    self.unsent.clear();
                    return Err(error);
                }
                Ok(ran) => ran,
            };
            done = done.and(sent);
            let told = self.tell_of_run(direction, effects);
            done = done.and(told).and(self.serve_owed(direction));
        }
        done
    }

    /// Stores the answers of a run, and wakes the waiters for which it has made progress.
    fn tell_of_run(&mut self, direction: bool, mut effects: Effects) -> Result<()> {
        self.unsent.extend(effects.replies.drain(..).map(|reply| (!direction, reply)));
        self.tell(direction, &effects)?;
        if effects.went_back {
            self.follow_up_back(direction)?;
        }
        if effects.used_other { self.serve_owed(!direction) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn tell(&mut self, outward: bool, effects: &Effects) -> Result<()> {
        let reader = if outward { 1 - self.end.side } else { self.end.side };
        let told = self.wake(outward, effects);
        signal(&self.end.region, reader, effects.happened);
        told
    }

    #[inline(always)]
    fn wake(&mut self, outward: bool, effects: &Effects) -> Result<()> {
        if effects.delivered {
            let lane = &self.end.region.fixed.lanes[if outward { self.end.side } else { 1 - self.end.side }];
            self.end.region.fence.light();
            let asleep = lane.reader.0.sleep.load(Ordering::Relaxed);
            if asleep != 0 || !self.end.region.policy.wake_once {
                self.wake_far_reader(outward, effects.urgent)?;
            }
        }
        if effects.room {
            self.tell_of_room_in(outward)?;
        }
        let more =
            effects.changed | effects.enabled_other | effects.room_other | effects.enabled_partner | effects.used_lower;
        if more | effects.watches_more | effects.sooner | !effects.peers.is_empty() {
            self.tell_more(outward, effects)
        } else {
            Ok(())
        }
    }

    /// Wakes and signals the writers of a direction, who are at its first end: there is room.
    #[inline]
    pub(super) fn tell_of_room_in(&mut self, outward: bool) -> Result<()> {
        if outward {
            self.end.wake_own_writers()?
        } else {
            self.wake_writers()?
        }
        self.signal_room(outward);
        Ok(())
    }

    /// The end at the far side of a direction has a new state: its readers and writers look at it.
    #[cold]
    pub(super) fn tell_changed(&mut self, outward: bool) -> Result<()> {
        let direction = if outward { &self.back } else { &self.out };
        direction.announce();
        if outward {
            self.end.wake_readers();
            self.wake_writers()
        } else {
            self.end.wake_own_readers();
            self.end.wake_own_writers()
        }
    }

    /// A process at the reading side of a direction sleeps, or a handle there was closed.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_far_reader(&mut self, outward: bool, urgent: bool) -> Result<()> {
        if !outward {
            self.end.wake_own_readers();
            return Ok(());
        }
        let lane = &self.end.region.fixed.lanes[self.end.side];
        let asleep = look_at(&lane.reader.0, &mut self.end.quiet[0]);
        if !calls_for_more(asleep) && self.end.region.policy.wake_once {
            return Ok(());
        }
        // A process that only writes never waits, and so stores here the CPU on which it runs.
        note_cpu(self.end.words());
        self.end.look_for_peer()?;
        if self.end.peer_gone {
            return self.reader_left();
        }
        let lane = &self.end.region.fixed.lanes[self.end.side];
        if !self.end.region.policy.wake_once {
            let _ = headwater_os::futex::wake(&lane.reader.0.sleep, u32::MAX);
            self.end.counters.wake_ups += 1;
            WaitSide { stream: self.end.region.inode, end: 1 - self.end.side, writes: false }.wake(false);
        }
        // A sleeper on the futex looks by itself when the hold time is over; a process that polls does not.
        let wanted = lane.reader.0.wanted.load(Ordering::Relaxed);
        if asleep & (FUTEX | BELL | RINGING) == FUTEX && !urgent && self.out.writer.count_now() < u64::from(wanted) {
            return Ok(());
        }
        if asleep & (FUTEX | BELL | RINGING) != 0 {
            self.out.writer.distrust_reader();
            if !self.end.wake_readers() {
                // Flagged as asleep, and not to be woken: it is about to sleep, or was killed.
                self.end.ask_for_peer()?;
                if self.end.peer_gone {
                    return self.reader_left();
                }
            }
        }
        if asleep & UNMET != 0 {
            let checked = self.end.check_for_strangers();
            return self.remember_failure(checked);
        }
        Ok(())
    }

    /// The other end is gone. What it has read was written before it went, and is no error of the call that wrote it; the next
    /// one is told.
    fn reader_left(&mut self) -> Result<()> {
        self.out.writer.close();
        // What is not plain data may lie in the store.
        let is_read = self.out.writer.is_taken() && self.out.store.is_empty(HEAD);
        if is_read {
            return Ok(());
        }
        // A driver's messages, along its own stream or a peer's, are no write of the call that is made here.
        if self.end.region.driver.is_none() && !self.nested {
            self.raise_sigpipe();
        }
        Err(fixed!(Pipe, "the other end of the stream is gone"))
    }

    /// A process at the writing side of the direction that we read sleeps, a queue there waits for service, or a handle
    /// was closed.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_far_writer(&mut self) -> Result<()> {
        let side = &self.end.region.fixed.lanes[1 - self.end.side].writer.0;
        let asleep = look_at(side, &mut self.end.quiet[1]);
        if asleep & (FUTEX | BELL | RINGING | SERVICE) == 0 || !self.back.reader.is_low() {
            return Ok(());
        }
        if asleep & SERVICE != 0 {
            side.sleep.fetch_and(!SERVICE, Ordering::Relaxed);
            probe::at();
            self.service_if_free(false)?;
        }
        if asleep & (FUTEX | BELL | RINGING) != 0 {
            self.end.counters.back_enables += 1;
            events::back_enable(self.end.region.inode, 1 - self.end.side as u8, 0);
            self.wake_writers()?;
            self.signal_room(false);
        }
        Ok(())
    }

    /// A failed call of the kind that ends a stream: remembers it.
    pub(crate) fn remember_failure<T>(&mut self, done: Result<T>) -> Result<T> {
        match done {
            Err(error) => {
                if error.is_fatal() {
                    // A call on the fast path checks everything once more.
                    self.out.announce();
                    self.back.announce();
                }
                self.end.spoil(error)
            }
            done => done,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.end.member().is_some() {
            self.out.retire();
            self.back.retire();
        }
        // The place among the members is given back before the end may be closed.
        if self.end.leave() {
            chain::close_modules(&self.end.region.fixed, self.end.side);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

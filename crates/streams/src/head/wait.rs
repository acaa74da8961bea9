//! Waiting for the other end, and refusing a call that must not wait.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::doorbell::{Heard, Interest, OwnWatch};
use headwater_os::readiness::Watched;

use headwater_shm::Limit;
#[cfg(feature = "tokio")]
use headwater_shm::{Crowd, Look, Slice};

use super::beside::{self, Ready, Wanted};
use super::handle::Handle;
use crate::error::{Errno, Result, fixed};
use crate::events::WaitSide;
use crate::plumb::direction::{Direction, WriteSide};
use crate::process::end::{End, Standing, waiter};
use crate::process::inbox::block_room;
#[cfg(feature = "tokio")]
use crate::process::sleep::note_cpu;
use crate::process::sleep::{BELL, RINGING, Waited, announce};
use crate::process::sleep_check::Checks;
use crate::queue::store::HEAD;

/// How long a sleeper on the doorbell relies on it without a check, where several handles use the other end: one of
/// them may have been killed after it published and before it notified. If the only one dies, the kernel reports it.
const WATCH_NS: u64 = 1_000_000_000;
/// How often a reader checks where several handles use its own end, or may come to, because modules were pushed there,
/// if it has no descriptor left for a watch on their actions, or the end is a FIFO's.
const LOOK_NS: u64 = 20_000_000;

/// After this many useless wake-ups of one call the descriptor is not reliable, and is checked at this rate.
const VAIN_MAX: u32 = 100;
const VAIN_PAUSE: Duration = Duration::from_millis(1);
/// A reader leaves the pages as they are if no more than these were in use: they are soon used again. With the pages of fixed size
/// less than 64 KiB stay.
const PAGES_KEPT: u64 = 32 << 10;
/// How often a sleeping reader tries, every [`LOOK_NS`], to give pages back while a writer is in the middle of a call.
const GIVE_BACK_TRIES: u32 = 50;
/// A reader that does not wait, and may come again soon, gives pages back at this interval: that costs some tens of
/// microseconds, and as much again when they are used again.
const GIVE_BACK_EVERY_NS: u64 = 100_000_000;

#[cfg(feature = "tokio")]
thread_local! {
    /// What the looks of this thread's tasks know of each other.
    static CROWD: Crowd = const { Crowd::new() };
}

/// What a reader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Any message.
    Any,
    /// A message that goes before those that are there. All such come to the store, and are counted: when this count of arrivals
    /// changes, one may have come. No take brings one to the front, since the queue is sorted.
    Before(u64),
}

impl Input {
    /// Whether it may be there, read without the lock.
    fn is_there(self, back: &Direction) -> bool {
        match self {
            Input::Any => back.is_readable(),
            Input::Before(seen) => back.store.arrivals(HEAD) != seen,
        }
    }
}

impl Handle {
    /// Whether what a reader waits for may be there.
    pub(super) fn has(&self, input: Input) -> bool {
        input.is_there(&self.back)
    }

    /// Waits until there is data to read, or the end of the stream. None: no time limit.
    pub(crate) fn wait_to_read(&mut self, input: Input, until_ns: Option<u64>) -> Result<()> {
        let before = self.end.standing()?;
        // Only on the doorbell it sleeps beside files, and only until the next time is due. Before, it spins as at any stream.
        let more = self.waits_for_more();
        if more
            && input == Input::Any
            && let Some(waited) = self.wait_at_file(until_ns)?
        {
            return self.after_waiting(waited);
        }
        let Handle { back, end, .. } = self;
        let End { region, counters, stages, side, futex, .. } = end;
        let ready = || input.is_there(back) || Standing::of(region, *side) != before;
        let waiter = waiter(region, *side, false, !more);
        let brief = waiter.wait_briefly(stages, futex, counters, until_ns, ready)?;
        let waited = match brief {
            Some(waited) => waited,
            None => self.wait_on_doorbell(Interest::Packets, input, 0, before, until_ns)?,
        };
        if waited == Waited::Watched {
            // Runs queues of modules that wait for a process that died before it ran them.
            match self.drain_back() {
                // Another process runs them, or is stopped in the middle of that.
                Err(error) if error.is_held() && error.errno() != Errno::Intr => {}
                drained => drained.map(drop)?,
            }
        }
        self.after_waiting(waited)
    }

    /// Passes a slice of the stages before a sleep, for a task: until there may be something to read, or else, if `writes`, room for a
    /// message of band 0.
    #[cfg(feature = "tokio")]
    pub(crate) fn look_for_a_slice(&mut self, look: &mut Look, writes: bool) -> Slice {
        if self.end.member().is_none() || self.waits_for_more() {
            return Slice::Over;
        }
        let Handle { out, back, end, .. } = self;
        let End { region, stages, side, .. } = end;
        let ready = || if writes { out.may_write(region, 0) } else { back.is_readable() };
        let here = note_cpu(&region.fixed.ends[*side].0);
        let same_cpu = region.fixed.ends[1 - *side].0.cpu.load(Ordering::Relaxed) == here;
        CROWD.with(|crowd| stages.pass_slice(look, crowd, same_cpu, ready))
    }

    /// Waits until there may be room for a message of that band. None: no time limit.
    pub(crate) fn wait_for_room(&mut self, band: u8, until_ns: Option<u64>) -> Result<()> {
        let before = self.end.standing()?;
        let more = self.waits_for_more();
        let Handle { out, end, .. } = self;
        let End { region, counters, stages, side, futex, .. } = end;
        let ready = || out.may_write(region, band) || Standing::of(region, *side) != before;
        let waiter = waiter(region, *side, true, !more);
        let brief = waiter.wait_briefly(stages, futex, counters, until_ns, ready)?;
        let waited = match brief {
            Some(waited) => waited,
            None => self.wait_on_doorbell(Interest::Room, Input::Any, band, before, until_ns)?,
        };
        self.after_waiting(waited)
    }

    /// Waits for data to read, or for room for a message of band 0. None: no time limit.
    pub(crate) fn wait_for_either(&mut self, until_ns: Option<u64>) -> Result<()> {
        let before = self.end.standing()?;
        let waited = self.wait_on_doorbell(Interest::Both, Input::Any, 0, before, until_ns)?;
        self.after_waiting(waited)
    }

    /// Sleeps on the doorbell, and checks at intervals.
    fn wait_on_doorbell(
        &mut self,
        interest: Interest,
        input: Input,
        band: u8,
        before: Standing,
        until_ns: Option<u64>,
    ) -> Result<Waited> {
        let begin_ns = now_ns();
        // A waiter for either has not been on the futex.
        let before_ns = if interest == Interest::Both { 0 } else { self.end.futex.ns };
        let (mut in_vain, mut tries) = (0, 0);
        let mut checks = Checks::from(begin_ns);
        // The packets of what is left unread stay: only of edges the kernel reports new ones.
        let edges = match input {
            Input::Any => None,
            Input::Before(_) => self.end.doorbell().watch_edges().ok(),
        };
        loop {
            // Before the look: later actions are reported.
            let watched = match interest {
                _ if input != Input::Any => edges.is_some(),
                Interest::Room if self.end.endpoint.files().is_none() => !self.end.doorbell().is_pipe(),
                _ => self.end.watch_own(),
            };
            let armed = (interest == Interest::Room || self.arm_for(input)?)
                && (interest == Interest::Packets || self.arm_to_write(band)?);
            // Before the look at the changes: a later change nudges us.
            let wanted = self.watched_files()?;
            if !armed || self.end.standing()? != before {
                return Ok(Waited::LookAgain);
            }
            let [own, peer] =
                [self.end.words(), self.end.peer_words()].map(|end| end.joined.load(Ordering::Relaxed) > 1);
            let watch_ns = if own || peer { begin_ns + WATCH_NS } else { u64::MAX };
            // Another handle may come to be used while we sleep.
            let has_modules = self.end.region.driver.is_some()
                || self.end.region.fixed.plumbing[self.end.side].count.load(Ordering::Relaxed) != 0;
            // A close of the end wakes a reader through the watch; the reader of a pipe gets a bell.
            let deaf = !watched && (own || has_modules || input != Input::Any || !self.end.doorbell().is_pipe());
            let look_ns = if deaf { now_ns() + LOOK_NS } else { u64::MAX };
            let due_ns = self.due_ns().unwrap_or(u64::MAX);
            let mut end_ns = until_ns.unwrap_or(u64::MAX).min(watch_ns).min(look_ns).min(due_ns).min(checks.due_ns);
            if interest == Interest::Packets {
                end_ns = end_ns.min(self.give_pages_back_in_time(&mut tries)?);
            }
            let wait_side =
                WaitSide { stream: self.end.region.inode, end: self.end.side, writes: interest == Interest::Room };
            let mut ready = Ready::default();
            let heard = loop {
                self.end.counters.blocks += 1;
                wait_side.block_begin(true);
                let left = (end_ns < u64::MAX).then(|| Duration::from_nanos(end_ns.saturating_sub(now_ns())));
                let heard = self.sleep(interest, input, edges.as_ref(), &wanted, &mut ready, left)?;
                wait_side.block_end(true, heard == Heard::Ready);
                // The other end has taken a packet of ours, or a nudge was for other users: the doorbell is armed as
                // before; but what has rung for a message of those that are left is armed anew.
                let is_over = self.may_go_on(interest, input, band) || self.end.standing()? != before;
                if heard != Heard::Nudged || input != Input::Any || is_over {
                    break heard;
                }
            };
            let now_ns = now_ns();
            if ready != Ready::default() || due_ns <= now_ns {
                // If another user holds the lock, the next wait tries again.
                self.serve_files(ready)?;
                self.serve_times()?;
                return Ok(if heard == Heard::Interrupted { Waited::Interrupted } else { Waited::LookAgain });
            }
            self.end.futex.went_beyond(before_ns + now_ns - begin_ns);
            checks.run(now_ns);
            match heard {
                _ if self.may_go_on(interest, input, band) || self.end.standing()? != before => {
                    return Ok(Waited::LookAgain);
                }
                Heard::Gone => return Ok(Waited::Gone),
                Heard::Interrupted => return Ok(Waited::Interrupted),
                // Also of a descriptor that is ready all the time.
                _ if until_ns.is_some_and(|until| until <= now_ns) => return Ok(Waited::TimedOut),
                _ if watch_ns <= now_ns => return Ok(Waited::Watched),
                Heard::TimedOut | Heard::Nudged | Heard::Beside => {}
                // The notification was for other users, or was left by a process that died. Arming removes it. Or
                // another program has shut the socket down: then it is always ready.
                Heard::Ready => in_vain += 1,
            }
            if in_vain > VAIN_MAX {
                std::thread::sleep(VAIN_PAUSE);
            }
        }
    }

    /// Sleeps at the doorbell and at files, and stores their events.
    fn sleep(
        &self,
        interest: Interest,
        input: Input,
        edges: Option<&OwnWatch>,
        wanted: &Wanted,
        ready: &mut Ready,
        left: Option<Duration>,
    ) -> Result<Heard> {
        let interest = if input == Input::Any { interest } else { Interest::Edges };
        let mut places = wanted.iter().flatten();
        if places.next().is_none() {
            return self.end.wait_at_doorbell(interest, edges, &mut [], left);
        }
        let mut polled: Vec<Watched<'_>> = beside::list(wanted).collect();
        let heard = self.end.wait_at_doorbell(interest, edges, &mut polled, left)?;
        beside::note(wanted, &polled, ready);
        Ok(heard)
    }

    /// As [`Handle::give_pages_back`], of a reader that is about to sleep: returns when it tries again. A reader whose messages
    /// come from a driver's file sleeps for nearly each of them, and does it at intervals.
    fn give_pages_back_in_time(&mut self, tries: &mut u32) -> Result<u64> {
        if self.back.reader.reach() <= PAGES_KEPT {
            return Ok(u64::MAX);
        }
        let now_ns = now_ns();
        if self.end.endpoint.files().is_some() {
            if now_ns < self.end.discard_after_ns {
                return Ok(self.end.discard_after_ns);
            }
            self.end.discard_after_ns = now_ns + GIVE_BACK_EVERY_NS;
        }
        if !self.give_pages_back()? || *tries >= GIVE_BACK_TRIES {
            return Ok(u64::MAX);
        }
        // A writer is in the middle of its call, perhaps because it was preempted there.
        *tries += 1;
        Ok(now_ns + LOOK_NS)
    }

    /// A reader that finds nothing gives the window's pages back if many were in use and no writer is in the middle of
    /// a call. True if one is: then it must be tried again.
    fn give_pages_back(&mut self) -> Result<bool> {
        if self.back.reader.reach() <= PAGES_KEPT {
            return Ok(false);
        }
        self.end.set_limit(Limit::Now);
        let (region, me, _) = self.end.parts();
        let direction = self.back.direction();
        let held = self.back.writer.hold_apart(me).map(|writing| {
            // No process writes, and there is nothing to read. A failure costs memory, and nothing else.
            let is_empty = writing.count_now() == 0;
            if is_empty {
                let _ = region.discard_window(direction);
            }
            is_empty
        });
        if held.is_ok() {
            self.serve_owed(false)?;
        }
        self.end.set_limit(self.limit());
        match held {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.back.reader.forget_reach();
                Ok(false)
            }
            Err(error) if error.is_held() => Ok(true),
            Err(error) => self.remember_failure(Err(error)),
        }
    }

    /// Whether the wait's condition holds, read without the locks.
    fn may_go_on(&self, interest: Interest, input: Input, band: u8) -> bool {
        interest != Interest::Room && self.has(input)
            || interest != Interest::Packets && self.out.may_write(&self.end.region, band)
    }

    fn after_waiting(&mut self, waited: Waited) -> Result<()> {
        self.end.check_open()?;
        // One that came while we slept is met before its end can be.
        if self.end.region.driver.is_some_and(|driver| driver.info().pairs) {
            self.meet_partner()?;
        }
        match waited {
            Waited::Gone => {
                self.end.note_gone();
                Ok(())
            }
            Waited::Interrupted => {
                // A caller that begins again after each of many signals never comes to the descriptor, where the kernel tells that
                // the other end has gone: its next call knows.
                self.end.ask_for_peer()?;
                Err(fixed!(Intr, "a signal handler ran"))
            }
            Waited::TimedOut => Err(fixed!(Time, "the time is over")),
            Waited::LookAgain | Waited::Watched => self.end.look_for_peer(),
        }
    }

    /// Makes the descriptor report what the reader waits for. False if it is there already.
    fn arm_for(&mut self, input: Input) -> Result<bool> {
        match input {
            Input::Any => self.arm_to_read(),
            Input::Before(seen) => self.arm_while_unread(|side| side.arrivals() != seen),
        }
    }

    /// Makes the descriptor become readable when there is data to read. False if there is already.
    pub(crate) fn arm_to_read(&mut self) -> Result<bool> {
        self.attach()?;
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let side = back.begin_reading(end, options)?;
        let armed = end.inbox().arm(|| side.is_readable());
        drop(side);
        let armed = self.remember_failure(armed)?;
        let peer = self.end.peer_words();
        let is_sent = peer.files.load(Ordering::Relaxed) == peer.files_put.load(Ordering::Relaxed);
        if armed && !is_sent { self.wait_for_file() } else { Ok(armed) }
    }

    /// The other end is in the middle of sending a file, and its descriptor may have come before its message; or the message
    /// waits in a module's queue; or the sender has died there, and the message will not come. Waits until the sender comes
    /// out of it, but not for one that is stopped. False: there is data to read. Otherwise the descriptor stays
    /// readable as long as the file is in the queue.
    #[cold]
    fn wait_for_file(&mut self) -> Result<bool> {
        self.end.set_limit(Limit::Now);
        let Handle { back, end, .. } = self;
        // No process sends now: the next check discards a file without a message.
        let found = back.begin(end.me(), &end.region).and_then(|mut side| side.find_files_lost(end));
        self.end.set_limit(self.limit());
        self.serve_owed(false)?;
        match found {
            Err(error) if error.is_held() && error.errno() != Errno::Intr => Ok(true),
            found => found.map(|()| !self.back.is_readable()),
        }
    }

    /// Makes the descriptor become writable when there is room for a message of a band, and not before. False if there is
    /// already.
    pub(crate) fn arm_to_write(&mut self, band: u8) -> Result<bool> {
        self.attach()?;
        let Handle { out, end, .. } = self;
        let side = out.begin(end.me(), &end.region)?;
        let armed = arm_writer(end, &side, band);
        drop(side);
        self.serve_owed(true)?;
        self.remember_failure(armed)
    }

    /// Wakes the other end's writers: those that sleep, and those that poll their descriptor for room.
    pub(crate) fn wake_writers(&mut self) -> Result<()> {
        self.end.wake_writers();
        let side = &self.end.region.fixed.lanes[1 - self.end.side].writer.0;
        if side.sleep.load(Ordering::Relaxed) & (BELL | RINGING) == 0 {
            return Ok(());
        }
        self.tell_of_room()
    }

    /// Takes the packet that keeps the other end's descriptor from being writable. An error here does not lose the
    /// bytes read before: a broken stream fails at the next call, and if another reader is in the middle of a call, the
    /// flag stays for the next.
    #[cold]
    fn tell_of_room(&mut self) -> Result<()> {
        self.attach()?;
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let side = match back.begin_reading(end, options) {
            Err(error) if error.is_held() => return Ok(()),
            side => side?,
        };
        let packets = end.inbox();
        let writers = &end.region.fixed.lanes[1 - end.side].writer.0;
        let free = || {
            if !packets.free_room()? {
                if side.is_readable() {
                    // The writers are notified when the file has been received.
                    writers.sleep.fetch_or(BELL, Ordering::AcqRel);
                } else {
                    // The file's message was flushed. All packets in the queue are stale.
                    packets.arm(|| side.is_readable())?;
                }
            }
            Ok(())
        };
        let freed = crate::process::sleep::tell_by_descriptor(writers, free);
        drop(side);
        end.counters.wake_ups += u64::from(freed.is_some());
        end.counters.doorbells += u64::from(freed.is_some());
        let _ = self.remember_failure(freed.unwrap_or(Ok(())));
        Ok(())
    }

    /// There is no data: `EAGAIN` for a handle that must not wait, once its descriptor would report data.
    pub(crate) fn refuse_to_read(&mut self, input: Input) -> Result<()> {
        self.end.check_open()?;
        let refused = self.nonblocking && self.arm_for(input)?;
        if refused && self.back.reader.reach() > PAGES_KEPT {
            let now_ns = now_ns();
            if now_ns >= self.end.discard_after_ns {
                self.end.discard_after_ns = now_ns + GIVE_BACK_EVERY_NS;
                self.give_pages_back()?;
            }
        }
        if refused {
            self.serve_in_background();
            return Err(match input {
                Input::Any => fixed!(Again, "nothing is there to be read"),
                Input::Before(_) => {
                    fixed!(Again, "the message at the front is of a lower band or priority than wanted")
                }
            });
        }
        Ok(())
    }

    /// There is no room for a message of that band: `EAGAIN` for a handle that must not wait, once its descriptor would
    /// report room; otherwise waits for it.
    pub(crate) fn wait_or_refuse(&mut self, band: u8) -> Result<()> {
        self.end.check_open()?;
        self.note_refused(band);
        if !self.nonblocking {
            return self.wait_for_room(band, None);
        }
        // A killed peer has sent no notification; the kernel reports its death to a waiter.
        self.end.ask_for_peer()?;
        self.serve_now()?;
        let refused = !self.end.peer_gone && self.arm_to_write(band)?;
        if refused {
            self.serve_in_background();
        }
        if refused { Err(fixed!(Again, "the stream is full: the band's queue is above hiwat")) } else { Ok(()) }
    }
}

/// Makes the descriptor of an end become writable; false if there is room.
fn arm_writer(end: &End, side: &WriteSide<'_>, band: u8) -> Result<bool> {
    let (region, doorbell) = (&end.region, end.doorbell());
    let room = || side.may_write(region, band);
    let own = &region.fixed.lanes[end.side].writer.0;
    for _ in 0..2 {
        if own.sleep.load(Ordering::Acquire) & (BELL | RINGING) != BELL {
            announce(own, BELL, RINGING, region.fence)?;
        }
        if room() {
            return Ok(false);
        }
        // If a packet was sent: a reader may have looked for it before, and cleared the flag. Then once more.
        if !block_room(&region.fixed.ends[1 - end.side].0, doorbell)? {
            return Ok(true);
        }
    }
    if !room() {
        return Ok(true);
    }
    // Other processes poll the descriptor, and we may write nothing that a reader could take.
    doorbell.nudge_own()?;
    Ok(false)
}

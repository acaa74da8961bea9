//! One thread's use of an end: its place among the members, and its cached state.
//!
//! It belongs to one handle and is used by one thread at a time. A forked child detects by the epoch that the
//! membership is its parent's, and joins anew.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::doorbell::{Doorbell, Heard, Interest, OwnWatch};
use headwater_os::fork::{self, Epoch};
use headwater_os::readiness::Watched;
use headwater_shm::{Limit, Membership, Stages, probe};

use super::beyond::{Beyond, LowerStreams};
use super::endpoint::{AfterUse, Endpoint};
use super::inbox::{self, Inbox, refuse_program};
use super::opened;
use super::region::Region;
use super::sleep::{self, LOOK, OnFutex, UNMET, Waiter};
use crate::counters::Counters;
use crate::error::{Cause, Error, Result, fixed};
use crate::events::{self, WaitSide};
use crate::layout::{EndWords, Side};

/// The use of an end: how a FIFO is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading alone: a FIFO's reader.
    Read,
    /// Writing alone: a FIFO's writer.
    Write,
    /// Both: an end of a pipe.
    Both,
}

/// On whose behalf an end is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A program's.
    User,
    /// That of the multiplexer below which the end is linked: it looks itself at what it has caused there.
    Multiplexer,
    /// That of the driver at the stream's other end, which serves it also if the end is linked.
    Server,
}

/// An end, as one thread uses it.
#[derive(Debug)]
pub(crate) struct End {
    /// The endpoint's, at hand.
    pub region: Region,
    pub side: usize,
    membership: Option<Membership>,
    /// The process that the membership is of.
    epoch: u64,
    epoch_word: Epoch,
    /// Every copy of the other end is gone. For ever in a pipe; in a FIFO another may come.
    pub peer_gone: bool,
    /// The region has contradicted itself; nothing is read from it any more.
    pub dead: Option<Error>,
    pub counters: Counters,
    pub stages: Stages,
    /// How long the next wait stays on the futex.
    pub futex: OnFutex,
    /// Notifies a sleeper of actions of other handles of this end.
    own_watch: Option<OwnWatch>,
    /// Before this time a reader that does not wait gives no pages back.
    pub discard_after_ns: u64,
    /// How often no waiter was at the other side, after a write and after a read; see `sleep::look_at`.
    pub quiet: [u32; 2],
    /// How many closes of the other end's handles were looked at.
    closes_seen: u32,
    /// On whose behalf the end is used.
    pub role: Role,
    /// The streams that are linked below, as this handle knows them, if it has looked.
    pub lowers: Option<Box<dyn LowerStreams>>,
    /// Until this time the handle does not try again to run the service procedures of the direction that it reads.
    pub service_after_ns: u64,
    /// Of the library's own thread: it does not count as a user of the end.
    pub helps: bool,
    /// The state that all threads of the process share. Dropped last: with the last one the end is closed.
    pub endpoint: Arc<Endpoint>,
    pub after: AfterUse,
}

/// In `EndWords::shut`: the end writes no more.
pub(crate) const WRITES: u32 = 1;
/// The end reads no more.
pub(crate) const READS: u32 = 2;
/// The other end was notified that this one is closed (S_HANGUP).
pub(crate) const HANGUP_TOLD: u32 = 4;

impl End {
    pub fn new(endpoint: Arc<Endpoint>) -> End {
        End {
            region: endpoint.region.clone(),
            side: endpoint.side,
            membership: None,
            epoch: 0,
            epoch_word: fork::word(),
            peer_gone: false,
            dead: None,
            counters: Counters::default(),
            stages: Stages::default(),
            futex: OnFutex::NEW,
            own_watch: None,
            discard_after_ns: 0,
            quiet: [0; 2],
            closes_seen: 0,
            role: Role::User,
            lowers: None,
            service_after_ns: 0,
            helps: false,
            after: AfterUse::of(&endpoint),
            endpoint,
        }
    }

    /// Our place among the members, if this process has one.
    #[inline(always)]
    pub fn member(&self) -> Option<&Membership> {
        if self.epoch_word.is(self.epoch) { self.membership.as_ref() } else { None }
    }

    /// Whether the membership is this process's own, and not a copy of its parent's.
    pub fn membership_is_ours(&self) -> bool {
        self.membership.as_ref().is_some_and(Membership::is_ours)
    }

    /// Joins if this process has not yet; returns whether it just has: then the cached state of locks is another
    /// process's.
    #[inline]
    pub fn join(&mut self) -> Result<bool> {
        // Not only by the word: where the kernel does not wipe it, this detects that we are a child.
        if fork::epoch() == self.epoch && self.member().is_some() { Ok(false) } else { self.join_anew().map(|()| true) }
    }

    #[cold]
    fn join_anew(&mut self) -> Result<()> {
        let [one, two] = [0, 1]
            .map(|at| &self.region.fixed.lanes[at])
            .map(|lane| [&lane.writer_lock.0, &lane.reader_lock.0, &lane.store_lock.0]);
        let [first, second] = [0, 1].map(|at| &self.region.fixed.ends[at].0.ioctl_lock);
        let locks = [one[0], one[1], one[2], two[0], two[1], two[2], first, second];
        let mut membership = Membership::join(&self.region.members, self.region.fence, &locks)?;
        membership.set_cancel(self.endpoint.cancel());
        membership.set_side(self.side);
        self.membership = Some(membership);
        self.epoch = fork::epoch();
        // A child's copy would take its parent's notifications.
        self.own_watch = None;
        if self.helps {
            return Ok(());
        }
        self.endpoint.keep_here();
        opened::joined();
        let others = self.words().joined.fetch_add(1, Ordering::Relaxed);
        let incoming = &self.region.fixed.lanes[1 - self.side].reader.0.sleep;
        if incoming.load(Ordering::Relaxed) & UNMET != 0 {
            incoming.fetch_and(!UNMET, Ordering::Release);
        }
        if others == 1 {
            // A sleeper on a doorbell that does not look again by itself, because each end had one user, has to do so
            // from now on.
            self.wake_readers();
            self.wake_writers();
            self.wake_own_readers();
        }
        events::open(self.region.inode, self.side as u8);
        Ok(())
    }

    /// Uses the end no more; before the handle is dropped. Returns whether no other handle in use is left, as far as is known: then
    /// the end's modules are closed. A FIFO is one stream for all who open it, in whichever direction.
    pub fn leave(&self) -> bool {
        if self.member().is_none() || self.helps {
            return false;
        }
        let fewer = |joined: u32| joined.checked_sub(1);
        let last = self.words().joined.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer) == Ok(1);
        last && (!self.endpoint.is_fifo() || self.peer_words().joined.load(Ordering::Relaxed) == 0)
    }

    /// How long calls wait for other users of the stream that do not come out of theirs.
    pub fn set_limit(&self, limit: Limit) {
        if let Some(me) = self.member() {
            me.set_limit(limit);
            // The kernel also shows a hang-up when both directions were shut down, and that proves no death.
            if self.peer_gone && !self.endpoint.is_fifo() && !(self.shut_to_write() && self.shut_to_read()) {
                // No process can come to a pipe's end again: its locks are free, in whichever namespace the holders
                // were.
                me.note_gone(1 - self.side);
            }
        }
    }

    pub fn words(&self) -> &EndWords {
        &self.region.fixed.ends[self.side].0
    }

    pub fn peer_words(&self) -> &EndWords {
        &self.region.fixed.ends[1 - self.side].0
    }

    pub fn doorbell(&self) -> &Doorbell {
        self.endpoint.doorbell()
    }

    /// Whether the handle may be used so.
    ///
    /// Errors: `EBADF` if not.
    pub fn check_access(&self, access: Access) -> Result<()> {
        match self.endpoint.access {
            Access::Both => Ok(()),
            allowed if allowed == access => Ok(()),
            Access::Read => Err(fixed!(Badf, "the FIFO was opened for reading alone")),
            Access::Write => Err(fixed!(Badf, "the FIFO was opened for writing alone")),
        }
    }

    /// Our place among the members, of an end that has joined.
    #[inline]
    pub fn me(&self) -> &Membership {
        self.membership.as_ref().expect("a call joins before anything else")
    }

    /// The parts that a run needs of an end that has joined, and what lies beyond the stream for its driver.
    pub fn parts_for_run(&mut self) -> (&Region, &Membership, &mut Counters, Beyond<'_>) {
        let me = self.membership.as_ref().expect("a call joins before anything else");
        let endpoint = &self.endpoint;
        let beyond = Beyond {
            partner: endpoint.partner(),
            files: endpoint.files(),
            lowers: self.lowers.as_deref(),
            endpoint: Some(endpoint),
        };
        (&self.region, me, &mut self.counters, beyond)
    }

    /// The parts that a call needs of an end that has joined.
    pub fn parts(&mut self) -> (&Region, &Membership, &mut Counters) {
        (&self.region, self.membership.as_ref().expect("a call joins before anything else"), &mut self.counters)
    }

    /// Whether this end writes no more, or the other end reads no more.
    pub fn shut_to_write(&self) -> bool {
        self.words().shut.load(Ordering::Acquire) & WRITES != 0
            || self.peer_words().shut.load(Ordering::Acquire) & READS != 0
    }

    /// Whether the other end writes no more, or this end reads no more.
    pub fn shut_to_read(&self) -> bool {
        self.words().shut.load(Ordering::Acquire) & READS != 0
            || self.peer_words().shut.load(Ordering::Acquire) & WRITES != 0
    }

    /// The state of closes and shut-downs: a waiter compares it with the state that it has seen.
    ///
    /// # Errors
    /// `EBADF` if the end was closed in this process.
    pub fn standing(&self) -> Result<Standing> {
        let standing = Standing::of(&self.region, self.side);
        // After the count of closes: a close from now on changes that.
        self.check_open()?;
        Ok(standing)
    }

    /// Whether the end is open in this process.
    ///
    /// # Errors
    /// `EBADF` if it was closed.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        if self.endpoint.is_closed() { Err(closed()) } else { Ok(()) }
    }

    /// Wakes the other end's readers. Returns false if readers are flagged as asleep, and none was found.
    pub fn wake_readers(&mut self) -> bool {
        let fixed = &self.region.fixed;
        let wait_side = WaitSide { stream: self.region.inode, end: 1 - self.side, writes: false };
        let (side, peer) = (&fixed.lanes[self.side].reader.0, &fixed.ends[1 - self.side].0);
        let doorbell = self.endpoint.doorbell();
        let woken = sleep::wake_on_futex(side, wait_side, &mut self.counters);
        let told = tell_by_bell(side, wait_side, peer, doorbell, &mut self.counters);
        woken != Some(0) && told != Some(false)
    }

    /// Whether the next write wakes the other end's readers, and so checks whether they are alive: some are flagged as
    /// asleep until anything arrives. Not for a FIFO: its bells are sent whether or not there is a reader, and its next
    /// reader would find the bytes of a failed write.
    pub fn wake_up_tells(&self) -> bool {
        let side = &self.region.fixed.lanes[self.side].reader.0;
        side.sleep.load(Ordering::Relaxed) & (sleep::FUTEX | sleep::BELL | sleep::RINGING) != 0
            && side.wanted.load(Ordering::Relaxed) == 0
            && !self.doorbell().is_pipe()
    }

    /// Wakes the other end's writers that sleep on the futex. Those that poll see room when a reader takes the packet that
    /// says that there is none; see `Handle::wake_writers`.
    pub fn wake_writers(&mut self) {
        let wait_side = WaitSide { stream: self.region.inode, end: 1 - self.side, writes: true };
        sleep::wake_on_futex(&self.region.fixed.lanes[1 - self.side].writer.0, wait_side, &mut self.counters);
    }

    /// Watches the actions of other handles of this end. Returns false if no descriptor is left for that, or the end is
    /// a FIFO's.
    pub fn watch_own(&mut self) -> bool {
        if self.own_watch.is_none() {
            self.own_watch = self.endpoint.watch_own().unwrap_or(None);
        }
        self.own_watch.is_some()
    }

    /// Sleeps at the doorbell and at these files; see [`Doorbell::wait_beside`]. Without `edges` the watch is that of our own end.
    pub fn wait_at_doorbell(
        &self,
        interest: Interest,
        edges: Option<&OwnWatch>,
        beside: &mut [Watched<'_>],
        timeout: Option<Duration>,
    ) -> Result<Heard> {
        // Of room the doorbell itself tells.
        let is_watched = interest != Interest::Room || self.endpoint.files().is_some();
        let watch = edges.or(self.own_watch.as_ref().filter(|_| is_watched));
        // The end is not closed under a sleeper: the kernel would keep it open until that has come out.
        let _asleep = self.endpoint.fall_asleep();
        self.check_open()?;
        Ok(self.doorbell().wait_beside(interest, watch, beside, timeout)?)
    }

    /// The number of events that handles of this end have caused for its readers.
    #[cfg(feature = "tokio")]
    pub fn own_events(&self) -> u32 {
        self.words().own_events.load(Ordering::Acquire)
    }

    /// Wakes the readers of our own end, other threads, tasks and processes that share it. A program that polls the
    /// descriptor and does not use this library is notified when the other end's process rings back, or a handle of it
    /// acts.
    pub fn wake_own_readers(&mut self) {
        if self.role == Role::Multiplexer {
            return;
        }
        let fixed = &self.region.fixed;
        let side = &fixed.lanes[1 - self.side].reader.0;
        let wait_side = WaitSide { stream: self.region.inode, end: self.side, writes: false };
        sleep::wake_on_futex(side, wait_side, &mut self.counters);
        if side.sleep.load(Ordering::Relaxed) & (sleep::BELL | sleep::RINGING) == 0 {
            return;
        }
        if let Some(far) = self.endpoint.far() {
            // The driver's end notifies them.
            tell_by_bell(side, wait_side, &fixed.ends[self.side].0, far, &mut self.counters);
            return;
        }
        // Release pairs with the Acquire in `own_events`: before a nudged reader looks.
        self.words().own_events.fetch_add(1, Ordering::Release);
        probe::at();
        let doorbell = self.doorbell();
        // It fails for no reason that would not end the stream as well.
        let _ = doorbell.nudge_own();
        if !doorbell.is_pipe() {
            inbox::ask_echo(side, self.peer_words(), doorbell);
        }
    }

    /// Wakes the writers of our own end.
    pub fn wake_own_writers(&mut self) -> Result<()> {
        let side = &self.region.fixed.lanes[self.side].writer.0;
        let wait_side = WaitSide { stream: self.region.inode, end: self.side, writes: true };
        sleep::wake_on_futex(side, wait_side, &mut self.counters);
        if side.sleep.load(Ordering::Relaxed) & sleep::BELL != 0 {
            self.doorbell().nudge_own()?;
        }
        Ok(())
    }

    /// Wakes all waiters at our own end.
    pub fn wake_own(&mut self) -> Result<()> {
        self.wake_own_readers();
        self.wake_own_writers()
    }

    /// The packets for the readers of this end.
    pub fn inbox(&self) -> Inbox<'_> {
        let side = &self.region.fixed.lanes[1 - self.side].reader.0;
        let doorbell = self.endpoint.doorbell();
        let far = self.endpoint.far();
        let partner = self.endpoint.partner_to_come();
        Inbox { end: self.words(), peer: self.peer_words(), side, doorbell, far, partner, fence: self.region.fence }
    }

    /// Asks the kernel whether the other end has gone, if a handle of it was closed since the last time.
    pub fn look_for_peer(&mut self) -> Result<()> {
        let fixed = &self.region.fixed;
        let sides = [&fixed.lanes[self.side].reader.0.sleep, &fixed.lanes[1 - self.side].writer.0.sleep];
        // Acquire pairs with the count in `drop`: the kernel knows of what is counted.
        let closes = self.peer_words().closes.load(Ordering::Acquire);
        let flagged = sides.iter().any(|side| side.load(Ordering::Relaxed) & LOOK != 0);
        if !flagged && closes == self.closes_seen && !(self.peer_gone && self.endpoint.is_fifo()) {
            return Ok(());
        }
        self.closes_seen = closes;
        if self.doorbell().is_alone()? {
            self.note_gone();
            return Ok(());
        }
        self.peer_gone = false;
        for side in sides {
            side.fetch_and(!LOOK, Ordering::AcqRel);
        }
        probe::at();
        if self.peer_words().closes.load(Ordering::Acquire) != closes {
            for side in sides {
                side.fetch_or(LOOK, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// Asks the kernel whether the other end has gone.
    pub fn ask_for_peer(&mut self) -> Result<()> {
        if !self.peer_gone && self.doorbell().is_alone()? {
            self.note_gone();
        }
        Ok(())
    }

    /// Every copy of the other end is gone. All handles of this end are notified, also those on the fast path.
    pub fn note_gone(&mut self) {
        self.peer_gone = true;
        let fixed = &self.region.fixed;
        for side in [&fixed.lanes[self.side].reader.0, &fixed.lanes[1 - self.side].writer.0] {
            if side.sleep.load(Ordering::Relaxed) & LOOK == 0 {
                side.sleep.fetch_or(LOOK, Ordering::AcqRel);
            }
        }
    }

    /// Checks whether a program that does not use the library has read our notifications from the other end's
    /// descriptor.
    pub fn check_for_strangers(&mut self) -> Result<()> {
        let flags = &self.region.fixed.lanes[self.side].reader.0.sleep;
        let peer = self.peer_words();
        if peer.sent.load(Ordering::Relaxed) == 0 || self.doorbell().has_unread()? || self.doorbell().is_alone()? {
            return Ok(());
        }
        // Acquire pairs with the Release in `join`: a user joins before it takes anything.
        if flags.load(Ordering::Acquire) & UNMET == 0 || peer.taken.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        refuse_program(self.words(), self.doorbell());
        Err(Error::of_static(
            const {
                &Cause::broken(
                    "a program that does not use headwater reads the descriptor of this stream's other end, as its standard input \
             perhaps, and does not get the data: give such a program a kernel pipe and copy between the two",
                )
            },
        ))
    }

    /// Marks the stream as broken, for good.
    pub fn spoil<T>(&mut self, error: Error) -> Result<T> {
        if error.is_fatal() {
            self.dead.get_or_insert_with(|| error.again());
        }
        Err(error)
    }
}

/// Rings if the side wants to be notified through its descriptor. Returns whether the other end has a holder, if so.
fn tell_by_bell(
    side: &Side,
    wait_side: WaitSide,
    peer: &EndWords,
    doorbell: &Doorbell,
    counters: &mut Counters,
) -> Option<bool> {
    let told = sleep::tell_by_descriptor(side, || {
        wait_side.wake(true);
        wait_side.ring();
        inbox::ring(peer, doorbell)
    });
    if told.is_some() {
        counters.wake_ups += 1;
        counters.doorbells += 1;
    }
    told
}

/// The closes and shut-downs of the two ends, the state that modules have raised, and the other conditions of a waiter:
/// a waiter looks again when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    closes: [u32; 2],
    shut: [u32; 2],
    state: u32,
    signals: u64,
    looks: u32,
}

impl Standing {
    pub fn of(region: &Region, side: usize) -> Standing {
        let (own, peer) = (&region.fixed.ends[side].0, &region.fixed.ends[1 - side].0);
        Standing {
            closes: [own.closes.load(Ordering::Acquire), peer.closes.load(Ordering::Relaxed)],
            shut: [own.shut.load(Ordering::Relaxed), peer.shut.load(Ordering::Relaxed)],
            state: own.state.load(Ordering::Relaxed),
            signals: own.signals.load(Ordering::Relaxed),
            looks: own.looks.load(Ordering::Relaxed),
        }
    }
}

/// The error of a call on an end after it was closed in this process.
#[cold]
pub(crate) fn closed() -> Error {
    fixed!(Badf, "the end was closed in this process")
}

/// A handle of an end that waits for room, or for messages.
pub(crate) fn waiter(region: &Region, side: usize, writes: bool, on_futex: bool) -> Waiter<'_> {
    let fixed = &*region.fixed;
    let own = if writes { &fixed.lanes[side].writer.0 } else { &fixed.lanes[1 - side].reader.0 };
    let (end, peer) = (&fixed.ends[side].0, &fixed.ends[1 - side].0);
    let wait_side = WaitSide { stream: region.inode, end: side, writes };
    Waiter { own, wait_side, end, peer, fence: region.fence, stages: region.policy.stages, on_futex }
}

//! One end of a stream in this process: the region, the doorbell, and this handle's place among the members.
//!
//! It belongs to one handle and is used by one thread at a time. A forked child finds by the epoch that the membership is
//! its parent's, and joins anew.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::doorbell::Doorbell;
use headwater_os::fork::{self, Epoch};
use headwater_shm::{Membership, Stages, probe};

use super::fifo::keeper::Keeper;
use super::region::Region;
use super::sleep::{self, Files, LOOK, Post};
use crate::counters::Counters;
use crate::error::{Errno, Error, Result};
use crate::events::{self, Place};
use crate::layout::EndWords;

/// What a handle may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading alone: a FIFO's reader.
    Read,
    /// Writing alone: a FIFO's writer.
    Write,
    /// Both: an end of a pipe.
    Both,
}

/// An end. 0 and 1 are alike in a pipe, where 0 is the first of the pair; in a FIFO 0 writes and 1 reads.
#[derive(Debug)]
pub(crate) struct End {
    pub region: Region,
    /// 0 or 1. Direction 0 leads from end 0 to end 1.
    pub side: usize,
    pub doorbell: Option<Doorbell>,
    membership: Option<Membership>,
    /// The process that the membership is of.
    epoch: u64,
    epoch_word: Epoch,
    pub access: Access,
    /// Of a FIFO: its node in the file system, which stays what it is as long as we hold it.
    pub anchor: Option<OwnedFd>,
    /// Of a FIFO that others may open too: who lets them in.
    pub keeper: Option<Arc<Keeper>>,
    /// Every copy of the other end is gone. For ever in a pipe; in a FIFO another may come.
    pub peer_gone: bool,
    /// The region has contradicted itself; nothing is read from it any more.
    pub dead: Option<String>,
    pub counters: Counters,
    pub stages: Stages,
    /// Files that came with bells and wait for `receive_file`.
    pub files: Files,
}

impl End {
    pub fn new(region: Region, side: usize, doorbell: Doorbell) -> End {
        End {
            region,
            side,
            doorbell: Some(doorbell),
            membership: None,
            epoch: 0,
            epoch_word: fork::word(),
            access: Access::Both,
            anchor: None,
            keeper: None,
            peer_gone: false,
            dead: None,
            counters: Counters::default(),
            stages: Stages::default(),
            files: Files::new(),
        }
    }

    /// Our place among the members, if this process has one.
    #[inline(always)]
    pub fn member(&self) -> Option<&Membership> {
        if self.epoch_word.is(self.epoch) { self.membership.as_ref() } else { None }
    }

    /// Joins if this process has not yet; returns whether it just has: then what is remembered of tokens is another
    /// process's.
    pub fn join(&mut self) -> Result<bool> {
        if self.member().is_some() {
            return Ok(false);
        }
        let table = self.region.fixed.part(|fixed| &fixed.members[..]);
        let lanes = &self.region.fixed.lanes;
        let tokens = lanes.iter().flat_map(|lane| [&lane.writer_token.0, &lane.reader_token.0, &lane.store_token.0]);
        let tokens: Vec<_> = tokens.collect();
        self.membership = Some(Membership::join(&table, self.region.fence, &tokens)?);
        self.epoch = fork::epoch();
        self.keeper = self.keeper.take().and_then(|keeper| keeper.here(self));
        if sleep::is_shared(&self.region.fixed.members) {
            // Who slept when there were two now has to watch.
            self.wake(true);
            self.wake(false);
        }
        events::open(self.region.inode, self.side as u8);
        Ok(true)
    }

    pub fn words(&self) -> &EndWords {
        &self.region.fixed.ends[self.side].0
    }

    pub fn peer_words(&self) -> &EndWords {
        &self.region.fixed.ends[1 - self.side].0
    }

    pub fn doorbell(&self) -> &Doorbell {
        self.doorbell.as_ref().expect("taken when the handle is dropped, and then used no more")
    }

    /// Whether the handle may be used so.
    ///
    /// Errors: `EBADF` if not.
    pub fn check_access(&self, access: Access) -> Result<()> {
        match self.access {
            Access::Both => Ok(()),
            allowed if allowed == access => Ok(()),
            Access::Read => Err(Error::new(Errno::Badf, "the FIFO was opened for reading alone")),
            Access::Write => Err(Error::new(Errno::Badf, "the FIFO was opened for writing alone")),
        }
    }

    /// Another handle's view of the same end.
    pub fn try_clone(&self) -> Result<End> {
        let mut end = End::new(self.region.clone(), self.side, self.doorbell().try_clone()?);
        end.access = self.access;
        end.anchor = self.anchor.as_ref().map(OwnedFd::try_clone).transpose()?;
        end.keeper = self.keeper.clone();
        Ok(end)
    }

    /// What a run needs of an end that has joined.
    pub fn parts(&mut self) -> (&Region, &Membership, &mut Counters) {
        (&self.region, self.membership.as_ref().expect("a call joins before anything else"), &mut self.counters)
    }

    /// A bell was taken from the doorbell by somebody who did not arm it.
    pub fn bell_taken(&mut self) {
        sleep::disarm(&self.words().bell);
    }

    /// Wakes whoever of our own end sleeps on a side: other threads and processes that share it. Those who poll are not
    /// reached from here; they are rung by the other end's next call.
    pub fn wake_own(&mut self, direction_out: bool) {
        let fixed = &self.region.fixed;
        let side = if direction_out { &fixed.lanes[self.side].writer.0 } else { &fixed.lanes[1 - self.side].reader.0 };
        let place = Place { stream: self.region.inode, end: self.side, writes: direction_out };
        sleep::wake_on_futex(side, place, &mut self.counters);
    }

    /// Wakes whoever of the other end sleeps on a side.
    pub fn wake(&mut self, direction_out: bool) {
        let fixed = &self.region.fixed;
        let side = if direction_out { &fixed.lanes[self.side].reader.0 } else { &fixed.lanes[1 - self.side].writer.0 };
        let bell = &fixed.ends[1 - self.side].0.bell;
        let doorbell = self.doorbell.as_ref().expect("as in `doorbell`");
        let place = Place { stream: self.region.inode, end: 1 - self.side, writes: !direction_out };
        sleep::wake(side, place, bell, doorbell, &mut self.counters);
    }

    /// Asks the kernel whether the other end has gone, if a handle of it was closed since the last time.
    pub fn look_for_peer(&mut self) -> Result<()> {
        if self.peer_gone && self.anchor.is_some() {
            self.peer_gone = self.doorbell().is_alone()?;
        }
        let fixed = &self.region.fixed;
        for side in [&fixed.lanes[self.side].reader.0, &fixed.lanes[1 - self.side].writer.0] {
            if side.sleep.load(Ordering::Relaxed) & LOOK != 0 {
                // Before the question: a handle that is closed after it sets the bit again.
                side.sleep.fetch_and(!LOOK, Ordering::AcqRel);
                probe::at();
                self.peer_gone |= self.doorbell().is_alone()?;
            }
        }
        Ok(())
    }

    /// Marks the stream as broken, for good.
    pub fn spoil<T>(&mut self, error: Error) -> Result<T> {
        if error.is_fatal() {
            self.dead.get_or_insert_with(|| error.to_string());
        }
        Err(error)
    }
}

impl Drop for End {
    /// First the descriptor, then the word: whoever reads it asks the kernel and finds the descriptor gone.
    fn drop(&mut self) {
        // Of a FIFO: a process that is stopped in here must not pass for one that still lets others in.
        self.keeper = None;
        self.anchor = None;
        self.doorbell = None;
        probe::at();
        let fixed = &self.region.fixed;
        for side in [&fixed.lanes[self.side].writer.0, &fixed.lanes[1 - self.side].reader.0] {
            side.sleep.fetch_or(LOOK, Ordering::AcqRel);
            probe::at();
        }
        for (side, writes) in [(&fixed.lanes[self.side].reader.0, false), (&fixed.lanes[1 - self.side].writer.0, true)]
        {
            // Who sleeps on the doorbell is woken by the kernel.
            let place = Place { stream: self.region.inode, end: 1 - self.side, writes };
            sleep::wake_on_futex(side, place, &mut self.counters);
        }
    }
}

/// Where a handle of an end stands when it waits for room, or for messages.
pub(crate) fn post<'a>(region: &'a Region, side: usize, doorbell: &'a Doorbell, writes: bool) -> Post<'a> {
    let fixed = &*region.fixed;
    let own = if writes { &fixed.lanes[side].writer.0 } else { &fixed.lanes[1 - side].reader.0 };
    let (end, peer) = (&fixed.ends[side].0, &fixed.ends[1 - side].0);
    let place = Place { stream: region.inode, end: side, writes };
    Post { own, place, end, peer, doorbell, fence: region.fence, stages: region.policy.stages, members: &fixed.members }
}

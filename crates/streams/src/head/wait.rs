//! Waiting for the other end, and refusing to.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::doorbell::Heard;

use super::stream::Stream;
use crate::error::{Errno, Error, Result};
use crate::events::Place;
use crate::process::end::{End, post};
use crate::process::sleep::{self, LOOK, Waited};

impl Stream {
    /// Waits until there is something to read, or the end of it. None: no time limit.
    pub(crate) fn wait_to_read(&mut self, until_ns: Option<u64>) -> Result<()> {
        let Stream { back, end, .. } = self;
        let End { region, doorbell, counters, stages, files, side, .. } = end;
        let lane = &region.fixed.lanes[1 - *side];
        let words = &region.fixed.ends[*side].0;
        let before = (words.state.load(Ordering::Acquire), words.signals.load(Ordering::Acquire));
        let post = post(region, *side, doorbell.as_ref().expect("open"), false);
        let ready = || {
            back.is_readable()
                || lane.writer.0.sleep.load(Ordering::Relaxed) & LOOK != 0
                || (words.state.load(Ordering::Relaxed), words.signals.load(Ordering::Relaxed)) != before
        };
        let waited = post.sleep(stages, counters, files, until_ns, ready)?;
        if waited == Waited::Watched {
            // What waits in modules' queues for somebody who was to run them.
            match self.drain_back() {
                // Somebody runs it, or is stopped in the middle of that.
                Err(error) if error.is_held() && error.errno() != Errno::Intr => {}
                drained => drained.map(drop)?,
            }
        }
        self.after_waiting(waited)
    }

    /// Waits until there may be room for a message of that band. None: no time limit.
    pub(crate) fn wait_for_room(&mut self, band: u8, until_ns: Option<u64>) -> Result<()> {
        let Stream { out, end, .. } = self;
        let End { region, doorbell, counters, stages, files, side, .. } = end;
        let lane = &region.fixed.lanes[*side];
        let words = &region.fixed.ends[*side].0;
        let before = words.state.load(Ordering::Acquire);
        let post = post(region, *side, doorbell.as_ref().expect("open"), true);
        let ready = || {
            out.may_write(region, band)
                || lane.reader.0.sleep.load(Ordering::Relaxed) & LOOK != 0
                || words.state.load(Ordering::Relaxed) != before
        };
        let waited = post.sleep(stages, counters, files, until_ns, ready)?;
        self.after_waiting(waited)
    }

    /// Waits for something to read, or for room for a message of band 0. None: no time limit.
    pub(crate) fn wait_for_either(&mut self, until_ns: Option<u64>) -> Result<()> {
        if !self.arm(true, Some(0))? {
            return Ok(());
        }
        let end_ns = sleep::until(until_ns, &self.end.region.fixed.members);
        let left_ns = end_ns.map(|end| end.saturating_sub(now_ns()));
        self.end.counters.blocks += 1;
        let place = Place { stream: self.end.region.inode, end: self.end.side, writes: false };
        place.block_begin(true);
        let heard = self.end.doorbell().wait(left_ns.map(Duration::from_nanos))?;
        place.block_end(true, heard == Heard::Rung);
        let waited = match heard {
            Heard::Rung => Waited::LookAgain,
            Heard::Gone => Waited::Gone,
            Heard::TimedOut if end_ns != until_ns => Waited::Watched,
            Heard::TimedOut => Waited::TimedOut,
            Heard::Interrupted => Waited::Interrupted,
        };
        self.after_waiting(waited)
    }

    fn after_waiting(&mut self, waited: Waited) -> Result<()> {
        match waited {
            Waited::Gone => {
                self.end.peer_gone = true;
                Ok(())
            }
            Waited::Interrupted => Err(Error::new(Errno::Intr, "a signal handler ran")),
            Waited::TimedOut => Err(Error::new(Errno::Time, "the time is over")),
            Waited::LookAgain | Waited::Watched => self.end.look_for_peer(),
        }
    }

    /// Makes the descriptor become readable when there is something to read, or room for a message of a band. False if
    /// there is already.
    pub(crate) fn arm(&mut self, read: bool, write: Option<u8>) -> Result<bool> {
        self.attach()?;
        let Stream { out, back, end, .. } = self;
        let End { region, doorbell, files, side, .. } = end;
        let doorbell = doorbell.as_ref().expect("open");
        let mut armed = true;
        if read {
            armed &= post(region, *side, doorbell, false).arm(files, || back.is_readable())?;
        }
        if let Some(band) = write
            && armed
        {
            armed &= post(region, *side, doorbell, true).arm(files, || out.may_write(region, band))?;
        }
        Ok(armed)
    }

    /// Nothing is there: `EAGAIN` for a handle that is not to wait, once its descriptor would tell of something.
    pub(crate) fn refuse_to_read(&mut self) -> Result<()> {
        let refused = self.nonblocking && self.arm(true, None)?;
        if refused { Err(Error::again("nothing is there to be read")) } else { Ok(()) }
    }

    /// There is no room for a message of that band: `EAGAIN` for a handle that is not to wait, once its descriptor would
    /// tell of room; otherwise waits for it.
    pub(crate) fn wait_or_refuse(&mut self, band: u8) -> Result<()> {
        if !self.nonblocking {
            return self.wait_for_room(band, None);
        }
        // A peer that was killed has said nothing; who waits is told by the kernel.
        self.end.peer_gone |= self.end.doorbell().is_alone()?;
        let refused = !self.end.peer_gone && self.arm(false, Some(band))?;
        if refused { Err(Error::again("the stream is full: the band's queue is above hiwat")) } else { Ok(()) }
    }
}

/// The time that lies so many milliseconds ahead.
pub(crate) fn in_ms(ms: u64) -> u64 {
    now_ns().saturating_add(ms.saturating_mul(1_000_000))
}

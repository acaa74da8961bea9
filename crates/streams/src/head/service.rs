//! Running the service procedures that wait for room: for oneself, and for others who could not, because another user
//! was in the middle of a call. Called by a process that has made room, or has released a lock of a direction with
//! modules.

use std::sync::atomic::Ordering;

use headwater_os::clock::now_ns;
use headwater_shm::{Limit, probe};

use super::handle::Handle;
use crate::error::Result;
use crate::layout::Side;
use crate::plumb::chain::Link;
use crate::process::sleep::{OWED, SERVICE};

/// How often in a row a handle runs the service procedures of a direction because others ask for it. More can only come of
/// a hostile process.
const SERVE_MAX: u32 = 100;

/// How long the service procedures of the direction that we read are left alone when another is in the middle of a call
/// there.
const SERVICE_EVERY_NS: u64 = 10_000_000;

/// What became of messages that waited in the queues of a direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// There were some.
    waited: bool,
    /// Some have come to the head.
    delivered: bool,
    /// Another user is in the way: it runs the service procedures when it comes out of its call.
    owed: bool,
}

impl Handle {
    /// Runs the service procedures of a direction that wait for room. The process that has made room must not wait for
    /// another user that is stopped in the middle of a call: that one does it when it comes out. False: it is left to
    /// that one.
    pub(crate) fn service_if_free(&mut self, outward: bool) -> Result<bool> {
        if now_ns() >= self.end.service_after_ns {
            match self.service_within(Limit::Now, outward) {
                Err(error) if error.is_held() => self.end.service_after_ns = now_ns() + SERVICE_EVERY_NS,
                done => return done.map(|()| true),
            }
        }
        self.writing_side(outward).sleep.fetch_or(SERVICE | OWED, Ordering::Relaxed);
        probe::at();
        // Pairs with the light fence in `serve_owed`: the other sees the flag when it comes out, or it has done so by now.
        self.end.region.fence.heavy()?;
        match self.service_within(Limit::Until(1), outward) {
            Err(error) if error.is_held() => Ok(false),
            done => done.map(|()| true),
        }
    }

    pub(super) fn service_within(&mut self, limit: Limit, outward: bool) -> Result<()> {
        self.end.set_limit(limit);
        let done = self.service(outward);
        self.end.set_limit(self.limit());
        done
    }

    /// After a lock of a direction was left: runs the service procedures that another could not run meanwhile.
    #[inline]
    pub(crate) fn serve_owed(&mut self, outward: bool) -> Result<()> {
        self.end.region.fence.light();
        if self.writing_side(outward).sleep.load(Ordering::Relaxed) & OWED == 0 {
            return Ok(());
        }
        self.serve(outward)
    }

    #[cold]
    fn serve(&mut self, outward: bool) -> Result<()> {
        // A run that ends in here finds what it owes itself, if the side was held: it must not begin anew, and so on.
        if self.serves {
            return Ok(());
        }
        self.serves = true;
        let served = self.serve_in_turn(outward);
        self.serves = false;
        served
    }

    fn serve_in_turn(&mut self, outward: bool) -> Result<()> {
        for _ in 0..SERVE_MAX {
            if self.writing_side(outward).sleep.fetch_and(!OWED, Ordering::Relaxed) & OWED == 0 {
                break;
            }
            probe::at();
            if !self.service_if_free(outward)? {
                // It is owed again, to the one that is in the way.
                break;
            }
        }
        Ok(())
    }

    /// After a call that reads: what another user could not run meanwhile, because this one had the reader's lock or the
    /// store's. Only streams with modules or a driver have service procedures.
    #[inline]
    pub(crate) fn serve_owed_to_reader(&mut self) -> Result<()> {
        let plumbing = &self.end.region.fixed.plumbing;
        if self.end.region.driver.is_none() && plumbing.iter().all(|end| end.count.load(Ordering::Relaxed) == 0) {
            return Ok(());
        }
        self.serve_owed(false)
    }

    /// The writing side of a direction, as a side with sleepers.
    fn writing_side(&self, outward: bool) -> &Side {
        &self.end.region.fixed.lanes[if outward { self.end.side } else { 1 - self.end.side }].writer.0
    }

    /// Whether service procedures of the direction that we read wait for a process that runs them.
    pub(crate) fn owes_service(&self) -> bool {
        self.writing_side(false).sleep.load(Ordering::Relaxed) & SERVICE != 0
    }

    /// There is room at the head of a direction: runs the service procedures that wait for it.
    fn service(&mut self, outward: bool) -> Result<()> {
        let (done, effects) = self.run_once(outward, |run| {
            run.enable_last();
            Ok(())
        })?;
        let owed = effects.owed;
        self.follow_up(outward, effects)?;
        done?;
        if owed { Err(headwater_shm::Error::WouldBlock.into()) } else { self.serve_owed(outward) }
    }

    /// Runs the service procedures of all queues of a direction that hold something.
    pub(super) fn run_waiting(&mut self, outward: bool) -> Result<Waiting> {
        let (done, effects) = self.run_once(outward, |run| {
            let waiting = |link: &&Link| link.service && !run.store.is_empty(link.queue);
            let waits = run.chain.iter().filter(waiting).inspect(|link| run.store.enable(link.queue)).count();
            Ok(waits > 0)
        })?;
        let (delivered, owed) = (effects.delivered, effects.owed);
        self.follow_up(outward, effects)?;
        Ok(Waiting { waited: done?, delivered, owed })
    }

    /// Runs the service procedures of modules' queues towards us that still hold messages. True if there is something
    /// to read then.
    ///
    /// That nothing waits is seen under the lock: a look from without could fall into another reader's run, which has a
    /// message in its hands that it may yet leave to us.
    pub(crate) fn drain_back(&mut self) -> Result<bool> {
        let mut in_vain = 0;
        loop {
            let Waiting { waited, delivered, owed } = self.run_waiting(false)?;
            if self.back.is_readable() {
                return Ok(true);
            }
            if owed {
                self.serve_owed(false)?;
                let held = Err(headwater_shm::Error::WouldBlock.into());
                return if self.back.is_readable() { Ok(true) } else { held };
            }
            // Another reader has already taken the delivered message; or has just made room. A module that then
            // delivers nothing keeps it for good.
            in_vain = if delivered { 0 } else { in_vain + 1 };
            if !waited || in_vain > 1 {
                return Ok(false);
            }
        }
    }
}

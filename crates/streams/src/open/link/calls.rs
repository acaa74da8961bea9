//! I_LINK, I_UNLINK, I_PLINK, I_PUNLINK: linking streams below a multiplexer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::fork_mutex::ForkMutex;
use headwater_shm::probe;

use super::{Link, PERSISTENT};
use crate::error::{Errno, Error, Result, fixed};
use crate::head::claim::Claim;
use crate::head::handle::Handle;
use crate::head::ioctl::IoctlTimeout;
use crate::head::state;
use crate::limits::LINKS;
use crate::message::ioctl::IoctlBlock;
use crate::message::link::{MuxId, command};
use crate::process::end::Access;
use crate::process::endpoint::Endpoint;
use crate::process::region::Region;

/// Upper streams that have persistent links, and so stay open in this process until these are undone. Locked for moments, in which
/// no thread forks.
static KEPT: ForkMutex<Vec<Arc<Endpoint>>> = ForkMutex::new(Vec::new());

/// How a link lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// Until the upper stream is closed.
    WithUpper,
    /// Until it is undone.
    Persistently,
}

impl Lasts {
    fn flags(self) -> u32 {
        if self == Lasts::Persistently { PERSISTENT } else { 0 }
    }
}

impl Handle {
    pub(crate) fn link(&mut self, lower: &Handle) -> Result<MuxId> {
        self.link_lasting(lower, Lasts::WithUpper)
    }

    pub(crate) fn link_persistent(&mut self, lower: &Handle) -> Result<MuxId> {
        let id = self.link_lasting(lower, Lasts::Persistently)?;
        let kept = self.end.endpoint.clone();
        KEPT.with(|all| {
            if !all.iter().any(|one| Arc::ptr_eq(one, &kept)) {
                all.push(kept);
            }
        });
        Ok(id)
    }

    pub(crate) fn unlink(&mut self, lower: Option<MuxId>) -> Result<()> {
        self.unlink_lasting(lower, Lasts::WithUpper)
    }

    pub(crate) fn unlink_persistent(&mut self, lower: Option<MuxId>) -> Result<()> {
        self.unlink_lasting(lower, Lasts::Persistently)?;
        let region = &self.end.region;
        let is_kept = ids_of(region, Lasts::Persistently).next().is_some();
        let given_up = KEPT.with(|all| {
            let at = all.iter().position(|one| one.region.inode == region.inode).filter(|_| !is_kept)?;
            Some(all.swap_remove(at))
        });
        drop(given_up);
        Ok(())
    }

    fn link_lasting(&mut self, lower: &Handle, lasts: Lasts) -> Result<MuxId> {
        self.check_multiplexer()?;
        self.check_lower(lower)?;
        let region = self.end.region.clone();
        let (slot, entry) = free_slot(&region)?;
        let claim = Claim::take_end(&mut lower.another())?;
        let claim = claim.ok_or_else(|| fixed!(Inval, "the stream is linked below a multiplexer already"))?;
        let device = &region.fixed.device;
        let made = device.links_made.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let id = MuxId::new(made & i32::MAX as u32).unwrap_or_else(|| MuxId::new(1).expect("it is one"));
        device.links[slot].flags.store(lasts.flags(), Ordering::Relaxed);
        device.links[slot].stream.store(lower.end.region.inode, Ordering::Relaxed);
        // Release: a process that finds the id finds the rest of the entry.
        device.links[slot].id.store(id.number(), Ordering::Release);
        probe::at();
        let link = Link::new(id, slot, lower.end.endpoint.clone(), [claim, entry]);
        let endpoint = self.end.endpoint.clone();
        let links = endpoint.links_or_none_yet();
        let command = if lasts == Lasts::Persistently { command::PERSISTENT_LINK } else { command::LINK };
        let linked = links.add(&endpoint, link).and_then(|()| self.tell_driver(command, id));
        device.links_changed.fetch_add(1, Ordering::AcqRel);
        if let Err(error) = linked {
            let link = links.find(id);
            self.undo(id, link)?;
            return Err(error);
        }
        // What waited there.
        self.attach()?;
        self.serve_lowers()?;
        Ok(id)
    }

    fn unlink_lasting(&mut self, lower: Option<MuxId>, lasts: Lasts) -> Result<()> {
        self.check_multiplexer()?;
        let ids: Vec<MuxId> =
            ids_of(&self.end.region, lasts).filter(|id| lower.is_none_or(|lower| lower == *id)).collect();
        if let Some(lower) = lower.filter(|_| ids.is_empty()) {
            let why = format!("no stream is linked below as {} in this way", lower.number());
            return Err(Error::new(Errno::Inval, why));
        }
        let command = if lasts == Lasts::Persistently { command::PERSISTENT_UNLINK } else { command::UNLINK };
        for id in ids {
            self.tell_driver(command, id)?;
            // Before the entry is free: the server's thread, which then drops the link, may drop it later than the caller uses the
            // lower end again.
            let link = self.end.endpoint.links().and_then(|links| links.find(id));
            self.withdraw(id)?;
            self.undo(id, link)?;
        }
        Ok(())
    }

    /// Frees the entry under the locks under which the driver sends down and takes what comes up: from then on no process does.
    ///
    /// Errors: of one that holds such a lock and does not come out of its call; nothing has changed then.
    fn withdraw(&mut self, id: MuxId) -> Result<()> {
        self.run(true, |run| {
            run.back(|run| {
                free_entry(run.region, id);
                Ok(())
            })
        })
    }

    /// Asks the driver, and waits for its answer.
    fn tell_driver(&mut self, command: u32, id: MuxId) -> Result<()> {
        let block = IoctlBlock { command, count: Some(MuxId::LEN as u64), ..IoctlBlock::default() };
        self.ioctl_of(block, &id.bytes(), &mut Vec::new(), IoctlTimeout::Usual).map(drop)
    }

    /// Gives the entry and the lower end back; `link` is what this process has of it.
    fn undo(&mut self, id: MuxId, link: Option<Arc<Link>>) -> Result<()> {
        free_entry(&self.end.region, id);
        probe::at();
        self.end.region.fixed.device.links_changed.fetch_add(1, Ordering::AcqRel);
        if let Some(name) = self.end.endpoint.name() {
            name.remove_link(id);
        }
        if let Some(links) = self.end.endpoint.links() {
            drop(links.remove(id));
        }
        link.map_or(Ok(()), |link| link.undo())
    }

    fn check_multiplexer(&mut self) -> Result<()> {
        self.attach()?;
        let driver = self.end.region.driver.filter(|driver| self.end.side == 0 && driver.info().multiplexes);
        driver
            .ok_or_else(|| fixed!(Inval, "no stream can be linked below this one: it does not end in a multiplexer"))?;
        state::check(self.end.words(), state::Call::Ioctl)
    }

    fn check_lower(&self, lower: &Handle) -> Result<()> {
        lower.end.check_open()?;
        if lower.end.endpoint.access != Access::Both || lower.end.side == 1 && lower.end.region.driver.is_some() {
            return Err(fixed!(Inval, "an end of a FIFO cannot be linked below a multiplexer"));
        }
        if is_below(&lower.end.endpoint, &self.end.region, LINKS) {
            return Err(fixed!(Inval, "the link would make a cycle: the lower stream leads to the upper one"));
        }
        Ok(())
    }
}

/// An entry that stands for no link that a process can use, and the claim to it.
fn free_slot(upper: &Region) -> Result<(usize, Claim)> {
    for slot in 0..LINKS {
        if let Some(claim) = Claim::take_entry(upper, slot)? {
            return Ok((slot, claim));
        }
    }
    Err(Error::new(Errno::Nosr, format!("{LINKS} streams are linked below already")))
}

fn free_entry(upper: &Region, id: MuxId) {
    for link in &upper.fixed.device.links {
        let _ = link.id.compare_exchange(id.number(), 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Whether a stream is another one, or has it below.
fn is_below(endpoint: &Endpoint, wanted: &Region, depth: usize) -> bool {
    let device = &endpoint.region.fixed.device;
    let stands_in = |link: &crate::layout::LinkWords| {
        link.id.load(Ordering::Acquire) != 0 && link.stream.load(Ordering::Acquire) == wanted.inode
    };
    endpoint.region.inode == wanted.inode
        || depth == 0
        || device.links.iter().any(stands_in)
        || endpoint
            .links()
            .is_some_and(|links| links.all().iter().any(|link| is_below(&link.endpoint, wanted, depth - 1)))
}

/// The links of a stream that last so.
fn ids_of(region: &Region, lasts: Lasts) -> impl Iterator<Item = MuxId> + '_ {
    let lasts_so = move |flags: u32| flags & PERSISTENT == lasts.flags();
    let links = region.fixed.device.links.iter();
    let links = links.filter(move |link| lasts_so(link.flags.load(Ordering::Acquire)));
    links.filter_map(|link| MuxId::new(link.id.load(Ordering::Acquire)))
}

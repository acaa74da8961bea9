//! The chain of queues along a direction: the modules of the writing end from its head down, then those of the reading
//! end up to its head. A driver stands in the place of end 1: as the last one of direction 0, and the first one back.

use std::sync::atomic::Ordering;

use headwater_shm::sync::AtomicU8;

use super::module::{Module, Side};
use super::registry;
use crate::error::{Result, corrupt};
use crate::layout::{DRIVER, Fixed, Plumbing, Slot, queue_of};
use crate::limits::NSTRPUSH;
use crate::process::region::Region;
use crate::process::slot_name::{SlotName, read_name};

/// One module's queue in a direction, or the driver's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub module: &'static dyn Module,
    /// Its queue's number in the direction's store.
    pub queue: usize,
    /// The end of the module, and its slot there; [`DRIVER`] for the driver.
    pub end: usize,
    pub slot: usize,
    pub side: Side,
    /// Whether the side has a service procedure.
    pub service: bool,
}

/// The next queue with a service procedure from a place of the chain on: a sender there asks whether this queue takes a
/// message, or the head's if there is none (canputnext).
pub(crate) fn next_service(chain: &[Link], at: usize) -> Option<&Link> {
    chain.get(at..)?.iter().find(|link| link.service)
}

/// The last queue with a service procedure before a place of the chain: it, or the writers at the head if there is none, is
/// enabled when there is room at that place (back-enable).
pub(crate) fn service_before(chain: &[Link], at: usize) -> Option<&Link> {
    chain[..at].iter().rev().find(|link| link.service)
}

impl Link {
    /// Whether it is the driver's.
    pub fn is_driver(&self) -> bool {
        self.slot == DRIVER
    }

    /// The words of the module or driver in shared memory.
    pub fn words<'f>(&self, fixed: &'f Fixed) -> &'f Slot {
        if self.is_driver() { &fixed.device.driver } else { &fixed.slots[self.end][self.slot] }
    }
}

/// Reads the chain of a direction, and calls `link` with each of its links. Under the direction's writer lock.
///
/// Errors: `EINVAL` if this process does not know one of the modules.
pub(crate) fn resolve(region: &Region, direction: usize, mut link: impl FnMut(Link) -> Result<()>) -> Result<()> {
    let fixed = &region.fixed;
    if direction == 1 {
        driver_link(region, Side::Read).map_or(Ok(()), &mut link)?;
    }
    for end in [direction, 1 - direction] {
        let side = if end == direction { Side::Write } else { Side::Read };
        let mut slots = stack(&fixed.plumbing[end])?;
        if side == Side::Write {
            // The stack is read from the middle of the stream; a writer comes from the head.
            slots.reverse();
        }
        for slot in slots.iter() {
            let module = registry::find(&name(fixed, end, slot)?)?;
            let service = module.info().has_service(side);
            link(Link { module, queue: queue_of(end, slot), end, slot, side, service })?;
        }
    }
    if direction == 0 {
        driver_link(region, Side::Write).map_or(Ok(()), &mut link)?;
    }
    Ok(())
}

/// The number of the first queue below an end's head, of a module or the driver; None without modules and driver.
pub(crate) fn first_queue(region: &Region, end: usize) -> Option<usize> {
    let slot = |of: usize, at: fn(&Plumbing, usize) -> &AtomicU8| {
        let plumbing = &region.fixed.plumbing[of];
        let count = (plumbing.count.load(Ordering::Acquire) as usize).min(NSTRPUSH);
        let slot = (count > 0).then(|| usize::from(at(plumbing, count).load(Ordering::Relaxed)))?;
        (slot < NSTRPUSH).then(|| queue_of(of, slot))
    };
    let own = slot(end, |plumbing, count| &plumbing.order[count - 1]);
    let driver = region.driver.filter(|_| end == 0).map(|_| queue_of(1, DRIVER));
    own.or(driver).or_else(|| slot(1 - end, |plumbing, _| &plumbing.order[0]))
}

fn driver_link(region: &Region, side: Side) -> Option<Link> {
    let module: &'static dyn Module = region.driver_link()?;
    let service = module.info().has_service(side);
    Some(Link { module, queue: queue_of(1, DRIVER), end: 1, slot: DRIVER, side, service })
}

/// The modules of an end, the last pushed first. Those that this process does not know are left out.
pub(crate) fn modules(fixed: &Fixed, end: usize) -> impl Iterator<Item = &'static dyn Module> {
    let stack = stack(&fixed.plumbing[end]).unwrap_or_default();
    let find = move |slot| name(fixed, end, slot).and_then(|name| registry::find(&name)).ok();
    stack.into_iter().rev().filter_map(find)
}

/// Calls `close` of an end's modules, the last pushed first: its last handle in use is gone.
pub(crate) fn close_modules(fixed: &Fixed, end: usize) {
    modules(fixed, end).for_each(Module::close);
}

/// The slots of an end's modules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    slots: [u8; NSTRPUSH],
    count: usize,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { slots: [0; NSTRPUSH], count: 0 }
    }
}

impl Slots {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.slots[..self.count].iter().map(|slot| usize::from(*slot))
    }

    fn into_iter(self) -> impl DoubleEndedIterator<Item = usize> {
        self.slots.into_iter().take(self.count).map(usize::from)
    }

    fn reverse(&mut self) {
        self.slots[..self.count].reverse();
    }
}

/// The slots of an end's modules, the first pushed first.
pub(crate) fn stack(plumbing: &Plumbing) -> Result<Slots> {
    let count = plumbing.count.load(Ordering::Acquire) as usize;
    if count > NSTRPUSH {
        return Err(corrupt!("the number of modules"));
    }
    let mut slots = Slots { count, ..Slots::default() };
    for (slot, word) in slots.slots[..count].iter_mut().zip(&plumbing.order) {
        *slot = word.load(Ordering::Relaxed);
        if usize::from(*slot) >= NSTRPUSH {
            return Err(corrupt!("a module's slot"));
        }
    }
    Ok(slots)
}

/// The name of the module in a slot of an end.
pub(crate) fn name(fixed: &Fixed, end: usize, slot: usize) -> Result<SlotName> {
    read_name(&fixed.slots[end][slot])
}

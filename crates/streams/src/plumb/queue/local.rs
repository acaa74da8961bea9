//! What a module's code has in this process: state of its own, and a way to the queue from outside of the procedures.

use std::any::Any;
use std::sync::{Arc, Weak};

use headwater_os::clock::now_ns;
use headwater_shm::Limit;

use super::Queue;
use crate::error::{Errno, Error, Result, fixed};
use crate::head::handle::Handle;
use crate::layout::DRIVER;
use crate::plumb::module::Side;
use crate::process::endpoint::Endpoint;
use crate::process::local::LocalState;

/// How long [`QueueRef::with`] waits for another user of the stream.
const HELD_NS: u64 = 10_000_000;

impl Queue<'_, '_, '_> {
    /// What the module, or the driver for this stream, keeps in this process: both of its queues have the same. It is made by
    /// `make` the first time, and again if it is of another type or `is_current` refuses it: another process may have popped the
    /// module that it belongs to, and pushed another one, which state words of the module tell ([`Queue::state`]).
    #[doc = include_str!("../../../doc/queue_local.md")]
    #[doc(alias = "q_ptr")]
    pub fn local<T: LocalState>(&mut self, is_current: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Arc<T> {
        let (table, link) = (&self.run.region.locals, self.run.chain[self.at]);
        let known = self.run.side.locals.get(table, link.end, link.slot).and_then(of_type::<T>);
        if let Some(known) = known.filter(|known| is_current(known)) {
            return known;
        }
        let is_same = |state: &Arc<dyn LocalState>| of_type::<T>(state).is_some_and(|state| is_current(&state));
        let state = table.get(link.end, link.slot, is_same, || Arc::new(make()));
        self.run.side.locals.note(link.end, link.slot, state.clone());
        of_type(&state).expect("it was made of this type, or found to be")
    }

    /// Makes the operations of the running procedure wait for other users of the stream as long as it takes, instead of failing
    /// ([`Error::is_held`]). For a procedure whose effects cannot be undone, as that of a module in another language.
    #[doc = include_str!("../../../doc/queue_local.md")]
    pub fn wait_for_others(&mut self) {
        self.run.act();
    }

    /// A way to this queue from outside of procedures: for a thread or a timer of the module. None where the procedure runs on
    /// behalf of another stream, whose driver sends here.
    #[doc = include_str!("../../../doc/queue_local.md")]
    pub fn reference(&self) -> Option<QueueRef> {
        let link = &self.run.chain[self.at];
        let endpoint = Arc::downgrade(self.run.beyond.endpoint?);
        Some(QueueRef { endpoint, end: link.end, slot: link.slot, side: link.side })
    }
}

fn of_type<T: LocalState>(state: &Arc<dyn LocalState>) -> Option<Arc<T>> {
    let state: Arc<dyn Any + Send + Sync> = state.clone();
    state.downcast().ok()
}

/// A queue that is reached from outside of its procedures. It does not keep the stream open.
#[derive(Debug, Clone)]
pub struct QueueRef {
    endpoint: Weak<Endpoint>,
    end: usize,
    slot: usize,
    side: Side,
}

impl QueueRef {
    /// The same module's queue of a side.
    #[must_use]
    #[doc = include_str!("../../../doc/queue_local.md")]
    pub fn of_side(&self, side: Side) -> QueueRef {
        QueueRef { side, ..self.clone() }
    }

    /// Whether this process still has the stream open, by the end through which the reference was made.
    #[doc = include_str!("../../../doc/queue_local.md")]
    pub fn is_open(&self) -> bool {
        self.endpoint.strong_count() > 0
    }

    /// Takes the queue's direction and calls `action` with the queue, as if it were a procedure; service procedures that it
    /// enables have run when this returns. It must not be called within a procedure of any stream: that would wait for itself, or for a
    /// process that waits for this one.
    ///
    /// # Errors
    /// `ENXIO` if this process has closed the stream, or no module is in that place; one that [is held](Error::is_held) if
    /// another user of the stream does not come out of its call within 10 ms, and then `action` was not called; those of `action`.
    #[doc = include_str!("../../../doc/queue_local.md")]
    pub fn with<T>(&self, action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>) -> Result<T> {
        let endpoint = self.endpoint.upgrade();
        let endpoint = endpoint.ok_or_else(|| fixed!(Nxio, "the stream is closed in this process"))?;
        let mut handle = Handle::on(endpoint);
        handle.attach()?;
        // A driver's write side is the last of direction 0, whose first is end 0's.
        let end = if self.slot == DRIVER { 0 } else { self.end };
        let direction = if self.side == Side::Write { end } else { 1 - end };
        let outward = direction == handle.end.side;
        handle.end.set_limit(Limit::Until(now_ns() + HELD_NS));
        handle.run(outward, |run| {
            let at = run.chain.iter().position(|link| (link.end, link.slot) == (self.end, self.slot));
            let at = at.ok_or_else(|| Error::new(Errno::Nxio, "the module was popped"))?;
            action(&mut Queue { run, at })
        })
    }
}

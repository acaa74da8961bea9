//! What a module's code has in this process: state of its own, and a way to the queue from outside of the procedures.

use std::any::Any;
use std::sync::{Arc, Weak};

use super::Queue;
use crate::plumb::module::Side;
use crate::process::endpoint::Endpoint;
use crate::process::local::LocalState;

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
    /// ([`is_held`](crate::Error::is_held)). For a procedure whose effects cannot be undone, as that of a module in another language.
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
    pub(crate) endpoint: Weak<Endpoint>,
    pub(crate) end: usize,
    pub(crate) slot: usize,
    pub(crate) side: Side,
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
}

//! What the code of a module or driver keeps in this process alone, for a stream: pointers, files, what C calls `q_ptr`.
//!
//! The table belongs to the stream's mapping, so it ends with the last use of the stream here. A forked child has a copy.
//! Procedures find their entry in the handle that runs them, and come here once for each change of the stream's modules.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::fork_mutex::ForkMutex;

/// What a module or driver keeps in this process for one stream; see [`Queue::local`](crate::Queue::local).
pub trait LocalState: Any + Send + Sync + fmt::Debug {
    /// The module was popped by this process or replaced, or this process has closed the stream. No procedure of the module
    /// runs here for that stream, and none will. A process that is killed, or that leaves a stream open when it ends, does not
    /// call it.
    #[doc = include_str!("../../doc/queue_local.md")]
    fn closed(&self) {}
}

/// An entry: end and slot of a module, and its state.
type Entry = ((usize, usize), Arc<dyn LocalState>);

/// The table of a mapped stream.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    entries: ForkMutex<Vec<Entry>>,
    /// Changes with each entry that is taken out. Written after the table, by the thread that has changed it.
    version: AtomicU64,
}

/// What a handle knows of the table.
#[derive(Debug, Default)]
pub(crate) struct KnownLocals {
    version: u64,
    entries: Vec<Entry>,
}

impl KnownLocals {
    /// The entry of a module, if nothing was taken out of the table since it was noted.
    pub fn get(&mut self, table: &Locals, end: usize, slot: usize) -> Option<&Arc<dyn LocalState>> {
        // Acquire pairs with the Release in `Locals::note_change`.
        let version = table.version.load(Ordering::Acquire);
        if version != self.version {
            self.entries.clear();
            self.version = version;
        }
        self.entries.iter().find(|(key, _)| *key == (end, slot)).map(|(_, state)| state)
    }

    /// Notes an entry, which [`KnownLocals::get`] has not found.
    pub fn note(&mut self, end: usize, slot: usize, state: Arc<dyn LocalState>) {
        self.entries.retain(|(key, _)| *key != (end, slot));
        self.entries.push(((end, slot), state));
    }
}

impl Locals {
    /// The entry of a module, which is made if there is none that `is_current`.
    pub fn get(
        &self,
        end: usize,
        slot: usize,
        is_current: impl FnOnce(&Arc<dyn LocalState>) -> bool,
        make: impl FnOnce() -> Arc<dyn LocalState>,
    ) -> Arc<dyn LocalState> {
        let (state, former) = self.entries.with(|entries| {
            let found = entries.iter_mut().find(|(key, _)| *key == (end, slot));
            match found {
                Some((_, state)) if is_current(state) => (state.clone(), None),
                Some((_, state)) => {
                    let former = std::mem::replace(state, make());
                    (state.clone(), Some(former))
                }
                None => {
                    let state = make();
                    entries.push(((end, slot), state.clone()));
                    (state, None)
                }
            }
        });
        if let Some(former) = former {
            self.note_change();
            former.closed();
        }
        state
    }

    fn note_change(&self) {
        // Release pairs with the Acquire in `KnownLocals::get`.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The module in a slot was popped.
    pub fn close(&self, end: usize, slot: usize) {
        let former = self.entries.with(|entries| {
            let at = entries.iter().position(|(key, _)| *key == (end, slot))?;
            Some(entries.swap_remove(at).1)
        });
        if let Some(former) = former {
            self.note_change();
            former.closed();
        }
    }
}

impl Drop for Locals {
    fn drop(&mut self) {
        let entries = std::mem::take(self.entries.get_mut());
        entries.iter().for_each(|(_, state)| state.closed());
    }
}

//! The store's lock: its holder, and how long it is held. The operations on the queues under it are methods of
//! [`StoreGuard`] alone.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use headwater_shm::Membership;

use super::Store;
use crate::error::Result;

/// A store as one side of a direction uses it. The lock is taken when it is needed first, and released when this is
/// dropped: a read that finds, copies and takes a message takes it once.
#[derive(Debug)]
pub(crate) struct StoreSide<'s> {
    store: &'s mut Store,
    me: &'s Membership,
    pub(super) held: bool,
}

/// A store whose lock is held.
#[derive(Debug)]
pub(crate) struct StoreGuard<'s> {
    store: &'s mut Store,
}

impl Store {
    /// The store as the member uses it, not locked yet.
    #[inline]
    pub fn side<'s>(&'s mut self, me: &'s Membership) -> StoreSide<'s> {
        StoreSide { store: self, me, held: false }
    }
}

impl StoreSide<'_> {
    /// The store under its lock, which is taken unless it is held, and consistent: a change that a dead holder left
    /// incomplete was repaired.
    #[inline]
    pub fn lock(&mut self) -> Result<StoreGuard<'_>> {
        if !self.held {
            // The caller may be inside a lane's lock.
            if !self.store.lock.enter_inner(self.me) {
                self.store.lock.hold(self.me)?;
            }
            self.held = true;
            if self.store.words.dirty.load(Ordering::Relaxed) != 0 {
                self.repair()?;
            }
        }
        Ok(StoreGuard { store: self.store })
    }

    #[cold]
    fn repair(&mut self) -> Result<()> {
        let repaired = StoreGuard { store: self.store }.repair();
        if repaired.is_err() {
            // The next one that locks it fails as well.
            self.unlock();
        }
        repaired
    }

    /// Releases the lock, if it is held.
    #[inline]
    pub fn unlock(&mut self) {
        if self.held {
            self.held = false;
            self.store.lock.leave_inner(self.me);
        }
    }

    /// The store with its lock released: for a run in the other direction, which may wait for locks that come before
    /// this one.
    pub fn unlocked(&mut self) -> &mut Store {
        self.unlock();
        self.store
    }
}

impl Drop for StoreSide<'_> {
    #[inline]
    fn drop(&mut self) {
        self.unlock();
    }
}

impl Deref for StoreSide<'_> {
    type Target = Store;

    #[inline]
    fn deref(&self) -> &Store {
        self.store
    }
}

impl Deref for StoreGuard<'_> {
    type Target = Store;

    #[inline]
    fn deref(&self) -> &Store {
        self.store
    }
}

impl DerefMut for StoreGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Store {
        self.store
    }
}

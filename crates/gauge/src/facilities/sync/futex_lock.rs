//! `futex-lock`: our own three-state lock on a futex ([`headwater_os_tools::lock::FutexLock`]). It never spins.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock;
use headwater_os_tools::shared::Shared;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected, available};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The lock, in shared memory of its own, for processes and threads alike.
#[derive(Debug)]
pub struct FutexLock(Shared<lock::FutexLock>);

impl Primitive for FutexLock {
    const SUBJECT: Subject = Subject {
        name: "futex-lock",
        summary: "a three-state lock on a futex (Drepper), never spinning",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<FutexLock, Unavailable> {
        available("mmap", lock::FutexLock::shared()).map(FutexLock)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        let _guard = self.0.lock()?;
        add_unprotected(counter, pause);
        Ok(())
    }
}

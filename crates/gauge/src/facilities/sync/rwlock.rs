//! `rwlock`: a pthread read-write lock, locked for writing.

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
pub struct RwLock(Shared<lock::RwLock>);

impl Primitive for RwLock {
    const SUBJECT: Subject = Subject {
        name: "rwlock",
        summary: "a process-shared pthread read-write lock, locked for writing",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<RwLock, Unavailable> {
        available("pthread_rwlock_init", lock::RwLock::shared()).map(RwLock)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        let _guard = self.0.write()?;
        add_unprotected(counter, pause);
        Ok(())
    }
}

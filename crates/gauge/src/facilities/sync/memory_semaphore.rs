//! `memory-semaphore`: a POSIX semaphore in memory that the workers share (`sem_init`).

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock;
use headwater_os_tools::shared::Shared;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected, available};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The semaphore, in shared memory of its own, for processes and threads alike.
#[derive(Debug)]
pub struct MemorySemaphore(Shared<lock::Semaphore>);

impl Primitive for MemorySemaphore {
    const SUBJECT: Subject = Subject {
        name: "memory-semaphore",
        summary: "a POSIX semaphore in shared memory",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<MemorySemaphore, Unavailable> {
        available("sem_init", lock::Semaphore::shared(1)).map(MemorySemaphore)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        self.0.wait()?;
        add_unprotected(counter, pause);
        self.0.post()
    }
}

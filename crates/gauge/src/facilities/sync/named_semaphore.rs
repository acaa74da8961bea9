//! `named-semaphore`: a POSIX semaphore that was opened by name (`sem_open`); the name is removed at once.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The semaphore, in a mapping made by the C library, for processes and threads alike.
#[derive(Debug)]
pub struct NamedSemaphore(lock::NamedSemaphore);

impl Primitive for NamedSemaphore {
    const SUBJECT: Subject = Subject {
        name: "named-semaphore",
        summary: "a POSIX semaphore that was opened by name",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(job: &Job) -> Result<NamedSemaphore, Unavailable> {
        lock::NamedSemaphore::create_unlinked(&format!("headwater-{}", job.token), 1)
            .map(NamedSemaphore)
            .map_err(|error| Unavailable::call("sem_open", error))
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        self.0.wait()?;
        add_unprotected(counter, pause);
        self.0.post()
    }
}

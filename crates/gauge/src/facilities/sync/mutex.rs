//! `mutex`: a pthread mutex. It is process-shared also between threads.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock;
use headwater_os_tools::shared::Shared;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected, available};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The mutex, in shared memory of its own, for processes and threads alike.
#[derive(Debug)]
pub struct Mutex(Shared<lock::Mutex>);

impl Primitive for Mutex {
    const SUBJECT: Subject = Subject {
        name: "mutex",
        summary: "a process-shared pthread mutex",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<Mutex, Unavailable> {
        available("pthread_mutex_init", lock::Mutex::shared()).map(Mutex)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        let _guard = self.0.lock()?;
        add_unprotected(counter, pause);
        Ok(())
    }
}

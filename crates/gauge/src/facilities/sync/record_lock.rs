//! `record-lock`: an `fcntl` lock on the whole of an unlinked file.
//!
//! Processes use POSIX record locks (`F_SETLKW`), as UNPv2 does. These do not exclude threads of one process, so
//! threads use open file description locks (`F_OFD_SETLKW`), each with a description of its own.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock::{self, Owner};
use headwater_results::schema::{Standing, WorkerKind};

use super::{Primitive, Subject, TOTAL, add_unprotected};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// One lock on the file for each worker.
#[derive(Debug)]
pub struct RecordLock {
    /// Indexed by worker. Processes could share one description, but then their file tables would differ from those of
    /// threads.
    locks: Vec<lock::RecordLock>,
}

impl Primitive for RecordLock {
    const SUBJECT: Subject = Subject {
        name: "record-lock",
        summary: "an fcntl record lock on a file; threads: an open file description lock",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    const ADDITIONS_MIN: u64 = 100;

    fn create(job: &Job) -> Result<RecordLock, Unavailable> {
        let owner = match job.row.worker_kind {
            Some(WorkerKind::Thread) => Owner::Description,
            _ => Owner::Process,
        };
        let first = lock::RecordLock::new(owner).map_err(|error| Unavailable::call("memfd_create", error))?;
        let locks = (0..job.row.workers.unwrap_or(1))
            .map(|_| first.reopen())
            .collect::<io::Result<_>>()
            .map_err(|error| Unavailable::call("open of a file for record locks", error))?;
        Ok(RecordLock { locks })
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        let lock = &self.locks[worker];
        lock.lock()?;
        add_unprotected(counter, pause);
        lock.unlock()
    }
}

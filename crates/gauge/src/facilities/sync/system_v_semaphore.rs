//! `sysv-semaphore` and `sysv-semaphore-undo`: a System V semaphore, without and with `SEM_UNDO`. UNPv2 has a column
//! for each, because the kernel's record of what to undo has a cost too.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock::{self, Undo};
use headwater_os_tools::namespace;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The semaphore without `SEM_UNDO`: its operations remain when a worker ends.
#[derive(Debug)]
pub struct SystemVSemaphore(lock::SystemVSemaphore);

/// The semaphore with `SEM_UNDO`: the kernel reverts a worker's operations when it ends.
#[derive(Debug)]
pub struct SystemVSemaphoreUndo(lock::SystemVSemaphore);

impl Primitive for SystemVSemaphore {
    const SUBJECT: Subject = Subject {
        name: "sysv-semaphore",
        summary: "a System V semaphore, one semop each way",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    const ADDITIONS_MIN: u64 = 100;

    fn create(_job: &Job) -> Result<SystemVSemaphore, Unavailable> {
        create(Undo::Never).map(SystemVSemaphore)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        add_between(&self.0, counter, pause)
    }
}

impl Primitive for SystemVSemaphoreUndo {
    const SUBJECT: Subject = Subject {
        name: "sysv-semaphore-undo",
        summary: "a System V semaphore, one semop with SEM_UNDO each way",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    const ADDITIONS_MIN: u64 = 100;

    fn create(_job: &Job) -> Result<SystemVSemaphoreUndo, Unavailable> {
        create(Undo::AtExit).map(SystemVSemaphoreUndo)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        add_between(&self.0, counter, pause)
    }
}

/// Creates the semaphore in a private IPC namespace, so that it cannot outlive the launch.
fn create(undo: Undo) -> Result<lock::SystemVSemaphore, Unavailable> {
    namespace::private_ipc().map_err(|error| Unavailable::call("a private IPC namespace", error))?;
    lock::SystemVSemaphore::new(1, undo).map_err(|error| Unavailable::call("semget", error))
}

#[inline]
fn add_between(semaphore: &lock::SystemVSemaphore, counter: &AtomicU64, pause: impl FnOnce()) -> io::Result<()> {
    semaphore.wait()?;
    add_unprotected(counter, pause);
    semaphore.post()
}

//! `sysv-semaphore` and `sysv-semaphore-undo`: a System V semaphore, without and with `SEM_UNDO`. UNPv2 has a column for
//! each, because the kernel's account of what to undo costs something too.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_os_tools::lock::{self, Undo};
use headwater_os_tools::namespace;
use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL, add_unprotected};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Its operations stay as they are when a worker ends.
#[derive(Debug)]
pub struct SystemVSemaphore(lock::SystemVSemaphore);

/// The kernel takes its operations back when a worker ends.
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

/// In an IPC namespace of its own, so that it cannot be left behind however the launch ends.
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

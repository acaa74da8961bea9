//! `sync`: several processes or threads add 1 to a shared counter 1,000,000 times each under a primitive, after
//! W. R. Stevens, "UNIX Network Programming", volume 2, appendix A. One file per primitive, and the table below.
//!
//! Threads use the same process-shared objects as processes (except for [`record_lock`]). So only the address space
//! differs, and the figure does not contain the C library's shortcuts for processes with one thread.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os_tools::shared::{ProcessShared, Shared};
use headwater_results::schema::{Better, Row};

use super::{Entry, Info, Subject};
use crate::harness::conduct::{Job, LaunchError, Measured};
use crate::patterns::MetricInfo;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

mod conduct;
mod worker_group;

pub mod atomic;
pub mod futex_lock;
pub mod memory_semaphore;
pub mod mutex;
pub mod named_semaphore;
pub mod none;
pub mod record_lock;
pub mod rwlock;
pub mod system_v_semaphore;

/// The most workers of a row. UNPv2 goes to 5; the size of [`Counters`] is the limit.
pub const WORKERS_MAX: u32 = 64;

/// The metric of every row: time until all workers are done, scaled to 1,000,000 additions by each.
const TOTAL: MetricInfo = MetricInfo { name: "total", unit: "us", better: Better::Lower };

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "sync",
        definition_version: |_| 1,
        summary: "each of several workers adds 1 to a shared counter 1,000,000 times under a primitive; \
                  time from their common start until all are done",
    },
    subjects: || SUBJECTS.to_vec(),
    accepts,
    cost: |_| LaunchCost::fixed(0.03),
    probe,
    conduct,
};

/// A primitive that excludes other workers during an addition.
pub trait Primitive: Sync + Sized {
    /// Its name and properties.
    const SUBJECT: Subject;

    /// The fewest additions by each worker in a round, even for a slow primitive.
    const ADDITIONS_MIN: u64 = 1000;

    /// Creates it, unlocked, before the workers are forked. Runs in a process of its own with one thread.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed.
    fn create(job: &Job) -> Result<Self, Unavailable>;

    /// Returns the counter that a worker adds to: the shared one.
    fn counter(counters: &Counters, worker: usize) -> &AtomicU64 {
        let _ = worker;
        counters.of(0)
    }

    /// Adds 1 to `counter` as worker number `worker`, with `pause` in the middle of the addition. The timed loop is
    /// generic over it: no virtual call.
    ///
    /// # Errors
    /// What the system reports; the addition then does not count.
    fn add(&self, counter: &AtomicU64, worker: usize, pause: impl FnOnce()) -> io::Result<()>;
}

/// Adds 1 without any protection, with `pause` between the read and the write: of two simultaneous additions one is
/// lost. The accesses are relaxed atomics, because a plain read of a value that another worker writes is undefined
/// behaviour in Rust. They compile to a plain load and store.
#[inline]
pub fn add_unprotected(counter: &AtomicU64, pause: impl FnOnce()) {
    let before = counter.load(Ordering::Relaxed);
    pause();
    counter.store(before + 1, Ordering::Relaxed);
}

/// Words between two counters, so that no two share a cache line or a pair of lines that are fetched together.
const COUNTER_STRIDE: usize = 16;

/// The shared counter, alone in its cache line, and one counter per worker for the primitive `none`.
#[derive(Debug)]
pub struct Counters(Shared<[AtomicU64; COUNTER_STRIDE * WORKERS_MAX as usize]>);

impl Counters {
    /// Returns counters of zero.
    ///
    /// # Errors
    /// What `mmap(2)` reports.
    pub fn new() -> io::Result<Counters> {
        Ok(Counters(Shared::new([const { AtomicU64::new(0) }; COUNTER_STRIDE * WORKERS_MAX as usize])?))
    }

    /// Returns the counter of a worker; worker 0 has the shared one.
    pub fn of(&self, worker: usize) -> &AtomicU64 {
        &self.0[worker * COUNTER_STRIDE]
    }

    /// Returns the sum of all counters. Every worker must have reported that it is done.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

/// Converts the result of creating a process-shared lock; the error names `call`.
fn available<T: ProcessShared>(call: &str, made: io::Result<Shared<T>>) -> Result<Shared<T>, Unavailable> {
    made.map_err(|error| Unavailable::call(call, error))
}

macro_rules! table {
    ($($primitive:ty),+ $(,)?) => {
        /// All primitives, in the order of the tables.
        static SUBJECTS: &[Subject] = &[$(<$primitive as Primitive>::SUBJECT),+];

        fn probe(job: &Job) -> Result<(), Unavailable> {
            $(if job.row.subject == <$primitive as Primitive>::SUBJECT.name {
                return <$primitive as Primitive>::create(job).map(drop);
            })+
            Err(Unavailable(no_primitive(job)))
        }

        fn conduct(job: &Job) -> Result<Measured, LaunchError> {
            $(if job.row.subject == <$primitive as Primitive>::SUBJECT.name {
                return conduct::conduct::<$primitive>(job);
            })+
            Err(LaunchError::Unavailable(no_primitive(job)))
        }
    };
}

table![
    atomic::Atomic,
    futex_lock::FutexLock,
    mutex::Mutex,
    rwlock::RwLock,
    memory_semaphore::MemorySemaphore,
    named_semaphore::NamedSemaphore,
    system_v_semaphore::SystemVSemaphore,
    system_v_semaphore::SystemVSemaphoreUndo,
    record_lock::RecordLock,
    none::Nothing,
];

fn no_primitive(job: &Job) -> String {
    format!("no primitive {}", job.row.subject)
}

fn accepts(row: &Row) -> Result<(), String> {
    if row.worker_kind.is_none() {
        return Err("sync needs to know whether its workers are processes or threads".into());
    }
    match row.workers {
        Some(1..=WORKERS_MAX) => Ok(()),
        Some(other) => Err(format!("sync takes 1 to {WORKERS_MAX} workers, not {other}")),
        None => Err(format!("sync needs a number of workers, 1 to {WORKERS_MAX}")),
    }
}

#[cfg(test)]
mod tests;

//! `atomic`: one fetch-and-add instruction: a counter without a lock.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_results::schema::Standing;

use super::{Primitive, Subject, TOTAL};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// No lock: the counter itself is atomic.
#[derive(Debug)]
pub struct Atomic;

impl Primitive for Atomic {
    const SUBJECT: Subject = Subject {
        name: "atomic",
        summary: "an atomic fetch-and-add, no lock",
        standing: Standing::Candidate,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<Atomic, Unavailable> {
        Ok(Atomic)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        // The addition is one instruction, so the pause can only precede it.
        pause();
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

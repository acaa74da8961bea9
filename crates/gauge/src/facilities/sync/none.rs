//! `none`: no exclusion; each worker has a counter of its own. Its rows are the facility's own cost: the loop, the
//! plain addition, the start and the stamps.

use std::io;
use std::sync::atomic::AtomicU64;

use headwater_results::schema::Standing;

use super::{Counters, Primitive, Subject, TOTAL, add_unprotected};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// No exclusion.
#[derive(Debug)]
pub struct Nothing;

impl Primitive for Nothing {
    const SUBJECT: Subject = Subject {
        name: "none",
        summary: "no exclusion, a counter per worker: the loop's own cost",
        standing: Standing::Null,
        metrics: &[TOTAL],
    };

    fn create(_job: &Job) -> Result<Nothing, Unavailable> {
        Ok(Nothing)
    }

    fn counter(counters: &Counters, worker: usize) -> &AtomicU64 {
        counters.of(worker)
    }

    #[inline]
    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        add_unprotected(counter, pause);
        Ok(())
    }
}

//! `rdtsc`: a read of the time-stamp counter, the larger part of any event.

use std::hint::black_box;
use std::io;

use headwater_os::ticks;
use headwater_results::schema::Standing;

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Reads the counter.
#[derive(Debug)]
pub struct Rdtsc;

impl Operation for Rdtsc {
    const ROWS: &'static [(&'static str, &'static str)] = &[("rdtsc", "a read of the processor's counter")];
    const FIGURE: Figure = Figure::Nanoseconds;
    const STANDING: Standing = Standing::Limit;

    fn prepare(_job: &Job) -> Result<Rdtsc, Unavailable> {
        ticks::unsound().map_or(Ok(Rdtsc), |why| Err(Unavailable(why)))
    }

    fn check(&mut self) -> io::Result<()> {
        let first = ticks::now();
        self.run(100)?;
        if ticks::now() > first { Ok(()) } else { Err(io::Error::other("the counter stands still")) }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(ticks::now());
        }
        Ok(())
    }
}

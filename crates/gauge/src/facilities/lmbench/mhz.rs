//! `mhz`: the processor's clock frequency, by dependent additions: each takes one cycle.

use std::hint::black_box;
use std::io;

use headwater_os_tools::cycles::{BLOCK, add};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::transports::Unavailable;

/// A process that adds.
#[derive(Debug)]
pub struct Mhz;

impl Operation for Mhz {
    const ROWS: &'static [(&'static str, &'static str)] = &[("mhz", "cycles per second, by dependent additions")];
    const FIGURE: Figure = Figure::Clock;
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    fn quantity(_job: &Job) -> f64 {
        BLOCK as f64
    }

    fn prepare(_job: &Job) -> Result<Mhz, Unavailable> {
        match add(1, 1) {
            Some(_) => Ok(Mhz),
            None => Err(Unavailable("no loop of known length is written for this kind of CPU".to_owned())),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        match add(10, 3) {
            Some(sum) if sum == 10 * 3 * BLOCK => Ok(()),
            other => Err(io::Error::other(format!("{} additions of 3 yielded {other:?}", 10 * BLOCK))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        black_box(add(operations, black_box(1)));
        Ok(())
    }
}

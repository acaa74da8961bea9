//! `none`: an empty loop: the part of every operation's figure that the loop itself takes. It is shown, never
//! subtracted.

use std::hint::black_box;
use std::io;

use headwater_results::schema::Standing;

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Does nothing.
#[derive(Debug)]
pub struct Nothing;

impl Operation for Nothing {
    const ROWS: &'static [(&'static str, &'static str)] = &[("none", "the loop around nothing")];
    const FIGURE: Figure = Figure::Nanoseconds;
    const STANDING: Standing = Standing::Null;

    fn prepare(_job: &Job) -> Result<Nothing, Unavailable> {
        Ok(Nothing)
    }

    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for operation in 0..operations {
            black_box(operation);
        }
        Ok(())
    }
}

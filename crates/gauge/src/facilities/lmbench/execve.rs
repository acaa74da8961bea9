//! `execve`: `fork(2)`, `execve(2)` of a small static program by the child, and `waitpid(2)`.

use std::io;

use headwater_os_tools::spawn::Program;

use super::small_program::{self, SmallProgram};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process whose children execute a program.
#[derive(Debug)]
pub struct Execve {
    program: Program,
    _file: SmallProgram,
}

impl Operation for Execve {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("execve", "fork(), execve() of a small static program, waitpid()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Execve, Unavailable> {
        let file = SmallProgram::make(job)?;
        let program = Program::new(file.path().as_os_str(), &[]).map_err(|error| Unavailable::call("path", error))?;
        Ok(Execve { program, _file: file })
    }

    fn check(&mut self) -> io::Result<()> {
        small_program::check(self.program.run()?)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            small_program::check(self.program.run()?)?;
        }
        Ok(())
    }
}

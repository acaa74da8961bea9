//! `posix-spawn`: `posix_spawn(3)` of a small static program, and `waitpid(2)`. The row `execve` of facility `lmbench`
//! does the same by `fork(2)` and `execve(2)`.

use std::io;

use headwater_os_tools::spawn::Program;

use crate::facilities::lmbench::small_program::{self, SmallProgram};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process that starts a program.
#[derive(Debug)]
pub struct PosixSpawn {
    program: Program,
    _file: SmallProgram,
}

impl Operation for PosixSpawn {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("posix-spawn", "posix_spawn() of a small static program, waitpid()")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<PosixSpawn, Unavailable> {
        let file = SmallProgram::make(job)?;
        let program = Program::new(file.path().as_os_str(), &[]).map_err(|error| Unavailable::call("path", error))?;
        Ok(PosixSpawn { program, _file: file })
    }

    fn check(&mut self) -> io::Result<()> {
        small_program::check(self.program.spawn()?)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            small_program::check(self.program.spawn()?)?;
        }
        Ok(())
    }
}

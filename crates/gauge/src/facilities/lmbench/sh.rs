//! `sh`: `fork(2)`, `/bin/sh -c` of a small static program by the child, and `waitpid(2)`.
//!
//! The system decides which shell that is, and whether it executes the program itself or forks again.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use headwater_os_tools::spawn::Program;

use super::small_program::{self, SmallProgram};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The shell.
const SHELL: &str = "/bin/sh";

/// A process whose children run a program by the shell.
#[derive(Debug)]
pub struct Sh {
    program: Program,
    _file: SmallProgram,
}

impl Operation for Sh {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("sh", "fork(), execve() of /bin/sh -c with a small static program, waitpid()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Sh, Unavailable> {
        let file = SmallProgram::make(job)?;
        let words: [&OsStr; 2] = ["-c".as_ref(), &quoted(file.path().as_os_str())];
        let program = Program::new(SHELL.as_ref(), &words).map_err(|error| Unavailable::call("path", error))?;
        let status = program.run().map_err(|error| Unavailable::call("fork", error))?;
        small_program::check(status).map_err(|error| Unavailable::call(SHELL, error))?;
        Ok(Sh { program, _file: file })
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

/// Quotes a word for a shell: in apostrophes, and each apostrophe within as `'\''`.
fn quoted(word: &OsStr) -> OsString {
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

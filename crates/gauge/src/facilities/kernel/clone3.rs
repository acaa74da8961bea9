//! `clone3`, `vfork`: creation of a child that exits at once, and `waitpid(2)`. `clone3` copies the parent as fork
//! does, by the system call `clone3(2)` itself. In `vfork` the child uses the memory of its parent, which sleeps
//! meanwhile (`CLONE_VM | CLONE_VFORK`, as in `vfork(2)`).

use std::io;
use std::process::ExitStatus;

use headwater_os_tools::spawn::{Vfork, clone3_and_wait};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Exit status of a child of the check.
const CHECKED_CODE: i32 = 42;

/// A process that creates children.
#[derive(Debug)]
pub struct Clone3 {
    vfork: Option<Vfork>,
}

impl Operation for Clone3 {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("clone3", "clone3() as a fork, _exit() of the child, waitpid()"),
        ("vfork", "child in the parent's memory (CLONE_VM, CLONE_VFORK), its _exit(), waitpid()"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Clone3, Unavailable> {
        let vfork = (job.row.subject == "vfork").then(Vfork::new).transpose();
        let mut clone = Clone3 { vfork: vfork.map_err(|error| Unavailable::call("mmap", error))? };
        clone.child(0).map_err(|error| Unavailable::call("clone3", error))?;
        Ok(clone)
    }

    fn check(&mut self) -> io::Result<()> {
        match self.child(CHECKED_CODE)? {
            status if status.code() == Some(CHECKED_CODE) => Ok(()),
            other => {
                Err(io::Error::other(format!("a child should have exited with {CHECKED_CODE}, but ended with {other}")))
            }
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            self.child(0)?;
        }
        Ok(())
    }
}

impl Clone3 {
    #[inline]
    fn child(&mut self, code: i32) -> io::Result<ExitStatus> {
        match &mut self.vfork {
            None => clone3_and_wait(code),
            Some(vfork) => vfork.run(code),
        }
    }
}

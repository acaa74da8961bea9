//! Processes that are started, end at once and are waited for, so that what that costs can be measured. A process that
//! is to live longer is a [`headwater_os::child::Child`].

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

use crate::mapping::Memory;

/// The exit status of a child that could not execute the program, as in shells.
pub const NOT_STARTED: i32 = 127;

/// Forks a child that ends at once with `code`, and waits for it.
///
/// # Errors
/// What `fork(2)` reports: `EAGAIN` or `ENOMEM`.
pub fn fork_and_wait(code: i32) -> io::Result<ExitStatus> {
    // SAFETY: the child calls nothing but _exit, which is safe after the fork of a process with threads too.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: ends the child at once; no destructor of the parent's copy may run there.
        0 => unsafe { libc::_exit(code) },
        pid => wait(pid),
    }
}

/// As [`fork_and_wait`], by the system call `clone3(2)` itself, which knows nothing of what a C library does at a fork.
///
/// # Errors
/// What `clone3(2)` reports: `Unsupported` before Linux 5.3.
pub fn clone3_and_wait(code: i32) -> io::Result<ExitStatus> {
    // SAFETY: all zeros are arguments that ask for nothing.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: a copy of the process as by fork: no memory is shared, and the child continues where the parent does, on
    // a copy of its stack. It calls nothing but _exit.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of_val(&arguments)) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: as in `fork_and_wait`.
        0 => unsafe { libc::_exit(code) },
        pid => wait(pid as libc::pid_t),
    }
}

/// Children that run in the memory of their parent, which sleeps until they have ended, as those of `vfork(2)`.
#[derive(Debug)]
pub struct Vfork {
    /// The children's stack.
    stack: Memory,
}

impl Vfork {
    /// Bytes of the stack, of which a child that ends at once needs some hundred.
    const STACK: usize = 64 << 10;

    /// Maps the stack.
    ///
    /// # Errors
    /// What `mmap(2)` reports.
    pub fn new() -> io::Result<Vfork> {
        Ok(Vfork { stack: Memory::populated(Vfork::STACK)? })
    }

    /// Starts a child that ends at once with `code`, and waits for it. It has a stack of its own, because a function that
    /// returned in the child would destroy the stack frame to which the parent returns.
    ///
    /// # Errors
    /// What `clone(2)` reports: `EAGAIN` or `ENOMEM`.
    pub fn run(&mut self, code: i32) -> io::Result<ExitStatus> {
        let top = self.stack.bytes_mut().as_mut_ptr_range().end;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let argument = ptr::without_provenance_mut(code as u32 as usize);
        // SAFETY: the child has the stack alone, which is borrowed mutably; until it ends the parent sleeps. It calls nothing
        // but _exit. The top is aligned to a page.
        match unsafe { libc::clone(end, top.cast(), flags, argument) } {
            -1 => Err(io::Error::last_os_error()),
            pid => wait(pid),
        }
    }
}

/// The body of a child of [`Vfork`].
extern "C" fn end(code: *mut libc::c_void) -> libc::c_int {
    // SAFETY: ends the child at once; in the parent's memory no destructor may run.
    unsafe { libc::_exit(code.addr() as i32) }
}

/// A program with its arguments and its environment, laid out for `execve(2)`: to start it allocates nothing.
#[derive(Debug)]
pub struct Program {
    /// The path, then the arguments; the pointers refer to them.
    words: Vec<CString>,
    arguments: Vec<*const libc::c_char>,
    /// The one variable, `PATH`; the other pointers refer to it.
    _variable: CString,
    environment: [*const libc::c_char; 2],
}

impl Program {
    /// The program at `path`, which is also its argument 0, with `arguments` and nothing in its environment but
    /// `PATH=/usr/bin:/bin`: the cost does not depend on the caller's environment.
    ///
    /// # Errors
    /// `InvalidInput` for a word with a zero byte.
    pub fn new(path: &OsStr, arguments: &[&OsStr]) -> io::Result<Program> {
        let words: Vec<CString> = std::iter::once(&path)
            .chain(arguments)
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<_, _>>()?;
        let arguments = words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
        let variable = c"PATH=/usr/bin:/bin".to_owned();
        let environment = [variable.as_ptr(), ptr::null()];
        Ok(Program { words, arguments, _variable: variable, environment })
    }

    /// Forks a child that becomes the program, and waits until it ends; a child that cannot become it ends with
    /// [`NOT_STARTED`].
    ///
    /// # Errors
    /// What `fork(2)` reports: `EAGAIN` or `ENOMEM`.
    pub fn run(&self) -> io::Result<ExitStatus> {
        // SAFETY: the child calls nothing but execve and _exit, which are safe after the fork of a process with threads
        // too.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the arrays end with a null pointer, and what they point to lives in `self` and is never changed.
            // _exit ends the child at once, if it is still there.
            0 => unsafe {
                libc::execve(self.words[0].as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
                libc::_exit(NOT_STARTED)
            },
            pid => wait(pid),
        }
    }

    /// Starts the program by `posix_spawn(3)`, and waits until it ends.
    ///
    /// # Errors
    /// What `posix_spawn(3)` reports: `EAGAIN`, `ENOMEM`, or what stands in the way of the program.
    pub fn spawn(&self) -> io::Result<ExitStatus> {
        let mut pid = 0;
        // The library does not change what these point to, though its type says so.
        let (arguments, environment) = (self.arguments.as_ptr().cast(), self.environment.as_ptr().cast());
        // SAFETY: as in `run`; null pointers stand for no actions and no attributes.
        let refused = unsafe {
            libc::posix_spawn(&mut pid, self.words[0].as_ptr(), ptr::null(), ptr::null(), arguments, environment)
        };
        match refused {
            0 => wait(pid),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    let mut raw = 0;
    loop {
        // SAFETY: `raw` is a valid place for the status; the pid is our own, not yet reaped child.
        if unsafe { libc::waitpid(pid, &mut raw, 0) } == pid {
            return Ok(ExitStatus::from_raw(raw));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> ExitStatus {
        let program = Program::new(OsStr::new("/bin/sh"), &["-c".as_ref(), script.as_ref()]).expect("no zero byte");
        let (forked, spawned) = (program.run().expect("fork"), program.spawn().expect("posix_spawn"));
        assert_eq!(forked, spawned);
        forked
    }

    #[test]
    fn a_child_ends_with_its_code_however_it_was_started() {
        assert_eq!(fork_and_wait(42).expect("fork").code(), Some(42));
        assert_eq!(clone3_and_wait(43).expect("clone3").code(), Some(43));
        let mut vfork = Vfork::new().expect("a stack");
        for code in [44, 0, 255] {
            assert_eq!(vfork.run(code).expect("clone").code(), Some(code));
        }
    }

    #[test]
    fn a_program_gets_its_arguments_and_no_environment_but_the_path() {
        assert_eq!(sh("exit 7").code(), Some(7));
        assert_eq!(sh("test \"$PATH\" = /usr/bin:/bin -a -z \"$HOME$CARGO\"").code(), Some(0));
    }

    #[test]
    fn what_cannot_be_started_ends_as_shells_say_it() {
        let program = Program::new(OsStr::new("/nowhere/program"), &[]).expect("no zero byte");
        assert_eq!(program.run().expect("fork").code(), Some(NOT_STARTED));
        assert_eq!(program.spawn().expect_err("nowhere").kind(), io::ErrorKind::NotFound);
        assert!(Program::new(OsStr::new("a\0b"), &[]).is_err());
    }
}

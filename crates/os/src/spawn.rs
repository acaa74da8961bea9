//! Processes that are started, end at once and are waited for, so that what that costs can be measured. A process that
//! is to live longer is a [`crate::child::Child`].

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

/// How a child ends that could not become the program, as shells say it.
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

/// A program with its arguments and its environment, laid out for `execve(2)`: to start it allocates nothing.
#[derive(Debug)]
pub struct Program {
    /// The path, then the arguments; what the pointers point to.
    words: Vec<CString>,
    arguments: Vec<*const libc::c_char>,
    /// The one variable, `PATH`; what the other pointers point to.
    _variable: CString,
    environment: [*const libc::c_char; 2],
}

impl Program {
    /// The program at `path`, which is also its argument 0, with `arguments` and nothing in its environment but
    /// `PATH=/usr/bin:/bin`: what it costs does not depend on whose environment it is.
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
        program.run().expect("fork")
    }

    #[test]
    fn a_child_ends_with_its_code() {
        assert_eq!(fork_and_wait(42).expect("fork").code(), Some(42));
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
        assert!(Program::new(OsStr::new("a\0b"), &[]).is_err());
    }
}

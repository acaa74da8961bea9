//! Child processes that cannot outlive their parent: forking them, waiting for them, and ending them.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

/// A child process. Dropping it kills the process and waits for it, so that no child is left behind.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    status: Option<ExitStatus>,
}

impl Child {
    /// Forks a child that runs `body` and exits with its result, or with 101 after a panic. The kernel kills the child when
    /// the calling thread ends.
    ///
    /// The process must have only one thread: a lock that another thread holds would stay locked in the child.
    ///
    /// # Errors
    /// The errors of `fork(2)`: `EAGAIN` or `ENOMEM`.
    pub fn fork(body: impl FnOnce() -> i32) -> io::Result<Child> {
        let parent = std::process::id();
        // SAFETY: the caller keeps the documented condition (one thread), so every lock is free in the child.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                die_with(parent);
                let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
                // SAFETY: _exit ends the process at once; no destructor of the parent's copy may run here.
                unsafe { libc::_exit(code) }
            }
            pid => Ok(Child { pid, status: None }),
        }
    }

    /// Like [`Child::fork`], but the child continues when the parent ends. Returns its process id, by which the caller can
    /// wait for it.
    ///
    /// The process must have only one thread.
    ///
    /// # Errors
    /// The errors of `fork(2)`: `EAGAIN` or `ENOMEM`.
    pub fn fork_apart(body: impl FnOnce() -> i32) -> io::Result<u32> {
        // SAFETY: as in `fork`.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
                // SAFETY: as in `fork`.
                unsafe { libc::_exit(code) }
            }
            pid => Ok(pid.unsigned_abs()),
        }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// The errors of `waitpid(2)`.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.reap(0).map(|status| status.expect("waitpid without WNOHANG answers with a status"))
    }

    /// Returns the exit status, if the process has ended.
    ///
    /// # Errors
    /// The errors of `waitpid(2)`.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.reap(libc::WNOHANG)
    }

    fn reap(&mut self, options: i32) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let mut raw = 0;
            loop {
                // SAFETY: `raw` is a valid place for the status; the pid is that of our child, which was not reaped yet.
                match unsafe { libc::waitpid(self.pid, &mut raw, options) } {
                    0 => break,
                    -1 => {
                        let error = io::Error::last_os_error();
                        if error.kind() != io::ErrorKind::Interrupted {
                            return Err(error);
                        }
                    }
                    _ => {
                        let status = ExitStatus::from_raw(raw);
                        // A stopped process has not ended.
                        self.status = Some(status).filter(|status| status.stopped_signal().is_none());
                        break;
                    }
                }
            }
        }
        Ok(self.status)
    }

    /// Kills the process with SIGKILL. Does nothing if it has ended.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            // SAFETY: the pid is that of our child, which was not reaped yet, so no other process has it.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
    }
}

impl Child {
    /// Stops the process with SIGSTOP, and returns after all its threads have stopped. Does nothing if it has ended.
    ///
    /// # Errors
    /// The errors of `waitpid(2)`.
    pub fn stop(&mut self) -> io::Result<()> {
        if self.status.is_none() {
            // SAFETY: as in `kill`.
            unsafe { libc::kill(self.pid, libc::SIGSTOP) };
            self.reap(libc::WUNTRACED)?;
        }
        Ok(())
    }

    /// Continues the process after [`Child::stop`]. Does nothing if it has ended.
    pub fn resume(&self) {
        if self.status.is_none() {
            // SAFETY: as in `kill`.
            unsafe { libc::kill(self.pid, libc::SIGCONT) };
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait();
    }
}

/// Makes the kernel kill this process when the parent's thread ends. Ends the process at once if `parent` has already ended.
pub fn die_with(parent: u32) {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: getppid touches no memory.
    if unsafe { libc::getppid() }.unsigned_abs() != parent {
        // SAFETY: as in `fork`: ends the process at once.
        unsafe { libc::_exit(1) };
    }
}

/// Makes the calling process the leader of a new process group.
pub fn lead_group() {
    // SAFETY: setpgid(0, 0) touches no memory; it can only fail for a session leader, which leads a group already.
    unsafe { libc::setpgid(0, 0) };
}

/// Kills every process of the group that `leader` leads.
pub fn kill_group(leader: u32) {
    if let Ok(pid) = libc::pid_t::try_from(leader) {
        // SAFETY: touches no memory. ESRCH means that the group is already gone.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
    }
}

/// Returns whether a process with this id exists. A zombie counts.
pub fn exists(pid: u32) -> bool {
    // SAFETY: signal 0 is not sent.
    let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Ends this process with SIGKILL: at once, without running destructors or handlers and without flushing buffers.
pub fn kill_self() -> ! {
    // SAFETY: the signal goes to this process alone and touches no memory; it cannot be caught.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    // Never reached: the kernel delivers the signal before the call returns.
    std::process::abort()
}

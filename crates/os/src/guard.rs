//! A process that removes a directory of the kernel when the process that made it is gone, however it went.
//!
//! What a descriptor holds goes with its process; a directory that stands for something in the kernel, such as an instance
//! of tracefs or a cgroup, does not. The guard is forked, sleeps until its parent ends or lets it go, and ends.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

/// How often the guard tries to remove the directory, and how long it waits in between, ms: descriptors of the dead process
/// that children of it still hold keep the directory busy. Half a minute in all.
const TRIES: u32 = 1500;
/// See [`TRIES`].
const PAUSE_MS: i32 = 20;

/// A guard; it does its work when this is dropped, or when the process ends, but for [`Guard::let_go`].
#[derive(Debug)]
pub struct Guard {
    line: OwnedFd,
    pid: libc::pid_t,
    /// Who forked it: a forked child has a copy of this that is not its own.
    parent: u32,
}

impl Guard {
    /// Forks a process that, when this one has ended, writes `0` to `directory/switch`, if there is such a file, and then
    /// removes `directory` by rmdir(2), again and again while it is busy, but not for longer than half a minute.
    ///
    /// It is in a session of its own, so that what is typed at the terminal does not reach it, takes no signal that can be
    /// blocked, and holds no descriptor of this process but the two by which it sees the end. Works in a process with
    /// threads: between fork and end it calls nothing that allocates or takes a lock.
    ///
    /// # Errors
    /// What `pipe2(2)` and `fork(2)` report; `InvalidInput` for a path with a zero byte.
    pub fn fork(directory: &Path, switch: &str) -> io::Result<Guard> {
        let path = CString::new(directory.as_os_str().as_bytes())?;
        let switch = CString::new(directory.join(switch).as_os_str().as_bytes())?;
        let (end, line) = pipe_with(PipeFlags::CLOEXEC)?;
        // Children that hold the line too hide its end; the process itself cannot be hidden. Before Linux 5.3 the line is all.
        let process = pidfd_open(getpid(), PidfdFlags::empty()).ok();
        let process = process.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: the child calls `guard` alone, which keeps to what is safe after the fork of a process with threads.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => guard(end.as_raw_fd(), process, path.as_ptr(), switch.as_ptr()),
            pid => Ok(Guard { line, pid, parent: std::process::id() }),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Ends it: the directory is gone already, or is to stay.
    pub fn let_go(self) {
        if self.lives() {
            // SAFETY: touches no memory; a child of ours that was not waited for, so the pid names no other process.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.wait(0);
        }
    }

    /// Leaves the work to it for when the process ends.
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// Whether it is a child of this very process and has not ended.
    fn lives(&self) -> bool {
        self.parent == std::process::id() && self.wait(libc::WNOHANG) == 0
    }

    /// What waitpid(2) answers: its id once it has ended, 0 while it lives, -1 if somebody has waited for it before.
    fn wait(&self, options: i32) -> libc::pid_t {
        loop {
            // SAFETY: no status is asked for, so no memory is touched.
            let answer = unsafe { libc::waitpid(self.pid, ptr::null_mut(), options) };
            if answer != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return answer;
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.lives() {
            // Not only by closing the line, of which children may hold copies.
            let _ = rustix::io::write(&self.line, b"!");
            self.wait(0);
        }
    }
}

/// The life of the guard. `path` and `switch` are strings of the parent's that nobody changes.
fn guard(end: RawFd, process: RawFd, path: *const c_char, switch: *const c_char) -> ! {
    // SAFETY: every call takes numbers, strings that end with a zero byte and live for ever in this copy of the process, or
    // places on the stack; each is one system call. _exit ends the process at once, without the parent's destructors.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, ptr::null_mut());
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"headwater-guard".as_ptr());
        let mut watched = keep_only(end, process).map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // With all signals blocked only an error ends the wait early, and then it is better to look than to sleep for ever.
        libc::poll(watched.as_mut_ptr(), 2, -1);
        for _ in 0..TRIES {
            let file = libc::open(switch, libc::O_WRONLY | libc::O_CLOEXEC);
            if file >= 0 {
                libc::write(file, c"0".as_ptr().cast(), 1);
                libc::close(file);
            }
            if libc::rmdir(path) == 0 || *libc::__errno_location() != libc::EBUSY {
                break;
            }
            libc::poll(ptr::null_mut(), 0, PAUSE_MS);
        }
        libc::_exit(0)
    }
}

/// Closes every descriptor but these two, of which the second may be -1, and gives their new numbers.
fn keep_only(first: RawFd, second: RawFd) -> [RawFd; 2] {
    // SAFETY: numbers only, in a process that nobody else's code runs in; nothing uses what is closed.
    unsafe {
        // Copies above both, so that putting one in its place closes neither.
        let above = first.max(second) + 1;
        let (first, second) = (libc::fcntl(first, libc::F_DUPFD, above), libc::fcntl(second, libc::F_DUPFD, above));
        libc::dup2(first, 0);
        let kept = [0, if second < 0 { -1 } else { libc::dup2(second, 1) }];
        let from: libc::c_uint = if second < 0 { 1 } else { 2 };
        if libc::syscall(libc::SYS_close_range, from, libc::c_uint::MAX, 0) != 0 {
            (from as i32..65536).for_each(|fd| {
                libc::close(fd);
            });
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::child::{Child, exists, kill_self};

    fn gone_within(limit: Duration, mut there: impl FnMut() -> bool) -> bool {
        let start = Instant::now();
        while there() {
            if start.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    fn directory(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("headwater-guard-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a new directory");
        path
    }

    #[test]
    fn a_directory_goes_with_the_process_that_is_killed() {
        let path = directory("killed");
        let mut child = Child::fork(|| match Guard::fork(&path, "switch") {
            Ok(_guard) => kill_self(),
            Err(_) => 1,
        })
        .expect("fork");
        assert!(child.wait().expect("wait").code().is_none(), "it was killed");
        assert!(gone_within(Duration::from_secs(5), || path.exists()));
    }

    #[test]
    fn a_guard_that_is_let_go_ends_and_leaves_the_directory() {
        let path = directory("let-go");
        let guard = Guard::fork(&path, "switch").expect("fork");
        let pid = guard.id();
        assert!(exists(pid) && path.exists());
        guard.let_go();
        assert!(gone_within(Duration::from_secs(5), || exists(pid)) && path.exists());
        std::fs::remove_dir(&path).expect("still there, and empty");
    }

    /// From /proc, not by getsid(2) of rustix, which cannot say that the leader of a session is outside of our PID
    /// namespace, as it is in a container: the kernel's word for that is 0.
    fn session(pid: u32) -> u32 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let (_, after_the_name) = stat.rsplit_once(')').expect("proc_pid_stat(5)");
        after_the_name.split_whitespace().nth(3).expect("the session").parse().expect("a number")
    }

    #[test]
    fn a_guard_holds_no_descriptor_but_two_and_is_not_in_our_session() {
        let path = directory("holds");
        let guard = Guard::fork(&path, "switch").expect("fork");
        let held = format!("/proc/{}/fd", guard.id());
        assert!(gone_within(Duration::from_secs(5), || {
            std::fs::read_dir(&held).expect("of our own child").count() != 2
        }));
        assert_eq!(session(guard.id()), guard.id());
        assert_ne!(session(std::process::id()), guard.id());
        drop(guard);
        assert!(!path.exists(), "a guard that is dropped has done its work");
    }
}

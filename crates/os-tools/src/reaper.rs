//! A process that removes a directory of the kernel when the process that made it is gone, however it ended.
//!
//! The kernel closes the descriptors of a process that ends; a directory that stands for something in the kernel, such
//! as an instance of tracefs or a cgroup, stays. The guard is forked, sleeps until its parent ends or releases it,
//! saves the requested contents of the directory, and ends.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
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

/// Bytes that are saved by one call.
const PIECE: usize = 16 << 10;

/// The guard's work before it removes the directory, in that order, and descriptors that it holds until it has ended.
#[derive(Debug, Default)]
pub struct Will<'a> {
    /// What to save. A failed item is left out, and so are the following items for the same file.
    pub saved: Vec<Saved<'a>>,
    /// Descriptors that it holds open: a lock on one lasts until the last write, and paths may lead through one.
    pub held: Vec<BorrowedFd<'a>>,
}

/// Something that is saved: all that can be read from `from` without waiting goes to the end of `to`.
#[derive(Debug)]
pub struct Saved<'a> {
    /// The source.
    pub from: Source<'a>,
    /// A file that exists, by its absolute path.
    pub to: &'a Path,
    /// The file is cut to a multiple of this number of bytes first; 1 leaves it as it is.
    pub unit_bytes: u32,
}

/// The source of a saved item.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// The end of a pipe that is read; held open until then. What cannot be saved is discarded.
    Pipe(BorrowedFd<'a>),
    /// A file that is opened only then, by its absolute path.
    File(&'a Path),
}

/// As [`Saved`], for a process that may not allocate.
struct Order {
    from: Result<RawFd, CString>,
    to: CString,
    unit: libc::off_t,
}

/// A guard; it does its work when this is dropped, or when the process ends, except after [`Guard::let_go`].
#[derive(Debug)]
pub struct Guard {
    line: OwnedFd,
    pid: libc::pid_t,
    /// The process that forked it: a forked child has a copy of this value, but is not its parent.
    parent: u32,
}

impl Guard {
    /// Forks a process that, when this one has ended, writes `0` to `directory/switch`, if there is such a file, does what
    /// `will` says, and then removes `directory` by rmdir(2), again and again while it is busy, but not for longer than half
    /// a minute.
    ///
    /// It is in a session of its own, so that what is typed at the terminal does not reach it, takes no signal that can be
    /// blocked, and holds no descriptor of this process but the two by which it sees the end and those of `will`. Works in
    /// a process with threads: between fork and end it calls nothing that allocates or takes a lock.
    ///
    /// # Errors
    /// What `pipe2(2)` and `fork(2)` report; `InvalidInput` for a path with a zero byte.
    pub fn fork(directory: &Path, switch: &str, will: &Will<'_>) -> io::Result<Guard> {
        let path = string(directory)?;
        let switch = string(&directory.join(switch))?;
        let orders: Vec<Order> = will.saved.iter().map(Order::new).collect::<io::Result<_>>()?;
        let (end, line) = pipe_with(PipeFlags::CLOEXEC)?;
        // Children that hold the pipe's end too hide its closing; the end of the process itself cannot be hidden.
        // Before Linux 5.3 there is only the pipe.
        let process = pidfd_open(getpid(), PidfdFlags::empty()).ok();
        let watched = [end.as_raw_fd(), process.as_ref().map_or(-1, AsRawFd::as_raw_fd)];
        let pipes = orders.iter().filter_map(|order| order.from.as_ref().ok().copied());
        let held = will.held.iter().map(AsRawFd::as_raw_fd);
        let mut kept: Vec<RawFd> = watched.into_iter().chain(pipes).chain(held).filter(|fd| *fd >= 0).collect();
        kept.sort_unstable();
        // SAFETY: the child calls `guard` alone, which keeps to what is safe after the fork of a process with threads.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => guard(watched, &kept, &orders, path.as_ptr(), switch.as_ptr()),
            pid => Ok(Guard { line, pid, parent: std::process::id() }),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Ends it without its work: the directory is gone already, or is to stay.
    pub fn let_go(self) {
        if self.lives() {
            // SAFETY: touches no memory; a child of ours that was not waited for, so the pid names no other process.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.wait(0);
        }
    }

    /// Detaches it; it does its work when the process ends.
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// Whether it is a child of this very process and has not ended.
    fn lives(&self) -> bool {
        self.parent == std::process::id() && self.wait(libc::WNOHANG) == 0
    }

    /// The result of waitpid(2): its id once it has ended, 0 while it runs, -1 if it was already waited for.
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
            // Not only by closing the pipe, of which children may hold copies.
            let _ = rustix::io::write(&self.line, b"!");
            self.wait(0);
        }
    }
}

impl Order {
    fn new(saved: &Saved<'_>) -> io::Result<Order> {
        let from = match saved.from {
            Source::Pipe(pipe) => Ok(pipe.as_raw_fd()),
            Source::File(path) => Err(string(path)?),
        };
        Ok(Order { from, to: string(saved.to)?, unit: saved.unit_bytes.max(1).into() })
    }

    /// Whether everything was saved. After a fork: no allocation, and no descriptor is left.
    fn carry_out(&self) -> bool {
        // SAFETY: every call takes numbers, strings that end with a zero byte, or places on the stack with their size.
        unsafe {
            let to = libc::open(self.to.as_ptr(), libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC);
            let from = match &self.from {
                Ok(pipe) => *pipe,
                Err(path) => libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC),
            };
            let len = libc::lseek(to, 0, libc::SEEK_END);
            let cut = len % self.unit;
            let ready = to >= 0 && from >= 0 && (cut == 0 || libc::ftruncate(to, len - cut) == 0);
            let done = ready && copy(from, Some(to), self.from.is_ok());
            libc::close(to);
            if self.from.is_err() {
                libc::close(from);
            }
            done
        }
    }

    /// Discards what was not saved from a pipe. Pages of a kernel's buffer in it must be freed before the directory is
    /// removed: the kernel (seen with Linux 6.18 and tracefs) crashes if it frees them afterwards.
    fn discard(&self) {
        if let Ok(pipe) = self.from {
            copy(pipe, None, true);
        }
    }
}

/// Copies what can be read without waiting; without a destination, discards it. Whether all of it was written.
fn copy(from: RawFd, to: Option<RawFd>, is_pipe: bool) -> bool {
    let mut piece = [0_u8; PIECE];
    loop {
        let mut there = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
        // SAFETY: places on the stack with their size.
        unsafe {
            // A read from a pipe would wait if other processes hold its other end. A file does not wait, and may have
            // something to read where poll(2) says that it is not worth it yet, as the buffers of tracefs do.
            if is_pipe && (libc::poll(&raw mut there, 1, 0) != 1 || there.revents & libc::POLLIN == 0) {
                return true;
            }
            let Ok(len @ 1..) = usize::try_from(libc::read(from, piece.as_mut_ptr().cast(), PIECE)) else {
                return true;
            };
            let Some(to) = to else { continue };
            let mut rest = &piece[..len];
            while !rest.is_empty() {
                let Ok(written @ 1..) = usize::try_from(libc::write(to, rest.as_ptr().cast(), rest.len())) else {
                    return false;
                };
                rest = &rest[written..];
            }
        }
    }
}

fn string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// The body of the guard. `path` and `switch` are strings of the parent that never change; `kept` is sorted.
fn guard(watched: [RawFd; 2], kept: &[RawFd], orders: &[Order], path: *const c_char, switch: *const c_char) -> ! {
    // SAFETY: every call takes numbers, strings that end with a zero byte and live for ever in this copy of the process, or
    // places on the stack; each is one system call. _exit ends the process at once, without the parent's destructors.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, ptr::null_mut());
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"headwater-guard".as_ptr());
        close_others(kept);
        let mut watched = watched.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // With all signals blocked only an error ends the wait early, and then it is better to look than to sleep for ever.
        libc::poll(watched.as_mut_ptr(), 2, -1);
        for attempt in 0..TRIES {
            let file = libc::open(switch, libc::O_WRONLY | libc::O_CLOEXEC);
            if file >= 0 {
                libc::write(file, c"0".as_ptr().cast(), 1);
                libc::close(file);
            }
            if attempt == 0 {
                let mut failed: Option<&CString> = None;
                for order in orders {
                    // Data behind a gap in a file is useless.
                    if failed != Some(&order.to) && !order.carry_out() {
                        failed = Some(&order.to);
                    }
                }
                orders.iter().for_each(Order::discard);
            }
            if libc::rmdir(path) == 0 || *libc::__errno_location() != libc::EBUSY {
                break;
            }
            libc::poll(ptr::null_mut(), 0, PAUSE_MS);
        }
        libc::_exit(0)
    }
}

/// Closes every descriptor but these, which are sorted.
fn close_others(kept: &[RawFd]) {
    let mut from = 0;
    for fd in kept.iter().copied().chain([RawFd::MAX]) {
        if from < fd {
            let (from, to) = (from as libc::c_uint, (fd - 1) as libc::c_uint);
            // SAFETY: numbers only, in a process that runs no other code; nothing uses what is closed.
            unsafe {
                if libc::syscall(libc::SYS_close_range, from, to, 0) != 0 {
                    (from..=to.min(1 << 16)).for_each(|fd| {
                        libc::close(fd as RawFd);
                    });
                }
            }
        }
        from = fd.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use headwater_os::child::{Child, exists, kill_self};

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
        let mut child = Child::fork(|| match Guard::fork(&path, "switch", &Will::default()) {
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
        let guard = Guard::fork(&path, "switch", &Will::default()).expect("fork");
        let pid = guard.id();
        assert!(exists(pid) && path.exists());
        guard.let_go();
        assert!(gone_within(Duration::from_secs(5), || exists(pid)) && path.exists());
        std::fs::remove_dir(&path).expect("still there, and empty");
    }

    #[test]
    fn what_is_to_be_saved_is_behind_what_is_there_before_the_directory_goes() {
        let path = directory("saves");
        let home = directory("saved");
        let [to, full, source, nowhere] = ["to", "full", "source", "nowhere"].map(|name| home.join(name));
        std::fs::write(&to, "0123456789").expect("room");
        std::fs::write(&source, "saved").expect("room");
        let many = vec![b'p'; 3 * PIECE + 1];
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        // Held here as well, so that a read of what is not there would wait.
        rustix::io::write(&write, &many).expect("a pipe has room for 64 KiB");
        let (unsaved, write) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        rustix::io::write(&write, &many).expect("a pipe has room for 64 KiB");
        let mut child = Child::fork(|| {
            let saved = |from, to, unit_bytes| Saved { from, to, unit_bytes };
            let saved = vec![
                saved(Source::Pipe(rustix::fd::AsFd::as_fd(&read)), to.as_path(), 1),
                saved(Source::File(&source), &to, 7),
                // No such file: what follows is left out.
                saved(Source::File(&source), &full, 1),
                saved(Source::Pipe(rustix::fd::AsFd::as_fd(&unsaved)), &full, 1),
                saved(Source::File(&nowhere), &source, 1),
                saved(Source::File(&to), &source, 1),
            ];
            match Guard::fork(&path, "switch", &Will { saved, held: Vec::new() }) {
                Ok(_guard) => kill_self(),
                Err(_) => 1,
            }
        })
        .expect("fork");
        assert!(child.wait().expect("wait").code().is_none(), "it was killed");
        assert!(gone_within(Duration::from_secs(5), || path.exists()));
        let all = [&b"0123456789"[..], &many].concat();
        let whole = all.len() / 7 * 7;
        assert_eq!(std::fs::read(&to).expect("there"), [&all[..whole], b"saved"].concat());
        assert_eq!(std::fs::read(&source).expect("there"), b"saved");
        assert!(!full.exists(), "it makes no file");
        assert_eq!(rustix::io::ioctl_fionread(&unsaved), Ok(0), "what could not be saved was discarded");
        std::fs::remove_dir_all(home).expect("of our own");
    }

    #[test]
    fn what_is_held_is_held_until_the_guard_has_ended() {
        let path = directory("locks");
        let home = directory("lock");
        let free = || {
            let other = std::fs::File::open(&home).expect("there");
            rustix::fs::flock(&other, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
        };
        let own = std::fs::File::open(&home).expect("there");
        rustix::fs::flock(&own, rustix::fs::FlockOperation::LockExclusive).expect("nobody has it");
        let will = Will { saved: Vec::new(), held: vec![rustix::fd::AsFd::as_fd(&own)] };
        let guard = Guard::fork(&path, "switch", &will).expect("fork");
        drop(own);
        assert!(!free());
        drop(guard);
        assert!(!path.exists());
        // A child that another test has forked may have a copy of the file, until it ends.
        assert!(gone_within(Duration::from_secs(5), || !free()));
        std::fs::remove_dir(home).expect("of our own");
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
        let guard = Guard::fork(&path, "switch", &Will::default()).expect("fork");
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

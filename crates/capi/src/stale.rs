//! Finds descriptors that the program has closed by a system call of its own, which no library sees: libraries that
//! make system calls without the C library do that. The kernel has closed the descriptor; the library's own descriptors
//! still hold the end of the stream open.
//!
//! Such descriptors are found in two ways. A call that passes here creates another file with the same descriptor
//! ([`created`]). And a call of this process that sleeps on a stream looks for them ([`check`]), because the program
//! may wait for the end of file that its close should cause.

use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use crate::calls::epoll;
use crate::calls::poll::least;
use crate::own;
use crate::table::{self, Changes, Open};
use crate::threads;

/// How often the sleep of a process with several threads is interrupted for a check: another thread may close a
/// descriptor meanwhile.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a call sleeps before the first check.
const FIRST: Duration = Duration::from_millis(20);

/// The checks of a call that sleeps in the kernel's poll or epoll_wait.
#[derive(Debug, Default)]
pub struct Checks {
    /// When the next check is due; `None` if the call has not slept yet.
    due: Option<Instant>,
    /// Whether no further check is due.
    is_over: bool,
}

impl Checks {
    /// Returns how long the call may sleep at most, if it would sleep for `sleep`. `None` means without a limit.
    pub fn limit(&mut self, sleep: Option<Duration>) -> Option<Duration> {
        if self.is_over || sleep == Some(Duration::ZERO) {
            return sleep;
        }
        let now = Instant::now();
        let due = *self.due.get_or_insert(now + FIRST);
        least(sleep, Some(due.saturating_duration_since(now)))
    }

    /// Makes a check if one is due. Called after each sleep.
    pub fn run(&mut self) {
        if let Some(due) = self.due.filter(|_| !self.is_over)
            && due <= Instant::now()
        {
            let again = check();
            self.is_over = again.is_none();
            self.due = again.map(|after| Instant::now() + after);
        }
    }
}

/// Removes what the library knows of a descriptor that the kernel has just given to the program. Returns the
/// descriptor.
#[inline]
pub fn created(fd: c_int) -> c_int {
    if table::is_any() && fd >= 0 {
        forget(fd);
    }
    fd
}

#[cold]
fn forget(fd: c_int) {
    if threads::is_in_borrowed_memory() {
        return;
    }
    epoll::lost(fd);
    if table::is_stream(fd) {
        drop(table::changing(|changes| {
            changes.remove(fd);
            changes.closed()
        }));
    }
}

/// Removes descriptors from the table that are another file by now, or no file. Returns how long a call may sleep
/// before the next check; `None` if no further check is needed, because there is no other thread that could close a
/// descriptor.
pub fn check() -> Option<Duration> {
    if threads::is_in_borrowed_memory() {
        return None;
    }
    let before = crate::errno::last();
    let closed = table::changing(|changes: &Changes| {
        // SAFETY: a stream in the table is not freed while the table is locked.
        let is_gone = |(fd, open): &(c_int, *const Open)| !is_still(*fd, unsafe { &**open });
        let gone: Vec<c_int> = changes.streams().filter(is_gone).map(|(fd, _)| fd).collect();
        for fd in gone {
            epoll::lost(fd);
            changes.remove(fd);
        }
        changes.closed()
    });
    drop(closed);
    crate::errno::set(before.0);
    (!has_one_thread()).then_some(AGAIN)
}

/// Returns whether `fd` is a descriptor of the stream's end.
fn is_still(fd: c_int, open: &Open) -> bool {
    let inode = |fd: c_int| {
        // SAFETY: zeros are a value of stat, and fstat writes only to `status`.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            (own::hw_own_fstat(fd, &mut status) == 0).then_some((status.st_dev, status.st_ino))
        }
    };
    let wanted = inode(open.stream.as_raw_fd());
    wanted.is_none() || inode(fd) == wanted
}

/// Returns whether the process has one thread, as far as the C library knows.
fn has_one_thread() -> bool {
    static AT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    let mut at = AT.load(Ordering::Relaxed);
    if at.is_null() {
        // SAFETY: the name is a literal string with a NUL. The program's start, when the loader may hold its lock, is
        // over.
        at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) }.cast();
        AT.store(at, Ordering::Relaxed);
    }
    // SAFETY: `at` is null, or the address of glibc's variable, a byte that its thread functions write.
    !at.is_null() && unsafe { at.read_volatile() } != 0
}

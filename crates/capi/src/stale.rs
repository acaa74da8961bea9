//! Numbers that the program has closed by a system call of its own, which no library sees: libraries that make system calls without
//! the C library do that. The kernel has closed the number; the library's own descriptors still hold the end open.
//!
//! They are found when the number is given to another file by a call that passes here ([`made`]), and while a call of this
//! process sleeps on a stream ([`check`]): such a program waits for the end of the file that its close should bring.

use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use crate::calls::epoll;
use crate::calls::poll::least;
use crate::own;
use crate::table::{self, Changes, Open};
use crate::threads;

/// How often a sleep of a process with several threads is interrupted for the check: another thread may close a number meanwhile.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a call sleeps before the first check.
const FIRST: Duration = Duration::from_millis(20);

/// The checks of a call that sleeps by the kernel's poll or epoll_wait.
#[derive(Debug, Default)]
pub struct Checks {
    /// None: it has not slept yet.
    due: Option<Instant>,
    /// No check is due any more.
    is_over: bool,
}

impl Checks {
    /// How long to sleep at most, of the time that the call would. None: for ever.
    pub fn limit(&mut self, sleep: Option<Duration>) -> Option<Duration> {
        if self.is_over || sleep == Some(Duration::ZERO) {
            return sleep;
        }
        let now = Instant::now();
        let due = *self.due.get_or_insert(now + FIRST);
        least(sleep, Some(due.saturating_duration_since(now)))
    }

    /// After the sleep.
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

/// The kernel has just given the program this number: it is none of those that the library knows.
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

/// Takes the numbers out of the table that are other files by now, or none. Returns how long a call may sleep before it checks again; None: as
/// long as it likes, because no other thread is there that could close one.
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

/// Whether a number is a descriptor of the stream's end.
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

/// Whether the C library knows of no other thread.
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

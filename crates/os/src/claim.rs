//! Record locks that say something instead of protecting something: who has a file open, and how.
//!
//! The kernel grants a lock only to who has the file open, for reading or for writing as the lock is, gives it up when its
//! owner dies, and tells everybody who has the file open too. So a lock is news that nobody else can forge.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Marks a range of bytes for as long as the open file description of `file`, which is open for writing, is open anywhere.
/// False if another description has marked some of them.
///
/// Errors: what fcntl(2) reports.
pub fn mark(file: impl AsFd, start: u64, len: u64) -> io::Result<bool> {
    match call(file, libc::F_OFD_SETLK, &mut range(libc::F_WRLCK, start, len)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Whether another open file description than that of `file` has marked some bytes of a range.
///
/// Errors: what fcntl(2) reports.
pub fn is_marked(file: impl AsFd, start: u64, len: u64) -> io::Result<bool> {
    let mut asked = range(libc::F_WRLCK, start, len);
    call(file, libc::F_OFD_GETLK, &mut asked)?;
    Ok(asked.l_type != libc::F_UNLCK as libc::c_short)
}

fn range(kind: libc::c_int, start: u64, len: u64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start as libc::off_t,
        l_len: len as libc::off_t,
        l_pid: 0,
    }
}

fn call(file: impl AsFd, command: libc::c_int, range: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the commands used here read and write the valid flock that they are given, and nothing else.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), command, range as *mut libc::flock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_mark_is_seen_by_other_descriptions_as_long_as_one_copy_is_open() {
        let memory = rustix::fs::memfd_create("headwater-claim", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let open = || OpenOptions::new().read(true).write(true).open(&path).expect("open");
        let (one, other) = (open(), open());
        assert!(mark(&one, 5, 1).expect("fcntl"));
        assert!(is_marked(&other, 0, 100).expect("fcntl") && !is_marked(&other, 6, 100).expect("fcntl"));
        assert!(!is_marked(&one, 0, 100).expect("fcntl"), "one's own is none");
        assert!(!mark(&other, 0, 10).expect("fcntl") && mark(&other, 6, 1).expect("fcntl"));
        let copy = one.try_clone().expect("dup");
        drop(one);
        assert!(is_marked(&other, 5, 1).expect("fcntl"));
        drop(copy);
        assert!(!is_marked(&other, 5, 1).expect("fcntl"));
    }
}

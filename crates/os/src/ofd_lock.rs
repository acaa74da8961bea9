//! Record locks (fcntl(2)) that carry information instead of protecting data: which process has a file open, and how.
//!
//! The kernel grants a lock only to a process that has the file open with the access that the lock requires. It releases the
//! lock when the owner ends, and reports the lock to every process that has the file open. So no other process can forge it.
//!
//! A mark belongs to an open file description (F_OFD_SETLK), a claim to a process (F_SETLK).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Marks a range of bytes by a write lock. The mark lasts as long as any copy of the open file description of `file` is open.
/// `file` must be open for writing. Returns false if another open file description has locked part of the range.
///
/// # Errors
/// The errors of fcntl(2).
pub fn mark(file: impl AsFd, start: u64, len: u64) -> io::Result<bool> {
    match call(file, libc::F_OFD_SETLK, &mut range(libc::F_WRLCK, start, len)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Removes the mark from a range of bytes, for all copies of the open file description.
///
/// # Errors
/// The errors of fcntl(2).
pub fn unmark(file: impl AsFd, start: u64, len: u64) -> io::Result<()> {
    call(file, libc::F_OFD_SETLK, &mut range(libc::F_UNLCK, start, len))
}

/// A range of marked bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// The first byte.
    pub start: u64,
    /// The number of bytes; `u64::MAX` for a range without an end.
    pub len: u64,
}

/// Returns a mark of another open file description in the range, if there is one. The mark may extend beyond the range. A
/// read lock is not a mark.
///
/// # Errors
/// The errors of fcntl(2).
pub fn marked(file: impl AsFd, start: u64, len: u64) -> io::Result<Option<Marked>> {
    // Only write locks conflict with a read lock.
    let mut asked = range(libc::F_RDLCK, start, len);
    call(file, libc::F_OFD_GETLK, &mut asked)?;
    let to_the_end = if asked.l_len == 0 { u64::MAX } else { asked.l_len as u64 };
    let is_marked = asked.l_type != libc::F_UNLCK as libc::c_short;
    Ok(is_marked.then_some(Marked { start: asked.l_start as u64, len: to_the_end }))
}

/// Returns whether another open file description has a read lock or a write lock in the range.
///
/// # Errors
/// The errors of fcntl(2).
pub fn is_locked(file: impl AsFd, start: u64, len: u64) -> io::Result<bool> {
    let mut asked = range(libc::F_WRLCK, start, len);
    call(file, libc::F_OFD_GETLK, &mut asked)?;
    Ok(asked.l_type != libc::F_UNLCK as libc::c_short)
}

/// Marks a byte by a read lock. The lock lasts as long as any copy of the open file description of `file` is open. `file` must
/// be open for reading. Other descriptions can have a read lock of the byte at the same time, but not a [`mark`]. Returns
/// false if another description has marked the byte by [`mark`].
///
/// # Errors
/// The errors of fcntl(2): `EBADF` if `file` is not open for reading.
pub fn mark_for_reading(file: impl AsFd, byte: u64) -> io::Result<bool> {
    match call(file, libc::F_OFD_SETLK, &mut range(libc::F_RDLCK, byte, 1)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Returns the right that another open file description proves by a lock of exactly this byte. Returns `None` if there is no
/// such lock, and also if the kernel reports a longer lock.
///
/// # Errors
/// The errors of fcntl(2).
pub fn proved(file: impl AsFd, byte: u64) -> io::Result<Option<Right>> {
    let mut asked = range(libc::F_WRLCK, byte, 1);
    call(file, libc::F_OFD_GETLK, &mut asked)?;
    let is_exact = asked.l_start as u64 == byte && asked.l_len == 1;
    Ok(match i32::from(asked.l_type) {
        libc::F_RDLCK if is_exact => Some(Right::Read),
        libc::F_WRLCK if is_exact => Some(Right::Write),
        _ => None,
    })
}

/// The right that a lock proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The file is open for reading.
    Read,
    /// The file is open for writing.
    Write,
}

/// Claims a byte for this process, until it closes any descriptor of the same file. A repeated claim replaces the first one.
///
/// # Errors
/// `EBADF` if `file` is not open with that right; `WouldBlock` if another process has claimed the byte.
pub fn claim(file: impl AsFd, right: Right, byte: u64) -> io::Result<()> {
    let kind = if right == Right::Read { libc::F_RDLCK } else { libc::F_WRLCK };
    call(file, libc::F_SETLK, &mut range(kind, byte, 1))
}

/// Returns the id of another process that has claimed a byte, and the right that it proves.
///
/// # Errors
/// The errors of fcntl(2).
pub fn claimant(file: impl AsFd, byte: u64) -> io::Result<Option<(u32, Right)>> {
    let mut asked = range(libc::F_WRLCK, byte, 1);
    call(file, libc::F_GETLK, &mut asked)?;
    let right = match i32::from(asked.l_type) {
        libc::F_RDLCK => Right::Read,
        libc::F_WRLCK => Right::Write,
        _ => return Ok(None),
    };
    // A mark belongs to no process, and its pid is -1.
    Ok(u32::try_from(asked.l_pid).ok().map(|pid| (pid, right)))
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
    use std::time::{Duration, Instant};

    use super::*;
    use crate::own_process::run_in_own_process;

    #[test]
    fn mark_lasts_until_the_last_copy_is_closed() {
        let memory = rustix::fs::memfd_create("headwater-claim", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let open = || OpenOptions::new().read(true).write(true).open(&path).expect("open");
        let (one, other) = (open(), open());
        let is_marked = |file: &std::fs::File, start, len| marked(file, start, len).expect("fcntl");
        assert!(mark(&one, 5, 1).expect("fcntl"));
        assert_eq!(is_marked(&other, 0, 100), Some(Marked { start: 5, len: 1 }));
        assert_eq!(is_marked(&other, 6, 100), None);
        assert_eq!(is_marked(&one, 0, 100), None, "a description does not see its own mark");
        assert!(!mark(&other, 0, 10).expect("fcntl") && mark(&other, 6, 1).expect("fcntl"));
        let copy = one.try_clone().expect("dup");
        unmark(&one, 5, 1).expect("fcntl");
        assert!(is_marked(&other, 5, 1).is_none() && mark(&copy, 5, 1).expect("fcntl"));
        drop(one);
        assert!(is_marked(&other, 5, 1).is_some() && is_locked(&other, 5, 1).expect("fcntl"));
        drop(copy);
        // A process that another test has forked meanwhile has a copy until it ends.
        let give_up = Instant::now() + Duration::from_secs(20);
        while is_marked(&other, 5, 1).is_some() || is_locked(&other, 5, 1).expect("fcntl") {
            assert!(Instant::now() < give_up, "the last copy is closed");
            std::thread::sleep(Duration::from_millis(1));
        }
        // A read lock without an end, by a description that is open for reading only.
        let reader = std::fs::File::open(&path).expect("open");
        call(&reader, libc::F_OFD_SETLK, &mut range(libc::F_RDLCK, 50, 0)).expect("fcntl");
        assert!(is_marked(&other, 50, 100).is_none() && is_locked(&other, 50, 100).expect("fcntl"));
        assert!(!mark(&other, 60, 1).expect("fcntl"));
    }

    #[test]
    fn lock_of_one_byte_proves_its_right() {
        let memory = rustix::fs::memfd_create("headwater-proof", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let open = |read, write| OpenOptions::new().read(read).write(write).open(&path).expect("open");
        let (both, reader, writer) = (open(true, true), open(true, false), open(false, true));
        assert!(mark_for_reading(&both, 5).expect("fcntl") && mark(&both, 9, 1).expect("fcntl"));
        for observer in [&reader, &writer] {
            assert_eq!(proved(observer, 5).expect("fcntl"), Some(Right::Read));
            assert_eq!(proved(observer, 9).expect("fcntl"), Some(Right::Write));
            assert_eq!(proved(observer, 6).expect("fcntl"), None);
        }
        assert!(!mark_for_reading(&reader, 9).expect("fcntl") && !mark(&writer, 5, 1).expect("fcntl"));
        // A lock needs its right. A longer lock proves nothing about a byte of it.
        assert!(mark_for_reading(&writer, 7).is_err() && mark(&reader, 7, 1).is_err());
        assert!(mark(&both, 20, 3).expect("fcntl"));
        assert_eq!(proved(&reader, 21).expect("fcntl"), None);
    }

    #[test]
    fn claimant_returns_process_and_right() {
        let Some(_alone) = run_in_own_process() else { return };
        let path = std::env::temp_dir().join(format!("headwater-claim-{}", std::process::id()));
        crate::files::make_fifo(&path, 0o600).expect("mkfifo");
        let file = crate::files::open_fifo(&path).expect("open");
        let open = |flags| crate::descriptors::Found::own(file.as_fd()).open(flags | rustix::fs::OFlags::NONBLOCK);
        let (reads, writes) = (rustix::fs::OFlags::RDONLY, rustix::fs::OFlags::WRONLY);
        std::fs::remove_file(&path).expect("it is there");
        let (ready, told) = io::pipe().expect("pipe");
        let mut child = crate::child::Child::fork(|| {
            let (reader, writer) = (open(reads).expect("open"), open(writes).expect("open"));
            assert!(claim(&reader, Right::Write, 1).is_err() && claim(&writer, Right::Read, 1).is_err());
            claim(&reader, Right::Read, 2).expect("fcntl");
            claim(&writer, Right::Write, 3).expect("fcntl");
            io::Write::write_all(&mut &told, b"x").expect("pipe");
            std::thread::sleep(Duration::from_secs(60));
            0
        })
        .expect("fork");
        io::Read::read_exact(&mut &ready, &mut [0]).expect("it says so");
        let found: Vec<_> = (1..5).map(|byte| claimant(&file, byte).expect("fcntl")).collect();
        let pid = child.id();
        assert_eq!(found, [None, Some((pid, Right::Read)), Some((pid, Right::Write)), None]);
        assert!(claim(&file, Right::Write, 3).is_err());
        child.kill();
        child.wait().expect("wait");
        assert_eq!(claimant(&file, 3).expect("fcntl"), None);
        claim(&file, Right::Write, 3).expect("fcntl");
        assert_eq!(claimant(&file, 3).expect("fcntl"), None, "a process does not see its own claim");
    }
}

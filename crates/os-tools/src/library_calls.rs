//! System calls through the functions of the C library, as most programs make them. The rows of LMbench and of the kernel's
//! transports are defined by these functions, which cost more than the system call alone: the call and return, and what the
//! library does besides (`fstat(3)` of glibc 2.33 to 2.38 is `newfstatat(2)` with an empty path). On some machines the return
//! alone costs as much as a third of a message through a pipe (docs/decisions/0048-programs-that-run-alone.md).
//!
//! For measurements. Other code makes the system calls by `rustix`, whose instruction is compiled into the caller.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::process::{Pid, Signal};

/// The attributes of a file that the callers compare. More of `struct stat` would have to be copied after each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Length in bytes.
    pub bytes: u64,
    /// Number of the inode.
    pub inode: u64,
}

/// Returns the id of the parent process by `getppid(3)`: 0 if the parent is in another PID namespace.
#[inline]
pub fn parent() -> i32 {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::getppid() }
}

/// Reads at most `buffer.len()` bytes by `read(3)`.
///
/// # Errors
/// What `read(2)` reports.
#[inline]
pub fn read(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let descriptor = descriptor.as_fd().as_raw_fd();
    // SAFETY: the buffer is writable and as long as that.
    count(unsafe { libc::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// Writes at most `bytes.len()` bytes by `write(3)`.
///
/// # Errors
/// What `write(2)` reports.
#[inline]
pub fn write(descriptor: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let descriptor = descriptor.as_fd().as_raw_fd();
    // SAFETY: the bytes are readable and as many as that.
    count(unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) })
}

/// Sends at most `bytes.len()` bytes to the peer of a connected socket by `send(3)`. A peer that is gone is an error and no signal.
///
/// # Errors
/// What `send(2)` reports.
#[inline]
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the bytes are readable and as many as that.
    count(unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Receives at most `buffer.len()` bytes from a socket by `recv(3)`.
///
/// # Errors
/// What `recv(2)` reports.
#[inline]
pub fn recv(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the buffer is writable and as long as that.
    count(unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), 0) })
}

/// Returns the attributes of the file of a path by `stat(3)`.
///
/// # Errors
/// What `stat(2)` reports.
#[inline]
pub fn stat(path: &CStr) -> io::Result<Attributes> {
    // SAFETY: the path ends in a zero byte, and there is room for the answer.
    attributes(|answer| unsafe { libc::stat(path.as_ptr(), answer) })
}

/// Returns the attributes of an open file by `fstat(3)`.
///
/// # Errors
/// What `fstat(2)` reports.
#[inline]
pub fn fstat(file: impl AsFd) -> io::Result<Attributes> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: there is room for the answer.
    attributes(|answer| unsafe { libc::fstat(file, answer) })
}

/// Opens a file for reading by `open(3)`. The descriptor is inherited by programs that the process executes.
///
/// # Errors
/// What `open(2)` reports.
#[inline]
pub fn open(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path ends in a zero byte; without O_CREAT there is no third argument.
    opened(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) })
}

/// Creates or truncates a file that its owner may read and write, and opens it for writing, by `creat(3)`. The descriptor is
/// inherited by programs that the process executes.
///
/// # Errors
/// What `creat(2)` reports.
#[inline]
pub fn create(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path ends in a zero byte.
    opened(unsafe { libc::creat(path.as_ptr(), libc::S_IRUSR | libc::S_IWUSR) })
}

/// Removes a name by `unlink(3)`.
///
/// # Errors
/// What `unlink(2)` reports.
#[inline]
pub fn unlink(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte.
    done(unsafe { libc::unlink(path.as_ptr()) })
}

/// Sends a signal to a process by `kill(3)`, or only checks whether it could be sent.
///
/// # Errors
/// What `kill(2)` reports.
#[inline]
pub fn kill(process: Pid, signal: Option<Signal>) -> io::Result<()> {
    // SAFETY: both arguments are numbers, which the kernel checks.
    done(unsafe { libc::kill(process.as_raw_pid(), signal.map_or(0, Signal::as_raw)) })
}

#[inline]
fn count(answer: isize) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

#[inline]
fn done(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[inline]
fn opened(answer: libc::c_int) -> io::Result<OwnedFd> {
    match answer {
        // SAFETY: the kernel has just opened this descriptor, and nothing else owns it.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(answer) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the attributes that `call` writes to its argument. It returns 0 if it has written all of them.
#[inline]
fn attributes(call: impl FnOnce(*mut libc::stat) -> libc::c_int) -> io::Result<Attributes> {
    let mut answer = MaybeUninit::uninit();
    done(call(answer.as_mut_ptr()))?;
    // SAFETY: the call has succeeded, so the answer is initialised.
    let answer = unsafe { answer.assume_init_ref() };
    Ok(Attributes { bytes: answer.st_size as u64, inode: answer.st_ino })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::parent_id;

    use rustix::process::getpid;

    use super::*;

    #[test]
    fn a_file_is_created_written_described_read_and_removed() {
        let path = std::env::temp_dir().join(format!("library-calls-{}", std::process::id()));
        let name = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        assert_eq!(write(create(&name).expect("creat"), b"three").expect("write"), 5);
        let inode = fs::metadata(&path).expect("it is there").ino();
        let file = open(&name).expect("open");
        let expected = Attributes { bytes: 5, inode };
        assert_eq!((stat(&name).expect("stat"), fstat(&file).expect("fstat")), (expected, expected));
        let mut bytes = [0; 8];
        assert_eq!((read(&file, &mut bytes).expect("read"), &bytes[..5]), (5, &b"three"[..]));
        unlink(&name).expect("unlink");
        let errors = [unlink(&name).err(), open(&name).err(), stat(&name).err(), write(&file, b"x").err()];
        assert_eq!(
            errors.map(|error| error.and_then(|error| error.raw_os_error())),
            [libc::ENOENT, libc::ENOENT, libc::ENOENT, libc::EBADF].map(Some)
        );
    }

    #[test]
    fn message_is_sent_and_received_and_a_peer_that_is_gone_is_an_error() {
        let (sender, receiver) = UnixStream::pair().expect("socketpair");
        assert_eq!(send(&sender, b"three").expect("send"), 5);
        let mut bytes = [0; 8];
        assert_eq!((recv(&receiver, &mut bytes).expect("recv"), &bytes[..5]), (5, &b"three"[..]));
        drop(receiver);
        let errors = [send(&sender, b"x").err(), recv(io::pipe().expect("pipe2").0, &mut bytes).err()];
        let expected = [libc::EPIPE, libc::ENOTSOCK].map(Some);
        assert_eq!(errors.map(|error| error.and_then(|error| error.raw_os_error())), expected);
    }

    #[test]
    fn processes_are_named_by_their_ids() {
        assert_eq!(parent().unsigned_abs(), parent_id());
        kill(getpid(), None).expect("a process may signal itself");
    }
}

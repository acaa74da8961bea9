//! Descriptors that a program inherits from the process that starts it, in addition to standard input, output and error.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::fcntl_dupfd_cloexec;

use crate::descriptors;

/// The lowest descriptor that is used. Those below are standard input, output and error.
const FD_MIN: RawFd = 3;

/// Makes every program that `command` starts inherit copies of these descriptors, and returns the file descriptors that they
/// have in the program. Other programs do not inherit them: this process keeps the copies close-on-exec until the command is
/// dropped.
///
/// # Errors
/// `EMFILE` without enough free descriptors.
pub fn pass<'f>(command: &mut Command, files: impl Iterator<Item = BorrowedFd<'f>>) -> io::Result<Vec<u32>> {
    let copies = files.map(|file| Ok(fcntl_dupfd_cloexec(file, FD_MIN)?)).collect::<io::Result<Vec<OwnedFd>>>()?;
    let fds = copies.iter().map(|file| file.as_raw_fd().unsigned_abs()).collect();
    let keep = move || copies.iter().try_for_each(|file| descriptors::set_inheritable(file.as_fd(), true));
    // SAFETY: in the child the closure calls only fcntl, which is safe after fork, and allocates nothing.
    unsafe { command.pre_exec(keep) };
    Ok(fds)
}

/// Duplicates a descriptor that this program has inherited through [`pass`]. Returns `None` if the inode differs, because the
/// descriptor has been reused for another file.
///
/// # Errors
/// Those of [`take`].
pub fn copy(fd: u32, inode: u64) -> io::Result<Option<OwnedFd>> {
    let file = descriptors::duplicate(fd)?;
    Ok((descriptors::inode(&file)? == inode).then_some(file))
}

/// Takes a descriptor that this program has inherited through [`pass`]: closes `fd`, so that no other program inherits it, and
/// returns a copy. Returns `None`, and closes nothing, if the inode differs, because the descriptor has been reused for
/// another file.
///
/// # Errors
/// `EBADF` if `fd` is not open; `EMFILE` without a free descriptor.
pub fn take(fd: u32, inode: u64) -> io::Result<Option<OwnedFd>> {
    let Some(file) = copy(fd, inode)? else { return Ok(None) };
    let fd = fd.cast_signed();
    // SAFETY: the file is the one that was passed for this call to take, so nothing else in the process owns `fd`.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::process::Stdio;

    use super::*;

    #[test]
    fn only_the_program_of_the_command_inherits() {
        let (mut source, sink) = pipe().expect("pipe");
        let mut command = Command::new("sh");
        let numbers = pass(&mut command, [sink.as_fd()].into_iter()).expect("room");
        let script = format!("echo here >/dev/fd/{}", numbers[0]);
        let stranger = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status().expect("sh");
        assert!(!stranger.success());
        assert!(command.args(["-c", &script]).status().expect("sh").success());
        drop((command, sink));
        let mut text = String::new();
        source.read_to_string(&mut text).expect("text");
        assert_eq!(text, "here\n");
    }

    #[test]
    fn take_leaves_a_reused_descriptor_alone() {
        let (mut source, mut sink) = pipe().expect("pipe");
        let copy = sink.as_fd().try_clone_to_owned().expect("room");
        let (fd, inode) = (copy.as_raw_fd().unsigned_abs(), descriptors::inode(&copy).expect("fstat"));
        assert!(take(fd, inode + 1).expect("open").is_none());
        std::mem::forget(copy);
        let taken = take(fd, inode).expect("open").expect("it is the same file");
        assert_ne!(taken.as_raw_fd().unsigned_abs(), fd);
        assert_eq!(take(u32::MAX, inode).expect_err("not open").raw_os_error(), Some(libc::EBADF));
        sink.write_all(b"x").expect("room");
        drop((sink, taken));
        let mut text = String::new();
        source.read_to_string(&mut text).expect("text");
        assert_eq!(text, "x");
    }
}

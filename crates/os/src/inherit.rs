//! Descriptors that a program gets from the process that starts it, beside its standard input and output.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::fcntl_dupfd_cloexec;

use crate::descriptors;

/// The lowest number that is used: below it are standard input, output and error.
const NUMBER_MIN: RawFd = 3;

/// Has every program that `command` starts get these descriptors, and returns the numbers that they have there. Other programs
/// of this process do not get them: they are open here without inheritance until the command is dropped.
///
/// # Errors
/// `EMFILE` without so many free descriptors.
pub fn pass<'f>(command: &mut Command, files: impl Iterator<Item = BorrowedFd<'f>>) -> io::Result<Vec<u32>> {
    let copies = files.map(|file| Ok(fcntl_dupfd_cloexec(file, NUMBER_MIN)?)).collect::<io::Result<Vec<OwnedFd>>>()?;
    let numbers = copies.iter().map(|file| file.as_raw_fd().unsigned_abs()).collect();
    let keep = move || copies.iter().try_for_each(|file| descriptors::set_inheritable(file.as_fd(), true));
    // SAFETY: in the child it calls fcntl alone, which is safe after fork, and allocates nothing.
    unsafe { command.pre_exec(keep) };
    Ok(numbers)
}

/// A copy of a descriptor that this program got from [`pass`], if its file still has that inode. None if another file has the
/// number now.
///
/// # Errors
/// Those of [`take`].
pub fn copy(number: u32, inode: u64) -> io::Result<Option<OwnedFd>> {
    let file = descriptors::duplicate(number)?;
    Ok((descriptors::inode(&file)? == inode).then_some(file))
}

/// Takes a descriptor that this program got from [`pass`] if its file still has that inode: the number is free
/// afterwards, and no program that this one starts inherits it. None if another file has the number now, which is left
/// alone.
///
/// # Errors
/// `EBADF` if no file has the number; `EMFILE` without a free descriptor.
pub fn take(number: u32, inode: u64) -> io::Result<Option<OwnedFd>> {
    let Some(file) = copy(number, inode)? else { return Ok(None) };
    let number = number.cast_signed();
    // SAFETY: the file is the one that was passed for this call to take, so nothing else in the process owns the
    // number.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::process::Stdio;

    use super::*;

    #[test]
    fn the_program_gets_what_is_passed_and_others_do_not() {
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
    fn a_number_that_another_file_has_is_left_alone() {
        let (mut source, mut sink) = pipe().expect("pipe");
        let copy = sink.as_fd().try_clone_to_owned().expect("room");
        let (number, inode) = (copy.as_raw_fd().unsigned_abs(), descriptors::inode(&copy).expect("fstat"));
        assert!(take(number, inode + 1).expect("open").is_none());
        std::mem::forget(copy);
        let taken = take(number, inode).expect("open").expect("it is the same file");
        assert_ne!(taken.as_raw_fd().unsigned_abs(), number);
        assert_eq!(take(u32::MAX, inode).expect_err("no such number").raw_os_error(), Some(libc::EBADF));
        sink.write_all(b"x").expect("room");
        drop((sink, taken));
        let mut text = String::new();
        source.read_to_string(&mut text).expect("text");
        assert_eq!(text, "x");
    }
}

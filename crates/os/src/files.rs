//! File system nodes, their status and permissions, locks of files, and pipes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{CWD, FallocateFlags, FileType, FlockOperation, Mode};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};

pub use rustix::fs::OFlags;

use crate::descriptors::{FOR_ALL, Pinned};
use crate::own_numbers::settled;
use crate::proc_file;

/// Makes a FIFO with these permissions, reduced by the umask of the process.
///
/// # Errors
/// The errors of mkfifo(3).
pub fn make_fifo(path: &Path, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(mode), 0)?)
}

/// The status of a file system node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The device number of the file system.
    pub device: u64,
    /// The inode number. It is reused only after no process has the node open any more.
    pub number: u64,
    /// The user id of the owner.
    pub owner: u32,
    /// The permissions: the lower twelve bits of the mode.
    pub permissions: u32,
}

impl Status {
    fn from_stat(status: &rustix::fs::Stat) -> Status {
        let permissions = status.st_mode & 0o7777;
        Status { device: status.st_dev, number: status.st_ino, owner: status.st_uid, permissions }
    }
}

/// Pins the node that a path leads to without opening it. Symbolic links are followed.
///
/// # Errors
/// The errors of open(2).
pub fn find(path: &Path) -> io::Result<Pinned> {
    Ok(Pinned::from_fd(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
}

/// Returns whether a descriptor refers to a regular file.
///
/// # Errors
/// The errors of fstat(2).
pub fn is_plain(fd: impl AsFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::RegularFile)
}

/// Returns the number of names (links) of a descriptor's file.
///
/// # Errors
/// The errors of fstat(2).
pub fn names(fd: impl AsFd) -> io::Result<u64> {
    // The field has different types on different architectures.
    #[allow(clippy::unnecessary_cast)]
    Ok(rustix::fs::fstat(fd)?.st_nlink as u64)
}

/// Pins a FIFO without opening it.
///
/// # Errors
/// `InvalidInput` if the path leads to something else; the errors of open(2).
pub fn find_fifo(path: &Path) -> io::Result<Pinned> {
    // Other files are not opened: that might wait, or have an effect.
    let node = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if !is_fifo(&node)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a FIFO (mkfifo makes one)"));
    }
    Ok(Pinned::from_fd(node))
}

/// Opens a FIFO for reading and writing. Such an open never waits.
///
/// # Errors
/// Those of [`find_fifo`].
pub fn open_fifo(path: &Path) -> io::Result<OwnedFd> {
    find_fifo(path)?.open(OFlags::RDWR | OFlags::NONBLOCK)
}

/// Returns whether a process has a FIFO open for writing, or the FIFO contains data. `fifo` must be open for reading only.
/// No data is taken out of it.
///
/// # Errors
/// The errors of pipe2(2) and tee(2).
pub fn has_writers(fifo: impl AsFd) -> io::Result<bool> {
    let (_source, sink) = pipe_with(PipeFlags::CLOEXEC)?;
    match tee(fifo, &sink, 1, SpliceFlags::NONBLOCK) {
        // The end of the file.
        Ok(0) => Ok(false),
        Ok(_) | Err(Errno::AGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Returns the status of a descriptor's file.
///
/// # Errors
/// The errors of fstat(2).
pub fn status(fd: impl AsFd) -> io::Result<Status> {
    Ok(Status::from_stat(&rustix::fs::fstat(fd)?))
}

/// Returns the status of a node in a directory; `None` if there is no node of that name. A symbolic link is not followed.
///
/// # Errors
/// The errors of fstatat(2).
pub fn status_at(directory: impl AsFd, name: &str) -> io::Result<Option<Status>> {
    match rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(status) => Ok(Some(Status::from_stat(&status))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Pins a directory without opening it. The last part of the path must not be a symbolic link.
///
/// # Errors
/// `ENOTDIR` if it is not a directory, or is a symbolic link; the errors of open(2).
pub fn find_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(settled(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a regular file in a directory for reading and writing, with its own open file description. If it does not exist,
/// it is created with these permissions, whatever the umask of the process is.
///
/// # Errors
/// `InvalidInput` for anything but a regular file; `ELOOP` for a symbolic link; the errors of open(2).
pub fn open_or_make_at(directory: impl AsFd, name: &str, mode: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode);
    let file = match rustix::fs::openat(&directory, name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
        Ok(file) => {
            rustix::fs::fchmod(&file, mode)?;
            file
        }
        Err(Errno::EXIST) => rustix::fs::openat(&directory, name, flags, Mode::empty())?,
        Err(error) => return Err(error.into()),
    };
    if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"));
    }
    Ok(settled(file))
}

/// Removes a node from a directory, if it exists.
///
/// # Errors
/// The errors of unlink(2).
pub fn remove_at(directory: impl AsFd, name: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(directory, name, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives the node of a socket in a directory these permissions. If another user of the directory has replaced the node, for
/// instance by a symbolic link to another file, no permissions change.
///
/// # Errors
/// `InvalidInput` if the node is not a socket; the errors of fchmodat(2).
pub fn set_socket_permissions_at(directory: impl AsFd, name: &str, mode: u32) -> io::Result<()> {
    let node = rustix::fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&node)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a socket"));
    }
    let path = format!("/proc/self/fd/{}", node.as_raw_fd());
    Ok(rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())?)
}

/// Makes a directory, and its missing parents, for the user of this process only. An existing directory is not changed.
///
/// # Errors
/// The errors of mkdir(2).
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns options for opening files. A file that they create is accessible to the user of this process only.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Reserves space for the first `bytes` of a file, so that a full disk cannot stop later writes. The length of the file
/// stays the same. Does nothing if the file system does not support it.
///
/// # Errors
/// The errors of fallocate(2): `StorageFull` if there is no room now.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        done => Ok(done?),
    }
}

/// Reads words of a file, beginning with word number `first`. Words beyond the end of the file are 0.
///
/// # Errors
/// The errors of pread(2).
pub fn read_words(file: impl AsFd, first: u64, words: &mut [u64]) -> io::Result<()> {
    let mut bytes = vec![0; 8 * words.len()];
    let mut read = 0;
    while read < bytes.len() {
        match rustix::io::pread(&file, &mut bytes[read..], 8 * first + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Ok(())
}

/// Writes words of a file in one call, beginning with word number `first`.
///
/// # Errors
/// The errors of pwrite(2): `StorageFull` on a full disk.
pub fn write_words(file: impl AsFd, first: u64, words: &[u64]) -> io::Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    match rustix::io::pwrite(&file, &bytes, 8 * first)? {
        count if count == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Returns the names in a directory. Names that are not UTF-8 are left out.
///
/// # Errors
/// The errors of open(2) and getdents64(2).
pub fn names_in(directory: impl AsFd) -> io::Result<Vec<String>> {
    // Opened again: the given descriptor may not be readable (O_PATH).
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut entries = rustix::fs::Dir::new(rustix::fs::openat(directory, ".", flags, Mode::empty())?)?;
    let mut names = Vec::new();
    while let Some(entry) = entries.read() {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

/// Returns the effective user id of this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the effective group id of this process.
pub fn own_group() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Returns whether a descriptor refers to a pipe or a named FIFO.
///
/// # Errors
/// The errors of fstat(2).
pub fn is_fifo(fd: impl AsFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Fifo)
}

/// Locks a file (flock(2)) until the result and its duplicates are closed. Returns `None` if the file is already locked
/// this way, also if this process has locked it.
///
/// The lock belongs to a new open file description. Copies of the given descriptor, and mappings of its file, do not keep
/// the lock, for instance in a forked child.
///
/// # Errors
/// The errors of flock(2), and of open(2) for the file in /proc.
pub fn try_lock(file: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let again = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let own = rustix::fs::open(again, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let own = own.map_err(proc_file::not_opened)?;
    match rustix::fs::flock(&own, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(own)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes a pipe. Returns its reading end, then its writing end.
///
/// # Errors
/// The errors of pipe2(2).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (source, sink) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((settled(source), settled(sink)))
}

/// Makes a pipe with non-blocking ends. Any user with a descriptor of one end may open both ends again.
///
/// # Errors
/// The errors of pipe2(2).
pub fn shared_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (source, sink) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    rustix::fs::fchmod(&source, Mode::from_raw_mode(FOR_ALL))?;
    Ok((settled(source), settled(sink)))
}

/// Writes one byte. Its value has no meaning.
///
/// # Errors
/// The errors of write(2).
pub fn write_byte(fd: impl AsFd) -> io::Result<()> {
    rustix::io::write(fd, b"b")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_counts_links() {
        let path = std::env::temp_dir().join(format!("headwater-names-{}", std::process::id()));
        let file = File::create(&path).expect("create");
        assert!(
            is_plain(&file).expect("fstat") && !is_plain(find(&std::env::temp_dir()).expect("open")).expect("fstat")
        );
        assert_eq!(names(&file).expect("fstat"), 1);
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(names(&file).expect("fstat"), 0);
    }

    #[test]
    fn has_writers_leaves_data_in_the_fifo() {
        let path = std::env::temp_dir().join(format!("headwater-files-{}", std::process::id()));
        make_fifo(&path, 0o600).expect("mkfifo");
        let node = find_fifo(&path);
        std::fs::remove_file(&path).expect("it is there");
        let node = node.expect("it is one");
        let reader = node.open(OFlags::RDONLY | OFlags::NONBLOCK).expect("open");
        assert!(!has_writers(&reader).expect("tee"));
        let writer = node.open(OFlags::WRONLY | OFlags::NONBLOCK).expect("open");
        assert!(has_writers(&reader).expect("tee"));
        write_byte(&writer).expect("room");
        assert!(has_writers(&reader).expect("tee"));
        drop(writer);
        assert_eq!(rustix::io::read(&reader, &mut [0; 8]).expect("it is still there"), 1);
        assert!(!has_writers(&reader).expect("tee"));
    }
}

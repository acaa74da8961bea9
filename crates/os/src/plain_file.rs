//! Reading files that another user may have chosen. A path that leads to a device, a FIFO or a directory is refused with an
//! error that says so; it is not opened, so nothing waits. Reading a whole file has a limit. Symbolic links to regular files are
//! followed. Called by all readers of runs, traces, imports and configurations.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, RawMode};

/// Opens a regular file for reading. Never waits, and opens no device.
///
/// # Errors
/// `InvalidInput`, which says what kind of file it is instead; the errors of open(2).
pub fn open(path: &Path) -> io::Result<File> {
    open_for(path, OFlags::RDONLY)
}

/// Like [`open`], with these access flags.
///
/// # Errors
/// Those of [`open`].
pub fn open_for(path: &Path, access: OFlags) -> io::Result<File> {
    // Opening some devices has effects, so check the node before it is opened. Check it again afterwards, because it may have
    // been replaced.
    is_plain(rustix::fs::stat(path)?.st_mode)?;
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    check(&file)?;
    Ok(file.into())
}

/// Checks that a descriptor refers to a regular file.
///
/// # Errors
/// `InvalidInput`, which says what kind of file it is instead; the errors of fstat(2).
pub fn check(file: impl AsFd) -> io::Result<()> {
    is_plain(rustix::fs::fstat(file)?.st_mode)
}

fn is_plain(mode: RawMode) -> io::Result<()> {
    let what = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and only a plain file is read here")))
}

/// Returns the contents of a regular file.
///
/// # Errors
/// Those of [`open`]; `FileTooLarge` if it has more than `len_max` bytes; the errors of read(2).
pub fn read(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, len_max)
}

/// Like [`read`], for an open file.
///
/// # Errors
/// Those of [`read`].
pub fn read_open(file: File, len_max: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    let mut bytes = Vec::new();
    // The limit also applies to a file that grows meanwhile.
    if len > len_max || file.take(len_max + 1).read_to_end(&mut bytes)? as u64 > len_max {
        let text = format!("it has more than {len_max} bytes, the limit for such a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Like [`read`], for a text file.
///
/// # Errors
/// Those of [`read`]; `InvalidData` if the contents are not UTF-8.
pub fn read_text(path: &Path, len_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, len_max)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error().to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::files;

    #[test]
    fn only_plain_files_are_opened() {
        let directory = std::env::temp_dir().join(format!("headwater-plain-{}", std::process::id()));
        files::make_private_directory(&directory).expect("mkdir");
        let path = |name: &str| directory.join(name);
        std::fs::write(path("file"), "text").expect("write");
        files::make_fifo(&path("fifo"), 0o600).expect("mkfifo");
        symlink("/dev/zero", path("zero")).expect("symlink");
        symlink(path("file"), path("link")).expect("symlink");
        symlink(path("nowhere"), path("dangling")).expect("symlink");
        let _socket = UnixListener::bind(path("socket")).expect("bind");
        for (name, what) in [("fifo", "a FIFO"), ("zero", "a device"), (".", "a directory"), ("socket", "a socket")] {
            for access in [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR] {
                let error = open_for(&path(name), access).expect_err(name);
                assert_eq!(error.to_string(), format!("it is {what}, and only a plain file is read here"));
            }
        }
        assert_eq!(open(&path("dangling")).expect_err("nothing there").kind(), io::ErrorKind::NotFound);
        for name in ["file", "link"] {
            assert_eq!(read_text(&path(name), 4).expect(name), "text");
            let error = read(&path(name), 3).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        }
        // A sparse file may be larger than memory.
        File::create(path("sparse")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert_eq!(read(&path("sparse"), 1 << 20).expect_err("a terabyte").kind(), io::ErrorKind::FileTooLarge);
        // A file of /proc has the length 0 until it is read.
        assert!(!read(Path::new("/proc/self/maps"), 1 << 20).expect("/proc").is_empty());
        std::fs::remove_dir_all(&directory).expect("it is there");
    }
}

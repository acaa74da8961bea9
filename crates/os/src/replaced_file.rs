//! A small regular file that is always replaced as a whole. Readers get either the old contents or the new ones, also if the
//! process that replaces the file is killed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::files::{self, Status};
use crate::plain_file;

/// Returns the status and the contents of a file; `None` if it does not exist. Never waits, and opens only regular files.
///
/// # Errors
/// `ELOOP` for a symbolic link; those of [`plain_file::read`].
pub fn read_at(directory: impl AsFd, name: &str, len_max: usize) -> io::Result<Option<(Status, Vec<u8>)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    plain_file::check(&file)?;
    let status = files::status(&file)?;
    Ok(Some((status, plain_file::read_open(file.into(), len_max as u64)?)))
}

/// Writes the new file that will replace the old one, with these permissions, whatever the umask of the process is. Removes an
/// existing file of that name, which a killed process may have left. The contents may be lost if the machine loses power.
///
/// # Errors
/// The errors of unlink(2), open(2) and write(2).
pub fn write_new_at(directory: impl AsFd, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    files::remove_at(&directory, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode);
    let file = rustix::fs::openat(directory, name, flags, mode)?;
    rustix::fs::fchmod(&file, mode)?;
    File::from(file).write_all(bytes)
}

/// Renames a file within a directory. It replaces a file that already has the new name.
///
/// # Errors
/// The errors of rename(2).
pub fn rename_at(directory: impl AsFd, from: &str, to: &str) -> io::Result<()> {
    Ok(rustix::fs::renameat(&directory, from, &directory, to)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn readers_get_whole_contents_of_plain_files_only() {
        let directory = std::env::temp_dir().join(format!("headwater-replaced-{}", std::process::id()));
        files::make_private_directory(&directory).expect("mkdir");
        let path = |name: &str| directory.join(name);
        let fd = files::find_directory(&directory).expect("a directory");
        let read = |name: &str| read_at(&fd, name, 4).map(|read| read.map(|(_, bytes)| bytes));
        assert_eq!(read("file").expect("no error"), None);
        // A killed process has left half a file.
        std::fs::write(path("new"), "half-").expect("write");
        write_new_at(&fd, "new", b"old", 0o640).expect("write");
        assert_eq!(read("file").expect("no error"), None);
        rename_at(&fd, "new", "file").expect("rename");
        assert_eq!(read("file").expect("there"), Some(b"old".to_vec()));
        assert_eq!(std::fs::metadata(path("file")).expect("there").permissions().mode() & 0o777, 0o640);
        write_new_at(&fd, "new", b"longer", 0o600).expect("write");
        rename_at(&fd, "new", "file").expect("rename");
        assert_eq!(read("file").expect_err("5 bytes are too many").kind(), io::ErrorKind::FileTooLarge);

        symlink(path("file"), path("link")).expect("symlink");
        assert_eq!(read("link").expect_err("a link").raw_os_error(), Some(libc::ELOOP));
        std::fs::create_dir(path("directory")).expect("mkdir");
        files::make_fifo(&path("fifo"), 0o600).expect("mkfifo");
        for name in ["directory", "fifo"] {
            assert_eq!(read(name).expect_err(name).kind(), io::ErrorKind::InvalidInput);
        }
        // A symbolic link in place of the new file is removed, and not followed.
        symlink(path("victim"), path("new")).expect("symlink");
        write_new_at(&fd, "new", b"x", 0o600).expect("write");
        assert!(!path("victim").exists());
        std::fs::remove_dir_all(&directory).expect("it is there");
    }
}

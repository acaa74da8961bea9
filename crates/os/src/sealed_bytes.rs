//! Bytes for another process, in a sealed memfd: data for a started program that is too long for an environment variable. The
//! bytes never change, so the reader can rely on its checks.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::SealFlags;

use crate::memory::open_memfd;
use crate::own_numbers::settled;

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// Makes a memfd with these bytes. It is closed by exec. `name` appears in `/proc/PID/fd`.
///
/// # Errors
/// The errors of memfd_create(2), write(2) and fcntl(2).
pub fn create(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(settled(open_memfd(name)?));
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file.into())
}

/// Returns the bytes of a memfd from another process.
///
/// # Errors
/// `InvalidInput` if the file is not a memfd, can still be changed, or has more than `len_max` bytes; the errors of fstat(2) and
/// pread(2).
pub fn read(file: impl AsFd, len_max: usize) -> io::Result<Vec<u8>> {
    let file = File::from(file.as_fd().try_clone_to_owned()?);
    let is_sealed = rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS));
    match usize::try_from(file.metadata()?.len()) {
        Ok(len) if is_sealed && len <= len_max => {
            let mut bytes = vec![0; len];
            file.read_exact_at(&mut bytes, 0)?;
            Ok(bytes)
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a sealed memfd of a valid size")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_written_and_cannot_change() {
        let file = create("test", b"some bytes").expect("room");
        assert_eq!(read(&file, 10).expect("sealed"), b"some bytes");
        assert_eq!(read(&file, 10).expect("again, from the beginning"), b"some bytes");
        assert_eq!(read(&file, 9).expect_err("too long").kind(), io::ErrorKind::InvalidInput);
        assert!(File::from(file).write_all(b"x").is_err());
    }

    #[test]
    fn file_that_can_change_is_refused() {
        let open = open_memfd("test").expect("room");
        assert_eq!(read(&open, 10).expect_err("not sealed").kind(), io::ErrorKind::InvalidInput);
        let file = File::open("/proc/self/exe").expect("our own");
        assert_eq!(read(&file, 10).expect_err("no memfd").kind(), io::ErrorKind::InvalidInput);
    }
}

//! A small io_uring(7) and single requests through it: each is submitted, waited for and taken by one `io_uring_enter(2)`.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::{IoUring, opcode, squeue, types};

/// Entries of the ring: one request is under way at a time.
const ENTRIES: u32 = 4;

/// A ring, with the buffer that its reads fill.
#[derive(Debug)]
pub struct Uring {
    ring: ManuallyDrop<Inner>,
    /// No request was lost: the kernel writes to the buffer no more.
    is_idle: bool,
}

struct Inner {
    ring: IoUring,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Inner").field("buffer", &self.buffer.len()).finish_non_exhaustive()
    }
}

impl Uring {
    /// A ring whose reads ask for `len` bytes.
    ///
    /// # Errors
    /// What `io_uring_setup(2)` reports: `PermissionDenied` where it is switched off, `Unsupported` for a kernel without it.
    pub fn new(len: u32) -> io::Result<Uring> {
        let inner = Inner { ring: IoUring::new(ENTRIES)?, buffer: vec![0; len as usize] };
        Ok(Uring { ring: ManuallyDrop::new(inner), is_idle: true })
    }

    /// A request that does nothing.
    ///
    /// # Errors
    /// What `io_uring_enter(2)` reports.
    #[inline]
    pub fn nop(&mut self) -> io::Result<()> {
        self.request(&opcode::Nop::new().build()).map(|_| ())
    }

    /// Reads from `offset` of a file; returns the bytes read.
    ///
    /// # Errors
    /// What `io_uring_enter(2)` or the read reports.
    #[inline]
    pub fn read(&mut self, file: impl AsFd, offset: u64) -> io::Result<&[u8]> {
        let file = types::Fd(file.as_fd().as_raw_fd());
        let Inner { buffer, .. } = &mut *self.ring;
        let entry = opcode::Read::new(file, buffer.as_mut_ptr(), buffer.len() as u32).offset(offset).build();
        let count = self.request(&entry)?;
        Ok(&self.ring.buffer[..count as usize])
    }

    /// Submits the request and waits until it is done; returns its result.
    #[inline]
    fn request(&mut self, entry: &squeue::Entry) -> io::Result<u32> {
        if !self.is_idle {
            return Err(io::Error::other("an earlier request was lost"));
        }
        let ring = &mut self.ring.ring;
        // SAFETY: a request that names nothing, or the buffer, which lives until the request is done: `is_idle` is set again
        // only then, and a buffer whose request was lost is never freed. The descriptor is borrowed by the caller meanwhile.
        if unsafe { ring.submission().push(entry) }.is_err() {
            return Err(io::Error::other("the submission queue is full"));
        }
        self.is_idle = false;
        let completion = loop {
            match ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            if let Some(completion) = ring.completion().next() {
                break completion;
            }
        };
        self.is_idle = true;
        match completion.result() {
            result @ 0.. => Ok(result.unsigned_abs()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.is_idle {
            // SAFETY: dropped here alone, and the ring is used no more.
            unsafe { ManuallyDrop::drop(&mut self.ring) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn requests_are_done_and_errors_come_back() {
        let mut ring = match Uring::new(4) {
            Ok(ring) => ring,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        };
        ring.nop().expect("nothing is always done");
        let (source, mut sink) = io::pipe().expect("pipe");
        sink.write_all(b"abcdef").expect("written");
        assert_eq!(ring.read(&source, 0).expect("read"), b"abcd");
        assert_eq!(ring.read(&source, 0).expect("read"), b"ef");
        let directory: OwnedFd = File::open("/").expect("it is there").into();
        assert_eq!(ring.read(&directory, 0).expect_err("no file").raw_os_error(), Some(libc::EISDIR));
        ring.nop().expect("an error of a request loses nothing");
    }
}

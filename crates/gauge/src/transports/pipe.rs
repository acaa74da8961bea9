//! `pipe`, `pipe-1m`: the kernel's pipe, with its default buffer (64 KiB on most machines) and with one of 1 MiB.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os_tools::library_calls;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// The pipe with its default buffer.
#[derive(Debug)]
pub struct Pipe;

/// The pipe with `F_SETPIPE_SZ` 1 MiB.
#[derive(Debug)]
pub struct Pipe1M;

/// The buffer size of [`Pipe1M`]: the usual `fs.pipe-max-size`, the largest size that needs no privilege.
const LARGE_BYTES: usize = 1 << 20;
/// That of [`Pipe`] and of a FIFO on most machines.
pub(super) const DEFAULT_BYTES: usize = 64 << 10;

const INFO: Info =
    Info { name: "pipe", summary: "kernel pipe, default buffer", packed_bytes: DEFAULT_BYTES, ..Info::BYTES };

impl Transport for Pipe {
    type End = PipeEnd;
    const INFO: Info = INFO;

    fn open(setup: &Setup<'_>) -> Result<(PipeEnd, PipeEnd), Unavailable> {
        pair(setup, None)
    }
}

impl Transport for Pipe1M {
    type End = PipeEnd;
    const INFO: Info = Info {
        name: "pipe-1m",
        summary: "kernel pipe, buffer of 1 MiB (F_SETPIPE_SZ)",
        packed_bytes: LARGE_BYTES,
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(PipeEnd, PipeEnd), Unavailable> {
        pair(setup, Some(LARGE_BYTES))
    }
}

fn pair(setup: &Setup<'_>, buffer_bytes: Option<usize>) -> Result<(PipeEnd, PipeEnd), Unavailable> {
    let (forth_read, forth_write) = one_way(setup, buffer_bytes)?;
    let (back_read, back_write) = if setup.duplex {
        let (read, write) = one_way(setup, buffer_bytes)?;
        (Some(read), Some(write))
    } else {
        (None, None)
    };
    Ok((PipeEnd { read: back_read, write: Some(forth_write) }, PipeEnd { read: Some(forth_read), write: back_write }))
}

fn one_way(setup: &Setup<'_>, buffer_bytes: Option<usize>) -> Result<(OwnedFd, OwnedFd), Unavailable> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| Unavailable::call("pipe2", error))?;
    if let Some(bytes) = buffer_bytes {
        fcntl_setpipe_size(&write, bytes).map_err(|error| {
            Unavailable(format!(
                "fcntl F_SETPIPE_SZ to {bytes} B: {error}; see fs.pipe-max-size and fs.pipe-user-pages-soft"
            ))
        })?;
    }
    if setup.nonblocking {
        for end in [&read, &write] {
            set_nonblocking(end).map_err(|error| Unavailable::call("fcntl F_SETFL", error))?;
        }
    }
    Ok((read, write))
}

/// Makes calls on a descriptor fail with `EAGAIN` instead of waiting.
pub(super) fn set_nonblocking(descriptor: &OwnedFd) -> rustix::io::Result<()> {
    fcntl_setfl(descriptor, fcntl_getfl(descriptor)? | OFlags::NONBLOCK)
}

/// An end of one pipe, or of two pipes if the channel is duplex. Also the end of an open FIFO.
#[derive(Debug)]
pub struct PipeEnd {
    /// The descriptor that this end receives from.
    pub(super) read: Option<OwnedFd>,
    /// The descriptor that this end sends to.
    pub(super) write: Option<OwnedFd>,
}

impl Endpoint for PipeEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        let descriptor = self.write.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        library_calls::write(descriptor, message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let descriptor = self.read.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        library_calls::read(descriptor, buffer)
    }

    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        self.read.as_ref().map(AsFd::as_fd)
    }

    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        self.write.as_ref().map(AsFd::as_fd)
    }
}

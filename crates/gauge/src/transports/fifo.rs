//! `fifo`: a named pipe of the kernel (fifo(7)). Once open, it is the same object as a pipe; its row shows whether the
//! use of a name costs anything per message.
//!
//! Opening never waits for the other side: the reading end is opened in non-blocking mode, then the writing end finds a
//! reader. The name is removed before the first message. A round trip takes two FIFOs.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, mkfifoat, open, unlink};

use super::pipe::{PipeEnd, set_nonblocking};
use super::{Info, Setup, Transport, Unavailable};

/// The named pipe.
#[derive(Debug)]
pub struct Fifo;

impl Transport for Fifo {
    type End = PipeEnd;

    const INFO: Info = Info {
        name: "fifo",
        summary: "named pipe of the kernel (mkfifo), default buffer",
        packed_bytes: super::pipe::DEFAULT_BYTES,
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(PipeEnd, PipeEnd), Unavailable> {
        one_way_pair(setup, |name| one_way(setup, name))
    }
}

/// Returns the two ends over one channel, or over one channel per direction if the setup is duplex. `one_way` creates a
/// channel with the given name and returns its reading and its writing descriptor.
pub(super) fn one_way_pair(
    setup: &Setup<'_>,
    one_way: impl Fn(&str) -> Result<(OwnedFd, OwnedFd), Unavailable>,
) -> Result<(PipeEnd, PipeEnd), Unavailable> {
    let (forth_read, forth_write) = one_way("forth")?;
    let (back_read, back_write) = if setup.duplex { Some(one_way("back")?).unzip() } else { (None, None) };
    Ok((PipeEnd { read: back_read, write: Some(forth_write) }, PipeEnd { read: Some(forth_read), write: back_write }))
}

fn one_way(setup: &Setup<'_>, name: &str) -> Result<(OwnedFd, OwnedFd), Unavailable> {
    let path = setup.directory.join(format!("fifo-{name}"));
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).map_err(|error| Unavailable::call("mkfifo", error))?;
    let ends = open_both(&path);
    // The name is removed even if the opening failed.
    unlink(&path).map_err(|error| Unavailable::call("unlink of the FIFO", error))?;
    let (read, write) = ends.map_err(|error| Unavailable::call("open of the FIFO", error))?;
    let mode = if setup.nonblocking { set_nonblocking(&write) } else { clear_nonblocking(&read) };
    mode.map_err(|error| Unavailable::call("fcntl F_SETFL", error))?;
    Ok((read, write))
}

/// Opens the reading end, still non-blocking, and the writing end, which is blocking.
fn open_both(path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    let read = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let write = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((read, write))
}

fn clear_nonblocking(descriptor: &OwnedFd) -> rustix::io::Result<()> {
    fcntl_setfl(descriptor, fcntl_getfl(descriptor)? - OFlags::NONBLOCK)
}

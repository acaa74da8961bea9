//! Waiting for several files at once with poll(2). Level-triggered.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The largest number of files in one call.
pub const FILES_MAX: usize = 12;

/// Converts flags to the bits of poll(2). Their type is different where rustix uses libc, as under Miri.
#[allow(clippy::unnecessary_cast, reason = "not on every back end")]
pub(crate) const fn bits(flags: PollFlags) -> u16 {
    flags.bits() as u16
}

/// Converts the bits of poll(2) to flags.
#[allow(clippy::unnecessary_cast, reason = "not on every back end")]
const fn flags(bits: u16) -> PollFlags {
    PollFlags::from_bits_retain(bits as _)
}

/// A file, the events to wait for, and the events that have occurred, as bits of poll(2).
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// The file.
    pub file: BorrowedFd<'a>,
    /// The events to wait for. Errors and hang-ups are always included.
    pub wanted: u16,
    /// The events that have occurred; 0 if none.
    pub ready: u16,
}

impl<'a> Watched<'a> {
    /// The file is readable.
    pub const IN: u16 = bits(PollFlags::IN);
    /// The file is writable.
    pub const OUT: u16 = bits(PollFlags::OUT);
    /// The other end is gone.
    pub const HUP: u16 = bits(PollFlags::HUP);
    /// The descriptor is invalid.
    pub const INVALID: u16 = bits(PollFlags::NVAL);
    /// Events that are always reported: an error, a hang-up, an invalid descriptor.
    pub const ALWAYS: u16 = bits(PollFlags::ERR) | Watched::HUP | Watched::INVALID;

    /// Waits for these events at the file.
    pub fn new(file: BorrowedFd<'a>, wanted: u16) -> Watched<'a> {
        Watched { file, wanted, ready: 0 }
    }
}

/// Sleeps until one of the files is ready, for at most `timeout` (`None`: no limit). Returns the number of ready files, and
/// whether a signal handler has ended the sleep. Allocates nothing.
///
/// # Errors
/// `InvalidInput` for more files than [`FILES_MAX`]; the errors of poll(2).
pub fn wait(files: &mut [Watched<'_>], timeout: Option<Duration>) -> io::Result<(usize, bool)> {
    let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
    let count = files.len();
    let Some(first) = files.first().map(|watched| watched.file) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no file to wait for"));
    };
    if count > FILES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("at most {FILES_MAX} files can be waited for"),
        ));
    }
    let mut polled: [PollFd<'_>; FILES_MAX] = std::array::from_fn(|at| {
        let (file, wanted) = files.get(at).map_or((first, 0), |watched| (watched.file, watched.wanted));
        PollFd::from_borrowed_fd(file, flags(wanted))
    });
    let ready = match poll(&mut polled[..count], timeout.as_ref()) {
        Err(Errno::INTR) => return Ok((0, true)),
        ready => ready?,
    };
    for (watched, polled) in files.iter_mut().zip(&polled) {
        watched.ready = bits(polled.revents());
    }
    Ok((ready, false))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn wait_reports_the_ready_file() {
        let (source, sink) = io::pipe().expect("pipe");
        let (other, _kept) = io::pipe().expect("pipe");
        let list = || [Watched::new(other.as_fd(), Watched::IN), Watched::new(source.as_fd(), Watched::IN)];
        let mut files = list();
        assert_eq!(wait(&mut files, Some(Duration::ZERO)).expect("poll"), (0, false));
        io::Write::write_all(&mut &sink, b"x").expect("room");
        assert_eq!(wait(&mut files, None).expect("poll"), (1, false));
        assert_eq!(files.map(|file| file.ready), [0, Watched::IN]);
        drop(sink);
        let mut files = list();
        files[1].wanted = 0;
        assert_eq!(wait(&mut files, None).expect("poll"), (1, false), "a hang-up is always reported");
        assert!(wait(&mut [], None).is_err());
    }
}

//! How an end goes from process to process: by fork without doing anything, over a socket, and through exec.
//!
//! An end is its doorbell's descriptor and the memory's, and both must arrive. After exec the memory is found among the
//! process's own descriptors: its header names the doorbell.

use std::fs::File;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use headwater_os::descriptors::{self, Found};
use headwater_os::doorbell::Doorbell;

use super::end::{Access, End};
use super::region::{NAME, Region};
use crate::error::{Errno, Error, Result};
use crate::head::stream::Stream;
use crate::layout::{Fixed, Header};

impl Stream {
    /// Whether exec keeps this end open. The new program takes it up by [`Stream::from_fd`] or [`Stream::from_number`],
    /// for which it needs the number of the [descriptor](AsFd) alone, but the memory's descriptor must have been kept.
    ///
    /// # Errors
    /// `EINVAL` for a FIFO, which is opened by its name.
    pub fn set_inheritable(&self, inheritable: bool) -> Result<()> {
        self.refuse_fifo("opened by its name in the new program")?;
        for fd in self.end.doorbell().descriptors().chain([self.end.region.as_fd()]) {
            descriptors::set_inheritable(fd, inheritable)?;
        }
        Ok(())
    }

    /// The end behind a descriptor that came through exec, or that was made by dup(2) in this process.
    ///
    /// # Errors
    /// `ENOSTR` for one that is no end of a stream, or whose memory's descriptor was closed.
    pub fn from_fd(fd: OwnedFd) -> Result<Stream> {
        let no_stream = |why: &'static str| Error::new(Errno::Nostr, why);
        let doorbell = Doorbell::from_fd(fd).map_err(|_| no_stream("the descriptor is no stream"))?;
        let cookie = doorbell.cookie()?;
        let memory = descriptors::own()?.into_iter().find_map(|found| memory_of(found, cookie));
        let memory = memory.ok_or_else(|| {
            no_stream("the descriptor is no stream, or the descriptor of its memory was closed (see set_inheritable)")
        })?;
        Stream::of_parts(doorbell, memory)
    }

    /// The end behind a descriptor of that number, which stays open beside the handle's own.
    ///
    /// # Errors
    /// `EBADF` if there is none of that number; else as [`Stream::from_fd`].
    pub fn from_number(number: u32) -> Result<Stream> {
        let fd = descriptors::duplicate(number)
            .map_err(|_| Error::new(Errno::Badf, format!("there is no descriptor {number}")))?;
        Stream::from_fd(fd)
    }

    /// Sends this end over a local socket (SCM_RIGHTS), to be taken up there by [`Stream::receive_over`]. The sender keeps
    /// its handle.
    ///
    /// # Errors
    /// `EINVAL` for a FIFO, which is opened by its name; what the socket reports.
    pub fn send_over(&self, socket: impl AsFd) -> Result<()> {
        self.refuse_fifo("opened by its name in the other process")?;
        let files: Vec<BorrowedFd<'_>> = self.end.doorbell().descriptors().chain([self.end.region.as_fd()]).collect();
        Ok(descriptors::send(socket.as_fd(), &files)?)
    }

    /// Takes up an end that was sent over a local socket.
    ///
    /// # Errors
    /// `ENOSTR` for something else; `EPROTO` for a stream of another version; what the socket reports.
    pub fn receive_over(socket: impl AsFd) -> Result<Stream> {
        let files = descriptors::receive(socket.as_fd())?;
        let count = files.len();
        let [doorbell, memory] = <[OwnedFd; 2]>::try_from(files).map_err(|_| {
            Error::new(Errno::Nostr, format!("{count} descriptors came over the socket, and a stream's end has two"))
        })?;
        let doorbell =
            Doorbell::from_fd(doorbell).map_err(|_| Error::new(Errno::Nostr, "the descriptor is no stream"))?;
        Stream::of_parts(doorbell, memory)
    }

    fn of_parts(doorbell: Doorbell, memory: OwnedFd) -> Result<Stream> {
        let region = Region::open(memory)?;
        let side = region.side_of(doorbell.cookie()?);
        let side = side.ok_or_else(|| Error::new(Errno::Nostr, "the descriptor and the memory are of two streams"))?;
        Ok(Stream::over(End::new(region, side, doorbell)))
    }

    fn refuse_fifo(&self, instead: &'static str) -> Result<()> {
        match self.end.access {
            Access::Both => Ok(()),
            _ => Err(Error::new(Errno::Inval, format!("a FIFO is not passed on, but {instead}"))),
        }
    }
}

/// The memory behind a descriptor, if it is that of the stream whose doorbell has this cookie.
fn memory_of(found: Found, cookie: u64) -> Option<OwnedFd> {
    let link = descriptors::link(found).ok()?;
    if !link.to_str()?.starts_with(&format!("/memfd:{NAME}")) {
        return None;
    }
    let memory = File::from(descriptors::duplicate(found.number).ok()?);
    let mut cookies = [[0; 8]; 2];
    for (at, bytes) in cookies.iter_mut().enumerate() {
        let offset = offset_of!(Fixed, header) + offset_of!(Header, cookies) + 8 * at;
        memory.read_exact_at(bytes, offset as u64).ok()?;
    }
    cookies.map(u64::from_ne_bytes).contains(&cookie).then(|| memory.into())
}

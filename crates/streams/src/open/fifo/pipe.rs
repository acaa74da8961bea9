//! The pipe of a FIFO's stream: finding it in another process, and the doorbell that an end makes of it.
//!
//! Readers have it open for reading and writers for writing, as with the kernel's FIFO, and poll's events
//! mean the same.
//!
//! It is known by its inode, which is a part of the memory's name: the maker of the stream has chosen that, and no member can
//! change it. It is opened only after a check that it is a pipe without a name, with that inode, which its owner has opened to all
//! users.

use std::io;
use std::os::fd::OwnedFd;

use headwater_os::descriptors::{self, Found, Pinned};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::OFlags;

use super::WRITER;
use crate::error::Result;

/// The pipe of a stream, checked and not opened. So this process does not count as a peer yet.
#[derive(Debug)]
pub(super) struct Pipe(Pinned);

/// How far from the memory's descriptor the pipe's is looked for before all of the process's descriptors are listed.
const NEAR: u32 = 16;

impl Pipe {
    /// The pipe of a process that has the stream's memory. None if it does not have it.
    pub fn of_process(memory: Found, inode: u64) -> Result<Option<Pipe>> {
        let number = memory.number;
        let near = (1..=NEAR).flat_map(|far| [number.checked_sub(far), number.checked_add(far)]).flatten();
        for number in near {
            if let Some(pipe) = pipe_at(Found { number, ..memory }, inode)? {
                return Ok(Some(pipe));
            }
        }
        for found in if_there(descriptors::of_process(memory.pid))?.unwrap_or_default() {
            if found.number.abs_diff(number) > NEAR
                && let Some(pipe) = pipe_at(found, inode)?
            {
                return Ok(Some(pipe));
            }
        }
        Ok(None)
    }

    /// The pipe behind a received file. None if it is something else.
    pub fn of_file(file: OwnedFd, inode: u64) -> Result<Option<Pipe>> {
        let pinned = Pinned::from_fd(file);
        let fits = pinned.is_shared_pipe(inode)?;
        Ok(fits.then_some(Pipe(pinned)))
    }

    /// Opens the doorbell of one side. Opening a pipe without a name does not wait.
    pub fn doorbell(&self, side: usize) -> Result<Doorbell> {
        let flags = if side == WRITER { OFlags::WRONLY } else { OFlags::RDONLY };
        Ok(Doorbell::from_pipe(self.0.open(flags | OFlags::NONBLOCK)?)?)
    }
}

fn pipe_at(found: Found, inode: u64) -> Result<Option<Pipe>> {
    let Some(pinned) = if_there(found.pin())? else { return Ok(None) };
    let fits = if_there(pinned.is_shared_pipe(inode))?.unwrap_or(false);
    Ok(fits.then_some(Pipe(pinned)))
}

/// The result for a file that another process may close, or hide, at any time: None then. An error means that this
/// process has no descriptor left.
pub(super) fn if_there<T>(result: io::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE | ENOMEM)) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

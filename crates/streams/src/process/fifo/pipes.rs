//! The pipes of a FIFO's stream: where another process has them, and the doorbell that an end makes of them.
//!
//! A pipe is named by its inode in the stream's header, which any member may overwrite. So nothing is opened before it has been
//! seen that it is a pipe without a name, of that inode, which its owner has opened to all users.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use headwater_os::descriptors::{self, Found, Pinned};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::OFlags;

use super::{READER, WRITER};
use crate::error::Result;
use crate::process::region::Region;

/// The pipes of a stream, the writers' and the readers', checked and not opened. So nobody takes this process for a peer yet.
#[derive(Debug)]
pub(super) struct Pipes([Pinned; 2]);

/// How far from the memory's descriptor the pipes' are looked for before all of the process's descriptors are listed.
const NEAR: u32 = 16;

impl Pipes {
    /// Those of a process that has the stream's memory. None if it does not have both.
    pub fn of_process(memory: Found, region: &Region) -> Result<Option<Pipes>> {
        let Some(writers) = pipe_of(memory, inode(region, WRITER))? else { return Ok(None) };
        let Some(readers) = pipe_of(memory, inode(region, READER))? else { return Ok(None) };
        Ok(Some(Pipes([writers, readers])))
    }

    /// What somebody has sent as such. None if it is something else.
    pub fn of_files(files: [OwnedFd; 2], region: &Region) -> Result<Option<Pipes>> {
        let pipes = files.map(Pinned::of);
        for end in [WRITER, READER] {
            if !pipes[end].is_shared_pipe(inode(region, end))? {
                return Ok(None);
            }
        }
        Ok(Some(Pipes(pipes)))
    }

    /// Opens the doorbell of one side.
    pub fn doorbell(&self, side: usize) -> Result<Doorbell> {
        let own = self.0[side].open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        // Who has the other end's pipe open passes for a peer of it.
        let other = self.0[1 - side].open(OFlags::RDWR | OFlags::NONBLOCK)?;
        Ok(Doorbell::of_pipes(own, other)?)
    }
}

/// The pipe by which an end is known.
fn inode(region: &Region, end: usize) -> u64 {
    region.fixed.header.0.cookies[end].load(Ordering::Relaxed)
}

/// A pipe of the process that has the memory, found by its inode.
fn pipe_of(memory: Found, inode: u64) -> Result<Option<Pinned>> {
    let number = memory.number;
    let near = (1..=NEAR).flat_map(|far| [number.checked_add(far), number.checked_sub(far)]).flatten();
    for number in near {
        if let Some(pipe) = pipe_at(Found { number, ..memory }, inode)? {
            return Ok(Some(pipe));
        }
    }
    for found in if_there(descriptors::of(memory.pid))?.unwrap_or_default() {
        if found.number.abs_diff(number) > NEAR
            && let Some(pipe) = pipe_at(found, inode)?
        {
            return Ok(Some(pipe));
        }
    }
    Ok(None)
}

fn pipe_at(found: Found, inode: u64) -> Result<Option<Pinned>> {
    let Some(pinned) = if_there(found.pin())? else { return Ok(None) };
    let fits = if_there(pinned.is_shared_pipe(inode))?.unwrap_or(false);
    Ok(fits.then_some(pinned))
}

/// What another process may close, or hide, at any time. Errors are those of this process: that it has no descriptor left.
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

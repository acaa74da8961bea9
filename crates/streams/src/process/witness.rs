//! The witness of a stream: a pair of connected sockets, both ends of which each process of the stream has and no other process.
//!
//! A process that closes its copy of the one end sees at the other whether it was the last. The doorbell shows the same of a
//! stream whose driver does not pair streams; of one that has a partner, the doorbell's other end is with the partner.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os::doorbell::Doorbell;

use crate::error::Result;

/// Both ends.
#[derive(Debug)]
pub(crate) struct Witness {
    near: Doorbell,
    far: Doorbell,
}

impl Witness {
    pub fn pair() -> Result<Witness> {
        let (near, far) = Doorbell::pair()?;
        Ok(Witness { near, far })
    }

    /// Of descriptors from elsewhere, in the order of [`Witness::descriptors`].
    pub fn of([near, far]: [OwnedFd; 2]) -> Result<Witness> {
        Ok(Witness { near: Doorbell::from_fd(near)?, far: Doorbell::from_fd(far)? })
    }

    /// By which numbers the kernel knows the ends.
    pub fn cookies(&self) -> Result<[u64; 2]> {
        Ok([self.near.cookie()?, self.far.cookie()?])
    }

    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.near.as_fd(), self.far.as_fd()]
    }

    /// Closes the one end: the other one is alone if no other process has the stream.
    pub fn into_far(self) -> Doorbell {
        self.far
    }
}

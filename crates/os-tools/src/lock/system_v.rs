//! A System V semaphore: a set of one, without a key.
//!
//! A set outlives the processes that use it. Its maker removes it on drop; a maker that can be killed makes it in an
//! IPC namespace of its own ([`crate::namespace::private_ipc`]), with which it dies.

use std::io;

use super::{check_call, uninterrupted};

/// Whether the kernel takes an operation back when its process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// No: a process that dies in between leaves the others waiting.
    Never,
    /// Yes (`SEM_UNDO`), for which the kernel keeps account with each operation.
    AtExit,
}

/// A semaphore of the kernel.
#[derive(Debug)]
pub struct SystemVSemaphore {
    pub(super) id: libc::c_int,
    flags: libc::c_short,
    /// The process that made it, and that removes it.
    maker: u32,
}

impl SystemVSemaphore {
    /// A semaphore with the value `initial`, which children forked later share.
    ///
    /// # Errors
    /// What `semget(2)` or `semctl(2)` reports: `ENOSPC` at the limit of sets, `ERANGE` for too large a value,
    /// `ENOSYS` in a kernel without them.
    pub fn new(initial: u16, undo: Undo) -> io::Result<SystemVSemaphore> {
        // SAFETY: takes numbers and touches no memory.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
        check_call(id)?;
        let flags = match undo {
            Undo::Never => 0,
            Undo::AtExit => libc::SEM_UNDO as libc::c_short,
        };
        let semaphore = SystemVSemaphore { id, flags, maker: std::process::id() };
        // SAFETY: SETVAL reads the `int` of its argument union, which is passed like a plain int.
        check_call(unsafe { libc::semctl(id, 0, libc::SETVAL, libc::c_int::from(initial)) })?;
        Ok(semaphore)
    }

    /// Waits until the value is above 0 and takes 1.
    ///
    /// # Errors
    /// What `semop(2)` reports: `EIDRM` or `EINVAL` once it is removed.
    #[inline]
    pub fn wait(&self) -> io::Result<()> {
        self.operate(-1)
    }

    /// Adds 1 and wakes a waiter.
    ///
    /// # Errors
    /// As [`SystemVSemaphore::wait`], and `ERANGE`.
    #[inline]
    pub fn post(&self) -> io::Result<()> {
        self.operate(1)
    }

    #[inline]
    fn operate(&self, change: libc::c_short) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: change, sem_flg: self.flags };
        // SAFETY: one valid operation, read during the call.
        uninterrupted(|| unsafe { libc::semop(self.id, &mut operation, 1) })
    }
}

impl Drop for SystemVSemaphore {
    fn drop(&mut self) {
        if std::process::id() == self.maker {
            // SAFETY: IPC_RMID takes no argument; the id is ours until here.
            unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
        }
    }
}

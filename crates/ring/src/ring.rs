//! A byte stream from one process to another through a window of shared bytes: single producer, single consumer.
//!
//! The sender copies bytes in and publishes them by one Release store of `tail`; the receiver copies them out and gives
//! the room back by one Release store of `head`. Each keeps the other's index as it last saw it and looks again only
//! when that is not enough, so that the cache lines of the indices travel as seldom as possible. After publishing, each
//! looks whether the other sleeps (`parker`).
//!
//! A half belongs to the process that attaches it, by [`Sender::attach`] or by its first use. Until then it has no
//! owner: the parent can drop a pair made before a fork, and each child drops the half that it does not use, without
//! effect on the stream. Dropping an attached half closes it. See docs/decisions/0002-ring.md.

pub(crate) mod receiver;
pub(crate) mod sender;

use std::io;

use receiver::Receiver;
use sender::Sender;

use crate::Region;
use crate::wait::Wait;

/// Makes a ring with a window of that many bytes and returns its two halves, neither of which is attached yet.
///
/// Errors: `InvalidInput` unless the window is a power of two between [`WINDOW_MIN`](crate::WINDOW_MIN) and
/// [`WINDOW_MAX`](crate::WINDOW_MAX), else what the kernel reports.
pub fn pair(window_bytes: usize, wait: Wait) -> io::Result<(Sender, Receiver)> {
    let region = Region::create(window_bytes)?;
    Ok((Sender::over(region.clone(), wait), Receiver::over(region, wait)))
}

/// The state of a half.
#[derive(Debug, Clone, Copy)]
enum Standing {
    /// Not claimed by this half; its first use claims it.
    Unattached,
    /// Ours. Holds the process number, so that a forked child which drops its copy closes nothing.
    Attached { pid: u32 },
    /// The region contained an impossible value; the text names it. Nothing is read from it any more.
    Corrupt { pid: u32, why: &'static str },
}

impl Standing {
    /// Whether dropping the half in this process closes the end.
    fn is_ours(self) -> bool {
        match self {
            Standing::Unattached => false,
            Standing::Attached { pid } | Standing::Corrupt { pid, .. } => pid == std::process::id(),
        }
    }
}

/// Messages longer than this are copied and published in pieces of this size, so that the other end copies one piece
/// while we copy the next. At most a quarter of the window, else two ends would take turns.
fn piece(window: u64) -> usize {
    (window / 4).clamp(1, PIECE_MAX as u64) as usize
}

/// Half of the smallest first-level cache in use (32 KiB) holds one piece at its source and its target.
const PIECE_MAX: usize = 8 << 10;

#[cfg(all(test, not(loom)))]
mod tests;

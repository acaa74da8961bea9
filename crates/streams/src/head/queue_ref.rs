//! Entering a queue from outside of procedures, as a call on the stream does.

use headwater_os::clock::now_ns;
use headwater_shm::Limit;

use super::handle::Handle;
use crate::error::{Errno, Error, Result, fixed};
use crate::layout::DRIVER;
use crate::plumb::module::Side;
use crate::plumb::queue::{Queue, QueueRef};

/// How long [`QueueRef::with`] waits for another user of the stream.
const HELD_NS: u64 = 10_000_000;

impl QueueRef {
    /// Takes the queue's direction and calls `action` with the queue, as if it were a procedure; service procedures that it
    /// enables have run when this returns. It must not be called within a procedure of any stream: that would wait for itself, or for a
    /// process that waits for this one.
    ///
    /// # Errors
    /// `ENXIO` if this process has closed the stream, or no module is in that place; one that [is held](Error::is_held) if
    /// another user of the stream does not come out of its call within 10 ms, and then `action` was not called; those of `action`.
    #[doc = include_str!("../../doc/queue_local.md")]
    pub fn with<T>(&self, action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>) -> Result<T> {
        let endpoint = self.endpoint.upgrade();
        let endpoint = endpoint.ok_or_else(|| fixed!(Nxio, "the stream is closed in this process"))?;
        let mut handle = Handle::on(endpoint);
        handle.attach()?;
        // A driver's write side is the last of direction 0, whose first is end 0's.
        let end = if self.slot == DRIVER { 0 } else { self.end };
        let direction = if self.side == Side::Write { end } else { 1 - end };
        let outward = direction == handle.end.side;
        handle.end.set_limit(Limit::Until(now_ns() + HELD_NS));
        handle.run(outward, |run| {
            let at = run.chain.iter().position(|link| (link.end, link.slot) == (self.end, self.slot));
            let at = at.ok_or_else(|| Error::new(Errno::Nxio, "the module was popped"))?;
            action(&mut Queue { run, at })
        })
    }
}

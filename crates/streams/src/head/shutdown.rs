//! Closing one direction of a stream, for all handles of the end.

use std::net::Shutdown;
use std::sync::atomic::Ordering;

use super::handle::Handle;
use crate::error::{Result, fixed};
use crate::process::end::{Access, READS, WRITES};

impl Handle {
    pub(crate) fn shutdown(&mut self, direction: Shutdown) -> Result<()> {
        self.attach()?;
        if self.end.endpoint.access != Access::Both {
            return Err(fixed!(Inval, "an end of a FIFO has one direction, and is closed by dropping it"));
        }
        if self.end.region.driver.is_some() {
            return Err(fixed!(Inval, "a stream that ends in a driver has no direction to be closed alone"));
        }
        let (reads, writes) = match direction {
            Shutdown::Read => (READS, 0),
            Shutdown::Write => (0, WRITES),
            Shutdown::Both => (READS, WRITES),
        };
        // Release pairs with the Acquire loads in `End::shut_to_*`: earlier writes are visible.
        self.end.words().shut.fetch_or(reads | writes, Ordering::Release);
        // A call on the fast path checks everything once more.
        self.out.announce();
        self.back.announce();
        // The kernel shows it to pollers of the descriptors.
        self.end.doorbell().shutdown(direction)?;
        if writes != 0 {
            self.end.wake_readers();
            self.end.wake_own_writers()?;
        }
        if reads != 0 {
            self.end.wake_own_readers();
            self.wake_writers()?;
        }
        Ok(())
    }
}

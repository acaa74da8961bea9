//! Whether the CPU went to the other process in each round trip: the check of the operations that wake one.
//!
//! Usually a process that waits sleeps. But on one CPU the process that is woken may preempt the one that wakes it,
//! which then finds the answer there and does not sleep: the kernel counts that switch as involuntary.

use std::io;

use headwater_os_tools::usage::Usage;

/// Usage at the beginning of the check.
#[derive(Debug)]
pub struct Switched(Usage);

impl Switched {
    /// Round trips of the check.
    pub const CHECKED: u64 = 100;

    /// Before them.
    pub fn begin() -> Switched {
        Switched(Usage::of_process())
    }

    /// After them: this process must have left its CPU in at least half of them. Where the other is quick, an answer may be
    /// there before the sleep.
    ///
    /// # Errors
    /// With the number of switches, if not.
    pub fn end(self) -> io::Result<()> {
        let used = Usage::of_process().since(&self.0);
        match used.voluntary_switches + used.involuntary_switches {
            switches if switches >= Switched::CHECKED / 2 => Ok(()),
            switches => {
                Err(io::Error::other(format!("{} round trips, and only {switches} switches", Switched::CHECKED)))
            }
        }
    }
}

//! Checks that the CPU switches to the other process in each round trip. Used by the operations that wake a process.
//!
//! A waiting process usually sleeps. But on one CPU the woken process may preempt the one that woke it, which then
//! finds the answer and does not sleep: the kernel counts this switch as involuntary.

use std::io;

use headwater_os_tools::usage::Usage;

/// The resources that the process had used when the check began.
#[derive(Debug)]
pub struct SwitchCheck(Usage);

impl SwitchCheck {
    /// Number of round trips of a check.
    pub const CHECKED: u64 = 100;

    /// Call before the round trips.
    pub fn begin() -> SwitchCheck {
        SwitchCheck(Usage::of_process())
    }

    /// Call after the round trips. This process must have left its CPU in at least half of them: a quick peer may
    /// answer before this process sleeps.
    ///
    /// # Errors
    /// The number of switches, if there were too few.
    pub fn end(self) -> io::Result<()> {
        let used = Usage::of_process().since(&self.0);
        match used.voluntary_switches + used.involuntary_switches {
            switches if switches >= SwitchCheck::CHECKED / 2 => Ok(()),
            switches => {
                Err(io::Error::other(format!("{} round trips, and only {switches} switches", SwitchCheck::CHECKED)))
            }
        }
    }
}

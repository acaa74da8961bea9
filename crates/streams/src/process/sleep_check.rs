//! A check of the process that runs while one of its calls sleeps on a doorbell. The C library sets it: a program may close a
//! descriptor by a system call of its own, which no library sees, and then wait for the effect.
//!
//! The waits of `head::wait` call it. It is never called with a lock of the stream held.

use std::time::Duration;

use headwater_os::set_once::SetOnce;

/// What runs. Returns when it is due again in the same sleep; None: not before the next one.
pub(crate) type Check = fn() -> Option<Duration>;

static CHECK: SetOnce<Check> = SetOnce::new();

/// How long a call sleeps before the first check.
const FIRST_NS: u64 = 20_000_000;

/// Has a check run in each call that sleeps for longer than some milliseconds. It may close streams, also the one whose call sleeps. The
/// first one stays; false for another.
#[doc(hidden)]
pub fn set_sleep_check(check: fn() -> Option<Duration>) -> bool {
    std::ptr::fn_addr_eq(*CHECK.set(check), check)
}

/// The checks of one sleep.
#[derive(Debug)]
pub(crate) struct Checks {
    /// When the next one is due; `u64::MAX`: never.
    pub due_ns: u64,
}

impl Checks {
    /// Of a sleep that begins now.
    pub fn from(now_ns: u64) -> Checks {
        Checks { due_ns: if CHECK.get().is_some() { now_ns + FIRST_NS } else { u64::MAX } }
    }

    /// Runs the check if it is due.
    pub fn run(&mut self, now_ns: u64) {
        if self.due_ns > now_ns {
            return;
        }
        let again = CHECK.get().and_then(|check| check());
        self.due_ns = again.map_or(u64::MAX, |after| now_ns + after.as_nanos() as u64);
    }
}

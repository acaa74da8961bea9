//! A thread's own log, where there are no restartable sequences.

use std::cell::Cell;

use headwater_os::fork;
use headwater_shm::logs::{Log, Logs};

/// The log that a thread has claimed.
pub(super) struct Own {
    log: Cell<Option<Claimed>>,
    /// The thread is at an entry: what a signal handler writes meanwhile has no place.
    busy: Cell<bool>,
}

struct Claimed {
    log: Log,
    /// The process that has claimed it: a forked child has another thread than the one whose log it is.
    epoch: u64,
}

impl Own {
    pub const fn new() -> Own {
        Own { log: Cell::new(None), busy: Cell::new(false) }
    }

    /// Appends an entry to this thread's log; claims one of `logs` first if it has none. False if it must be counted as
    /// lost elsewhere.
    pub fn append(&self, logs: &Logs, time: impl Fn() -> u64, words: &[u64]) -> bool {
        if self.busy.replace(true) {
            return false;
        }
        let claimed = self.log.take().filter(|claimed| claimed.epoch == fork::epoch()).or_else(|| claim(logs));
        let has_log = claimed.is_some();
        if let Some(claimed) = &claimed {
            // Refused and counted there, if it is full.
            claimed.log.append_alone(time(), words);
        }
        self.log.set(claimed);
        self.busy.set(false);
        has_log
    }
}

fn claim(logs: &Logs) -> Option<Claimed> {
    let owner = u64::from(headwater_os::thread::id());
    let log = (0..logs.len()).filter_map(|number| logs.log(number)).find(|log| log.claim(owner))?;
    Some(Claimed { log, epoch: fork::epoch() })
}

impl Drop for Own {
    /// The thread ends: another may go on with its log.
    fn drop(&mut self) {
        if let Some(claimed) = self.log.take().filter(|claimed| claimed.epoch == fork::epoch()) {
            claimed.log.give_back();
        }
    }
}

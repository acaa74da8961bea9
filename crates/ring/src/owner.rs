//! The process that holds an end, and whether it is still alive.
//!
//! A process claims an end by writing its identity once into the owner's words. The other end, after a long wait, asks
//! the kernel about that process. A process that is killed therefore ends the stream within the time between two such
//! checks (see `wait`), however it dies. A process in another PID namespace is never found to be dead.

use headwater_shm::sync::{Ordering, ProcessId};

use crate::error::Error;
use crate::layout::End;

/// Makes the calling process the owner of an end. Returns its id.
///
/// Errors: [`Error::InUse`] if it has an owner, even a dead one: it is not known how far that process came.
pub(crate) fn claim(end: &End) -> Result<ProcessId, Error> {
    let own = ProcessId::own();
    // AcqRel pairs with the same exchange of a rival and with the Acquire load in `has_ended`.
    match end.owner.compare_exchange(0, own.place(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            end.birth.store(own.birth(), Ordering::Release);
            Ok(own)
        }
        Err(place) => Err(Error::InUse(ProcessId::from_words(place, 0, 0).pid())),
    }
}

/// True if the process that holds `end` has ended. An end that no process has claimed yet has not.
pub(crate) fn has_ended(end: &End) -> bool {
    match end.owner.load(Ordering::Acquire) {
        0 => false,
        place => ProcessId::from_words(place, end.birth.load(Ordering::Acquire), 0).has_ended(),
    }
}

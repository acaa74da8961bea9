//! Who holds an end, and whether that process still lives.
//!
//! A process claims an end by writing its id once into the owner word. The other end, when it has waited long in vain,
//! opens a pidfd for that id and asks the kernel. A process that is killed therefore ends the stream within the time
//! between two such looks (see `wait`), however it dies.
//!
//! It trusts the word no further than one read: the first id found is kept.

use crate::error::Error;
use crate::layout::End;
use crate::sync::{Ordering, ProcessId, Watch};

/// Makes the calling process the owner of an end. Returns its id.
///
/// Errors: [`Error::InUse`] if it has an owner, even a dead one: nobody knows how far that one came.
pub(crate) fn claim(end: &End) -> Result<ProcessId, Error> {
    let own = ProcessId::own();
    // AcqRel pairs with the same exchange of a rival and with the Acquire load in `Peer::has_ended`.
    match end.owner.compare_exchange(0, own.word(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(own),
        Err(word) => Err(Error::InUse(ProcessId::from_word(word).pid())),
    }
}

/// The other end's process, as far as we have had to look.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    watch: Option<Watch>,
}

impl Peer {
    /// True if the process that holds `end` has ended. An end that nobody has claimed yet has not.
    ///
    /// Errors: no descriptor left for the pidfd, or a kernel without (before 5.3).
    pub(crate) fn has_ended(&mut self, end: &End) -> Result<bool, Error> {
        let watch = match &self.watch {
            Some(watch) => watch,
            None => match end.owner.load(Ordering::Acquire) {
                0 => return Ok(false),
                word => self.watch.insert(Watch::begin(ProcessId::from_word(word))?),
            },
        };
        Ok(watch.has_ended()?)
    }
}

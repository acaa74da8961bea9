//! How the answer to an ioctl reaches the caller that waits for it: kept in the store of the direction that leads to the
//! caller's head, in a separate queue, and announced by a word to sleep on.
//!
//! The one that delivers runs in any process, under the writer's lock of that direction. It keeps an answer only to the
//! ioctl that is under way, and one at a time, so that answers that are never taken do not use up the store.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::futex::{self, Slept};
use headwater_shm::probe;

use crate::error::{Errno, Result};
use crate::layout::EndWords;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;
use crate::queue::store::{ANSWERS, Which};
use crate::sched::{Reply, Run};

/// In `EndWords::answers`: a process sleeps on the word.
const ASLEEP: u32 = 1;

/// The number of an end's ioctl lock among those of the stream: behind three of each direction.
pub(crate) fn lock_index(side: usize) -> u32 {
    6 + side as u32
}

/// Wakes the process in an ioctl at an end, to look again.
pub(crate) fn tell(end: &EndWords) {
    let changed = |word: u32| Some((word & !ASLEEP).wrapping_add(2));
    // AcqRel pairs with the load and the exchange of the waiter: it sees the announced message, or the word has changed
    // before it sleeps.
    let before = end.answers.fetch_update(Ordering::AcqRel, Ordering::Relaxed, changed).unwrap_or(ASLEEP);
    probe::at();
    if before & ASLEEP != 0 {
        // A sleeper looks again by itself, should this fail, or we die before it.
        let _ = futex::wake(&end.answers, u32::MAX);
    }
}

/// Sleeps until an announcement after the word was `seen`.
pub(crate) fn sleep(end: &EndWords, seen: u32, longest: Duration) -> Result<Slept> {
    let asleep = seen | ASLEEP;
    if end.answers.compare_exchange(seen, asleep, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return Ok(Slept::Changed);
    }
    Ok(futex::wait(&end.answers, asleep, Some(longest))?)
}

impl Run<'_, '_> {
    /// An answer has come to the head at the end of this direction: an M_IOCACK, M_IOCNAK, M_COPYIN or M_COPYOUT.
    pub(crate) fn deliver_answer(&mut self, message: &Message<'_>) -> Result<()> {
        let Ok(block) = IoctlBlock::of(message) else { return Ok(()) };
        let end = &self.region.fixed.ends[1 - self.direction].0;
        // Acquire pairs with the Release of the process that begins an ioctl.
        let awaited = end.ioctl.load(Ordering::Acquire);
        if awaited == 0 || block.id != awaited {
            self.refuse_late_copy(message.header.kind, block);
            return Ok(());
        }
        self.with_store(|store| store.flush(ANSWERS, Which::All))?;
        self.store_message(ANSWERS, message, |store, queue, message| store.put(queue, message))?;
        probe::at();
        tell(end);
        Ok(())
    }

    /// No process waits for the ioctl any more: a module that asks for its data gets an error, and gives it up.
    fn refuse_late_copy(&mut self, kind: Kind, block: IoctlBlock) {
        if matches!(kind, Kind::CopyIn | Kind::CopyOut) {
            let error = Errno::Time.number();
            let message = IoctlBlock { error, value: 0, ..block }.message(Kind::IocData, None);
            self.effects.replies.push(Reply { from: None, message });
        }
    }

    /// An M_IOCTL, or an M_IOCDATA, has arrived at the far head of a pipe, which knows no ioctl.
    pub(crate) fn refuse_ioctl(&mut self, message: Message<'_>) {
        let Ok(block) = IoctlBlock::of(&message) else { return };
        let refusal = IoctlBlock { error: Errno::Inval.number(), ..block }.message(Kind::IocNak, None);
        self.effects.replies.push(Reply { from: None, message: refusal });
    }
}

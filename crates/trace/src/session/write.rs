//! Storing a record in the log of a session, and the attempts that this takes when the log is full.

use headwater_os::rseq::{self, Appended};

use super::{bit, count_outside, greeted, joined, own, refused, this_id, this_log};
use crate::region::Wait;

/// How often an event wakes the recorder before it is lost. Once is enough, unless a program overwrites the session's memory
/// all the time.
const WAKE_UPS_MAX: u32 = 8;

/// Writes a record of two to four words to a session's log, if the fast path applies; if it does not, only calls
/// `otherwise`. The words are whole but for the stamp and the thread's id, which goes to the upper half of the second
/// one.
#[inline(always)]
pub(crate) fn write_short<const N: usize>(tag: u8, mut words: [u64; N], otherwise: impl FnOnce()) {
    words[1] |= this_id::get();
    if let Some(here) = this_log::get()
        && here.tag == tag
    {
        here.log.append_short(words, otherwise);
    } else if let Some(own) = own::current(tag) {
        own.append_short(words, otherwise);
    } else {
        otherwise();
    }
}

/// Writes a record to the right log of a session: also for a thread that is new here, or was moved, or has no CPU's log.
/// The words are as those of [`write_short`], in any number.
pub(crate) fn write(tag: u8, words: &mut [u64]) {
    let Some(session) = joined(tag) else { return };
    if greeted::get() & bit(tag) == 0 {
        session.greet(tag);
    }
    words[1] |= this_id::get();
    let mut attempts = Attempts::of(tag);
    // In each turn but the last one, the scheduler has moved this thread meanwhile, the recorder was woken, or it has made
    // room.
    while let Some(here) = rseq::cpu().and_then(|cpu| session.here.get(cpu as usize)) {
        this_log::set(Some(here));
        match here.log.append(words) {
            Appended::Written => return,
            Appended::Elsewhere => {}
            Appended::Due if attempts.wake_recorder() => {}
            Appended::Due => return count_outside(tag),
            Appended::Full if attempts.wait_for_room() => {}
            Appended::Full if here.log.count_lost() => return refused(tag),
            // On the way to the count the thread was moved.
            Appended::Full => {}
        }
    }
    own::claim_and_append(&session.own, tag, words);
}

/// The attempts to store one record. All of it may be in a signal handler.
pub(super) struct Attempts {
    tag: u8,
    wake_ups: u32,
    wait: Wait,
}

impl Attempts {
    /// Before the first one, in the session of that tag.
    pub fn of(tag: u8) -> Attempts {
        Attempts { tag, wake_ups: 0, wait: Wait::default() }
    }

    /// After an append that was [`Appended::Due`]: wakes the recorder, whose log is as full as it wanted to know. Returns whether
    /// to append again.
    #[cold]
    #[inline(never)]
    pub fn wake_recorder(&mut self) -> bool {
        self.wake_ups += 1;
        let session = joined(self.tag).filter(|_| self.wake_ups <= WAKE_UPS_MAX);
        session.inspect(|session| session.region.wake_consumer()).is_some()
    }

    /// After an append that was [`Appended::Full`]: waits for the recorder, if the session wants that. Returns whether to append
    /// again.
    #[cold]
    #[inline(never)]
    pub fn wait_for_room(&mut self) -> bool {
        let may = joined(self.tag).is_some_and(|session| session.region.wait_for_room(&mut self.wait));
        if may {
            // The recorder asks anew after each copy.
            self.wake_ups = 0;
        }
        may
    }
}

//! Memory for data that is too large for the stack of a signal handler, which may have only a few kilobytes.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fork::epoch;

/// Words of memory for one user at a time. A signal handler may use them too, since the call does not wait.
///
/// ```
/// use headwater_os::scratch::Scratch;
///
/// static SCRATCH: Scratch<512> = Scratch::new();
///
/// let inner = SCRATCH.with(|words| {
///     words[0] = 7;
///     SCRATCH.with(|_| ())
/// });
/// assert_eq!(inner, Some(None), "it is in use");
/// ```
#[derive(Debug)]
pub struct Scratch<const WORDS: usize> {
    /// The [`epoch`] of the process, if a thread of it uses the words. If it is 0, or another epoch, they are free.
    owner: AtomicU64,
    words: UnsafeCell<[u64; WORDS]>,
}

// SAFETY: only the thread that has made itself the owner accesses the words.
unsafe impl<const WORDS: usize> Sync for Scratch<WORDS> {}

impl<const WORDS: usize> Scratch<WORDS> {
    /// Makes free words, which are 0.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Scratch<WORDS> {
        Scratch { owner: AtomicU64::new(0), words: UnsafeCell::new([0; WORDS]) }
    }

    /// Calls `action` with the words, which contain what their last user has stored. Returns `None` if a thread of this process
    /// uses them. If `action` panics, they stay in use. If `action` forks, the child must not use the words that it was given,
    /// because they count as free in the child.
    pub fn with<R>(&self, action: impl FnOnce(&mut [u64; WORDS]) -> R) -> Option<R> {
        let (here, owner) = (epoch(), self.owner.load(Ordering::Relaxed));
        // In a forked child the thread that has used them does not exist. Acquire pairs with the Release below.
        if owner == here || self.owner.compare_exchange(owner, here, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        // SAFETY: this thread is the owner, and gives no other reference away.
        let result = action(unsafe { &mut *self.words.get() });
        self.owner.store(0, Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    #[test]
    fn only_one_thread_has_the_words() {
        static SCRATCH: Scratch<64> = Scratch::new();
        let run = |mark: u64| {
            (0..20_000_u64).fold(0_u64, |had, _| {
                let is_whole = SCRATCH.with(|words| {
                    words.fill(mark);
                    words.iter().all(|word| *word == mark)
                });
                assert_ne!(is_whole, Some(false));
                had + u64::from(is_whole.is_some())
            })
        };
        let had: u64 = std::thread::scope(|scope| {
            [1, 2, 3]
                .map(|mark| scope.spawn(move || run(mark)))
                .map(|thread| thread.join().expect("no panic"))
                .iter()
                .sum()
        });
        assert!(had > 0);
    }

    #[test]
    fn words_are_free_in_a_child() {
        let Some(_alone) = run_in_own_process() else { return };
        static SCRATCH: Scratch<4> = Scratch::new();
        let status = SCRATCH.with(|_| {
            let mut child = Child::fork(|| i32::from(SCRATCH.with(|_| ()).is_none())).expect("fork");
            child.wait().expect("wait")
        });
        assert!(status.expect("free").success());
    }
}

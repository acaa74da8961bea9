//! A thread that sleeps on a word in shared memory (futex(2)), for a process that may not be in a call of the library when
//! another process changes the word. It needs no descriptor.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::background::Background;
use crate::futex;

/// How long the thread sleeps when futex(2) fails, and the interval at which it is woken until it ends.
const REST: Duration = Duration::from_millis(1);

/// Owns the thread. Dropping it ends the thread.
#[derive(Debug)]
pub struct WordWatch(Background);

/// The request to end the thread, and its answer. It is not in shared memory, where other processes could write to it.
#[derive(Debug, Default)]
struct End {
    is_requested: AtomicBool,
    has_ended: AtomicU32,
}

impl WordWatch {
    /// Starts a thread that calls `serve` once, and then after each change of the word that is followed by a [`futex::wake`].
    /// Other processes may write any value to the word: a change is only a reason to call `serve`.
    ///
    /// # Errors
    /// `EAGAIN` when the process has as many threads as it may.
    pub fn start<W>(word: W, serve: impl FnMut() + Send + 'static) -> io::Result<WordWatch>
    where
        W: Deref<Target = AtomicU32> + Clone + Send + Sync + 'static,
    {
        let end = Arc::new(End::default());
        let (watched, told) = (word.clone(), end.clone());
        Background::start_stopped_by(move || stop(&word, &end), move || watch(&watched, &told, serve)).map(WordWatch)
    }

    /// Returns whether the thread runs in this process. In a forked child it does not.
    pub fn is_here(&self) -> bool {
        self.0.is_here()
    }
}

fn watch(word: &AtomicU32, end: &End, mut serve: impl FnMut()) {
    loop {
        // Acquire: `serve` sees the stores before the change. A change after this load ends the wait.
        let seen = word.load(Ordering::Acquire);
        if end.is_requested.load(Ordering::Acquire) {
            break;
        }
        serve();
        if futex::wait(word, seen, None).is_err() {
            std::thread::sleep(REST);
        }
    }
    end.has_ended.store(1, Ordering::Release);
    let _ = futex::wake(&end.has_ended, 1);
}

/// Wakes the thread repeatedly until it has ended, because another process may restore the earlier value of the word.
fn stop(word: &AtomicU32, end: &End) {
    end.is_requested.store(true, Ordering::Release);
    while end.has_ended.load(Ordering::Acquire) == 0 {
        word.fetch_add(1, Ordering::AcqRel);
        let _ = futex::wake(word, u32::MAX);
        let _ = futex::wait(&end.has_ended, 0, Some(REST));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    fn until(what: impl Fn() -> bool) {
        let start = Instant::now();
        while !what() {
            assert!(start.elapsed() < Duration::from_secs(5));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn each_change_calls_serve() {
        let (word, served) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let count = served.clone();
        let watch =
            WordWatch::start(word.clone(), move || _ = count.fetch_add(1, Ordering::Relaxed)).expect("a thread");
        for expected in 1..5 {
            until(|| served.load(Ordering::Relaxed) == expected);
            word.fetch_add(1, Ordering::Release);
            futex::wake(&word, 1).expect("futex");
        }
        until(|| served.load(Ordering::Relaxed) == 5);
        drop(watch);
        assert_eq!((Arc::strong_count(&word), Arc::strong_count(&served)), (1, 1), "the thread is gone");
    }

    #[test]
    fn thread_ends_although_a_peer_restores_the_word() {
        let word = Arc::new(AtomicU32::new(7));
        let (hostile, over) = (word.clone(), Arc::new(AtomicBool::new(false)));
        let is_over = over.clone();
        let writer = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                hostile.store(7, Ordering::Relaxed);
            }
        });
        for _ in 0..50 {
            let start = Instant::now();
            drop(WordWatch::start(word.clone(), || ()).expect("a thread"));
            assert!(start.elapsed() < Duration::from_secs(5));
        }
        over.store(true, Ordering::Relaxed);
        writer.join().expect("no panic");
    }

    #[test]
    fn drop_in_a_forked_child_waits_for_no_thread() {
        let Some(_alone) = run_in_own_process() else { return };
        let mut watch = Some(WordWatch::start(Arc::new(AtomicU32::new(0)), || ()).expect("a thread"));
        let mut child = Child::fork(|| i32::from(watch.take().is_some_and(|watch| watch.is_here()))).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(watch.expect("the child's copy was dropped").is_here());
    }
}

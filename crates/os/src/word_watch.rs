//! A thread that sleeps on a word in shared memory, for a process that is not in a call of the library when another process changes
//! the word. It has no descriptor.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::background::Background;
use crate::futex;

/// How long the thread rests when it cannot wait, and how often it is woken until it ends.
const REST: Duration = Duration::from_millis(1);

/// The thread, until it is dropped.
#[derive(Debug)]
pub struct WordWatch(Background);

/// How the thread is told to end, and how it tells that it has. Not in the shared memory, where other processes write.
#[derive(Debug, Default)]
struct End {
    wanted: AtomicBool,
    is_there: AtomicU32,
}

impl WordWatch {
    /// Starts a thread that calls `serve` once, and then after each change of the word that is followed by a [`futex::wake`] of its
    /// sleepers. Other processes may write anything there: it is a reason to call `serve`, and nothing else.
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

    /// Whether the thread runs in this process: a forked child has none.
    pub fn is_here(&self) -> bool {
        self.0.is_here()
    }
}

fn watch(word: &AtomicU32, end: &End, mut serve: impl FnMut()) {
    loop {
        // Acquire: what was stored before the change is seen by `serve`; a change after this load ends the wait.
        let seen = word.load(Ordering::Acquire);
        if end.wanted.load(Ordering::Acquire) {
            break;
        }
        serve();
        if futex::wait(word, seen, None).is_err() {
            std::thread::sleep(REST);
        }
    }
    end.is_there.store(1, Ordering::Release);
    let _ = futex::wake(&end.is_there, 1);
}

/// Wakes the thread until it has ended: another process may write the earlier value to the word again.
fn stop(word: &AtomicU32, end: &End) {
    end.wanted.store(true, Ordering::Release);
    while end.is_there.load(Ordering::Acquire) == 0 {
        word.fetch_add(1, Ordering::AcqRel);
        let _ = futex::wake(word, u32::MAX);
        let _ = futex::wait(&end.is_there, 0, Some(REST));
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
    fn each_change_is_served_and_the_thread_has_ended_once_it_is_dropped() {
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
    fn the_thread_ends_though_another_process_keeps_the_word_as_it_was() {
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
    fn a_forked_child_has_no_thread_and_waits_for_none() {
        let Some(_alone) = run_in_own_process() else { return };
        let mut watch = Some(WordWatch::start(Arc::new(AtomicU32::new(0)), || ()).expect("a thread"));
        let mut child = Child::fork(|| i32::from(watch.take().is_some_and(|watch| watch.is_here()))).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(watch.expect("the child's copy was dropped").is_here());
    }
}

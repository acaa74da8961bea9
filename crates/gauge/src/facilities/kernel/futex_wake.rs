//! `futex-wake-rtt`: two processes wait in turn, each on its own futex word, and wake each other; the figure is the
//! round trip. Neither process spins, because the cost of a wake-up by the kernel is measured.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use headwater_os::child::Child;
use headwater_os::futex::{wait, wake};
use headwater_os_tools::shared::Shared;

use super::switch_check::SwitchCheck;
use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The futex words: `PING` is set by the process that asks, `PONG` by the one that answers. The unused words keep them
/// on different cache lines.
type Words = [AtomicU32; 64];
const PING: usize = 0;
const PONG: usize = 32;

/// The process that asks, and the process that answers.
#[derive(Debug)]
pub struct FutexWake {
    _answerer: Child,
    words: Shared<Words>,
    /// Number of the last question; it wraps.
    asked: u32,
}

impl Operation for FutexWake {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("futex-wake-rtt", "round trip of two processes that wait in futex_wait() and wake each other")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<FutexWake, Unavailable> {
        let words = Shared::new(std::array::from_fn(|_| AtomicU32::new(0)));
        let words: Shared<Words> = words.map_err(|error| Unavailable::call("mmap", error))?;
        let answerer = fork_peer(job, || {
            let mut question = 0;
            loop {
                question = sleep_beyond(&words[PING], question)?;
                set_and_wake(&words[PONG], question)?;
            }
        })?;
        Ok(FutexWake { _answerer: answerer, words, asked: 0 })
    }

    fn check(&mut self) -> io::Result<()> {
        let switched = SwitchCheck::begin();
        self.run(SwitchCheck::CHECKED)?;
        switched.end()
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            let question = self.asked.wrapping_add(1);
            set_and_wake(&self.words[PING], question)?;
            let answer = sleep_beyond(&self.words[PONG], self.asked)?;
            if answer != question {
                return Err(io::Error::other(format!("the answer to {question} was {answer}")));
            }
            self.asked = question;
        }
        Ok(())
    }
}

/// Sleeps until the word is no longer `old`, and returns its new value.
#[inline]
fn sleep_beyond(word: &AtomicU32, old: u32) -> io::Result<u32> {
    loop {
        wait(word, old, None)?;
        // Pairs with the Release store in `set_and_wake`.
        match word.load(Ordering::Acquire) {
            same if same == old => {}
            new => return Ok(new),
        }
    }
}

/// Changes the word and wakes the process that sleeps on it.
#[inline]
fn set_and_wake(word: &AtomicU32, value: u32) -> io::Result<()> {
    // Pairs with the Acquire load in `sleep_beyond`.
    word.store(value, Ordering::Release);
    wake(word, 1)?;
    Ok(())
}

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{Slept, wait, wake};
use crate::memory::SharedMemory;

#[test]
fn wait_on_a_changed_word_returns_at_once() {
    let word = AtomicU32::new(7);
    assert_eq!(wait(&word, 8, None).expect("wait"), Slept::Changed);
}

#[test]
fn wait_sleeps_until_the_timeout() {
    let word = AtomicU32::new(7);
    let start = Instant::now();
    assert_eq!(wait(&word, 7, Some(Duration::from_millis(20))).expect("wait"), Slept::TimedOut);
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(wake(&word, u32::MAX).expect("wake"), 0, "no thread sleeps");
}

/// The two mappings have different addresses. A private futex would not work across them.
#[test]
fn wake_works_through_another_mapping() {
    let memory = SharedMemory::create("hw-test", 4096).expect("create");
    let other = SharedMemory::from_fd(memory.as_fd().try_clone_to_owned().expect("dup"), 4096).expect("attach");
    let sleeper = std::thread::spawn(move || {
        let word: &AtomicU32 = other.get(0).expect("inside");
        while word.load(Ordering::Acquire) == 0 {
            assert_ne!(wait(word, 0, Some(Duration::from_secs(20))).expect("wait"), Slept::TimedOut);
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    let word: &AtomicU32 = memory.get(0).expect("inside");
    // Release pairs with the sleeper's Acquire.
    word.store(1, Ordering::Release);
    wake(word, 1).expect("wake");
    sleeper.join().expect("the sleeper saw the change");
}

#[test]
fn signal_ends_a_nap() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: installs a handler that does nothing, for a signal that nothing else here uses.
    unsafe { libc::signal(libc::SIGUSR1, nothing as extern "C" fn(libc::c_int) as usize) };
    assert_eq!(super::nap(Duration::from_millis(1)).expect("futex"), Slept::TimedOut);
    let (tell, told) = std::sync::mpsc::channel();
    let sleeper = std::thread::spawn(move || {
        // SAFETY: no arguments, always succeeds.
        tell.send(unsafe { libc::pthread_self() }).expect("the test waits");
        super::nap(Duration::from_secs(60)).expect("futex")
    });
    let thread = told.recv().expect("it runs");
    while !sleeper.is_finished() {
        std::thread::sleep(Duration::from_millis(5));
        // SAFETY: the thread has not been joined, so its number is valid.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
    }
    assert_eq!(sleeper.join().expect("sleeper"), Slept::Interrupted);
}

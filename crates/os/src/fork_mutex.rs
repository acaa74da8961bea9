//! A mutex that is never locked in a new child of fork(3).

use std::sync::{Mutex, PoisonError, TryLockError};

use crate::fork::held_off;

/// A value that the threads of a process share. It is locked only in [`held_off`], so fork(3) waits until it is free. Therefore a
/// child never waits for a thread that it does not have, and never finds a value that is half changed.
#[derive(Debug, Default)]
pub struct ForkMutex<T>(Mutex<T>);

impl<T> ForkMutex<T> {
    /// Makes an unlocked mutex.
    pub const fn new(value: T) -> ForkMutex<T> {
        ForkMutex(Mutex::new(value))
    }

    /// Calls `action` with exclusive access to the value. The rules of [`held_off`] apply to `action`, and it must not lock the
    /// same mutex. If `action` panics, the value stays as it is, and the next action gets it.
    pub fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        held_off(|| action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Like [`ForkMutex::with`], but returns `None` if another thread has the value.
    pub fn try_with<R>(&self, action: impl FnOnce(&mut T) -> R) -> Option<R> {
        held_off(|| {
            let mut value = match self.0.try_lock() {
                Ok(value) => value,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            Some(action(&mut value))
        })
    }

    /// Returns the value without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    /// The number of children that a test forks, and the longest time that one may take.
    const CHILDREN: usize = 300;
    const CHILD_MAX: Duration = Duration::from_secs(60);

    #[test]
    fn child_finds_the_mutex_free_and_the_value_whole() {
        let Some(_alone) = run_in_own_process() else { return };
        let pair = Arc::new(ForkMutex::new((0_u64, 0_u64)));
        let is_over = Arc::new(AtomicBool::new(false));
        let changer = std::thread::spawn({
            let (pair, is_over) = (pair.clone(), is_over.clone());
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    pair.with(|(one, other)| {
                        *one += 1;
                        std::thread::yield_now();
                        *other += 1;
                    });
                }
            }
        });
        for number in 0..CHILDREN {
            let mut child = Child::fork(|| pair.with(|(one, other)| i32::from(one != other))).expect("fork");
            let since = Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().expect("wait") {
                    break status;
                }
                assert!(since.elapsed() < CHILD_MAX, "child {number} waits for a thread that it does not have");
                std::thread::sleep(Duration::from_micros(100));
            };
            assert!(status.success(), "child {number} has found a value that is half changed");
        }
        is_over.store(true, Ordering::Relaxed);
        changer.join().expect("no panic");
    }

    #[test]
    fn value_is_usable_after_a_panic() {
        let mut value = ForkMutex::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            value.with(|value| {
                *value = 2;
                panic!("as asked");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(value.with(|value| *value), 2);
        assert_eq!(value.try_with(|value| *value), Some(2));
        value.with(|_| assert_eq!(value.try_with(|value| *value), None, "it is locked"));
        assert_eq!(*value.get_mut(), 2);
    }
}

//! A background thread that ends when the value that owns it is dropped. A forked child has a copy of the value, but not the
//! thread.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::files;
use crate::fork::{self, Epoch};
use crate::thread::{self, Thread};

/// Owns the thread. Dropping it ends the thread. Drop it before the values that the thread uses.
#[derive(Debug)]
pub struct Background {
    stop: Stop,
    thread: Option<Thread>,
    /// Set if the thread may enter [`fork::held_off`] during a fork, because the thread that waits for its end is in there.
    lent: Arc<AtomicBool>,
    /// The id of the thread, once it runs.
    id: Arc<AtomicU32>,
    /// The fork epoch of the thread's process.
    epoch: u64,
    epoch_word: Epoch,
}

/// The way in which the thread is asked to end.
enum Stop {
    /// By a byte in a pipe. This value owns the reading end too, which the thread polls, so that a forked child closes its
    /// copy.
    Byte { stop: OwnedFd, _stopped: OwnedFd },
    /// By a call of the function.
    Call(Box<dyn Fn() + Send + Sync>),
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Stop::Byte { .. }) { "Byte" } else { "Call" })
    }
}

impl Background {
    /// Starts a thread that runs `body`. `body` must return soon after its argument has become readable. If `body` drops this
    /// value itself, it must not use the argument afterwards.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; `EAGAIN` when the process has as many threads as it may.
    pub fn start(body: impl FnOnce(BorrowedFd<'_>) + Send + 'static) -> io::Result<Background> {
        let (stopped, stop) = files::pipe()?;
        let fd = stopped.as_raw_fd();
        Background::run(Stop::Byte { stop, _stopped: stopped }, move || {
            // SAFETY: the drop closes the descriptor after this thread has ended: the byte that ends it fits into the empty pipe.
            // Or this thread closes it, and then does not use it any more.
            body(unsafe { BorrowedFd::borrow_raw(fd) });
        })
    }

    /// Starts a thread that runs `body`. `body` must return soon after a call of `stop`.
    ///
    /// # Errors
    /// `EAGAIN` when the process has as many threads as it may.
    pub(crate) fn start_stopped_by(
        stop: impl Fn() + Send + Sync + 'static,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<Background> {
        Background::run(Stop::Call(Box::new(stop)), body)
    }

    fn run(stop: Stop, body: impl FnOnce() + Send + 'static) -> io::Result<Background> {
        let id = Arc::new(AtomicU32::new(0));
        let own = id.clone();
        let lent = Arc::new(AtomicBool::new(false));
        let may_be_lent = lent.clone();
        let thread = Thread::start(move || {
            own.store(thread::id(), Ordering::Relaxed);
            drop(own);
            fork::may_be_lent(&may_be_lent, body);
        })?;
        let (epoch, epoch_word) = (fork::epoch(), fork::word());
        Ok(Background { stop, thread: Some(thread), lent, id, epoch, epoch_word })
    }

    /// Returns whether the thread runs in this process. In a forked child it does not.
    pub fn is_here(&self) -> bool {
        self.epoch_word.is(self.epoch)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take().filter(|_| self.is_here()) else { return };
        // The thread may drop this value itself, and must not wait for its own end.
        let is_own = self.id.load(Ordering::Relaxed) == thread::id();
        // Otherwise the thread could wait for a fork, which waits for the calling thread.
        self.lent.store(fork::is_held_off(), Ordering::Release);
        if is_own {
            return;
        }
        match &self.stop {
            Stop::Byte { stop, .. } if files::write_byte(stop).is_err() => return,
            Stop::Byte { .. } => {}
            Stop::Call(stop) => stop(),
        }
        thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;
    use crate::readiness::{self, Watched};

    fn wait_for(stopped: BorrowedFd<'_>) {
        while readiness::wait(&mut [Watched::new(stopped, Watched::IN)], None).expect("poll").0 == 0 {}
    }

    #[test]
    fn drop_waits_for_the_end_of_the_thread() {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let background = Background::start(move |stopped| {
            wait_for(stopped);
            std::thread::sleep(Duration::from_millis(30));
            end.store(true, Ordering::Relaxed);
        })
        .expect("a thread");
        assert!(background.is_here() && !ended.load(Ordering::Relaxed));
        drop(background);
        assert!(ended.load(Ordering::Relaxed));
    }

    #[test]
    fn drop_in_a_forked_child_waits_for_no_thread() {
        let Some(_alone) = run_in_own_process() else { return };
        let mut background = Some(Background::start(wait_for).expect("a thread"));
        let mut child = Child::fork(|| {
            let background = background.take().expect("there");
            let is_here = background.is_here();
            drop(background);
            i32::from(is_here)
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(background.expect("the child's copy was dropped").is_here());
    }

    #[test]
    fn thread_ends_while_a_fork_waits_for_its_owner() {
        let Some(_alone) = run_in_own_process() else { return };
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            fork::held_off(|| {
                let background = Background::start(|stopped| {
                    wait_for(stopped);
                    fork::held_off(|| ());
                })
                .expect("a thread");
                // The fork waits for this thread, which is in `held_off`.
                let forks = std::thread::spawn(|| drop(Child::fork(|| 0).expect("fork")));
                std::thread::sleep(Duration::from_millis(100));
                assert!(!forks.is_finished());
                drop(background);
                forks
            })
            .join()
            .expect("no panic");
            tell.send(()).expect("the test waits");
        });
        told.recv_timeout(Duration::from_secs(10)).expect("no deadlock");
    }
}

//! A thread that waits until the other end of a doorbell is gone, for a process that may not be in a call of the library then.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::background::Background;
use crate::doorbell::Doorbell;
use crate::fork::held_off;
use crate::readiness::{self, Watched};

/// How long the thread sleeps when poll(2) fails.
const REST: Duration = Duration::from_millis(10);

/// Owns the thread. Dropping it ends the thread. Drop it before the doorbell.
#[derive(Debug)]
pub struct HangupWatch(Background);

impl HangupWatch {
    /// Starts a thread that sleeps until every copy of the doorbell's other end is gone, and then calls `then`. If `then`
    /// returns a time, the thread calls it again after that time. While `then` runs, no other thread of the process completes
    /// a fork(3), so that no child inherits the locks and descriptors that `then` holds.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; `EAGAIN` when the process has as many threads as it may.
    pub fn start(
        doorbell: &Doorbell,
        then: impl FnMut() -> Option<Duration> + Send + 'static,
    ) -> io::Result<HangupWatch> {
        let fd = doorbell.as_fd().as_raw_fd();
        let watch = move |stopped: BorrowedFd<'_>| {
            // SAFETY: the doorbell is closed after this thread has ended, and this thread only polls the descriptor.
            let own = unsafe { BorrowedFd::borrow_raw(fd) };
            if is_hung_up(own, stopped) {
                repeat(then, stopped);
            }
        };
        Background::start(watch).map(HangupWatch)
    }

    /// Returns whether the thread runs in this process. In a forked child it does not.
    pub fn is_here(&self) -> bool {
        self.0.is_here()
    }
}

/// Waits until the other end is gone. Returns false if the thread must end.
fn is_hung_up(own: BorrowedFd<'_>, stopped: BorrowedFd<'_>) -> bool {
    loop {
        let mut polled = [Watched::new(own, 0), Watched::new(stopped, Watched::IN)];
        let waited = readiness::wait(&mut polled, None);
        let [own, stop] = polled.map(|watched| watched.ready);
        if stop != 0 || own & Watched::INVALID != 0 {
            return false;
        }
        if own & Watched::HUP != 0 {
            return true;
        }
        if own != 0 || waited.is_err() {
            std::thread::sleep(REST);
        }
    }
}

fn repeat(mut then: impl FnMut() -> Option<Duration>, stopped: BorrowedFd<'_>) {
    while let Some(time) = held_off(&mut then) {
        let mut polled = [Watched::new(stopped, Watched::IN)];
        if readiness::wait(&mut polled, Some(time)).is_err() {
            std::thread::sleep(REST);
        }
        if polled[0].ready != 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn hang_up_calls_then_until_it_returns_none() {
        let (near, far) = Doorbell::pair().expect("pair");
        let (tell, told) = mpsc::channel();
        let mut left = 3;
        let watch = HangupWatch::start(&near, move || {
            left -= 1;
            tell.send(left).expect("the test waits");
            (left > 0).then_some(Duration::from_millis(1))
        })
        .expect("a thread");
        assert!(watch.is_here());
        // A bell is not a hang-up.
        assert!(far.ring(1));
        assert!(told.recv_timeout(Duration::from_millis(30)).is_err());
        drop(far);
        assert_eq!([2, 1, 0].map(|_| told.recv_timeout(PATIENCE).expect("told")), [2, 1, 0]);
        assert_eq!(told.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected), "the thread has ended");
        drop(watch);
    }

    #[test]
    fn dropped_watch_calls_then_no_more() {
        let (near, far) = Doorbell::pair().expect("pair");
        let (tell, told) = mpsc::channel();
        let watch = HangupWatch::start(&near, move || {
            tell.send(()).expect("the test waits");
            Some(Duration::from_secs(1000))
        });
        drop(far);
        told.recv_timeout(PATIENCE).expect("told");
        drop(watch);
        assert!(told.recv().is_err());
    }
}

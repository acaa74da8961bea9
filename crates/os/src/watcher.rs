//! A thread that sleeps until one of several files is ready. For a process that is not in a call of the library, because its
//! program sleeps in its own event loop.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::background::Background;
use crate::clock::now_ns;
use crate::doorbell::OwnWatch;
use crate::fork::held_off;
use crate::readiness::{self, FILES_MAX, Watched};

/// How long the thread sleeps when poll(2) fails.
const REST: Duration = Duration::from_millis(10);

/// The files and the time limit of the thread's next sleep.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sleep {
    /// Descriptors, each with bits of poll(2). A descriptor may be closed while the thread sleeps. Then the thread wakes up
    /// without a reason.
    pub files: [Option<(RawFd, u16)>; FILES_MAX - 2],
    /// The latest time at which the thread wakes up, in nanoseconds of the monotonic clock.
    pub until_ns: Option<u64>,
}

impl Sleep {
    /// Makes a sleep of this length without files.
    pub fn after(time: Duration) -> Sleep {
        Sleep { until_ns: Some(now_ns().saturating_add(time.as_nanos() as u64)), ..Sleep::default() }
    }
}

/// Owns the thread. Dropping it ends the thread.
#[derive(Debug)]
pub struct Watcher {
    // The first field, so that the thread has ended before the watch is closed.
    thread: Background,
    /// Wakes the thread. This value owns it, and not the thread, so that a forked child closes its copy.
    _watch: OwnWatch,
}

impl Watcher {
    /// Starts a thread that calls `serve` again and again, until `serve` returns `None`. Between two calls the thread sleeps as
    /// the returned [`Sleep`] says. A nudge of the watched end wakes it. While `serve` runs, no other thread of the process
    /// completes a fork(3), so that no child inherits the locks and descriptors that `serve` holds.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; `EAGAIN` when the process has as many threads as it may.
    pub fn start(watch: OwnWatch, serve: impl FnMut() -> Option<Sleep> + Send + 'static) -> io::Result<Watcher> {
        let fd = watch.as_fd().as_raw_fd();
        let thread = Background::start(move |stopped| run(fd, stopped, serve))?;
        Ok(Watcher { thread, _watch: watch })
    }

    /// Returns whether the thread runs in this process. In a forked child it does not.
    pub fn is_here(&self) -> bool {
        self.thread.is_here()
    }
}

fn run(watch: RawFd, stopped: BorrowedFd<'_>, mut serve: impl FnMut() -> Option<Sleep>) {
    while let Some(sleep) = held_off(&mut serve) {
        // SAFETY: the watcher owns the descriptor, and closes it only after this thread has ended. Or this thread closes it within
        // `serve`, if `serve` was the last user of its stream; then `serve` returns None.
        let watch = ManuallyDrop::new(OwnWatch::from(unsafe { OwnedFd::from_raw_fd(watch) }));
        let mut polled = [Watched::new(watch.as_fd(), Watched::IN); FILES_MAX];
        polled[1] = Watched::new(stopped, Watched::IN);
        let mut count = 2;
        for (fd, wanted) in sleep.files.into_iter().flatten() {
            // SAFETY: the owner of the file may close the descriptor meanwhile, and another file may get it. The file is only
            // polled here, and any event is only a reason to call `serve` again.
            polled[count] = Watched::new(unsafe { BorrowedFd::borrow_raw(fd) }, wanted);
            count += 1;
        }
        let timeout = sleep.until_ns.map(|until_ns| Duration::from_nanos(until_ns.saturating_sub(now_ns())));
        if readiness::wait(&mut polled[..count], timeout).is_err() {
            std::thread::sleep(REST);
        }
        if polled[1].ready != 0 {
            return;
        }
        if polled[0].ready != 0 && watch.clear().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use super::*;
    use crate::doorbell::Doorbell;

    fn until(what: impl Fn() -> bool) {
        let start = Instant::now();
        while !what() {
            assert!(start.elapsed() < Duration::from_secs(5));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn files_nudges_and_time_wake_the_thread() {
        let (near, _far) = Doorbell::pair().expect("pair");
        let (source, sink) = io::pipe().expect("pipe");
        let rounds = Arc::new(AtomicU32::new(0));
        let next = Arc::new(Mutex::new(Sleep::default()));
        let watch = near.watch_own().expect("epoll").expect("of sockets");
        let (counted, planned) = (rounds.clone(), next.clone());
        let watcher = Watcher::start(watch, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(*planned.lock().expect("no panic"))
        })
        .expect("a thread");
        let count = || rounds.load(Ordering::Relaxed);
        until(|| count() == 1);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(count(), 1);
        next.lock().expect("no panic").files[0] = Some((source.as_raw_fd(), Watched::IN));
        near.nudge_own().expect("setsockopt");
        until(|| count() == 2);
        next.lock().expect("no panic").files[0] = None;
        io::Write::write_all(&mut &sink, b"x").expect("room");
        until(|| count() == 3);
        next.lock().expect("no panic").until_ns = Some(now_ns() + 1_000_000);
        near.nudge_own().expect("setsockopt");
        until(|| count() > 4);
        drop(watcher);
        let ended = count();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(count(), ended);
    }
}

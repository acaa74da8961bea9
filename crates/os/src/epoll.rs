//! Waits until one of several descriptors is ready, without keeping any of them open (epoll(7)); and a descriptor that another
//! thread makes ready.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use crate::own_numbers::settled;

/// What of a descriptor is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest {
    /// Something can be read, or the end was reached.
    pub to_read: bool,
    /// There is room to write, or the reader is gone.
    pub to_write: bool,
}

/// A descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Its number in the set.
    pub number: u64,
    /// For what; both, if it has ended.
    pub interest: Interest,
    /// Its other end is gone, or it has an error.
    pub has_ended: bool,
}

/// Descriptors that are waited for together, each under a number. It keeps none of them open: one that is closed is gone.
#[derive(Debug)]
pub struct Set(OwnedFd);

/// Events that one wait returns.
const EVENTS: usize = 64;

impl Set {
    /// An empty one.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn new() -> io::Result<Set> {
        Ok(Set(settled(epoll::create(CreateFlags::CLOEXEC)?)))
    }

    /// Waits for a descriptor from now on, under a number, or for something else of it than before.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn watch(&self, fd: BorrowedFd<'_>, number: u64, interest: Interest) -> io::Result<()> {
        let of = |on: bool, flag: EventFlags| if on { flag } else { EventFlags::empty() };
        let flags = of(interest.to_read, EventFlags::IN) | of(interest.to_write, EventFlags::OUT);
        // One that nothing is waited for tells of its end all the same.
        if flags.is_empty() {
            return self.forget(fd);
        }
        match epoll::modify(&self.0, fd, EventData::new_u64(number), flags) {
            Err(Errno::NOENT) => Ok(epoll::add(&self.0, fd, EventData::new_u64(number), flags)?),
            done => Ok(done?),
        }
    }

    /// Waits for a descriptor no longer.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn forget(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        match epoll::delete(&self.0, fd) {
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Sleeps until some are ready, or the time is over; a signal handler ends the sleep too. Returns those that are ready.
    ///
    /// # Errors
    /// The errors of epoll_wait(2).
    pub fn wait(&self, timeout: Duration) -> io::Result<Vec<Ready>> {
        let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        let mut events = Vec::<Event>::with_capacity(EVENTS);
        match epoll::wait(&self.0, rustix::buffer::spare_capacity(&mut events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = EventFlags::HUP | EventFlags::ERR;
        let ready = |event: &Event| {
            let flags = event.flags;
            let interest = Interest {
                to_read: flags.intersects(EventFlags::IN | ended),
                to_write: flags.intersects(EventFlags::OUT | ended),
            };
            Ready { number: event.data.u64(), interest, has_ended: flags.intersects(ended) }
        };
        Ok(events.iter().map(ready).collect())
    }
}

/// A descriptor that is ready to be read from when a thread says so.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// One that is not ready.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn new() -> io::Result<Waker> {
        Ok(Waker(settled(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Makes it ready, until [`Waker::clear`].
    pub fn wake(&self) {
        // It fails only when it is ready already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it not ready.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const READ: Interest = Interest { to_read: true, to_write: false };
    const WRITE: Interest = Interest { to_read: false, to_write: true };

    fn ready(number: u64, interest: Interest) -> Ready {
        Ready { number, interest, has_ended: false }
    }

    #[test]
    fn each_descriptor_is_told_by_its_own_readiness_until_it_is_closed() {
        let (reader, mut writer) = io::pipe().expect("pipe");
        let set = Set::new().expect("epoll");
        set.watch(reader.as_fd(), 1, READ).expect("epoll");
        let now = || set.wait(Duration::ZERO).expect("epoll");
        assert_eq!(now(), []);
        set.watch(writer.as_fd(), 2, WRITE).expect("epoll");
        assert_eq!(now(), [ready(2, WRITE)]);
        set.watch(writer.as_fd(), 2, Interest::default()).expect("epoll");
        writer.write_all(b"x").expect("room");
        assert_eq!(now(), [ready(1, READ)]);
        set.forget(reader.as_fd()).expect("epoll");
        set.forget(reader.as_fd()).expect("it is no error");
        assert_eq!(now(), []);
        set.watch(reader.as_fd(), 3, READ).expect("epoll");
        drop(writer);
        assert!(now()[0].has_ended);
        drop(reader);
        assert_eq!(now(), []);
    }

    #[test]
    fn a_waker_is_ready_until_it_is_cleared() {
        let (waker, set) = (Waker::new().expect("eventfd"), Set::new().expect("epoll"));
        set.watch(waker.as_fd(), 7, READ).expect("epoll");
        waker.wake();
        waker.wake();
        assert_eq!(set.wait(Duration::from_secs(10)).expect("epoll"), [ready(7, READ)]);
        waker.clear();
        assert_eq!(set.wait(Duration::ZERO).expect("epoll"), []);
    }
}

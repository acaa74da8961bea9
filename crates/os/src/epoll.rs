//! An epoll set (epoll(7)), which waits for several descriptors without keeping any of them open; and a waker, a descriptor
//! that another thread makes ready.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use crate::own_numbers::settled;

/// The events to wait for at a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest {
    /// There is data to read, or the end of the data was reached.
    pub to_read: bool,
    /// There is room to write, or the reader is gone.
    pub to_write: bool,
}

/// A descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The number that [`Set::watch`] was called with.
    pub number: u64,
    /// The events that have occurred. If `has_ended`, both are set.
    pub interest: Interest,
    /// The other end is gone, or there is an error.
    pub has_ended: bool,
}

/// A set of descriptors to wait for, each with a number. A descriptor leaves the set when it is closed.
#[derive(Debug)]
pub struct Set(OwnedFd);

/// The largest number of events that one wait returns.
const EVENTS: usize = 64;

impl Set {
    /// Makes an empty set.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn new() -> io::Result<Set> {
        Ok(Set(settled(epoll::create(CreateFlags::CLOEXEC)?)))
    }

    /// Adds a descriptor with a number, or changes the events to wait for at it.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn watch(&self, fd: BorrowedFd<'_>, number: u64, interest: Interest) -> io::Result<()> {
        let flag_if = |on: bool, flag: EventFlags| if on { flag } else { EventFlags::empty() };
        let flags = flag_if(interest.to_read, EventFlags::IN) | flag_if(interest.to_write, EventFlags::OUT);
        // A descriptor in the set would report its end even without flags.
        if flags.is_empty() {
            return self.forget(fd);
        }
        match epoll::modify(&self.0, fd, EventData::new_u64(number), flags) {
            Err(Errno::NOENT) => Ok(epoll::add(&self.0, fd, EventData::new_u64(number), flags)?),
            done => Ok(done?),
        }
    }

    /// Removes a descriptor from the set, if it is there.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn forget(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        match epoll::delete(&self.0, fd) {
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Sleeps until descriptors are ready, `timeout` has passed, or a signal handler has run. Returns the ready descriptors.
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

/// A descriptor that becomes readable when a thread calls [`Waker::wake`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Makes a waker that is not ready.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn new() -> io::Result<Waker> {
        Ok(Waker(settled(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Makes the descriptor readable until [`Waker::clear`].
    pub fn wake(&self) {
        // The write fails only if the descriptor is already readable.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor not readable.
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
    fn wait_returns_ready_descriptors_until_they_are_closed() {
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
    fn waker_is_ready_until_it_is_cleared() {
        let (waker, set) = (Waker::new().expect("eventfd"), Set::new().expect("epoll"));
        set.watch(waker.as_fd(), 7, READ).expect("epoll");
        waker.wake();
        waker.wake();
        assert_eq!(set.wait(Duration::from_secs(10)).expect("epoll"), [ready(7, READ)]);
        waker.clear();
        assert_eq!(set.wait(Duration::ZERO).expect("epoll"), []);
    }
}

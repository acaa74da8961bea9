//! The forms of waiting: a program's steps between a call that was refused and the next one.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use headwater_streams::{DirectStream, Errno, Events};

use crate::common::Random;

/// How a worker waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// epoll, level-triggered.
    Level,
    /// epoll, edge-triggered, registered once.
    Edge,
    /// poll(2) on the descriptor.
    Poll,
    /// [`Stream::poll`].
    Library,
    /// A task that selects.
    Tokio,
    /// Calls that wait.
    Blocking,
}

pub const FORMS: [Form; 6] = [Form::Level, Form::Edge, Form::Poll, Form::Library, Form::Tokio, Form::Blocking];

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Level => "level",
            Form::Edge => "edge",
            Form::Poll => "poll",
            Form::Library => "library",
            Form::Tokio => "tokio",
            Form::Blocking => "blocking",
        }
    }
}

/// Waits by the descriptor, or by the library.
#[derive(Debug)]
pub struct Waiter {
    form: Form,
    descriptor: RawFd,
    set: Option<OwnedFd>,
    interest: i32,
}

impl Waiter {
    pub fn new(form: Form, stream: &DirectStream) -> Waiter {
        let descriptor = stream.as_fd().as_raw_fd();
        let mut waiter = Waiter { form, descriptor, set: None, interest: 0 };
        if matches!(form, Form::Level | Form::Edge) {
            // SAFETY: epoll_create1 makes a new descriptor.
            waiter.set = Some(unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) });
            let edge = if form == Form::Edge { libc::EPOLLET } else { 0 };
            waiter.register(libc::EPOLL_CTL_ADD, libc::EPOLLIN | libc::EPOLLOUT | edge);
        }
        waiter
    }

    fn register(&mut self, operation: i32, interest: i32) {
        let mut event = libc::epoll_event { events: interest as u32, u64: 0 };
        let set = self.set.as_ref().expect("of epoll").as_raw_fd();
        // SAFETY: the event is valid.
        let done = unsafe { libc::epoll_ctl(set, operation, self.descriptor, &mut event) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        self.interest = interest;
    }

    /// Waits until it may be worth to read or to write again, without a time limit. The process that watches the board
    /// decides whether the stream hangs.
    pub fn wait(&mut self, stream: &mut DirectStream, reads: bool, writes: bool, random: &mut Random) {
        match self.form {
            Form::Level => {
                let interest = if reads { libc::EPOLLIN } else { 0 } | if writes { libc::EPOLLOUT } else { 0 };
                if interest != self.interest {
                    self.register(libc::EPOLL_CTL_MOD, interest);
                }
                self.wait_for_events();
            }
            Form::Edge => self.wait_for_events(),
            Form::Poll => {
                let events = if reads { libc::POLLIN } else { 0 } | if writes { libc::POLLOUT } else { 0 };
                let mut polled = libc::pollfd { fd: self.descriptor, events, revents: 0 };
                // SAFETY: one valid pollfd.
                interrupted_or(unsafe { libc::poll(&mut polled, 1, -1) });
            }
            Form::Library => {
                let wanted = if reads { Events::IN } else { Events::empty() }
                    | if writes { Events::OUT } else { Events::empty() };
                let limits = [None, Some(Duration::from_secs(60)), Some(Duration::from_millis(2))];
                match stream.poll(wanted, random.one_of(&limits)) {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.errno(), Errno::Intr, "poll: {error}"),
                }
            }
            Form::Tokio | Form::Blocking => unreachable!("they wait elsewhere"),
        }
    }

    fn wait_for_events(&self) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let set = self.set.as_ref().expect("of epoll").as_raw_fd();
        // SAFETY: room for one event.
        interrupted_or(unsafe { libc::epoll_wait(set, &mut event, 1, -1) });
    }
}

/// A process that was stopped and continued has its waits interrupted.
fn interrupted_or(count: i32) {
    let error = std::io::Error::last_os_error();
    assert!(count >= 0 || error.kind() == std::io::ErrorKind::Interrupted, "{error}");
}

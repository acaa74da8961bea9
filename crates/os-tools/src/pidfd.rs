//! Queries of a process by a descriptor (pidfd_open(2)), by the very calls that programs make: `rustix` has no signal
//! 0, and its poll is ppoll(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Sends signal 0: asks whether the process could be sent a signal, and sends none.
///
/// # Errors
/// What `pidfd_send_signal(2)` reports: `ESRCH` if it has been waited for, `EPERM` if it belongs to another user.
#[inline]
pub fn send_nothing(process: impl AsFd) -> io::Result<()> {
    let (descriptor, none) = (process.as_fd().as_raw_fd(), ptr::null::<libc::siginfo_t>());
    // SAFETY: takes numbers and a null pointer, which stands for no information.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor, 0, none, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the process has ended: one `poll(2)` that does not wait.
///
/// # Errors
/// What `poll(2)` reports.
#[inline]
pub fn has_ended(process: impl AsFd) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: process.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the place is valid, and there is one.
    match unsafe { libc::poll(&mut polled, 1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        count => Ok(count > 0),
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;
    use headwater_os::child::Child;

    #[test]
    fn a_process_is_there_until_it_was_waited_for() {
        let mut child = Child::fork(|| {
            std::thread::sleep(std::time::Duration::from_secs(60));
            0
        })
        .expect("fork");
        let pid = Pid::from_raw(child.id() as i32).expect("not 0");
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).expect("our own child");
        assert!(send_nothing(&descriptor).is_ok() && child.try_wait().expect("wait").is_none());
        assert!(!has_ended(&descriptor).expect("poll"));
        child.kill();
        rustix::event::poll(&mut [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)], None)
            .expect("poll");
        assert!(has_ended(&descriptor).expect("poll"), "also before it was waited for");
        child.wait().expect("wait");
        assert_eq!(send_nothing(&descriptor).expect_err("gone").raw_os_error(), Some(libc::ESRCH));
    }
}

//! `select(2)`, as old programs wait for many descriptors. New ones use `poll` or `epoll`; this is here to be measured.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// A set of descriptors that are asked whether they take a write.
pub struct Writers<D> {
    set: libc::fd_set,
    /// One more than the highest of them.
    limit: i32,
    members: Vec<D>,
}

impl<D: AsFd> Writers<D> {
    /// A set of these.
    ///
    /// # Errors
    /// `InvalidInput` for a descriptor of number 1024 or more, which no set of `select` can hold.
    pub fn new(members: Vec<D>) -> io::Result<Writers<D>> {
        // SAFETY: FD_ZERO initialises the set.
        let mut set = unsafe {
            let mut set = MaybeUninit::<libc::fd_set>::uninit();
            libc::FD_ZERO(set.as_mut_ptr());
            set.assume_init()
        };
        let mut limit = 0;
        for number in members.iter().map(|member| member.as_fd().as_raw_fd()) {
            if number as usize >= libc::FD_SETSIZE {
                let why = format!("descriptor {number}: a set of select holds those below {}", libc::FD_SETSIZE);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            // SAFETY: the set is initialised, and the number of an open descriptor is not negative and below its size.
            unsafe { libc::FD_SET(number, &mut set) };
            limit = limit.max(number + 1);
        }
        Ok(Writers { set, limit, members })
    }

    /// The members of the set.
    pub fn members(&self) -> &[D] {
        &self.members
    }

    /// How many of them take a write at this moment: one call of `select(2)`, which does not wait.
    ///
    /// # Errors
    /// What `select(2)` reports.
    #[inline]
    pub fn ready(&self) -> io::Result<usize> {
        let mut set = self.set;
        let mut no_time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: set and time live through the call; `limit` is at most the size of the set.
        match unsafe { libc::select(self.limit, ptr::null_mut(), &mut set, ptr::null_mut(), &mut no_time) } {
            -1 => Err(io::Error::last_os_error()),
            count => Ok(count as usize),
        }
    }
}

impl<D> fmt::Debug for Writers<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Writers({} below {})", self.members.len(), self.limit)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::BorrowedFd;

    use super::*;

    #[test]
    fn only_those_with_room_are_ready() {
        let (_first_source, first) = io::pipe().expect("pipe");
        let (_second_source, mut second) = io::pipe().expect("pipe");
        second.write_all(&vec![0; 65536]).expect("a pipe holds 64 KiB");
        let both = Writers::new(vec![first.as_fd(), second.as_fd()]).expect("low numbers");
        assert_eq!(both.ready().expect("select"), 1);
        assert_eq!(both.ready().expect("select"), 1, "asking changes nothing");
        assert_eq!(Writers::<BorrowedFd<'_>>::new(Vec::new()).expect("nothing").ready().expect("select"), 0);
    }

    #[test]
    fn a_number_beyond_the_set_is_refused() {
        // Not a descriptor of anything; it is refused before the system is asked.
        // SAFETY: the number is only looked at.
        let high = unsafe { BorrowedFd::borrow_raw(libc::FD_SETSIZE as i32) };
        assert_eq!(Writers::new(vec![high]).err().map(|error| error.kind()), Some(io::ErrorKind::InvalidInput));
    }
}

//! Open files that several processes share, including files that one process opens after the others have started.
//!
//! The files are in the queue of a pair of sockets. Each process has both sockets. In the queue the files stay open as long as any
//! process has the pair, also after the process that opened them has ended. A process that needs the files copies them
//! (MSG_PEEK). A process that changes them queues a new packet behind the old one, and then removes the old one. So the queue
//! always contains a packet after the first one.
//!
//! No packet is sent in the other direction, so that direction always has room. Raising the send limit there wakes all processes
//! that watch it for edges of room. No such event is lost, as it can be at a doorbell that another process makes not writable at
//! the same moment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

use crate::doorbell::OwnWatch;
use crate::file_facts::is_local_pair;
use crate::own_numbers::settled;
use crate::{descriptors, discard};

/// The largest number of shared files.
pub const PLACES: usize = 8;

/// The length of a packet in bytes: the version, and bits for the places in use.
const LEN: usize = 8;
/// The send limit. Its value does not matter: setting it causes the wake-up.
const SEND_BUFFER: usize = 4096;
/// The largest number of packets that one call takes. It would need more only if a process sends for ever.
const PACKETS_MAX: u32 = 256;

/// The pair of sockets. The files are closed when the last process has dropped it.
#[derive(Debug)]
pub struct SharedFiles {
    /// The socket whose queue contains the files.
    inside: OwnedFd,
    /// The socket that sends them there.
    outside: OwnedFd,
}

/// Copies of the files.
#[derive(Debug, Default)]
pub struct Copied {
    /// The version that [`SharedFiles::replace`] was called with.
    pub version: u32,
    /// The files, each at its place.
    pub files: [Option<OwnedFd>; PLACES],
}

impl SharedFiles {
    /// Makes a pair without files. It is closed by exec unless the caller clears that flag.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors.
    pub fn new() -> io::Result<SharedFiles> {
        let (inside, outside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok(SharedFiles { inside: settled(inside), outside: settled(outside) })
    }

    /// Takes a pair that came from another process or by inheritance, in the order of [`SharedFiles::descriptors`].
    ///
    /// # Errors
    /// `InvalidInput` if they are not local packet sockets of socketpair(2).
    pub fn from_fds([inside, outside]: [OwnedFd; 2]) -> io::Result<SharedFiles> {
        if !is_local_pair(&inside) || !is_local_pair(&outside) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptor has no shared files"));
        }
        Ok(SharedFiles { inside, outside })
    }

    /// Returns both sockets.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.inside.as_fd(), self.outside.as_fd()]
    }

    /// Returns the cookies of both sockets; see [`Doorbell::cookie`](crate::doorbell::Doorbell::cookie).
    ///
    /// # Errors
    /// The errors of getsockopt(2).
    pub fn cookies(&self) -> io::Result<[u64; 2]> {
        Ok([sockopt::socket_cookie(&self.inside)?, sockopt::socket_cookie(&self.outside)?])
    }

    /// Wakes all threads that sleep on a watch to which [`SharedFiles::add_to`] has added this pair.
    ///
    /// # Errors
    /// The errors of setsockopt(2).
    pub fn nudge(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_send_buffer_size(&self.inside, SEND_BUFFER)?)
    }

    /// Adds this pair to a watch, which then reports each [`SharedFiles::nudge`] of any process.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn add_to(&self, watch: &OwnWatch) -> io::Result<()> {
        watch.add(self.inside.as_fd())
    }

    /// Replaces all shared files, and sets the version. Only one process at a time may call this. If it is killed during the call,
    /// the shared files are either the old ones or the new ones.
    ///
    /// # Errors
    /// The errors of sendmsg(2), such as `ETOOMANYREFS`; then nothing has changed.
    pub fn replace(&self, version: u32, files: [Option<BorrowedFd<'_>>; PLACES]) -> io::Result<()> {
        let taken = (0..PLACES).filter(|at| files[*at].is_some()).fold(0u32, |bits, at| bits | 1 << at);
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&version.to_le_bytes());
        bytes[4..].copy_from_slice(&taken.to_le_bytes());
        let files: Vec<BorrowedFd<'_>> = files.into_iter().flatten().collect();
        descriptors::send_with(self.outside.as_fd(), &bytes, &files)?;
        for _ in 0..PACKETS_MAX {
            // For a packet socket the kernel returns the sum of all packets.
            if rustix::io::ioctl_fionread(&self.inside)? <= LEN as u64 {
                break;
            }
            let received = descriptors::receive_packet(self.inside.as_fd(), &mut [0; LEN], libc::MSG_DONTWAIT)?;
            discard::files(received.files);
        }
        Ok(())
    }

    /// Returns copies of the shared files. Before the first [`SharedFiles::replace`] there are none, and the version is 0.
    ///
    /// # Errors
    /// `EMFILE` without free descriptors; `InvalidData` if the packet is not one of [`SharedFiles::replace`].
    pub fn copy(&self) -> io::Result<Copied> {
        let mut bytes = [0; LEN];
        let (count, files) = match descriptors::peek_all(self.inside.as_fd(), &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Copied::default()),
            copied => copied?,
        };
        let [version, taken] = [0, 4].map(|at| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte])));
        if count != LEN || taken >> PLACES != 0 || taken.count_ones() as usize != files.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the packet in the queue of shared files is invalid",
            ));
        }
        let mut files = files.into_iter();
        let files = std::array::from_fn(|at| if taken >> at & 1 == 1 { files.next() } else { None });
        Ok(Copied { version, files })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Duration;

    use super::*;
    use crate::child::Child;
    use crate::doorbell::Doorbell;
    use crate::own_process::run_in_own_process;
    use crate::readiness::{self, Watched};

    fn only(at: usize, file: &impl AsFd) -> [Option<BorrowedFd<'_>>; PLACES] {
        std::array::from_fn(|place| (place == at).then(|| file.as_fd()))
    }

    #[test]
    fn newest_files_outlive_the_process_that_opened_them() {
        let Some(_alone) = run_in_own_process() else { return };
        let shared = SharedFiles::new().expect("pair");
        assert_eq!(shared.copy().expect("empty").version, 0);
        let (source, sink) = io::pipe().expect("pipe");
        let mut child = Child::fork(|| {
            let (_, other) = io::pipe().expect("pipe");
            shared.replace(1, only(0, &other)).expect("room");
            shared.replace(2, only(3, &sink)).expect("room");
            0
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
        drop(sink);
        for _ in 0..3 {
            let copied = shared.copy().expect("there");
            assert_eq!(copied.version, 2);
            assert!(copied.files.iter().enumerate().all(|(at, file)| file.is_some() == (at == 3)));
            let mut sink = std::fs::File::from(copied.files.into_iter().flatten().next().expect("there"));
            sink.write_all(b"x").expect("room");
        }
        // The last copy is the one in the queue.
        drop(shared);
        let mut text = String::new();
        (&source).read_to_string(&mut text).expect("the end");
        assert_eq!(text, "xxx");
    }

    #[test]
    fn nudge_is_not_lost_if_the_doorbell_becomes_not_writable() {
        let shared = SharedFiles::new().expect("pair");
        let (near, _far) = Doorbell::pair().expect("pair");
        let watch = near.watch_own().expect("epoll").expect("of sockets");
        shared.add_to(&watch).expect("epoll");
        let is_reported = || {
            let mut polled = [Watched::new(watch.as_fd(), Watched::IN)];
            readiness::wait(&mut polled, Some(Duration::ZERO)).expect("poll").0 > 0
        };
        assert!(!is_reported());
        shared.nudge().expect("setsockopt");
        assert!(near.is_room_open().expect("setsockopt") && near.block_room(0).expect("room"));
        assert!(is_reported() && is_reported(), "reported until it is cleared");
        watch.clear().expect("epoll");
        assert!(!is_reported());
        shared.nudge().expect("setsockopt");
        assert!(is_reported(), "each nudge is reported");
    }

    #[test]
    fn replace_with_no_files_leaves_none() {
        let shared = SharedFiles::new().expect("pair");
        let (source, _sink) = io::pipe().expect("pipe");
        shared.replace(1, only(7, &source)).expect("room");
        shared.replace(2, [None; PLACES]).expect("room");
        let copied = shared.copy().expect("there");
        assert!(copied.version == 2 && copied.files.iter().all(Option::is_none));
    }
}

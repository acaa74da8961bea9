//! Open files that several processes share, also those that one of them has opened after the others have started.
//!
//! They are queued in a pair of sockets, both of whose ends each process holds: in flight there, they stay open as long
//! as any process has the pair, even when the process that opened them ends. A process that needs them takes copies
//! (MSG_PEEK); a process that changes them puts a new packet behind the old one and removes the old one. The queue
//! always has at least one.
//!
//! No packet is sent in the other direction. So there is always room, and raising the send limit there wakes all processes
//! that watch it for edges of room: no event is lost, as it can be at a doorbell that another process makes not writable at
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

/// Bytes of a packet: the version, and which places are in use.
const LEN: usize = 8;
/// Any limit: setting it causes the wake-up.
const SEND_BUFFER: usize = 4096;
/// The largest number of packets that one call takes. Only a process that sends for ever causes more.
const PACKETS_MAX: u32 = 256;

/// The pair. The files are closed when the last process has dropped it.
#[derive(Debug)]
pub struct SharedFiles {
    /// The socket in whose queue the files lie.
    inside: OwnedFd,
    /// The socket that sends them there.
    outside: OwnedFd,
}

/// Copies of the files.
#[derive(Debug, Default)]
pub struct Copied {
    /// The number under which they were put there.
    pub version: u32,
    /// Each at its place.
    pub files: [Option<OwnedFd>; PLACES],
}

impl SharedFiles {
    /// Makes a pair without files, closed by exec unless the caller clears that.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors.
    pub fn new() -> io::Result<SharedFiles> {
        let (inside, outside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok(SharedFiles { inside: settled(inside), outside: settled(outside) })
    }

    /// The pair behind descriptors from elsewhere, in the order of [`SharedFiles::descriptors`].
    ///
    /// # Errors
    /// `InvalidInput` if they are none of a pair of local packet sockets.
    pub fn from_fds([inside, outside]: [OwnedFd; 2]) -> io::Result<SharedFiles> {
        if !is_local_pair(&inside) || !is_local_pair(&outside) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptor holds no shared files"));
        }
        Ok(SharedFiles { inside, outside })
    }

    /// Both ends.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.inside.as_fd(), self.outside.as_fd()]
    }

    /// The numbers by which the kernel knows the ends; see [`Doorbell::cookie`](crate::doorbell::Doorbell::cookie).
    ///
    /// # Errors
    /// The errors of getsockopt(2).
    pub fn cookies(&self) -> io::Result<[u64; 2]> {
        Ok([sockopt::socket_cookie(&self.inside)?, sockopt::socket_cookie(&self.outside)?])
    }

    /// Wakes all who sleep on a watch that [`SharedFiles::add_to`] was called with.
    ///
    /// # Errors
    /// The errors of setsockopt(2).
    pub fn nudge(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_send_buffer_size(&self.inside, SEND_BUFFER)?)
    }

    /// Has a watch told of each [`SharedFiles::nudge`] from now on, in whatever process.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub fn add_to(&self, watch: &OwnWatch) -> io::Result<()> {
        watch.add(self.inside.as_fd())
    }

    /// Puts these files there under a version, in the place of all that lie there. One process at a time calls this. If it is
    /// killed in here the files are the old ones or the new ones.
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

    /// Copies of the shared files. Before the first [`SharedFiles::replace`] there are none, and the version is 0.
    ///
    /// # Errors
    /// `EMFILE` without free descriptors; `InvalidData` for what [`SharedFiles::replace`] has not put there.
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
                "what lies among the shared files are other things",
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
    fn the_newest_files_are_copied_at_their_places_and_outlive_their_process() {
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
        // The last copy is the one that lies there.
        drop(shared);
        let mut text = String::new();
        (&source).read_to_string(&mut text).expect("the end");
        assert_eq!(text, "xxx");
    }

    #[test]
    fn a_nudge_is_not_lost_when_the_doorbell_is_made_not_writable_at_once() {
        let shared = SharedFiles::new().expect("pair");
        let (near, _far) = Doorbell::pair().expect("pair");
        let watch = near.watch_own().expect("epoll").expect("of sockets");
        shared.add_to(&watch).expect("epoll");
        let is_told = || {
            let mut polled = [Watched::new(watch.as_fd(), Watched::IN)];
            readiness::wait(&mut polled, Some(Duration::ZERO)).expect("poll").0 > 0
        };
        assert!(!is_told());
        shared.nudge().expect("setsockopt");
        assert!(near.is_room_open().expect("setsockopt") && near.block_room(0).expect("room"));
        assert!(is_told() && is_told(), "until it is cleared");
        watch.clear().expect("epoll");
        assert!(!is_told());
        shared.nudge().expect("setsockopt");
        assert!(is_told(), "of each");
    }

    #[test]
    fn none_may_be_left() {
        let shared = SharedFiles::new().expect("pair");
        let (source, _sink) = io::pipe().expect("pipe");
        shared.replace(1, only(7, &source)).expect("room");
        shared.replace(2, [None; PLACES]).expect("room");
        let copied = shared.copy().expect("there");
        assert!(copied.version == 2 && copied.files.iter().all(Option::is_none));
    }
}

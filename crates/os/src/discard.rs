//! Closing files that another process has sent, without waiting. The last close of a file can take as long as its sender
//! likes: if the file is a TCP socket with SO_LINGER, a local socket with such a file in its queue, or in a user-space file
//! system (docs/decisions/0032-what-closes-for-others.md).

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::FileType;
use rustix::net::{AddressFamily, sockopt};

use crate::descriptors;
use crate::thread::Thread;

/// Closes files that another process has sent. If the close of a file may wait, a detached thread closes it. If that thread
/// cannot be started, the file stays open.
pub fn files(files: Vec<OwnedFd>) {
    files_beside(files, &[]);
}

/// Like [`files`], for a caller that keeps copies of some of them, `kept`. A socket with a kept copy is closed at once, because
/// that is not its last close. A file of a user-space file system is not, because every close of it may wait.
pub(crate) fn files_beside(files: Vec<OwnedFd>, kept: &[OwnedFd]) {
    let slow = files.into_iter().filter(|file| !closes_at_once(file, kept));
    let slow: Vec<RawFd> = slow.map(IntoRawFd::into_raw_fd).collect();
    if slow.is_empty() {
        return;
    }
    let closer = Thread::start(move || {
        for fd in slow {
            // SAFETY: the descriptor was taken from its owner for this thread.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    });
    if let Ok(closer) = closer {
        closer.detach();
    }
}

fn closes_at_once(file: &OwnedFd, kept: &[OwnedFd]) -> bool {
    /// The type of user-space file systems (linux/magic.h).
    const FUSE: i64 = 0x6573_5546;
    let Ok(status) = rustix::fs::fstat(file) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Fifo => true,
        // /dev/null and other memory devices (linux/major.h, MEM_MAJOR).
        FileType::CharacterDevice => rustix::fs::major(status.st_rdev) == 1,
        // The field has different types on different architectures.
        #[allow(clippy::unnecessary_cast)]
        FileType::RegularFile => rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type as i64 != FUSE),
        // An internet socket without SO_LINGER: its close does not wait, and frees its port at once. A local socket may have
        // other files in its queue.
        FileType::Socket => {
            let is_same = |other: &OwnedFd| {
                rustix::fs::fstat(other)
                    .is_ok_and(|other| (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino))
            };
            kept.iter().any(is_same)
                || sockopt::socket_domain(file)
                    .is_ok_and(|family| [AddressFamily::INET, AddressFamily::INET6].contains(&family))
                    && sockopt::socket_linger(file).is_ok_and(|time| time.is_none())
        }
        _ => false,
    }
}

/// Takes all packets out of a socket's queue, and returns the descriptors in them. Does not wait.
pub(crate) fn drain(socket: BorrowedFd<'_>) -> Vec<OwnedFd> {
    // With this option every packet has control data. Only that tells a packet without bytes from the end of the connection.
    if sockopt::set_socket_passcred(socket, true).is_err() {
        return Vec::new();
    }
    let mut files = Vec::new();
    while let Ok(received) = descriptors::receive_packet(socket, &mut [0], libc::MSG_DONTWAIT) {
        if !received.has_control {
            break;
        }
        files.extend(received.files);
    }
    files
}

/// Returns a socket whose last close waits for a minute, and its peer, which does not read. For tests.
#[doc(hidden)]
pub fn lingering_socket() -> (OwnedFd, OwnedFd) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (peer, _) = listener.accept().expect("it has come");
    sockopt::set_socket_linger(&socket, Some(std::time::Duration::from_secs(60))).expect("setsockopt");
    socket.set_nonblocking(true).expect("fcntl");
    while io::Write::write(&mut &socket, &[0; 65536]).is_ok() {}
    (socket.into(), peer.into())
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;
    use crate::abstract_socket::{self, Connection, Listener};
    use crate::doorbell::Doorbell;

    /// Sends `bytes` with a lingering socket to a process that has connected. Returns its connection, and the socket's peer.
    fn arrived(bytes: &[u8], empty_first: bool) -> (Connection, OwnedFd) {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("headwater-test-lingering-{}-{count}", std::process::id());
        let listener = Listener::bind(&name).expect("free");
        let visitor = abstract_socket::connect(&name, std::time::Duration::from_secs(5)).expect("it listens");
        let hostile = OwnedFd::from(listener.accept().expect("accept").expect("it waits"));
        let (file, peer) = lingering_socket();
        if empty_first {
            descriptors::send_with(hostile.as_fd(), b"", &[]).expect("room");
        }
        descriptors::send_with(hostile.as_fd(), bytes, &[file.as_fd()]).expect("room");
        (visitor, peer)
    }

    #[test]
    fn received_files_are_closed_without_waiting() {
        let start = std::time::Instant::now();
        let patience = std::time::Duration::from_secs(5);
        let (visitor, _kept) = arrived(b"x", false);
        assert_eq!(abstract_socket::receive(&visitor, &mut [0; 8], patience).expect("it is there"), 1);
        let (visitor, _kept) = arrived(b"x", false);
        assert_eq!(abstract_socket::receive_now(&visitor).expect("it is there"), Some(b'x'));
        for (bytes, empty_first) in [(&b"x"[..], false), (b"", false), (b"", true)] {
            let (visitor, _kept) = arrived(bytes, empty_first);
            drop(visitor);
        }
        let (near, far) = Doorbell::pair().expect("pair");
        let (file, _kept) = lingering_socket();
        descriptors::send_with(near.as_fd(), b"x", &[file.as_fd()]).expect("room");
        drop(file);
        far.take().expect("recvmsg");
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn listener_refuses_descriptors() {
        let name = format!("headwater-test-refused-{}", std::process::id());
        let listener = Listener::bind(&name).expect("free");
        let visitor = abstract_socket::connect(&name, std::time::Duration::from_secs(5)).expect("it listens");
        let (pipe, _sink) = io::pipe().expect("pipe");
        let sent = descriptors::send(visitor.as_fd(), &[pipe.as_fd()]).map_err(|error| error.raw_os_error());
        let yes: libc::c_int = 1;
        // SAFETY: the kernel reads a number.
        let known =
            unsafe { libc::setsockopt(visitor.as_fd().as_raw_fd(), libc::SOL_SOCKET, 83, (&raw const yes).cast(), 4) };
        // SO_PASSRIGHTS needs Linux 6.16.
        assert_eq!(sent, if known == 0 { Err(Some(libc::EPERM)) } else { Ok(()) });
        drop(listener);
    }
}

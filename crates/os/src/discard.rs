//! Closing what another process has sent, without waiting for it. The last close of a file can take as long as its sender likes: that of a
//! TCP socket with SO_LINGER, of a local socket in whose queue one lies, of a file of a file system in user space
//! (docs/decisions/0032-what-closes-for-others.md).

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::FileType;
use rustix::net::{AddressFamily, sockopt};

use crate::descriptors;
use crate::thread::Thread;

/// Closes descriptors that another process has sent. Files whose close may wait are closed by a thread for which no other one waits; if none can
/// be started they stay open.
pub fn files(files: Vec<OwnedFd>) {
    files_beside(files, &[]);
}

/// As [`files`], of which the caller keeps some too. A socket among these is closed at once, because that is not its last close: the
/// caller decides when it ends. A file of a file system in user space is told of every close, and may make each wait.
pub(crate) fn files_beside(files: Vec<OwnedFd>, kept: &[OwnedFd]) {
    let slow = files.into_iter().filter(|file| !closes_at_once(file, kept));
    let slow: Vec<RawFd> = slow.map(IntoRawFd::into_raw_fd).collect();
    if slow.is_empty() {
        return;
    }
    let closer = Thread::start(move || {
        for number in slow {
            // SAFETY: the descriptor was taken out of its owner for this thread.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    });
    if let Ok(closer) = closer {
        closer.detach();
    }
}

fn closes_at_once(file: &OwnedFd, kept: &[OwnedFd]) -> bool {
    /// The type of file systems in user space (linux/magic.h).
    const FUSE: i64 = 0x6573_5546;
    let Ok(status) = rustix::fs::fstat(file) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Fifo => true,
        // /dev/null and its kin (linux/major.h, MEM_MAJOR).
        FileType::CharacterDevice => rustix::fs::major(status.st_rdev) == 1,
        // The field has different types on different architectures.
        #[allow(clippy::unnecessary_cast)]
        FileType::RegularFile => rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type as i64 != FUSE),
        // The port of one that was the last is free at once. In the queue of a local socket other files may lie.
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

/// Takes everything out of a socket's queue. Does not wait. Returns the descriptors that lay there.
pub(crate) fn drain(socket: BorrowedFd<'_>) -> Vec<OwnedFd> {
    // With this each packet has a control part, and the end has none: a packet may have no bytes.
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

/// A socket whose last close waits for a minute, and the peer that does not read; for tests.
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

    /// What arrives, with a lingering socket, at the process that connects.
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
    fn what_another_process_has_sent_is_closed_without_waiting() {
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
    fn a_listener_s_visitors_send_no_descriptors() {
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

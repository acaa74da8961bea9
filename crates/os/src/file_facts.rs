//! Facts about the file of a descriptor that another process has passed: its kind and its access mode. A process checks them
//! before it uses the descriptor. No call here waits, reads or writes the file.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{FileType, OFlags};
use rustix::net::sockopt;

use crate::descriptors::{Found, link};

/// The kind of a descriptor's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "of this workspace alone")]
pub enum FileFact {
    /// A socket, with the arguments of socket(2).
    Socket {
        /// The address family.
        domain: i32,
        /// The type.
        kind: i32,
        /// The protocol.
        protocol: i32,
    },
    /// A pipe or a FIFO.
    Pipe,
    /// A regular file, or a memfd.
    Plain,
    /// An anonymous inode, with the kernel's name of its kind: `timerfd`, `eventfd`.
    Anonymous(String),
    /// A descriptor that refers to a file without opening it (O_PATH).
    Unopened,
    /// A directory, a device, or any other file.
    Other,
}

/// Returns the kind of a descriptor's file.
///
/// # Errors
/// The errors of fcntl(2), fstat(2), getsockopt(2) and readlink(2).
pub fn fact(fd: BorrowedFd<'_>) -> io::Result<FileFact> {
    if rustix::fs::fcntl_getfl(fd)?.contains(OFlags::PATH) {
        return Ok(FileFact::Unopened);
    }
    Ok(match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        FileType::Socket => FileFact::Socket {
            domain: sockopt::socket_domain(fd)?.as_raw().into(),
            kind: sockopt::socket_type(fd)?.as_raw() as i32,
            protocol: sockopt::socket_protocol(fd)?.map_or(0, |protocol| protocol.as_raw().get() as i32),
        },
        FileType::Fifo => FileFact::Pipe,
        FileType::RegularFile => FileFact::Plain,
        FileType::Unknown => anonymous(fd)?,
        _ => FileFact::Other,
    })
}

fn anonymous(fd: BorrowedFd<'_>) -> io::Result<FileFact> {
    let link = link(Found::own(fd))?;
    let name = link.to_str().and_then(|link| link.strip_prefix("anon_inode:[")?.strip_suffix(']'));
    Ok(name.map_or(FileFact::Other, |name| FileFact::Anonymous(name.to_owned())))
}

/// Returns whether reading and writing the file fail instead of waiting (O_NONBLOCK).
///
/// # Errors
/// The errors of fcntl(2).
pub fn is_nonblocking(fd: impl AsFd) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(fd)?.contains(OFlags::NONBLOCK))
}

/// Returns whether the file is open for both reading and writing.
///
/// # Errors
/// The errors of fcntl(2).
pub fn is_read_write(fd: impl AsFd) -> io::Result<bool> {
    has_access(fd, OFlags::RDWR)
}

/// Returns whether the file is open for writing only.
///
/// # Errors
/// The errors of fcntl(2).
pub fn is_write_only(fd: impl AsFd) -> io::Result<bool> {
    has_access(fd, OFlags::WRONLY)
}

fn has_access(fd: impl AsFd, access: OFlags) -> io::Result<bool> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(!flags.contains(OFlags::PATH) && flags & OFlags::ACCMODE == access)
}

/// Returns whether a descriptor refers to one of a pair of local packet sockets that socketpair(2) has made.
///
/// Any other local socket may lead to a service that trusts the credentials of its senders. A service listens at a name, so
/// its listening socket and both ends of its connections have a name or a listening state.
pub fn is_local_pair(socket: impl AsFd) -> bool {
    let fd = socket.as_fd();
    let seqpacket = FileFact::Socket { domain: libc::AF_UNIX, kind: libc::SOCK_SEQPACKET, protocol: 0 };
    let unnamed =
        |name: unsafe extern "C" fn(libc::c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int| {
            let mut address = [0u64; size_of::<libc::sockaddr_un>().div_ceil(8)];
            let mut len = size_of_val(&address) as libc::socklen_t;
            // SAFETY: the kernel writes at most `len` bytes of an address to the valid place that it is given.
            let done = unsafe { name(fd.as_raw_fd(), address.as_mut_ptr().cast(), &raw mut len) };
            done == 0 && len as usize == size_of::<libc::sa_family_t>()
        };
    fact(fd).is_ok_and(|fact| fact == seqpacket) && unnamed(libc::getsockname) && unnamed(libc::getpeername)
}

/// Returns whether a descriptor refers to a local packet socket that listens and is non-blocking.
pub fn is_local_listener(socket: impl AsFd) -> bool {
    let fd = socket.as_fd();
    let seqpacket = FileFact::Socket { domain: libc::AF_UNIX, kind: libc::SOCK_SEQPACKET, protocol: 0 };
    fact(fd).is_ok_and(|fact| fact == seqpacket)
        && sockopt::socket_acceptconn(fd) == Ok(true)
        && is_nonblocking(fd).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::{UnixListener, UnixStream};

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::abstract_socket::{self, Listener};
    use crate::files;

    #[test]
    fn fact_tells_kinds_of_files_apart() {
        let socket = |domain, kind, protocol| FileFact::Socket { domain, kind, protocol };
        let fact = |fd: &dyn AsFd| fact(fd.as_fd()).expect("open");
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        assert_eq!(fact(&tcp), socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP));
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        assert_eq!(fact(&udp), socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDP));
        let (local, _) = UnixStream::pair().expect("pair");
        assert_eq!(fact(&local), socket(libc::AF_UNIX, libc::SOCK_STREAM, 0));
        let (source, sink) = io::pipe().expect("pipe");
        assert_eq!([fact(&source), fact(&sink)], [FileFact::Pipe, FileFact::Pipe]);
        assert_eq!(fact(&File::open("/proc/self/exe").expect("ours")), FileFact::Plain);
        assert_eq!(fact(&File::open("/dev/zero").expect("there")), FileFact::Other);
        assert_eq!(fact(&File::open("/").expect("there")), FileFact::Other);
        assert_eq!(fact(&files::find_directory("/".as_ref()).expect("there")), FileFact::Unopened);
        let set = crate::epoll::Set::new().expect("room");
        let waker = crate::epoll::Waker::new().expect("room");
        set.watch(waker.as_fd(), 1, crate::epoll::Interest { to_read: true, to_write: false }).expect("room");
        assert_eq!(fact(&waker), FileFact::Anonymous("eventfd".to_owned()));
    }

    #[test]
    fn only_a_socketpair_counts_as_a_local_pair() {
        let pair = || socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("pair");
        let (near, far) = pair();
        assert!(is_local_pair(&near) && is_local_pair(&far) && !is_local_listener(&near));
        assert_eq!(abstract_socket::peer_user(&near).expect("asked"), files::own_user(), "the user who has made it");
        drop(far);
        assert!(is_local_pair(&near), "also after its other end is gone");
        let name = format!("headwater-test-facts-{}", std::process::id());
        let listener = Listener::bind(&name).expect("free");
        let client = abstract_socket::connect(&name, std::time::Duration::from_secs(1)).expect("it listens");
        let served = listener.accept().expect("accept").expect("it has come");
        assert!(!is_local_pair(&client) && !is_local_pair(&served) && !is_local_pair(&listener));
        assert!(is_local_listener(&listener) && !is_local_listener(&client));
        let (stream, _other) = UnixStream::pair().expect("pair");
        assert!(!is_local_pair(&stream) && !is_local_pair(io::pipe().expect("pipe").0));
        let path = std::env::temp_dir().join(format!("headwater-facts-{}", std::process::id()));
        let stream = UnixListener::bind(&path).expect("free");
        std::fs::remove_file(&path).expect("there");
        assert!(!is_local_listener(&stream), "a stream socket");
        let (bound, _other) = pair();
        let named: rustix::net::SocketAddrUnix = rustix::net::SocketAddrUnix::new(&path).expect("short");
        rustix::net::bind(&bound, &named).expect("free");
        std::fs::remove_file(&path).expect("there");
        assert!(!is_local_pair(bound), "it has a name");
    }

    #[test]
    fn access_mode_is_that_of_the_open() {
        let (source, sink) = io::pipe().expect("pipe");
        assert!(is_write_only(&sink).expect("open") && !is_write_only(&source).expect("open"));
        let path = files::find(std::path::Path::new("/dev/null")).expect("there");
        assert!(!is_write_only(&path).expect("named") && !is_read_write(&path).expect("named"));
        assert!(is_read_write(path.open(OFlags::RDWR).expect("allowed")).expect("open"));
        let (local, _) = UnixStream::pair().expect("pair");
        assert!(!is_nonblocking(&local).expect("open"));
        local.set_nonblocking(true).expect("open");
        assert!(is_nonblocking(&local).expect("open"));
    }
}

//! Local sockets with abstract names or with paths, over which processes meet that cannot inspect each other; and the
//! identity of the peer of such a socket.
//!
//! An abstract name protects nothing: any process may bind it or connect to it. A caller that must know its peer asks the
//! kernel for the [`Peer`].

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect as connect_to, listen,
    socket_with, sockopt,
};
use rustix::thread::UnshareFlags;

use crate::descriptors::{self, Sender};
use crate::discard;
use crate::files;
use crate::own_numbers::settled;
use crate::proc_file;
use crate::thread::Thread;

/// A connection to a process that may send anything. Dropping it never waits, whatever files are in its queue
/// ([`discard::files`]).
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Drop for Connection {
    fn drop(&mut self) {
        // From now on the peer cannot send any more.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
        discard::files(discard::drain(self.0.as_fd()));
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Connection> for OwnedFd {
    /// Returns the socket. Closing it may wait; see [`discard::files`].
    fn from(connection: Connection) -> OwnedFd {
        let connection = ManuallyDrop::new(connection);
        // SAFETY: the descriptor is taken from its owner, which is not dropped.
        unsafe { OwnedFd::from_raw_fd(connection.0.as_raw_fd()) }
    }
}

/// Makes the kernel refuse descriptors that are sent to this socket, or to sockets that it accepts (SO_PASSRIGHTS, Linux
/// 6.16).
fn refuse_descriptors(socket: &OwnedFd) {
    const PASSRIGHTS: libc::c_int = 83;
    let no: libc::c_int = 0;
    let len = size_of_val(&no) as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the number has. An older kernel refuses the option.
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, PASSRIGHTS, (&raw const no).cast(), len) };
}

/// The largest number of connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// A named socket to which other processes connect. They cannot send descriptors.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Listens at an abstract name.
    ///
    /// # Errors
    /// `AddrInUse` for a name that is taken; `InvalidInput` for one that is too long (107 bytes).
    pub fn bind(name: &str) -> io::Result<Listener> {
        Listener::bind_to(&address(name)?)
    }

    /// Listens at a path. Every process that may write to the socket's node may connect.
    ///
    /// # Errors
    /// `AddrInUse` for a path that is taken; `InvalidInput` for one that is too long (107 bytes); the errors of bind(2).
    pub fn bind_at(path: &Path) -> io::Result<Listener> {
        Listener::bind_to(&SocketAddrUnix::new(path)?)
    }

    /// Listens at a name in a directory. The node gets these permissions, whatever the umask of the process is. The directory
    /// is given by its descriptor, so no process can replace it. Its path may have any length, and /proc need not be mounted.
    ///
    /// # Errors
    /// Those of [`Listener::bind_at`].
    pub fn bind_in(directory: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<Listener> {
        if proc_file::is_mounted() {
            let listener = Listener::bind_at(&through_proc(directory, name))?;
            files::set_socket_permissions_at(directory, name, mode)?;
            return Ok(listener);
        }
        let name = name.to_owned();
        inside(directory, move || {
            let socket = packet_socket(SocketFlags::NONBLOCK)?;
            // The node gets the permissions of the socket's own inode, reduced by the umask, which `inside` has cleared.
            rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
            Listener::listening(socket, &SocketAddrUnix::new(name)?)
        })
    }

    fn bind_to(address: &SocketAddrUnix) -> io::Result<Listener> {
        Listener::listening(packet_socket(SocketFlags::NONBLOCK)?, address)
    }

    fn listening(socket: OwnedFd, address: &SocketAddrUnix) -> io::Result<Listener> {
        refuse_descriptors(&socket);
        bind(&socket, address)?;
        listen(&socket, BACKLOG)?;
        Ok(Listener(socket))
    }

    /// Accepts a connection; returns `None` if none is waiting.
    ///
    /// # Errors
    /// The errors of accept4(2).
    pub fn accept(&self) -> io::Result<Option<Connection>> {
        match accept_with(&self.0, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => Ok(Some(Connection(settled(socket)))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends listening in all processes that have the socket. Waiting connections are closed, new ones are refused, and poll(2)
    /// reports a hang-up.
    ///
    /// # Errors
    /// The errors of shutdown(2).
    pub fn end(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both)?)
    }

    /// Sleeps until a peer has connected.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait(&self) -> io::Result<()> {
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sleeps until a peer has connected or `other` is readable; returns whether `other` is readable.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait_beside(&self, other: BorrowedFd<'_>) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) => Ok(!polled[1].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Listener {
    /// Takes a listening socket that was made elsewhere.
    fn from(socket: OwnedFd) -> Listener {
        Listener(socket)
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> OwnedFd {
        listener.0
    }
}

/// Returns a path to a name in a directory that is short enough for a socket address.
fn through_proc(directory: BorrowedFd<'_>, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

/// Calls `action` with the directory as the working directory, and with a umask of 0. It runs in a thread of its own, which
/// does not share these two with the rest of the process.
fn inside<T: Send + 'static>(
    directory: BorrowedFd<'_>,
    action: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let directory = directory.try_clone_to_owned()?;
    let (tell, told) = mpsc::channel();
    let thread = Thread::start(move || {
        // SAFETY: only this thread stops sharing its working directory and umask.
        let alone = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) };
        let done = alone.and_then(|()| rustix::process::fchdir(&directory)).map_err(io::Error::from).and_then(|()| {
            rustix::process::umask(Mode::empty());
            action()
        });
        let _ = tell.send(done);
    })?;
    let done = told.recv();
    thread.join();
    done.unwrap_or_else(|_| Err(io::Error::other("the thread has failed")))
}

/// Like [`connect`], to a listener of [`Listener::bind_in`].
///
/// # Errors
/// Those of [`connect_at`].
pub fn connect_in(directory: BorrowedFd<'_>, name: &str, patience: Duration) -> io::Result<Connection> {
    match connect_at(&through_proc(directory, name), patience) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !proc_file::is_mounted() => {
            let name = name.to_owned();
            inside(directory, move || connect_with(&SocketAddrUnix::new(name)?, patience))
        }
        done => done,
    }
}

/// Like [`connect`], to a listener at a path.
///
/// # Errors
/// Those of [`connect`]; `NotFound` if the path does not exist; `PermissionDenied`.
pub fn connect_at(path: &Path, patience: Duration) -> io::Result<Connection> {
    connect_with(&SocketAddrUnix::new(path)?, patience)
}

/// Connects to a listener at an abstract name. A later receive from the socket waits for at most `patience`.
///
/// # Errors
/// `ConnectionRefused` if no process listens at that name; `WouldBlock` if too many connections wait.
pub fn connect(name: &str, patience: Duration) -> io::Result<Connection> {
    connect_with(&address(name)?, patience)
}

fn connect_with(address: &SocketAddrUnix, patience: Duration) -> io::Result<Connection> {
    let socket = packet_socket(SocketFlags::NONBLOCK)?;
    connect_to(&socket, address)?;
    let connection = Connection(socket);
    let flags = rustix::fs::fcntl_getfl(&connection)?;
    rustix::fs::fcntl_setfl(&connection, flags - rustix::fs::OFlags::NONBLOCK)?;
    sockopt::set_socket_timeout(&connection, sockopt::Timeout::Recv, Some(patience))?;
    Ok(connection)
}

/// Sleeps until one of the sockets is readable, for at most `patience`. Returns for each socket whether it is readable.
///
/// # Errors
/// `Interrupted` when a signal handler ran; otherwise the errors of poll(2).
pub fn wait_for_any<T: AsFd>(sockets: &[T], patience: Duration) -> io::Result<Vec<bool>> {
    let limit = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    let mut polled: Vec<_> = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    poll(&mut polled, Some(&limit))?;
    Ok(polled.iter().map(|polled| !polled.revents().is_empty()).collect())
}

/// Returns the abstract names with this prefix that are bound.
///
/// # Errors
/// The errors of reading /proc.
pub fn names(prefix: &str) -> io::Result<Vec<String>> {
    let table = fs::read(format!("/proc/{}/net/unix", std::process::id()))?;
    let lines = table.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let mut names: Vec<String> = lines
        .filter_map(|line| line.rsplit_once(" @").map(|(_, name)| name))
        .filter(|name| name.starts_with(prefix))
        .map(str::to_owned)
        .collect();
    // An accepted connection has the name of its listener.
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Returns the user id of the peer when the connection was made.
///
/// # Errors
/// The errors of getsockopt(2).
pub fn peer_user(socket: impl AsFd) -> io::Result<u32> {
    Ok(sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// Returns the user and the group of the peer when the connection was made.
///
/// # Errors
/// The errors of getsockopt(2).
pub fn peer(socket: impl AsFd) -> io::Result<Sender> {
    let credentials = sockopt::socket_peercred(socket)?;
    Ok(Sender { user: credentials.uid.as_raw(), group: credentials.gid.as_raw() })
}

/// Checks that the listening peer of a connection is the process `pid`, and is alive. An abstract name does not prove that,
/// because any process may have bound it. Before Linux 6.5 only the process ids are compared.
///
/// # Errors
/// `PermissionDenied`, which names the process that listens instead; the errors of getsockopt(2) and poll(2).
pub fn check_peer(socket: impl AsFd, pid: u32) -> io::Result<()> {
    let other = |what: String| {
        let text = format!("it is {what} that listens under the name of process {pid}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    let found = match Peer::from_socket(&socket) {
        Ok(peer) if !peer.is_alive()? => return other("a process that has ended".to_owned()),
        Ok(peer) => peer.pid(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return other("a process that is not known".to_owned());
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            sockopt::socket_peercred(&socket)?.pid.as_raw_nonzero().get().cast_unsigned()
        }
        Err(error) => return Err(error),
    };
    if found == pid { Ok(()) } else { other(format!("process {found}")) }
}

/// Sends a message.
///
/// # Errors
/// The errors of send(2).
pub fn send(socket: impl AsFd, message: &[u8]) -> io::Result<()> {
    rustix::net::send(socket, message, rustix::net::SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message, cut to the length of `place`, and returns its length. Waits for at most `patience`. The length is 0 if
/// the peer has closed the connection.
///
/// # Errors
/// `TimedOut`; the errors of recv(2).
pub fn receive(socket: impl AsFd, place: &mut [u8], patience: Duration) -> io::Result<usize> {
    let limit = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    let mut polled = [PollFd::new(&socket, PollFlags::IN)];
    loop {
        match poll(&mut polled, Some(&limit)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let descriptors::Received { count, files, .. } = descriptors::receive_packet(socket.as_fd(), place, 0)?;
    discard::files(files);
    Ok(count)
}

/// Receives a message, and returns its byte if it has exactly one. Returns `None` for any other message, and if the peer has
/// closed the connection. Closes descriptors that come with the message. Does not wait.
///
/// # Errors
/// The errors of recv(2); `WouldBlock` if there is no message.
pub fn receive_now(socket: impl AsFd) -> io::Result<Option<u8>> {
    let mut bytes = [0; 2];
    let received = descriptors::receive_packet(socket.as_fd(), &mut bytes, libc::MSG_DONTWAIT)?;
    discard::files(received.files);
    Ok((received.count == 1).then_some(bytes[0]))
}

/// The process that listened, or connected, at the other end of a socket.
#[derive(Debug)]
pub struct Peer {
    pid: u32,
    pidfd: OwnedFd,
}

impl Peer {
    /// Returns the process that had the socket when the connection was made. Another process may have the socket now.
    ///
    /// # Errors
    /// `Unsupported` before Linux 6.5; `NotFound` if the process has ended, or is in another PID namespace.
    pub fn from_socket(socket: impl AsFd) -> io::Result<Peer> {
        // SO_PEERPIDFD. The kernel took the pidfd when the connection was made, so it refers to the right process even if the
        // process id has been reused.
        const PEERPIDFD: libc::c_int = 77;
        let pidfd: libc::c_int = match option(socket.as_fd(), PEERPIDFD) {
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "SO_PEERPIDFD needs Linux 6.5"));
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODATA | libc::EINVAL)) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            done => done?,
        };
        // SAFETY: the kernel has just made this descriptor and nothing else holds it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let [pid, _user, _group]: [u32; 3] = option(socket.as_fd(), libc::SO_PEERCRED)?;
        match pid {
            0 => Err(io::ErrorKind::NotFound.into()),
            pid => Ok(Peer { pid, pidfd }),
        }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether the process is still alive. If so, facts that were found by its process id were facts about this process.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn is_alive(&self) -> io::Result<bool> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        Ok(poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&now))? == 0)
    }
}

/// Returns a socket option that consists of one number, or of several.
fn option<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    let mut value = T::ZERO;
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `value`, for which any bytes are a value.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast::<libc::c_void>(), &mut len)
    };
    match done {
        0 if len as usize == size_of::<T>() => Ok(value),
        0 => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A type for which any bytes are a value.
trait Plain {
    const ZERO: Self;
}
impl Plain for libc::c_int {
    const ZERO: libc::c_int = 0;
}
impl Plain for [u32; 3] {
    const ZERO: [u32; 3] = [0; 3];
}

fn packet_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(settled(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags | SocketFlags::CLOEXEC, None)?))
}

fn address(name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    fn name(test: &str) -> String {
        format!("headwater-test-{}-{test}", std::process::id())
    }

    const PATIENCE: Duration = Duration::from_millis(100);

    #[test]
    fn listener_is_found_by_name_until_it_is_dropped() {
        let Some(_alone) = run_in_own_process() else { return };
        let name = name("found");
        let listener = Listener::bind(&name).expect("bind");
        assert_eq!(Listener::bind(&name).expect_err("taken").kind(), io::ErrorKind::AddrInUse);
        let there = connect(&name, PATIENCE).expect("connect");
        let here = listener.accept().expect("accept").expect("it waits");
        assert!(listener.accept().expect("accept").is_none());
        assert_eq!(names(&name).expect("/proc"), std::slice::from_ref(&name));
        rustix::net::send(&here, b"x", rustix::net::SendFlags::empty()).expect("send");
        let mut byte = [0; 2];
        assert_eq!(rustix::net::recv(&there, &mut byte, rustix::net::RecvFlags::empty()).expect("there").0, 1);
        let late = rustix::net::recv(&there, &mut byte, rustix::net::RecvFlags::empty());
        assert_eq!(late.expect_err("nothing comes"), Errno::AGAIN);
        let (silent, _other) = std::os::unix::net::UnixStream::pair().expect("pair");
        let silent = OwnedFd::from(silent);
        assert_eq!(wait_for_any(&[silent.as_fd(), there.as_fd()], PATIENCE).expect("poll"), [false, false]);
        drop(here);
        assert_eq!(wait_for_any(&[silent.as_fd(), there.as_fd()], PATIENCE).expect("poll"), [false, true]);
        drop((listener, there));
        assert_eq!(connect(&name, PATIENCE).expect_err("no listener").kind(), io::ErrorKind::ConnectionRefused);
        assert!(names(&name).expect("/proc").is_empty());
    }

    #[test]
    fn end_stops_listening_through_all_copies() {
        let name = name("ended");
        let listener = Listener::bind(&name).expect("bind");
        let copy = Listener::from(listener.as_fd().try_clone_to_owned().expect("dup"));
        let waits = connect(&name, PATIENCE).expect("connect");
        copy.end().expect("shutdown");
        let mut asked = [PollFd::new(&listener.0, PollFlags::IN)];
        assert!(poll(&mut asked, None).expect("poll") == 1 && asked[0].revents().contains(PollFlags::HUP));
        assert_eq!(connect(&name, PATIENCE).expect_err("ended").kind(), io::ErrorKind::ConnectionRefused);
        drop((listener, copy));
        // A child that another test forks has a copy of the listener for a moment.
        assert_eq!(wait_for_any(&[waits.as_fd()], Duration::from_secs(10)).expect("poll"), [true]);
        let left = rustix::net::recv(&waits, &mut [0; 2], rustix::net::RecvFlags::empty());
        assert!(matches!(left, Ok((0, _)) | Err(Errno::CONNRESET)), "{left:?}");
    }

    #[test]
    fn each_side_knows_its_peer() {
        let Some(_alone) = run_in_own_process() else { return };
        let (name, parent) = (name("peer"), std::process::id());
        let listener = Listener::bind(&name).expect("bind");
        let mut child = Child::fork(|| {
            let socket = connect(&name, PATIENCE).expect("connect");
            let listener = Peer::from_socket(&socket).expect("it lives");
            assert_eq!(listener.pid(), parent);
            std::thread::sleep(Duration::from_secs(60));
            0
        })
        .expect("fork");
        let accepted = loop {
            match listener.accept().expect("accept") {
                Some(socket) => break socket,
                None => std::thread::yield_now(),
            }
        };
        let peer = Peer::from_socket(&accepted).expect("it lives");
        assert_eq!(peer.pid(), child.id());
        // Time for the child's assertions: a failed one would end it.
        std::thread::sleep(PATIENCE);
        assert!(peer.is_alive().expect("poll"));
        child.kill();
        child.wait().expect("wait");
        assert!(!peer.is_alive().expect("poll"));
    }
}

//! File descriptors of this process and of other processes of the same user: finding them by their file, and sending
//! and receiving them over local sockets.
//!
//! The kernel decides what a process may see in `/proc/PID/fd`. Descriptors of other users are not found.

use std::fs;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::discard;
use crate::files::{self, Status};
use crate::own_numbers::{self, settled};
use crate::proc_file;

/// A descriptor of any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The process id.
    pub pid: u32,
    /// The file descriptor in that process.
    pub number: u32,
}

impl Found {
    /// Names a descriptor of this process.
    pub fn own(fd: BorrowedFd<'_>) -> Found {
        Found { pid: std::process::id(), number: fd.as_raw_fd().unsigned_abs() }
    }

    /// Pins the file of the descriptor, without opening it.
    ///
    /// # Errors
    /// The errors of open(2); `NotFound` if it has been closed since.
    pub fn pin(self) -> io::Result<Pinned> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.number);
        let pinned = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        Ok(Pinned(settled(pinned.map_err(proc_file::not_opened)?)))
    }

    /// Opens the file of the descriptor again, whatever kind of file it is. For descriptors of this process, and for
    /// tests. If another process has chosen the file, call [`Found::pin`] and check the kind of file first.
    ///
    /// # Errors
    /// The errors of open(2); `NotFound` if it has been closed since.
    pub fn open(self, flags: OFlags) -> io::Result<OwnedFd> {
        self.pin()?.open(flags)
    }
}

/// A file that is held by a descriptor of our own (O_PATH), so that no process can replace it between a check and its
/// use. The file is not opened: another process may have chosen it, and opening can have effects.
#[derive(Debug)]
pub struct Pinned(OwnedFd);

/// The file system type of anonymous pipes (linux/magic.h).
const PIPEFS: i64 = 0x5049_5045;
/// The file system types of shared memory: tmpfs and hugetlbfs (linux/magic.h).
const MEMORY: [i64; 2] = [0x0102_1994, 0x9584_58f6];

/// The permissions of a pipe that [`files::shared_pipe`] has made.
pub(crate) const FOR_ALL: u32 = 0o666;

impl Pinned {
    /// Takes a descriptor of this process. No other process can make it refer to another file.
    pub fn from_fd(fd: OwnedFd) -> Pinned {
        Pinned(fd)
    }

    /// Returns whether the file is a pipe of [`files::shared_pipe`] with this inode: an anonymous pipe that its owner has
    /// opened to all users. The process that names any other pipe may have no right to use it.
    ///
    /// # Errors
    /// The errors of fstat(2) and fstatfs(2).
    pub fn is_shared_pipe(&self, inode: u64) -> io::Result<bool> {
        let status = rustix::fs::fstat(&self.0)?;
        let fits = FileType::from_raw_mode(status.st_mode) == FileType::Fifo
            && status.st_ino == inode
            && status.st_mode & 0o777 == FOR_ALL;
        Ok(fits && self.file_system()? == PIPEFS)
    }

    /// Returns the name of the memfd; `None` for any other file. The creator of a memfd chooses the name, and no process
    /// can change it.
    ///
    /// # Errors
    /// The errors of fstat(2), fstatfs(2) and readlink(2).
    pub fn memory_name(&self) -> io::Result<Option<String>> {
        let status = rustix::fs::fstat(&self.0)?;
        let fits = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile && status.st_nlink == 0;
        if !fits || !MEMORY.contains(&self.file_system()?) {
            return Ok(None);
        }
        let link = link(Found::own(self.0.as_fd()))?;
        Ok(link.to_str().and_then(name_in).map(str::to_owned))
    }

    /// Returns the status of the file.
    ///
    /// # Errors
    /// The errors of fstat(2).
    pub fn status(&self) -> io::Result<Status> {
        files::status(&self.0)
    }

    /// Opens the file: a new open file description, with its own offset and flags.
    ///
    /// # Errors
    /// The errors of open(2).
    pub fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
        Ok(settled(opened.map_err(proc_file::not_opened)?))
    }

    fn file_system(&self) -> io::Result<i64> {
        // The field has different types on different architectures.
        #[allow(clippy::unnecessary_cast)]
        Ok(rustix::fs::fstatfs(&self.0)?.f_type as i64)
    }
}

impl From<Pinned> for OwnedFd {
    fn from(pinned: Pinned) -> OwnedFd {
        pinned.0
    }
}

impl AsFd for Pinned {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns all descriptors of this process, in ascending order.
///
/// # Errors
/// The errors of reading /proc.
pub fn own() -> io::Result<Vec<Found>> {
    of_process(std::process::id())
}

/// Returns all descriptors of a process, in ascending order.
///
/// # Errors
/// `PermissionDenied` for another user's process; `NotFound` if it has ended.
pub fn of_process(pid: u32) -> io::Result<Vec<Found>> {
    let mut found: Vec<Found> = fs::read_dir(format!("/proc/{pid}/fd"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(|number| Found { pid, number })
        .collect();
    found.sort_by_key(|found| found.number);
    Ok(found)
}

/// Returns the target of a descriptor's link in /proc: `/memfd:NAME (deleted)`, `pipe:[INODE]`, or a path.
///
/// # Errors
/// `NotFound` if it has been closed.
pub fn link(found: Found) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{}/fd/{}", found.pid, found.number))
}

/// Returns the name of the memfd to which a descriptor's link leads; `None` for any other file.
pub fn name_in(link: &str) -> Option<&str> {
    link.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")
}

/// Returns the ids of the processes that /proc shows, in no particular order.
///
/// # Errors
/// The errors of reading /proc.
pub fn processes() -> io::Result<impl Iterator<Item = u32>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// Returns the descriptors whose link is wanted, of all processes whose descriptors we may see. Those of this process
/// come last.
///
/// # Errors
/// The errors of reading /proc.
pub fn anywhere(is_wanted: impl Fn(&str) -> bool) -> io::Result<impl Iterator<Item = Found>> {
    let own = std::process::id();
    let pids = processes()?.filter(move |pid| *pid != own).chain([own]);
    // A process that has ended meanwhile, or belongs to another user, shows no descriptors.
    let descriptors = pids.filter_map(|pid| of_process(pid).ok()).flatten();
    Ok(descriptors.filter(move |found| link(*found).is_ok_and(|link| link.to_str().is_some_and(&is_wanted))))
}

/// Returns whether other processes of this user may see the descriptors of this process. They may not after this process
/// has changed its user.
pub fn are_visible() -> bool {
    matches!(rustix::process::dumpable_behavior(), Ok(rustix::process::DumpableBehavior::Dumpable))
}

/// Duplicates a descriptor of this process.
///
/// # Errors
/// `EBADF` if `fd` is not open.
pub fn duplicate(fd: u32) -> io::Result<OwnedFd> {
    let fd = i32::try_from(fd).map_err(|_| rustix::io::Errno::BADF)?;
    // SAFETY: borrowed for one call, which makes a new descriptor or fails, and does not touch this one.
    own_numbers::copy(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Sets whether exec keeps the descriptor open.
///
/// # Errors
/// The errors of fcntl(2).
pub fn set_inheritable(fd: BorrowedFd<'_>, inheritable: bool) -> io::Result<()> {
    let flags = if inheritable { FdFlags::empty() } else { FdFlags::CLOEXEC };
    Ok(rustix::io::fcntl_setfd(fd, flags)?)
}

/// The largest number of descriptors in one message.
const FILES_MAX: usize = 12;

/// Sends at most twelve descriptors over a local socket, with one byte.
///
/// # Errors
/// `InvalidInput` for more than twelve, otherwise the errors of sendmsg(2).
pub fn send(socket: BorrowedFd<'_>, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, b"h", files)
}

/// Like [`send`], with these bytes. There may be no descriptors.
///
/// # Errors
/// Those of [`send`].
pub fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fits = files.is_empty() || files.len() <= FILES_MAX && ancillary.push(SendAncillaryMessage::ScmRights(files));
    if !fits {
        let why = format!("at most {FILES_MAX} descriptors are sent at a time");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives descriptors that were sent by [`send`]. Other descriptors that come with the message are closed: the kernel
/// adds process descriptors if the process that gave us the socket has asked for them (SO_PASSPIDFD).
///
/// # Errors
/// `UnexpectedEof` if the peer is gone; `InvalidData` if more than twelve descriptors came, or more than this process
/// may have open. Then all of them are closed.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<Vec<OwnedFd>> {
    let (count, files) = receive_with(socket, &mut [0], 0)?;
    if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(files) }
}

/// Like [`receive`], and stores the bytes of the message in `bytes`, cut to its length. Returns the number of bytes and
/// the descriptors, of which there may be none. Waits for a message.
///
/// # Errors
/// Those of [`receive`].
pub fn receive_bytes(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    match receive_with(socket, bytes, 0)? {
        (0, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        received => Ok(received),
    }
}

/// Copies the descriptors and bytes of the first packet of a socket, and leaves the packet there. Does not wait.
///
/// Errors: `WouldBlock` if there is no packet; otherwise those of [`receive`].
pub(crate) fn peek_all(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, bytes, libc::MSG_PEEK | libc::MSG_DONTWAIT)
}

fn receive_with(socket: BorrowedFd<'_>, bytes: &mut [u8], flags: libc::c_int) -> io::Result<(usize, Vec<OwnedFd>)> {
    let Received { count, files, is_cut, .. } = receive_packet(socket, bytes, flags)?;
    if is_cut || files.len() > FILES_MAX {
        discard::files(files);
        let why = format!("received more than {FILES_MAX} descriptors, or more than this process may have open");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok((count, files))
}

/// A packet that recvmsg(2) has received.
#[derive(Debug)]
pub(crate) struct Received {
    /// The number of bytes received; with MSG_TRUNC the length of the whole packet.
    pub count: usize,
    pub files: Vec<OwnedFd>,
    /// The kernel has closed some of the descriptors, because this process may have no more.
    is_cut: bool,
    /// A control part came with the bytes.
    pub has_control: bool,
}

/// Receives a packet with all its descriptors. Without room for them the kernel would close them in this thread; see
/// [`discard::files`] for why that must not happen.
pub(crate) fn receive_packet(socket: BorrowedFd<'_>, bytes: &mut [u8], flags: libc::c_int) -> io::Result<Received> {
    // Aligned for cmsghdr.
    let mut space = [MaybeUninit::<u64>::uninit(); CONTROL_BYTES / 8];
    let mut bytes = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a msghdr of zeros is one without name, data and control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut bytes, 1);
    let count = loop {
        (message.msg_control, message.msg_controllen) = (space.as_mut_ptr().cast(), size_of_val(&space) as _);
        // SAFETY: the message leads to the caller's bytes and to `space`, both of the lengths that it says.
        let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC | flags) };
        let error = io::Error::last_os_error();
        match (count, error.kind()) {
            (-1, io::ErrorKind::Interrupted) => {}
            (-1, _) => return Err(error),
            _ => break count.unsigned_abs(),
        }
    };
    // SAFETY: the kernel has filled in the message, whose control part is still there.
    let files: Vec<OwnedFd> = unsafe { descriptors_in(&message) }.into_iter().map(settled).collect();
    Ok(Received {
        count,
        files,
        is_cut: message.msg_flags & libc::MSG_CTRUNC != 0,
        has_control: message.msg_controllen != 0,
    })
}

/// The user and the group of a process that has sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// The effective user id of the process, or another of its user ids that it has chosen.
    pub user: u32,
    /// The effective group id of the process, or another of its group ids that it has chosen.
    pub group: u32,
}

/// The largest number of descriptors in a packet that [`peek`] copies completely.
pub(crate) const PEEKED_MAX: usize = 9;

/// Copies the descriptors of the first packet of a socket, and leaves the packet there. Does not wait.
///
/// Also returns the sender, if the socket asks for it (SO_PASSCRED), and whether the kernel dropped descriptors: for lack of
/// room here, or because this process may have no more. Descriptors that the kernel adds are closed. If the packet has more
/// than [`PEEKED_MAX`] descriptors, more than [`PEEKED_MAX`] are returned, but perhaps not all.
///
/// # Errors
/// The errors of recvmsg(2).
pub(crate) fn peek(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(Vec<OwnedFd>, Option<Sender>, bool)> {
    // Aligned for cmsghdr. Room for the sender, a process descriptor that the kernel may add, and PEEKED_MAX + 1 descriptors.
    let mut space = [0u64; 4 + 3 + 2 + PEEKED_MAX.div_ceil(2)];
    let mut bytes = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a msghdr of zeros is one without name, data and control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut bytes, 1);
    (message.msg_control, message.msg_controllen) = (space.as_mut_ptr().cast(), size_of_val(&space) as _);
    let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT | libc::MSG_PEEK;
    // SAFETY: the message leads to the caller's bytes and to `space`, both of the lengths that it says.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, flags) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled in the message, whose control part is still there.
    let (files, sender) = unsafe { (descriptors_in(&message), sender_in(&message)) };
    Ok((files, sender, message.msg_flags & libc::MSG_CTRUNC != 0))
}

/// Returns the sender of a message, if its control part has one.
///
/// # Safety
/// recvmsg(2) has just filled in the message, and its control part is still there.
unsafe fn sender_in(message: &libc::msghdr) -> Option<Sender> {
    // SAFETY: the caller's promise; the macros stay inside the control part, and CMSG_DATA is followed by the bytes that
    // cmsg_len says, which are a ucred's.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            let enough = header.cmsg_len >= libc::CMSG_LEN(size_of::<libc::ucred>() as u32) as _;
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) && enough {
                let found = libc::CMSG_DATA(control).cast::<libc::ucred>().read_unaligned();
                return Some(Sender { user: found.uid, group: found.gid });
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    None
}

/// Bytes for the largest control part that a local socket can deliver: 253 descriptors (SCM_MAX_FD), the sender
/// (SCM_CREDENTIALS), the descriptor of the sender's process (SCM_PIDFD), and a time.
const CONTROL_BYTES: usize = 1280;

/// Takes all descriptors out of a message, and closes those that the peer has not sent.
///
/// # Safety
/// recvmsg(2) has just filled in the message, and its control part is still there.
unsafe fn descriptors_in(message: &libc::msghdr) -> Vec<OwnedFd> {
    // As in linux/socket.h.
    const SCM_PIDFD: libc::c_int = 4;
    let mut files = Vec::new();
    // SAFETY: the caller's promise; the macros stay inside the control part, and CMSG_DATA is followed by the bytes that
    // cmsg_len says. Descriptors there were made by the kernel for this process, and nothing else uses them yet.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            // The C libraries disagree on the type of a length.
            let bytes: usize = header.cmsg_len as _;
            let count = (bytes - libc::CMSG_LEN(0) as usize) / size_of::<libc::c_int>();
            let data = libc::CMSG_DATA(control).cast::<libc::c_int>();
            let taken = |at| OwnedFd::from_raw_fd(data.add(at).read_unaligned());
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => files.extend((0..count).map(taken)),
                (libc::SOL_SOCKET, SCM_PIDFD) => drop((0..count).map(taken).collect::<Vec<_>>()),
                _ => {}
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    files
}

/// Returns whether this process has another descriptor of the same file with the same access mode. Without /proc it finds
/// none.
pub fn has_copy(fd: BorrowedFd<'_>) -> bool {
    let file_and_access = |fd: BorrowedFd<'_>| {
        let status = rustix::fs::fstat(fd).ok()?;
        let access = rustix::fs::fcntl_getfl(fd).ok()? & (OFlags::ACCMODE | OFlags::PATH);
        Some((status.st_dev, status.st_ino, access))
    };
    let (wanted, number) = (file_and_access(fd), fd.as_raw_fd().unsigned_abs());
    let others = own().unwrap_or_default().into_iter().filter(|found| found.number != number);
    // SAFETY: borrowed for two queries. If the descriptor was closed or reused meanwhile, only the answer changes.
    let query = |found: Found| file_and_access(unsafe { BorrowedFd::borrow_raw(found.number as i32) });
    wanted.is_some() && others.map(query).any(|other| other == wanted)
}

/// Returns the inode number of a descriptor's file.
///
/// # Errors
/// The errors of fstat(2).
pub fn inode(fd: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(fd)?.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pipe_is_found_by_its_link() {
        let (source, sink) = io::pipe().expect("pipe");
        let wanted = format!("pipe:[{}]", inode(&source).expect("fstat"));
        let found = anywhere(|link| link == wanted).expect("/proc").next().expect("it is open");
        assert_eq!(found.pid, std::process::id());
        assert!(own().expect("/proc").contains(&Found::own(sink.as_fd())));
        drop((source, sink));
        assert_eq!(anywhere(|link| link == wanted).expect("/proc").next(), None);
    }

    #[test]
    fn several_descriptors_are_sent_in_one_message() {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (source, sink) = io::pipe().expect("pipe");
        send(near.as_fd(), &[source.as_fd(), sink.as_fd()]).expect("send");
        let copies = receive(far.as_fd()).expect("receive");
        assert_eq!(copies.len(), 2);
        assert_eq!(inode(&copies[0]).ok(), inode(&source).ok());
        assert!(send(near.as_fd(), &[source.as_fd(); FILES_MAX + 1]).is_err());
        drop(near);
        assert_eq!(receive(far.as_fd()).expect_err("the end").kind(), io::ErrorKind::UnexpectedEof);
    }

    /// The value in asm-generic/socket.h.
    const SO_PASSPIDFD: libc::c_int = 76;

    #[test]
    fn unrequested_process_descriptors_are_closed() {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (source, _sink) = io::pipe().expect("pipe");
        let on: libc::c_int = 1;
        // SAFETY: the option is a number, and `on` is one.
        let set = unsafe {
            let len = size_of_val(&on) as libc::socklen_t;
            libc::setsockopt(far.as_raw_fd(), libc::SOL_SOCKET, SO_PASSPIDFD, (&raw const on).cast(), len)
        };
        assert!(set == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::ENOPROTOOPT));
        send(near.as_fd(), &[source.as_fd()]).expect("send");
        let pidfds = || {
            let own = own().expect("/proc").into_iter();
            own.filter(|found| link(*found).is_ok_and(|link| link.to_string_lossy().contains("pidfd"))).count()
        };
        let before = pidfds();
        assert_eq!(receive(far.as_fd()).expect("receive").len(), 1);
        assert_eq!(pidfds(), before, "a descriptor of the sender's process stayed open");
    }

    #[test]
    fn too_many_descriptors_are_refused_and_closed() {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (source, sink) = io::pipe().expect("pipe");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let many = vec![sink.as_fd(); 200];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&many)));
        sendmsg(near.as_fd(), &[IoSlice::new(b"h")], &mut ancillary, SendFlags::NOSIGNAL).expect("send");
        assert_eq!(receive(far.as_fd()).expect_err("too many").kind(), io::ErrorKind::InvalidData);
        // The writing end is closed everywhere.
        drop(sink);
        assert_eq!(io::Read::read(&mut &source, &mut [0]).expect("read"), 0);
    }

    #[test]
    fn pinned_file_cannot_be_replaced() {
        let (source, sink) = files::shared_pipe().expect("pipe");
        let inode = inode(&source).expect("fstat");
        let pinned = Found::own(sink.as_fd()).pin().expect("it is open");
        let file = fs::File::open("/dev/null").expect("open");
        // SAFETY: both are open descriptors of this test, which keeps them.
        assert!(unsafe { libc::dup2(file.as_raw_fd(), sink.as_raw_fd()) } >= 0);
        assert!(pinned.is_shared_pipe(inode).expect("fstat"));
        let opened = pinned.open(OFlags::WRONLY).expect("open");
        files::write_byte(opened).expect("write");
        assert_eq!(io::Read::read(&mut io::PipeReader::from(source), &mut [0]).expect("read"), 1);
    }

    #[test]
    fn only_a_shared_pipe_with_the_inode_is_accepted() {
        let is_pipe = |fd: BorrowedFd<'_>| {
            let pinned = Found::own(fd).pin().expect("it is open");
            pinned.is_shared_pipe(inode(fd).expect("fstat")).expect("fstat")
        };
        let (source, sink) = files::shared_pipe().expect("pipe");
        assert!(is_pipe(source.as_fd()) && is_pipe(sink.as_fd()));
        assert!(
            !Found::own(source.as_fd()).pin().expect("it is open").is_shared_pipe(1).expect("fstat"),
            "another inode"
        );
        let (private, _sink) = io::pipe().expect("pipe");
        assert!(!is_pipe(private.as_fd()), "its owner has not opened it to all users");
        let path = std::env::temp_dir().join(format!("headwater-descriptors-{}", std::process::id()));
        files::make_fifo(&path, 0o666).expect("mkfifo");
        let node = files::open_fifo(&path);
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("chmod");
        fs::remove_file(&path).expect("it is there");
        assert!(!is_pipe(node.expect("open").as_fd()), "a named FIFO");
        assert!(!is_pipe(fs::File::open("/dev/null").expect("open").as_fd()));
    }

    #[test]
    fn memory_name_is_that_of_the_memfd() {
        let is_memory = |fd: BorrowedFd<'_>| {
            let name = Found::own(fd).pin().expect("it is open").memory_name().expect("fstat");
            name.as_deref() == Some("headwater-test-memory")
        };
        let memory = |name| rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        assert!(is_memory(memory("headwater-test-memory").as_fd()));
        assert!(!is_memory(memory("headwater-test-memory2").as_fd()));
        assert!(!is_memory(memory("headwater-test-memory (deleted)").as_fd()));
        assert!(!is_memory(fs::File::open("/dev/null").expect("open").as_fd()));
    }

    #[test]
    fn closed_descriptor_is_not_duplicated() {
        assert!(duplicate(1 << 20).is_err());
        assert!(duplicate(u32::MAX).is_err());
    }
}

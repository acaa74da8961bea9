//! A doorbell with two ends: a pair of connected sockets, or the ends of a pipe, that carries lifetime, readiness and passed
//! files, never data.
//!
//! Each end of a stream holds one. The kernel keeps count of its copies through fork, dup, exec and SCM_RIGHTS; when the
//! last one is gone, however its process died, the other end sees a hang-up ([`Heard::Gone`]).
//!
//! The descriptor is what poll and epoll see. A packet in its queue makes it readable. A packet of ours that the other
//! end has not taken, if it is large enough ([`Doorbell::block_room`]), makes it not writable; taking it, or a larger
//! limit ([`Doorbell::nudge_own`]), makes it writable again, with an event for edge-triggered pollers.
//!
//! Received packets are input from another process, which may be hostile or may not use this library at all. Only
//! [`Doorbell::peek_files`] takes files into this process.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, UCred,
    recv, send, sendmsg, socketpair, sockopt,
};
use rustix::process::{getegid, geteuid, getpid};

use crate::descriptors::{self, PEEKED_MAX, Sender};
use crate::discard;
use crate::file_facts::is_local_pair;
use crate::own_numbers::settled;
use crate::readiness::{self, Watched};

mod close;
mod own;
mod packet;
pub(crate) mod pipe;

pub use own::OwnWatch;
pub use packet::Packet;
use packet::{FILLING, LEN, STATED, stated_bytes, stated_in};

/// One end.
#[derive(Debug)]
pub struct Doorbell {
    /// The descriptor that is polled.
    own: OwnedFd,
    kind: Kind,
}

/// The kind of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of a pair, which both hears and rings.
    Socket,
    /// The reading end of a pipe, which hears.
    Reader,
    /// The writing end of a pipe, which rings.
    Writer,
}

/// Files that came with one packet.
#[derive(Debug)]
pub struct PassedFiles {
    /// At least one.
    pub files: Vec<OwnedFd>,
    /// The user and the group that have sent them, if the kernel reports them. A process of the receiver's own user, or of root, may
    /// state another sender: it could do everything in the receiver's name anyway. Of any other process it is the kernel's word.
    pub sender: Option<Sender>,
}

/// What to wait for at a doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// A packet.
    Packets,
    /// That the other end has taken what [`Doorbell::block_room`] sent.
    Room,
    /// Either.
    Both,
    /// What the watch reports, which is one of [`Doorbell::watch_edges`]: packets lie there that the caller leaves.
    Edges,
}

/// Why [`Doorbell::wait`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The event that the caller waits for.
    Ready,
    /// Another user of our own end has called [`Doorbell::nudge_own`]; or the other end has taken a packet; or one has arrived, with a
    /// watch of [`Doorbell::watch_edges`].
    Nudged,
    /// A file beside the doorbell is ready, and nothing else has happened.
    Beside,
    /// Every copy of the other end is gone.
    Gone,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// The socket's send buffer in bytes, of which the kernel doubles the value. A socket is writable while its unread packets
/// take at most a quarter of the doubled value: a few bells do, [`FILLING`] does not.
const SEND_BUFFER: usize = 8 << 10;
/// With this one a socket is writable whatever lies there.
const SEND_BUFFER_WIDE: usize = 64 << 10;

/// The largest number of files to wait for beside a doorbell and its watch.
pub const BESIDE_MAX: usize = readiness::FILES_MAX - 2;

impl Doorbell {
    /// Makes two connected ends, closed by exec unless the caller clears that.
    ///
    /// # Errors
    /// The errors of socketpair(2), mostly `EMFILE`.
    pub fn pair() -> io::Result<(Doorbell, Doorbell)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_send_buffer_size(&one, SEND_BUFFER)?;
        sockopt::set_socket_send_buffer_size(&other, SEND_BUFFER)?;
        let (one, other) = (settled(one), settled(other));
        Ok((Doorbell { own: one, kind: Kind::Socket }, Doorbell { own: other, kind: Kind::Socket }))
    }

    /// The end behind a descriptor from elsewhere.
    ///
    /// # Errors
    /// `InvalidInput` if it is none of a pair of local packet sockets.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Doorbell> {
        // A bell that goes to a service would carry this process's credentials.
        if !is_local_pair(&socket) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptor is no end of a doorbell"));
        }
        // The process that passed the socket may have asked for a descriptor of each sender's process with every
        // packet.
        refuse_extras(socket.as_fd());
        Ok(Doorbell { own: socket, kind: Kind::Socket })
    }

    /// An end of a pipe, which becomes non-blocking. The other end is gone when no process has it open.
    ///
    /// # Errors
    /// `InvalidInput` if it is open for reading and writing; the errors of fcntl(2).
    pub fn of_pipe(own: OwnedFd) -> io::Result<Doorbell> {
        let flags = rustix::fs::fcntl_getfl(&own)?;
        let kind = match flags & OFlags::ACCMODE {
            OFlags::RDONLY => Kind::Reader,
            OFlags::WRONLY => Kind::Writer,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the pipe is open for both")),
        };
        if !flags.contains(OFlags::NONBLOCK) {
            rustix::fs::fcntl_setfl(&own, flags | OFlags::NONBLOCK)?;
        }
        Ok(Doorbell { own, kind })
    }

    /// Gives up this copy of the end, for good, also while other threads use it: its descriptor becomes a copy of
    /// `instead`.
    ///
    /// # Errors
    /// The errors of dup3(2).
    pub fn give_up(&self, instead: BorrowedFd<'_>) -> io::Result<()> {
        // SAFETY: both are open descriptors; the one that is replaced is ours, and stays open.
        match unsafe { libc::dup3(instead.as_raw_fd(), self.own.as_raw_fd(), libc::O_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Whether it is an end of a pipe. Then its packets are bells without numbers, and go in one direction.
    pub fn is_of_pipe(&self) -> bool {
        self.kind != Kind::Socket
    }

    /// Whether it is the writing end of a pipe.
    pub fn is_writer(&self) -> bool {
        self.kind == Kind::Writer
    }

    /// Rings at the other end. True also if its queue is full: then it is readable already. False if every copy of it
    /// is closed.
    pub fn ring(&self, number: u32) -> bool {
        match self.kind {
            Kind::Socket => self.send(Packet::Bell(number), &[]),
            Kind::Writer => pipe::ring(self.own.as_fd()),
            // A writer only waits for room.
            Kind::Reader => true,
        }
    }

    /// Rings at our own end, which only the reading end of a pipe can: it is opened once more for writing. False if it cannot.
    pub fn ring_own(&self) -> bool {
        self.kind == Kind::Reader && pipe::ring_own(self.own.as_fd())
    }

    /// Asks the other end to ring back, which only a socket's can.
    pub fn ask_echo(&self) -> bool {
        self.kind == Kind::Socket && self.send(Packet::Echo, &[])
    }

    /// Whether our descriptor is writable, so that [`Doorbell::block_room`] has something to do: one packet is enough.
    ///
    /// # Errors
    /// The errors of setsockopt(2) and poll(2).
    pub fn is_room_open(&self) -> io::Result<bool> {
        if self.kind == Kind::Reader || !self.is_writable()? {
            return Ok(false);
        }
        if self.kind == Kind::Writer {
            return Ok(true);
        }
        sockopt::set_socket_send_buffer_size(&self.own, SEND_BUFFER)?;
        self.is_writable()
    }

    /// Makes our descriptor not writable until the other end takes what this sends. Of a socket that is one packet, and behind
    /// it goes a bell of that number, which stays when the packet is taken. Both are sent by one call, so that a process that
    /// is killed has sent both or none; where a system call filter refuses sendmmsg(2), by two.
    ///
    /// # Errors
    /// For a pipe, the errors of write(2) and poll(2).
    pub fn block_room(&self, number: u32) -> io::Result<bool> {
        match self.kind {
            Kind::Socket => {
                let packets = [(Packet::NoRoom, &FILLING[..]), (Packet::Bell(number), &[])];
                let sent = self.send_together(&packets);
                for (packet, filling) in &packets[sent..] {
                    self.send(*packet, filling);
                }
                Ok(true)
            }
            Kind::Writer => pipe::fill(self.own.as_fd(), || self.is_writable()),
            Kind::Reader => Ok(false),
        }
    }

    /// Of a pipe's reading end: takes what keeps the writing ends from being writable, but for a last byte. Returns how many
    /// bytes were not written by this library.
    ///
    /// # Errors
    /// The errors of ioctl(2) and read(2).
    pub fn free_pipe(&self) -> io::Result<usize> {
        if self.kind == Kind::Reader { pipe::free(self.own.as_fd()) } else { Ok(0) }
    }

    /// Of a pipe's reading end: takes everything. Returns how many bytes were not written by this library.
    ///
    /// # Errors
    /// The errors of read(2).
    pub fn drain_pipe(&self) -> io::Result<usize> {
        if self.kind == Kind::Reader { pipe::drain(self.own.as_fd()) } else { Ok(0) }
    }

    /// Passes an open file to the other end, under a number.
    ///
    /// # Errors
    /// `WouldBlock` while many files wait at the other end; `EPIPE` if it is gone; `Unsupported` over a pipe.
    pub fn pass(&self, file: BorrowedFd<'_>, number: u32) -> io::Result<()> {
        self.pass_all(&[file], number, None)
    }

    /// As [`Doorbell::pass`], of at most nine files that belong together, for a sender that this process states; see
    /// [`PassedFiles::sender`].
    ///
    /// # Errors
    /// Those of [`Doorbell::pass`]; `InvalidInput` for no or too many files.
    pub fn pass_all(&self, files: &[BorrowedFd<'_>], number: u32, sender: Option<Sender>) -> io::Result<()> {
        if self.is_of_pipe() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no file is passed through a named FIFO"));
        }
        if files.is_empty() || files.len() > PEEKED_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("1 to {PEEKED_MAX} files are passed together"),
            ));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PEEKED_MAX), ScmCredentials(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        // We state the sender and the kernel checks it: without this the kernel adds no sender if the receiver has not
        // asked for it yet.
        let (pid, uid, gid) = (getpid(), geteuid(), getegid());
        let pushed = ancillary.push(SendAncillaryMessage::ScmRights(files))
            && ancillary.push(SendAncillaryMessage::ScmCredentials(UCred { pid, uid, gid }));
        assert!(pushed, "there is space for both");
        let stated = sender.map_or([0; STATED], stated_bytes);
        let stated = if sender.is_some() { &stated[..] } else { &[] };
        let bytes = Packet::File(number).bytes();
        sendmsg(&self.own, &[IoSlice::new(&bytes), IoSlice::new(stated)], &mut ancillary, QUIETLY)?;
        Ok(())
    }

    /// Takes the first packet of a socket, without waiting. Files in it are closed.
    ///
    /// # Errors
    /// The errors of recv(2).
    pub fn take(&self) -> io::Result<Packet> {
        self.receive(RecvFlags::empty(), &[])
    }

    /// As [`Doorbell::take`], of a packet whose files have been looked at ([`Doorbell::peek_files`]) and are kept.
    ///
    /// # Errors
    /// Those of [`Doorbell::take`].
    pub fn take_beside(&self, kept: &[OwnedFd]) -> io::Result<Packet> {
        self.receive(RecvFlags::empty(), kept)
    }

    /// The first packet, which stays. Of a pipe: a bell with the number 0, whatever its contents.
    ///
    /// # Errors
    /// The errors of recv(2) and ioctl(2).
    pub fn peek(&self) -> io::Result<Packet> {
        match self.kind {
            Kind::Socket => self.receive(RecvFlags::PEEK, &[]),
            Kind::Reader if rustix::io::ioctl_fionread(&self.own)? > 0 => Ok(Packet::Bell(0)),
            Kind::Reader | Kind::Writer => Ok(Packet::Nothing),
        }
    }

    /// Whether the packet of [`Doorbell::block_room`] can be in the queue: the queued bytes are at least as many.
    ///
    /// # Errors
    /// The errors of ioctl(2).
    pub fn may_hold_no_room(&self) -> io::Result<bool> {
        // For a packet socket the kernel returns the sum of all packets.
        Ok(rustix::io::ioctl_fionread(&self.own)? >= (LEN + FILLING.len()) as u64)
    }

    /// The files in the first packet, which stays, and their sender. None if the packet carries none.
    ///
    /// # Errors
    /// `EMFILE` without as many free descriptors; the errors of recvmsg(2).
    pub fn peek_files(&self) -> io::Result<Option<PassedFiles>> {
        let mut bytes = [0; LEN + STATED];
        for _ in 0..2 {
            // The kernel adds the sender only if the socket asks for it when the packet is looked at.
            ask_for_senders(self.own.as_fd(), true);
            let peeked = descriptors::peek(self.own.as_fd(), &mut bytes);
            ask_for_senders(self.own.as_fd(), false);
            match peeked? {
                // More than this library sends: another file for each.
                (mut files, sender, _) if files.len() > PEEKED_MAX => {
                    files.truncate(1);
                    return Ok(Some(PassedFiles { files, sender }));
                }
                (_, _, true) => refuse_extras(self.own.as_fd()),
                (files, _, false) if files.is_empty() => return Ok(None),
                (files, sender, false) => {
                    let sender = sender.map(|sender| stated_sender(sender, &bytes));
                    return Ok(Some(PassedFiles { files, sender }));
                }
            }
        }
        Err(Errno::MFILE.into())
    }

    /// Sleeps until the event, the end of the other end, or the end of `timeout` (None: no bound); with a watch also
    /// until another user of our own end nudges us.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait(&self, interest: Interest, watch: Option<&OwnWatch>, timeout: Option<Duration>) -> io::Result<Heard> {
        self.wait_beside(interest, watch, &mut [], timeout)
    }

    /// As [`Doorbell::wait`], and also until one of these files is ready, at most [`BESIDE_MAX`]; their events are
    /// stored in each, whatever is returned.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait_beside(
        &self,
        interest: Interest,
        watch: Option<&OwnWatch>,
        beside: &mut [Watched<'_>],
        timeout: Option<Duration>,
    ) -> io::Result<Heard> {
        // The kernel reports no room for a pipe's reading end, and nothing to read for its writing end.
        let wanted = match interest {
            Interest::Packets => Watched::IN,
            Interest::Room => Watched::OUT,
            Interest::Both => Watched::IN | Watched::OUT,
            Interest::Edges => 0,
        };
        let own = Watched::new(self.own.as_fd(), wanted);
        let mut all = [own; readiness::FILES_MAX];
        let mut count = 1;
        if let Some(watch) = watch {
            all[count] = Watched::new(watch.as_fd(), Watched::IN);
            count += 1;
        }
        let files = count;
        let room = beside.len().min(BESIDE_MAX);
        all[files..files + room].copy_from_slice(&beside[..room]);
        count += room;
        let (ready, is_interrupted) = readiness::wait(&mut all[..count], timeout)?;
        beside[..room].iter_mut().zip(&all[files..count]).for_each(|(file, seen)| file.ready = seen.ready);
        if is_interrupted {
            return Ok(Heard::Interrupted);
        }
        if ready == 0 {
            return Ok(Heard::TimedOut);
        }
        if all[0].ready & readiness::bits(self.gone_flag()) != 0 {
            return Ok(Heard::Gone);
        }
        if let Some(watch) = watch.filter(|_| all[0].ready == 0 && all[1].ready != 0) {
            watch.clear()?;
            return Ok(Heard::Nudged);
        }
        Ok(if all[0].ready == 0 { Heard::Beside } else { Heard::Ready })
    }

    /// Whether every copy of the other end is gone. One poll(2).
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn is_alone(&self) -> io::Result<bool> {
        Ok(self.poll_now(PollFlags::empty())?.contains(self.gone_flag()))
    }

    /// Tells the kernel that this end reads, or writes, no more: the descriptor of the other end then shows it.
    ///
    /// # Errors
    /// The errors of shutdown(2).
    pub fn shutdown(&self, direction: Shutdown) -> io::Result<()> {
        let how = match direction {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        match rustix::net::shutdown(&self.own, how) {
            // The other end is gone: there is no peer to tell.
            Err(Errno::NOTCONN) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Whether anything that we sent is still in the other end's queue. True of a pipe, where it is not known.
    ///
    /// # Errors
    /// The errors of ioctl(2).
    pub fn has_unread(&self) -> io::Result<bool> {
        if self.is_of_pipe() {
            return Ok(true);
        }
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ writes one int to the valid place that it is given.
        match unsafe { libc::ioctl(self.own.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(bytes > 0),
        }
    }

    /// The number by which the kernel knows this end, the same for every copy: a socket's is never used again, a pipe's,
    /// which both of its ends have, not while it is open.
    ///
    /// # Errors
    /// The errors of getsockopt(2) and fstat(2).
    pub fn cookie(&self) -> io::Result<u64> {
        match self.kind {
            Kind::Socket => Ok(sockopt::socket_cookie(&self.own)?),
            Kind::Reader | Kind::Writer => Ok(rustix::fs::fstat(&self.own)?.st_ino),
        }
    }

    /// Another descriptor of the same end, as another process holds it.
    #[cfg(test)]
    fn try_clone(&self) -> io::Result<Doorbell> {
        Ok(Doorbell { own: self.own.try_clone()?, kind: self.kind })
    }

    /// What poll shows of an end whose other end is gone.
    fn gone_flag(&self) -> PollFlags {
        if self.kind == Kind::Writer { PollFlags::ERR } else { PollFlags::HUP }
    }

    fn send(&self, packet: Packet, filling: &[u8]) -> bool {
        let bytes = packet.bytes();
        // Without a message's header the call is shorter.
        let sent = if filling.is_empty() {
            send(&self.own, &bytes, QUIETLY)
        } else {
            let mut none = SendAncillaryBuffer::default();
            sendmsg(&self.own, &[IoSlice::new(&bytes), IoSlice::new(filling)], &mut none, QUIETLY)
        };
        matches!(sent, Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS))
    }

    /// Sends packets by one system call. Returns how many were sent.
    fn send_together(&self, packets: &[(Packet, &[u8]); 2]) -> usize {
        let bytes = packets.map(|(packet, _)| packet.bytes());
        let piece = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut pieces = [0, 1].map(|at: usize| [piece(&bytes[at]), piece(packets[at].1)]);
        // SAFETY: an all-zero header names no address, no piece and no ancillary data.
        let mut headers: [libc::mmsghdr; 2] = unsafe { std::mem::zeroed() };
        for (header, pieces) in headers.iter_mut().zip(&mut pieces) {
            header.msg_hdr.msg_iov = pieces.as_mut_ptr();
            header.msg_hdr.msg_iovlen = pieces.len() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the headers, their pieces and what these point to live until the call is over; the kernel writes the
        // headers alone.
        let sent = unsafe { libc::sendmmsg(self.own.as_raw_fd(), headers.as_mut_ptr(), 2, flags as _) };
        usize::try_from(sent).unwrap_or(0)
    }

    fn receive(&self, flags: RecvFlags, kept: &[OwnedFd]) -> io::Result<Packet> {
        let mut bytes = [0; LEN];
        // An error of the connection is told once, before what lies in the queue.
        for _ in 0..2 {
            match self.receive_into(&mut bytes, flags, kept) {
                Ok(0) => return self.nothing_or_gone(),
                Ok(len) => return Ok(Packet::of(&bytes, len)),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => return Ok(Packet::Nothing),
                    Some(libc::ECONNRESET) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(Packet::Gone)
    }

    /// Returns the length of the whole packet.
    fn receive_into(&self, bytes: &mut [u8], flags: RecvFlags, kept: &[OwnedFd]) -> io::Result<usize> {
        let flags = flags | RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        if flags.contains(RecvFlags::PEEK) {
            // Files in it stay there.
            return Ok(recv(&self.own, bytes, flags)?.1);
        }
        let received = descriptors::receive_packet(self.own.as_fd(), bytes, flags.bits().cast_signed())?;
        discard::files_beside(received.files, kept);
        Ok(received.count)
    }

    /// A packet without bytes comes from another program, and looks like the end of the stream.
    fn nothing_or_gone(&self) -> io::Result<Packet> {
        let ended = self.poll_now(PollFlags::RDHUP)?.intersects(PollFlags::HUP | PollFlags::RDHUP);
        Ok(if ended { Packet::Gone } else { Packet::Foreign(0) })
    }

    fn is_writable(&self) -> io::Result<bool> {
        Ok(self.poll_now(PollFlags::OUT)?.contains(PollFlags::OUT))
    }

    fn poll_now(&self, wanted: PollFlags) -> io::Result<PollFlags> {
        let mut polled = [PollFd::new(&self.own, wanted)];
        loop {
            match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Err(Errno::INTR) => {}
                done => return done.map(|_| polled[0].revents()).map_err(io::Error::from),
            }
        }
    }
}

/// A caller that rings must neither wait nor be killed by SIGPIPE.
const QUIETLY: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The sender that a packet states, if the one that the kernel names may state another.
fn stated_sender(sender: Sender, bytes: &[u8; LEN + STATED]) -> Sender {
    let may_state = sender.user == 0 || sender.user == geteuid().as_raw();
    stated_in(bytes).filter(|_| may_state).unwrap_or(sender)
}

/// Asks the kernel to add nothing to received packets. An option that the kernel does not know adds nothing.
fn refuse_extras(socket: BorrowedFd<'_>) {
    const PASSPIDFD: libc::c_int = 76;
    for option in [libc::SO_PASSCRED, libc::SO_PASSSEC, PASSPIDFD] {
        set_option(socket, option, 0);
    }
}

/// Asks the kernel to add the sender to received packets, or to stop that.
fn ask_for_senders(socket: BorrowedFd<'_>, ask: bool) {
    set_option(socket, libc::SO_PASSCRED, libc::c_int::from(ask));
}

fn set_option(socket: BorrowedFd<'_>, option: libc::c_int, value: libc::c_int) {
    // SAFETY: setsockopt reads one int from the valid place that it is given.
    unsafe {
        let (value, len) = ((&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, len);
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}

#[cfg(test)]
mod tests;

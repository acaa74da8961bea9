//! A doorbell: a pair of connected sockets, or the two ends of a pipe. It tells each end when the other one is gone or ready,
//! and it passes files. It carries no data.
//!
//! Each end of a stream holds one end of a doorbell. When its last copy is gone, however the process ended, the other end sees
//! a hang-up ([`Heard::Gone`]): the kernel counts copies through fork, dup, exec and SCM_RIGHTS.
//!
//! Programs poll the descriptor of their end. It is readable while a packet is in its queue. It is not writable while the
//! other end has not taken a large packet of ours ([`Doorbell::block_room`]). Taking the packet, or raising the send limit
//! ([`Doorbell::nudge_own`]), makes it writable again, with an event for edge-triggered pollers.
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

/// An end of a doorbell.
#[derive(Debug)]
pub struct Doorbell {
    /// The descriptor that is polled.
    own: OwnedFd,
    kind: Kind,
}

/// The kind of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A socket of a pair: it sends and receives bells.
    Socket,
    /// The reading end of a pipe: it receives bells.
    Reader,
    /// The writing end of a pipe: it sends bells.
    Writer,
}

/// Files that came with one packet.
#[derive(Debug)]
pub struct PassedFiles {
    /// The files, at least one.
    pub files: Vec<OwnedFd>,
    /// The user and the group of the sending process, if the kernel reports them. A process of the receiver's user, or of root,
    /// may state another sender: it could act in the receiver's name anyway. For all other processes it is the sender that the
    /// kernel reports.
    pub sender: Option<Sender>,
}

/// The event to wait for at a doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// A packet is in the queue.
    Packets,
    /// The other end has taken what [`Doorbell::block_room`] sent.
    Room,
    /// Either of the two.
    Both,
    /// An event of the watch, which is one of [`Doorbell::watch_edges`]. For a caller that leaves packets in the queue.
    Edges,
}

/// The reason why [`Doorbell::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The event that the caller waits for has occurred.
    Ready,
    /// Another user of our end has called [`Doorbell::nudge_own`], or the other end has taken a packet. With a watch of
    /// [`Doorbell::watch_edges`] also: a packet has arrived.
    Nudged,
    /// Another file is ready, and nothing else has happened.
    Beside,
    /// Every copy of the other end is gone.
    Gone,
    /// The timeout has passed.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// The send buffer of a socket in bytes. The kernel doubles the value. A socket is writable while its unread packets take at
/// most a quarter of the doubled value: a few bells fit, [`FILLING`] does not.
const SEND_BUFFER: usize = 8 << 10;
/// A send buffer with which a socket is writable whatever its unread packets are.
const SEND_BUFFER_WIDE: usize = 64 << 10;

/// The largest number of other files in [`Doorbell::wait_beside`].
pub const BESIDE_MAX: usize = readiness::FILES_MAX - 2;

impl Doorbell {
    /// Makes two connected ends. They are closed by exec unless the caller clears that flag.
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

    /// Takes a socket that came from another process or by inheritance.
    ///
    /// # Errors
    /// `InvalidInput` if it is not one of a pair of local packet sockets.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Doorbell> {
        // A bell that is sent to a service would carry the credentials of this process.
        if !is_local_pair(&socket) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptor is not an end of a doorbell"));
        }
        // The process that passed the socket may have asked the kernel to add a process descriptor to every packet.
        refuse_extras(socket.as_fd());
        Ok(Doorbell { own: socket, kind: Kind::Socket })
    }

    /// Takes an end of a pipe and makes it non-blocking. The other end counts as gone when no process has it open.
    ///
    /// # Errors
    /// `InvalidInput` if it is open for both reading and writing; the errors of fcntl(2).
    pub fn from_pipe(own: OwnedFd) -> io::Result<Doorbell> {
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

    /// Gives up this copy of the end, also while other threads use it: its descriptor becomes a copy of `instead`.
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

    /// Returns whether this is an end of a pipe. Its packets are then bells without numbers, and go in one direction.
    pub fn is_pipe(&self) -> bool {
        self.kind != Kind::Socket
    }

    /// Returns whether this is the writing end of a pipe.
    pub fn is_writer(&self) -> bool {
        self.kind == Kind::Writer
    }

    /// Sends a bell to the other end. Returns false if every copy of the other end is closed. If its queue is full, the other
    /// end is already readable, and the result is true.
    pub fn ring(&self, number: u32) -> bool {
        match self.kind {
            Kind::Socket => self.send(Packet::Bell(number), &[]),
            Kind::Writer => pipe::ring(self.own.as_fd()),
            // The writing end waits for room only.
            Kind::Reader => true,
        }
    }

    /// Makes our own end readable by a bell. Only the reading end of a pipe can do so: it opens the pipe for writing. Returns
    /// false if that fails or this is another kind of end.
    pub fn ring_own(&self) -> bool {
        self.kind == Kind::Reader && pipe::ring_own(self.own.as_fd())
    }

    /// Asks the other end to send a bell back. Returns false for a pipe, whose ends cannot.
    pub fn ask_echo(&self) -> bool {
        self.kind == Kind::Socket && self.send(Packet::Echo, &[])
    }

    /// Returns whether our descriptor is writable. If so, one packet of [`Doorbell::block_room`] changes that.
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

    /// Makes our descriptor not writable until the other end takes what this call sends: over sockets one packet and, behind
    /// it, a bell with `number`, which stays when the packet is taken. One system call sends both, so a killed process has sent
    /// both or none. Where a system call filter refuses sendmmsg(2), two calls send them.
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

    /// Takes all bytes but one out of the pipe, so that its writing ends become writable. Returns the number of bytes that
    /// were not written by this library. Does nothing at an end that is not the reading end of a pipe.
    ///
    /// # Errors
    /// The errors of ioctl(2) and read(2).
    pub fn free_pipe(&self) -> io::Result<usize> {
        if self.kind == Kind::Reader { pipe::free(self.own.as_fd()) } else { Ok(0) }
    }

    /// Takes all bytes out of the pipe. Returns the number of bytes that were not written by this library. Does nothing at an
    /// end that is not the reading end of a pipe.
    ///
    /// # Errors
    /// The errors of read(2).
    pub fn drain_pipe(&self) -> io::Result<usize> {
        if self.kind == Kind::Reader { pipe::drain(self.own.as_fd()) } else { Ok(0) }
    }

    /// Passes an open file to the other end, with a number.
    ///
    /// # Errors
    /// `WouldBlock` while many files are queued at the other end; `EPIPE` if that end is gone; `Unsupported` for a pipe.
    pub fn pass(&self, file: BorrowedFd<'_>, number: u32) -> io::Result<()> {
        self.pass_all(&[file], number, None)
    }

    /// Like [`Doorbell::pass`], with up to nine files that belong together. `sender` is the sender that this process states;
    /// see [`PassedFiles::sender`].
    ///
    /// # Errors
    /// Those of [`Doorbell::pass`]; `InvalidInput` for no or too many files.
    pub fn pass_all(&self, files: &[BorrowedFd<'_>], number: u32, sender: Option<Sender>) -> io::Result<()> {
        if self.is_pipe() {
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
        // We state our credentials, and the kernel checks them. Otherwise the kernel would add no sender if the receiver has
        // not asked for it yet.
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

    /// Takes the first packet out of the queue of a socket, and closes the files in it. Does not wait.
    ///
    /// # Errors
    /// The errors of recv(2).
    pub fn take(&self) -> io::Result<Packet> {
        self.receive(RecvFlags::empty(), &[])
    }

    /// Like [`Doorbell::take`], for a packet whose files the caller has copied ([`Doorbell::peek_files`]) and keeps.
    ///
    /// # Errors
    /// Those of [`Doorbell::take`].
    pub fn take_keeping(&self, kept: &[OwnedFd]) -> io::Result<Packet> {
        self.receive(RecvFlags::empty(), kept)
    }

    /// Returns the first packet, and leaves it in the queue. For a pipe that contains bytes: a bell with the number 0,
    /// whatever the bytes are.
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

    /// Returns whether the queue has enough bytes to contain the packet of [`Doorbell::block_room`].
    ///
    /// # Errors
    /// The errors of ioctl(2).
    pub fn may_hold_no_room(&self) -> io::Result<bool> {
        // For a packet socket the kernel returns the sum of all packets.
        Ok(rustix::io::ioctl_fionread(&self.own)? >= (LEN + FILLING.len()) as u64)
    }

    /// Copies the files in the first packet, and returns them with their sender. The packet stays in the queue. Returns
    /// `None` if the packet has no files.
    ///
    /// # Errors
    /// `EMFILE` without enough free descriptors; the errors of recvmsg(2).
    pub fn peek_files(&self) -> io::Result<Option<PassedFiles>> {
        let mut bytes = [0; LEN + STATED];
        for _ in 0..2 {
            // The kernel adds the sender only if the socket asks for it during the call.
            ask_for_senders(self.own.as_fd(), true);
            let peeked = descriptors::peek(self.own.as_fd(), &mut bytes);
            ask_for_senders(self.own.as_fd(), false);
            match peeked? {
                // More files than this library sends: only the first one is kept.
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

    /// Sleeps until the event occurs, the other end is gone, or `timeout` has passed (`None`: no limit). With a watch, a nudge
    /// of another user of our end also ends the sleep.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait(&self, interest: Interest, watch: Option<&OwnWatch>, timeout: Option<Duration>) -> io::Result<Heard> {
        self.wait_beside(interest, watch, &mut [], timeout)
    }

    /// Like [`Doorbell::wait`], but also returns when one of these files is ready. Only the first [`BESIDE_MAX`] of them count.
    /// The events of each file are stored in it, whatever the result is.
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
        // For a pipe the kernel never reports the reading end as writable, nor the writing end as readable.
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

    /// Returns whether every copy of the other end is gone. Costs one poll(2).
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn is_alone(&self) -> io::Result<bool> {
        Ok(self.poll_now(PollFlags::empty())?.contains(self.gone_flag()))
    }

    /// Tells the kernel that this end will not read, or not write, any more. The descriptor of the other end then shows it.
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
            // The other end is gone.
            Err(Errno::NOTCONN) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Returns whether the other end's queue still contains a packet of ours; true for a pipe, where it is not known.
    ///
    /// # Errors
    /// The errors of ioctl(2).
    pub fn has_unread(&self) -> io::Result<bool> {
        if self.is_pipe() {
            return Ok(true);
        }
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ writes one int to the valid place that it is given.
        match unsafe { libc::ioctl(self.own.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(bytes > 0),
        }
    }

    /// Returns the kernel's number of this end, which all copies have in common. For a socket it is the cookie, which is never
    /// reused. For a pipe it is the inode, which both ends have in common, and which is not reused while the pipe is open.
    ///
    /// # Errors
    /// The errors of getsockopt(2) and fstat(2).
    pub fn cookie(&self) -> io::Result<u64> {
        match self.kind {
            Kind::Socket => Ok(sockopt::socket_cookie(&self.own)?),
            Kind::Reader | Kind::Writer => Ok(rustix::fs::fstat(&self.own)?.st_ino),
        }
    }

    /// Duplicates the descriptor, as if another process had the end too.
    #[cfg(test)]
    fn try_clone(&self) -> io::Result<Doorbell> {
        Ok(Doorbell { own: self.own.try_clone()?, kind: self.kind })
    }

    /// The event of poll(2) at an end whose other end is gone.
    fn gone_flag(&self) -> PollFlags {
        if self.kind == Kind::Writer { PollFlags::ERR } else { PollFlags::HUP }
    }

    fn send(&self, packet: Packet, filling: &[u8]) -> bool {
        let bytes = packet.bytes();
        // A call without a msghdr is faster.
        let sent = if filling.is_empty() {
            send(&self.own, &bytes, QUIETLY)
        } else {
            let mut none = SendAncillaryBuffer::default();
            sendmsg(&self.own, &[IoSlice::new(&bytes), IoSlice::new(filling)], &mut none, QUIETLY)
        };
        matches!(sent, Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS))
    }

    /// Sends packets by one system call. Returns the number of packets that were sent.
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
        // The kernel reports an error of the connection once, before the packets in the queue.
        for _ in 0..2 {
            match self.receive_into(&mut bytes, flags, kept) {
                Ok(0) => return self.nothing_or_gone(),
                Ok(len) => return Ok(Packet::decode(&bytes, len)),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => return Ok(Packet::Nothing),
                    Some(libc::ECONNRESET) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(Packet::Gone)
    }

    /// Receives a packet and returns its whole length, which may be more than `bytes` has room for.
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

    /// Tells a packet without bytes, which another program has sent, from the end of the connection.
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

/// The flags of each send: the caller must neither wait nor be killed by SIGPIPE.
const QUIETLY: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Returns the sender that a packet states, if the sender that the kernel names may state another one.
fn stated_sender(sender: Sender, bytes: &[u8; LEN + STATED]) -> Sender {
    let may_state = sender.user == 0 || sender.user == geteuid().as_raw();
    stated_in(bytes).filter(|_| may_state).unwrap_or(sender)
}

/// Asks the kernel to add nothing to received packets. Ignores errors: an option that the kernel does not know has no effect.
fn refuse_extras(socket: BorrowedFd<'_>) {
    const PASSPIDFD: libc::c_int = 76;
    for option in [libc::SO_PASSCRED, libc::SO_PASSSEC, PASSPIDFD] {
        set_option(socket, option, 0);
    }
}

/// Asks the kernel to add the sender to received packets, or to stop adding it.
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

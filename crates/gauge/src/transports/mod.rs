//! The transports: one file each, and the table below. docs/howto/add-a-transport.md explains how to add one.
//!
//! A transport opens a connected pair of [`Endpoint`]s before the two processes are forked; each process keeps its end
//! and drops the other. A name (of a FIFO, a queue, a socket) is unlinked as soon as both ends are open, so that a
//! process killed at any moment leaves nothing behind.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use headwater_results::schema::Standing;
use rustix::io::Errno;

use crate::harness::conduct::{Job, LaunchError, Team};
use crate::harness::payload::Payload;
use crate::harness::worker;
use crate::patterns;

pub mod fifo;
pub mod fifo_socket;
pub mod null;
pub mod pipe;
pub mod posix_mq;
pub mod pty;
pub mod ring;
pub mod stream_options;
pub mod streams;
pub mod sysv_mq;
pub mod tcp;
pub mod udp;
pub mod unix;
pub mod xti;

/// The properties of a transport: for tables, for `list`, and for patterns that check whether it suits them.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in row ids: lower case, `-` between words.
    pub name: &'static str,
    /// One line for `list` and the documentation.
    pub summary: &'static str,
    /// How a receiver waits for a message and a sender for room.
    pub blocking: &'static str,
    /// Whether the transport is a candidate, a limit or null.
    pub standing: Standing,
    /// Whether a receive call returns exactly one message, however large its buffer is.
    pub keeps_boundaries: bool,
    /// What becomes of messages when the receiver is slow.
    pub loss: Loss,
    /// The largest message by definition, bytes. A limit of the machine is found when the transport is opened.
    pub size_max: Option<usize>,
    /// How many bytes it holds, if it stores messages of any size one behind the other; 0 if it counts a buffer for each
    /// message, and so holds few small ones.
    pub packed_bytes: usize,
    /// Whether both ends use their CPU while they wait, so that one CPU for both makes no sense.
    pub spins: bool,
    /// The policy of a transport that exists with several, as its name contains it: `futex` of `ring-futex`.
    pub policy: Option<&'static str>,
    /// Whether both ends are file descriptors that poll(2) and epoll(7) can watch: [`Endpoint::incoming`].
    pub pollable: bool,
    /// Whether the transport is for one question only. Suites of all transports leave it out; a suite names it
    /// explicitly.
    pub special: bool,
    /// The patterns that make no sense over it, each with the reason in words that follow the transport's name.
    pub unfit: &'static [(&'static str, &'static str)],
}

/// What becomes of messages when the receiver is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The sender waits.
    Never,
    /// The sender waits, where users expect a transport that drops messages: pattern `flood` counts what arrives.
    Counted,
    /// They are dropped, and the sender does not wait.
    Possible,
}

/// The intended use of a transport that is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Bytes per message.
    pub size: usize,
    /// Whether the receiver answers over the same channel.
    pub duplex: bool,
    /// Whether calls on a full or empty transport fail with `WouldBlock` instead of blocking.
    pub nonblocking: bool,
    /// Whether both ends run on the same CPU.
    pub same_cpu: bool,
    /// A private directory for objects that need a path.
    pub directory: &'a Path,
    /// The options in the subject's name ([`stream_options`]); empty for a transport that has none.
    pub options: &'a str,
}

impl Info {
    /// A candidate that moves bytes, loses none, and has descriptors that can be polled. Transports say in what they differ.
    pub const BYTES: Info = Info {
        name: "",
        summary: "",
        blocking: "sleeps in read and write",
        standing: Standing::Candidate,
        keeps_boundaries: false,
        loss: Loss::Never,
        size_max: None,
        packed_bytes: 0,
        spins: false,
        policy: None,
        pollable: true,
        special: false,
        unfit: &[],
    };
}

/// The reason for which a transport cannot be used on this machine; it names the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl Unavailable {
    /// Makes the reason from the system call that failed and its error.
    pub fn call(name: &str, error: impl Into<io::Error>) -> Unavailable {
        Unavailable(format!("{name}: {}", error.into()))
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A mechanism that moves messages between two processes.
pub trait Transport: 'static {
    /// The type of an end.
    type End: Endpoint;

    /// The properties of the transport.
    const INFO: Info;

    /// Whether the name of a subject may contain options of a stream after that of the transport.
    const HAS_OPTIONS: bool = false;

    /// Opens a connected pair: the sender's end, then the receiver's. It runs in a process with one thread.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed or the limit that was reached; the row is then skipped for that
    /// reason.
    fn open(setup: &Setup<'_>) -> Result<(Self::End, Self::End), Unavailable>;
}

/// One end of an open transport, in the process that uses it. The timed loops are generic over this trait and make no
/// virtual calls.
pub trait Endpoint {
    /// Prepares the end in the process that will use it, after the other end was dropped there.
    ///
    /// # Errors
    /// Errors of the system.
    fn attach(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends as much of `message` as the transport accepts in one call. Blocks while there is no room, unless the end
    /// is non-blocking.
    ///
    /// # Errors
    /// Errors of the system; `WouldBlock` for a non-blocking end.
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize>;

    /// Receives the available data, at most `buffer.len()` bytes. Blocks while there is none, unless the end is
    /// non-blocking. Returns 0 at end of file.
    ///
    /// # Errors
    /// Errors of the system; `WouldBlock` for a non-blocking end.
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends a whole message: in one call if the transport accepts it whole.
    ///
    /// # Errors
    /// Errors of the system.
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut sent = self.send_some(message)?;
        while sent < message.len() {
            sent += self.send_some(&message[sent..])?;
        }
        Ok(())
    }

    /// Receives a whole message of `buffer.len()` bytes: in one call if the transport returns it whole.
    ///
    /// # Errors
    /// Errors of the system; `UnexpectedEof` when the sender is gone.
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut received = 0;
        loop {
            match self.receive_some(&mut buffer[received..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => received += count,
            }
            if received == buffer.len() {
                return Ok(());
            }
        }
    }

    /// Returns the file descriptor that is readable when there is something to receive, if the end has one.
    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Returns the file descriptor that is writable when there is room to send, if the end has one. It may be that of
    /// [`Endpoint::incoming`].
    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Returns the counters that the end itself keeps since it was opened: wake-ups sent, sleeps, ... Called between
    /// rounds only. The kernel's counters come from `getrusage(2)`.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Sends messages `first .. first + count` as fast as possible, whether or not the receiver keeps up. Overridden by
    /// transports that send several messages in one call.
    ///
    /// # Errors
    /// Errors of the system, except `ENOBUFS`, which is counted.
    fn send_burst(&mut self, payload: &mut Payload, first: u64, count: u64) -> io::Result<Burst> {
        let mut burst = Burst::default();
        for sequence in first..first + count {
            match self.send(payload.message(sequence)) {
                Ok(()) => burst.sent += 1,
                Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => burst.refused += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(burst)
    }

    /// Receives the messages of one call and passes each to `each`. Returns `WouldBlock` or `TimedOut` if nothing
    /// arrives for a while: the receiver of [`Endpoint::send_burst`] must not wait for ever for lost messages.
    ///
    /// # Errors
    /// Errors of the system and of `each`.
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let count = self.receive_some(space.space())?;
        each(&space.space()[..count])
    }
}

/// The result of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Messages that the system accepted.
    pub sent: u64,
    /// Messages that the system refused with `ENOBUFS`.
    pub refused: u64,
}

/// A transport in the table: its properties, and functions that hide its type.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The properties of the transport.
    pub info: &'static Info,
    /// [`Transport::HAS_OPTIONS`].
    pub has_options: bool,
    /// Opens and closes it, to check whether this machine can; the error is the reason why not.
    pub probe: fn(&Setup<'_>) -> Result<(), Unavailable>,
    /// Opens it with ends behind virtual calls: for the conformance tests, never for a timed loop.
    pub open: fn(&Setup<'_>) -> Result<(DynEndpoint, DynEndpoint), Unavailable>,
    /// Opens it and forks the workers of a pattern.
    pub fork: fn(&patterns::Entry, &Job) -> Result<Team, LaunchError>,
}

/// An end behind virtual calls.
pub type DynEndpoint = Box<dyn Endpoint>;

const fn entry<T: Transport>() -> Entry {
    Entry {
        info: &T::INFO,
        has_options: T::HAS_OPTIONS,
        probe: |setup| T::open(setup).map(drop),
        open: |setup| T::open(setup).map(|(sender, receiver)| (Box::new(sender) as _, Box::new(receiver) as _)),
        fork: worker::fork_team::<T>,
    }
}

/// All transports, in the order of the tables.
pub static TABLE: &[Entry] = &[
    entry::<pipe::Pipe>(),
    entry::<pipe::Pipe1M>(),
    entry::<fifo::Fifo>(),
    entry::<fifo_socket::FifoSocket>(),
    entry::<unix::UnixStream>(),
    entry::<unix::UnixDatagram>(),
    entry::<unix::UnixSeqpacket>(),
    entry::<tcp::Tcp>(),
    entry::<tcp::TcpNagle>(),
    entry::<udp::plain::Udp>(),
    entry::<udp::batch::UdpBatch>(),
    entry::<udp::segment::UdpSegment>(),
    entry::<udp::unconnected::UdpUnconnected>(),
    entry::<posix_mq::PosixMq>(),
    entry::<sysv_mq::SysvMq>(),
    entry::<pty::Pty>(),
    entry::<streams::window::Pipe>(),
    entry::<streams::window::Pipe4K>(),
    entry::<streams::window::Pipe1M>(),
    entry::<streams::fifo::StreamsFifo>(),
    entry::<streams::pty::Pty<streams::pty::WithModules>>(),
    entry::<streams::pty::Pty<streams::pty::WithoutModules>>(),
    entry::<xti::datagrams::Datagrams<xti::datagrams::Udp>>(),
    entry::<xti::datagrams::Datagrams<xti::datagrams::InetUdp>>(),
    entry::<xti::datagrams::Datagrams<xti::datagrams::Ticlts>>(),
    entry::<xti::connections::Connections<xti::connections::Ticots>>(),
    entry::<xti::connections::Connections<xti::connections::InetTcp>>(),
    entry::<streams::modules::PipeNull1>(),
    entry::<streams::modules::PipeNull4>(),
    entry::<streams::modules::PipeService1>(),
    entry::<streams::options::HeldWrites>(),
    entry::<streams::options::ReadNotification>(),
    entry::<streams::options::ReadFill>(),
    entry::<streams::policy::NoCoalescing>(),
    entry::<streams::policy::NoHysteresis>(),
    entry::<streams::policy::NoWakeOnce>(),
    entry::<streams::policy::NoLane>(),
    entry::<streams::policy::NoStages>(),
    entry::<streams::policy::Eager>(),
    entry::<ring::RingSpin>(),
    entry::<ring::RingFutex>(),
    entry::<ring::RingFutex1M>(),
    entry::<null::Null>(),
];

/// Returns the transport of that subject: its name, or its name with options if it takes any.
pub fn find(subject: &str) -> Option<&'static Entry> {
    let (name, options) = stream_options::split(subject);
    TABLE.iter().find(|entry| entry.info.name == name && (options.is_empty() || entry.has_options))
}

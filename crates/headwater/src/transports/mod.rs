//! The transports: one file each, and the table below. docs/howto/add-a-transport.md walks through a new one.
//!
//! A transport opens a connected pair of [`Endpoint`]s before the two processes are forked; each process keeps its end
//! and drops the other. What needs a name (a FIFO, a queue, a socket) is unlinked as soon as both ends are open, so
//! that a process killed at any moment leaves nothing behind.

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
pub mod streams;
pub mod sysv_mq;
pub mod tcp;
pub mod udp;
pub mod unix;

/// What a transport is, for tables, for `list`, and for the patterns that ask whether it suits them.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in row ids: lower case, `-` between words.
    pub name: &'static str,
    /// One line for `list` and the documentation.
    pub summary: &'static str,
    /// How a receiver waits for a message and a sender for room.
    pub blocking: &'static str,
    /// Candidate, limit or null.
    pub standing: Standing,
    /// Whether a receive call takes exactly one message however large its buffer is.
    pub keeps_boundaries: bool,
    /// Whether messages are dropped when the receiver is slow, instead of making the sender wait.
    pub lossy: bool,
    /// Largest message by definition, bytes; a machine's own limit shows when the transport is opened.
    pub size_max: Option<usize>,
    /// Whether both ends burn their CPU while they wait, so that one CPU for both makes no sense.
    pub spins: bool,
    /// The named policy of a transport that exists under several, as it stands in its name: `futex` of `ring-futex`.
    pub policy: Option<&'static str>,
    /// Whether both ends are descriptors that poll(2) and epoll(7) may watch: [`Endpoint::incoming`].
    pub pollable: bool,
    /// Whether it answers one question only: a suite of every transport leaves it out, and some suite names it.
    pub special: bool,
    /// Patterns that make no sense over it, with the reasons, in words that go on after its name.
    pub unfit: &'static [(&'static str, &'static str)],
}

/// What an open transport is to be used for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Bytes per message.
    pub size: usize,
    /// Whether the receiver answers over the same transport.
    pub duplex: bool,
    /// Whether a full or empty transport refuses with `WouldBlock` instead of waiting.
    pub nonblocking: bool,
    /// Whether both ends run on the same CPU.
    pub same_cpu: bool,
    /// A private directory for what needs a path.
    pub directory: &'a Path,
}

/// Why a transport cannot be used here, in words that name the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl Unavailable {
    /// The system call that refused, and how.
    pub fn call(name: &str, error: impl Into<io::Error>) -> Unavailable {
        Unavailable(format!("{name}: {}", error.into()))
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A way to move messages between two processes.
pub trait Transport: 'static {
    /// One end.
    type End: Endpoint;

    /// What it is.
    const INFO: Info;

    /// Opens a connected pair: the sender's end, then the receiver's. Runs in a process of its own with one thread.
    ///
    /// # Errors
    /// [`Unavailable`] with the call or limit that stands in the way; the row is then skipped for that reason.
    fn open(setup: &Setup<'_>) -> Result<(Self::End, Self::End), Unavailable>;
}

/// One end of an open transport, in the process that uses it. The timed loops are generic over it: no virtual call.
pub trait Endpoint {
    /// Takes up the end in the process that will use it, after the other end was dropped there.
    ///
    /// # Errors
    /// What the system reports.
    fn attach(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends as much of `message` as the transport takes in one call, and waits for room unless it is non-blocking.
    ///
    /// # Errors
    /// What the system reports; `WouldBlock` from a non-blocking end.
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize>;

    /// Receives what is there, at most `buffer`, and waits for it unless the end is non-blocking. 0 is end of file.
    ///
    /// # Errors
    /// What the system reports; `WouldBlock` from a non-blocking end.
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends a whole message: one call where the transport takes it whole.
    ///
    /// # Errors
    /// What the system reports.
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut sent = self.send_some(message)?;
        while sent < message.len() {
            sent += self.send_some(&message[sent..])?;
        }
        Ok(())
    }

    /// Receives a whole message of `buffer.len()` bytes: one call where the transport gives it whole.
    ///
    /// # Errors
    /// What the system reports; `UnexpectedEof` when the sender is gone.
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

    /// The descriptor that is readable when there is something to receive, where the end has one.
    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The descriptor that is writable when there is room to send, where the end has one; it may be that of
    /// [`Endpoint::incoming`].
    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// What the end itself has counted since it was opened: wake-ups sent, sleeps, ... Asked between rounds only; the
    /// kernel's own ways are counted by `getrusage(2)`.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Sends messages `first .. first + count` as fast as it can, whether or not the receiver keeps up. Overridden
    /// where several messages go in one call.
    ///
    /// # Errors
    /// What the system reports, other than `ENOBUFS`, which is counted.
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

    /// Receives what one call gives and hands each message to `each`. `WouldBlock` or `TimedOut` when nothing has come
    /// for a while ([`Endpoint::send_burst`]'s receiver must not wait for ever for what was lost).
    ///
    /// # Errors
    /// What the system or `each` reports.
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let count = self.receive_some(space.space())?;
        each(&space.space()[..count])
    }
}

/// What became of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Messages that the system took.
    pub sent: u64,
    /// Messages that it refused with `ENOBUFS`.
    pub refused: u64,
}

/// A transport in the table: what it is, and its type behind two functions.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Opens and closes it; the reason if that cannot be done.
    pub probe: fn(&Setup<'_>) -> Result<(), Unavailable>,
    /// Opens it behind virtual calls: for the conformance tests, never for a timed loop.
    pub open: fn(&Setup<'_>) -> Result<(DynEndpoint, DynEndpoint), Unavailable>,
    /// Opens it and forks the workers of a pattern over it.
    pub fork: fn(&patterns::Entry, &Job) -> Result<Team, LaunchError>,
}

/// An end whose type is not known.
pub type DynEndpoint = Box<dyn Endpoint>;

const fn entry<T: Transport>() -> Entry {
    Entry {
        info: &T::INFO,
        probe: |setup| T::open(setup).map(drop),
        open: |setup| T::open(setup).map(|(sender, receiver)| (Box::new(sender) as _, Box::new(receiver) as _)),
        fork: worker::fork_team::<T>,
    }
}

/// Every transport, in the order of the tables.
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
    entry::<streams::modules::PipeNull1>(),
    entry::<streams::modules::PipeNull4>(),
    entry::<streams::modules::PipeService1>(),
    entry::<streams::options::Hold>(),
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

/// The transport of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.info.name == name)
}

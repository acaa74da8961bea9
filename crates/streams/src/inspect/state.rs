//! The facts of a stream, as its shared memory has them: plain values without a behaviour. `decode` fills them in.
//!
//! Sizes are bytes and times milliseconds unless the name says otherwise.

use crate::options::head::{ErrorOptions, ReadOptions, WriteOptions};
use crate::policy::Policy;

/// The state of a stream. Direction 0 leads from end 0 to end 1, direction 1 back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// The mechanisms that the stream uses.
    pub policy: Policy,
    /// Largest data part of any message.
    pub strmsgsz: u32,
    /// Largest control part of any message.
    pub strctlsz: u32,
    /// Modules that may be pushed on one end.
    pub nstrpush: u32,
    /// Length of each direction's window.
    pub window: u64,
    /// The ends. Of a FIFO, 0 writes and 1 reads; of a device, 0 is the user's and 1 the driver's.
    pub ends: [End; 2],
    /// The directions.
    pub directions: [Direction; 2],
    /// The driver, if the stream ends in one.
    pub driver: Option<Driver>,
    /// The handles in use, in the order of their slots.
    pub members: Vec<Member>,
    /// What in the memory contradicts itself. Empty unless a process has overwritten it, or changed it while it was read.
    pub contradictions: Vec<String>,
}

/// An end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The modules, the one next to the head first.
    pub modules: Vec<Module>,
    /// M_HANGUP has arrived.
    pub is_hung_up: bool,
    /// The errno of an M_ERROR for reading.
    pub read_error: Option<u32>,
    /// The errno of an M_ERROR for writing.
    pub write_error: Option<u32>,
    /// The end is linked below a multiplexer.
    pub is_linked: bool,
    /// The end was shut down for writing, and writes no more.
    pub is_shut_to_write: bool,
    /// The end was shut down for reading, and reads no more.
    pub is_shut_to_read: bool,
    /// How it reads; None for bits that this version does not know.
    pub read_options: Option<ReadOptions>,
    /// How it writes; None for bits that this version does not know.
    pub write_options: Option<WriteOptions>,
    /// Whether errors are reported once.
    pub error_options: ErrorOptions,
    /// Handles in use, counted by the handles: those of a process that was killed stay counted.
    pub handles: u32,
    /// How often the end was opened by name.
    pub opens: u32,
    /// How often a handle of it was closed.
    pub closes: u32,
    /// How often a process of the end has asked to be notified through its descriptor: it polls, or has slept for long.
    pub asked: u32,
    /// Packets that were sent to its descriptor, each a notification of a process that polls or has slept for long.
    pub packets_sent: u32,
    /// Packets that were taken there.
    pub packets_taken: u32,
    /// Ioctls that were sent down from its head.
    pub ioctls: u32,
    /// The number of the ioctl that waits for its answer.
    pub ioctl: Option<u32>,
    /// Open files that it has sent.
    pub files_sent: u32,
    /// Open files of the other end that it has received.
    pub files_received: u32,
    /// Signals that a message has raised and no process has taken, a bit each.
    pub signals: u64,
    /// How long a close waits for the end's own modules, ms.
    pub close_ms: u32,
}

/// A module on an end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// Its name; empty if it could not be read.
    pub name: String,
    /// Its write queue.
    pub write: Queue,
    /// Its read queue.
    pub read: Queue,
}

/// The driver in which a stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// The minor number.
    pub minor: u32,
    /// How often the stream was opened by name.
    pub opens: u32,
    /// The driver's close procedure was called.
    pub is_closed: bool,
    /// Device and inode of the file in which the number is locked; None: other processes do not find it by name.
    pub lock_file: Option<[u64; 2]>,
    /// The driver has joined the stream with another of its streams.
    pub has_partner: bool,
    /// The streams that are linked below it: their mux ids, and the inodes of their memories.
    pub links: Vec<(u32, u64)>,
    /// Its write queue.
    pub write: Queue,
    /// Its read queue.
    pub read: Queue,
}

/// A direction of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Direction {
    /// Bytes that have arrived at the reading head through the lane, control parts too. It is 0 without the policy `lane`.
    pub lane_written: u64,
    /// Those of them that were read or flushed.
    pub lane_read: u64,
    /// Messages with boundaries that have arrived there. Plain bytes are no messages.
    pub lane_messages_written: u64,
    /// Those of them that were read or flushed.
    pub lane_messages_read: u64,
    /// The reading head's queue beside the lane: bands above 0, messages of high priority, and everything without a lane.
    pub stored: Queue,
    /// High-water mark of the reading head's queue.
    pub hiwat: u32,
    /// Low-water mark of it.
    pub lowat: u32,
    /// Longest data part that one message takes.
    pub maxpsz: u32,
    /// Shortest write that it takes.
    pub minpsz: u32,
    /// A writer has found band 0 above hiwat, and it has not been at lowat since.
    pub is_full: bool,
    /// Message blocks that messages have, of [`limits::BLOCKS`](crate::limits::BLOCKS).
    pub blocks: u32,
    /// Pages that messages have.
    pub pages: u32,
    /// Pages that there are.
    pub pages_max: u32,
    /// The side that writes.
    pub writer: Side,
    /// The side that reads.
    pub reader: Side,
    /// The locks of the writers, the readers, and the store.
    pub locks: [Lock; 3],
}

impl Direction {
    /// Bytes that wait in the reading head's queue: in the lane and beside it. Messages of high priority are not counted.
    #[doc = include_str!("../../doc/inspect.md")]
    pub fn queued(&self) -> u64 {
        self.lane_written.wrapping_sub(self.lane_read).saturating_add(self.stored.bytes)
    }

    /// Messages with boundaries that wait there. Plain bytes in the lane are no messages.
    #[doc = include_str!("../../doc/inspect.md")]
    pub fn queued_messages(&self) -> u64 {
        self.lane_messages_written.wrapping_sub(self.lane_messages_read).saturating_add(self.stored.messages.into())
    }

    /// Bytes that have arrived at the reading head since the stream was made: in the lane and beside it.
    #[doc = include_str!("../../doc/inspect.md")]
    pub fn written(&self) -> u64 {
        self.lane_written.saturating_add(self.stored.bytes_put)
    }

    /// Messages with boundaries that have arrived there since the stream was made.
    #[doc = include_str!("../../doc/inspect.md")]
    pub fn messages_written(&self) -> u64 {
        self.lane_messages_written.saturating_add(self.stored.messages_put)
    }
}

/// A queue of a module, a driver or a head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Queue {
    /// Messages in it.
    pub messages: u32,
    /// Bytes of all its bands. Messages of high priority are not counted.
    pub bytes: u64,
    /// Messages that were put into it since the stream was made. Those that its service procedure has put back are not counted
    /// again, nor is a message that came to that procedure without waiting here.
    pub messages_put: u64,
    /// Bytes of these messages.
    pub bytes_put: u64,
    /// High-water mark of each band.
    pub hiwat: u32,
    /// Low-water mark of each band.
    pub lowat: u32,
    /// Band 0, and those above it up to the highest that was ever used, if they hold bytes or have a flag.
    pub bands: Vec<Band>,
    /// Its service procedure is to run (QENAB).
    pub is_enabled: bool,
    /// Its service procedure has put a message back, and waits until the next queue has room.
    pub has_put_back: bool,
    /// Ordinary messages do not enable it (QNOENB).
    pub is_disabled: bool,
    /// It waits for memory for a message.
    pub wants_memory: bool,
}

/// A band of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Band {
    /// Its number.
    pub band: u8,
    /// Bytes in it.
    pub bytes: u32,
    /// A writer has found it above hiwat, and it has not been at lowat since (QFULL).
    pub is_full: bool,
    /// A writer waits until it has room (QWANTW).
    pub is_wanted: bool,
}

/// One side of a direction: its writers, or its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Side {
    /// A process sleeps on the side's word in shared memory.
    pub is_asleep: bool,
    /// The side is to be notified through its descriptor: a process polls or has slept for long. So is the reader of a new stream,
    /// whether or not a process has [asked](End::asked).
    pub awaits_descriptor: bool,
    /// The bytes for which a sleeping reader waits; 0 and 1 mean any.
    pub wanted: u32,
    /// No process of this side has used the stream yet.
    pub is_unmet: bool,
    /// Queues below are to be enabled when there is room.
    pub awaits_service: bool,
}

/// A lock of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lock {
    /// The process that the lock names: its holder, or the one to which it is biased. None if there is none, or in another PID
    /// namespace.
    pub pid: Option<u32>,
    /// A process was inside when it was looked at.
    pub is_held: bool,
    /// It may be entered without an exchange by that process.
    pub is_biased: bool,
    /// A process may sleep until it gets the lock.
    pub is_awaited: bool,
    /// How often a bias was taken away.
    pub seizures: u32,
}

/// A handle in use, as the table of members has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its process, as that one's PID namespace numbers it.
    pub pid: u32,
    /// Its PID namespace is this process's, so that the number means something here.
    pub is_visible: bool,
    /// Its process has ended, or executed another program.
    pub has_ended: bool,
    /// The end that it uses; None: it has not said so yet.
    pub end: Option<usize>,
}

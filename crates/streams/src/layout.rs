//! The layout of a stream's region. Offsets only, no pointer; a process that reads it trusts nothing.
//!
//! | what | who writes |
//! |---|---|
//! | [`Fixed`]: header, members, ends, lanes, plumbing | each field says so |
//! | the marks of lane 0, then of lane 1 | the lane's writer |
//! | the store of direction 0, then of 1: queues, blocks, pages | the holder of the store's lock |
//! | the window of lane 0, then of lane 1 | the lane's writer |
//! | the memory of the driver's instance, if the stream ends in a driver | the driver's procedures |
//!
//! The memory grows by two parts when they are needed, and each process maps them when it needs them:
//!
//! | what | needed by | who writes |
//! |---|---|---|
//! | the memory of the modules' instances: one place for each slot of either end | a module that has some | the module's procedures; the process that pushes it |
//! | the chunks of the table of members | a stream of more than [`MEMBERS`] users | each member its own slot |
//!
//! Direction 0 leads from end 0 to end 1, direction 1 back. The parts that a stream does not use are never touched, so
//! they take address space and no memory.

use headwater_os::shared_files::PLACES;
use headwater_shm::sync::{AtomicU8, AtomicU32, AtomicU64};
use headwater_shm::{BiasedLockWords, CachePadded, MEMBERS, Member, shareable};

use crate::limits::{BANDS, BLOCKS, FASTBUF, LINKS, MODULE_INSTANCE_MAX, NSTRPUSH, PAGE, RECORDS};

/// "HWSTREAM": the kind of this memory.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HWSTREAM");
/// Raised by any change of this file's meaning; ends of different versions refuse each other.
pub(crate) const VERSION: u32 = 19;
/// Queues of a direction: the head's, one for each module of either end, one for the answers to the head's ioctls, and the
/// driver's.
pub(crate) const QUEUES: usize = 1 + 2 * NSTRPUSH + 2;
/// The slot number of a driver in the place of end 1: it has one of its own, and its queue is the last one.
pub(crate) const DRIVER: usize = NSTRPUSH + 1;

/// The number of the queue of a module in either direction's store.
pub(crate) fn queue_of(end: usize, slot: usize) -> usize {
    1 + end * NSTRPUSH + slot
}
/// Events that are reported by signals: the bits of I_SETSIG that are not options.
pub(crate) const SIGNAL_EVENTS: usize = 9;
/// Bytes of module state in shared memory.
pub(crate) const STATE_WORDS: usize = 8;

shareable! {
    /// The part of a fixed size.
    pub(crate) struct Fixed {
        // First the words that every stream uses, in one page with its first members.
        pub header: CachePadded<Header>,
        pub ends: [CachePadded<EndWords>; 2],
        pub lanes: [LaneWords; 2],
        pub plumbing: [Plumbing; 2],
        /// The first members; further ones are in chunks: see [`headwater_shm::Members`].
        pub members: [CachePadded<Member>; MEMBERS],
        /// The modules of each end.
        pub slots: [[Slot; NSTRPUSH]; 2],
        /// What is to be told by signals, for each end.
        pub signals: [SignalWords; 2],
        pub device: DeviceWords,
        /// The earliest time at which a module or driver has asked to be called, ns of the monotonic clock; 0: none has. A hint
        /// that is never late: changed by exchanges, by the process that sets a time or has found none left.
        pub due_ns: AtomicU64,
        /// Chunks of the table of members that are in use. Counted by the process that has found no slot free.
        pub member_chunks: AtomicU32,
    }

    /// Of a stream that ends in a driver: end 0 is the user's, and in the place of end 1 is the driver.
    pub(crate) struct DeviceWords {
        /// The driver. Its name is written once by the creator, and read once by each process that attaches.
        pub driver: Slot,
        /// The minor number. Written once by the creator.
        pub minor: AtomicU32,
        /// How often the stream was opened by name.
        pub opens: AtomicU32,
        /// 1 from when a process of the stream calls the driver's close procedure. Set by an exchange.
        pub closed: AtomicU32,
        /// 1: this is an empty stream in the place of one whose memory is gone, for the close procedure. Written by the creator.
        pub is_stand_in: AtomicU32,
        /// Of a stream that is found by name: device and inode of the file in which its number is locked; else 0. Written once by
        /// the creator.
        pub lock_file: [AtomicU64; 2],
        /// By which descriptors the witness is known, where the driver pairs streams; else 0. Written once by the creator.
        pub witness: [AtomicU64; 2],
        /// The cookie by which end 0 of the partner is known; 0: it has none yet. Written once, by the process that opens the later one of the
        /// two: of its own stream by an exchange, of the other under the writer's lock of direction 1.
        pub partner: AtomicU64,
        /// The streams that are linked below, if the driver is a multiplexer.
        pub links: [LinkWords; LINKS],
        /// How many links were made: the last mux id. Counted by the process that makes one.
        pub links_made: AtomicU32,
        /// How often a link was made or undone. Counted by the process that does it, afterwards.
        pub links_changed: AtomicU32,
        /// The cookies of the driver's shared files, if it has any; else 0. Written once by the creator.
        pub shared_files: [AtomicU64; 2],
        /// The version of these files. Written under the writer's lock of direction 0, and by a process that finds a
        /// newer one.
        pub files_version: AtomicU32,
        /// The events that the driver waits for at each of its files: bits of poll(2). Changed by exchanges.
        pub watched: [AtomicU32; PLACES],
        /// 1: some process sleeps on these files, or is about to. Set by the sleeper, cleared by the process that makes
        /// it look anew.
        pub watchers: AtomicU32,
    }

    /// A stream that is linked below a multiplexer.
    pub(crate) struct LinkWords {
        /// Its mux id; 0: the entry is free. Taken by an exchange by the process that makes the link, and given back by the one that undoes it.
        pub id: AtomicU32,
        /// Bits of `open::link`.
        pub flags: AtomicU32,
        /// Inode of its memory.
        pub stream: AtomicU64,
    }

    /// The description of the region. Written once by the creator, checked once by each process that attaches.
    pub(crate) struct Header {
        pub magic: AtomicU64,
        pub version: AtomicU32,
        /// The number of an `os::fence::Fence`, which all members must use.
        pub fence: AtomicU32,
        /// Length of each lane's window, bytes.
        pub window: AtomicU64,
        /// Pages of each direction's store.
        pub pages: AtomicU32,
        /// Bits of a `Policy`.
        pub policy: AtomicU32,
        pub strmsgsz: AtomicU32,
        pub strctlsz: AtomicU32,
        pub nstrpush: AtomicU32,
        /// The cookies of the ends' doorbells, by which the ends are found. Of a FIFO: twice the inode of its pipe, for the inspection.
        pub cookies: [AtomicU64; 2],
        /// Length of the driver's own memory, bytes; 0 or a power of two.
        pub instance: AtomicU64,
        /// Of a FIFO: whether this is the stream of all who open the node; see `open::fifo::meet`. Written by the
        /// process that opens the node, by an exchange.
        pub settled: AtomicU32,
    }

    /// One end's state and options. Options are changed by the end's own members, then announced by a notice.
    pub(crate) struct EndWords {
        /// How often a handle of the end has asked to be notified of readable data. The packets of the other end to the
        /// doorbell carry it. Written under the reader's lock (a FIFO's writers: the writer's).
        pub arms: AtomicU32,
        /// Packets that were sent to the end's doorbell. Counted by the sender before it sends.
        pub sent: AtomicU32,
        /// Packets that were taken from it. Written under the same lock as `arms`.
        pub taken: AtomicU32,
        /// Read mode and protocol mode (RNORM ..., RFILL).
        pub read_options: AtomicU32,
        /// Write options (SNDZERO ...).
        pub write_options: AtomicU32,
        /// Bits of `plumb::direction`: hung up, read error, write error. Written by the process that delivers such a
        /// message.
        pub state: AtomicU32,
        /// The errno of a read error, and of a write error.
        pub read_error: AtomicU32,
        pub write_error: AtomicU32,
        /// Error options (RERRNONPERSIST ...).
        pub error_options: AtomicU32,
        /// The CPU on which a member of this end last waited, plus one; 0: none has yet. A hint, written by the waiter.
        pub cpu: AtomicU32,
        /// How often a handle of this end was opened by name. A process that waits for the end to appear sleeps on it.
        pub opened: AtomicU32,
        /// Handles in use at the end. A hint: those of a process that was killed stay counted.
        pub joined: AtomicU32,
        /// How often a handle of the end was closed. Written by the process that closes one, after the descriptor.
        pub closes: AtomicU32,
        /// Bits of `process::end`: the end writes no more, reads no more; its close was reported. Set by a handle of
        /// the end, never cleared.
        pub shut: AtomicU32,
        /// The number of the last open file that the end has sent. Written under the writer's lock.
        pub files: AtomicU32,
        /// The number of the last open file whose message was delivered, or is known to be lost: its sender has died before
        /// that, or a module has dropped it. Written under the writer's lock, after the message.
        pub files_put: AtomicU32,
        /// The number of the last open file of the other end that the end has received. Written under the reader's lock.
        pub files_taken: AtomicU32,
        /// How often a handle of the end has caused an event for the end's own readers, before it has nudged them.
        pub own_events: AtomicU32,
        /// How often waiters at the end had to look anew at their conditions beside messages. Counted by the process
        /// that has changed these, after the change.
        pub looks: AtomicU32,
        /// Signals that were raised and not yet taken, one bit each.
        pub signals: AtomicU64,
        /// The lock of the end's ioctl: one is under way at a time.
        pub ioctl_lock: BiasedLockWords,
        /// The number of the ioctl whose answer is awaited; 0: of none. Written under the lock above.
        pub ioctl: AtomicU32,
        /// The number of the end's last ioctl. Written under the same lock.
        pub ioctls: AtomicU32,
        /// Counts the events for the process in an ioctl: answers, hang-ups, errors. Its lowest bit means that a
        /// process sleeps on it; see `sched::answer`. Changed by exchanges only.
        pub answers: AtomicU32,
        /// How long a close waits for the end's own modules, ms (I_SETCLTIME). Written by the end's members.
        pub close_ms: AtomicU32,
        /// The events for which a process is registered (I_SETSIG), and above them, from bit 16 on, the number of such processes. A
        /// hint: sometimes more than that, also when one was killed. Changed by exchanges.
        pub listened: AtomicU32,
        /// The bands in which a writer of the end was refused since it was last notified of room, a bit each. Set by
        /// the writer, cleared by the process that notifies.
        pub refused: [AtomicU64; BANDS / 64],
    }

    /// A direction's fast path: plain bytes and marked messages of band 0, in order.
    pub(crate) struct LaneWords {
        pub tail: CachePadded<Tail>,
        pub head: CachePadded<ReadPosition>,
        pub writer_lock: CachePadded<BiasedLockWords>,
        pub reader_lock: CachePadded<BiasedLockWords>,
        pub store_lock: CachePadded<BiasedLockWords>,
        /// The writing side as sleeper. Readers look at it after each take.
        pub writer: CachePadded<Side>,
        /// The reading side as sleeper. Writers look at it after each publication.
        pub reader: CachePadded<Side>,
        pub flow: CachePadded<Flow>,
    }

    /// What has been published. Written by the holder of the writer's lock: first marks, then bytes, with Release.
    pub(crate) struct Tail {
        pub bytes: AtomicU64,
        pub records: AtomicU64,
        /// The position whose byte lies at the window's beginning. Changed only while nothing lies in the lane, before
        /// the next byte that is written is published.
        pub origin: AtomicU64,
    }

    /// What the processes look at that are registered for signals of an end (I_SETSIG); see `process::listeners`. It says that
    /// something has happened, and never which process is to be signalled.
    pub(crate) struct SignalWords {
        /// How often each event has happened while a process was registered for it, in the order of the bits of I_SETSIG. Counted
        /// by the process that causes it.
        pub happened: [AtomicU32; SIGNAL_EVENTS],
        /// Changed after that. The threads of registered processes sleep on it.
        pub bell: AtomicU32,
    }

    /// What has been taken. Written by the holder of the reader's lock, with Release.
    pub(crate) struct ReadPosition {
        pub bytes: AtomicU64,
        pub records: AtomicU64,
        /// Bytes of the message at the front that were taken and lie behind `bytes`: of its data part, while some of its control part
        /// is left. They occupy the window, and are not in the queue. Less than that for a moment, never more: changed before
        /// `bytes` where it becomes smaller, else after it.
        pub early: AtomicU64,
    }

    /// One side of a lane: the state of its sleepers.
    pub(crate) struct Side {
        /// Bits of `process::sleep`: what this side waits for, and how. Set by the waiter, cleared by the waker.
        pub sleep: AtomicU32,
        /// How many bytes must be there before a sleeping reader is woken; 0 and 1 mean any. Written by the sleeper.
        pub wanted: AtomicU32,
    }

    /// The water marks of the direction's last queue, the reading head's.
    pub(crate) struct Flow {
        pub hiwat: AtomicU32,
        pub lowat: AtomicU32,
        pub maxpsz: AtomicU32,
        /// The shortest write that the queue takes, bytes.
        pub minpsz: AtomicU32,
        /// 1 while the queue has been above hiwat and not yet at lowat again. Written by the holder of the writer's lock.
        pub full: AtomicU32,
    }

    /// A message with boundaries in a lane. Written by the lane's writer before it publishes, but `taken`.
    pub(crate) struct RecordHeader {
        /// Number of its first byte in the lane.
        pub at: AtomicU64,
        /// Length of the control part below, of the data part above; [`ABSENT`] for a part that is not there.
        pub lengths: AtomicU64,
        /// Kind, then flags.
        pub header: AtomicU64,
        /// How many bytes of control (below) and data (above) have been taken; [`ABSENT`] for a part of no bytes that
        /// was. Written by the holder of the reader's lock.
        pub taken: AtomicU64,
    }

    /// The modules of one end, from the stream head down.
    pub(crate) struct Plumbing {
        /// The number of modules. Written under both writer's locks.
        pub count: AtomicU32,
        /// How many of them, counted from the far side, only a privileged process pops (I_ANCHOR). Written under both writer's locks.
        pub anchor: AtomicU32,
        /// Slots in the order of the stack: the first is next to the head.
        pub order: [AtomicU8; NSTRPUSH],
    }

    /// A pushed module.
    pub(crate) struct Slot {
        /// Its name, filled up with zeros; all zeros is a free slot.
        pub name: [AtomicU8; 16],
        /// Its own state, for its code to use.
        pub state: [AtomicU64; STATE_WORDS],
        /// When its read side and its write side have asked to be called, ns of the monotonic clock; 0: not. Set under the
        /// writer's lock of the side's direction.
        pub due_ns: [AtomicU64; 2],
    }

    /// A direction's store: queues of messages that do not wait in the lane.
    pub(crate) struct StoreWords {
        /// 1 while the store is being changed: a process that finds it set after taking the lock repairs it first.
        pub dirty: AtomicU32,
        /// First free block and page, plus one; 0: none. Free ones are linked like messages and pages.
        pub free_block: AtomicU32,
        pub free_page: AtomicU32,
        /// How many of the blocks and pages were ever used: those beyond are free and in no list.
        pub used_blocks: AtomicU32,
        pub used_pages: AtomicU32,
        /// The block, plus one, of a message that a service procedure has taken and not yet passed on; 0: none.
        pub in_transfer: AtomicU32,
        /// How many messages were lifted so far.
        pub transfers: AtomicU32,
        /// The number of the last lifted message that has arrived in a queue.
        pub arrived: AtomicU32,
        /// The queue that it was lifted from.
        pub transfer_from: AtomicU32,
        /// The lane's position at that time.
        pub transfer_tail: AtomicU64,
        /// The number of the step that a driver has begun and not ended (`sched::step`); 0: none.
        pub step: AtomicU32,
        /// How many steps were begun so far.
        pub steps: AtomicU32,
        /// The number of the last step one of whose messages has arrived in a queue.
        pub step_arrived: AtomicU32,
        /// The lane's position when the step began.
        pub step_tail: AtomicU64,
        /// Blocks and pages that messages have now.
        pub blocks_taken: AtomicU32,
        pub pages_taken: AtomicU32,
        pub queues: [QueueWords; QUEUES],
        pub blocks: [Block; BLOCKS],
    }

    /// A queue.
    pub(crate) struct QueueWords {
        /// First and last block, plus one; 0: none.
        pub first: AtomicU32,
        pub last: AtomicU32,
        pub hiwat: AtomicU32,
        pub lowat: AtomicU32,
        /// Bits of `store`: enabled, put back, memory awaited; from bit 8 on the highest band that was used.
        pub flags: AtomicU32,
        /// Messages in it.
        pub messages: AtomicU32,
        /// The shortest and the longest data part that the stream head may send here; a longest of 0: as the head has it. Of a
        /// module's or driver's queue, written under the direction's writer lock.
        pub packet_sizes: [AtomicU32; 2],
        /// Messages that were put into it so far, and their bytes, without those that were put back. Only for the inspection:
        /// a process that is killed may have left one uncounted.
        pub messages_put: AtomicU64,
        pub bytes_put: AtomicU64,
        pub bands: [Band; BANDS],
    }

    /// A band of a queue.
    pub(crate) struct Band {
        /// Bytes in it, control and data.
        pub count: AtomicU32,
        /// Bits of `queue`: full, wanted.
        pub flags: AtomicU32,
    }

    /// A message that is stored: one block, and pages for what exceeds it.
    pub(crate) struct Block {
        /// The next message of its queue, or of the free list, plus one.
        pub next: AtomicU32,
        /// First page, plus one; 0: all bytes are in the block's fast buffer.
        pub page: AtomicU32,
        /// Length of control and data; [`ABSENT`] for a part that is not there.
        pub control: AtomicU32,
        pub data: AtomicU32,
        /// How much of each has been taken by a reader; [`ABSENT`] for a part of no bytes that was.
        pub control_taken: AtomicU32,
        pub data_taken: AtomicU32,
        /// Kind, band and flags, as in a [`RecordHeader`].
        pub header: AtomicU64,
        /// Below the number of the lifted message that became this one; 0: it was not lifted. Above the number of the step in which it
        /// was stored; 0: in none.
        pub origin: AtomicU64,
    }
}

/// The length of a part that is not there, other than one of no bytes.
pub(crate) const ABSENT: u32 = u32::MAX;

/// Offsets of the parts, derived from the header's sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offsets {
    pub window_bytes: usize,
    pub pages: usize,
    pub instance_bytes: usize,
}

impl Offsets {
    pub(crate) fn records(self, direction: usize) -> usize {
        page_up(size_of::<Fixed>()) + direction * RECORDS * size_of::<RecordHeader>()
    }

    pub(crate) fn store(self, direction: usize) -> usize {
        self.records(2) + direction * self.store_bytes()
    }

    /// The links of the store's pages: for each page the next one of its message, plus one.
    pub(crate) fn links(self, direction: usize) -> usize {
        self.store(direction) + page_up(size_of::<StoreWords>())
    }

    /// The fast buffers of the blocks.
    pub(crate) fn fast(self, direction: usize) -> usize {
        self.links(direction) + page_up(self.pages * size_of::<AtomicU32>())
    }

    pub(crate) fn pages(self, direction: usize) -> usize {
        self.fast(direction) + BLOCKS * FASTBUF
    }

    pub(crate) fn window(self, direction: usize) -> usize {
        self.store(2) + direction * self.window_bytes
    }

    /// The driver's own memory.
    pub(crate) fn instance(self) -> usize {
        self.window(2)
    }

    /// Length of the region as it is made: all parts that any stream has.
    pub(crate) fn region(self) -> usize {
        self.instance() + page_up(self.instance_bytes)
    }

    /// The modules' own memory, [`MODULES_BYTES`] of it. Mapped apart.
    pub(crate) fn modules(self) -> usize {
        self.region()
    }

    /// The chunks of the table of members. Mapped apart.
    pub(crate) fn member_chunks(self) -> usize {
        self.modules() + MODULES_BYTES
    }

    fn store_bytes(self) -> usize {
        let links = page_up(self.pages * size_of::<AtomicU32>());
        page_up(size_of::<StoreWords>()) + links + BLOCKS * FASTBUF + self.pages * PAGE
    }
}

/// Bytes of the memory of all modules' instances.
pub(crate) const MODULES_BYTES: usize = 2 * NSTRPUSH * MODULE_INSTANCE_MAX;

/// Where the memory of the module in a slot of an end begins, in that of all.
pub(crate) const fn module_instance(end: usize, slot: usize) -> usize {
    (end * NSTRPUSH + slot) * MODULE_INSTANCE_MAX
}

fn page_up(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<RecordHeader>() == 32);
    assert!(size_of::<Block>() == 40);
    assert!((BLOCKS * FASTBUF).is_power_of_two() && (BLOCKS * FASTBUF).is_multiple_of(PAGE));
    assert!(size_of::<LaneWords>() == 8 * 128);
    assert!(RECORDS.is_power_of_two());
    assert!(MODULES_BYTES.is_power_of_two() && MODULE_INSTANCE_MAX.is_multiple_of(PAGE));
};

#[cfg(all(test, not(loom)))]
#[path = "../tests/hostile/places.rs"]
mod places;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn the_fuzzer_aims_at_what_is_there() {
        assert_eq!(places::LANES, offset_of!(Fixed, lanes) as u64);
        assert_eq!(places::FIXED, page_up(size_of::<Fixed>()) as u64);
        assert_eq!(places::RECORDS, 2 * (RECORDS * size_of::<RecordHeader>()) as u64);
        assert_eq!(places::QUEUE, size_of::<QueueWords>() as u64);
        assert_eq!(places::QUEUES, offset_of!(StoreWords, queues) as u64);
        assert_eq!(places::BLOCKS, offset_of!(StoreWords, blocks) as u64);
        assert_eq!(places::BLOCK, size_of::<Block>() as u64);
    }
}

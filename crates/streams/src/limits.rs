//! Every limit of a stream, in one place, with its reason. The options of a new stream are in [`Options`].
//!
//! Sizes are bytes and times milliseconds unless the name says otherwise. The historical values are those of SVR4.
//!
//! [`Options`]: crate::Options

/// High-water mark of a head's read queue. SVR4's is 5120; a pipe of Linux holds 64 KiB, and so did the pipes of the
/// experiment that this library repeats.
pub const HIWAT: u32 = 64 << 10;
/// Low-water mark of a head's read queue. Half: a writer that met a full queue then has as much room before it as the
/// reader has work, and is woken once for half a queue.
pub const LOWAT: u32 = 32 << 10;
/// Largest data part that one message takes (maxpsz); write cuts what is longer. SVR4's is 4096.
pub const MAXPSZ: u32 = 64 << 10;
/// Largest data part of any message (strmsgsz).
pub const STRMSGSZ: u32 = 256 << 10;
/// Largest control part of any message (strctlsz).
pub const STRCTLSZ: u32 = 4096;
/// Modules on one end of a stream (nstrpush).
pub const NSTRPUSH: usize = 64;
/// Longest name of a module or driver in bytes. FMNAMESZ of SVR4 is 8; longer names do no harm.
pub const NAME_MAX: usize = 16;
/// Names that no module or driver has: in a path of a device they mean something else.
pub const RESERVED_NAMES: [&str; 3] = ["clone", "pipe", "fifo"];
/// Minor numbers of a driver: as many of its streams may be open in one directory of devices. An open looks at each, and a transport's
/// endpoint has a bit for each.
pub const MINORS: u32 = 4096;
/// Modules that one entry of autopush names at most (MAXAPUSH of SVR4).
pub const AUTOPUSH_MODULES: usize = 8;
/// Entries of autopush in one directory of devices. Each open reads all of them.
pub const AUTOPUSH_ENTRIES: usize = 1024;
/// Streams that may be linked below one upper stream of a multiplexer. Each is four to nine descriptors in every process that has
/// the upper stream open.
pub const LINKS: usize = 32;
/// Longest address of a loop-back transport, bytes: twice as many letters, with the driver's name, are the name of a file. A
/// `sockaddr_un` fits.
pub const ADDRESS_MAX: usize = 108;
/// Largest memory of one instance of a driver: 16 MiB. Each stream that ends in the driver has one.
pub const INSTANCE_MAX: usize = 16 << 20;
/// Largest memory of one instance of a module, bytes: 128 KiB. Each stream has a place of that length for each module that either
/// end can take, 16 MiB of addresses; pages that no module has written take no memory.
pub const MODULE_INSTANCE_MAX: usize = 128 << 10;
/// Bytes of a driver's memory that are changed in one step with the message that tells of it, at most.
pub(crate) const STEP_MAX: usize = 2048;
/// Open files that a driver has for each stream, at most: as many go in one message over a local socket.
pub const DRIVER_FILES: usize = headwater_os::shared_files::PLACES;
/// Priority bands, 0 included: the band of a message is a byte.
pub const BANDS: usize = 256;
/// High-water mark of a module's queues that asks for none.
pub const MODULE_HIWAT: u32 = 5120;
/// Low-water mark of a module's queues that asks for none.
pub const MODULE_LOWAT: u32 = 1024;
/// How long a close waits for the queues of its own modules, ms, unless the end was told otherwise (I_SETCLTIME).
pub const CLOSE_MS: u32 = 15_000;
/// How long an ioctl without a time of its own waits for its answer, s (I_STR with an ic_timout of 0).
pub const IOCTL_TIMEOUT_S: u64 = 15;
/// Processes and process groups that one process may register for signals of an end (I_SETSIG, I_ESETSIG).
pub const LISTENERS: usize = 32;
/// How long a write with SNDHOLD may be held back, ms.
pub const HOLD_MS: u64 = 10;
/// Largest hiwat that can be asked for: 256 MiB.
pub const HIWAT_MAX: u32 = 256 << 20;
/// Largest strmsgsz that can be asked for: 256 MiB.
pub const STRMSGSZ_MAX: u32 = 256 << 20;
/// Messages with boundaries that may lie in one direction's lane. A writer waits as for a full queue where there is no room
/// for [`CUT_MAX`] more of them, the most that one call sends.
pub const RECORDS: usize = 2048;
/// Messages into which putmsg cuts data alone at most; for more it fails with ERANGE. They are sent all or none, so all of
/// them have room behind hiwat. SVR4's sizes give the number: 256 KiB of strmsgsz in messages of 4096.
pub const CUT_MAX: usize = 64;
/// Bytes that an unbounded copy publishes at a time, so that the other end copies one piece while we copy the next: half
/// of the smallest first-level cache in use (32 KiB) holds a piece at its source and its target.
pub const PIECE: usize = 8 << 10;
/// Bytes of a message that fit its first block, so that it costs one allocation (the fast buffer).
pub const FASTBUF: usize = 256;
/// Message blocks of a direction: as many messages may wait in the queues of modules, in bands above 0 and at high
/// priority, in all. All bands and queues share them, and the pages of what is longer than [`FASTBUF`]: hiwat and five
/// messages of full length, 2 MiB with the default sizes. Where there are not enough for one more call, a writer waits,
/// whatever its band: for [`CUT_MAX`] messages, [`HIGH_BLOCKS`], and one that a service procedure puts back.
pub const BLOCKS: usize = 1024;
/// Blocks that are kept for messages of high priority, and the pages of one of full length: they do not wait, so they
/// must find room whatever bands hold. One waits at a head; modules may queue some.
pub const HIGH_BLOCKS: usize = 16;
/// Messages without bytes for the caller that one call passes over. More can only come from a cyclic list,
/// or of a peer that sends nothing else for ever.
pub const EMPTY_MAX: usize = 64 * BLOCKS;
/// Bytes of a page, of which a message longer than [`FASTBUF`] takes as many as it needs.
pub const PAGE: usize = 4096;

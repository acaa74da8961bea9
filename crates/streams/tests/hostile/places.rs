//! The offsets of words with links in a stream's memory, bytes from its beginning: the fuzzer's targets. The unit test
//! `the_fuzzer_aims_at_what_is_there` of `layout` holds them against the library's own sizes.

/// The lanes' words, behind the header and both ends.
pub const LANES: u64 = 640;
/// Everything of fixed size, in whole pages.
pub const FIXED: u64 = 24 << 10;
/// The records of both lanes.
pub const RECORDS: u64 = 2 * 2048 * 32;
/// One queue of a store.
pub const QUEUE: u64 = 2096;
/// In a store: its queues.
pub const QUEUES: u64 = 80;
/// In a store: its blocks, behind its queues.
pub const BLOCKS: u64 = QUEUES + 131 * QUEUE;
/// One block.
pub const BLOCK: u64 = 40;

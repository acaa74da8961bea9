//! What a handle has counted since it was opened. Readable at any time; each process counts its own.

/// Counts of one handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Wake-up calls made for the other side: one system call each.
    pub wake_ups: u64,
    /// Of these, bells rung for somebody who polls or has slept for long.
    pub doorbells: u64,
    /// Times that the caller went to sleep in the kernel.
    pub blocks: u64,
    /// Waits that spinning ended.
    pub spins: u64,
    /// Waits that yielding the CPU ended.
    pub yields: u64,
    /// Queues or writers that were enabled again because a queue came down to its low water mark.
    pub back_enables: u64,
    /// Bytes that were appended to a message before them.
    pub coalesced_bytes: u64,
    /// Runs of service procedures.
    pub service_runs: u64,
}

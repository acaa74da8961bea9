//! The counts of one thread's calls on an end. Readable at any time; each process counts its own.

/// Counts of one thread's calls on an end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counters {
    /// Wake-up calls made for the other side: one system call each.
    pub wake_ups: u64,
    /// Of these, bells rung for a process that polls or has slept for long.
    pub doorbells: u64,
    /// Times that the caller went to sleep in the kernel.
    pub blocks: u64,
    /// Waits that spinning ended.
    pub spins: u64,
    /// Waits that yielding the CPU ended.
    pub yields: u64,
    /// Queues or writers that were enabled again because a queue came down to its low-water mark.
    pub back_enables: u64,
    /// Bytes that were appended to the message before them.
    pub coalesced_bytes: u64,
    /// Runs of service procedures.
    pub service_runs: u64,
    /// Messages of a transport that went the short way of one before them, without the procedures on their path.
    pub short_sends: u64,
}

impl Counters {
    /// Each count with its name.
    ///
    /// ```
    /// let (near, _far) = headwater_streams::pipe()?;
    /// near.write(b"one")?;
    /// assert!(near.counters().named().any(|count| count == ("blocks", 0)));
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let Counters {
            wake_ups,
            doorbells,
            blocks,
            spins,
            yields,
            back_enables,
            coalesced_bytes,
            service_runs,
            short_sends,
        } = *self;
        [
            ("wake_ups", wake_ups),
            ("doorbells", doorbells),
            ("blocks", blocks),
            ("spins", spins),
            ("yields", yields),
            ("back_enables", back_enables),
            ("coalesced_bytes", coalesced_bytes),
            ("service_runs", service_runs),
            ("short_sends", short_sends),
        ]
        .into_iter()
    }
}

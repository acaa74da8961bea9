//! `memory-idle`: the resident memory of an open, empty channel: right after it was opened, and after 1 MB has passed
//! through it in messages of 4 KiB with at most one of them unread.
//!
//! It is the proportional set size of the process that holds both ends (`/proc/self/smaps_rollup`), so that a page that
//! is mapped twice counts once. Memory of the kernel is not included: for a kernel pipe, its structures and up to two
//! pages of its buffer.

use std::fs;
use std::io;

use headwater_results::schema::Better;

use super::count::{self, Count, Counted, counted};
use super::{Opening, lost};
use crate::facilities::{Entry, Info};
use crate::patterns::MetricInfo;
use crate::plan::cost::LaunchCost;
use crate::transports::{Endpoint, Transport, fifo, pipe, streams, unix};

/// Measures the memory of idle channels.
#[derive(Debug)]
pub struct Memory;

/// Channels that are open at the same time. Divided among so many, a page or two of the process itself is negligible.
const CHANNELS: usize = 32;

/// Bytes that pass through each channel: 1 MB, in whole messages.
const BYTES: usize = 1_000_000;

/// Bytes per message.
const MESSAGE: usize = 4096;

impl Count for Memory {
    const METRICS: &'static [MetricInfo] = &[
        MetricInfo { name: "resident", unit: "bytes", better: Better::Lower },
        MetricInfo { name: "resident_unused", unit: "bytes", better: Better::Lower },
    ];
    const SAMPLES: usize = 1;
    const SIZE: usize = MESSAGE;

    fn sample<T: Transport>(opening: &Opening) -> io::Result<Vec<f64>> {
        let mut message = [1; MESSAGE];
        let mut channels = Vec::with_capacity(CHANNELS);
        // Open one channel first: what a process pays once is then not counted.
        let (mut sender, mut receiver) = T::open(&opening.setup()).map_err(lost)?;
        sender.send(&message)?;
        receiver.receive(&mut message)?;
        let before = resident()?;
        for _ in 0..CHANNELS {
            channels.push(T::open(&opening.setup()).map_err(lost)?);
        }
        let unused = resident()?;
        for (sender, receiver) in &mut channels {
            for _ in 0..BYTES.div_ceil(MESSAGE) {
                sender.send(&message)?;
                receiver.receive(&mut message)?;
            }
        }
        let used = resident()?;
        let each = |bytes: u64| bytes.saturating_sub(before) as f64 / CHANNELS as f64;
        Ok(vec![each(used), each(unused)])
    }
}

/// Returns the proportional set size of this process in bytes.
fn resident() -> io::Result<u64> {
    let file = "/proc/self/smaps_rollup";
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other(format!("{file} does not say Pss")))
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "memory-idle",
        definition_version: |_| 1,
        summary: "memory that an idle channel keeps resident, after 1 MB has gone through it and before",
    },
    subjects: || count::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |_| LaunchCost::COUNTED,
    probe: |job| count::probe(TABLE, job),
    conduct: |job| count::conduct(TABLE, job),
};

static TABLE: &[Counted] = &[
    counted::<Memory, pipe::Pipe>(),
    counted::<Memory, unix::UnixStream>(),
    counted::<Memory, streams::window::Pipe>(),
    counted::<Memory, fifo::Fifo>(),
    counted::<Memory, streams::fifo::StreamsFifo>(),
];

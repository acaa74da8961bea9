//! What a channel costs beside its messages: opening and closing it, a fork while many are open, descriptors, memory, and how
//! late a writer learns that its reader was killed. A facility per question, one file each; their subjects are transports.

use std::io;
use std::path::{Path, PathBuf};

use crate::harness::conduct::Job;
use crate::transports::{Setup, Unavailable};

mod count;

pub mod descriptors;
pub mod fifo_open;
pub mod fork;
pub mod killed_reader;
pub mod memory;
pub mod open_close;

/// How channels are opened here: what [`Setup`] borrows.
#[derive(Clone, Debug)]
struct Opening {
    directory: PathBuf,
    size: usize,
    same_cpu: bool,
}

impl Opening {
    fn of(job: &Job, size: usize) -> Opening {
        Opening {
            directory: job.directory.clone(),
            size,
            same_cpu: job.cpus.is_some_and(|(first, second)| first == second),
        }
    }

    /// One way, and as a program without an event loop uses it.
    fn setup(&self) -> Setup<'_> {
        let directory: &Path = &self.directory;
        Setup { size: self.size, duplex: false, nonblocking: false, same_cpu: self.same_cpu, directory }
    }
}

/// What was available when it was prepared, and is not any more.
fn lost(reason: Unavailable) -> io::Error {
    io::Error::other(reason.0)
}

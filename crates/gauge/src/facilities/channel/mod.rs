//! What a channel costs apart from its messages: opening and closing it, a fork while many are open, file descriptors,
//! memory, and how late a writer notices that its reader was killed. One file per facility; their subjects are
//! transports.

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

/// The owned form of a [`Setup`].
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

    /// Returns a setup for one direction and blocking calls.
    fn setup(&self) -> Setup<'_> {
        let directory: &Path = &self.directory;
        Setup { size: self.size, duplex: false, nonblocking: false, same_cpu: self.same_cpu, directory, options: "" }
    }
}

/// Converts the error of a transport that was available when the row was prepared.
fn lost(reason: Unavailable) -> io::Error {
    io::Error::other(reason.0)
}

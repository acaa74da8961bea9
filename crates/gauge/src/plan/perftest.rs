//! The rows of the pipe experiment (perftest): one channel or several, at each write size and placement. Called by
//! `headwater perftest`.

use headwater_results::schema::{Placement, Row};

use super::rows;
use crate::suites::makes_sense;
use crate::transports::stream_options::StreamOptions;
use crate::{patterns, transports};

/// The write sizes of the experiment: 1 to 4096 bytes, doubling.
pub const SIZES: [u64; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// The mechanisms that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanisms {
    /// STREAMS.
    Streams,
    /// The kernel's pipe or FIFO.
    Native,
    /// Both, in the same blocks.
    Both,
}

/// How the data is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// A writer and a reader at once; a read asks for the size of a write.
    TwoProcesses,
    /// A writer and a reader at once; a read asks for 64 KiB.
    FullReads,
    /// One process writes until the channel is full, then reads until it is empty.
    OneProcess,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The mechanisms.
    pub mechanisms: Mechanisms,
    /// Whether the channel is a FIFO instead of a pipe.
    pub is_fifo: bool,
    /// How the data is moved.
    pub movement: Movement,
    /// Write sizes in bytes.
    pub sizes: Vec<u64>,
    /// Placements of the processes.
    pub placements: Vec<Placement>,
    /// The module that is pushed.
    pub module: String,
    /// The numbers of modules: STREAMS is measured once with each.
    pub push: Vec<u32>,
    /// The other options of the stream; its modules are ignored.
    pub options: StreamOptions,
}

impl Experiment {
    /// Returns the rows: for each placement every subject at every size.
    pub fn rows(&self) -> Vec<Row> {
        let pattern = patterns::find(self.pattern()).expect("the patterns of the experiment are in the table");
        let mut rows = Vec::new();
        for &placement in &self.placements {
            for subject in self.subjects() {
                let transport = transports::find(&subject).expect("the transports of the experiment are in the table");
                for &size in &self.sizes {
                    if makes_sense(pattern, transport.info, size, placement).is_ok() {
                        let row = rows::of_transport(transport.info, pattern.info, size, None, placement);
                        rows.push(rows::of_subject_name(row, &subject));
                    }
                }
            }
        }
        rows
    }

    /// Returns the pattern of the rows: `stream` and `single` as in suite `pipes`, and `perftest` for full reads.
    pub fn pattern(&self) -> &'static str {
        match self.movement {
            Movement::TwoProcesses => "stream",
            Movement::FullReads => "perftest",
            Movement::OneProcess => "single",
        }
    }

    /// Returns the subjects: the kernel's mechanism, then STREAMS with each number of modules.
    fn subjects(&self) -> Vec<String> {
        let (native, streams) = if self.is_fifo { ("fifo", "streams-fifo") } else { ("pipe", "streams-pipe") };
        let mut subjects = Vec::new();
        if self.mechanisms != Mechanisms::Streams {
            subjects.push(native.to_owned());
        }
        if self.mechanisms != Mechanisms::Native {
            let with = |&count: &u32| {
                let push = (count > 0).then(|| (count, self.module.clone()));
                StreamOptions { push, ..self.options.clone() }.subject(streams)
            };
            subjects.extend(self.push.iter().map(with));
        }
        subjects
    }
}

#[cfg(test)]
mod tests;

//! A session of the tracer that the worker itself creates and joins, and the events of these rows.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::ticks;
use headwater_trace::region::{Layout, Region};
use headwater_trace::{WhenFull, session};
use headwater_trace_tools::consumer::{HOME, snapshot};
use headwater_trace_tools::schema::Clock;

use crate::harness::conduct::Job;
use crate::harness::scratch::Scratch;
use crate::transports::Unavailable;

headwater_trace::events! {
    /// The recorded event: a record of 32 bytes.
    pub recorded("cost:event") { first: u64, second: u32, third: u32 }
    pub with_text("cost:text") { first: u64, text: &str }
    pub off("off:event") { first: u64, second: u32, third: u32 }
}

/// The pattern of the events that the sessions record.
pub const PATTERN: &str = "cost:*";

/// Size of each log in bytes.
pub const LOG_BYTES: usize = 256 << 10;

/// Events that a check emits. They fit a log.
pub const CHECKED: u64 = 1000;

/// The owner of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOwner {
    /// Each CPU has a log, which threads use by restartable sequences.
    Cpu,
    /// Each thread has a log.
    Thread,
    /// No session: the process does not join it.
    NoSession,
}

/// A session that this process has joined.
#[derive(Debug)]
pub struct JoinedSession {
    region: Region,
    directory: PathBuf,
}

impl JoinedSession {
    /// Creates a session that records the events of [`PATTERN`], and joins it.
    ///
    /// # Errors
    /// [`Unavailable`] with the reason.
    pub fn new(job: &Job, owner: LogOwner) -> Result<JoinedSession, Unavailable> {
        if let Some(why) = ticks::unsound() {
            return Err(Unavailable(why));
        }
        // Preferably in memory, so that nothing is written to a disk. `Scratch` removes what a killed process has left
        // there.
        let memory = Path::new(HOME);
        let scratch = Scratch::below(if memory.is_dir() { memory } else { &job.directory });
        let scratch = scratch.map_err(|error| Unavailable(format!("no memory for a session: {error}")))?;
        let path = scratch.path().join("logs");
        let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
        let layout =
            Layout { patterns: vec![PATTERN.into()], when_full: WhenFull::Overwrite, cpu_bytes: LOG_BYTES, clock };
        let joined = Region::create(&path, &layout).and_then(|region| {
            match owner {
                LogOwner::Cpu => session::join(&path)?,
                LogOwner::Thread => session::join_alone(&path)?,
                LogOwner::NoSession => {}
            }
            Ok(region)
        });
        let region = joined.map_err(|error| Unavailable(format!("no session of the tracer: {error}")))?;
        Ok(JoinedSession { region, directory: job.directory.join(format!("{}-snapshot", job.token)) })
    }

    /// Checks that the session has recorded at least `expected` events, or none if `expected` is 0.
    ///
    /// # Errors
    /// The number of events that it has recorded.
    pub fn check(&self, expected: u64) -> io::Result<()> {
        let totals = snapshot(self.region.clone(), &self.directory, Vec::new()).map_err(io::Error::other);
        let _ = fs::remove_dir_all(&self.directory);
        let totals = totals?;
        let count = totals.written + totals.lost;
        if totals.spoiled_bytes == 0 && if expected == 0 { count == 0 } else { count >= expected } {
            return Ok(());
        }
        Err(io::Error::other(format!("{expected} events were emitted, but the session has {totals:?}")))
    }
}

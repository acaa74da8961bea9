//! A session of the tracer that the worker itself has made and joined, and the events of these rows.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::ticks;
use headwater_trace::region::{Layout, Region};
use headwater_trace::{WhenFull, session};
use headwater_trace_tools::consumer::snapshot;
use headwater_trace_tools::schema::Clock;

use crate::harness::conduct::Job;
use crate::harness::scratch::Scratch;
use crate::trace::HOME;
use crate::transports::Unavailable;

headwater_trace::events! {
    /// One that is recorded: 32 bytes.
    pub recorded("cost:event") { first: u64, second: u32, third: u32 }
    pub with_text("cost:text") { first: u64, text: &str }
    pub off("off:event") { first: u64, second: u32, third: u32 }
}

/// What the sessions record.
pub const PATTERN: &str = "cost:*";

/// Bytes of each log.
pub const LOG_BYTES: usize = 256 << 10;

/// Events that a check makes: as many as a log holds.
pub const CHECKED: u64 = 1000;

/// The owner of the logs that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOwner {
    /// The CPUs', by restartable sequences where there are any.
    Cpu,
    /// The threads' own.
    Thread,
}

/// A session that this process has joined.
#[derive(Debug)]
pub struct JoinedSession {
    region: Region,
    directory: PathBuf,
}

impl JoinedSession {
    /// Makes a session that records the events of [`PATTERN`], and joins it.
    ///
    /// # Errors
    /// [`Unavailable`] with what stands in the way.
    pub fn new(job: &Job, whose: LogOwner) -> Result<JoinedSession, Unavailable> {
        if let Some(why) = ticks::unsound() {
            return Err(Unavailable(why));
        }
        // Where nothing is ever written to a disk, if there is such a place, and where the next one removes what a killed
        // one has left.
        let memory = Path::new(HOME);
        let place = Scratch::below(if memory.is_dir() { memory } else { &job.directory });
        let place = place.map_err(|error| Unavailable(format!("no memory for a session: {error}")))?;
        let path = place.path().join("logs");
        let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
        let layout =
            Layout { patterns: vec![PATTERN.into()], when_full: WhenFull::Overwrite, cpu_bytes: LOG_BYTES, clock };
        let joined = Region::create(&path, &layout).and_then(|region| {
            match whose {
                LogOwner::Cpu => session::join(&path)?,
                LogOwner::Thread => session::join_alone(&path)?,
            }
            Ok(region)
        });
        let region = joined.map_err(|error| Unavailable(format!("no session of the tracer: {error}")))?;
        Ok(JoinedSession { region, directory: job.directory.join(format!("{}-snapshot", job.token)) })
    }

    /// Whether the session has taken note of so many events at least, or of none at all.
    ///
    /// # Errors
    /// Says how many it was.
    pub fn check(&self, expected: u64) -> io::Result<()> {
        let totals = snapshot(self.region.clone(), &self.directory, Vec::new()).map_err(io::Error::other);
        let _ = fs::remove_dir_all(&self.directory);
        let totals = totals?;
        let count = totals.written + totals.lost;
        if totals.spoiled_bytes == 0 && if expected == 0 { count == 0 } else { count >= expected } {
            return Ok(());
        }
        Err(io::Error::other(format!("{expected} events were made, and the session knows of {totals:?}")))
    }
}

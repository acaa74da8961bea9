//! What a flight recorder holds now, as a trace of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use headwater_trace::consumer::{self, Totals};
use headwater_trace::region::Region;

use super::{SessionFile, environment, fresh_directory};

/// A snapshot that was taken.
#[derive(Debug)]
pub struct Taken {
    /// The trace.
    pub trace: PathBuf,
    /// What is in it, and what was overwritten before.
    pub totals: Totals,
}

/// Writes what the recorder of a recording holds, which goes on.
///
/// # Errors
/// In words: it is no flight recorder, or does not run; what the file system reports.
pub fn snapshot(recording: &Path, to: Option<&Path>) -> anyhow::Result<Taken> {
    let file = SessionFile::read(recording)?;
    let shown = recording.display();
    if file.end.is_some() {
        bail!("{shown}: its recorder has ended; `headwater trace show {shown}` shows what it held at the end");
    }
    if !file.flight {
        bail!("{shown} is no flight recorder (record --flight): everything is written to it all the while");
    }
    let region = Region::open(&file.memory).with_context(|| file.memory.display().to_string())?;
    if region.claim()? {
        bail!("{shown}: its recorder (process {}) has died; `headwater trace recover {shown}`", file.recorder);
    }
    let trace = to.map_or_else(|| fresh_directory("headwater-snapshot"), Path::to_owned);
    let totals = consumer::snapshot(region, &trace, environment(&file.command.join(" ")))?;
    Ok(Taken { trace, totals })
}

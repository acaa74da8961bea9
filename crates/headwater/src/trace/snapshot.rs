//! Saves the present contents of a flight recorder as a recording of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use headwater_os_tools::own_file::make_own_directory;
use headwater_trace::region::Region;
use headwater_trace_tools::consumer::{self, Totals};
use headwater_trace_tools::kernel;

use super::{DIRECTORY_MODE, KernelEnd, PAGES, SessionFile, USER, environment, fresh_directory, kernel_side};

/// A completed snapshot.
#[derive(Debug)]
pub struct TakenSnapshot {
    /// The directory with its traces.
    pub directory: PathBuf,
    /// The events of programs: how many it contains, and how many had been overwritten.
    pub totals: Totals,
    /// The same for events of the kernel; `None` if none are recorded.
    pub kernel: Option<KernelEnd>,
}

/// Writes the present contents of a recording's flight recorder. The recorder continues.
///
/// # Errors
/// In words: it is not a flight recorder, or its recorder is not running; errors of the file system.
pub fn snapshot(recording: &Path, to: Option<&Path>) -> anyhow::Result<TakenSnapshot> {
    let (recording, file) = &SessionFile::read_own(recording)?;
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
    let directory = to.map_or_else(|| fresh_directory("headwater-snapshot"), Path::to_owned);
    let (clock, command) = (region.clock().clone(), file.command.join(" "));
    // First the buffers that are overwritten sooner.
    let capture = kernel::snapshot(&recording.join(PAGES))?;
    let whole = make_own_directory(&directory, DIRECTORY_MODE).with_context(|| directory.display().to_string())?;
    let totals = consumer::snapshot(region, &whole.join(USER), environment(&command))?;
    let kernel = capture.map(|capture| kernel_side::convert(capture, &whole, &clock, &command));
    Ok(TakenSnapshot { directory, totals, kernel })
}

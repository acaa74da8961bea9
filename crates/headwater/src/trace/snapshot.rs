//! What a flight recorder holds now, as a recording of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use headwater_os::files::make_private_directory;
use headwater_trace::region::Region;
use headwater_trace_tools::consumer::{self, Totals};
use headwater_trace_tools::kernel;

use super::{KERNEL, KernelEnd, PAGES, SessionFile, USER, environment, fresh_directory, kernel_side};

/// A snapshot that was taken.
#[derive(Debug)]
pub struct TakenSnapshot {
    /// The directory with its traces.
    pub directory: PathBuf,
    /// Of programs' events: what is in it, and what was overwritten before.
    pub totals: Totals,
    /// The same of the kernel's; None if none are recorded.
    pub kernel: Option<KernelEnd>,
}

/// Writes what the recorder of a recording holds, which goes on.
///
/// # Errors
/// In words: it is no flight recorder, or does not run; what the file system reports.
pub fn snapshot(recording: &Path, to: Option<&Path>) -> anyhow::Result<TakenSnapshot> {
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
    let directory = to.map_or_else(|| fresh_directory("headwater-snapshot"), Path::to_owned);
    let (clock, command) = (region.clock().clone(), file.command.join(" "));
    // First what others overwrite sooner.
    let capture = kernel::snapshot(&recording.join(PAGES))?;
    make_private_directory(&directory).with_context(|| directory.display().to_string())?;
    let totals = consumer::snapshot(region, &directory.join(USER), environment(&command))?;
    let kernel = capture.map(|capture| kernel_side::convert(capture, &directory.join(KERNEL), &clock, &command));
    Ok(TakenSnapshot { directory, totals, kernel })
}

//! Completes the recording of a dead recorder: copies the remaining events of programs, and repairs the trace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use headwater_os::files::try_lock;
use headwater_os::plain_file;
use headwater_os_tools::bus_error;
use headwater_os_tools::own_file::{foreign, make_own_directory, own_directory};
use headwater_trace::WhenFull;
use headwater_trace::region::Region;
use headwater_trace_tools::consumer;
use headwater_trace_tools::consumer::parts::{self, PartsFile};
use headwater_trace_tools::ctf::{self, Reader, Repaired};
use headwater_trace_tools::stat::Stat;

use super::recording::TRUNCATED;
use super::{
    DIRECTORY_MODE, FILE, KernelEnd, PAGES, SessionFile, USER, WaitsForRoom, environment, fresh_directory, kernel_side,
    memory,
};

/// A recovered recording.
#[derive(Debug)]
pub struct Recovered {
    /// The directory of the recording, or of the new trace if one was requested.
    pub directory: PathBuf,
    /// Events that were copied now.
    pub carried: u64,
    /// Events in the trace.
    pub written: u64,
    /// Lost events.
    pub lost: u64,
    /// Bytes of the memory that are not valid records.
    pub spoiled_bytes: u64,
    /// Whether the session's memory still existed.
    pub had_memory: bool,
    /// The incomplete data that was cut off, if the memory should have existed and did not.
    pub repaired: Option<Repaired>,
    /// The result for the events of the kernel; `None` if none were left.
    pub kernel: Option<KernelEnd>,
    /// Whether it was a flight recorder, whose older events are always overwritten.
    pub flight: bool,
}

impl Recovered {
    /// Whether all recorded events are in the trace, except those that a flight recorder overwrites.
    pub fn is_whole(&self) -> bool {
        let none_lost = |lost: u64| lost == 0 || self.flight;
        let is_whole =
            |kernel: &KernelEnd| kernel.missing().is_empty() && kernel.left.is_none() && none_lost(kernel.lost);
        none_lost(self.lost)
            && self.spoiled_bytes == 0
            && self.repaired.is_none()
            && self.kernel.as_ref().is_none_or(is_whole)
    }
}

/// Recovers a recording, given its directory or the file of its session's memory.
///
/// # Errors
/// In words: the recorder is alive, or there is nothing to recover; errors of the file system. Then nothing has changed
/// except that some events may have been copied, and the call can be repeated.
pub fn recover(from: &Path, to: Option<&Path>) -> anyhow::Result<Recovered> {
    let metadata = fs::metadata(from).with_context(|| from.display().to_string())?;
    if metadata.is_dir() {
        // Files of it are repaired, read and removed by name.
        let whole = own_directory(from).with_context(|| from.display().to_string())?;
        return recover_directory(&whole, to);
    }
    let region = open(from)?;
    let of = of_memory(from, &region);
    if let (None, Some((recording, file))) = (to, &of) {
        // The memory says where that is.
        let whole = own_directory(recording).with_context(|| recording.display().to_string())?;
        return carry(region, from, &whole, Some((&whole, file.clone())));
    }
    let to = to.map_or_else(|| fresh_directory("headwater-trace"), Path::to_owned);
    carry(region, from, &to, of.as_ref().map(|(recording, file)| (recording.as_path(), file.clone())))
}

fn recover_directory(from: &Path, to: Option<&Path>) -> anyhow::Result<Recovered> {
    let file = SessionFile::read(from)?;
    match (open(&file.memory), to) {
        (Ok(region), _) if !is_of_recording(&region, from)? => {
            bail!(
                "{}: its {FILE} names the memory {}, which is of another recording, and another user may have written that; \
                 `headwater trace recover {1}` recovers the memory",
                from.display(),
                file.memory.display()
            )
        }
        (Ok(region), to) => carry(region, &file.memory.clone(), to.unwrap_or(from), Some((from, file))),
        (Err(_), _) if file.end.is_some() && !from.join(PAGES).exists() => {
            bail!("{}: nothing to recover: the recording has ended as it should", from.display())
        }
        (Err(_), to) if !file.memory.exists() => without_memory(from, to.unwrap_or(from), &file, GONE),
        (Err(error), to) => {
            if !is_abandoned(&file.memory).with_context(|| file.memory.display().to_string())? {
                return Err(error);
            }
            let why = format!("{error:#}: the session's memory is damaged, and what was not carried is lost with it");
            let recovered = without_memory(from, to.unwrap_or(from), &file, &why)?;
            memory::remove_damaged(&file.memory);
            Ok(recovered)
        }
    }
}

/// Why events are missing that were in a memory that has gone.
const GONE: &str = "the session's memory has gone, and with it what was not carried";

/// Whether no recorder has a memory that is no session.
fn is_abandoned(memory: &Path) -> anyhow::Result<bool> {
    Ok(try_lock(&plain_file::open(memory)?)?.is_some())
}

fn open(memory: &Path) -> anyhow::Result<Region> {
    Region::open(memory).with_context(|| format!("{}", memory.display()))
}

/// Whether a session's memory is of this recording: it says so, or only this user can have written the file that names it. Else the file of
/// another user could name the memory of this user's session, whose events it would get.
fn is_of_recording(region: &Region, recording: &Path) -> anyhow::Result<bool> {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    if region.home().is_some_and(|home| whole(&home) == whole(recording)) {
        return Ok(true);
    }
    let path = recording.join(FILE);
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    Ok(foreign(&file, &path)?.is_none())
}

/// Returns the recording that a session's memory names, if that recording names the same memory. Any traced program may
/// have overwritten the memory, so its contents alone are not trusted.
fn of_memory(memory: &Path, region: &Region) -> Option<(PathBuf, SessionFile)> {
    let recording = region.home()?;
    let file = SessionFile::read(&recording).ok()?;
    (file.memory == fs::canonicalize(memory).ok()?).then_some((recording, file))
}

/// Copies the events of a session. `of` is its recording, if that is known.
fn carry(
    region: Region,
    memory: &Path,
    directory: &Path,
    of: Option<(&Path, SessionFile)>,
) -> anyhow::Result<Recovered> {
    bus_error::survive().context("SIGBUS")?;
    if !region.claim()? {
        let who =
            of.map_or_else(String::new, |(_, file)| format!(" (process {0}; kill -INT {0} ends it)", file.recorder));
        return Err(anyhow!("its recorder still runs{who}: there is nothing to recover"));
    }
    let directory = &make_own_directory(directory, DIRECTORY_MODE).with_context(|| directory.display().to_string())?;
    let command = of.as_ref().map_or_else(String::new, |(_, file)| file.command.join(" "));
    let trace = directory.join(USER);
    let (clock, flight) = (region.clock().clone(), region.when_full() == WhenFull::Overwrite);
    let own = of.as_ref().map(|(recording, _)| *recording).filter(|recording| *recording == directory);
    let parts = own.map(PartsFile::read).transpose().context("parts of the trace")?.flatten();
    let totals = match &parts {
        Some(parts) => consumer::recover_parts(region.clone(), directory, parts)?,
        None => consumer::recover(region.clone(), &trace, environment(&command))?,
    };
    let (mut written, mut lost) = counted(directory, &trace)?;
    if let Some(PartsFile { removed, .. }) = &parts {
        (written, lost) = (written + removed.events, lost + removed.lost);
    }
    let mut kernel = None;
    if let Some((recording, mut file)) = of {
        kernel = kernel_side::recover(recording, directory, &clock, &command)?;
        if recording == directory {
            let truncated = bus_error::has_happened().then(|| TRUNCATED.to_owned());
            let missing = kernel.iter().flat_map(KernelEnd::missing).chain(truncated).collect();
            file.removed = parts.map(|parts| parts.removed).filter(|removed| removed.parts > 0).map(Into::into);
            file.kernel_removed = kernel_side::removed(recording).map(Into::into);
            file.waited = WaitsForRoom::of(&region);
            file.write_end(directory, written, lost, missing).with_context(|| directory.display().to_string())?;
        }
    }
    fs::remove_file(memory).with_context(|| memory.display().to_string())?;
    Ok(Recovered {
        directory: directory.to_owned(),
        carried: totals.written,
        written,
        lost,
        spoiled_bytes: totals.spoiled_bytes,
        had_memory: true,
        repaired: None,
        kernel,
        flight,
    })
}

/// Recovers a recording whose memory no longer exists, because the machine was restarted, or because only the kernel's
/// events were not yet converted; or whose memory is damaged. The trace is cut to whole packets.
fn without_memory(recording: &Path, to: &Path, file: &SessionFile, why: &str) -> anyhow::Result<Recovered> {
    let to = &make_own_directory(to, DIRECTORY_MODE).with_context(|| to.display().to_string())?;
    let parts = PartsFile::read(recording).context("parts of the trace")?;
    if let Some(parts) = &parts {
        parts::remove_leftovers(recording, parts).context("parts that were being removed")?;
    }
    let trace = parts.as_ref().map_or_else(|| recording.join(USER), |parts| parts.current(recording));
    let removed = parts.map(|parts| parts.removed).unwrap_or_default();
    let repaired = if file.end.is_none() { Some(ctf::repair(&trace)?) } else { None };
    let (written, lost) = counted(recording, &recording.join(USER))?;
    let (written, lost) = (written + removed.events, lost + removed.lost);
    let reader = Reader::open(&[trace])?;
    let clock = reader.schemas().next().map(|(_, schema)| schema.clock.clone()).context("a trace without a schema")?;
    let kernel = kernel_side::recover(recording, to, &clock, &file.command.join(" "))?;
    if recording == to {
        let mut file = file.clone();
        let gone = repaired.is_some().then(|| why.to_owned());
        let missing = kernel.iter().flat_map(KernelEnd::missing).chain(gone).collect();
        file.removed = Some(removed).filter(|removed| removed.parts > 0).map(Into::into);
        file.kernel_removed = kernel_side::removed(recording).map(Into::into);
        file.write_end(recording, written, lost, missing).with_context(|| recording.display().to_string())?;
    }
    Ok(Recovered {
        directory: recording.to_owned(),
        carried: 0,
        written,
        lost,
        spoiled_bytes: 0,
        had_memory: false,
        repaired,
        kernel,
        flight: file.flight,
    })
}

/// Counts the events and losses of a trace, or of all its parts in a recording.
fn counted(recording: &Path, trace: &Path) -> anyhow::Result<(u64, u64)> {
    let mut traces = if trace.exists() { Vec::new() } else { parts::directories(recording)? };
    if traces.is_empty() {
        traces.push(trace.to_owned());
    }
    let stat = Stat::of(&mut Reader::open(&traces)?);
    Ok((stat.records(), stat.lost()))
}

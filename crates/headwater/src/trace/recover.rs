//! Ends the recording of a recorder that has died: what programs had written is carried, the trace is made whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use headwater_trace::consumer;
use headwater_trace::ctf::{self, Reader, Repaired};
use headwater_trace::region::Region;
use headwater_trace::stat::Stat;

use super::{SessionFile, USER, environment, fresh_directory};

/// A recording that was ended.
#[derive(Debug)]
pub struct Recovered {
    /// The recording, or the new trace that was asked for.
    pub directory: PathBuf,
    /// Events that were carried now.
    pub carried: u64,
    /// All events in the trace.
    pub written: u64,
    /// Events that are lost.
    pub lost: u64,
    /// Bytes of the memory that held no sound events.
    pub spoiled_bytes: u64,
    /// Whether the memory was there; without it the trace is only made whole.
    pub had_memory: bool,
    /// What was cut off, where there was no memory.
    pub repaired: Option<Repaired>,
    /// Pages of the kernel that nobody has converted.
    pub kernel_pages: Option<PathBuf>,
}

/// Recovers a recording by its directory, or a session by the file of its memory.
///
/// # Errors
/// In words: the recorder lives, nothing is to be recovered; what the file system reports. Then everything is as before, but
/// what was carried so far, and it can be tried again.
pub fn recover(from: &Path, to: Option<&Path>) -> anyhow::Result<Recovered> {
    let metadata = fs::metadata(from).with_context(|| from.display().to_string())?;
    if !metadata.is_dir() {
        let region = open(from)?;
        return match (to, of_memory(from, &region)) {
            (None, Some((recording, file))) => carry(region, from, &recording, Some(file)),
            (to, _) => {
                let to = to.map_or_else(|| fresh_directory("headwater-trace"), Path::to_owned);
                carry(region, from, &to, None)
            }
        };
    }
    let file = SessionFile::read(from)?;
    match (open(&file.memory), to) {
        (Ok(region), None) => carry(region, &file.memory.clone(), from, Some(file)),
        (Ok(region), Some(to)) => carry(region, &file.memory, to, None),
        (Err(_), _) if file.end.is_some() => {
            bail!("{}: nothing to recover: the recording has ended as it should", from.display())
        }
        (Err(_), _) if !file.memory.exists() => without_memory(from),
        (Err(error), _) => Err(error),
    }
}

fn open(memory: &Path) -> anyhow::Result<Region> {
    Region::open(memory).with_context(|| format!("{}", memory.display()))
}

/// The recording that a session's memory names, if it names the memory too: what stands in the memory any of its programs may
/// have written.
fn of_memory(memory: &Path, region: &Region) -> Option<(PathBuf, SessionFile)> {
    let recording = region.home()?;
    let file = SessionFile::read(&recording).ok()?;
    (file.memory == fs::canonicalize(memory).ok()?).then_some((recording, file))
}

fn carry(region: Region, memory: &Path, directory: &Path, file: Option<SessionFile>) -> anyhow::Result<Recovered> {
    if !region.claim()? {
        let who = file.map_or_else(String::new, |file| format!(" (process {0}; kill -INT {0} ends it)", file.recorder));
        return Err(anyhow!("its recorder still runs{who}: there is nothing to recover"));
    }
    let command = file.as_ref().map_or_else(String::new, |file| file.command.join(" "));
    let trace = directory.join(USER);
    let totals = consumer::recover(region, &trace, environment(&command))?;
    let (written, lost) = counted(&trace)?;
    if let Some(mut file) = file {
        file.write_end(directory, written, lost).with_context(|| directory.display().to_string())?;
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
        kernel_pages: kernel_pages(directory),
    })
}

/// The memory has gone, by a restart of the machine for instance: the trace is cut to what is whole.
fn without_memory(recording: &Path) -> anyhow::Result<Recovered> {
    let trace = recording.join(USER);
    let repaired = ctf::repair(&trace)?;
    let (written, lost) = counted(&trace)?;
    Ok(Recovered {
        directory: recording.to_owned(),
        carried: 0,
        written,
        lost,
        spoiled_bytes: 0,
        had_memory: false,
        repaired: Some(repaired),
        kernel_pages: kernel_pages(recording),
    })
}

fn counted(trace: &Path) -> Result<(u64, u64), ctf::Error> {
    let stat = Stat::of(&mut Reader::open(&[trace])?);
    Ok((stat.records(), stat.lost()))
}

fn kernel_pages(recording: &Path) -> Option<PathBuf> {
    let path = recording.join("kernel.pages");
    match fs::read_dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        _ => Some(path),
    }
}

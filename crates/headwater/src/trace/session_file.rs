//! `session.json`: the subject of a recording, and the path of the memory to which its programs write. It is written
//! first, so that `recover` finds the memory by the directory after a crash.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use headwater_os::files::private;
use headwater_os::plain_file;
use headwater_os_tools::own_file::own_directory;
use headwater_trace::region::{Region, Waited};
use headwater_trace_tools::consumer::parts::Removed;
use serde::{Deserialize, Serialize};

use crate::replace::replace_as;

/// The file name in a recording.
pub const FILE: &str = "session.json";

/// The version of the format. Every change of the file's meaning raises it.
const FORMAT: u32 = 1;

/// The most bytes of the file; a command line has at most 6 MB.
const BYTES_MAX: u64 = 64 << 20;

/// The contents of the file: the facts about a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The version of the format.
    pub format: u32,
    /// The version of the program that wrote it.
    pub headwater: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The command line of the recorded program.
    pub command: Vec<String>,
    /// The process id of the recorder.
    pub recorder: u32,
    /// The process id of the recorded program; `None` until it has been started.
    pub pid: Option<u32>,
    /// The file of the session's memory.
    pub memory: PathBuf,
    /// Whether the newest events overwrite the oldest ones. Such events are written at the end, or by a snapshot.
    pub flight: bool,
    /// `tsc` or `monotonic`.
    pub clock: String,
    /// The patterns of the recorded events of programs.
    pub events: Vec<String>,
    /// The patterns of the recorded events of the kernel.
    pub kernel_events: Vec<String>,
    /// What was removed with the oldest parts of programs' events; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<RemovedParts>,
    /// The same of the events of the kernel, which [`End`] does not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_removed: Option<RemovedParts>,
    /// How long programs waited for room; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<WaitsForRoom>,
    /// How the recording ended; absent while it is in progress, or if the recorder died.
    pub end: Option<End>,
}

/// Parts of a recording that were removed for newer ones. Those of programs are contained in [`End`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedParts {
    /// The number of parts.
    pub parts: u64,
    /// Their events.
    pub events: u64,
    /// Their lost events.
    pub lost: u64,
}

/// The waits of programs for room in the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsForRoom {
    /// How often a program has slept.
    pub count: u64,
    /// The time of all of them together.
    pub ns: u64,
}

impl WaitsForRoom {
    /// Returns those of a session, if there were any.
    pub fn of(region: &Region) -> Option<WaitsForRoom> {
        let Waited { count, time } = region.waited();
        (count > 0).then(|| WaitsForRoom { count, ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) })
    }

    /// Returns the time.
    pub fn time(self) -> Duration {
        Duration::from_nanos(self.ns)
    }
}

impl From<Removed> for RemovedParts {
    fn from(removed: Removed) -> RemovedParts {
        let Removed { parts, events, lost } = removed;
        RemovedParts { parts, events, lost }
    }
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Events of programs in the trace.
    pub written: u64,
    /// Lost events of programs.
    pub lost: u64,
    /// Events that the traces neither contain nor count, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl SessionFile {
    /// Returns the facts about a recording that begins now.
    pub fn new(command: Vec<String>, memory: PathBuf, flight: bool, clock: &str) -> SessionFile {
        SessionFile {
            format: FORMAT,
            headwater: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now(),
            command,
            recorder: std::process::id(),
            pid: None,
            memory,
            flight,
            clock: clock.to_owned(),
            events: Vec::new(),
            kernel_events: Vec::new(),
            removed: None,
            kernel_removed: None,
            waited: None,
            end: None,
        }
    }

    /// Writes the file into a recording.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, recording: &Path) -> io::Result<()> {
        replace_as(private(), &recording.join(FILE), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            writeln!(file)
        })
    }

    /// Adds the end, and writes the file again.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write_end(&mut self, recording: &Path, written: u64, lost: u64, missing: Vec<String>) -> io::Result<()> {
        self.end = Some(End { at: now(), written, lost, missing });
        self.write(recording)
    }

    /// Reads the file of a recording that is acted on: it names the memory that is written to, and files beside it the instance of the
    /// kernel's tracer. So no other user may have written them ([`own_directory`]). Returns the directory's whole path too.
    ///
    /// # Errors
    /// In words, with the path and a remedy.
    pub fn read_own(recording: &Path) -> anyhow::Result<(PathBuf, SessionFile)> {
        let whole = match own_directory(recording) {
            // The reading says it better.
            Err(error) if error.kind() == io::ErrorKind::NotFound => recording.to_owned(),
            whole => whole.with_context(|| recording.display().to_string())?,
        };
        let file = SessionFile::read(&whole)?;
        Ok((whole, file))
    }

    /// Reads the file of a recording.
    ///
    /// # Errors
    /// In words, with the path and a remedy.
    pub fn read(recording: &Path) -> anyhow::Result<SessionFile> {
        let path = recording.join(FILE);
        let text = plain_file::read_text(&path, BYTES_MAX).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow!(
                "{}: no recording: it has no {FILE}; name the directory that `headwater trace record` wrote to",
                recording.display()
            ),
            _ => anyhow!("{}: {error}", path.display()),
        })?;
        let file: SessionFile = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        if file.format != FORMAT {
            return Err(anyhow!("{}: it is of headwater {}, and not understood here", path.display(), file.headwater));
        }
        Ok(file)
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

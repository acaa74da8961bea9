//! `session.json`: the subject of a recording, and the path of the memory to which its programs write. It is written
//! first, so that `recover` finds the memory by the directory after a crash.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use headwater_os::files::private;
use serde::{Deserialize, Serialize};

use crate::replace::replace_as;

/// Its name in a recording.
pub const FILE: &str = "session.json";

/// Raised by any change of the file's meaning.
const FORMAT: u32 = 1;

/// A recording, in facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The version of this form.
    pub format: u32,
    /// The version of the program that wrote it.
    pub headwater: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The command line that is recorded.
    pub command: Vec<String>,
    /// The process that records.
    pub recorder: u32,
    /// The process that is recorded; absent until it is there.
    pub pid: Option<u32>,
    /// The file that is the session's memory.
    pub memory: PathBuf,
    /// Whether the newest events overwrite the oldest ones, to be written at the end or by a snapshot.
    pub flight: bool,
    /// `tsc` or `monotonic`.
    pub clock: String,
    /// Which events of programs are recorded.
    pub events: Vec<String>,
    /// Which events of the kernel are.
    pub kernel_events: Vec<String>,
    /// How the recording ended; absent while it is in progress, or if the recorder died.
    pub end: Option<End>,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Events of programs in the trace.
    pub written: u64,
    /// Events of programs that are not.
    pub lost: u64,
    /// What the traces do not hold and do not count, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl SessionFile {
    /// One that has begun now.
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
            end: None,
        }
    }

    /// Puts it into a recording.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write(&self, recording: &Path) -> io::Result<()> {
        replace_as(private(), &recording.join(FILE), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            writeln!(file)
        })
    }

    /// Writes that it has ended.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write_end(&mut self, recording: &Path, written: u64, lost: u64, missing: Vec<String>) -> io::Result<()> {
        self.end = Some(End { at: now(), written, lost, missing });
        self.write(recording)
    }

    /// Of a recording.
    ///
    /// # Errors
    /// In words, with the path and what to do.
    pub fn read(recording: &Path) -> anyhow::Result<SessionFile> {
        let path = recording.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
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

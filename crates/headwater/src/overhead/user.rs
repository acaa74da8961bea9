//! The user half of a launch: a session of our tracer that the command and what it starts join, carried beside it or left in
//! memory, and its counts. What it records is thrown away.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_os::ticks;
use headwater_trace::WhenFull;

use super::arms::Kind;
use super::kernel::Counts;
use crate::facilities::trace::PATTERN;
use crate::harness::scratch::Scratch;
use crate::trace::{BUFFER_BYTES, ClockChoice, HOME, Pace, Recording, RecordingConfig};

/// How such sessions are set up.
#[derive(Debug)]
pub struct Sessions {
    /// Patterns of events.
    events: Vec<String>,
    /// Where their memory lies: a directory of our own, so that nothing stays whoever is killed. Or why there is none.
    memory: Result<Scratch, String>,
    /// Where they are carried to.
    directory: PathBuf,
}

/// A session that runs.
#[derive(Debug)]
pub struct UserSession {
    recording: Recording,
    directory: PathBuf,
    /// None if nobody reads.
    pace: Option<Pace>,
}

impl Sessions {
    /// Sessions of events of these names; what they write goes below `directory`.
    pub fn new(events: &[String], directory: &Path) -> Sessions {
        let memory = Scratch::below(Path::new(HOME)).map_err(|error| format!("no memory for sessions: {error}"));
        Sessions { events: events.to_vec(), memory, directory: directory.join("user") }
    }

    /// Why this machine has none.
    pub fn obstacle(&self) -> Option<String> {
        if let Some(why) = ticks::unsound() {
            return Some(format!("the processor's counter is no clock here: {why}"));
        }
        match self.begin(&self.events, WhenFull::Refuse) {
            Ok(recording) => {
                recording.undo();
                None
            }
            Err(why) => Some(why),
        }
    }

    /// Begins to record if the configuration does.
    ///
    /// # Errors
    /// What stands in the way, in words.
    pub fn start(&self, kind: Kind, is_probe: bool) -> Result<Option<UserSession>, String> {
        let when_full = match kind {
            Kind::UserFlight => WhenFull::Overwrite,
            Kind::UserDrain => WhenFull::Refuse,
            _ => return Ok(None),
        };
        // What a launch that failed has left.
        let _ = fs::remove_dir_all(&self.directory);
        let of_probe = [PATTERN.to_owned()];
        let recording = self.begin(if is_probe { &of_probe } else { &self.events }, when_full)?;
        let pace = (when_full == WhenFull::Refuse).then(Pace::default);
        Ok(Some(UserSession { recording, directory: self.directory.clone(), pace }))
    }

    fn begin(&self, events: &[String], when_full: WhenFull) -> Result<Recording, String> {
        let memory = self.memory.as_ref().map_err(Clone::clone)?.path().to_owned();
        let config = RecordingConfig {
            directory: Some(self.directory.clone()),
            events: events.to_vec(),
            when_full,
            buffer_bytes: BUFFER_BYTES,
            memory,
            clock: ClockChoice::Tsc,
            kernel: None,
            command: vec!["headwater".to_owned(), "overhead".to_owned()],
        };
        Recording::begin(&config).map_err(|error| format!("{error:#}"))
    }
}

impl UserSession {
    /// The file that programs join the session by.
    pub fn memory(&self) -> &Path {
        self.recording.memory()
    }

    /// Carries what there is; how long until the next time, if there is one.
    pub fn carry(&mut self) -> Option<Duration> {
        let pace = self.pace.as_mut()?;
        // What stands in the way now does so at the end too, and is told there.
        let _ = pace.look(&mut self.recording);
        Some(pace.pause())
    }

    /// Ends it and counts; its files are removed.
    ///
    /// # Errors
    /// What could not be carried, and why.
    pub fn stop(self) -> Result<Counts, String> {
        let ended = self.recording.end();
        let removed = fs::remove_dir_all(&self.directory);
        let totals = ended.user.map_err(|error| error.to_string())?;
        removed.map_err(|error| format!("{}: {error}", self.directory.display()))?;
        Ok(Counts { events: totals.written + totals.lost, lost: totals.lost })
    }
}

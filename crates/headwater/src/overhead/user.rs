//! The user half of a launch: a session of our tracer that the command and its children can join, and its counts. Its
//! events are written to files or left in memory, and deleted at the end.

use std::fs;
use std::path::{Path, PathBuf};

use headwater_gauge::facilities::trace::PATTERN;
use headwater_gauge::harness::scratch::Scratch;
use headwater_os::ticks;
use headwater_trace::WhenFull;

use super::arms::Kind;
use super::kernel::Counts;
use crate::trace::{ClockChoice, Copier, HOME, Recording, RecordingConfig};

/// The settings of such sessions.
#[derive(Debug)]
pub struct Sessions {
    /// Patterns of events.
    events: Vec<String>,
    /// The directory of their memory: a private one, so that nothing stays behind if a process is killed. Or the reason
    /// for which there is none.
    memory: Result<Scratch, String>,
    /// The directory of their files.
    directory: PathBuf,
}

/// A running session.
#[derive(Debug)]
pub struct UserSession {
    side: Side,
    directory: PathBuf,
}

/// The owner of a recording.
#[derive(Debug)]
enum Side {
    /// A session without a reader.
    Kept(Box<Recording>),
    Copied(Box<Copier>),
}

impl Sessions {
    /// Makes settings for events with these names; files go below `directory`.
    pub fn new(events: &[String], directory: &Path) -> Sessions {
        let memory = Scratch::below(Path::new(HOME)).map_err(|error| format!("no memory for sessions: {error}"));
        Sessions { events: events.to_vec(), memory, directory: directory.join("user") }
    }

    /// Returns the reason for which this machine cannot have such sessions.
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

    /// Starts recording if the configuration does.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn start(&self, kind: Kind, is_probe: bool) -> Result<Option<UserSession>, String> {
        let when_full = match kind {
            Kind::UserFlight => WhenFull::Overwrite,
            Kind::UserDrain => WhenFull::Refuse,
            _ => return Ok(None),
        };
        // Removes the files of a failed launch.
        let _ = fs::remove_dir_all(&self.directory);
        let of_probe = [PATTERN.to_owned()];
        let recording = self.begin(if is_probe { &of_probe } else { &self.events }, when_full)?;
        let side = match when_full {
            WhenFull::Overwrite => Side::Kept(Box::new(recording)),
            WhenFull::Refuse => Side::Copied(Box::new(Copier::start(recording).map_err(|error| error.to_string())?)),
        };
        Ok(Some(UserSession { side, directory: self.directory.clone() }))
    }

    fn begin(&self, events: &[String], when_full: WhenFull) -> Result<Recording, String> {
        let memory = self.memory.as_ref().map_err(Clone::clone)?.path().to_owned();
        let config = RecordingConfig {
            directory: Some(self.directory.clone()),
            events: events.to_vec(),
            when_full,
            memory,
            clock: ClockChoice::Tsc,
            command: vec!["headwater".to_owned(), "overhead".to_owned()],
            ..RecordingConfig::default()
        };
        Recording::begin(&config).map_err(|error| format!("{error:#}"))
    }
}

impl UserSession {
    /// Returns the file by which programs join the session.
    pub fn memory(&self) -> &Path {
        match &self.side {
            Side::Kept(recording) => recording.memory(),
            Side::Copied(copier) => copier.memory(),
        }
    }

    /// Ends the session and returns its counts; its files are removed.
    ///
    /// # Errors
    /// The events that could not be copied, and why.
    pub fn stop(self) -> Result<Counts, String> {
        // An error while events were copied occurs at the end too, and is reported here.
        let ended = match self.side {
            Side::Kept(recording) => recording.end(),
            Side::Copied(copier) => copier.stop().end(),
        };
        let removed = fs::remove_dir_all(&self.directory);
        let totals = ended.user.map_err(|error| error.to_string())?;
        removed.map_err(|error| format!("{}: {error}", self.directory.display()))?;
        Ok(Counts { events: totals.written + totals.lost, lost: totals.lost })
    }
}

//! Run directories: `run.jsonl`, to which every event is appended and synced at once, and `run.json`, made from it at
//! the end. No other module writes or reads a run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use headwater_os::files::OFlags;
use headwater_os::plain_file;
use headwater_os_tools::own_file::{foreign, make_own_directory, own_directory};
use headwater_results::parse::{ParseError, parse_events_prefix, parse_run};
use headwater_results::schema::{Event, Run};
use headwater_results::summary::Fold;

use crate::replace::replace_as;

/// The default directory of runs.
pub const RUNS: &str = "headwater-runs";

/// The permissions of the directories of runs: other users may read.
pub const DIRECTORY_MODE: u32 = 0o755;

/// The name of the event stream.
pub const EVENTS: &str = "run.jsonl";

/// The name of the document.
pub const DOCUMENT: &str = "run.json";

/// The most bytes of a file of a run. A launch has 1 to 5 kB.
pub const BYTES_MAX: u64 = 1 << 30;

/// What a user can name.
const WHAT_RUNS_ARE: &str = "a run is a directory in headwater-runs, or its run.json or run.jsonl";

/// Why a directory is not used.
const TAKEN: &str = "there is a run already; choose another directory with --output, or --resume this one";

/// A run that is being written.
#[derive(Debug)]
pub struct Store {
    /// The whole path, which no other user can lead elsewhere.
    whole: PathBuf,
    /// The path as it was given.
    directory: PathBuf,
    events: File,
    /// Whether the directory was made for this run.
    is_new: bool,
    /// See [`Stored::foreign`].
    foreign: Option<String>,
}

/// An error with a stored run: one line that names the file and the remedy.
#[derive(Debug)]
pub struct StoreError(String);

impl std::fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    fn new(path: &Path, what: impl std::fmt::Display) -> StoreError {
        StoreError(format!("{}: {what}", path.display()))
    }
}

impl Store {
    /// Makes `directory` with an empty event stream, and checks that both can be written. Whatever the process's mask is, other
    /// users cannot change the run: else its programs would not be started again ([`Stored::foreign`]).
    ///
    /// # Errors
    /// The path and the error of the system; also if the directory contains a run already, or another user can change it
    /// ([`make_own_directory`]).
    pub fn create(directory: &Path) -> Result<Store, StoreError> {
        let is_new = !directory.exists();
        // A document without events is a run too, which the new one would replace at its end.
        let document = directory.join(DOCUMENT);
        if fs::symlink_metadata(&document).is_ok() {
            return Err(StoreError::new(&document, TAKEN));
        }
        let whole = make_own_directory(directory, DIRECTORY_MODE).map_err(|error| StoreError::new(directory, error))?;
        let path = directory.join(EVENTS);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(0o644);
        let events = options.open(whole.join(EVENTS)).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                StoreError::new(&path, TAKEN)
            } else {
                StoreError::new(&path, error)
            }
        })?;
        Ok(Store { whole, directory: directory.to_owned(), events, is_new, foreign: None })
    }

    /// Opens an interrupted run to continue it. Returns its complete events; an incomplete last line is cut off.
    ///
    /// # Errors
    /// If there is no run, or a line is not an event.
    pub fn resume(directory: &Path) -> Result<(Store, Vec<Event>), StoreError> {
        let whole = own_directory(directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                StoreError::new(directory, format!("there is no run to continue; {WHAT_RUNS_ARE}"))
            }
            _ => StoreError::new(directory, error),
        })?;
        let directory = whole.as_path();
        let path = directory.join(EVENTS);
        if !path.exists() {
            return Err(StoreError::new(
                directory,
                format!("there is no run to continue: no {EVENTS}; {WHAT_RUNS_ARE}"),
            ));
        }
        let file = plain_file::open_for(&path, OFlags::RDWR | OFlags::APPEND)
            .map_err(|error| StoreError::new(&path, error))?;
        let (text, foreign) = read_text(&file, &path)?;
        let (events, torn) = parse_events_prefix(&text);
        match torn {
            None => {}
            Some(ParseError::Truncated { whole_lines, .. }) if whole_lines > 0 => {
                let whole: usize = text.split_inclusive('\n').take(whole_lines).map(str::len).sum();
                file.set_len(whole as u64).map_err(|error| StoreError::new(&path, error))?;
            }
            Some(error) => return Err(StoreError::new(&path, error)),
        }
        let directory = whole.clone();
        Ok((Store { whole, directory, events: file, is_new: false, foreign }, events))
    }

    /// Returns why another user may have written the run that is continued, see [`Stored::foreign`].
    pub fn foreign(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// Returns the run's directory, as it was given if the run is new.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends one event and waits until it is on disk. If the event cannot be written whole, its beginning is removed,
    /// so that the file stays readable; a run without any event is removed.
    ///
    /// # Errors
    /// Errors of the system, such as a full disk, with the way to continue.
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(event).map_err(|error| StoreError::new(&self.directory, error))?;
        line.push(b'\n');
        let before = self.events.metadata().map_or(0, |metadata| metadata.len());
        self.events.write_all(&line).and_then(|()| self.events.sync_data()).map_err(|error| {
            let remedy = match before {
                0 => String::new(),
                _ => format!(
                    "; the launches before it are kept: when that is mended, `headwater run --resume {}` goes on",
                    self.directory.display()
                ),
            };
            // If this also fails, `--resume` removes the incomplete line.
            let _ = self.events.set_len(before);
            if before == 0 {
                self.remove();
            }
            StoreError::new(&self.directory.join(EVENTS), format!("{error}{remedy}"))
        })
    }

    /// Removes a run that has no event, and the directory if it was made for the run.
    fn remove(&self) {
        let _ = fs::remove_file(self.whole.join(EVENTS));
        if self.is_new {
            let _ = fs::remove_dir(&self.whole);
        }
    }

    /// Writes the document next to the events.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn publish(&self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.whole.join(DOCUMENT);
        let mut options = OpenOptions::new();
        let written = replace_as(options.mode(0o644).clone(), &path, |file| {
            serde_json::to_writer_pretty(&mut *file, run)?;
            file.write_all(b"\n")
        });
        written.map_err(|error| {
            let directory = self.directory.display();
            StoreError::new(
                &self.directory.join(DOCUMENT),
                format!("{error}; {EVENTS} beside it has the whole run, `headwater show {directory}` reads it"),
            )
        })?;
        Ok(path)
    }
}

/// A run as it was read.
#[derive(Debug)]
pub struct Stored {
    /// The run, or what could be read of it.
    pub run: Run,
    /// What could not be read, and what was read instead; one line that names the file.
    pub torn: Option<String>,
    /// Why another user may have written it, with the path; `None` if only this user can have. No program that it names is
    /// started otherwise: [`crate::stored_commands`].
    pub foreign: Option<String>,
}

/// Reads a run: a `run.json`, a `run.jsonl`, or a directory that contains them. In a directory, the document is read if
/// it is not older than the events, because it contains the same run and is read much faster.
///
/// Events are read up to the first that is incomplete or damaged. If the document of a directory is, its events are read.
///
/// # Errors
/// One line that names the file, the problem and the remedy.
pub fn read(path: &Path) -> Result<Stored, StoreError> {
    let file = if path.is_dir() {
        newest(path).ok_or_else(|| {
            StoreError::new(path, format!("holds no run: neither {EVENTS} nor {DOCUMENT}; {WHAT_RUNS_ARE}"))
        })?
    } else {
        path.to_owned()
    };
    if !path.exists() {
        return Err(StoreError(format!("{path:?}: there is no such run; {WHAT_RUNS_ARE}")));
    }
    let (text, foreign) = open_text(&file)?;
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        return read_events(&file, &text, foreign);
    }
    match parse_run(&text) {
        Ok(run) => Ok(Stored { run, torn: None, foreign }),
        Err(error)
            if path.is_dir() && !matches!(error, ParseError::NewerSchema { .. }) && path.join(EVENTS).exists() =>
        {
            let events = path.join(EVENTS);
            let (text, foreign) = open_text(&events)?;
            let stored = read_events(&events, &text, foreign)?;
            let instead = format!("{}: {error}; {EVENTS} beside it is read", file.display());
            Ok(Stored { torn: Some(stored.torn.unwrap_or(instead)), ..stored })
        }
        Err(error) => Err(unreadable(&file, &error)),
    }
}

/// Makes a run of the events in a text, up to the first that is incomplete or damaged.
fn read_events(file: &Path, text: &str, foreign: Option<String>) -> Result<Stored, StoreError> {
    let (events, error) = parse_events_prefix(text);
    let torn = match error {
        Some(error) if events.is_empty() => return Err(unreadable(file, &error)),
        Some(error) => {
            let launches = events.iter().filter(|event| matches!(event, Event::LaunchFinished(_))).count();
            let remedy = match error {
                ParseError::Truncated { .. } => {
                    let directory = file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
                    format!("; `headwater run --resume {}` goes on", directory.display())
                }
                _ => String::new(),
            };
            Some(format!("{}: {error}; what is before it is read, {launches} launches{remedy}", file.display()))
        }
        None => None,
    };
    let run = Fold::run_of(events).map_err(|error| StoreError::new(file, error))?;
    Ok(Stored { run, torn, foreign })
}

fn open_text(path: &Path) -> Result<(String, Option<String>), StoreError> {
    let file = plain_file::open(path).map_err(|error| StoreError::new(path, error))?;
    read_text(&file, path)
}

/// Reads a text, and says why another user may have written it. A byte that is no text becomes a character that no line of a run
/// contains, and ends the text.
fn read_text(file: &File, path: &Path) -> Result<(String, Option<String>), StoreError> {
    let read =
        foreign(file, path).and_then(|foreign| Ok((foreign, plain_file::read_open(file.try_clone()?, BYTES_MAX)?)));
    let (foreign, bytes) = read.map_err(|error| StoreError::new(path, error))?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let what = error.utf8_error();
            let mut text = String::from_utf8_lossy(&error.as_bytes()[..what.valid_up_to()]).into_owned();
            // A character whose end is missing is the end of a torn line.
            if what.error_len().is_some() {
                text.push_str("\0\n");
            }
            text
        }
    };
    Ok((text, foreign.map(|why| format!("{} {why}", path.display()))))
}

/// Returns the file of a run's directory that contains the complete run.
fn newest(directory: &Path) -> Option<PathBuf> {
    let [events, document] = [EVENTS, DOCUMENT].map(|name| directory.join(name));
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    match (modified(&events), modified(&document)) {
        (Some(of_events), Some(of_document)) if of_events > of_document => Some(events),
        (_, Some(_)) => Some(document),
        (Some(_), None) => Some(events),
        (None, None) => None,
    }
}

fn unreadable(file: &Path, error: &ParseError) -> StoreError {
    let directory = file.parent().unwrap_or(Path::new("."));
    let remedy = match error {
        ParseError::Truncated { .. } if file.extension().is_some_and(|extension| extension == "jsonl") => {
            "; nothing was measured yet: delete it, and measure again".to_owned()
        }
        ParseError::Truncated { .. } if directory.join(EVENTS).exists() => {
            format!("; {} has it all: `headwater show {}`", EVENTS, directory.join(EVENTS).display())
        }
        ParseError::NewerSchema { .. } => "; read it with the headwater that wrote it, or a later one".to_owned(),
        ParseError::NotARun { .. } => format!("; {WHAT_RUNS_ARE}"),
        ParseError::Truncated { .. } => "; the rest is missing: copy it again, or measure again".to_owned(),
        ParseError::Malformed { .. } => "; it was changed: copy it again, or measure again".to_owned(),
    };
    StoreError::new(file, format!("{error}{remedy}"))
}

#[cfg(test)]
mod tests;

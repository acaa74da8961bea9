//! Run directories: `run.jsonl`, to which every event is appended and synced at once, and `run.json`, made from it at
//! the end. No other module writes or reads a run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headwater_results::parse::{ParseError, parse_events, parse_events_prefix, parse_run};
use headwater_results::schema::{Event, Run};
use headwater_results::summary::Fold;

use crate::replace::replace;

/// The default directory of runs.
pub const RUNS: &str = "headwater-runs";

/// The name of the event stream.
pub const EVENTS: &str = "run.jsonl";

/// The name of the document.
pub const DOCUMENT: &str = "run.json";

/// A run that is being written.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    events: File,
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
    /// Makes `directory` with an empty event stream, and checks that both can be written.
    ///
    /// # Errors
    /// The path and the error of the system; also if the directory contains a run already.
    pub fn create(directory: &Path) -> Result<Store, StoreError> {
        fs::create_dir_all(directory).map_err(|error| StoreError::new(directory, error))?;
        let path = directory.join(EVENTS);
        let events = OpenOptions::new().append(true).create_new(true).open(&path).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                StoreError::new(&path, "there is a run already; choose another directory, or --resume this one")
            } else {
                StoreError::new(&path, error)
            }
        })?;
        Ok(Store { directory: directory.to_owned(), events })
    }

    /// Opens an interrupted run to continue it. Returns its complete events; an incomplete last line is cut off.
    ///
    /// # Errors
    /// If there is no run, or a line is not an event.
    pub fn resume(directory: &Path) -> Result<(Store, Vec<Event>), StoreError> {
        let path = directory.join(EVENTS);
        let text = fs::read_to_string(&path).map_err(|error| StoreError::new(&path, error))?;
        let (events, torn) = parse_events_prefix(&text);
        match torn {
            None => {}
            Some(ParseError::Truncated { whole_lines, .. }) if whole_lines > 0 => {
                let whole: usize = text.split_inclusive('\n').take(whole_lines).map(str::len).sum();
                let file = OpenOptions::new().write(true).open(&path).map_err(|error| StoreError::new(&path, error))?;
                file.set_len(whole as u64).map_err(|error| StoreError::new(&path, error))?;
            }
            Some(error) => return Err(StoreError::new(&path, error)),
        }
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| StoreError::new(&path, error))?;
        Ok((Store { directory: directory.to_owned(), events: file }, events))
    }

    /// Returns the run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends one event and waits until it is on disk. If the event cannot be written whole, its beginning is removed,
    /// so that the file stays readable.
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
                    "; the launches so far are kept, and `headwater run --resume {}` goes on",
                    self.directory.display()
                ),
            };
            // If this also fails, `--resume` removes the incomplete line.
            let _ = self.events.set_len(before);
            StoreError::new(&self.directory.join(EVENTS), format!("{error}{remedy}"))
        })
    }

    /// Writes the document next to the events.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn publish(&self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(DOCUMENT);
        let written = replace(&path, |file| {
            serde_json::to_writer_pretty(&mut *file, run)?;
            file.write_all(b"\n")
        });
        written.map_err(|error| StoreError::new(&path, error))?;
        Ok(path)
    }
}

/// Reads a run: a `run.json`, a `run.jsonl`, or a directory that contains them. In a directory, the document is read if
/// it is not older than the events, because it contains the same run and is read much faster.
///
/// # Errors
/// One line that names the file, the problem and the remedy.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    let file = if path.is_dir() {
        newest(path).ok_or_else(|| StoreError::new(path, format!("holds no run: neither {EVENTS} nor {DOCUMENT}")))?
    } else {
        path.to_owned()
    };
    let text = fs::read_to_string(&file).map_err(|error| StoreError::new(&file, error))?;
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        let events = parse_events(&text).map_err(|error| unreadable(&file, &error))?;
        return Fold::run_of(events).map_err(|error| StoreError::new(&file, error));
    }
    parse_run(&text).map_err(|error| unreadable(&file, &error))
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
            format!("; `headwater run --resume {}` keeps the whole lines and goes on", directory.display())
        }
        ParseError::Truncated { .. } if directory.join(EVENTS).exists() => {
            format!("; {} has it all: `headwater show {}`", EVENTS, directory.join(EVENTS).display())
        }
        ParseError::NewerSchema { .. } => "; read it with the headwater that wrote it, or a later one".to_owned(),
        _ => String::new(),
    };
    StoreError::new(file, format!("{error}{remedy}"))
}

#[cfg(test)]
mod tests;

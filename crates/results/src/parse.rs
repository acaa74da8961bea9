//! Parses stored text into events and runs. Called by the store for `show` and `--resume`; it reads no file itself.
//!
//! Input may be incomplete, of another program, hand-edited or of a later version. These cases are distinguished, and
//! nothing panics. Every reader of a run goes through this file, so what it returns is valid: sizes have limits, and intervals
//! contain their medians.

use serde_json::Value;
use serde_json::error::Category;
use thiserror::Error;

use crate::schema::{Event, Run, SCHEMA_VERSION, oversized};

/// The reason why a text is not a run, or not a complete one. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The text ends in the middle of a line, or of the document.
    #[error("line {line} is torn off after {whole_lines} whole lines")]
    Truncated {
        /// The incomplete line.
        line: usize,
        /// Complete lines before it.
        whole_lines: usize,
    },
    /// Written by a later version of the program.
    #[error("schema version {found} is newer than {known}, the newest that this headwater reads")]
    NewerSchema {
        /// Version of the text.
        found: u64,
        /// [`SCHEMA_VERSION`].
        known: u32,
    },
    /// A text of another kind.
    #[error("line {line} is not the beginning of a run: {reason}")]
    NotARun {
        /// The first line that is not blank.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// A run with an error.
    #[error("line {line}, column {column}: {message}")]
    Malformed {
        /// Line.
        line: usize,
        /// Column in bytes; 1 if only the line is known.
        column: usize,
        /// The error.
        message: String,
    },
}

impl ParseError {
    /// Returns the line of the error, from 1.
    pub fn line(&self) -> usize {
        match *self {
            ParseError::NewerSchema { .. } => 1,
            ParseError::Truncated { line, .. }
            | ParseError::NotARun { line, .. }
            | ParseError::Malformed { line, .. } => line,
        }
    }
}

/// Parses all events of a `run.jsonl`. The first must be `run_started`; blank lines are skipped.
///
/// A line is complete if it ends with a newline: without it even a complete document counts as incomplete, because the
/// next appended event would join it.
pub fn parse_events(text: &str) -> Result<Vec<Event>, ParseError> {
    match parse_events_prefix(text) {
        (events, None) => Ok(events),
        (_, Some(error)) => Err(error),
    }
}

/// Parses the events of all lines before the first incomplete or invalid one, and returns that error too. With
/// [`ParseError::Truncated`] the events are all that was stored before an interruption, and a writer may continue after
/// the last newline.
pub fn parse_events_prefix(text: &str) -> (Vec<Event>, Option<ParseError>) {
    let mut events = Vec::new();
    let mut line = 0;
    for stored in text.split_inclusive('\n') {
        line += 1;
        if stored.trim().is_empty() {
            continue;
        }
        let parsed = if events.is_empty() { parse_first(stored, line) } else { parse_next(stored, line) };
        match parsed {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    let empty = events.is_empty().then(|| not_a_run(line.max(1), "it is empty"));
    (events, empty)
}

/// Parses a `run.json`.
pub fn parse_run(text: &str) -> Result<Run, ParseError> {
    match serde_json::from_str::<Run>(text) {
        Ok(run) if (1..=SCHEMA_VERSION).contains(&run.header.schema_version) => {
            check_sizes(text, 1)?;
            run.validate().map_err(|why| invalid(text, why)).map(|()| run)
        }
        // Valid input takes one pass; the error of invalid input is found by a slower one.
        Ok(_) | Err(_) => diagnose(text),
    }
}

/// Determines why a text is not a run.
fn diagnose(text: &str) -> Result<Run, ParseError> {
    if text.trim().is_empty() {
        return Err(not_a_run(1, "it is empty"));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => truncated(error.line()),
        _ if !text.trim_start().starts_with('{') => not_a_run(error.line(), "it is not JSON"),
        _ if starts_with_event(text) => not_a_run(1, "it has one event per line: a run.jsonl"),
        _ => malformed(&error, 0),
    })?;
    check_header(&value, 1)?;
    if value.get("results").is_none() {
        return Err(not_a_run(1, "it has no results"));
    }
    serde_json::from_str(text).map_err(|error| malformed(&error, 0))
}

/// Whether the first of several documents is an event.
fn starts_with_event(text: &str) -> bool {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    first.is_some_and(|first| first.is_ok_and(|value| value.get("event").is_some()))
}

/// Parses the first line, which determines the kind of the text.
fn parse_first(stored: &str, line: usize) -> Result<Event, ParseError> {
    let value: Value = match serde_json::from_str(stored) {
        Ok(value) => value,
        Err(error) if error.classify() == Category::Eof && stored.trim_start().starts_with('{') => {
            // A document over several lines, such as run.json, is valid JSON, but not on its first line.
            let torn = !stored.ends_with('\n');
            return Err(if torn { truncated(line) } else { not_a_run(line, "it is not one JSON object per line") });
        }
        Err(_) => return Err(not_a_run(line, "it is not JSON")),
    };
    check_header(&value, line)?;
    if value.get("event").and_then(Value::as_str) != Some("run_started") {
        return Err(not_a_run(line, "the first event is not run_started"));
    }
    parse_next(stored, line)
}

fn parse_next(stored: &str, line: usize) -> Result<Event, ParseError> {
    if !stored.ends_with('\n') {
        return Err(truncated(line));
    }
    check_sizes(stored, line)?;
    // Without its newline, because an error at the end of the line must not be attributed to the next.
    let event: Event = serde_json::from_str(stored.trim_end()).map_err(|error| malformed(&error, line - 1))?;
    match event.validate() {
        Ok(()) => Ok(event),
        Err(message) => Err(ParseError::Malformed { line, column: 1, message }),
    }
}

/// Checks the version first: a later one may differ in everything else.
fn check_header(value: &Value, line: usize) -> Result<(), ParseError> {
    let Some(object) = value.as_object() else {
        return Err(not_a_run(line, "it is not a JSON object"));
    };
    let Some(version) = object.get("schema_version") else {
        return Err(not_a_run(line, "it has no schema_version"));
    };
    match version.as_u64() {
        Some(found) if found > u64::from(SCHEMA_VERSION) => {
            Err(ParseError::NewerSchema { found, known: SCHEMA_VERSION })
        }
        Some(found) if found > 0 => Ok(()),
        _ => Err(not_a_run(line, &format!("schema_version is {version}"))),
    }
}

fn truncated(line: usize) -> ParseError {
    let line = line.max(1);
    ParseError::Truncated { line, whole_lines: line - 1 }
}

fn not_a_run(line: usize, reason: &str) -> ParseError {
    ParseError::NotARun { line: line.max(1), reason: reason.to_owned() }
}

/// Checks the lengths of names and texts; `first` is the number of the text's first line.
fn check_sizes(text: &str, first: usize) -> Result<(), ParseError> {
    match oversized(text) {
        Some((at, message)) => Err(ParseError::Malformed { line: line_of(text, at) + first - 1, column: 1, message }),
        None => Ok(()),
    }
}

/// Returns the number of the line with a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Finds the line of an invalid value: that of its row, if the reason begins with one.
fn invalid(text: &str, message: String) -> ParseError {
    let row = message.split_once(": ").and_then(|(row, _)| text.find(&format!("\"{row}\"")));
    ParseError::Malformed { line: row.map_or(1, |at| line_of(text, at)), column: 1, message }
}

/// `lines_before` is the number of lines before the part of the text to which the error refers.
fn malformed(error: &serde_json::Error, lines_before: usize) -> ParseError {
    let text = error.to_string();
    // The library appends a position, which here counts from another line.
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned();
    ParseError::Malformed { line: error.line().max(1) + lines_before, column: error.column().max(1), message }
}

#[cfg(test)]
mod tests;

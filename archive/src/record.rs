//! A run that is going to be added: its file as it is, and what follows from it for the tables. It reads run directories
//! and knows no database.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, bail};
use headwater_os::plain_file;
use headwater_results::parse::{ParseError, parse_events_prefix, parse_run};
use headwater_results::schema::{Event, Run, RunHeader};
use headwater_results::summary::Fold;
use sha2::{Digest, Sha256};

/// The events of a run, one per line.
const EVENTS: &str = "run.jsonl";

/// The document of a run.
const DOCUMENT: &str = "run.json";

/// The most bytes of a run's file. A launch has 1 to 5 kB.
pub const BYTES_MAX: u64 = 1 << 30;

/// Which file of a run was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `run.jsonl`: every launch with its batches.
    Events,
    /// `run.json` of a run whose events are elsewhere: an import, or a copy of the document alone.
    Document,
}

impl Form {
    /// Returns the name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Form::Events => "events",
            Form::Document => "document",
        }
    }

    /// Returns the form of that name.
    ///
    /// # Errors
    /// For another name.
    pub fn named(name: &str) -> anyhow::Result<Form> {
        let found = [Form::Events, Form::Document].into_iter().find(|form| form.name() == name);
        found.with_context(|| format!("a run in the form {name:?}, which this program does not know"))
    }
}

/// A run that can be added.
pub struct Record {
    /// The run.
    pub run: Run,
    /// Which file it is.
    pub form: Form,
    /// The file.
    pub content: Vec<u8>,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// The same for all states of a run that was continued.
    pub identity: String,
    /// The launches that have finished.
    pub launches: i64,
    /// The beginning of the run, seconds since 1970.
    pub started: i64,
}

impl Record {
    /// Reads a run: a directory, a `run.jsonl` or a `run.json`. Where events are, they are taken.
    ///
    /// # Errors
    /// The file, what is wrong with it, and the remedy; also for a run that is not whole.
    pub fn read(path: &Path) -> anyhow::Result<Record> {
        let file = file_of(path)?;
        let content = plain_file::read(&file, BYTES_MAX).with_context(|| file.display().to_string())?;
        let form =
            if file.extension().is_some_and(|extension| extension == "jsonl") { Form::Events } else { Form::Document };
        Record::of(form, content).with_context(|| file.display().to_string())
    }

    /// Checks a run's file, and computes what the tables hold of it.
    ///
    /// # Errors
    /// What is wrong with it, and the remedy.
    pub fn of(form: Form, content: Vec<u8>) -> anyhow::Result<Record> {
        let run = parsed(form, &content)?;
        let header = &run.header;
        let started = humantime::parse_rfc3339_weak(&header.started_at);
        let started = started.ok().and_then(|time| i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok());
        let started = started.with_context(|| format!("started_at is {:?}, no time", header.started_at))?;
        let launches = launches(&run);
        Ok(Record { digest: digest(&content), identity: identity(header), launches, started, form, content, run })
    }
}

/// Makes the run of a file.
fn parsed(form: Form, content: &[u8]) -> anyhow::Result<Run> {
    let text = std::str::from_utf8(content).ok();
    let text = text.context("it is damaged: not UTF-8; copy it again, or measure again")?;
    let newer = "; add it with the headwater-archive of the headwater that wrote it";
    match form {
        Form::Events => match parse_events_prefix(text) {
            (events, None) => Ok(Fold::run_of(events)?),
            (_, Some(error @ ParseError::Truncated { .. })) => {
                bail!("{error}; `headwater run --resume` mends and continues the run, then add it")
            }
            (_, Some(error @ ParseError::NewerSchema { .. })) => bail!("{error}{newer}"),
            (_, Some(error)) => bail!("{error}; a run is a directory of headwater-runs, or its {EVENTS} or {DOCUMENT}"),
        },
        Form::Document => parse_run(text).map_err(|error| match error {
            ParseError::NewerSchema { .. } => anyhow::anyhow!("{error}{newer}"),
            error => anyhow::anyhow!("{error}; a run is a directory of headwater-runs, or its {EVENTS} or {DOCUMENT}"),
        }),
    }
}

/// Returns the header of a run's file, and looks at no launch of it. `None` if there is none.
pub fn header_of(form: Form, content: &[u8]) -> Option<RunHeader> {
    match form {
        Form::Events => {
            let first = content.split(|byte| *byte == b'\n').next()?;
            match serde_json::from_slice(first).ok()? {
                Event::RunStarted(header) => Some(*header),
                _ => None,
            }
        }
        Form::Document => Some(parsed(form, content).ok()?.header),
    }
}

/// Makes the run of a file that the archive has kept, and checks that it is the file that was added.
///
/// # Errors
/// If it is another one.
pub fn restored(form: Form, content: &[u8], expected: &str) -> anyhow::Result<Run> {
    if digest(content) != expected {
        bail!("the database has damaged it: its digest is not {expected} any more; restore it from a backup");
    }
    parsed(form, content)
}

fn file_of(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_dir() {
        let found = [EVENTS, DOCUMENT].map(|name| path.join(name)).into_iter().find(|file| file.exists());
        return found.with_context(|| format!("{}: holds no run: neither {EVENTS} nor {DOCUMENT}", path.display()));
    }
    if !path.exists() {
        bail!(
            "{}: there is no such run; a run is a directory of headwater-runs, or its {EVENTS} or {DOCUMENT}",
            path.display()
        );
    }
    let events = path.with_file_name(EVENTS);
    let is_document = path.file_name().is_some_and(|name| name == DOCUMENT);
    Ok(if is_document && events.exists() { events } else { path.to_owned() })
}

/// Returns the runs that a typed name means: itself, or those in a directory that is none.
///
/// # Errors
/// For a directory without runs.
pub fn find(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_run = |path: &Path| [EVENTS, DOCUMENT].iter().any(|name| path.join(name).exists());
    if !path.is_dir() || is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    if found.is_empty() {
        bail!("{}: holds no run, nor does a directory in it", path.display());
    }
    found.sort();
    Ok(found)
}

/// Whether a run has ended, so that it can be added; a run that was interrupted has.
///
/// # Errors
/// If it cannot be read.
pub fn is_over(path: &Path) -> anyhow::Result<bool> {
    let file = file_of(path)?;
    let text = plain_file::read_text(&file, BYTES_MAX).with_context(|| file.display().to_string())?;
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let is_event = file.extension().is_some_and(|extension| extension == "jsonl");
    Ok(!is_event || matches!(serde_json::from_str(last), Ok(Event::RunFinished { .. })))
}

/// Returns SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns what a run keeps when it is continued, and in either form.
fn identity(header: &RunHeader) -> String {
    let fingerprint = header.program.as_ref().map(|program| &program.fingerprint);
    let host = &header.environment.host;
    let kept = (&header.run_id, &header.started_at, host, header.settings.seed, fingerprint);
    digest(&serde_json::to_vec(&kept).expect("plain data"))
}

/// Returns the number of launches of a run: of rows without a figure of their own, those of any metric.
fn launches(run: &Run) -> i64 {
    let of_row = |result: &headwater_results::schema::RowResult| {
        result.metrics.iter().map(|metric| metric.launches.len()).max().unwrap_or(0) as i64
    };
    run.results.iter().map(of_row).sum()
}

//! The noise record of a machine: what `noise` found out, kept beside the runs, and read by `compare`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use headwater_results::compare::noise::{Assessment, Drift};
use serde::{Deserialize, Serialize};

use crate::replace::replace;

/// What identical code showed on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// The run's name.
    pub run: String,
    /// What identical rows showed in the same blocks.
    pub assessment: Assessment,
    /// The drift to expect between runs that are made one after the other.
    pub apart: Drift,
}

/// The record of `host` in the directory of runs.
pub fn path(runs: &Path, host: &str) -> PathBuf {
    // A host name may hold anything; a file name may not.
    let safe = |character: char| if character.is_alphanumeric() || "-_.".contains(character) { character } else { '_' };
    runs.join(format!("noise-{}.json", host.chars().map(safe).collect::<String>()))
}

/// Reads a record.
///
/// # Errors
/// One line that names the file and what is wrong with it.
pub fn read(path: &Path) -> anyhow::Result<Record> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not a noise record (`headwater noise` makes one)", path.display()))
}

/// Writes a record in the place of an older one.
///
/// # Errors
/// Where the directory cannot be written.
pub fn write(path: &Path, record: &Record) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(record)? + "\n";
    replace(path, |file| file.write_all(text.as_bytes())).with_context(|| path.display().to_string())
}

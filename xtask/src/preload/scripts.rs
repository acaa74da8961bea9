//! Compares what scripts print, their status and the files that they leave. Called by `preload`.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::{Options, program};
use crate::shell;

/// All that is seen of a run.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Standard output and standard error, as they came.
    lines: Vec<String>,
    status: String,
    /// Names and sizes, sorted.
    files: Vec<String>,
}

/// Runs each script twice without the library and once with it. Returns the differences.
///
/// # Errors
/// If a script cannot be run, or two runs without the library differ.
pub fn compare(options: &Options, library: &Path) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for name in ["coreutils", "shell", "git"] {
        if !options.has(name) {
            continue;
        }
        let script = shell::root().join(format!("crates/capi/tests/foreign/{name}.sh"));
        let plain = run(&script, None)?;
        let again = run(&script, None)?;
        ensure!(
            plain == again,
            "{name}.sh does not print the same twice without the library: {:?}",
            first(&plain, &again)
        );
        let preloaded = run(&script, Some(library))?;
        println!("{name}.sh: {} lines, {}, {} files", plain.lines.len(), plain.status, plain.files.len());
        if plain != preloaded {
            differences.push(format!("{name}.sh: {}", first(&plain, &preloaded)));
        }
    }
    Ok(differences)
}

fn run(script: &Path, library: Option<&Path>) -> Result<Seen> {
    let directory = tempfile::tempdir()?;
    let place = directory.path().join("work");
    fs::create_dir(&place)?;
    let log = directory.path().join("log");
    let output = File::create(&log)?;
    let status = program(library, &[Path::new("bash"), script])
        .current_dir(&place)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .context("timeout")?;
    // Two runs have two directories.
    let text = String::from_utf8_lossy(&fs::read(&log)?).replace(&*place.to_string_lossy(), "/work");
    let mut files = Vec::new();
    for entry in fs::read_dir(&place)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        let len = if kind.is_file() { kind.len() } else { 0 };
        files.push(format!("{} {len}", entry.file_name().to_string_lossy()));
    }
    files.sort();
    Ok(Seen { lines: text.lines().map(str::to_owned).collect(), status: status.to_string(), files })
}

/// The first difference.
fn first(one: &Seen, other: &Seen) -> String {
    if let Some(at) = (0..one.lines.len().max(other.lines.len())).find(|at| one.lines.get(*at) != other.lines.get(*at))
    {
        let line = |seen: &Seen| seen.lines.get(at).cloned().unwrap_or_else(|| "the end".into());
        return format!("line {}: without: {}; with: {}", at + 1, line(one), line(other));
    }
    if one.status != other.status {
        return format!("without: {}; with: {}", one.status, other.status);
    }
    format!("files without: {:?}; with: {:?}", one.files, other.files)
}

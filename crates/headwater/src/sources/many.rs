//! Finds the runs of a history: run directories and files, directories full of them, and patterns. Called by `history`.
//!
//! A run that cannot be read is named with its reason, and the others go on. One run is in memory at a time.

use std::collections::hash_map::{Entry, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use headwater_results::history::Left;
use headwater_results::schema::Run;
use headwater_trace_tools::names::glob;

use crate::store::{DOCUMENT, EVENTS, RUNS};

/// Returns the names of the runs that `names` mean, each of which [`super::load`] can read: a directory of runs means
/// those in it, and `*` and `?` in the last part of a path stand for any characters. Without a name they are the runs of
/// [`RUNS`].
///
/// # Errors
/// For a directory without runs, and a pattern that matches nothing.
pub fn find<S: AsRef<str>>(names: &[S]) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let usual = [RUNS];
    let names: Vec<&str> = if names.is_empty() { usual.into() } else { names.iter().map(AsRef::as_ref).collect() };
    for name in names {
        let path = Path::new(name);
        if name.starts_with(super::archive::PREFIX) {
            found.push(name.to_owned());
        } else if path.is_dir() && !is_run(path) {
            let inner = runs_in(path, "*")?;
            if inner.is_empty() {
                bail!(
                    "{name}: holds no run, nor does a directory in it; `headwater run -o {name}/NAME` makes one there"
                );
            }
            found.extend(inner);
        } else if !path.exists() && name.contains(['*', '?']) {
            let pattern = path.file_name().map(|pattern| pattern.to_string_lossy().into_owned()).unwrap_or_default();
            let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            let inner = runs_in(parent, &pattern)?;
            if inner.is_empty() {
                bail!("{name}: no run has such a name");
            }
            found.extend(inner);
        } else {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

fn is_run(directory: &Path) -> bool {
    [DOCUMENT, EVENTS].iter().any(|name| directory.join(name).exists())
}

/// Returns the runs in a directory whose names match the pattern, by name.
fn runs_in(directory: &Path, pattern: &str) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| is_run(&entry.path()) && glob(pattern, &entry.file_name().to_string_lossy()))
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Reads the runs one after the other and hands each with its display name to `take`. Returns how many were read, and
/// those that could not be, or that are one of the others, with the reason.
pub fn each(names: &[String], mut take: impl FnMut(&str, &Run)) -> (usize, Vec<Left>) {
    let mut left = Vec::new();
    let mut known: HashMap<String, String> = HashMap::new();
    let left_out = |name: &str, reason: String| Left { run: name.to_owned(), row: String::new(), reason };
    for name in names {
        let unread = match super::read(name) {
            Ok((runs, None)) => Ok(runs),
            // Rows of a torn run may have too few launches to stand beside the others.
            Ok((_, Some(torn))) => Err(torn),
            Err(error) => Err(format!("{error:#}")),
        };
        let runs = match unread {
            Ok(runs) => runs,
            Err(reason) => {
                // The name stands before the reason already.
                let reason = reason.strip_prefix(&format!("{name}: ")).unwrap_or(&reason).to_owned();
                left.push(left_out(name, reason));
                continue;
            }
        };
        for (name, run) in runs {
            match known.entry(run.header.identity()) {
                Entry::Occupied(first) => left.push(left_out(&name, format!("the same run as {}", first.get()))),
                Entry::Vacant(place) => {
                    place.insert(name.clone());
                    take(&name, &run);
                }
            }
        }
    }
    (known.len(), left)
}

#[cfg(test)]
mod tests;

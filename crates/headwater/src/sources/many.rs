//! Finds many runs and reads their figures: run directories and files, directories full of them, patterns, and queries of an
//! archive. Called by `history` and by comparisons over hosts.
//!
//! A run that cannot be read is named with its reason, and the others go on. One run is in memory at a time.

use std::collections::hash_map::{Entry, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use headwater_results::history::{Beside, Left, own_figure};
use headwater_results::origin::Origin;
use headwater_results::schema::{MetricResult, Row};
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

/// The figures of many runs, as they are read.
#[derive(Debug, Default)]
pub struct Reading {
    /// How many runs have been read.
    pub runs: usize,
    /// The runs that could not be read, or that are one of the others, with the reason.
    pub left_out: Vec<Left>,
    /// The runs that have none of the rows; of an archive they are not known.
    pub without_rows: Vec<Left>,
    /// The figures of the rows that are not kept, if they are wanted; of an archive they are not read.
    pub beside: Option<Beside>,
    /// The display name of each run, by what tells it from all others.
    known: HashMap<String, String>,
}

/// A row of a run.
pub struct Figure<'a> {
    /// The number of the run among those that were read, from 0.
    pub run: usize,
    /// The run.
    pub origin: &'a Arc<Origin>,
    /// The row.
    pub row: Arc<Row>,
    /// Its own figure, or the reason for which it has none.
    pub figure: Result<MetricResult, String>,
}

impl Reading {
    /// Returns a reading that collects the figures of rows that are not kept as well.
    pub fn with_beside() -> Reading {
        Reading { beside: Some(Beside::default()), ..Reading::default() }
    }

    /// Reads runs one after the other and hands the rows that `keep` accepts to `take`. Of an archive, `keep` sees the rows of all
    /// runs, and only figures are read.
    ///
    /// # Errors
    /// What the archive's program says. A run that cannot be read is left out.
    pub fn read(
        &mut self,
        names: &[String],
        mut keep: impl FnMut(&Row) -> bool,
        mut take: impl FnMut(Figure<'_>),
    ) -> anyhow::Result<()> {
        for name in names {
            if let Some(query) = name.strip_prefix(super::archive::PREFIX) {
                self.archived(query, &mut keep, &mut take)?;
            } else {
                self.stored(name, &mut keep, &mut take);
            }
        }
        Ok(())
    }

    fn archived(
        &mut self,
        query: &str,
        keep: impl FnMut(&Row) -> bool,
        take: &mut impl FnMut(Figure<'_>),
    ) -> anyhow::Result<()> {
        let mut numbers: HashMap<i64, Option<usize>> = HashMap::new();
        super::archive::figures(query, keep, |found| {
            let number = *numbers.entry(found.run).or_insert_with(|| self.number(&found.origin));
            let Some(run) = number else { return };
            take(Figure { run, origin: &found.origin, row: found.row, figure: found.figure });
        })
    }

    fn stored(&mut self, name: &str, keep: &mut impl FnMut(&Row) -> bool, take: &mut impl FnMut(Figure<'_>)) {
        let left_out = |name: &str, reason: String| Left { run: name.to_owned(), row: String::new(), reason };
        let unread = match super::read(name) {
            Ok(super::Found { runs, torn: None, .. }) => Ok(runs),
            // Rows of a torn run may have too few launches to stand beside the others.
            Ok(super::Found { torn: Some(torn), .. }) => Err(torn),
            Err(error) => Err(format!("{error:#}")),
        };
        let runs = match unread {
            Ok(runs) => runs,
            Err(reason) => {
                // The name stands before the reason already.
                let reason = reason.strip_prefix(&format!("{name}: ")).unwrap_or(&reason).to_owned();
                return self.left_out.push(left_out(name, reason));
            }
        };
        for (name, run) in runs {
            let origin = Arc::new(Origin::of(&name, &run));
            let Some(number) = self.number(&origin) else { continue };
            let mut kept = 0;
            for result in run.results {
                let figure = own_figure(&result);
                if !keep(&result.row) {
                    if let (Some(beside), Ok(figure)) = (&mut self.beside, figure) {
                        beside.add(&origin, &result.row.id, result.row.definition_version, figure);
                    }
                    continue;
                }
                kept += 1;
                let figure = figure.cloned();
                take(Figure { run: number, origin: &origin, row: Arc::new(result.row), figure });
            }
            if kept == 0 {
                self.without_rows.push(left_out(&name, "it has no such row".to_owned()));
            }
        }
    }

    /// Returns the number of a run; `None` if it is one of the others.
    fn number(&mut self, origin: &Origin) -> Option<usize> {
        match self.known.entry(origin.identity()) {
            Entry::Occupied(first) => {
                let reason = format!("the same run as {}", first.get());
                self.left_out.push(Left { run: origin.run.clone(), row: String::new(), reason });
                None
            }
            Entry::Vacant(place) => {
                place.insert(origin.run.clone());
                self.runs += 1;
                Some(self.runs - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests;

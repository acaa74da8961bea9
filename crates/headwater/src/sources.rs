//! Finds runs by the names that the user types. Called by every subcommand that reads runs.
//!
//! A name is a run directory, a `run.json` or `run.jsonl`, `-` for a `run.json` on standard input, `archive:QUERY` or
//! `published:TABLE[/DATASET]`. It writes nothing.

use std::io::{Read, stdin};
use std::path::{Component, Path};

use anyhow::{Context, anyhow};
use headwater_gauge::plan::suggest;
use headwater_results::parse::parse_run;
use headwater_results::published::{self, PREFIX};
use headwater_results::schema::Run;

use crate::store;

pub mod archive;
pub mod many;

/// Runs with their display names.
pub type Named = Vec<(String, Run)>;

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

/// Returns the runs of `name`, each with its display name: one for a file or directory, all datasets of a published
/// table, all runs of a query.
///
/// # Errors
/// One line that names the file or table, the problem, and the remedy; for an unknown published table the nearest
/// names.
pub fn load(name: &str) -> anyhow::Result<Named> {
    Ok(read(name)?.runs)
}

/// The runs of a name.
struct Found {
    runs: Named,
    /// What could not be read, in one line.
    torn: Option<String>,
    /// Why another user may have written them: [`store::Stored::foreign`].
    foreign: Option<String>,
}

/// As [`load`], with what is known of the runs.
fn read(name: &str) -> anyhow::Result<Found> {
    let of_others = |runs, foreign: &str| Ok(Found { runs, torn: None, foreign: Some(foreign.to_owned()) });
    if let Some(wanted) = name.strip_prefix(PREFIX) {
        return of_others(load_published(wanted)?, "it is of a published report");
    }
    if let Some(query) = name.strip_prefix(archive::PREFIX) {
        return of_others(archive::runs(query)?, "it comes out of an archive, to which other users may add");
    }
    if name == STANDARD_INPUT {
        let mut text = String::new();
        stdin().lock().take(store::BYTES_MAX).read_to_string(&mut text).context("standard input")?;
        let run = parse_run(&text)
            .map_err(|error| anyhow!("standard input: {error}; it takes one run.json (`headwater show RUN --json`)"))?;
        return of_others(vec![(run.header.run_id.clone(), run)], "it comes from standard input");
    }
    let path = Path::new(name);
    if !path.exists() && name.split('/').next().is_some_and(|table| published::find(table).is_some()) {
        return Err(anyhow!("{name}: no such file or directory; did you mean {PREFIX}{name}?"));
    }
    let store::Stored { run, torn, foreign } = store::read(path)?;
    Ok(Found { runs: vec![(name_of(path, &run), run)], torn, foreign })
}

/// Several runs with unique display names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The runs with their display names, in the order of the typed names.
    pub runs: Vec<(String, Run)>,
    /// The typed name of each run.
    typed: Vec<String>,
    /// Lines about what of the runs could not be read.
    pub torn: Vec<String>,
    /// Why other users may have written some of them, see [`store::Stored::foreign`].
    pub foreign: Option<String>,
}

impl Loaded {
    /// Returns the display name of the run that was typed as `wanted`, or else has that display name; the first of a
    /// published table.
    pub fn name_of(&self, wanted: &str) -> Option<&str> {
        // A shell completes the name of a directory with a slash.
        let wanted = wanted.trim_end_matches('/');
        let typed = self.typed.iter().position(|typed| typed.trim_end_matches('/') == wanted);
        let at = typed.or_else(|| self.runs.iter().position(|(name, _)| name == wanted))?;
        Some(&self.runs[at].0)
    }

    /// Returns the typed name of each run.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.typed.iter().map(String::as_str)
    }
}

/// Reads all runs of several names, in their order. A run with a name that is already taken gets a number appended.
///
/// # Errors
/// As [`load`], for the first that fails.
pub fn load_all<S: AsRef<str> + Sync>(names: &[S]) -> anyhow::Result<Loaded> {
    // A large run takes a second to read.
    let read = std::thread::scope(|scope| {
        let reading: Vec<_> = names.iter().map(|name| scope.spawn(move || read(name.as_ref()))).collect();
        let read = reading.into_iter().map(|thread| thread.join().expect("reading does not panic"));
        read.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut loaded = Loaded { runs: Vec::new(), typed: Vec::new(), torn: Vec::new(), foreign: None };
    for (typed, Found { runs, torn, foreign }) in names.iter().zip(read) {
        loaded.torn.extend(torn);
        loaded.foreign = loaded.foreign.or(foreign);
        for (name, run) in runs {
            loaded.typed.push(typed.as_ref().to_owned());
            let name = unique(name, &loaded.runs);
            loaded.runs.push((name, run));
        }
    }
    Ok(loaded)
}

/// Returns the name, with a number if another run has the same.
fn unique(name: String, runs: &[(String, Run)]) -> String {
    let is_taken = |name: &str| runs.iter().any(|(other, _)| other == name);
    if !is_taken(&name) {
        return name;
    }
    (2..).map(|number| format!("{name} ({number})")).find(|name| !is_taken(name)).unwrap_or(name)
}

/// `TABLE` or `TABLE/DATASET`.
fn load_published(wanted: &str) -> anyhow::Result<Named> {
    const REMEDY: &str = "`headwater list published` shows all";
    let (table_name, dataset_name) = match wanted.split_once('/') {
        Some((table, dataset)) => (table, Some(dataset)),
        None => (wanted, None),
    };
    let Some(table) = published::find(table_name) else {
        let near = suggest::did_you_mean(table_name, published::tables().iter().map(|table| table.name));
        return Err(anyhow!("{PREFIX}{wanted}: no published table {table_name:?}{near} ({REMEDY})"));
    };
    let datasets = table.datasets();
    let names: Vec<String> = datasets.iter().map(|dataset| dataset.name.clone()).collect();
    let found: Vec<(String, Run)> = datasets
        .into_iter()
        .filter(|dataset| dataset_name.is_none_or(|name| name == dataset.name))
        .map(|dataset| (dataset.run.header.run_id.clone(), dataset.run))
        .collect();
    if found.is_empty() {
        let near = suggest::did_you_mean(dataset_name.unwrap_or(""), names.iter().map(String::as_str));
        let near = if near.is_empty() { format!("; it has {}", names.join(", ")) } else { near };
        return Err(anyhow!(
            "{PREFIX}{wanted}: table {table_name} has no dataset {:?}{near} ({REMEDY})",
            dataset_name.unwrap_or("")
        ));
    }
    Ok(found)
}

/// Returns the display name of a run: the name of its directory, the stem of its file, or its id.
fn name_of(path: &Path, run: &Run) -> String {
    let is_usual = |name: &str| name == store::DOCUMENT || name == store::EVENTS;
    let own_name = |path: &Path| match path.components().next_back() {
        Some(Component::Normal(name)) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    };
    let file = own_name(path);
    let name = match file {
        Some(name) if path.is_file() && is_usual(&name) => path.parent().and_then(own_name),
        Some(_) if path.is_file() => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        other => other,
    };
    name.unwrap_or_else(|| run.header.run_id.clone())
}

#[cfg(test)]
mod tests;

//! Where runs come from: a name on the command line to runs. Called by every subcommand that reads runs.
//!
//! A name is a run directory, a `run.json` or `run.jsonl`, `-` for a `run.json` on standard input, or
//! `published:TABLE[/DATASET]`. It writes nothing.

use std::io::{Read, stdin};
use std::path::{Component, Path};

use anyhow::{Context, anyhow};
use headwater_results::parse::parse_run;
use headwater_results::published::{self, PREFIX};
use headwater_results::schema::Run;

use crate::plan::suggest;
use crate::store;

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The runs behind `name`, each with what to call it: one for a file or directory, all datasets of a published table.
///
/// # Errors
/// One line that names the file or table, what is wrong with it, and the remedy; the nearest names for a published one
/// that does not exist.
pub fn load(name: &str) -> anyhow::Result<Vec<(String, Run)>> {
    if let Some(wanted) = name.strip_prefix(PREFIX) {
        return load_published(wanted);
    }
    if name == STANDARD_INPUT {
        let mut text = String::new();
        stdin().lock().read_to_string(&mut text).context("standard input")?;
        let run = parse_run(&text)
            .map_err(|error| anyhow!("standard input: {error}; it takes one run.json (`headwater show RUN --json`)"))?;
        return Ok(vec![(run.header.run_id.clone(), run)]);
    }
    let path = Path::new(name);
    if !path.exists() && name.split('/').next().is_some_and(|table| published::find(table).is_some()) {
        return Err(anyhow!("{name}: no such file or directory; did you mean {PREFIX}{name}?"));
    }
    let run = store::read(path)?;
    Ok(vec![(name_of(path, &run), run)])
}

/// All of several names, in their order.
///
/// # Errors
/// As [`load`], for the first that fails.
pub fn load_all<S: AsRef<str> + Sync>(names: &[S]) -> anyhow::Result<Vec<(String, Run)>> {
    // A large run takes a second to read.
    let runs = std::thread::scope(|scope| {
        let reading: Vec<_> = names.iter().map(|name| scope.spawn(move || load(name.as_ref()))).collect();
        let read = reading.into_iter().map(|thread| thread.join().expect("reading does not panic"));
        read.collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(runs.into_iter().flatten().collect())
}

/// `TABLE` or `TABLE/DATASET`.
fn load_published(wanted: &str) -> anyhow::Result<Vec<(String, Run)>> {
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

/// What to call a run: its directory's name, the stem of a file with a name of its own, or else its id.
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

//! `headwater archive add`: adds runs, and what the spool has.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use headwater_results::foreign::line;

use super::{ERROR, say};
use crate::archive::{Added, Adder};
use crate::place::Place;
use crate::record::{self, Record};
use crate::spool::{Marker, Spool, absolute};

/// Add runs; those that are there already are left alone
///
/// A run that was continued since (run --resume) takes the place of its earlier state. A run is added whole or not at all.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive add headwater-runs/2026-11-21T20-15-00Z-host
  headwater archive add headwater-runs        all runs in a directory
  headwater archive add --spooled             what could not be added before")]
pub struct AddArguments {
    /// Run directories, run.jsonl or run.json files, directories of runs
    #[arg(value_name = "RUN", required_unless_present = "spooled")]
    runs: Vec<PathBuf>,

    /// Add also the runs of the spool: those of `headwater run --archive` that could not be added
    #[arg(long)]
    spooled: bool,

    /// If a run cannot be added now, leave it in the spool
    #[arg(long)]
    spool: bool,

    /// Print nothing about runs that are added
    #[arg(short, long)]
    quiet: bool,
}

pub fn add(place: &Place, arguments: &AddArguments) -> anyhow::Result<u8> {
    let mut paths = Vec::new();
    for run in &arguments.runs {
        paths.extend(record::find(run)?);
    }
    let markers = match arguments.spool {
        true => paths.iter().map(|path| marker(place, path).map(Some)).collect::<anyhow::Result<Vec<_>>>()?,
        false => vec![None; paths.len()],
    };
    let spool = Spool::usual();
    if let (true, Ok(spool)) = (arguments.spool, &spool) {
        markers.iter().flatten().try_for_each(|marker| spool.put(marker))?;
    }
    let mut failed = 0;
    let mut adder = Adder::new(place.clone());
    for (path, marker) in paths.iter().zip(&markers) {
        match Record::read(path).and_then(|record| adder.add(&record)) {
            Ok(added) => {
                if !arguments.quiet {
                    writeln!(std::io::stdout().lock(), "{}: {}", line(&path.display().to_string()), words(added))?;
                }
                if let (Some(marker), Ok(spool)) = (marker, &spool) {
                    spool.remove(marker)?;
                }
            }
            Err(error) => {
                failed += 1;
                let remedy = if marker.is_some() {
                    "; it is spooled, and the next `headwater archive add --spooled` or `run --archive` adds it"
                } else {
                    ""
                };
                say(&format!("not added: {}{remedy}", super::in_words(&error)));
            }
        }
    }
    // One that cannot be reached is not asked again for each run.
    if (arguments.spooled || arguments.spool) && failed == 0 {
        failed += spooled(&spool?, arguments)?;
    }
    Ok(if failed == 0 { 0 } else { ERROR })
}

fn words(added: Added) -> &'static str {
    match added {
        Added::New => "added",
        Added::Continued => "added, in place of its earlier state",
        Added::Already => "was there already",
    }
}

/// How long a run whose directory is not there may be one that is about to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(3600);

/// Adds the runs of the spool, and returns how many could not be added.
fn spooled(spool: &Spool, arguments: &AddArguments) -> anyhow::Result<u32> {
    // Another process adds them now: what it does not reach is added by the next call.
    let Some(_claim) = spool.claim() else { return Ok(0) };
    let (markers, others) = spool.markers()?;
    for other in others {
        say(&format!("{}: is no marker of a run; remove it", other.display()));
    }
    let mut failed = 0;
    for marker in markers {
        if !marker.run.exists() {
            if spool.age(&marker)? > BEGINS_WITHIN {
                say(&format!("{}: the run is gone, so it is not added", marker.run.display()));
                spool.remove(&marker)?;
            }
            continue;
        }
        if !record::is_over(&marker.run).unwrap_or(true) {
            if arguments.spooled {
                say(&format!(
                    "{}: has not ended; it is added when it has, `headwater run --resume` continues it",
                    marker.run.display()
                ));
            }
            continue;
        }
        let added =
            Place::of(Some(&marker.archive)).and_then(|place| Adder::new(place).add(&Record::read(&marker.run)?));
        match added {
            Ok(added) => {
                spool.remove(&marker)?;
                if !arguments.quiet {
                    writeln!(
                        std::io::stdout().lock(),
                        "{}: {}",
                        line(&marker.run.display().to_string()),
                        words(added)
                    )?;
                }
            }
            Err(error) => {
                failed += 1;
                say(&format!("not added, and still spooled: {}", super::in_words(&error)));
            }
        }
    }
    Ok(failed)
}

fn marker(place: &Place, run: &Path) -> anyhow::Result<Marker> {
    Ok(Marker { archive: place.absolute()?, run: absolute(run)? })
}

/// Writes the marker of a run that begins now.
pub fn spool(place: &Place, run: &Path) -> anyhow::Result<u8> {
    if run.as_os_str().is_empty() {
        bail!("name the run's directory");
    }
    Spool::usual()?.put(&marker(place, run)?)?;
    Ok(0)
}

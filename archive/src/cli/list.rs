//! `headwater archive list`: which runs there are.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::SystemTime;

use clap::Args;
use headwater_results::foreign::{line, printable};
use serde::Serialize;

use crate::archive::{self, short};
use crate::place::Place;
use crate::query::{Head, Query, heads, labels};

/// List the runs that a query means, the oldest first
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive list                         all runs
  headwater archive list kernel=6.18,last=20     the newest of a kernel
  headwater archive list commit=1a2b3c           those with a label
  headwater archive list since=1d --json | jq -r .host | sort -u")]
pub struct ListArguments {
    /// Which runs, for example host=a,since=7d [default: all]
    #[arg(value_name = "QUERY")]
    query: Option<String>,

    /// Also earlier states of runs that were continued
    #[arg(long)]
    all: bool,

    /// Print one JSON object per run
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    digest: &'a str,
    form: &'a str,
    bytes: i64,
    started_at: &'a str,
    added_at: &'a str,
    host: &'a str,
    cpu: &'a str,
    cpus: i64,
    kernel: &'a str,
    program: &'a str,
    status: &'a str,
    launches: i64,
    labels: BTreeMap<&'a str, &'a str>,
}

/// Takes the query's prefix off, which a user may type here too.
pub fn parsed(query: &str) -> anyhow::Result<Query> {
    Query::parse(query.strip_prefix("archive:").unwrap_or(query), SystemTime::now())
}

pub fn list(place: &Place, arguments: &ListArguments) -> anyhow::Result<u8> {
    let mut query = parsed(arguments.query.as_deref().unwrap_or_default())?;
    query.all_states = arguments.all;
    let mut database = archive::open(place, false)?;
    let heads = heads(database.as_mut(), &query)?;
    let labels = labels(database.as_mut(), &query)?;
    let of = |id: i64| {
        labels.iter().filter(move |(run, ..)| *run == id).map(|(_, name, value)| (name.as_str(), value.as_str()))
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        for head in &heads {
            writeln!(out, "{}", printable(&serde_json::to_string(&line_of(head, of(head.id).collect()))?))?;
        }
        return Ok(0);
    }
    let table: Vec<[String; 7]> = heads
        .iter()
        .map(|head| {
            let labels: Vec<String> = of(head.id).map(|(name, value)| format!("{name}={value}")).collect();
            [
                short(&head.digest).to_owned(),
                line(&head.started_at).into_owned(),
                line(&head.host).into_owned(),
                line(&head.kernel).into_owned(),
                head.launches.to_string(),
                line(&head.status).into_owned(),
                line(&format!("{} {}", head.run_id, labels.join(" "))).trim_end().to_owned(),
            ]
        })
        .collect();
    const HEADINGS: [&str; 7] = ["DIGEST", "STARTED", "HOST", "KERNEL", "LAUNCHES", "STATUS", "RUN"];
    let width =
        |column: usize| table.iter().map(|row| row[column].chars().count()).chain([HEADINGS[column].len()]).max();
    // A width has a limit, and names in a database may have been made by others.
    const WIDTH_MAX: usize = 200;
    let widths: Vec<usize> = (0..HEADINGS.len()).filter_map(width).map(|width| width.min(WIDTH_MAX)).collect();
    if !table.is_empty() {
        writeln!(out, "{}", row(&HEADINGS.map(str::to_owned), &widths))?;
    }
    for cells in &table {
        writeln!(out, "{}", row(cells, &widths))?;
    }
    let runs = if heads.len() == 1 { "run" } else { "runs" };
    writeln!(out, "{} {runs} in {}", heads.len(), line(&place.to_string()))?;
    Ok(0)
}

fn row(cells: &[String; 7], widths: &[usize]) -> String {
    let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    cells.join("  ").trim_end().to_owned()
}

fn line_of<'a>(head: &'a Head, labels: BTreeMap<&'a str, &'a str>) -> Line<'a> {
    Line {
        run: &head.run_id,
        digest: &head.digest,
        form: head.form.name(),
        bytes: head.bytes,
        started_at: &head.started_at,
        added_at: &head.added_at,
        host: &head.host,
        cpu: &head.cpu,
        cpus: head.cpus,
        kernel: &head.kernel,
        program: &head.program,
        status: &head.status,
        launches: head.launches,
        labels,
    }
}

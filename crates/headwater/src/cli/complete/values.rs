//! The values of options and operands: names from the tables of the program, runs and recordings from the file system. Which
//! list a value has follows from the name of its placeholder, or of its option.

use headwater_gauge::plan::selection::{self, SUITE};
use headwater_gauge::suites::{self, Axes, Suite};
use headwater_gauge::{facilities, patterns, transports};
use headwater_results::sorting::Arrange;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::Arg;
use headwater_report::{chart, export};
use headwater_results::compare::factor;
use headwater_results::history::By;
use headwater_results::published::{self, PREFIX};
use headwater_results::schema::{Placement, Row};
use headwater_streams::{inspect, known_drivers, known_modules};

use super::Candidate;
use crate::overhead::{arms, workloads};
use crate::sources::archive;
use crate::store::{DOCUMENT, EVENTS, RUNS};
use crate::{import, trace};

/// Whether names of files are possible too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Files {
    #[default]
    None,
    All,
    Directories,
}

/// What a word can become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    pub words: Vec<Candidate>,
    pub files: Files,
}

/// What was typed before.
pub(super) struct Context<'a> {
    /// The subcommand.
    pub command: &'a str,
    /// Its operands so far.
    pub operands: &'a [&'a str],
}

/// Returns the values of `argument` that begin with `typed`, the beginning of the word.
pub(super) fn of(argument: &Arg, context: &Context<'_>, typed: &str) -> Values {
    // Of several values with commas the last one is completed.
    let at = argument.get_value_delimiter().and_then(|comma| typed.rfind(comma)).map_or(0, |at| at + 1);
    let (before, typed) = typed.split_at(at);
    let mut values = all(argument, context, typed);
    let taken: Vec<&str> = before.split(',').collect();
    values.words.retain(|candidate| candidate.value.starts_with(typed) && !taken.contains(&candidate.value.as_str()));
    for candidate in &mut values.words {
        candidate.value.insert_str(0, before);
    }
    values
}

fn all(argument: &Arg, context: &Context<'_>, typed: &str) -> Values {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let help = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
        return words(possible.iter().map(|value| Candidate::new(value.get_name(), help(value))));
    }
    let placeholder = argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    match (argument.get_long().unwrap_or_default(), placeholder) {
        ("resume", _) => Values { words: runs(typed), files: Files::None },
        ("baseline", _) => words(sides(context)),
        ("configs", _) => words(arms::TABLE.iter().map(|arm| Candidate::new(arm.name, arm.summary))),
        ("kernel", _) => words(named(trace::view::kernel_events(&[]).unwrap_or_default())),
        ("module", _) => words(named(known_modules())),
        ("driver" | "major", _) => words(named(known_drivers())),
        ("with", _) => words(named(known_modules().into_iter().chain(known_drivers()))),
        ("test", _) => words(named(["UDP_STREAM", "UDP_RR", "TCP_STREAM", "TCP_RR"])),
        (_, "SUITE|FILTER") => words(selection(context, typed)),
        ("by", "PROPERTY") => {
            let known = By::NAMED.iter().map(|(name, summary, _)| Candidate::new(*name, *summary));
            words(known.chain([Candidate::new("commit", "a label of the runs")]))
        }
        ("over", _) => words(named(["host", "name"])),
        (_, "FILTER" | "ROW") => words(rows(&all_suites(), typed)),
        (_, "PLACEMENT") => {
            words(named([Placement::SameCpu, Placement::TwoCpus, Placement::Free].map(Placement::name)))
        }
        (_, "RUN") => Values {
            words: runs(typed).into_iter().chain(published(typed)).chain(archived(typed)).collect(),
            files: Files::All,
        },
        (_, "ARCHIVE-COMMAND") if context.operands.is_empty() => {
            words(archive::COMMANDS.iter().map(|(name, summary)| Candidate::new(*name, *summary)))
        }
        (_, "ARCHIVE-COMMAND") => Values { words: runs(typed), files: Files::All },
        (_, "FORMAT") if context.command == "import" => {
            words(import::TABLE.iter().map(|format| Candidate::new(format.name, format.summary)))
        }
        (_, "FORMAT") => words(export::TABLE.iter().map(|format| Candidate::new(format.name, format.summary))),
        (_, "CHART") => words(named(chart::TABLE.iter().map(|chart| chart.name))),
        (_, "PATTERN") => {
            words(patterns::TABLE.iter().map(|entry| Candidate::new(entry.info.name, entry.info.summary)))
        }
        (_, "FACTOR") => words(factor::TABLE.iter().map(|factor| Candidate::new(factor.name.clone(), factor.summary))),
        (_, "WHAT") => words(named(["regression", "regression:5%", "improvement:100%", "never"])),
        (_, "CLOCK") => words(named(["tsc", "monotonic"])),
        (_, "WORKLOAD") => words(named(workloads::BUILT_IN)),
        (_, "STREAM") => words(streams()),
        (_, "DIR") => Values { files: Files::Directories, ..Values::default() },
        (_, "FILE" | "DIR|FILE" | "PATH" | "PLACE" | "CMD" | "COMMAND") => {
            Values { files: Files::All, ..Values::default() }
        }
        _ => Values::default(),
    }
}

fn words(words: impl IntoIterator<Item = Candidate>) -> Values {
    Values { words: words.into_iter().collect(), files: Files::None }
}

fn named<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Vec<Candidate> {
    names.into_iter().map(|name| Candidate::new(name, "")).collect()
}

fn all_suites() -> Vec<&'static Suite> {
    suites::TABLE.iter().collect()
}

/// Suites, and the rows of those that were typed; where none was, of all.
fn selection(context: &Context<'_>, typed: &str) -> Vec<Candidate> {
    let find = |word: &&str| suites::find(word.strip_prefix(SUITE).unwrap_or(word));
    let chosen: Vec<&'static Suite> = context.operands.iter().filter_map(find).collect();
    let suites = suites::TABLE.iter().map(|suite| Candidate::new(suite.name, format!("suite: {}", suite.summary)));
    let doubtful = selection::doubtful().into_iter().flat_map(|(suite, other)| [suite, other]);
    let mut words: Vec<Candidate> = suites.chain(named(doubtful)).collect();
    if context.command == "list" && context.operands.is_empty() {
        words.push(Candidate::new("published", "the tables of reports"));
    }
    let of = if chosen.is_empty() { all_suites() } else { chosen };
    let mut known: BTreeSet<String> = words.iter().map(|word| word.value.clone()).collect();
    words.extend(rows(&of, typed).into_iter().filter(|row| known.insert(row.value.clone())));
    words
}

/// The parts of rows' names: without a slash the transports, patterns and subjects, behind one the next part.
fn rows(suites: &[&Suite], typed: &str) -> Vec<Candidate> {
    let axes =
        Axes { sizes: None, placements: &[Placement::SameCpu, Placement::TwoCpus, Placement::Free], externals: &[] };
    let rows: Vec<Row> = suites.iter().flat_map(|suite| (suite.rows)(&axes)).collect();
    let depth = typed.matches('/').count();
    let mut parts = BTreeSet::new();
    for row in &rows {
        let mut ends = row.id.match_indices('/').map(|(at, _)| at + 1).skip(depth);
        if depth == 0 {
            parts.insert(row.subject.clone());
            parts.insert(row.pattern.clone());
        } else if row.id.starts_with(typed) {
            parts.insert(ends.next().map_or(&row.id[..], |end| &row.id[..end]).to_owned());
        }
        if depth == 0 && row.subject == typed {
            parts.insert(format!("{typed}/"));
        }
    }
    parts.into_iter().map(|part| Candidate::new(part.clone(), summary(&part))).collect()
}

fn summary(name: &str) -> String {
    let transport = transports::TABLE.iter().find(|entry| entry.info.name == name);
    let facility = facilities::find(name).map(|facility| format!("facility: {}", facility.info.summary));
    (transport.map(|entry| format!("transport: {}", entry.info.summary)))
        .or_else(|| patterns::find(name).map(|entry| format!("pattern: {}", entry.info.summary)))
        .or(facility)
        .unwrap_or_default()
}

/// Directories that hold a run: those beside the typed path, and without one those in the usual place.
fn runs(typed: &str) -> Vec<Candidate> {
    let typed_parent = typed.rfind('/').map(|at| &typed[..=at]);
    let places = match typed_parent {
        Some(parent) => vec![parent.to_owned()],
        None => vec![String::new(), format!("{RUNS}/")],
    };
    let mut found = Vec::new();
    for place in places {
        let read = if place.is_empty() { Path::new(".") } else { Path::new(&place) };
        let Ok(entries) = fs::read_dir(read) else { continue };
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let events = entry.path().join(EVENTS).exists();
            if events || entry.path().join(DOCUMENT).exists() {
                found.push(Candidate::new(format!("{place}{name}"), "run"));
            }
        }
    }
    // The newest first, as their names have the time.
    found.arrange_by(|one, other| other.value.cmp(&one.value));
    found
}

/// Published tables, and the data sets of one whose name is typed.
fn published(typed: &str) -> Vec<Candidate> {
    let table =
        typed.strip_prefix(PREFIX).and_then(|rest| rest.split_once('/')).and_then(|(name, _)| published::find(name));
    match table {
        Some(table) => {
            let datasets = table.datasets();
            datasets.iter().map(|set| Candidate::new(format!("{PREFIX}{}/{}", table.name, set.name), "")).collect()
        }
        None => named(published::tables().iter().map(|table| format!("{PREFIX}{}", table.name))),
    }
}

/// Queries of the archive: the terms that a query can have next.
fn archived(typed: &str) -> Vec<Candidate> {
    let Some(query) = typed.strip_prefix(archive::PREFIX) else { return named([archive::PREFIX]) };
    let before = &typed[..archive::PREFIX.len() + query.rfind(',').map_or(0, |at| at + 1)];
    archive::TERMS.iter().map(|(name, summary)| Candidate::new(format!("{before}{name}="), *summary)).collect()
}

/// What a baseline can be: the runs that were typed, a transport, a placement.
fn sides(context: &Context<'_>) -> Vec<Candidate> {
    let placements = [Placement::SameCpu, Placement::TwoCpus, Placement::Free].map(Placement::name);
    let transports = transports::TABLE.iter().map(|entry| entry.info.name);
    let mut sides = named(context.operands.iter().copied());
    sides.extend(transports.map(|name| Candidate::new(name, summary(name))));
    sides.extend(named(placements));
    sides
}

fn streams() -> Vec<Candidate> {
    let streams = inspect::streams().unwrap_or_default();
    let numbers = streams.iter().map(|stream| stream.id.to_string());
    named(numbers.chain(["pipe", "fifo"].map(str::to_owned)).chain(known_drivers().into_iter().map(str::to_owned)))
}

//! `headwater history`: one row over many runs, with the runs at which its level changes.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use headwater_gauge::plan::{filter, suggest};
use headwater_report::{HistoryReport, history as text, history_page};
use headwater_results::compare::{ALPHA, MINIMUM_EFFECT, Rules};
use headwater_results::history::{By, Entry, Histories, Left, histories_over};
use headwater_results::origin::hosts::Over;
use headwater_results::schema::Row;
use serde::Serialize;

use super::fail_on::Share;
use super::output::{out, raw};
use super::report::write;
use super::show::style;
use super::status;
use crate::sources::many;

/// Show a row over many runs, and at which runs its level changes: on the terminal, or as a page
///
/// A point is a run: the median over its launches with its interval. Machines, and definitions of a row, are lines of
/// their own. At a change point the runs after it are at another level than those before it; the ratio of the two has the
/// interval that `compare` has, and what else changed there is named: kernel, program, settings.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater history pipe/rtt/64/two-cpus                 the runs of headwater-runs
  headwater history pipe/rtt/64 nightly/ -o history.html one offline page
  headwater history 'pipe/*' nightly/ --by kernel        every row of the pipe, in the order of kernels
  headwater history streams-pipe nightly/ --by commit    runs of `headwater run --label commit=...`
  headwater history pipe archive:host=a,since=2026-11-01 runs of the archive
  headwater history pipe nightly/ --fail-on-change       exit status 1 if a row has become worse, for CI
  headwater history pipe nightly/ --json | jq '.histories[].lines[].changes[] | {after, p, ratio: .ratio.value}'

Exit status: 0, 1 with --fail-on-change if a level has become worse, 2 wrong usage or no run that can be read, 4 some runs
could not be read.")]
pub(crate) struct HistoryArguments {
    /// The rows, as for `run`: `pipe/rtt/64/two-cpus`, `'pipe/*'`, `transport:fifo`
    #[arg(value_name = "ROW")]
    row: String,

    /// Run directories, run.json or run.jsonl files, directories of runs, patterns, archive:QUERY [default: headwater-runs]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,

    /// Further rows; repeatable
    #[arg(short, long, value_name = "FILTER")]
    filter: Vec<String>,

    /// The order of the runs: date, kernel, host, program, or a label such as commit
    #[arg(long, value_name = "PROPERTY", default_value = "date")]
    by: String,

    /// What tells hosts apart: host (the machine's id), name, or a label such as node
    #[arg(long, value_name = "PROPERTY", default_value = "host")]
    over: String,

    /// The smallest change that matters to you
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    minimum_effect: Share,

    /// The probability of a false alarm of all rows together, if none has changed
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    alpha: Share,

    /// List every run, also of long histories
    #[arg(short, long)]
    all: bool,

    /// Exit with status 1 if the last change of some row is for the worse
    #[arg(long)]
    fail_on_change: bool,

    /// Write one HTML file that loads nothing, instead of text; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// The title of the page
    #[arg(long, value_name = "TEXT", requires = "output")]
    title: Option<String>,

    /// Replace FILE even if it is not a report
    #[arg(long, requires = "output")]
    force: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    by: &'a By,
    rules: Rules,
    runs: usize,
    #[serde(flatten)]
    histories: &'a Histories,
    /// Runs that could not be read, and rows without a figure.
    not_read: &'a [Left],
}

pub(super) fn history(arguments: &HistoryArguments) -> anyhow::Result<u8> {
    let by = By::named(&arguments.by);
    let rules = Rules { alpha: arguments.alpha.0, minimum_effect: arguments.minimum_effect.0, ..Rules::default() };
    let names = many::find(&arguments.runs)?;
    let mut asked = Asked::new(arguments);
    let (mut entries, mut without) = (Vec::new(), Vec::new());
    let mut reading = many::Reading::with_beside();
    reading.read(
        &names,
        |row| asked.keeps(row),
        |many::Figure { origin, row, figure, .. }| match figure {
            Ok(metric) => entries.push(Entry { origin: Arc::clone(origin), row, metric }),
            Err(reason) => without.push(Left { run: origin.run.clone(), row: row.id.clone(), reason }),
        },
    )?;
    let many::Reading { runs, mut left_out, without_rows, beside, .. } = reading;
    let is_torn = !left_out.is_empty();
    if runs == 0 && left_out.is_empty() {
        asked.is_whole()?;
        bail!("no run of the archive has a figure of these rows; `headwater archive list` lists its runs");
    }
    if runs == 0 {
        let reasons: Vec<String> = left_out.iter().map(|left| format!("{}: {}", left.run, left.reason)).collect();
        bail!("no run can be read: {}", reasons.join("; "));
    }
    asked.is_whole()?;
    left_out.extend(without_rows);
    left_out.extend(without);
    let found = histories_over(entries, &beside.unwrap_or_default(), &by, &Over::named(&arguments.over), rules);
    if found.histories.is_empty() {
        bail!("{}", nothing(&by, &found, &left_out));
    }
    let report = HistoryReport { histories: &found, by: &by, rules, left_out: &left_out, runs, all: arguments.all };
    if let Some(output) = &arguments.output {
        write(output, &history_page(&report, arguments.title.as_deref()), arguments.force)?;
    } else if arguments.json {
        let mut out = out();
        let document = Document { by: &by, rules, runs, histories: &found, not_read: &left_out };
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        raw().write_all(text(&report, &style()).as_bytes())?;
    }
    let is_worse = || {
        let lines = found.histories.iter().flat_map(|history| &history.lines);
        lines.filter_map(|line| line.changes.last()).any(|change| change.verdict.name() == "worse")
    };
    Ok(match () {
        () if arguments.fail_on_change && is_worse() => status::REGRESSION,
        () if is_torn => status::PARTIAL,
        () => status::OK,
    })
}

/// The rows that were asked for.
struct Asked<'a> {
    filters: Vec<&'a str>,
    /// Whether each of them matches a row.
    is_matched: Vec<bool>,
    /// Names of rows, for suggestions.
    names: BTreeSet<String>,
}

impl<'a> Asked<'a> {
    fn new(arguments: &'a HistoryArguments) -> Asked<'a> {
        let filters: Vec<&str> =
            std::iter::once(arguments.row.as_str()).chain(arguments.filter.iter().map(String::as_str)).collect();
        let is_matched = vec![false; filters.len()];
        Asked { filters, is_matched, names: BTreeSet::new() }
    }

    /// Whether a row was asked for.
    fn keeps(&mut self, row: &Row) -> bool {
        let is_kept = filter::keeps(&self.filters, row);
        if !is_kept {
            self.names.extend(row.id.split('/').map(str::to_owned));
            return false;
        }
        for (filter, is_matched) in self.filters.iter().zip(&mut self.is_matched) {
            *is_matched |= filter::keeps(&[filter], row);
        }
        true
    }

    /// Checks that every filter has matched a row.
    fn is_whole(&self) -> anyhow::Result<()> {
        let Some(at) = self.is_matched.iter().position(|is_matched| !is_matched) else { return Ok(()) };
        let wrong = self.filters[at];
        let near = suggest::did_you_mean(wrong, self.names.iter().map(String::as_str));
        bail!("{wrong}: no row of these runs has that name{near}; `headwater show RUN` lists them")
    }
}

/// Why there is no history.
fn nothing(by: &By, found: &Histories, left_out: &[Left]) -> String {
    if let (By::Label(name), false) = (by, found.left_out.is_empty()) {
        let known = By::NAMED.iter().map(|(name, ..)| *name);
        let near = suggest::did_you_mean(name, known);
        return format!(
            "--by {name}: no run has a label of that name{near}; `headwater run --label {name}=VALUE` gives one, and date, \
             kernel, host and program need none"
        );
    }
    // What a run says about the row explains more than that another run cannot be read.
    let reason = left_out.iter().chain(&found.left_out).find(|left| !left.row.is_empty());
    let reason = reason.map_or_else(String::new, |left| format!(" ({} in {}: {})", left.row, left.run, left.reason));
    format!("no run has a figure of these rows{reason}")
}

/// The defaults in the help are the rules'.
const _: () = assert!(MINIMUM_EFFECT == 0.02 && ALPHA == 0.05);

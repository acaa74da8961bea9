//! `headwater trace show`, `stat` and `list`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use headwater_trace_tools::ctf::Reader;
use headwater_trace_tools::export::{Choice, Exported, chrome, perfetto, text, timeline};
use headwater_trace_tools::filter::Filter;
use headwater_trace_tools::stacks::Shown;
use headwater_trace_tools::stat::Stat;
use serde_json::json;

use super::super::status;
use super::{events, filter, grouped, size};
use crate::cli::output::{Escaped, note, out, raw};
use crate::trace;
use crate::trace::view::{self, Incomplete};

/// Print recorded events in the order of time
#[derive(Debug, Args)]
#[command(after_help = "Formats:
  text      a line for each event: time (UTC), seconds since the line before, CPU, thread, name, fields
  timeline  a column for each thread: who woke whom, and how long things took
  chrome    JSON for ui.perfetto.dev and chrome://tracing
  perfetto  protocol buffers for ui.perfetto.dev and Perfetto's trace processor; smaller than JSON
  ctf-path  the directories of the traces, for other tools: babeltrace2 $(headwater trace show DIR --format ctf-path)

Examples:
  headwater trace show DIR --count 20
  headwater trace show DIR --events 'shop:*'
  headwater trace show DIR --filter 'shop:put if len > 4096'
  headwater trace show DIR --format chrome -o trace.json
  headwater trace show DIR --format perfetto -o trace.pftrace
  headwater trace show DIR --follow -e 'shop:*'        while it is recorded
  headwater trace show one two                 several recordings, if they are on one clock")]
pub(super) struct ShowArguments {
    /// Recordings, or traces in them
    #[arg(value_name = "DIR", required = true)]
    recordings: Vec<PathBuf>,

    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// The output file, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The maximum number of events
    #[arg(long, alias = "limit", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Only events with matching names; several with commas, or repeated
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',')]
    events: Vec<String>,

    /// Only events whose values meet a condition: `'shop:put if len > 100'`, as for `trace record`; all events that no FILTER names
    #[arg(short, long = "filter", value_name = "FILTER", value_parser = filter)]
    filters: Vec<Filter>,

    /// Print stacks as files and offsets, for addr2line and other programs; no file but the recording is read
    #[arg(long)]
    offsets: bool,

    /// Print what is recorded as it arrives, until the recording ends; events of the kernel come at its end
    #[arg(long)]
    follow: bool,
}

/// A form of what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines.
    Text,
    /// A column for each thread.
    Timeline,
    /// For Perfetto and Chrome.
    Chrome,
    /// For Perfetto.
    Perfetto,
    /// Directories.
    CtfPath,
}

/// Print the contents of recordings: events by type, and lost events by CPU
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace stat recording            what was recorded, and what was lost
  headwater trace stat --json recording     the same for other programs")]
pub(super) struct StatArguments {
    /// Recordings, or traces in them
    #[arg(value_name = "DIR", required = true)]
    recordings: Vec<PathBuf>,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// List the events of a recording, the events that the kernel offers, or the sessions
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace list                       sessions that run, or whose recorder has died
  headwater trace list DIR                   events of a recording, with their fields
  headwater trace list --kernel sched irq    events of the kernel; all of them without a pattern")]
pub(super) struct ListArguments {
    /// Recordings
    #[arg(value_name = "DIR", conflicts_with = "kernel")]
    names: Vec<PathBuf>,

    /// List the events of the kernel that these patterns name to `record -k`; all of them without a pattern
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',', num_args = 0..)]
    kernel: Option<Vec<String>>,
}

pub(super) fn show(arguments: &ShowArguments) -> anyhow::Result<u8> {
    let recordings = &arguments.recordings;
    if arguments.follow && arguments.format != Format::Text {
        bail!("--follow prints text: other formats are of whole recordings");
    }
    // An event may be recorded for the first time later.
    if !(arguments.follow && view::is_recorded(recordings)) {
        view::check_patterns(recordings, &arguments.events)?;
    }
    let (events, filters) = (arguments.events.clone(), arguments.filters.clone());
    let stacks = if arguments.offsets { Shown::Offsets } else { Shown::Functions };
    let choice = Choice { events, filters, limit: arguments.count, stacks };
    if let Some(path) = &arguments.output {
        // The text may be larger than memory, and a pipe or a device is not replaced.
        let is_file = !path.exists() || path.is_file();
        let file = File::create(path).with_context(|| path.display().to_string())?;
        return show_to(arguments, &choice, &mut BufWriter::new(file)).inspect_err(|_| {
            if is_file {
                let _ = std::fs::remove_file(path);
            }
        });
    }
    show_to(arguments, &choice, &mut raw())
}

fn show_to(arguments: &ShowArguments, choice: &Choice, out: &mut dyn Write) -> anyhow::Result<u8> {
    let recordings = &arguments.recordings;
    let (mut unescaped, mut escaped);
    // Perfetto's own format is no text.
    let mut out: &mut dyn Write = if arguments.format == Format::Perfetto {
        unescaped = out;
        &mut unescaped
    } else {
        escaped = Escaped(out);
        &mut escaped
    };
    let exported = match arguments.format {
        Format::Text if arguments.follow => {
            text::follow(recordings, choice, &mut out, |clock| view::wait_for_events(recordings, clock))
                .map_err(unwrapped)?
        }
        Format::Text => text::export(recordings, choice, &mut out).map_err(unwrapped)?,
        Format::Timeline => timeline::export(recordings, choice, &mut out).map_err(unwrapped)?,
        Format::Chrome => chrome::export(recordings, choice, &mut out).map_err(unwrapped)?,
        Format::Perfetto => perfetto::export(recordings, choice, &mut out).map_err(unwrapped)?,
        Format::CtfPath => {
            view::traces(recordings)?.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
            out.flush()?;
            return Ok(status::OK);
        }
    };
    out.flush()?;
    let Exported { records, lost, damaged, is_cut, replaced } = exported;
    if is_cut {
        note!("headwater: only the first {}; there are more", events(records));
    }
    if lost > 0 {
        note!("headwater: {} were lost among them", grouped(lost));
    }
    for path in replaced {
        let path = path.display();
        note!("headwater: {path} is not the file that was recorded: stacks have offsets in place of its functions");
    }
    Ok(complain(recordings, &damaged))
}

/// Returns an output error as itself, so that a closed pipe is recognised and not reported.
fn unwrapped(error: headwater_trace_tools::export::Error) -> anyhow::Error {
    match error {
        headwater_trace_tools::export::Error::Write(error) => error.into(),
        error => error.into(),
    }
}

/// Prints what could not be read, and why a recording may be incomplete.
fn complain(recordings: &[PathBuf], damaged: &[headwater_trace_tools::ctf::Error]) -> u8 {
    for error in damaged {
        note!("headwater: {error}; the rest of the file is left out");
    }
    let mut is_whole = damaged.is_empty();
    for (path, why) in view::incomplete(recordings) {
        let path = path.display();
        match &why {
            Incomplete::Runs(pid) => note!("headwater: {path} has no end: process {pid} records it still"),
            Incomplete::Unended(pid, pending) => {
                note!(
                    "headwater: {path} has no end: process {pid} was killed, or had no room{} (`headwater trace recover {path}`)",
                    pending.map_or_else(String::new, |pending| format!(
                        "; {} more were lost, and {} of events are still in the buffers",
                        grouped(pending.lost),
                        size(pending.left_bytes)
                    ))
                );
            }
            Incomplete::Pages(pages) => note!(
                "headwater: events of the kernel are still in {}: make room, then `headwater trace recover {path}`",
                pages.display()
            ),
            Incomplete::Missing(what) => note!("headwater: {path} is not whole: {what}"),
        }
        is_whole &= matches!(why, Incomplete::Runs(_));
    }
    if is_whole { status::OK } else { status::PARTIAL }
}

pub(super) fn stat(arguments: &StatArguments) -> anyhow::Result<u8> {
    let mut reader = Reader::open(&arguments.recordings)?;
    let stat = Stat::of(&mut reader);
    let paths: Vec<&Path> = reader.schemas().map(|(path, _)| path).collect();
    let mut out = out();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &as_json(&stat, &paths))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&stat))?;
    }
    drop(out);
    Ok(complain(&arguments.recordings, &stat.damaged))
}

/// Returns the width of a column of names. A trace may have names of any length, and a width has a limit.
fn width<'n>(names: impl Iterator<Item = &'n String>) -> usize {
    const WIDTH_MAX: usize = 100;
    names.map(String::len).max().unwrap_or(0).min(WIDTH_MAX)
}

fn table(stat: &Stat) -> String {
    let seconds = stat.span.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    let mut text = format!("{} in {seconds:.6} s, {} lost\n", events(stat.records()), grouped(stat.lost()));
    let width = width(stat.kinds.iter().map(|kind| &kind.name)).max("event".len());
    if !stat.kinds.is_empty() {
        let (event, count, per_second, bytes, share) = ("event", "count", "per second", "bytes", "share");
        text += &format!("\n{event:width$}  {count:>14}  {per_second:>12}  {bytes:>9}  {share:>6}\n");
    }
    for kind in &stat.kinds {
        let rate = kind.rate.map_or("-".to_owned(), |rate| grouped(rate.round() as u64));
        let (name, count, bytes) = (&kind.name, grouped(kind.count), size(kind.bytes));
        text += &format!("{name:width$}  {count:>14}  {rate:>12}  {bytes:>9}  {:>5.1}%\n", kind.share * 100.0);
    }
    if !stat.rings.is_empty() {
        text += &format!("\n{:14}  {:>14}  {:>14}\n", "ring", "events", "lost");
    }
    // Parts of a recording have the same rings.
    let mut rings: BTreeMap<(&str, u32), (u64, u64)> = BTreeMap::new();
    for ring in &stat.rings {
        let (records, lost) = rings.entry((&ring.stream, ring.ring)).or_default();
        (*records, *lost) = (*records + ring.records, lost.saturating_add(ring.lost));
    }
    for ((stream, ring), (records, lost)) in rings {
        let name = format!("{stream}-{ring}");
        text += &format!("{name:14}  {:>14}  {:>14}\n", grouped(records), grouped(lost));
    }
    text
}

fn as_json(stat: &Stat, paths: &[&Path]) -> serde_json::Value {
    let kinds = stat.kinds.iter().map(|kind| {
        json!({
            "stream": kind.stream, "event": kind.name, "count": kind.count, "bytes": kind.bytes, "share": kind.share,
            "per_second": kind.rate,
        })
    });
    let rings = stat.rings.iter().map(|ring| {
        json!({
            "trace": paths[ring.trace], "stream": ring.stream, "ring": ring.ring, "events": ring.records,
            "lost": ring.lost,
        })
    });
    json!({
        "events": stat.records(),
        "lost": stat.lost(),
        "first_ns": stat.span.map(|(first, _)| first as u64),
        "last_ns": stat.span.map(|(_, last)| last as u64),
        "kinds": kinds.collect::<Vec<_>>(),
        "rings": rings.collect::<Vec<_>>(),
        "damaged": stat.damaged.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

pub(super) fn list(arguments: &ListArguments) -> anyhow::Result<u8> {
    let mut out = out();
    if let Some(patterns) = &arguments.kernel {
        for event in view::kernel_events(patterns)? {
            writeln!(out, "{event}")?;
        }
        return Ok(status::OK);
    }
    if arguments.names.is_empty() {
        return list_sessions();
    }
    if let Some(wrong) = arguments.names.iter().find(|path| !path.exists()) {
        bail!("{}: no such recording; events of the kernel are listed with --kernel", wrong.display());
    }
    let kinds = view::kinds(&arguments.names)?;
    let width = width(kinds.iter().map(|kind| &kind.name));
    for kind in kinds {
        let fields: Vec<String> = kind.fields.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
        writeln!(out, "{}", format!("{:7} {:width$}  {}", kind.stream, kind.name, fields.join(", ")).trim_end())?;
    }
    Ok(status::OK)
}

fn list_sessions() -> anyhow::Result<u8> {
    let mut out = out();
    let found = trace::found(Path::new(trace::HOME));
    if found.is_empty() {
        writeln!(out, "No session runs. `headwater trace list DIR` lists the events of a recording.")?;
    }
    for session in found {
        let memory = session.path.display();
        let recording = session.recording.map_or_else(|| memory.to_string(), |path| path.display().to_string());
        let state = match session.is_live {
            true => "runs".to_owned(),
            false => format!("its recorder has died: `headwater trace recover {memory}`"),
        };
        writeln!(out, "{recording}  ({} of memory) {state}", size(session.bytes))?;
    }
    Ok(status::OK)
}

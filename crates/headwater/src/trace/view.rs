//! Reads recordings for `trace show`, `stat` and `list`.

use headwater_gauge::plan::suggest::did_you_mean;
use headwater_results::sorting::Arrange;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use headwater_os::ticks;
use headwater_trace::region::Region;
use headwater_trace_tools::consumer::parts::PartsFile;
use headwater_trace_tools::consumer::{self, Pending};
use headwater_trace_tools::ctf::Reader;
use headwater_trace_tools::kernel::Tracefs;
use headwater_trace_tools::kernel::events::Selection;
use headwater_trace_tools::names::glob;
use headwater_trace_tools::schema::{Clock, EventKind, FieldKind};

use super::{PAGES, SessionFile, USER};

/// Returns the directories of the traces in recordings, which other tools can open.
///
/// # Errors
/// Those of [`Reader::open`].
pub fn traces(recordings: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    Ok(Reader::open(recordings)?.schemas().map(|(path, _)| path.to_owned()).collect())
}

/// The reason for which a recording's traces may be incomplete.
#[derive(Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// The recorder, with that process id, is still running.
    Runs(u32),
    /// The recorder died without ending the recording; the path is the session's memory, if that still exists.
    Unended(u32, Option<Pending>),
    /// The kernel's pages are not converted yet.
    Pages(PathBuf),
    /// A reason that the end of the recording states.
    Missing(String),
}

/// Returns the reasons for which the traces of recordings may be incomplete.
pub fn incomplete(recordings: &[PathBuf]) -> Vec<(PathBuf, Incomplete)> {
    let read = recordings.iter().filter_map(|path| Some((path.clone(), SessionFile::read(path).ok()?)));
    read.flat_map(|(path, file)| {
        let why: Vec<Incomplete> = match file.end {
            None => vec![unended(&path, &file.memory, file.recorder)],
            Some(end) => {
                let pages = Some(path.join(PAGES)).filter(|pages| pages.exists());
                end.missing.into_iter().map(Incomplete::Missing).chain(pages.map(Incomplete::Pages)).collect()
            }
        };
        why.into_iter().map(move |why| (path.clone(), why))
    })
    .collect()
}

fn unended(recording: &Path, memory: &Path, recorder: u32) -> Incomplete {
    let region = Region::open(memory).ok();
    match &region {
        Some(region) if !region.claim().unwrap_or(true) => Incomplete::Runs(recorder),
        region => {
            let parts = PartsFile::read(recording).ok().flatten();
            let trace = parts.as_ref().map_or_else(|| recording.join(USER), |parts| parts.current(recording));
            let pending = region.as_ref().map(|region| consumer::pending(region, &trace, parts.as_ref()));
            Incomplete::Unended(recorder, pending)
        }
    }
}

/// Whether a recorder of one of these recordings is running.
pub fn is_recorded(recordings: &[PathBuf]) -> bool {
    incomplete(recordings).iter().any(|(_, why)| matches!(why, Incomplete::Runs(_)))
}

/// How long after an event a recorder has copied it, unless the machine is overloaded.
const COPIED_AFTER: Duration = Duration::from_millis(200);
/// How often a recording in progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits for new events of recordings, whose times are of `clock`. Returns the time, in ticks, until which they have been
/// copied; `None` if no recorder is running any more.
pub fn wait_for_events(recordings: &[PathBuf], clock: &Clock) -> Option<u64> {
    if !is_recorded(recordings) {
        return None;
    }
    std::thread::sleep(LOOK_EVERY);
    let now = if clock.name == "tsc" { ticks::now() } else { headwater_os::clock::now_ns() };
    let ticks_of = |time: Duration| u128::from(clock.frequency_hz) * time.as_nanos() / 1_000_000_000;
    Some(now.saturating_sub(ticks_of(COPIED_AFTER) as u64))
}

/// An event type of a trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// `user` or `kernel`.
    pub stream: String,
    /// The name, such as `shop:order`.
    pub name: String,
    /// The names and types of its fields.
    pub fields: Vec<(String, String)>,
}

/// Returns the event types of recordings, by stream and name.
///
/// # Errors
/// Those of [`Reader::open`].
pub fn kinds(recordings: &[PathBuf]) -> anyhow::Result<Vec<Kind>> {
    let reader = Reader::open(recordings)?;
    let streams = reader.schemas().flat_map(|(_, schema)| &schema.streams);
    let mut kinds: Vec<Kind> =
        streams.flat_map(|stream| stream.events.iter().map(|event| kind(&stream.name, event))).collect();
    kinds.arrange_by(|one, other| (&one.stream, &one.name).cmp(&(&other.stream, &other.name)));
    kinds.dedup();
    Ok(kinds)
}

fn kind(stream: &str, event: &EventKind) -> Kind {
    let fields = event.fields.iter().map(|field| (field.name.clone(), type_name(&field.kind))).collect();
    Kind { stream: stream.to_owned(), name: event.name.clone(), fields }
}

fn type_name(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Unsigned { bytes, .. } => format!("u{}", u32::from(*bytes) * 8),
        FieldKind::Signed { bytes } => format!("i{}", u32::from(*bytes) * 8),
        FieldKind::Float { bytes } => format!("f{}", u32::from(*bytes) * 8),
        FieldKind::Text => "text".to_owned(),
        FieldKind::Array { item, count } => format!("[{}; {count}]", type_name(item)),
        FieldKind::Named { bytes, .. } => format!("enum{}", u32::from(*bytes) * 8),
    }
}

/// Checks that every pattern matches an event type of the recordings.
///
/// # Errors
/// The pattern with the nearest names; the errors of [`Reader::open`].
pub fn check_patterns(recordings: &[PathBuf], patterns: &[String]) -> anyhow::Result<()> {
    if patterns.is_empty() {
        return Ok(());
    }
    let kinds = kinds(recordings)?;
    for pattern in patterns {
        if !kinds.iter().any(|kind| glob(pattern, &kind.name)) {
            let near = did_you_mean(pattern, kinds.iter().map(|kind| kind.name.as_str()));
            bail!("no event of the trace is meant by {pattern}{near} (`headwater trace list DIR` shows all of them)");
        }
    }
    Ok(())
}

/// Returns the events that this kernel offers, as `system:event`: those that match the patterns, or all.
///
/// # Errors
/// What part of tracing is missing or not permitted; an unknown event, with the nearest names.
pub fn kernel_events(patterns: &[String]) -> anyhow::Result<Vec<String>> {
    let list: PathBuf = Tracefs::find()?.path("available_events");
    let available = read(&list)?;
    let all = ["*".to_owned()];
    let selection = Selection::choose(&available, if patterns.is_empty() { &all } else { patterns })?;
    Ok(selection.iter().map(|(system, event)| format!("{system}:{event}")).collect())
}

fn read(path: &Path) -> anyhow::Result<String> {
    Ok(std::fs::read_to_string(path)
        .map_err(|error| headwater_trace_tools::kernel::Error::file("read", path, error))?)
}

//! Traces of a run's rows. After the measurement, one more launch of each row is recorded, and its newest events are
//! kept. Measured launches are never traced.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context;
use headwater_gauge::harness::launch::ConductorError;
use headwater_gauge::harness::run::BlockRunner;
use headwater_gauge::harness::scratch::Scratch;
use headwater_os::plain_file;
use headwater_os_tools::own_file::make_own_directory;
use headwater_os_tools::signal::StopSignals;
use headwater_report::TraceLink;
use headwater_results::foreign::{file_name, is_name};
use headwater_trace::WhenFull;
use headwater_trace::session::VARIABLE;
use headwater_trace_tools::export::{Choice, chrome, timeline};
use serde::{Deserialize, Serialize};

use super::recording::{Recording, RecordingConfig};
use super::view;
use crate::store::DIRECTORY_MODE;

/// The directory of traces in that of the run.
const TRACES: &str = "traces";
/// The list of the traces.
const INDEX: &str = "index.json";
const TIMELINE: &str = "timeline.txt";
const PERFETTO: &str = "perfetto.json";

/// Bytes of a CPU's buffer: room for some thousands of events, more than a time line shows.
const BUFFER: usize = 256 << 10;
/// Lines of a time line that the report shows.
const SHOWN: usize = 40;

/// The trace of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// The row's id.
    row: String,
    /// Its directory, relative to that of the traces.
    directory: String,
    events: u64,
    /// Number of events before those in the time line.
    earlier: u64,
}

/// Records one launch of each measured row into the run's directory. Rows that do not run, or whose programs have no
/// events, get no trace. Returns the number of traces; fewer if a signal arrived.
///
/// # Errors
/// Errors of the recording, and of writing.
pub fn record(runner: &BlockRunner<'_>, run: &Path, scratch: &Scratch, stop: &StopSignals) -> anyhow::Result<usize> {
    let traces = run.join(TRACES);
    let mut entries = Vec::new();
    for (number, planned) in runner.plan.rows.iter().enumerate() {
        if runner.given_up.contains(&planned.row.id) {
            continue;
        }
        let name = file_name(&planned.row.id);
        let directory = traces.join(&name);
        make_own_directory(&traces, DIRECTORY_MODE).with_context(|| traces.display().to_string())?;
        let recording = Recording::begin(&RecordingConfig {
            directory: Some(directory.clone()),
            events: vec!["headwater:*".to_owned()],
            when_full: WhenFull::Overwrite,
            buffer_bytes: BUFFER,
            command: vec!["headwater".to_owned(), "run".to_owned(), planned.row.id.clone()],
            ..RecordingConfig::default()
        })?;
        let memory = recording.memory().to_owned();
        let launched = runner.launch_with(planned, number as u64, (VARIABLE, &memory), scratch, stop);
        let ended = recording.end();
        if let Err(ConductorError::Stopped(_)) = launched {
            break;
        }
        let totals = ended.user.map_err(anyhow::Error::from)?;
        if totals.written == 0 {
            fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
            continue;
        }
        let recorded = [directory.clone()];
        let of_row = view::traces(&recorded)?;
        timeline::export(&of_row, &Choice::default(), create(&directory.join(TIMELINE))?)?;
        chrome::export(&of_row, &Choice::default(), create(&directory.join(PERFETTO))?)?;
        entries.push(Entry {
            row: planned.row.id.clone(),
            directory: name,
            events: totals.written,
            earlier: totals.lost,
        });
    }
    if entries.is_empty() {
        let _ = fs::remove_dir(&traces);
    } else {
        serde_json::to_writer_pretty(create(&traces.join(INDEX))?, &entries)?;
    }
    Ok(entries.len())
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| path.display().to_string())
}

/// The most bytes of the index and of a timeline, of which a page shows the end.
const BYTES_MAX: u64 = 256 << 20;

/// Returns the traces in a run's directory, with addresses relative to the directory of a page; none if the run has
/// none.
pub fn links(run: &Path, page: Option<&Path>) -> Vec<TraceLink> {
    let traces = run.join(TRACES);
    let index = plain_file::read(&traces.join(INDEX), BYTES_MAX).ok();
    let entries: Vec<Entry> = index.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let link = |entry: Entry| {
        // A run of others names no file elsewhere.
        if !is_name(&entry.directory) {
            return None;
        }
        let directory = traces.join(entry.directory);
        let text = plain_file::read_text(&directory.join(TIMELINE), BYTES_MAX).ok()?;
        // The last lines, because only there all CPUs still have their events.
        let lines: Vec<&str> = text.lines().collect();
        let (head, events) = lines.split_first()?;
        let shown = &events[events.len().saturating_sub(SHOWN)..];
        let excerpt = std::iter::once(head).chain(shown).copied().collect::<Vec<_>>().join("\n");
        let [timeline, perfetto] = [TIMELINE, PERFETTO].map(|file| address(&directory.join(file), page));
        Some(TraceLink { row: entry.row, events: entry.events, earlier: entry.earlier, excerpt, timeline, perfetto })
    };
    entries.into_iter().filter_map(link).collect()
}

/// Returns the address of a file for a page in a directory: relative if the file is below it.
fn address(file: &Path, page: Option<&Path>) -> String {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = whole(file);
    let below = page.map(whole).and_then(|page| file.strip_prefix(page).ok().map(Path::to_owned));
    let (before, path) = match &below {
        Some(path) => ("", path.as_path()),
        None => ("file://", file.as_path()),
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    let escaped =
        bytes.iter().map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") });
    escaped.fold(before.to_owned(), |address, part| address + &part)
}

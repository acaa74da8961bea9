//! Exports traces: [`text`] and [`timeline`] for a terminal, [`perfetto`] and [`chrome`] for viewers. Each reads traces from
//! their directories and writes to an `io::Write` while reading.

pub mod chrome;
pub mod perfetto;
pub mod text;
pub mod timeline;

use std::io;
use std::path::PathBuf;

use crate::ctf::{self, Reader, Record, TraceItem};
use crate::filter::Filter;
use crate::names::glob;
use crate::stacks::Shown;

/// The result of an export.
#[derive(Debug, Default)]
pub struct Exported {
    /// Events.
    pub records: u64,
    /// Lost events that the traces report.
    pub lost: u64,
    /// Files whose rest could not be read. Everything before and all other files are exported.
    pub damaged: Vec<ctf::Error>,
    /// Whether the export stopped at the limit.
    pub is_cut: bool,
    /// Files whose functions are not named in stacks, because they are no longer those of the recording.
    pub replaced: Vec<PathBuf>,
}

/// The reason why nothing, or only a part, was exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The traces cannot be opened.
    #[error(transparent)]
    Trace(#[from] ctf::Error),
    /// The output could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// Which events are exported, and how. Losses are always exported, up to the limit.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Name patterns with `*` and `?`; if empty, all events.
    pub events: Vec<String>,
    /// Conditions on values; an event passes all that are about it.
    pub filters: Vec<Filter>,
    /// The maximum number of events.
    pub limit: Option<u64>,
    /// What the addresses of stacks are shown as.
    pub stacks: Shown,
}

impl Choice {
    fn wants(&self, record: &Record<'_>) -> bool {
        let name = &record.kind.name;
        (self.events.is_empty() || self.events.iter().any(|pattern| glob(pattern, name)))
            && self.filters.iter().all(|filter| filter.passes(record.kind, record.bytes))
    }
}

/// Passes every selected item of the traces to `act`, and counts.
fn each(
    reader: &mut Reader,
    choice: &Choice,
    act: impl FnMut(&TraceItem<'_>) -> io::Result<()>,
) -> Result<Exported, Error> {
    let mut exported = Exported::default();
    if each_until(reader, choice, u64::MAX, &mut exported, act)? {
        exported.is_cut = !matches!(reader.next(), Ok(None));
    }
    Ok(exported)
}

/// Passes every selected item up to a time in ticks to `act`, and counts. Returns whether the limit was reached.
fn each_until(
    reader: &mut Reader,
    choice: &Choice,
    until: u64,
    exported: &mut Exported,
    mut act: impl FnMut(&TraceItem<'_>) -> io::Result<()>,
) -> Result<bool, Error> {
    while choice.limit.is_none_or(|limit| exported.records < limit) {
        match reader.next_until(until) {
            Ok(Some(item)) => {
                match &item {
                    TraceItem::Record(record) if !choice.wants(record) => continue,
                    TraceItem::Record(_) => exported.records += 1,
                    TraceItem::Loss(loss) => exported.lost = exported.lost.saturating_add(loss.count),
                }
                act(&item)?;
            }
            Ok(None) => return Ok(false),
            // Each file fails at most once, so the loop ends.
            Err(error) => exported.damaged.push(error),
        }
    }
    Ok(true)
}

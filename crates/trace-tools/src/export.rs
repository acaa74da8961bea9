//! Traces in forms that others show: [`text`] and [`timeline`] for a terminal, [`chrome`] for Perfetto and Chrome. Each reads traces from their
//! directories and writes to whatever it is given, as it goes.

pub mod chrome;
pub mod text;
pub mod timeline;

use std::io;

use crate::ctf::{self, Item, Reader};
use crate::names::glob;

/// What was exported.
#[derive(Debug, Default)]
pub struct Exported {
    /// Events.
    pub records: u64,
    /// Events that the traces say were lost.
    pub lost: u64,
    /// Files whose rest could not be read; what stands before and all others are exported.
    pub damaged: Vec<ctf::Error>,
    /// Whether the limit ended it.
    pub is_cut: bool,
}

/// Why nothing, or only a part, was exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The traces cannot be opened.
    #[error(transparent)]
    Trace(#[from] ctf::Error),
    /// What it is written to refused.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// Which events are exported. What was lost is told in any case, as far as it comes before the end.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Names, with `*` and `?`; without any, all events.
    pub events: Vec<String>,
    /// No more events than that.
    pub limit: Option<u64>,
}

impl Choice {
    fn wants(&self, name: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| glob(pattern, name))
    }
}

/// Hands every item of the traces that is chosen to `act`, and counts.
fn each(
    reader: &mut Reader,
    choice: &Choice,
    mut act: impl FnMut(&Item<'_>) -> io::Result<()>,
) -> Result<Exported, Error> {
    let mut exported = Exported::default();
    while choice.limit.is_none_or(|limit| exported.records < limit) {
        match reader.next() {
            Ok(Some(item)) => {
                match &item {
                    Item::Record(record) if !choice.wants(&record.kind.name) => continue,
                    Item::Record(_) => exported.records += 1,
                    Item::Loss(loss) => exported.lost = exported.lost.saturating_add(loss.count),
                }
                act(&item)?;
            }
            Ok(None) => return Ok(exported),
            // A file fails once, so this ends.
            Err(error) => exported.damaged.push(error),
        }
    }
    exported.is_cut = !matches!(reader.next(), Ok(None));
    Ok(exported)
}

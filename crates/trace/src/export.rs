//! Traces in forms that others show: [`text`] and [`timeline`] for a terminal, [`chrome`] for Perfetto and Chrome. Each reads traces from their
//! directories and writes to whatever it is given, as it goes.

pub mod chrome;
pub mod text;
pub mod timeline;

use std::io;

use crate::ctf::{self, Item, Reader};

/// What was exported.
#[derive(Debug, Default)]
pub struct Exported {
    /// Events.
    pub records: u64,
    /// Events that the traces say were lost.
    pub lost: u64,
    /// Files whose rest could not be read; what stands before and all others are exported.
    pub damaged: Vec<ctf::Error>,
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

/// Hands every item of the traces to `act`, and counts.
fn each(reader: &mut Reader, mut act: impl FnMut(&Item<'_>) -> io::Result<()>) -> Result<Exported, Error> {
    let (mut records, mut lost) = (0, 0_u64);
    let damaged = reader.each(|item| {
        match item {
            Item::Record(_) => records += 1,
            Item::Loss(loss) => lost = lost.saturating_add(loss.count),
        }
        act(item)
    })?;
    Ok(Exported { records, lost, damaged })
}

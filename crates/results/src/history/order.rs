//! The order of the runs of a history: by date, kernel, host, program or a label of the runs. Called by the history.

use crate::sorting::{Arrange, natural};
use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entry, Placed};

/// The property by which runs are ordered, and with which they are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The time at which the run began.
    Date,
    /// The release of the kernel, then the time.
    Kernel,
    /// The host, then the time.
    Host,
    /// The program that measured, by the time at which each was first used.
    Program,
    /// A label of the runs, such as `commit`, by the time at which each of its values was first measured.
    Label(String),
}

impl By {
    /// The names that are not labels, with a description.
    pub const NAMED: [(&'static str, &'static str, By); 4] = [
        ("date", "the time of the run", By::Date),
        ("kernel", "the kernel's release", By::Kernel),
        ("host", "the host", By::Host),
        ("program", "the headwater that measured", By::Program),
    ];

    /// Returns the property of that name; a name that is no other property is that of a label.
    pub fn named(name: &str) -> By {
        let found = By::NAMED.into_iter().find(|(known, ..)| *known == name);
        found.map_or_else(|| By::Label(name.to_owned()), |(_, _, by)| by)
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            By::Date => "date",
            By::Kernel => "kernel",
            By::Host => "host",
            By::Program => "program",
            By::Label(name) => name,
        }
    }

    /// Returns the name of a run: its level of the property. `None` if the run has none.
    pub fn level(&self, entry: &Entry) -> Option<String> {
        let level = match self {
            By::Date => Some(entry.origin.started_at.as_str()),
            By::Kernel => Some(entry.origin.kernel.as_str()),
            By::Host => Some(entry.origin.machine.host.as_str()),
            By::Program => Some(entry.origin.program.as_str()),
            By::Label(name) => entry.origin.labels.get(name).map(String::as_str),
        };
        level.filter(|level| !level.is_empty()).map(str::to_owned)
    }

    /// Sorts the entries.
    pub(super) fn sort(&self, entries: &mut [Placed]) {
        let time =
            |a: &Entry, b: &Entry| (&a.origin.started_at, &a.origin.run).cmp(&(&b.origin.started_at, &b.origin.run));
        match self {
            By::Date => entries.arrange_by(|a, b| time(&a.entry, &b.entry)),
            By::Kernel | By::Host => {
                entries.arrange_by(|a, b| natural(&a.level, &b.level).then_with(|| time(&a.entry, &b.entry)));
            }
            By::Program | By::Label(_) => {
                let mut first: BTreeMap<String, String> = BTreeMap::new();
                for Placed { level, entry, .. } in entries.iter() {
                    let at = first.entry(level.clone()).or_insert_with(|| entry.origin.started_at.clone());
                    if entry.origin.started_at < *at {
                        at.clone_from(&entry.origin.started_at);
                    }
                }
                entries.arrange_by(|a, b| {
                    (&first[&a.level], &a.level)
                        .cmp(&(&first[&b.level], &b.level))
                        .then_with(|| time(&a.entry, &b.entry))
                });
            }
        }
    }
}

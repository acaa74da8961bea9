//! The base of an improvement: what other rows are divided by.

use super::source::{Key, Panel, Series, Source};
use crate::rows;

/// The side by which all others are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    /// The same subject in another run.
    Run(usize, &'a str),
    /// Another subject of the same run, or of the first run that has it.
    Subject(&'a str),
    /// The same subject of the same run under another variant.
    Variant(&'a str),
}

impl<'a> Reference<'a> {
    /// Returns the base that `wanted` names, or a default.
    pub fn choose(source: &Source<'a>, wanted: Option<&str>) -> Option<Reference<'a>> {
        let keys = || source.panels.iter().flat_map(|panel| &panel.series).map(|series| series.key);
        let run = |name: &str| source.runs.iter().position(|(known, _)| *known == name);
        let named = wanted.and_then(|wanted| {
            let subject = || keys().find(|key| key.subject == wanted).map(|key| Reference::Subject(key.subject));
            let variant = || keys().find_map(|key| key.variant.filter(|name| *name == wanted)).map(Reference::Variant);
            let run = run(wanted).map(|index| Reference::Run(index, source.runs[index].0));
            run.or_else(subject).or_else(variant)
        });
        named.or_else(|| Reference::of_itself(source))
    }

    /// Returns `pipe`, or the first candidate; with only one subject, its first variant or the first run.
    fn of_itself(source: &Source<'a>) -> Option<Reference<'a>> {
        let series = || source.panels.iter().flat_map(|panel| &panel.series);
        let candidates = || series().filter(|series| series.rows.iter().any(|row| rows::competes(row)));
        let first = candidates().next()?.key;
        if candidates().any(|series| series.key.subject != first.subject) {
            let pipe = candidates().find(|series| series.key.subject == "pipe");
            return Some(Reference::Subject(pipe.map_or(first.subject, |series| series.key.subject)));
        }
        if let Some(variant) = first.variant {
            return Some(Reference::Variant(variant));
        }
        (source.runs.len() > 1).then(|| Reference::Run(first.run, source.runs[first.run].0))
    }

    /// Returns its name.
    pub fn name(&self) -> &'a str {
        match *self {
            Reference::Run(_, name) | Reference::Subject(name) | Reference::Variant(name) => name,
        }
    }

    /// Returns the base of `series` in this panel; `None` for the base itself, and if the panel has no base for it.
    pub fn beside<'p>(&self, panel: &'p Panel<'a>, series: &Series<'a>) -> Option<&'p Series<'a>> {
        let find = |key: Key<'_>| panel.series.iter().find(|other| other.key == key);
        let key = series.key;
        let base = match *self {
            Reference::Run(run, _) => find(Key { run, ..key }),
            Reference::Variant(variant) => find(Key { variant: Some(variant), ..key }),
            Reference::Subject(subject) => {
                let own = find(Key { subject, ..key }).or_else(|| find(Key { subject, variant: None, ..key }));
                own.or_else(|| panel.series.iter().find(|other| other.key.subject == subject))
            }
        };
        base.filter(|base| base.key != key)
    }
}

#[cfg(test)]
mod tests;

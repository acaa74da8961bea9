//! The base of an improvement, and the improvement of one row: a ratio of rates with its interval.
//!
//! The ratio is that of every comparison, on the page and on the terminal: within one run it is taken inside each block, so
//! that drift of the machine cancels; two runs share no blocks, and there all launches are compared with all.

use headwater_results::compare::Ratio;
use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::estimate::Estimate;
use headwater_results::schema::{Better, RowResult};

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

/// Returns how many times as good as `base` the row is, by the ratio of every comparison ([`Ratios`]): paired by block
/// within one run, of independent launches otherwise. More than 1 is better. `same_run` tells whether both share blocks.
pub(crate) fn ratio(row: &RowResult, base: &RowResult, same_run: bool) -> Option<Estimate> {
    let (own, other) = (rows::own(row)?, rows::own(base)?);
    if own.metric.unit != other.metric.unit {
        return None;
    }
    // The better side of the division is the one that a larger ratio means.
    let (divisor, dividend) = match own.metric.better {
        Better::Higher => (other, own),
        Better::Lower => (own, other),
    };
    let paired = same_run.then(|| Sample::paired(divisor, dividend)).flatten();
    let medians = || Sample::Independent(vec![divisor.estimate.median.ln()], vec![dividend.estimate.median.ln()]);
    let sample = paired.or_else(|| Sample::independent(divisor, dividend)).unwrap_or_else(medians);
    let Ratio { value, low, high, confidence, n, .. } = Ratios::default().of(&sample)?;
    let is_number = [value, low, high].iter().all(|end| end.is_finite() && *end > 0.0);
    is_number.then_some(Estimate { median: value, low, high, confidence, n })
}

#[cfg(test)]
mod tests;

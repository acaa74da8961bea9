//! What charts are drawn from: runs sorted into panels of series. Made once per page; every chart reads it, none sorts
//! rows for itself.
//!
//! A panel is a pattern at a placement; a series is a subject of one run under one variant, with its rows by size. The
//! number of a series holds for the whole page, so that a transport has one colour everywhere.

use std::collections::HashMap;

use headwater_results::compare::Comparison;
use headwater_results::fit::{DelayFit, DelayPoint, fit_delay};
use headwater_results::schema::{Placement, RowResult, Run, Standing};

use super::base::Reference;
use super::value::{Kind, delays_of_launches_s};
use crate::markup::shorten;
use crate::rows;

/// Characters of a name in a legend.
const LABEL_MAX: usize = 26;

/// What tells one series from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    /// Index of its run.
    pub run: usize,
    /// The transport, primitive or operation.
    pub subject: &'a str,
    /// What its launches ran under.
    pub variant: Option<&'a str>,
}

/// The rows of a subject in a panel.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    /// Which.
    pub key: Key<'a>,
    /// Its number on the page, which gives it colour, marker and dash.
    pub index: usize,
    /// Its name in a legend.
    pub label: String,
    /// What it stands for.
    pub standing: Standing,
    /// Its rows in ascending order of sizes; rows without a size keep the order of the run.
    pub rows: Vec<&'a RowResult>,
    /// The lines through its delays, where it has enough sizes for one.
    pub fit: Option<DelayFit>,
}

/// The rows of one pattern at one placement.
#[derive(Clone, Debug)]
pub(crate) struct Panel<'a> {
    /// The pattern or facility.
    pub pattern: &'a str,
    /// Where its processes ran.
    pub placement: Placement,
    /// Candidates, external programs, limits, null.
    pub series: Vec<Series<'a>>,
    /// The sizes, ascending, each once.
    pub sizes: Vec<u64>,
}

impl Panel<'_> {
    /// `stream, two CPUs`.
    pub fn name(&self) -> String {
        format!("{}, {}", self.pattern, rows::place(self.placement))
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = &RowResult> {
        self.series.iter().flat_map(|series| series.rows.iter().copied())
    }
}

/// Runs, sorted for drawing.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The runs by name.
    pub runs: Vec<(&'a str, &'a Run)>,
    /// Comparisons of runs, or of what else was compared.
    pub comparisons: &'a [Comparison],
    /// In the order of the runs.
    pub panels: Vec<Panel<'a>>,
    /// What improvements are improvements on; absent where there is nothing to improve on.
    pub base: Option<Reference<'a>>,
}

impl<'a> Source<'a> {
    /// Sorts the measured rows of `runs`. `baseline` names a run, a subject or a variant; without it, or if it names
    /// nothing, `pipe` is the base, or else the first candidate.
    pub fn new(runs: &'a [(String, &'a Run)], comparisons: &'a [Comparison], baseline: Option<&str>) -> Source<'a> {
        let runs: Vec<(&str, &Run)> = runs.iter().map(|(name, run)| (name.as_str(), *run)).collect();
        let mut source = Source { panels: panels(&runs), runs, comparisons, base: None };
        source.base = Reference::choose(&source, baseline);
        source
    }
}

/// The panels in the order of first appearance, their series sorted and numbered.
fn panels<'a>(runs: &[(&'a str, &'a Run)]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    let mut places: HashMap<(&str, Placement), usize> = HashMap::new();
    let mut members: HashMap<(usize, Key<'a>), usize> = HashMap::new();
    let short = short_names(&runs.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (run, (_, document)) in runs.iter().enumerate() {
        for result in rows::all_measured(document) {
            let row = &result.row;
            let panel = *places.entry((&row.pattern, row.placement)).or_insert_with(|| {
                panels.push(Panel {
                    pattern: &row.pattern,
                    placement: row.placement,
                    series: Vec::new(),
                    sizes: Vec::new(),
                });
                panels.len() - 1
            });
            let key = Key { run, subject: &row.subject, variant: row.variant.as_deref() };
            let series = &mut panels[panel].series;
            let member = *members.entry((panel, key)).or_insert_with(|| {
                let label = label(&key, (runs.len() > 1).then_some(short[run]));
                series.push(Series { key, index: 0, label, standing: row.standing, rows: Vec::new(), fit: None });
                series.len() - 1
            });
            series[member].rows.push(result);
        }
    }
    for panel in &mut panels {
        panel.series.sort_by_key(|series| rows::rank(series.standing));
        for series in &mut panel.series {
            // Stable, so rows without a size stay where they were.
            series.rows.sort_by_key(|result| result.row.size_bytes);
        }
        panel.sizes = rows::sizes(&panel.rows().collect::<Vec<_>>());
        if Kind::of(panel) != Kind::Other {
            panel.series.iter_mut().for_each(|series| series.fit = fit(&series.rows));
        }
    }
    number(&mut panels);
    panels
}

/// Numbers every key by its first appearance on the page, after what it stands for.
fn number(panels: &mut [Panel<'_>]) {
    let mut keys: Vec<(u8, Key<'_>)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for series in panels.iter().flat_map(|panel| &panel.series) {
        if known.insert(series.key) {
            keys.push((rows::rank(series.standing), series.key));
        }
    }
    keys.sort_by_key(|(rank, _)| *rank);
    let numbers: HashMap<Key<'_>, usize> = keys.into_iter().enumerate().map(|(index, (_, key))| (key, index)).collect();
    for series in panels.iter_mut().flat_map(|panel| &mut panel.series) {
        series.index = numbers.get(&series.key).copied().unwrap_or(0);
    }
}

/// Series with more sizes than this are not fitted: the search for knees grows with the square of the sizes.
const FITTED_SIZES_MAX: usize = 128;

/// The lines through the delays of rows in ascending order of sizes.
fn fit(rows: &[&RowResult]) -> Option<DelayFit> {
    let point = |row: &&RowResult| {
        let own = rows::own(row)?;
        Some(DelayPoint {
            size_bytes: row.row.size_bytes?,
            delays_s: delays_of_launches_s(row)?,
            blocks: own.blocks.clone(),
        })
    };
    if rows.len() > FITTED_SIZES_MAX {
        return None;
    }
    fit_delay(&rows.iter().filter_map(point).collect::<Vec<_>>())
}

/// The names without the folders or tables that all have in common.
pub(crate) fn short_names<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let Some((first, others)) = names.split_first() else { return Vec::new() };
    let separators = first.char_indices().filter(|(_, character)| "/:".contains(*character));
    let shared =
        separators.map(|(at, _)| at + 1).filter(|&end| others.iter().all(|name| name.starts_with(&first[..end])));
    let shared = shared.max().unwrap_or(0);
    // A name that is a folder of another stays whole.
    if names.iter().any(|name| name.len() == shared) {
        names.to_vec()
    } else {
        names.iter().map(|name| &name[shared..]).collect()
    }
}

fn label(key: &Key<'_>, run: Option<&str>) -> String {
    let parts = [Some(key.subject), key.variant, run].into_iter().flatten();
    let parts: Vec<String> = parts.map(|part| shorten(part, LABEL_MAX)).collect();
    parts.join(" \u{b7} ")
}

#[cfg(test)]
mod tests;

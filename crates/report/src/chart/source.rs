//! The input of charts: runs sorted into panels of series. Made once per page; charts do not sort rows themselves.
//!
//! A panel is a pattern at a placement; a series is a subject of one run under one variant, with its rows by size.

use headwater_results::sorting::Arrange;
use std::collections::HashMap;

use headwater_results::compare::Comparison;
use headwater_results::fit::{DelayFit, DelayPoint, fit_delay};
use headwater_results::overhead::is_overhead;
use headwater_results::schema::{Placement, RowResult, Run, Standing};

use super::base::Reference;
use super::family::{self, Look};
use super::value::{Kind, delays_of_launches_s};
use crate::markup::shorten;
use crate::rows;

/// The most characters of a name in a legend.
const LABEL_MAX: usize = 26;

/// Identifies a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    /// The index of its run.
    pub run: usize,
    /// The transport, primitive or operation.
    pub subject: &'a str,
    /// The variant of its launches.
    pub variant: Option<&'a str>,
}

/// The rows of a subject in a panel.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    /// Its identification.
    pub key: Key<'a>,
    /// Its colour and marker, which its name determines, and its dash, which is that of its run and variant.
    pub look: Look,
    /// Its name in a legend.
    pub label: String,
    /// Whether it is a candidate, a limit or null.
    pub standing: Standing,
    /// Its rows by ascending size. Rows without a size keep the order of the run.
    pub rows: Vec<&'a RowResult>,
    /// The lines through its delays, if it has enough sizes.
    pub fit: Option<DelayFit>,
}

/// The rows of one pattern at one placement.
#[derive(Clone, Debug)]
pub(crate) struct Panel<'a> {
    /// The pattern or facility.
    pub pattern: &'a str,
    /// The placement of its processes.
    pub placement: Placement,
    /// Candidates, external programs, limits, null, in this order.
    pub series: Vec<Series<'a>>,
    /// The sizes, ascending and without duplicates.
    pub sizes: Vec<u64>,
}

impl Panel<'_> {
    /// Returns its name: `One way, same-size reads, two CPUs`.
    pub fn name(&self) -> String {
        format!("{}, {}", crate::meaning::of_pattern(self.pattern), rows::placement_words(self.placement))
    }

    /// Returns all rows.
    pub fn rows(&self) -> impl Iterator<Item = &RowResult> {
        self.series.iter().flat_map(|series| series.rows.iter().copied())
    }
}

/// Runs, sorted for drawing.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The runs by name.
    pub runs: Vec<(&'a str, &'a Run)>,
    /// The comparisons between the runs or their variants.
    pub comparisons: &'a [Comparison],
    /// The panels in the order of the runs.
    pub panels: Vec<Panel<'a>>,
    /// The base of improvements; `None` if there is nothing to compare.
    pub base: Option<Reference<'a>>,
}

impl<'a> Source<'a> {
    /// Sorts the measured rows of `runs`. `baseline` names a run, a subject or a variant. Without it, or if it is
    /// unknown, the base is `pipe`, or else the first candidate.
    pub fn new(runs: &'a [(String, &'a Run)], comparisons: &'a [Comparison], baseline: Option<&str>) -> Source<'a> {
        let runs: Vec<(&str, &Run)> = runs.iter().map(|(name, run)| (name.as_str(), *run)).collect();
        let mut source = Source { panels: panels(&runs), runs, comparisons, base: None };
        source.base = Reference::choose(&source, baseline);
        source
    }
}

/// Returns the panels in the order of first appearance, with their series sorted and numbered.
fn panels<'a>(runs: &[(&'a str, &'a Run)]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    let mut places: HashMap<(&str, Placement), usize> = HashMap::new();
    let mut members: HashMap<(usize, Key<'a>), usize> = HashMap::new();
    let short = short_names(&runs.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    // The rows of a configuration are no mechanisms side by side: they have a chart of their own.
    let runs_of_rows = runs.iter().enumerate().filter(|(_, (_, run))| !is_overhead(run));
    for (run, (_, document)) in runs_of_rows {
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
                series.push(Series {
                    key,
                    look: Look::default(),
                    label,
                    standing: row.standing,
                    rows: Vec::new(),
                    fit: None,
                });
                series.len() - 1
            });
            series[member].rows.push(result);
        }
    }
    for panel in &mut panels {
        panel.series.arrange_by_key(|series| rows::rank(series.standing));
        for series in &mut panel.series {
            // A stable sort: rows without a size keep their order.
            series.rows.arrange_by_key(|result| result.row.size_bytes);
        }
        panel.sizes = rows::sizes(&panel.rows().collect::<Vec<_>>());
        if Kind::of(panel) != Kind::Other {
            panel.series.iter_mut().for_each(|series| series.fit = fit(&series.rows));
        }
    }
    dress(&mut panels);
    panels
}

/// Gives each series its appearance. The dash is the place of its run and variant on the page.
fn dress(panels: &mut [Panel<'_>]) {
    let series = || panels.iter().flat_map(|panel| &panel.series);
    let mut circumstances = rows::unique(series().map(|series| (series.key.run, series.key.variant)));
    circumstances.arrange_by_key(|(run, _)| *run);
    for series in panels.iter_mut().flat_map(|panel| &mut panel.series) {
        let own = (series.key.run, series.key.variant);
        let dash = circumstances.iter().position(|one| *one == own).unwrap_or(0);
        series.look = Look { dash, ..family::look(series.key.subject) };
    }
}

/// Series with more sizes are not fitted: the search for knees takes time proportional to the square of their number.
const FITTED_SIZES_MAX: usize = 128;

/// Fits lines to the delays of rows with ascending sizes.
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

/// Whether all series are of one run, so that their rows share blocks.
pub(crate) fn is_one_run(series: &[&Series<'_>]) -> bool {
    series.iter().all(|one| one.key.run == series[0].key.run)
}

/// Returns the names without their common directories or tables.
pub(crate) fn short_names<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let Some((first, others)) = names.split_first() else { return Vec::new() };
    let separators = first.char_indices().filter(|(_, character)| "/:".contains(*character));
    let shared =
        separators.map(|(at, _)| at + 1).filter(|&end| others.iter().all(|name| name.starts_with(&first[..end])));
    let shared = shared.max().unwrap_or(0);
    // A name that is a prefix directory of another one is kept whole.
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

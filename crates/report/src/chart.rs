//! Static charts: a table of kinds, one file each. Called by the page, and by the command for `--svg`.
//!
//! A new chart is a file with a `CHART` and its line below. A chart draws one figure for each panel of rows that it can
//! show, or none; it never estimates and never reads anything but its [`Source`].

use headwater_results::compare::Comparison;
use headwater_results::schema::{Placement, Run};

use crate::grid::Grid;

mod base;
mod delay;
mod distribution;
mod dots;
mod forest;
mod heatmap;
mod improvement;
mod marks;
mod performance;
mod scale;
mod sizes;
mod source;
mod svg;
mod table;
mod throughput;
mod units;
mod value;
mod xy;

pub(crate) use source::{Source, short_names};
pub use svg::Drawing;
pub(crate) use table::{flags, spread};
pub(crate) use value::Kind;

/// A kind of chart.
pub struct Chart {
    /// What `report --svg` calls it.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub summary: &'static str,
    /// The rows without which it has nothing to show.
    pub needs: &'static str,
    /// Its figures, in the order of the panels.
    draw: fn(&Source<'_>) -> Vec<Figure>,
}

/// Every chart, the four views of the papers first (MEASURING.md section 3).
pub static TABLE: &[Chart] = &[
    performance::CHART,
    delay::CHART,
    throughput::CHART,
    improvement::CHART,
    distribution::CHART,
    heatmap::CHART,
    forest::CHART,
    dots::CHART,
];

/// A picture with what belongs to it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The chart's name.
    pub view: &'static str,
    /// The pattern that it is about; empty for comparisons.
    pub pattern: String,
    /// Where its rows ran, if it is about one placement.
    pub placement: Option<Placement>,
    /// What it is about: `stream, two CPUs`.
    pub heading: String,
    /// How to read it, in words.
    pub caption: String,
    /// What the page's script must know: attribute names without `data-`, and their values.
    pub(crate) data: Vec<(&'static str, String)>,
    /// The picture.
    pub drawing: Drawing,
    /// The same in figures, or the fit, below what they are: unit and direction.
    pub(crate) table: Option<(String, Grid)>,
}

/// The most figures of one chart; what a run has beyond them is in the table of rows.
pub(crate) const FIGURES_MAX: usize = 24;

/// The most series in one figure; the others are in the table of rows.
pub(crate) const SERIES_MAX: usize = 24;

impl Chart {
    /// Its figures.
    pub(crate) fn figures(&self, source: &Source<'_>) -> Vec<Figure> {
        (self.draw)(source)
    }
}

/// The chart of that name.
pub fn find(name: &str) -> Option<&'static Chart> {
    TABLE.iter().find(|chart| chart.name == name)
}

/// Whether a file that begins so is a chart of ours ([`Drawing::standalone`]), which a newer one may replace.
pub fn is_standalone(beginning: &str) -> bool {
    beginning.contains(r#"class="plot" viewBox="#)
}

/// The figures of one chart for `runs`, each of which can stand alone ([`Drawing::standalone`]). `baseline` names a run,
/// a subject or a variant, as for the page.
pub fn figures(
    chart: &Chart,
    runs: &[(String, &Run)],
    comparisons: &[Comparison],
    baseline: Option<&str>,
) -> Vec<Figure> {
    chart.figures(&Source::new(runs, comparisons, baseline))
}

#[cfg(test)]
mod tests;

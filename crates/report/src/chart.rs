//! Static charts: a table of kinds, one file each. Used by the HTML page, and by the command for `--svg`.
//!
//! A new chart is a file with a `CHART` and a line in the table below. A chart draws one figure for each panel of rows
//! that it can show, or none. It estimates nothing and reads only its [`Source`].

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
    /// The name for `report --svg`.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub summary: &'static str,
    /// The rows that it needs, in words.
    pub needs: &'static str,
    /// Draws its figures, in the order of the panels.
    draw: fn(&Source<'_>) -> Vec<Figure>,
}

/// All charts, the four views of the papers first (MEASURING.md section 3).
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

/// A drawing with its heading, caption and table.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of the chart.
    pub view: &'static str,
    /// The pattern of its rows; empty for comparisons.
    pub pattern: String,
    /// The placement of its rows, if it shows only one.
    pub placement: Option<Placement>,
    /// The subject of the figure: `stream, two CPUs`.
    pub heading: String,
    /// How to read it.
    pub caption: String,
    /// Attributes for the page's script: names without the prefix `data-`, and values.
    pub(crate) data: Vec<(&'static str, String)>,
    /// The drawing.
    pub drawing: Drawing,
    /// The values or the fit as a table, below a caption with unit and direction.
    pub(crate) table: Option<(String, Grid)>,
}

/// The most figures of one chart. Further data is in the table of rows.
pub(crate) const FIGURES_MAX: usize = 24;

/// The most series of one figure. Further series are in the table of rows.
pub(crate) const SERIES_MAX: usize = 24;

impl Chart {
    /// Draws its figures, at most [`FIGURES_MAX`].
    pub(crate) fn figures(&self, source: &Source<'_>) -> Vec<Figure> {
        (self.draw)(source)
    }
}

/// Returns the chart with that name.
pub fn find(name: &str) -> Option<&'static Chart> {
    TABLE.iter().find(|chart| chart.name == name)
}

/// Whether a file with this beginning is a chart of ours ([`Drawing::standalone`]), which a newer one may replace.
pub fn is_standalone(beginning: &str) -> bool {
    beginning.contains(r#"class="plot" viewBox="#)
}

/// Draws the figures of one chart for `runs`, as standalone drawings ([`Drawing::standalone`]). `baseline` names a run,
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

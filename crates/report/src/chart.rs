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
mod emphasis;
mod ends;
mod family;
mod forest;
mod heatmap;
pub(crate) mod history;
mod improvement;
mod layout;
mod marks;
mod names;
mod overhead;
mod performance;
mod ratios;
mod reading;
mod scale;
mod sizes;
mod source;
mod svg;
mod table;
mod throughput;
mod units;
mod value;
mod xy;

pub(crate) use family::Look;
pub(crate) use layout::Layout;
pub(crate) use marks::sample;
pub(crate) use reading::Reading;
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
    overhead::CHART,
    dots::CHART,
];

/// A drawing with its heading, caption and table.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its number on the page.
    pub(crate) number: usize,
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
    /// The drawings.
    pub(crate) drawings: Drawings,
    /// The values or the fit as a table, below a caption with unit and direction.
    pub(crate) table: Option<(String, Grid)>,
}

/// The drawings of a figure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawings {
    /// The scales that a reader can choose, the first one as it is drawn at first; each wide and narrow.
    pub scales: Vec<(&'static str, [Drawing; 2])>,
    /// The lines, in the order of their numbers in the drawings. Charts of another kind have none.
    pub lines: Vec<Line>,
}

/// A line of a figure, for the page's script.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub name: String,
    pub look: Look,
    /// Whether it is drawn at first.
    pub is_first: bool,
    /// The words about each of its points.
    pub readings: Vec<Reading>,
}

impl Drawings {
    /// Returns the drawings of a chart without a choice of scales.
    pub(crate) fn plain(draw: impl Fn(Layout) -> Drawing) -> Drawings {
        Drawings { scales: vec![("", Layout::ALL.map(draw))], lines: Vec::new() }
    }
}

impl Figure {
    /// Returns the wide drawing as it is drawn at first.
    pub fn drawing(&self) -> &Drawing {
        &self.drawings.scales[0].1[0]
    }
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

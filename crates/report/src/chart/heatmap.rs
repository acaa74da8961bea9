//! A map of sizes by series: each cell contains the figure, shaded by its distance to the best candidate of its size.

use std::collections::HashMap;

use headwater_results::schema::RowResult;

use super::names::{abbreviated, widest};
use super::source::{Panel, Series, Source, is_one_run};
use super::svg::{Anchor, Drawing, SvgWriter};
use super::value::{self, Kind};
use super::{Chart, Drawings, Figure, Layout, SERIES_MAX, sizes, table};
use crate::{judge, units};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "heatmap",
    summary: "message size by transport, shaded by nearness to the best",
    needs: "two transports at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

/// Height for the sizes.
const TOP: f64 = 30.0;
/// Height of a row.
const LINE: f64 = 24.0;
/// The narrowest cell with room for its figure.
const CELL_MIN: f64 = 56.0;
/// The distance between a name and its cells.
const NAME_GAP: f64 = 10.0;
/// The shade of the best cell, light enough for legible text.
const SHADE_MAX: f64 = 0.55;
/// The ratio to the best at which a cell has no shade: that of the worst candidate, within these limits.
const RANGE: (f64, f64) = (2.0, 50.0);
/// The most sizes; of more, some are selected evenly.
const SIZES_MAX: usize = 17;

fn draw(_: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    let kind = Kind::of(panel);
    if kind == Kind::Other || panel.series.len() < 2 {
        return None;
    }
    let all = &panel.sizes;
    let sizes = chosen(all);
    let shown: Vec<&Series<'_>> = panel.series.iter().take(SERIES_MAX).collect();
    let (cells, range) = cells(&shown, &sizes);
    let best = cells.values().filter(|cell| cell.is_best).count();
    let what = if kind == Kind::Rate { "messages/s, higher is better" } else { "duration, lower is better" };
    let title = format!("Size by transport: {}", panel.name());
    let desc = format!(
        "{} transports by {} sizes, {what}; {best} cells are the best of their size.",
        shown.len(),
        sizes.len()
    );
    let drawings = Drawings::plain(|layout| {
        let mut pen = SvgWriter::default();
        let height = blocks(&mut pen, layout, (&shown, &sizes), &cells, kind);
        Drawing::new((layout.width(), height), &title, &desc, pen)
    });
    let mut caption = format!(
        "{}; the darkest is the best candidate of its size, blank is {} as slow, and what does not compete has no \
         shade. {}",
        if kind == Kind::Rate { "Messages/s, higher is better" } else { "Durations, lower is better" },
        units::times(range),
        crate::meaning::marked("Bold"),
    );
    if sizes.len() < all.len() {
        caption += &format!(" {} of {} sizes.", sizes.len(), all.len());
    }
    Some(sizes::figure(CHART.name, panel, caption, drawings, None))
}

/// Draws the sizes as columns, in as many blocks below each other as the width needs. Returns the height.
fn blocks(
    pen: &mut SvgWriter,
    layout: Layout,
    (shown, sizes): (&[&Series<'_>], &[u64]),
    cells: &HashMap<(usize, usize), Cell>,
    kind: Kind,
) -> f64 {
    let names = shown.iter().map(|series| series.label.as_str());
    let left = widest(names, layout.choose((120.0, 220.0), (100.0, 170.0))) + NAME_GAP;
    let columns = (((layout.width() - left) / CELL_MIN) as usize).max(1);
    let blocks = sizes.len().div_ceil(columns);
    let columns = sizes.len().div_ceil(blocks);
    let width = (layout.width() - left) / columns as f64;
    let block_height = TOP + LINE * shown.len() as f64 + 6.0;
    for (block, sizes) in sizes.chunks(columns).enumerate() {
        let top = block_height * block as f64;
        pen.open("axis", "");
        pen.text("label axis-title", (left - NAME_GAP, top + 18.0), Anchor::End, layout.choose("message size", "size"));
        for (column, size) in sizes.iter().enumerate() {
            let x = left + width * (column as f64 + 0.5);
            pen.text("label", (x, top + 18.0), Anchor::Middle, &units::size_in_words(*size));
        }
        pen.close();
        for (line, series) in shown.iter().enumerate() {
            let y = top + TOP + LINE * line as f64;
            let name = abbreviated(&series.label, left - NAME_GAP);
            pen.text("label name", (left - NAME_GAP, y + 16.0), Anchor::End, &name);
            for column in 0..sizes.len() {
                let Some(cell) = cells.get(&(line, block * columns + column)) else { continue };
                let x = left + width * column as f64;
                let shade = format!(r#"fill-opacity="{:.2}" rx="2""#, cell.shade);
                pen.rect("cell", (x + 1.0, y + 1.0), (width - 2.0, LINE - 2.0), &shade);
                let class = if cell.is_best { "label value best" } else { "label value" };
                pen.text(class, (x + width / 2.0, y + 16.0), Anchor::Middle, &text(cell.delay_s, kind));
            }
        }
    }
    block_height * blocks as f64
}

struct Cell {
    delay_s: f64,
    shade: f64,
    is_best: bool,
}

/// Returns the cells by line and column, and the ratio to the best at which a cell has no shade.
fn cells(shown: &[&Series<'_>], sizes: &[u64]) -> (HashMap<(usize, usize), Cell>, f64) {
    let mut cells = HashMap::new();
    // The ratio of each candidate to the best of its size.
    let mut distances: Vec<((usize, usize), f64)> = Vec::new();
    for (column, &size) in sizes.iter().enumerate() {
        let rows: Vec<Option<&RowResult>> = shown.iter().map(|series| table::at(series, size)).collect();
        let present: Vec<&RowResult> = rows.iter().copied().flatten().collect();
        let leaders = judge::marked(&present, is_one_run(shown));
        let delays = present.iter().filter(|row| crate::rows::competes(row)).filter_map(|row| value::delay_s(row));
        let leading = delays.map(|delay| delay.median).min_by(f64::total_cmp);
        for (line, row) in rows.into_iter().enumerate() {
            let Some((row, delay)) = row.and_then(|row| Some((row, value::delay_s(row)?.median))) else { continue };
            if let Some(best) = leading.filter(|_| crate::rows::competes(row)) {
                distances.push(((line, column), (delay / best).max(1.0)));
            }
            let is_best = leaders.iter().any(|leader| std::ptr::eq(*leader, row));
            cells.insert((line, column), Cell { delay_s: delay, shade: 0.0, is_best });
        }
    }
    let range = distances.iter().map(|(_, distance)| *distance).fold(1.0, f64::max).clamp(RANGE.0, RANGE.1);
    for (place, distance) in distances {
        if let Some(cell) = cells.get_mut(&place) {
            cell.shade = SHADE_MAX * (1.0 - distance.ln() / range.ln()).clamp(0.0, 1.0);
        }
    }
    (cells, range)
}

/// Formats a value as in tables, with a narrow space before its unit.
fn text(delay_s: f64, kind: Kind) -> String {
    let text = if kind == Kind::Rate { units::prefixed(1.0 / delay_s) } else { units::duration_ns(delay_s * 1e9) };
    text.replace(' ', "\u{2009}")
}

/// Returns at most [`SIZES_MAX`] of the sizes, evenly spaced, including the first and the last.
fn chosen(sizes: &[u64]) -> Vec<u64> {
    if sizes.len() <= SIZES_MAX {
        return sizes.to_vec();
    }
    let step = (sizes.len() - 1) as f64 / (SIZES_MAX - 1) as f64;
    (0..SIZES_MAX).map(|index| sizes[(index as f64 * step).round() as usize]).collect()
}

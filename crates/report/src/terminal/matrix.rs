//! `matrix`: the time for a fixed number of messages, by size and count, in the form of the FIFO papers.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{Fixed, by_column, by_size, own};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::Grid;
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["matrix"], draw };

const DEFINITION: &str = "A fixed number of messages, from before the first send to after the last receive, mean of \
                          the repetitions. us, lower is better.";

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "matrix");
    framed("Size by count (matrix, one_way)", DEFINITION, run, &rows, style, |rows| {
        let mut counts: Vec<u64> = rows.iter().filter_map(|row| row.row.messages).collect();
        counts.sort_unstable();
        counts.dedup();
        let fixed = Fixed::of(rows.iter().filter_map(|row| rows::own(row)).map(|own| own.estimate.median));
        let sizes = rows::sizes(rows);
        let grids: Vec<(String, Grid)> = if counts.len() <= 1 {
            let grid = by_size(rows, |row, best| own(row, |us| fixed.text(us), best, page));
            vec![(counts.first().map(|&count| messages(count)).unwrap_or_default(), grid)]
        } else {
            sizes
                .iter()
                .map(|&size| (format!("{}:", units::size_in_words(size)), by_count(rows, size, &counts, fixed, page)))
                .collect()
        };
        let corner = if counts.len() <= 1 { "size" } else { "messages" };
        let drawn = grids.iter().map(|(name, grid)| captioned(name, &grid.draw_either_way(corner, style), style));
        drawn.collect::<Vec<_>>().join("\n\n")
    })
}

fn messages(count: u64) -> String {
    format!("{} messages:", units::grouped(count as f64))
}

/// Returns a table of one size with a column per number of messages, so that transports are below each other.
fn by_count(rows: &[&RowResult], size: u64, counts: &[u64], fixed: Fixed, page: &Page<'_>) -> Grid {
    let columns = counts.iter().map(|&count| {
        let is_wanted = |row: &&RowResult| row.row.size_bytes == Some(size) && row.row.messages == Some(count);
        (units::grouped(count as f64), rows.iter().copied().filter(is_wanted).collect())
    });
    by_column("transport", columns.collect(), |row, best| own(row, |us| fixed.text(us), best, page))
}

//! The cost of an event in the program: each row relative to the lower limit of recording.

use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::schema::RowResult;

use super::Section;
use super::cells::spread;
use super::frame::framed;
use super::page::Page;
use crate::grid::{Cell, Grid, Line};
use crate::rows;
use crate::text::wrap;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["trace"], draw };

/// The row of the lower limit.
const LEAST: &str = "bare-record";

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "trace");
    let definition = "Time of each, lower is better; median over launches. An event of three fields is a record of 32 bytes. \
                      `bare-record` stores as much with a stamp and nothing else; ratios to it are paired \
                      within blocks.";
    framed("Events", definition, run, &rows, style, |rows| {
        let least = rows.iter().copied().find(|row| row.row.subject == LEAST);
        let lines = rows.iter().map(|row| {
            let estimate = &rows::own(row).expect("measured rows have a figure").estimate;
            let value = Cell {
                value: units::duration_ns(estimate.median),
                spread: spread(estimate, style),
                marks: page.marks(&row.flags),
                is_best: false,
            };
            let times = ratio(least, row).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            Line {
                label: row.row.subject.clone(),
                is_quiet: !rows::competes(row),
                cells: vec![value, Cell::plain(times)],
            }
        });
        let heads = vec!["median".to_owned(), format!("/ {LEAST}")];
        let grid = Grid { corner: "operation".to_owned(), heads, lines: lines.collect() };
        let sentences: Vec<String> = [("event", "in a CPU's log"), ("event-own-log", "in a thread's log")]
            .into_iter()
            .filter_map(|(name, place)| {
                let row = rows.iter().copied().find(|row| row.row.subject == name)?;
                Some(format!("A recorded event {place} takes {:.2} times the least.", ratio(least, row)?))
            })
            .collect();
        let words = wrap(&sentences.join(" "), style.columns(), 0);
        if words.is_empty() { grid.draw(style) } else { format!("{}\n{words}", grid.draw(style)) }
    })
}

fn ratio(least: Option<&RowResult>, row: &RowResult) -> Option<f64> {
    let sample = Sample::paired(rows::own(least?)?, rows::own(row)?)?;
    Some(Ratios::default().of(&sample)?.value)
}

//! A table: labels on the left, numbers on the right, no borders. Called by sections; independent of the contents.
//!
//! A table that is too wide is split into several, or transposed if that needs fewer of them.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use headwater_results::foreign::line;

use crate::style::{Style, best, quiet, strong, width_of};

/// Spaces to the left of a table.
const INDENT: usize = 2;
/// Spaces between two columns.
const GAP: usize = 2;
/// The minimum width of labels, whatever the width of the numbers.
const LABEL_MIN: usize = 12;
/// The maximum width of a label that becomes a column head.
const HEAD_MAX: usize = 20;

/// A number with its interval and marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The number.
    pub value: String,
    /// Half the width of its interval.
    pub spread: String,
    /// Letters of its flags.
    pub marks: String,
    /// Whether no other value of its column is better.
    pub is_best: bool,
}

impl Cell {
    /// Makes a cell of a number only.
    pub fn plain(value: impl Into<String>) -> Cell {
        Cell { value: value.into(), ..Cell::default() }
    }
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The label.
    pub label: String,
    /// Whether it is displayed dimmed: limits and the null transport.
    pub is_quiet: bool,
    /// One cell per column.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The text above the labels.
    pub corner: String,
    /// The column heads.
    pub heads: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

impl Grid {
    /// Returns the table, with lines that fit the width of `style`; a wider table is split into several.
    pub fn draw(&self, style: &Style) -> String {
        let parts = self.parts(style);
        let drawn: Vec<String> = parts.into_iter().map(|columns| self.draw_columns(columns, style)).collect();
        drawn.join("\n\n")
    }

    /// Returns the table as [`Grid::draw`], transposed if that needs fewer parts. `corner` is the text above the former
    /// heads.
    pub fn draw_either_way(&self, corner: &str, style: &Style) -> String {
        let turned = self.turned(corner, style);
        if turned.parts(style).len() < self.parts(style).len() { turned.draw(style) } else { self.draw(style) }
    }

    /// Transposes the table.
    fn turned(&self, corner: &str, style: &Style) -> Grid {
        // A line of text between groups cannot become a column.
        let columns: Vec<&Line> = self.lines.iter().filter(|line| !line.cells.is_empty()).collect();
        let lines = self.heads.iter().enumerate().map(|(index, head)| Line {
            label: head.clone(),
            is_quiet: false,
            cells: columns.iter().map(|line| line.cells.get(index).cloned().unwrap_or_default()).collect(),
        });
        Grid {
            corner: corner.to_owned(),
            heads: columns.iter().map(|line| cut(line.label.trim_start(), HEAD_MAX, style)).collect(),
            lines: lines.collect(),
        }
    }

    /// Divides the columns into as few parts as possible, of equal width.
    fn parts(&self, style: &Style) -> Vec<std::ops::Range<usize>> {
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| self.shape(column, style).width() + GAP).collect();
        let room = style.columns().saturating_sub(INDENT + self.label_width(style));
        let mut count = 1;
        loop {
            let per_part = widths.len().div_ceil(count).max(1);
            let parts: Vec<_> =
                (0..widths.len()).step_by(per_part).map(|start| start..(start + per_part).min(widths.len())).collect();
            let fits = |part: &std::ops::Range<usize>| widths[part.clone()].iter().sum::<usize>() <= room;
            if per_part == 1 || parts.iter().all(fits) {
                return parts;
            }
            count += 1;
        }
    }

    /// Labels are cut if the widest column would not fit beside them.
    fn label_width(&self, style: &Style) -> usize {
        let wanted = self.lines.iter().map(|line| width_of(&line.label)).chain([width_of(&self.corner)]).max();
        let widest = (0..self.heads.len()).map(|column| self.shape(column, style).width()).max().unwrap_or(0);
        let room = style.columns().saturating_sub(INDENT + GAP + widest).max(LABEL_MIN);
        wanted.unwrap_or(0).min(room)
    }

    fn shape(&self, column: usize, style: &Style) -> Shape {
        let mut shape = Shape { head: width_of(&self.heads[column]), ..Shape::default() };
        for cell in self.lines.iter().filter_map(|line| line.cells.get(column)) {
            shape.value = shape.value.max(width_of(&value_of(cell, style)));
            shape.spread = shape.spread.max(width_of(&cell.spread));
            shape.marks = shape.marks.max(width_of(&cell.marks));
        }
        shape
    }

    fn draw_columns(&self, columns: std::ops::Range<usize>, style: &Style) -> String {
        let label_width = self.label_width(style);
        let shapes: Vec<Shape> = columns.clone().map(|column| self.shape(column, style)).collect();
        let heads = columns.clone().zip(&shapes).map(|(column, shape)| shape.head(&self.heads[column]));
        let mut table = Table::new();
        table.load_style(table_style(style)).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header([strong(&cut(&self.corner, label_width, style))].into_iter().chain(heads));
        for line in &self.lines {
            let empty = Cell::default();
            let cells = columns
                .clone()
                .zip(&shapes)
                .map(|(column, shape)| shape.cell(line.cells.get(column).unwrap_or(&empty), line.is_quiet, style));
            let label = cut(&line.label, label_width, style);
            let label = if line.is_quiet { quiet(&label) } else { label };
            table.add_row([label].into_iter().chain(cells));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if index == 0 { INDENT as u16 } else { GAP as u16 }, 0));
            column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        table.trim_fmt()
    }
}

/// The widths of the parts of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    head: usize,
    value: usize,
    spread: usize,
    marks: usize,
}

impl Shape {
    fn width(self) -> usize {
        self.head.max(self.value) + self.tail()
    }

    /// Returns the width to the right of the value.
    fn tail(self) -> usize {
        [self.spread, self.marks].into_iter().filter(|&width| width > 0).map(|width| width + 1).sum()
    }

    /// Aligns the head with the value, not with the interval or marks.
    fn head(self, head: &str) -> String {
        format!("{}{}", strong(head), " ".repeat(self.tail()))
    }

    fn cell(self, cell: &Cell, is_quiet: bool, style: &Style) -> String {
        let value = value_of(cell, style);
        let value = match (cell.is_best, is_quiet) {
            _ if value.is_empty() => value,
            (true, _) => best(&value),
            (false, true) => quiet(&value),
            (false, false) => value,
        };
        let mut text = value;
        // Nothing is printed for absent parts, so that blanks at the end of a line can be trimmed.
        let parts = [(&cell.spread, self.spread), (&cell.marks, self.marks)];
        for (index, (part, width)) in parts.into_iter().enumerate().filter(|(_, (_, width))| *width > 0) {
            let blanks = " ".repeat(width - width_of(part));
            let part = if part.is_empty() { String::new() } else { quiet(part) };
            // The interval is right-aligned, so that its units are below each other; marks are left-aligned.
            text += &if index == 0 { format!(" {blanks}{part}") } else { format!(" {part}{blanks}") };
        }
        text
    }
}

/// Without colour, an asterisk marks the best value.
fn value_of(cell: &Cell, style: &Style) -> String {
    if cell.is_best && !style.colour { format!("*{}", cell.value) } else { cell.value.clone() }
}

/// Returns at most `width` columns of `text`, on one line.
pub(crate) fn cut(text: &str, width: usize, style: &Style) -> String {
    let flat = line(text);
    if width_of(&flat) <= width {
        return flat.into_owned();
    }
    flat.chars().take(width.saturating_sub(1)).chain([style.ellipsis()]).collect()
}

/// A thin line below the heads, and no other lines.
fn table_style(style: &Style) -> TableStyle {
    let rule = style.rule();
    TableStyle::new().header_separator(LineStyle::none().fill(rule))
}

#[cfg(test)]
mod tests;

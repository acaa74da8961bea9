//! A table of text columns: heads, then rows, aligned, without borders. It knows nothing of what it shows.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use headwater_results::foreign::line;

/// A column: its head, and whether it has numbers, which are aligned on the right.
pub(super) type Column = (&'static str, bool);

/// The table, a line each for the heads and every row. A cell's unfit characters are escaped: other programs choose
/// some of the texts.
pub(super) fn lines(columns: &[Column], rows: &[Vec<String>]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|(head, _)| *head));
    for row in rows {
        table.add_row(row.iter().map(|cell| line(cell)));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        let is_number = columns.get(index).is_some_and(|(_, is_number)| *is_number);
        column.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
    }
    table.trim_fmt().lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// The first `width` characters of a line.
pub(super) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['>']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_control_characters_escaped() {
        let rows = [
            ["a".to_owned(), "1".to_owned(), "x\x1b[2Jy".to_owned()],
            ["long".to_owned(), "100".to_owned(), String::new()],
        ];
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        let lines = lines(&[("NAME", false), ("COUNT", true), ("TEXT", false)], &rows);
        assert_eq!(lines, ["NAME  COUNT  TEXT", "a         1  x\\u001b[2Jy", "long    100"]);
    }

    #[test]
    fn a_line_that_is_cut_says_so() {
        assert_eq!([cut("12345", 5), cut("123456", 5), cut("1", 0)], ["12345", "1234>", ">"]);
    }
}

use super::*;
use crate::style::finish;
use expect_test::{Expect, expect};

const STYLE: Style = Style { colour: false, width: 60, unicode: false };

fn cell(value: &str, spread: &str, marks: &str, is_best: bool) -> Cell {
    Cell { value: value.into(), spread: spread.into(), marks: marks.into(), is_best }
}

fn line(label: &str, cells: Vec<Cell>) -> Line {
    Line { label: label.into(), is_quiet: label.starts_with(' '), cells }
}

fn grid(columns: usize) -> Grid {
    let cells = |value| {
        let of = |column| cell(value, "+-4%", if column == 0 { "mw" } else { "" }, false);
        (0..columns).map(of).collect::<Vec<Cell>>()
    };
    Grid {
        corner: "transport".into(),
        heads: (0..columns).map(|column| format!("{}k", 1 << column)).collect(),
        lines: vec![line("pipe", cells("1.31 M")), line("limits:", Vec::new()), line("  ring", cells("22.9 M"))],
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&finish(text, &STYLE));
}

#[test]
fn heads_are_above_values_and_intervals_and_marks_are_aligned() {
    let mut grid = grid(2);
    grid.lines[0].cells[1] = cell("5", "+-12%", "", true);
    check(
        &grid.draw(&STYLE),
        expect![[r#"
              transport      1k              2k
            -----------------------------------------
              pipe       1.31 M +-4% mw      *5 +-12%
              limits:
                ring     22.9 M +-4% mw  22.9 M  +-4%"#]],
    );
}

#[test]
fn a_wide_table_becomes_several_with_equally_many_columns() {
    let grid = grid(5);
    let drawn = finish(&grid.draw(&STYLE), &STYLE);
    assert!(drawn.lines().all(|line| line.chars().count() <= 60), "{drawn}");
    let heads: Vec<&str> = drawn.lines().filter(|line| line.contains("transport")).collect();
    assert_eq!(heads.len(), 2);
    assert!(heads[0].contains("4k") && heads[1].contains("8k"), "{heads:?}");
}

#[test]
fn a_table_is_transposed_only_if_that_needs_fewer_parts() {
    let wide = finish(&grid(9).draw_either_way("size", &STYLE), &STYLE);
    assert!(wide.starts_with("  size"), "{wide}");
    assert!(!wide.contains("limits:") && wide.contains("ring") && !wide.contains("  ring  ring"), "{wide}");
    let narrow = finish(&grid(2).draw_either_way("size", &STYLE), &STYLE);
    assert!(narrow.starts_with("  transport"), "{narrow}");
}

#[test]
fn a_long_label_is_cut() {
    let mut grid = grid(1);
    grid.lines[0].label = "x".repeat(200);
    let drawn = finish(&grid.draw(&STYLE), &STYLE);
    assert!(drawn.lines().all(|line| line.chars().count() <= 60), "{drawn}");
    assert!(drawn.contains("xxx~ "), "{drawn}");
}

#[test]
fn colour_replaces_the_asterisk() {
    let style = Style { colour: true, ..STYLE };
    let mut grid = grid(1);
    grid.lines[0].cells[0].is_best = true;
    let drawn = finish(&grid.draw(&style), &style);
    assert!(drawn.contains("\x1b[1;32m1.31 M\x1b[0m") && !drawn.contains('*'), "{drawn}");
}

#[test]
fn a_table_without_columns_or_lines_does_not_panic() {
    assert_eq!(Grid::default().draw(&STYLE).trim(), Grid::default().draw_either_way("size", &STYLE).trim());
    grid(0).draw(&STYLE);
}

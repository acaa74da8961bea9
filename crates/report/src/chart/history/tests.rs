use headwater_results::compare::Rules;
use headwater_results::history::{By, histories};

use super::figure;
use crate::testing::history_entries;

#[test]
fn every_run_is_a_point_and_every_change_a_mark() {
    let found = histories(history_entries(), &By::Date, Rules::default());
    let drawn = figure(&found.histories[0], &By::Date, 3);
    let svg = drawn.drawing().standalone();
    assert!(svg.contains(r#"class="mark worse""#), "{svg}");
    assert!(svg.contains(">3: -"), "the change has its number and its size: {svg}");
    assert_eq!(drawn.drawings.lines[0].readings.len(), 60);
    assert_eq!(drawn.table.as_ref().map(|(_, grid)| grid.lines.len()), Some(60));
    assert!(drawn.drawing().desc.contains("worse from 2026-02-13 04:00 UTC on"), "{}", drawn.drawing().desc);
}

#[test]
fn the_axis_names_runs_by_their_day_or_their_level() {
    let found = histories(history_entries(), &By::Date, Rules::default());
    assert!(figure(&found.histories[0], &By::Date, 1).drawing().standalone().contains(">01-11<"));
    let found = histories(history_entries(), &By::Kernel, Rules::default());
    assert!(figure(&found.histories[0], &By::Kernel, 1).drawing().standalone().contains(">6.9.1<"));
}

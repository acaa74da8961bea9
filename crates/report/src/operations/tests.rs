use headwater_results::published;
use headwater_results::schema::RunStatus;

use super::*;
use crate::testing::{messaging, operation, operations, placed};

fn filled(old: bool) -> Vec<TitledTable> {
    let run = operations(6).run(Some(RunStatus::Partial));
    let filling = CellFilling { old, spread: &|_, _| String::new(), marks: &|_| String::new() };
    parts(&columns(&[("", &run)]), &filling)
}

fn line<'a>(parts: &'a [TitledTable], label: &str) -> (&'a str, &'a Line) {
    let of_part =
        |part: &'a TitledTable| Some((&*part.caption, part.grid.lines.iter().find(|line| line.label == label)?));
    parts.iter().find_map(of_part).unwrap_or_else(|| panic!("no line {label}"))
}

#[test]
fn every_row_of_the_published_table_is_in_exactly_one_table() {
    let run = published::run("ltt", "up-a").expect("it is compiled in");
    for result in &run.results {
        let places = GROUPS.iter().filter(|group| group.position(result).is_some());
        let captions: Vec<&str> = places.map(|group| group.caption).collect();
        assert!(matches!(captions[..], [caption] if !caption.starts_with("Other")), "{}: {captions:?}", result.row.id);
    }
}

#[test]
fn figures_have_the_unit_of_their_table_and_three_digits() {
    let parts = filled(false);
    let value = |label| line(&parts, label).1.cells[0].value.clone();
    assert!(value("null-call").starts_with("0.07"), "{}", value("null-call"));
    assert!(value("sh").starts_with("10,"), "{}", value("sh"));
    let (caption, round_trip) = line(&parts, "pipe");
    assert!(caption.starts_with("Local latencies: us") && round_trip.cells[0].value.starts_with("8."));
    assert!(line(&parts, "mhz").1.cells[0].value.ends_with("MHz"));
}

#[test]
fn unnamed_rows_are_among_the_others_and_the_empty_loop_is_last() {
    let parts = filled(false);
    assert!(line(&parts, "semaphore").0.starts_with("Other rows"));
    let today = parts.last().expect("there are tables");
    let labels: Vec<&str> = today.grid.lines.iter().map(|line| &*line.label).collect();
    assert_eq!(labels, ["getrandom", "none"]);
}

#[test]
fn lmbenchs_rule_replaces_the_figures_that_have_one() {
    let (own, old) = (filled(false), filled(true));
    let value = |parts: &[TitledTable], label| line(parts, label).1.cells[0].value.clone();
    assert_ne!(value(&own, "null-call"), value(&old, "null-call"));
    assert_eq!(value(&own, "pipe"), value(&old, "pipe"), "this row has none");
}

#[test]
fn a_run_without_operations_has_no_column_and_its_round_trips_no_line() {
    let mut made = operations(6);
    let elsewhere =
        placed(messaging("pipe", headwater_results::schema::Standing::Candidate, "rtt", 1), Placement::SameCpu);
    made.measure(&elsewhere, &[5000.0], 0.01);
    let run = made.run(Some(RunStatus::Partial));
    let heads: Vec<String> = columns(&[("one", &run), ("two", &run)]).into_iter().map(|column| column.head).collect();
    assert_eq!(heads, ["one, any CPU", "one, same CPU", "two, any CPU", "two, same CPU"]);
    let other = crate::testing::overview(1).run(None);
    assert!(columns(&[("other", &other)]).is_empty());
    assert_eq!(operation("x", "lmbench", "us").metrics.len(), 2);
}

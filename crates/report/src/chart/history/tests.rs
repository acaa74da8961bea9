use std::sync::Arc;

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

#[test]
fn runs_of_one_day_are_named_by_their_time() {
    let on_one_day = |minute: usize, mut entry: headwater_results::history::Entry| {
        Arc::make_mut(&mut entry.origin).started_at = format!("2026-03-05T{:02}:{:02}:00Z", minute / 60, minute % 60);
        entry
    };
    let entries: Vec<_> =
        history_entries().into_iter().enumerate().map(|(place, entry)| on_one_day(place / 2, entry)).collect();
    let found = histories(entries.clone(), &By::Date, Rules::default());
    let drawn = figure(&found.histories[0], &By::Date, 1).drawing().standalone();
    assert!(drawn.contains(">00:10<") && drawn.contains("in the order of time, 2026-03-05 UTC"), "{drawn}");
    assert!(!drawn.contains(">03-05<"), "the same day under every run says nothing: {drawn}");
    let two_days = entries.into_iter().enumerate().map(|(place, mut entry)| {
        let started_at = &mut Arc::make_mut(&mut entry.origin).started_at;
        *started_at = started_at.replace("-05T", if place < 60 { "-04T" } else { "-05T" });
        entry
    });
    let found = histories(two_days.collect::<Vec<_>>(), &By::Date, Rules::default());
    assert!(figure(&found.histories[0], &By::Date, 1).drawing().standalone().contains(">03-04 00:"));
}

#[test]
fn runs_of_one_minute_are_named_by_their_second() {
    let entries = history_entries().into_iter().enumerate().map(|(place, mut entry)| {
        let second = place / 2;
        Arc::make_mut(&mut entry.origin).started_at = format!("2026-03-05T00:{:02}:{:02}Z", second / 30, second % 30);
        entry
    });
    let found = histories(entries.collect::<Vec<_>>(), &By::Date, Rules::default());
    let drawn = figure(&found.histories[0], &By::Date, 1).drawing().standalone();
    assert!(drawn.contains(">00:00:10<") && !drawn.contains(">00:00<"), "{drawn}");
}

#[test]
fn a_long_interval_is_cut_and_a_change_keeps_its_height() {
    let mut entries = history_entries();
    let plain = histories(entries.clone(), &By::Date, Rules::default());
    let caption = figure(&plain.histories[0], &By::Date, 1).caption;
    assert!(caption.contains("does not begin at zero") && !caption.contains("cut off"), "{caption}");
    for entry in &mut entries {
        let estimate = &mut entry.metric.estimate;
        (estimate.low, estimate.high) = (0.0, 9.0 * estimate.median);
    }
    let found = histories(entries, &By::Date, Rules::default());
    let drawn = figure(&found.histories[0], &By::Date, 1);
    assert!(drawn.caption.contains("Intervals that are longer than the axis are cut off."), "{}", drawn.caption);
    // The medians differ by some percent; their axis must not reach to nine times the largest.
    assert!(drawn.caption.contains("does not begin at zero"), "{}", drawn.caption);
}

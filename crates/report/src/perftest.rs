//! The figures of the pipe experiment as `perftest` prints them: a line for each interval, and a table by write size.
//! Called by `headwater perftest`.
//!
//! A rate is in writes per second, which is messages per second, because each message is one write.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{LaunchRecord, Placement, Row, RowResult, Run};

use crate::grid::{Cell, Grid, Line};
use crate::style::{Style, finish, strong};
use crate::terminal::cells::{NONE, spread};
use crate::{rows, units};

/// The metric of the patterns that the experiment uses.
const RATE: &str = "rate";

/// The mechanisms that the others are compared with.
const REFERENCES: [&str; 2] = ["pipe", "fifo"];

/// Returns the line of one interval: its number, the row, and the rate over the whole interval. `None` for a launch
/// without a rate.
pub fn perftest_interval(row: &Row, record: &LaunchRecord) -> Option<String> {
    let per_second = mean_rate(record.series.get(RATE)?)?;
    let bytes = row.size_bytes? as f64;
    Some(format!(
        "{:>4}  {:<8}  {:<24}  {:>8}  {:>12} writes/s  {:>10}  {:>10}/write",
        record.block + 1,
        row.placement.name(),
        row.subject,
        units::size_in_words(row.size_bytes?),
        units::grouped(per_second),
        units::bytes_per_second(per_second * bytes),
        units::duration_ns(1e9 / per_second),
    ))
}

/// Returns the operations of all batches over the time of all batches. Batches have the same number of operations.
fn mean_rate(rates: &[f64]) -> Option<f64> {
    let seconds: f64 = rates.iter().map(|rate| 1.0 / rate).sum();
    let mean = rates.len() as f64 / seconds;
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

/// Returns the tables of an experiment: for each placement the medians over the intervals by write size, and the
/// improvement over the kernel's mechanism where both were measured.
pub fn perftest(run: &Run, style: &Style) -> String {
    let measured: Vec<&RowResult> = rows::all_measured(run).collect();
    let mut page = String::new();
    for placement in rows::placements(run, &measured) {
        let here = rows::at(&measured, placement);
        page += &format!("{}\n\n", strong(&title(&here, placement)));
        for table in tables(&here, style) {
            page += &format!("{}\n\n", table.draw(style));
        }
    }
    finish(&page, style)
}

fn title(here: &[&RowResult], placement: Placement) -> String {
    let movement = match here.first().map(|result| result.row.pattern.as_str()) {
        Some("single") => "one process, which fills and drains",
        Some("perftest") => "a writer and a reader, full reads",
        _ => "a writer and a reader, reads of the write size",
    };
    format!("{movement}, {}", rows::placement_words(placement))
}

/// Returns the tables of one placement: of one subject all its figures; of several their rates side by side, and their
/// improvements over the kernel's mechanism.
fn tables(here: &[&RowResult], style: &Style) -> Vec<Grid> {
    let subjects: Vec<&str> = rows::subjects(here).into_iter().map(|(subject, _)| subject).collect();
    let of = |subject: &str, size: u64| {
        let row = here.iter().find(|result| result.row.subject == subject && result.row.size_bytes == Some(size));
        row.and_then(|result| rate(result))
    };
    let table = |corner: &str, heads: Vec<String>, cells: &dyn Fn(u64) -> Vec<Cell>| {
        let line = |size| Line { label: units::size_in_words(size), is_quiet: false, cells: cells(size) };
        Grid { corner: corner.to_owned(), heads, lines: rows::sizes(here).into_iter().map(line).collect() }
    };
    if let [only] = subjects[..] {
        let heads = [format!("{only} writes/s"), "bytes/s".to_owned(), "per write".to_owned()].into();
        return vec![table("write size", heads, &|size| figures(of(only, size), size, style))];
    }
    let named = |subjects: &[&str]| subjects.iter().map(|&subject| subject.to_owned()).collect();
    let rates = |size| subjects.iter().map(|&subject| writes(of(subject, size), style)).collect();
    let mut tables = vec![table("writes/s", named(&subjects), &rates)];
    if let Some(base) = subjects.iter().copied().find(|subject| REFERENCES.contains(subject)) {
        let others: Vec<&str> = subjects.iter().copied().filter(|subject| *subject != base).collect();
        let improvements = |size| others.iter().map(|&other| improvement(of(other, size), of(base, size))).collect();
        tables.push(table(&format!("over {base}"), named(&others), &improvements));
    }
    tables
}

/// Returns rate, throughput and delay of one subject at one size.
fn figures(own: Option<&Estimate>, size: u64, style: &Style) -> Vec<Cell> {
    let text = |of: &dyn Fn(f64) -> String| own.map_or_else(|| NONE.to_owned(), |own| of(own.median));
    vec![
        writes(own, style),
        Cell::plain(text(&|rate| units::bytes_per_second(rate * size as f64))),
        Cell::plain(text(&|rate| units::duration_ns(1e9 / rate))),
    ]
}

fn writes(own: Option<&Estimate>, style: &Style) -> Cell {
    own.map_or_else(
        || Cell::plain(NONE),
        |own| Cell { spread: spread(own, style), ..Cell::plain(units::grouped(own.median)) },
    )
}

/// Returns the improvement over a base: (rate / base - 1) * 100 %.
fn improvement(own: Option<&Estimate>, base: Option<&Estimate>) -> Cell {
    let text = own.zip(base).map(|(own, base)| format!("{:+.0} %", (own.median / base.median - 1.0) * 100.0));
    Cell::plain(text.unwrap_or_else(|| NONE.to_owned()))
}

fn rate(result: &RowResult) -> Option<&Estimate> {
    rows::metric(result, RATE).map(|metric| &metric.estimate)
}

#[cfg(test)]
mod tests;

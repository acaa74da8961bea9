//! Markdown: a table per run, for a merge request or a wiki.

use std::fmt::Write;

use headwater_results::foreign::printable;
use headwater_results::schema::{MetricResult, RowResult, Run};

use super::{Format, NamedRun, Options, interval, status};
use crate::units;

/// The entry in the table of formats.
pub(super) const FORMAT: Format =
    Format { name: "markdown", summary: "Markdown: a table per run", has_launches: false, write };

const HEAD: &str = "| row | metric | median | interval | launches | better | flags |\n|---|---|--:|--:|--:|---|---|\n";

fn write(runs: &[NamedRun], _: &Options) -> String {
    runs.iter().map(|(name, run)| section(name, run)).collect::<Vec<_>>().join("\n")
}

fn section(name: &str, run: &Run) -> String {
    let environment = &run.header.environment;
    let about = [&environment.host, &environment.cpu.model, &environment.kernel.release, &run.header.started_at];
    let about: Vec<String> = about.into_iter().filter(|text| !text.is_empty()).map(|text| cell(text)).collect();
    let mut text = format!("## {}\n\n{}\n\n{HEAD}", cell(name), about.join(", "));
    for result in &run.results {
        text.extend(result.metrics.iter().map(|metric| line(result, metric)));
    }
    let missing: Vec<&RowResult> = run.results.iter().filter(|result| result.metrics.is_empty()).collect();
    if !missing.is_empty() {
        text.push_str("\n| row without a figure | why |\n|---|---|\n");
    }
    for result in missing {
        let (word, reason) = status(&result.outcome);
        let why = if reason.is_empty() { word.to_owned() } else { format!("{word}: {reason}") };
        writeln!(text, "| {} | {} |", cell(&result.row.id), cell(&why)).expect("writing to memory does not fail");
    }
    text
}

fn line(result: &RowResult, metric: &MetricResult) -> String {
    let quantity = |value| units::quantity(value, &metric.metric.unit);
    let interval = interval(metric).map(|(low, high)| format!("{} .. {}", quantity(low), quantity(high)));
    let flags: Vec<String> = result.flags.iter().map(|flag| flag.sentence()).collect();
    let cells = [
        cell(&result.row.id),
        cell(&metric.metric.name),
        cell(&quantity(metric.estimate.median)),
        cell(&interval.unwrap_or_else(|| "-".to_owned())),
        metric.estimate.n.to_string(),
        metric.metric.better.name().to_owned(),
        cell(&flags.join("; ")),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// Escapes a text, so that it neither ends its cell nor is taken for markup.
fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '&' => escaped.push_str("&amp;"),
            '\n' | '\t' => escaped.push(' '),
            plain => escaped.push(plain),
        }
    }
    escaped
}

//! Tidy CSV: a line per row and metric, or with `--launches` a line per launch. Fields are quoted as in RFC 4180.
//!
//! Names may come from any program. In a name unfit characters are escaped, and one that a spreadsheet would take for a formula gets an
//! apostrophe before it. Figures are not altered.

use std::borrow::Cow;

use headwater_results::foreign::line;
use headwater_results::schema::{RowResult, Run};

use super::{Format, NamedRun, Options, interval, status};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "tidy CSV: a line per row and metric; with --launches a line per launch",
    has_launches: true,
    write,
};

/// The columns that identify a row, in both forms.
const ROW: [&str; 17] = [
    "run",
    "host",
    "kernel",
    "started_at",
    "row",
    "subject",
    "pattern",
    "definition_version",
    "standing",
    "placement",
    "size_bytes",
    "messages",
    "workers",
    "worker_kind",
    "policy",
    "variant",
    "status",
];

/// The columns of a metric's figures.
const FIGURES: [&str; 10] =
    ["reason", "metric", "unit", "better", "median", "low", "high", "confidence", "launches", "flags"];

/// The columns of one launch of a metric.
const LAUNCH: [&str; 5] = ["metric", "unit", "better", "block", "value"];

fn write(runs: &[NamedRun], options: &Options) -> String {
    let mut table = Table(csv::Writer::from_writer(Vec::new()));
    let last: &[&str] = if options.launches { &LAUNCH } else { &FIGURES };
    table.add(ROW.iter().chain(last).map(|name| (*name).to_owned()));
    for (name, run) in runs {
        for result in &run.results {
            let row = row(name, run, result);
            if options.launches { table.add_launches(&row, result) } else { table.add_figures(&row, result) }
        }
    }
    let bytes = table.0.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("fields are text")
}

/// Returns a field that is one line of harmless text, and no formula. Numbers stay as they are, also negative ones.
pub(crate) fn cell(text: &str) -> Cow<'_, str> {
    const BEGINNINGS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    match text.starts_with(BEGINNINGS) && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{}", line(text))),
        false => line(text),
    }
}

struct Table(csv::Writer<Vec<u8>>);

impl Table {
    fn add(&mut self, fields: impl IntoIterator<Item = String>) {
        self.0
            .write_record(fields.into_iter().map(|field| cell(&field).into_owned()))
            .expect("every line has the fields of the head");
    }

    fn add_launches(&mut self, row: &[String], result: &RowResult) {
        for metric in &result.metrics {
            for (block, value) in metric.blocks.iter().zip(&metric.launches) {
                let launch = [block.to_string(), value.to_string()];
                self.add(row.iter().cloned().chain(named(&metric.metric)).chain(launch));
            }
        }
    }

    /// A row without a figure has one line, with the reason.
    fn add_figures(&mut self, row: &[String], result: &RowResult) {
        let reason = status(&result.outcome).1.to_owned();
        let flags: Vec<String> = result.flags.iter().map(|flag| flag.sentence()).collect();
        for metric in &result.metrics {
            let estimate = &metric.estimate;
            let (low, high, confidence) = match interval(metric) {
                Some((low, high)) => (low.to_string(), high.to_string(), estimate.confidence.to_string()),
                None => Default::default(),
            };
            let figures =
                [estimate.median.to_string(), low, high, confidence, estimate.n.to_string(), flags.join("; ")];
            self.add(row.iter().cloned().chain([reason.clone()]).chain(named(&metric.metric)).chain(figures));
        }
        if result.metrics.is_empty() {
            let empty = vec![String::new(); FIGURES.len() - 1];
            self.add(row.iter().cloned().chain([reason]).chain(empty));
        }
    }
}

fn named(metric: &headwater_results::schema::Metric) -> [String; 3] {
    [metric.name.clone(), metric.unit.clone(), word(&metric.better)]
}

fn row(name: &str, run: &Run, result: &RowResult) -> Vec<String> {
    let (header, row) = (&run.header, &result.row);
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    vec![
        name.to_owned(),
        header.environment.host.clone(),
        header.environment.kernel.release.clone(),
        header.started_at.clone(),
        row.id.clone(),
        row.subject.clone(),
        row.pattern.clone(),
        row.definition_version.to_string(),
        word(&row.standing),
        row.placement.name().to_owned(),
        number(row.size_bytes),
        number(row.messages),
        number(row.workers.map(u64::from)),
        row.worker_kind.map(|kind| kind.name().to_owned()).unwrap_or_default(),
        row.policy.clone().unwrap_or_default(),
        row.variant.clone().unwrap_or_default(),
        status(&result.outcome).0.to_owned(),
    ]
}

/// Returns the stored form of a value without fields.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

//! The data of the page for its script: columns of equal length, with names as indices into a dictionary. The structure
//! is that of `PageData` in web/src/data.ts. Called by the payload, which decides how much of it fits.

use std::collections::{BTreeMap, HashMap};

use headwater_results::published;
use headwater_results::schema::{MetricResult, RowResult, RunStatus, Standing, WorkerKind};
use serde::{Serialize, Serializer};

use super::flags;
use super::frame::Page;
use crate::chart;
use crate::markup::shorten;
use crate::text::command_line;
use crate::{rows, units};

/// The most characters of any text.
const TEXT_MAX: usize = 400;

/// Which parts of the data are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataLimits {
    /// Metrics other than a row's own.
    pub all_metrics: bool,
    /// The most rows.
    pub rows_max: usize,
}

/// A figure with four significant digits; null if it is not finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure(pub f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Integers up to here are exact, and shorter without a decimal point.
        const WHOLE_MAX: f64 = 1e15;
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded = rounded(self.0);
        if rounded.fract() == 0.0 && rounded.abs() < WHOLE_MAX {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// Rounds to four significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let places = 3 - value.abs().log10().floor() as i32;
    // The power of ten would overflow, and the result would be 0 or NaN.
    if places.abs() > 300 {
        return value;
    }
    let scale = 10f64.powi(places.abs());
    if places > 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// The document.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    version: u32,
    title: String,
    runs: Vec<RunData>,
    names: Vec<String>,
    rows: Columns,
    flag_sentences: BTreeMap<String, &'static str>,
    shortened: Option<&'a str>,
}

#[derive(Serialize)]
struct RunData {
    name: String,
    started_at: String,
    host: String,
    kernel: String,
    cpu: String,
    command: String,
    headwater: String,
    status: &'static str,
    published: bool,
}

#[derive(Default, Serialize)]
struct Columns {
    run: Vec<usize>,
    id: Vec<i32>,
    subject: Vec<i32>,
    pattern: Vec<i32>,
    placement: Vec<i32>,
    variant: Vec<i32>,
    standing: Vec<i32>,
    metric: Vec<i32>,
    unit: Vec<i32>,
    better: Vec<i32>,
    own: Vec<u8>,
    size: Vec<Option<u64>>,
    messages: Vec<Option<u64>>,
    workers: Vec<Option<u32>>,
    worker_kind: Vec<i32>,
    median: Vec<Figure>,
    low: Vec<Figure>,
    high: Vec<Figure>,
    n: Vec<u32>,
    confidence: Vec<Figure>,
    flags: Vec<i32>,
    /// The figures as they are written everywhere.
    size_text: Vec<i32>,
    median_text: Vec<i32>,
    low_text: Vec<i32>,
    high_text: Vec<i32>,
}

/// The dictionary: texts by index.
#[derive(Default)]
struct Names {
    texts: Vec<String>,
    places: HashMap<String, i32>,
}

impl Names {
    /// Returns the index of a text.
    fn of(&mut self, text: &str) -> i32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = i32::try_from(self.texts.len()).unwrap_or(-1);
        self.texts.push(shorten(text, TEXT_MAX));
        self.places.insert(text.to_owned(), place);
        place
    }

    /// Returns -1 for `None`.
    fn of_option(&mut self, text: Option<&str>) -> i32 {
        text.map_or(-1, |text| self.of(text))
    }
}

/// Returns the data of `page` within the limits, and the number of rows that are left out.
pub(super) fn data<'a>(page: &'a Page<'_>, extent: DataLimits, shortened: Option<&'a str>) -> Data<'a> {
    let mut names = Names::default();
    let mut columns = Columns::default();
    let all = page
        .source
        .runs
        .iter()
        .enumerate()
        .flat_map(|(run, (_, document))| rows::all_measured(document).map(move |result| (run, result)));
    for (run, result) in all.take(extent.rows_max) {
        let own = rows::own(result).map(|own| own.metric.name.as_str());
        for metric in &result.metrics {
            let is_own = own == Some(metric.metric.name.as_str());
            if is_own || extent.all_metrics {
                columns.add(&mut names, run, result, metric, is_own);
            }
        }
    }
    let measured: Vec<&RowResult> = page.source.runs.iter().flat_map(|(_, run)| rows::all_measured(run)).collect();
    let flag_sentences = flags::meanings(&measured).into_iter().map(|(letter, words)| (letter.to_string(), words));
    Data {
        version: 2,
        title: shorten(&page.title, TEXT_MAX),
        runs: runs(page),
        flag_sentences: flag_sentences.collect(),
        rows: columns,
        names: names.texts,
        shortened,
    }
}

impl Columns {
    fn add(&mut self, names: &mut Names, run: usize, result: &RowResult, metric: &MetricResult, is_own: bool) {
        let row = &result.row;
        self.run.push(run);
        self.id.push(names.of(&row.id));
        self.subject.push(names.of(&row.subject));
        self.pattern.push(names.of(&row.pattern));
        self.placement.push(names.of(row.placement.name()));
        self.variant.push(names.of_option(row.variant.as_deref()));
        self.standing.push(names.of(standing(row.standing)));
        self.metric.push(names.of(&metric.metric.name));
        self.unit.push(names.of(&metric.metric.unit));
        self.better.push(names.of(metric.metric.better.name()));
        self.own.push(u8::from(is_own));
        self.size.push(row.size_bytes);
        self.messages.push(row.messages);
        self.workers.push(row.workers);
        self.worker_kind.push(names.of_option(row.worker_kind.map(WorkerKind::name)));
        self.median.push(Figure(metric.estimate.median));
        self.low.push(Figure(metric.estimate.low));
        self.high.push(Figure(metric.estimate.high));
        self.n.push(metric.estimate.n);
        self.confidence.push(Figure(metric.estimate.confidence));
        self.flags.push(names.of(&chart::flags(result)));
        self.size_text.push(names.of_option(row.size_bytes.map(units::size_in_words).as_deref()));
        let mut text = |value: f64| names.of(&units::quantity(value, &metric.metric.unit));
        self.median_text.push(text(metric.estimate.median));
        let ends = metric.estimate.n > 1;
        self.low_text.push(if ends { text(metric.estimate.low) } else { -1 });
        self.high_text.push(if ends { text(metric.estimate.high) } else { -1 });
    }
}

fn runs(page: &Page<'_>) -> Vec<RunData> {
    let text = |text: &str| shorten(text, TEXT_MAX);
    page.source
        .runs
        .iter()
        .map(|(name, run)| {
            let environment = &run.header.environment;
            RunData {
                name: text(name),
                started_at: text(&run.header.started_at),
                host: text(&environment.host),
                kernel: text(&environment.kernel.release),
                cpu: text(&environment.cpu.model),
                command: text(&command_line(&run.header.command)),
                headwater: text(&run.header.headwater_version),
                status: match run.status {
                    RunStatus::Complete => "complete",
                    RunStatus::Partial => "partial",
                    RunStatus::Interrupted => "interrupted",
                },
                published: published::source_of(&run.header.run_id).is_some(),
            }
        })
        .collect()
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Candidate => "candidate",
        Standing::External => "external",
        Standing::Limit => "limit",
        Standing::Null => "null",
    }
}

#[cfg(test)]
mod tests;

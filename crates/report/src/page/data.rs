//! The data of the page for its script: columns of equal length, with names as indices into a dictionary. The structure
//! is that of `PageData` in web/src/data.ts. Called by the payload, which decides how much of it fits.

use std::collections::{BTreeMap, HashMap};

use headwater_results::compare::Verdict;
use headwater_results::fit::{Bounded, Segment};
use headwater_results::published;
use headwater_results::schema::{MetricResult, RowResult, RunStatus, Standing, WorkerKind};
use serde::{Serialize, Serializer};

use super::flags;
use super::frame::Page;
use crate::chart;
use crate::markup::shorten;
use crate::rows;
use crate::text::command_line;

/// The most characters of any text.
const TEXT_MAX: usize = 400;

/// Which parts of the data are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataLimits {
    /// Metrics other than a row's own.
    pub all_metrics: bool,
    /// Percentiles.
    pub percentiles: bool,
    /// The residuals of fits.
    pub residuals: bool,
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
    percentiles: Vec<Percentiles>,
    fits: Vec<FitData>,
    comparisons: Vec<ComparisonData<'a>>,
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
}

#[derive(Serialize)]
struct Percentiles {
    run: usize,
    id: i32,
    metric: i32,
    points: Vec<(f64, Figure)>,
}

#[derive(Serialize)]
struct FitData {
    run: usize,
    subject: i32,
    pattern: i32,
    placement: i32,
    variant: i32,
    segments: Vec<SegmentData>,
}

type Interval = [Figure; 3];

#[derive(Serialize)]
struct SegmentData {
    size_min: u64,
    size_max: u64,
    alpha_s: Interval,
    beta_s_per_byte: Interval,
    bandwidth_bytes_per_s: Option<Interval>,
    half_size_bytes: Option<Interval>,
    points: u32,
    residuals: Vec<(u64, Figure)>,
}

#[derive(Serialize)]
struct ComparisonData<'a> {
    baseline: &'a str,
    candidate: &'a str,
    minimum_effect: Figure,
    alpha: Figure,
    rows: Vec<RatioData>,
}

#[derive(Serialize)]
struct RatioData {
    label: String,
    metric: String,
    unit: String,
    better: &'static str,
    ratio: Option<Figure>,
    low: Option<Figure>,
    high: Option<Figure>,
    n: u32,
    paired: bool,
    p: Option<Figure>,
    p_adjusted: Option<Figure>,
    verdict: &'static str,
    more_blocks: Option<u32>,
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
    let mut percentiles = Vec::new();
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
        if extent.percentiles {
            percentiles.extend(result.percentiles.iter().map(|(metric, points)| Percentiles {
                run,
                id: names.of(&result.row.id),
                metric: names.of(metric),
                points: points.iter().map(|point| (point.percent, Figure(point.value_ns))).collect(),
            }));
        }
    }
    let fits = fits(page, extent, &mut names);
    let measured: Vec<&RowResult> = page.source.runs.iter().flat_map(|(_, run)| rows::all_measured(run)).collect();
    let flag_sentences = flags::meanings(&measured).into_iter().map(|(letter, words)| (letter.to_string(), words));
    Data {
        version: 1,
        title: shorten(&page.title, TEXT_MAX),
        runs: runs(page),
        flag_sentences: flag_sentences.collect(),
        rows: columns,
        names: names.texts,
        percentiles,
        fits,
        comparisons: comparisons(page, extent),
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

fn fits(page: &Page<'_>, extent: DataLimits, names: &mut Names) -> Vec<FitData> {
    let mut fits = Vec::new();
    for panel in &page.source.panels {
        for series in &panel.series {
            let Some(fit) = &series.fit else { continue };
            fits.push(FitData {
                run: series.key.run,
                subject: names.of(series.key.subject),
                pattern: names.of(panel.pattern),
                placement: names.of(panel.placement.name()),
                variant: names.of_option(series.key.variant),
                segments: fit.segments.iter().map(|segment| segment_data(segment, extent.residuals)).collect(),
            });
        }
    }
    fits.truncate(extent.rows_max);
    fits
}

fn segment_data(segment: &Segment, residuals: bool) -> SegmentData {
    let residuals: &[(u64, f64)] = if residuals { &segment.residuals } else { &[] };
    SegmentData {
        size_min: segment.size_min,
        size_max: segment.size_max,
        alpha_s: interval(&segment.alpha_s),
        beta_s_per_byte: interval(&segment.beta_s_per_byte),
        bandwidth_bytes_per_s: segment.bandwidth_bytes_per_s.as_ref().map(interval),
        half_size_bytes: segment.half_size_bytes.as_ref().map(interval),
        points: segment.points,
        residuals: residuals.iter().map(|&(size, share)| (size, Figure(share))).collect(),
    }
}

fn interval(bounded: &Bounded) -> Interval {
    [bounded.value, bounded.low, bounded.high].map(Figure)
}

fn comparisons<'a>(page: &'a Page<'_>, extent: DataLimits) -> Vec<ComparisonData<'a>> {
    let of = |row: &headwater_results::compare::RowComparison| RatioData {
        label: shorten(&row.label, TEXT_MAX),
        metric: shorten(&row.metric.name, TEXT_MAX),
        unit: shorten(&row.metric.unit, TEXT_MAX),
        better: row.metric.better.name(),
        ratio: row.ratio.map(|ratio| Figure(ratio.value)),
        low: row.ratio.map(|ratio| Figure(ratio.low)),
        high: row.ratio.map(|ratio| Figure(ratio.high)),
        n: row.ratio.map_or(0, |ratio| ratio.n),
        paired: row.ratio.is_some_and(|ratio| ratio.paired),
        p: row.ratio.map(|ratio| Figure(ratio.p)),
        p_adjusted: row.p_adjusted.map(Figure),
        verdict: row.verdict.name(),
        more_blocks: match row.verdict {
            Verdict::Inconclusive { more_blocks, .. } => more_blocks,
            _ => None,
        },
    };
    let judged =
        |row: &&headwater_results::compare::RowComparison| extent.all_metrics || row.verdict != Verdict::Unjudged;
    page.source
        .comparisons
        .iter()
        .map(|comparison| ComparisonData {
            baseline: &comparison.baseline,
            candidate: &comparison.candidate,
            minimum_effect: Figure(comparison.rules.minimum_effect),
            alpha: Figure(comparison.rules.alpha),
            rows: comparison.rows.iter().filter(judged).take(extent.rows_max).map(of).collect(),
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

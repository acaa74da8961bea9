//! Folds events into a run: the only place where launches become estimates. Called by `run` while it measures, and by
//! readers of a `run.jsonl`; both get the same result.
//!
//! It stores one value per launch and metric, and the launch's histograms in their stored form, but not the batches.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::estimate::{Estimate, median};
use crate::flags::{LaunchFacts, flags_of_row};
use crate::histogram::Histogram;
use crate::schema::{
    Environment, Event, LaunchRecord, MetricResult, Percentile, Row, RowOutcome, RowResult, Run, RunHeader, RunStatus,
    SCHEMA_VERSION,
};

/// The reason why events are not those of one run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FoldError {
    /// An event came before `run_started`, or none came at all.
    #[error("no run_started at the beginning")]
    NoHeader,
    /// `run_started` came twice.
    #[error("a second run_started: two runs in one file")]
    SecondHeader,
    /// A launch of an unknown row.
    #[error("a launch of {row}, a row that this run does not have")]
    UnknownRow {
        /// The id.
        row: String,
    },
    /// Written by a later version of the program.
    #[error("schema version {found} is newer than {known}, the newest that this headwater reads")]
    NewerSchema {
        /// Version of the events.
        found: u32,
        /// [`SCHEMA_VERSION`].
        known: u32,
    },
}

/// Folds the events of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    header: Option<RunHeader>,
    /// In the order of the tables: the header's rows, then rows that were only skipped.
    rows: Vec<RowState>,
    /// The index of each id in `rows`.
    places: BTreeMap<String, usize>,
    /// The contents of `run_finished`; `None` again after a run is resumed.
    end: Option<(RunStatus, Environment)>,
}

#[derive(Clone, Debug)]
struct RowState {
    row: Row,
    skipped: Option<String>,
    /// The latest launch of each block.
    launches: BTreeMap<u32, Launch>,
}

#[derive(Clone, Debug)]
enum Launch {
    Finished(Box<Finished>),
    Failed(String),
}

#[derive(Clone, Debug)]
struct Finished {
    /// Median of the batches, by metric.
    values: BTreeMap<String, f64>,
    histograms: BTreeMap<String, Vec<(u64, u64)>>,
    counters: BTreeMap<String, f64>,
    facts: LaunchFacts,
}

impl Fold {
    /// Returns a fold without events.
    pub fn new() -> Fold {
        Fold::default()
    }

    /// Folds all of `events`; for readers of a stored run.
    pub fn run_of(events: impl IntoIterator<Item = Event>) -> Result<Run, FoldError> {
        let mut fold = Fold::new();
        events.into_iter().try_for_each(|event| fold.push(event))?;
        fold.finish()
    }

    /// Adds the next event. A launch of a row and block that exist already replaces the earlier one: it was repeated
    /// after a resume or a disturbance. After an error the fold is unchanged.
    pub fn push(&mut self, event: Event) -> Result<(), FoldError> {
        if self.header.is_none() && !matches!(event, Event::RunStarted(_)) {
            return Err(FoldError::NoHeader);
        }
        match event {
            Event::RunStarted(header) => self.start(*header)?,
            Event::RowSkipped { row, reason } => self.row_or_new(row).skipped = Some(reason),
            Event::LaunchFinished(record) => {
                let state = self.known_row(&record.row)?;
                let launch = Launch::Finished(Box::new(Finished::of(&state.row, &record)));
                state.launches.insert(record.block, launch);
            }
            Event::LaunchFailed { row, block, reason } => {
                self.known_row(&row)?.launches.insert(block, Launch::Failed(reason));
            }
            Event::RunResumed { at: _, launches } => {
                self.end = None;
                if let (Some(launches), Some(header)) = (launches, &mut self.header) {
                    header.settings.launches = launches;
                    header.settings.budget_s = None;
                }
            }
            Event::RunFinished { status, environment } => self.end = Some((status, *environment)),
        }
        Ok(())
    }

    /// Returns the row with that id, if an event has named it.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.places.get(id).map(|&place| &self.rows[place].row)
    }

    /// Returns the run so far. Without `run_finished` it counts as interrupted.
    pub fn snapshot(&self) -> Result<Run, FoldError> {
        self.clone().finish()
    }

    /// Returns the run. Without `run_finished` it counts as interrupted.
    pub fn finish(self) -> Result<Run, FoldError> {
        let header = self.header.ok_or(FoldError::NoHeader)?;
        let clock_step_ns = header.clock_resolution_ns;
        let results: Vec<RowResult> = self.rows.into_iter().map(|row| row.result(clock_step_ns)).collect();
        let (status, environment_after) = match self.end {
            // A writer may wrongly state that a run is complete: the rows decide.
            Some((RunStatus::Complete, after)) if !results.iter().all(is_complete) => (RunStatus::Partial, Some(after)),
            Some((status, after)) => (status, Some(after)),
            None => (RunStatus::Interrupted, None),
        };
        Ok(Run { header, status, environment_after, results })
    }

    fn start(&mut self, mut header: RunHeader) -> Result<(), FoldError> {
        if self.header.is_some() {
            return Err(FoldError::SecondHeader);
        }
        if header.schema_version > SCHEMA_VERSION {
            return Err(FoldError::NewerSchema { found: header.schema_version, known: SCHEMA_VERSION });
        }
        for row in std::mem::take(&mut header.rows) {
            self.row_or_new(row);
        }
        self.header = Some(header);
        Ok(())
    }

    fn row_or_new(&mut self, row: Row) -> &mut RowState {
        let next = self.rows.len();
        let place = *self.places.entry(row.id.clone()).or_insert(next);
        if place == next {
            self.rows.push(RowState { row, skipped: None, launches: BTreeMap::new() });
        }
        &mut self.rows[place]
    }

    fn known_row(&mut self, id: &str) -> Result<&mut RowState, FoldError> {
        match self.places.get(id) {
            Some(&place) => Ok(&mut self.rows[place]),
            None => Err(FoldError::UnknownRow { row: id.to_owned() }),
        }
    }
}

/// Whether a row has all attempted launches, or a reason.
fn is_complete(result: &RowResult) -> bool {
    match result.outcome {
        RowOutcome::Measured => result.failures.is_empty(),
        RowOutcome::Skipped { .. } => true,
        RowOutcome::Failed { .. } | RowOutcome::Pending => false,
    }
}

impl RowState {
    fn result(self, clock_step_ns: f64) -> RowResult {
        let mut finished: Vec<(u32, Finished)> = Vec::new();
        let mut failures = Vec::new();
        for (block, launch) in self.launches {
            match launch {
                Launch::Finished(launch) => finished.push((block, *launch)),
                Launch::Failed(reason) => failures.push(reason),
            }
        }
        let outcome = match (finished.is_empty(), failures.first(), self.skipped) {
            (false, _, _) => RowOutcome::Measured,
            (true, Some(reason), _) => RowOutcome::Failed { reason: reason.clone() },
            (true, None, Some(reason)) => RowOutcome::Skipped { reason },
            (true, None, None) => RowOutcome::Pending,
        };
        let metrics = metrics(&self.row, &finished);
        let own = self.row.metrics.first().and_then(|own| metrics.iter().find(|found| found.metric == *own));
        let (facts, launches): (Vec<_>, Vec<_>) =
            finished.into_iter().map(|(_, launch)| (launch.facts, (launch.histograms, launch.counters))).unzip();
        let (histograms, counters): (Vec<_>, Vec<_>) = launches.into_iter().unzip();
        RowResult {
            flags: flags_of_row(&self.row, &facts, own.map(|own| &own.estimate), clock_step_ns),
            percentiles: percentiles(&histograms),
            counters: by_name(&counters)
                .into_iter()
                .filter_map(|(name, values)| Some((name, median(&values)?)))
                .collect(),
            row: self.row,
            outcome,
            metrics,
            failures,
        }
    }
}

impl Finished {
    fn of(row: &Row, record: &LaunchRecord) -> Finished {
        let values: BTreeMap<String, f64> =
            record.series.keys().filter_map(|name| Some((name.clone(), record.figure(name)?))).collect();
        let facts = LaunchFacts::of(record, row.metrics.first());
        let mut counters = record.counters.clone();
        let operations = facts.batches as f64 * record.batch_operations as f64;
        for (name, &count) in record.counters.iter().filter(|(name, _)| is_count(name)) {
            // A launch without operations has no rate per operation.
            let per_1000 = count / operations * 1000.0;
            if per_1000.is_finite() {
                counters.entry(format!("{name}_per_1000")).or_insert(per_1000);
            }
        }
        Finished { values, histograms: record.histograms.clone(), counters, facts }
    }
}

/// Whether a counter counts events, and so has a rate per operation; the names of times end with their unit.
fn is_count(name: &str) -> bool {
    !["_s", "_ns", "_bytes", "_ratio", "_per_1000"].iter().any(|suffix| name.ends_with(suffix))
}

/// Returns an estimate for each metric that has launches, in the row's order.
fn metrics(row: &Row, finished: &[(u32, Finished)]) -> Vec<MetricResult> {
    let of = |metric: &crate::schema::Metric| {
        let with_value =
            finished.iter().filter_map(|(block, launch)| Some((*block, *launch.values.get(&metric.name)?)));
        let (blocks, launches): (Vec<u32>, Vec<f64>) = with_value.unzip();
        let estimate = Estimate::of_launches(&launches)?;
        Some(MetricResult { metric: metric.clone(), estimate, launches, blocks })
    };
    row.metrics.iter().filter_map(of).collect()
}

/// Returns the percentiles by metric, of the histograms merged over launches.
fn percentiles(launches: &[BTreeMap<String, Vec<(u64, u64)>>]) -> BTreeMap<String, Vec<Percentile>> {
    let mut percentiles = BTreeMap::new();
    for (name, stored) in by_name(launches) {
        let mut merged = Histogram::new();
        stored.iter().for_each(|pairs| merged.add_pairs(pairs));
        let found = merged.percentiles();
        if !found.is_empty() {
            percentiles.insert(name, found);
        }
    }
    percentiles
}

/// Returns the launches' values under each name.
fn by_name<T: Clone>(launches: &[BTreeMap<String, T>]) -> BTreeMap<String, Vec<T>> {
    let mut named: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for (name, value) in launches.iter().flatten() {
        named.entry(name.clone()).or_default().push(value.clone());
    }
    named
}

#[cfg(test)]
mod tests;

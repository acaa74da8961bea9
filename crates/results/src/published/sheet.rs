//! Makes runs of the lines of tables. Shared by the files of this folder; independent of any table.

use serde::de::DeserializeOwned;

use super::{Dataset, PREFIX, Table};
use crate::estimate::Estimate;
use crate::flags::few_launches;
use crate::schema::{
    Better, Environment, Metric, MetricResult, Placement, Row, RowOutcome, RowResult, Run, RunHeader, RunStatus,
    SCHEMA_VERSION, Settings, Standing, WorkerKind, published_definition,
};

/// Parses the lines of a compiled-in table.
pub(super) fn lines<T: DeserializeOwned>(text: &'static str) -> Vec<T> {
    let lines: Result<Vec<T>, csv::Error> = csv::Reader::from_reader(text.as_bytes()).deserialize().collect();
    // Only compiled-in tables are passed here, and a test parses all of them.
    lines.expect("the published tables are well-formed")
}

/// Groups the lines by key, in the order of the keys' first appearance.
pub(super) fn grouped<T: Clone, K: PartialEq>(lines: &[T], key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for line in lines {
        let its_key = key(line);
        match groups.iter_mut().find(|(known, _)| *known == its_key) {
            Some((_, group)) => group.push(line.clone()),
            None => groups.push((its_key, vec![line.clone()])),
        }
    }
    groups
}

/// A figure: name, unit, direction, value.
pub(super) type Figure = (&'static str, &'static str, Better, f64);

/// Returns a figure in messages per second, as in the streaming patterns.
pub(super) fn rate(per_second: f64) -> Figure {
    ("rate", "messages/s", Better::Higher, per_second)
}

/// Returns a round trip in us, as in pattern `rtt`.
pub(super) fn rtt_us(us: f64) -> Figure {
    ("rtt", "ns", Better::Lower, us * 1e3)
}

/// The parameters that identify a row.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub subject: String,
    pub pattern: &'static str,
    pub placement: Placement,
    pub size_bytes: Option<u64>,
    pub messages: Option<u64>,
    pub workers: Option<(WorkerKind, u32)>,
    pub variant: Option<String>,
}

impl Key {
    /// Returns the key of a row without parameters.
    pub fn new(subject: &str, pattern: &'static str, placement: Placement) -> Key {
        let (size_bytes, messages, workers, variant) = (None, None, None, None);
        Key { subject: subject.to_owned(), pattern, placement, size_bytes, messages, workers, variant }
    }

    /// Sets the size of messages.
    pub fn size(self, bytes: u64) -> Key {
        Key { size_bytes: Some(bytes), ..self }
    }

    /// Returns the id by the rule for all rows: `subject/pattern/parameters/placement[/variant]`.
    fn id(&self) -> String {
        let parameters = match (self.size_bytes, self.messages, self.workers) {
            (Some(size), Some(messages), _) => Some(format!("{size}x{messages}")),
            (Some(size), None, _) => Some(size.to_string()),
            (None, _, Some((kind, workers))) => Some(format!("{}-{workers}", kind.name())),
            (None, _, None) => None,
        };
        let parts = [Some(self.subject.clone()), Some(self.pattern.to_owned()), parameters];
        let place = [Some(self.placement.name().to_owned()), self.variant.clone()];
        parts.into_iter().chain(place).flatten().collect::<Vec<_>>().join("/")
    }

    /// Returns the row with its figures, the row's own first.
    pub fn with(self, figures: &[Figure]) -> RowResult {
        let metric =
            |&(name, unit, better, _): &Figure| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
        let result = |figure: &Figure| {
            let value = figure.3;
            let estimate = Estimate::of_launches(&[value]).expect("published figures are finite");
            MetricResult { metric: metric(figure), estimate, launches: vec![value], blocks: vec![0] }
        };
        RowResult {
            row: Row {
                id: self.id(),
                definition_version: published_definition(self.pattern, &self.subject),
                subject: self.subject,
                pattern: self.pattern.to_owned(),
                standing: Standing::Candidate,
                placement: self.placement,
                size_bytes: self.size_bytes,
                messages: self.messages,
                workers: self.workers.map(|(_, number)| number),
                worker_kind: self.workers.map(|(kind, _)| kind),
                policy: None,
                variant: self.variant,
                metrics: figures.iter().map(metric).collect(),
            },
            outcome: RowOutcome::Measured,
            metrics: figures.iter().map(result).collect(),
            percentiles: Default::default(),
            counters: Default::default(),
            flags: few_launches(1).into_iter().collect(),
            failures: Vec::new(),
        }
    }
}

/// A host as described in its report.
#[derive(Clone, Debug, Default)]
pub(super) struct Host<'a> {
    pub name: &'a str,
    /// Processor, in the report's words.
    pub cpu: &'a str,
    pub architecture: &'a str,
    /// 0 if the report does not state it.
    pub cpus: u32,
    /// `uname -r`.
    pub kernel: &'a str,
    /// The distribution.
    pub system: &'a str,
}

impl Host<'_> {
    /// Returns the environment as far as it is known. The distribution is in the field of `uname -v`.
    fn environment(&self) -> Environment {
        let mut environment = Environment { host: self.name.to_owned(), ..Environment::default() };
        environment.cpu.model = self.cpu.to_owned();
        environment.cpu.architecture = self.architecture.to_owned();
        environment.cpu.online = self.cpus;
        environment.cpu.affinity = (0..self.cpus).collect();
        environment.kernel.release = self.kernel.to_owned();
        environment.kernel.version = self.system.to_owned();
        environment
    }
}

/// Returns a dataset of `table`; `time_s` is the measured time of a row, 0 if it is unknown.
pub(super) fn dataset(
    table: &Table,
    name: &str,
    about: String,
    host: &Host<'_>,
    time_s: f64,
    results: Vec<RowResult>,
) -> Dataset {
    let run_id = format!("{PREFIX}{}/{name}", table.name);
    let mut placements: Vec<Placement> = results.iter().map(|result| result.row.placement).collect();
    placements.sort_unstable();
    placements.dedup();
    let header = RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: table.date.to_owned(),
        command: ["headwater", "show", &run_id].map(str::to_owned).into(),
        program: None,
        variant_programs: std::collections::BTreeMap::new(),
        labels: std::collections::BTreeMap::new(),
        settings: Settings {
            selection: vec![run_id.clone()],
            launches: 1,
            time_s,
            warm_up_s: 0.0,
            budget_s: None,
            seed: 0,
            placements,
            transport_commands: Vec::new(),
            variants: Vec::new(),
        },
        run_id,
        rows: results.iter().map(|result| result.row.clone()).collect(),
        environment: host.environment(),
        clock_read_ns: 0.0,
        clock_resolution_ns: 0.0,
    };
    let run = Run { header, status: RunStatus::Complete, environment_after: None, results };
    Dataset { name: name.to_owned(), about, run }
}

//! Random values, rows, launches and events for the tests of this crate. Never compiled into the library.

use crate::schema::{
    Better, Environment, Event, LaunchRecord, Metric, Placement, Row, RunHeader, RunStatus, SCHEMA_VERSION, Settings,
    Standing,
};

pub(crate) use crate::random::Random;

/// Distributions that only tests need.
impl Random {
    /// Returns a uniform value in the open interval from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a standard normal value (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns a mostly normal value; one in ten has ten times the spread, as on a machine that is sometimes disturbed.
    pub(crate) fn contaminated(&mut self) -> f64 {
        let scale = if self.unit() < 0.1 { 10.0 } else { 1.0 };
        scale * self.normal()
    }
}

/// Returns values around 100 with the given relative spread.
pub(crate) fn noise(random: &mut Random, n: usize, spread: f64) -> Vec<f64> {
    (0..n).map(|_| 100.0 * (1.0 + spread * random.normal())).collect()
}

/// Returns a row of streaming with the metrics `rate` and `loss`.
pub(crate) fn row(id: &str) -> Row {
    let metric = |name: &str, unit: &str, better| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
    Row {
        id: id.to_owned(),
        subject: "pipe".to_owned(),
        pattern: "stream".to_owned(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::TwoCpus,
        size_bytes: Some(64),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: vec![metric("rate", "messages/s", Better::Higher), metric("loss", "ratio", Better::Lower)],
    }
}

/// Returns a header with these rows, and an environment in which every kind of field is present.
pub(crate) fn header(ids: &[&str]) -> RunHeader {
    RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: "0.1.0".to_owned(),
        run_id: "20250101T000000Z-host".to_owned(),
        started_at: "2025-01-01T00:00:00Z".to_owned(),
        command: vec!["headwater".to_owned(), "run".to_owned(), "\"qu\u{f6}ted\"\n".to_owned()],
        program: None,
        variant_programs: std::collections::BTreeMap::new(),
        labels: std::collections::BTreeMap::new(),
        settings: Settings {
            selection: vec!["overview".to_owned()],
            launches: 12,
            time_s: 0.3,
            warm_up_s: 0.1,
            budget_s: Some(90.0),
            seed: u64::MAX,
            placements: vec![Placement::SameCpu, Placement::TwoCpus, Placement::Free],
            transport_commands: Vec::new(),
            variants: Vec::new(),
        },
        rows: ids.iter().map(|id| row(id)).collect(),
        environment: environment(),
        clock_read_ns: 0.1 + 0.2,
        clock_resolution_ns: 1.0,
    }
}

pub(crate) fn environment() -> Environment {
    let mut environment = Environment { host: "host".to_owned(), ..Environment::default() };
    environment.cpu.affinity = vec![0, 1];
    environment.cpu.cache_bytes.insert("L2".to_owned(), 1 << 20);
    environment.limits.sysctl.insert("fs.pipe-max-size".to_owned(), "1048576".to_owned());
    environment.load.average_1min = 1.0 / 3.0;
    environment
}

/// Returns a launch whose metric `rate` has these batches of 100 operations.
pub(crate) fn launch(row: &str, block: u32, rates: &[f64]) -> LaunchRecord {
    let mut record = LaunchRecord {
        row: row.to_owned(),
        block,
        batch_operations: 100,
        elapsed_s: 0.5,
        warm_up_s: 0.1,
        steady: true,
        ..LaunchRecord::default()
    };
    record.series.insert("rate".to_owned(), rates.to_vec());
    record
}

/// Returns one of each event, in a possible order.
pub(crate) fn all_events() -> Vec<Event> {
    let mut full = launch("a", 0, &[0.1, 1e300, 5e-324, 1.0 / 3.0, 123_456_789.123_456_79]);
    full.histograms.insert("rtt".to_owned(), vec![(1, 2), (u64::MAX, u64::MAX)]);
    full.counters.insert("sender_voluntary_switches".to_owned(), 50.0);
    vec![
        Event::RunStarted(Box::new(header(&["a", "b"]))),
        Event::RowSkipped { row: row("c"), reason: "fs.mqueue.msgsize_max is 8192".to_owned() },
        Event::LaunchFinished(Box::new(full)),
        Event::LaunchFailed { row: "b".to_owned(), block: 0, reason: "peer stuck".to_owned() },
        Event::RunResumed { at: "2025-01-01T00:01:00Z".to_owned(), launches: Some(24) },
        Event::RunFinished { status: RunStatus::Partial, environment: Box::new(environment()) },
    ]
}

/// Returns the events as stored in `run.jsonl`.
pub(crate) fn lines(events: &[Event]) -> String {
    events.iter().map(|event| serde_json::to_string(event).expect("events are plain data") + "\n").collect()
}

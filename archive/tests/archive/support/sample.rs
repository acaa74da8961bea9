//! Runs that were never measured: every figure follows from its name and level.

use headwater_results::schema::{
    Better, Environment, Event, LaunchRecord, Metric, Placement, Row, RunHeader, RunStatus, SCHEMA_VERSION, Settings,
    Standing,
};

/// What a test says about a run.
#[derive(Clone, Debug)]
pub struct Sample {
    pub name: String,
    pub host: String,
    pub machine: Option<String>,
    pub kernel: String,
    pub started_at: String,
    pub labels: Vec<(String, String)>,
    pub rows: Vec<String>,
    pub launches: u32,
    pub level: f64,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            name: "one".to_owned(),
            host: "brook".to_owned(),
            machine: None,
            kernel: "6.18.2".to_owned(),
            started_at: "2026-11-21T20:15:00Z".to_owned(),
            labels: Vec::new(),
            rows: vec!["pipe/rtt/64/two-cpus".to_owned(), "pipe/stream/64/two-cpus".to_owned()],
            launches: 3,
            level: 1e6,
        }
    }
}

impl Sample {
    /// Returns the sample of that name.
    pub fn named(name: &str) -> Sample {
        Sample { name: name.to_owned(), ..Sample::default() }
    }

    /// Returns the lines of `run.jsonl`.
    pub fn lines(&self) -> String {
        let end = Event::RunFinished { status: RunStatus::Complete, environment: Box::new(self.environment()) };
        self.begun() + &self.launches(0..self.launches) + &line(&end)
    }

    /// Returns the first line.
    pub fn begun(&self) -> String {
        let rows: Vec<Row> = self.rows.iter().map(|id| row(id)).collect();
        line(&Event::RunStarted(Box::new(RunHeader {
            schema_version: SCHEMA_VERSION,
            headwater_version: "0.1.0".to_owned(),
            run_id: self.name.clone(),
            started_at: self.started_at.clone(),
            command: ["headwater", "run", "pipe"].map(str::to_owned).into(),
            program: None,
            variant_programs: Default::default(),
            labels: self.labels.iter().cloned().collect(),
            settings: Settings {
                selection: vec!["pipe".to_owned()],
                launches: self.launches,
                time_s: 0.1,
                warm_up_s: 0.01,
                budget_s: None,
                seed: 7,
                placements: vec![Placement::TwoCpus],
                transport_commands: Vec::new(),
                variants: Vec::new(),
            },
            rows,
            environment: self.environment(),
            clock_read_ns: 25.0,
            clock_resolution_ns: 1.0,
        })))
    }

    /// Returns the lines of all rows' launches in these blocks.
    pub fn launches(&self, blocks: std::ops::Range<u32>) -> String {
        let mut lines = String::new();
        for block in blocks {
            for (position, id) in (0..).zip(&self.rows) {
                let value = self.level * (1.0 + 0.001 * f64::from(block % 7)) / 3.0 + f64::from(position);
                lines += &line(&Event::LaunchFinished(Box::new(LaunchRecord {
                    row: id.clone(),
                    block,
                    position,
                    started_s: f64::from(block),
                    elapsed_s: 0.1,
                    series: [("rate".to_owned(), vec![value * 0.99, value, value * 1.01])].into(),
                    batch_operations: 1000,
                    steady: true,
                    counters: [("operations".to_owned(), 3000.0)].into(),
                    ..LaunchRecord::default()
                })));
            }
        }
        lines
    }

    fn environment(&self) -> Environment {
        let mut environment =
            Environment { host: self.host.clone(), machine: self.machine.clone(), ..Environment::default() };
        environment.cpu.model = "Sample CPU".to_owned();
        environment.cpu.affinity = vec![0, 1];
        environment.kernel.release = self.kernel.clone();
        environment
    }
}

pub fn line(event: &Event) -> String {
    serde_json::to_string(event).expect("plain data") + "\n"
}

fn row(id: &str) -> Row {
    let part = |at: usize| id.split('/').nth(at).unwrap_or("x").to_owned();
    Row {
        id: id.to_owned(),
        subject: part(0),
        pattern: part(1),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::TwoCpus,
        size_bytes: Some(64),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: vec![Metric { name: "rate".to_owned(), unit: "messages/s".to_owned(), better: Better::Higher }],
    }
}

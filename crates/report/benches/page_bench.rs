//! How long a page of 50,000 rows takes, and how large it is: `cargo bench -p headwater-report --bench
//! page_bench`. It makes its runs itself and writes nothing but two lines.

use std::collections::BTreeMap;
use std::time::Instant;

use headwater_report::{PageOptions, page};
use headwater_results::estimate::Estimate;
use headwater_results::random::Random;
use headwater_results::schema::{Better, Metric, MetricResult, SCHEMA_VERSION, Settings, Standing};
use headwater_results::schema::{Environment, Placement, Row, RowOutcome, RowResult, Run, RunHeader, RunStatus};

const LAUNCHES: u32 = 12;
const SUBJECTS: usize = 25;

fn main() {
    // Five subjects with very many sizes, and twenty-five subjects in very many patterns.
    for (name, patterns, subjects) in [("many sizes", 2, 5), ("many patterns", 100, SUBJECTS)] {
        let run = run(patterns, subjects, 50_000 / patterns / subjects);
        let runs = [(name.to_owned(), &run)];
        let start = Instant::now();
        let html = page(&runs, &[], &PageOptions::default());
        let elapsed = start.elapsed();
        println!("{name}: {} rows, {} bytes, {:.2} s", run.results.len(), html.len(), elapsed.as_secs_f64());
    }
}

fn run(patterns: usize, subjects: usize, sizes: usize) -> Run {
    let mut random = Random::new(1);
    let mut results = Vec::new();
    for pattern in 0..patterns {
        for subject in 0..subjects {
            for size in 1..=sizes {
                results.push(result(&format!("pattern-{pattern}"), subject, size as u64, &mut random));
            }
        }
    }
    let header = RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: "0".to_owned(),
        program: None,
        variant_programs: BTreeMap::new(),
        labels: BTreeMap::new(),
        run_id: "bench".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        command: vec!["headwater".to_owned(), "run".to_owned()],
        settings: Settings {
            selection: Vec::new(),
            launches: LAUNCHES,
            time_s: 0.05,
            warm_up_s: 0.01,
            budget_s: None,
            seed: 1,
            placements: vec![Placement::TwoCpus],
            transport_commands: Vec::new(),
            variants: Vec::new(),
        },
        rows: Vec::new(),
        environment: Environment::default(),
        clock_read_ns: 25.0,
        clock_resolution_ns: 1.0,
    };
    Run { header, status: RunStatus::Complete, environment_after: None, results }
}

fn result(pattern: &str, subject: usize, size: u64, random: &mut Random) -> RowResult {
    let metric = Metric { name: "rate".to_owned(), unit: "messages/s".to_owned(), better: Better::Higher };
    let row = Row {
        id: format!("transport-{subject}/{pattern}/{size}/two-cpus"),
        subject: format!("transport-{subject}"),
        pattern: pattern.to_owned(),
        definition_version: 1,
        standing: if subject == 0 { Standing::Null } else { Standing::Candidate },
        placement: Placement::TwoCpus,
        size_bytes: Some(size),
        messages: None,
        workers: None,
        worker_kind: None,
        variant: None,
        policy: None,
        metrics: vec![metric.clone()],
    };
    let rate = 1e9 / (500.0 + 100.0 * subject as f64 + 0.1 * size as f64);
    let launches: Vec<f64> = (0..LAUNCHES).map(|_| rate * (0.97 + 0.06 * random.below(1000) as f64 / 1000.0)).collect();
    let estimate = Estimate::of_launches(&launches).expect("there are launches");
    let blocks = (0..LAUNCHES).collect();
    RowResult {
        row,
        outcome: RowOutcome::Measured,
        metrics: vec![MetricResult { metric, estimate, launches, blocks }],
        percentiles: BTreeMap::new(),
        counters: BTreeMap::new(),
        flags: Vec::new(),
        failures: Vec::new(),
    }
}

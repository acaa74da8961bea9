//! Runs for the tests of this crate, folded from generated events like a real run. Never compiled into the library.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_results::compare::{Comparison, Ratio, RowComparison, Rules, Verdict};
use headwater_results::estimate::Estimate;
use headwater_results::history::{Entry, own_figure};
use headwater_results::origin::Origin;
use headwater_results::random::Random;
use headwater_results::schema::{
    Better, Environment, Event, LMBENCH_VALUE, LaunchRecord, Metric, Placement, Row, RunHeader, RunStatus,
    SCHEMA_VERSION, Settings, Standing, WorkerKind,
};
use headwater_results::schema::{RowResult, Run};
use headwater_results::summary::Fold;

/// A run that is being built: rows with their outcomes.
pub(crate) struct TestRun {
    header: RunHeader,
    events: Vec<Event>,
    random: u64,
}

/// A transport: its name, standing, ns per message and ns per byte.
type Transport = (&'static str, Standing, f64, f64);

/// Transports of an imaginary machine.
const TRANSPORTS: [Transport; 9] = [
    ("pipe", Standing::Candidate, 700.0, 0.17),
    ("pipe-1m", Standing::Candidate, 690.0, 0.14),
    ("fifo", Standing::Candidate, 705.0, 0.17),
    ("unix-stream", Standing::Candidate, 1400.0, 0.09),
    ("tcp", Standing::Candidate, 2100.0, 0.15),
    ("ring-spin", Standing::Limit, 40.0, 0.07),
    ("ring-futex", Standing::Limit, 55.0, 0.08),
    ("ring-futex-1m", Standing::Limit, 52.0, 0.06),
    ("null", Standing::Null, 8.0, 0.0),
];

impl TestRun {
    /// Returns an empty run whose rows get this many launches.
    pub fn new(launches: u32) -> TestRun {
        let settings = Settings {
            selection: vec!["overview".to_owned()],
            launches,
            time_s: 0.05,
            warm_up_s: 0.01,
            budget_s: Some(84.0),
            seed: 17,
            placements: vec![Placement::TwoCpus],
            transport_commands: Vec::new(),
            variants: Vec::new(),
        };
        let header = RunHeader {
            schema_version: SCHEMA_VERSION,
            headwater_version: "0.1.0".to_owned(),
            run_id: "20250131T123000Z-brook".to_owned(),
            started_at: "2025-01-31T12:30:00Z".to_owned(),
            command: ["headwater", "run", "overview", "--seed", "17"].map(str::to_owned).into(),
            program: None,
            variant_programs: BTreeMap::new(),
            labels: BTreeMap::new(),
            settings,
            rows: Vec::new(),
            environment: environment(),
            clock_read_ns: 24.0,
            clock_resolution_ns: 1.0,
        };
        TestRun { header, events: Vec::new(), random: 1 }
    }

    /// Returns a uniform number in 0..1, the same in every test run (a 64-bit LCG, Knuth's constants).
    fn unit(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Adds a row whose metrics have these values in each launch, varied by `spread` (a share).
    pub fn measure(&mut self, row: &Row, values: &[f64], spread: f64) -> &mut TestRun {
        self.header.rows.push(row.clone());
        for block in 0..self.header.settings.launches {
            let mut record = LaunchRecord {
                row: row.id.clone(),
                block,
                elapsed_s: 0.1,
                batch_operations: 1000,
                warm_up_s: 0.01,
                steady: true,
                ..LaunchRecord::default()
            };
            let shift = 1.0 + spread * (2.0 * self.unit() - 1.0);
            for (metric, value) in row.metrics.iter().zip(values) {
                let batches = (0..20).map(|_| value * shift * (1.0 + 0.01 * (2.0 * self.unit() - 1.0)));
                record.series.insert(metric.name.clone(), batches.collect());
            }
            if let ("rtt" | "wake", Some(own)) = (row.pattern.as_str(), row.metrics.first()) {
                let pairs = [(0.9, 3000), (1.0, 5000), (1.3, 1900), (2.5, 90), (8.0, 10)];
                let pairs = pairs.map(|(factor, count)| ((values[0] * factor) as u64 + 1, count));
                record.histograms.insert(own.name.clone(), pairs.into());
            }
            record.counters = counters(row, values[0]);
            self.events.push(Event::LaunchFinished(Box::new(record)));
        }
        self
    }

    /// Adds a row that the machine cannot run.
    pub fn skip(&mut self, row: &Row, reason: &str) -> &mut TestRun {
        self.header.rows.push(row.clone());
        self.events.push(Event::RowSkipped { row: row.clone(), reason: reason.to_owned() });
        self
    }

    /// Adds a row whose only launch failed.
    pub fn fail(&mut self, row: &Row, reason: &str) -> &mut TestRun {
        self.header.rows.push(row.clone());
        let reason = reason.to_owned();
        self.events.push(Event::LaunchFailed { row: row.id.clone(), block: 0, reason });
        self
    }

    /// Adds a row that was not measured.
    pub fn leave(&mut self, row: &Row) -> &mut TestRun {
        self.header.rows.push(row.clone());
        self
    }

    /// Changes the settings of the run.
    pub fn header(&mut self, change: impl FnOnce(&mut RunHeader)) -> &mut TestRun {
        change(&mut self.header);
        self
    }

    /// Returns the run, ended with `status`; without it, the run was interrupted.
    pub fn run(&self, status: Option<RunStatus>) -> Run {
        let start = Event::RunStarted(Box::new(self.header.clone()));
        let end = status.map(|status| Event::RunFinished { status, environment: Box::new(environment()) });
        let events = [start].into_iter().chain(self.events.iter().cloned()).chain(end);
        Fold::run_of(events).expect("made events are those of one run")
    }
}

/// Returns all rows of the suite `overview`, including skipped, failed and noisy ones.
pub(crate) fn overview(launches: u32) -> TestRun {
    let mut made = TestRun::new(launches);
    for (name, standing, fixed_ns, byte_ns) in TRANSPORTS {
        for size in [64, 4096, 65_536] {
            let rate = 1e9 / (fixed_ns + byte_ns * size as f64);
            made.measure(&messaging(name, standing, "stream", size), &[rate], 0.03);
        }
    }
    for (name, standing, fixed_ns, byte_ns) in TRANSPORTS {
        made.measure(&messaging(name, standing, "stream-full", 64), &[1e9 / (fixed_ns + 64.0 * byte_ns) * 1.4], 0.05);
        if standing != Standing::Null {
            made.measure(&messaging(name, standing, "single", 4096), &[1.6e9 / (fixed_ns + 4096.0 * byte_ns)], 0.04);
        }
        made.measure(&messaging(name, standing, "rtt", 64), &[fixed_ns * 14.0], 0.04);
        if !["ring-spin", "null"].contains(&name) {
            made.measure(&messaging(name, standing, "wake", 64), &[fixed_ns.max(600.0) * 20.0], 0.2);
        }
    }
    for (name, loss) in [("udp", 0.12), ("udp-mmsg", 0.31), ("udp-gso", 0.0)] {
        for (size, tx) in [(64, 620_000.0), (4096, 410_000.0)] {
            let row = messaging(name, Standing::Candidate, "flood", size);
            made.measure(&row, &[tx * (1.0 - loss), tx, loss], 0.05);
        }
    }
    for (name, us) in [("pipe", 720.0), ("fifo", 735.0), ("fifo-socket", 1480.0)] {
        for size in [64, 4096] {
            let mut row = messaging(name, Standing::Candidate, "matrix", size);
            row.messages = Some(1000);
            row.id = format!("{name}/matrix/{size}x1000/two-cpus");
            made.measure(&row, &[us * (1.0 + size as f64 / 8192.0)], 0.06);
        }
    }
    let primitives = [("none", 1.1), ("atomic", 5.1), ("mutex", 18.0), ("futex-lock", 14.0), ("record-lock", 1450.0)];
    for (name, ns) in primitives {
        for (workers, kind) in [(1, WorkerKind::Process), (2, WorkerKind::Process), (2, WorkerKind::Thread)] {
            made.measure(&sync(name, workers, kind), &[ns * 1e3 * f64::from(workers * workers)], 0.04);
        }
    }
    for size in [64, 4096] {
        made.fail(
            &messaging("pty", Standing::Candidate, "stream", size),
            "the receiver was stuck: no answer for 10 s, given up",
        );
    }
    for pattern in ["stream", "rtt", "wake", "single"] {
        let row = messaging("posix-mq", Standing::Candidate, pattern, 65_536);
        made.skip(&row, "mq_open: fs.mqueue.msgsize_max is 8192 and a private IPC namespace is not allowed here");
    }
    made
}

/// Returns a row of messages on two CPUs.
pub(crate) fn messaging(subject: &str, standing: Standing, pattern: &str, size: u64) -> Row {
    let metric = |name: &str, unit: &str, better| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
    let metrics = match pattern {
        "rtt" => vec![metric("rtt", "ns", Better::Lower)],
        "wake" => vec![metric("one_way", "ns", Better::Lower)],
        "matrix" => vec![metric("elapsed", "us", Better::Lower)],
        "flood" => vec![
            metric("rx_rate", "messages/s", Better::Higher),
            metric("tx_rate", "messages/s", Better::Higher),
            metric("loss", "ratio", Better::Lower),
        ],
        _ => vec![metric("rate", "messages/s", Better::Higher)],
    };
    Row {
        id: format!("{subject}/{pattern}/{size}/two-cpus"),
        subject: subject.to_owned(),
        pattern: pattern.to_owned(),
        definition_version: 1,
        standing,
        placement: Placement::TwoCpus,
        size_bytes: Some(size),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics,
    }
}

/// Returns a row of a basic operation with free placement, with the figure by LMbench's rule.
pub(crate) fn operation(subject: &str, pattern: &str, unit: &str) -> Row {
    let (name, better) = if unit == "MB/s" { ("bandwidth", Better::Higher) } else { ("elapsed", Better::Lower) };
    let metric = |name: &str| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
    Row {
        id: format!("{subject}/{pattern}/free"),
        size_bytes: None,
        placement: Placement::Free,
        metrics: vec![metric(name), metric(LMBENCH_VALUE)],
        ..messaging(subject, Standing::Candidate, pattern, 1)
    }
}

/// Returns the suite of basic operations, with lines for every table.
pub(crate) fn operations(launches: u32) -> TestRun {
    let mut made = TestRun::new(launches);
    let rows = [
        ("null-call", "us", 0.0712),
        ("open-close", "us", 1.23),
        ("sh", "us", 10_420.0),
        ("select-100-fd", "us", 4.2),
        ("ctxsw-2p-0k", "us", 1.51),
        ("ctxsw-16p-64k", "us", 22.4),
        ("page-fault", "us", 0.23),
        ("pipe-bandwidth", "MB/s", 3120.0),
        ("mhz", "MHz", 2500.0),
        ("l1-cache", "ns", 1.61),
        ("semaphore", "us", 3.3),
    ];
    for (subject, unit, value) in rows {
        made.measure(&operation(subject, "lmbench", unit), &[value, value * 0.97], 0.03);
    }
    let round_trip = placed(messaging("pipe", Standing::Candidate, "rtt", 1), Placement::Free);
    made.measure(&round_trip, &[8412.0], 0.03);
    made.measure(&Row { standing: Standing::Null, ..operation("none", "kernel", "ns") }, &[0.41, 0.41], 0.01);
    made.measure(&operation("getrandom", "kernel", "ns"), &[181.0, 180.0], 0.02);
    made.skip(&operation("userfaultfd", "kernel", "ns"), "userfaultfd: Operation not permitted (os error 1)");
    made.header(|header| header.settings.placements = vec![Placement::Free]);
    made
}

/// Returns a run of `headwater overhead`: a workload, a row of LMbench and the probes. In kernel sessions they are 10 %
/// slower and twice as slow, in a session of the tracer not slower; `strace` is missing.
pub(crate) fn overhead(launches: u32) -> Run {
    let of = |subject: &str, pattern: &str, unit: &str, name: &str| Row {
        id: format!("{subject}/{pattern}/free/{name}"),
        variant: Some(name.to_owned()),
        ..operation(subject, pattern, unit)
    };
    let workload = |name: &str| {
        let metric = |name: &str| Metric { name: name.to_owned(), unit: "s".to_owned(), better: Better::Lower };
        Row { metrics: vec![metric("elapsed"), metric("cpu")], ..of("compile", "workload", "s", name) }
    };
    let mut made = TestRun::new(launches);
    for (name, factor, call) in
        [("off", 1.0, 1.0), ("null", 1.001, 1.0), ("flight", 1.1, 2.4), ("user-drain", 1.0, 1.0)]
    {
        made.measure(&workload(name), &[0.52 * factor, 0.5 * factor], 0.01);
        made.measure(&of("null-call", "lmbench", "us", name), &[0.0712 * call, 0.07 * call], 0.01);
        made.measure(&of("getppid", "probe", "ns", name), &[100.0 * call, 100.0 * call], 0.001);
    }
    made.skip(&workload("strace"), "strace is not installed");
    let command = ["headwater", "overhead", "compile", "lmbench", "--seed", "17"];
    made.header(|header| {
        header.command = command.map(str::to_owned).into();
        (header.settings.launches, header.settings.time_s) = (0, 0.0);
        header.settings.placements = vec![Placement::Free];
    });
    let mut run = made.run(Some(RunStatus::Complete));
    for result in &mut run.results {
        let events = match (result.row.variant.as_deref(), result.row.pattern.as_str()) {
            (Some("flight"), "workload") => 400_000.0,
            (Some("flight"), "probe") => 2000.0,
            (Some("user-drain"), "workload") => 0.0,
            _ => continue,
        };
        result.counters.extend(
            [("events", events), ("lost", 0.0), ("calls", 1000.0)].map(|(name, value)| (name.to_owned(), value)),
        );
    }
    run
}

/// Returns the same row with another placement.
pub(crate) fn placed(mut row: Row, placement: Placement) -> Row {
    row.id = row.id.replace(row.placement.name(), placement.name());
    row.placement = placement;
    row
}

/// Returns a row of workers at a counter.
pub(crate) fn sync(subject: &str, workers: u32, kind: WorkerKind) -> Row {
    let standing = if subject == "none" { Standing::Null } else { Standing::Candidate };
    let metric = Metric { name: "total".to_owned(), unit: "us".to_owned(), better: Better::Lower };
    Row {
        id: format!("{subject}/sync/{}-{workers}/two-cpus", kind.name()),
        size_bytes: None,
        workers: Some(workers),
        worker_kind: Some(kind),
        policy: None,
        variant: None,
        metrics: vec![metric],
        ..messaging(subject, standing, "sync", 1)
    }
}

fn counters(row: &Row, value: f64) -> BTreeMap<String, f64> {
    let operation_s = if row.pattern == "rtt" { value * 1e-9 } else { 1.0 / value };
    let counters = [
        ("operations", 21_000.0),
        ("sender_user_s", 21_000.0 * operation_s * 0.2),
        ("sender_system_s", 21_000.0 * operation_s * 0.7),
        ("sender_voluntary_switches", if row.pattern == "rtt" { 21_000.0 } else { 310.0 }),
        ("sender_involuntary_switches", 3.0),
        ("receiver_user_s", 21_000.0 * operation_s * 0.3),
        ("receiver_system_s", 21_000.0 * operation_s * 0.6),
        ("receiver_voluntary_switches", if row.pattern == "rtt" { 21_000.0 } else { 950.0 }),
        ("receiver_involuntary_switches", 2.0),
    ];
    // Transports with policies count some of their own calls.
    let own = [("sender_wake_ups", 4200.0), ("receiver_wake_ups", 21.0), ("receiver_blocks", 1050.0)];
    let own = own.into_iter().filter(|_| row.policy.is_some());
    counters.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn environment() -> Environment {
    let mut environment = Environment { host: "brook".to_owned(), ..Environment::default() };
    environment.cpu.model = "AMD EPYC 7B13".to_owned();
    environment.cpu.online = 2;
    environment.cpu.affinity = vec![0, 1];
    environment.kernel.release = "6.1.0-18-cloud-amd64".to_owned();
    environment.virtualisation = Some("kvm".to_owned());
    environment
}

/// A name that attacks a page.
pub(crate) const HOSTILE: &str = "</svg><script>alert(1)</script>\"'&";

/// Returns a comparison of four rows of two runs, one of each verdict; one row has a hostile name.
pub(crate) fn comparison() -> Comparison {
    let row = |label: &str, value: f64, verdict| {
        let row = messaging(label, Standing::Candidate, "stream", 64);
        let estimate = Estimate { median: 1.0, low: 0.9, high: 1.1, confidence: 0.96, n: 12 };
        let ratio = Ratio {
            value,
            low: value * 0.98,
            high: value * 1.02,
            confidence: 0.95,
            n: 12,
            paired: true,
            p: 0.001,
            p_reachable: 0.001,
        };
        RowComparison {
            label: row.id.clone(),
            metric: row.metrics[0].clone(),
            row,
            baseline: estimate,
            candidate: estimate,
            ratio: Some(ratio),
            p_adjusted: Some(0.002),
            verdict,
            hosts: None,
        }
    };
    Comparison {
        baseline: "old".to_owned(),
        candidate: "new".to_owned(),
        rules: Rules::default(),
        rows: vec![
            row("pipe", 1.08, Verdict::Better),
            row(HOSTILE, 0.9, Verdict::Worse),
            row("tcp", 1.0, Verdict::Equivalent),
            row("udp", 1.03, Verdict::Inconclusive { more_blocks: Some(7), more_hosts: None, below_floor: false }),
        ],
        left_out: Vec::new(),
        geometric_mean: None,
        hosts: None,
        movement: None,
        resemblance: None,
    }
}

/// Returns the entries of sixty days of two rows: from day 40 on the first is 8 % slower, under another kernel.
pub(crate) fn history_entries() -> Vec<Entry> {
    history_of(
        [messaging("pipe", Standing::Candidate, "stream", 64), messaging("fifo", Standing::Candidate, "stream", 64)],
        "brook",
    )
}

/// Returns the same of a program and a host that want to become elements and escape sequences.
pub(crate) fn hostile_history_entries() -> Vec<Entry> {
    let mut row = messaging("pipe", Standing::Candidate, "stream", 64);
    row.id = "<script>alert(1)</script>/\u{1b}]0;title\u{7}".to_owned();
    history_of([row, messaging("fifo", Standing::Candidate, "stream", 64)], "<img src=x>\u{1b}]0;host")
}

fn history_of(rows: [Row; 2], host: &str) -> Vec<Entry> {
    let day = |day: u32| {
        let mut run = TestRun::new(8);
        run.header(|header| {
            header.run_id = format!("day-{day:02}");
            header.started_at = format!("2026-{:02}-{:02}T04:00:00Z", 1 + day / 28, 1 + day % 28);
            header.environment.host = host.to_owned();
            header.environment.kernel.release = if day < 40 { "6.9.1" } else { "6.12.0" }.to_owned();
        });
        // A deviation of up to 1 %, without a pattern.
        let wave = |seed: u64| 1.0 + 0.0001 * Random::new(u64::from(day) << 8 | seed).below(101) as f64;
        let level = if day < 40 { 1e6 } else { 0.92e6 };
        run.measure(&rows[0], &[level * wave(1)], 0.01).measure(&rows[1], &[1e6 * wave(50)], 0.01);
        let run = run.run(Some(RunStatus::Complete));
        let name = run.header.run_id.clone();
        let origin = Arc::new(Origin::of(&name, &run));
        let entry = |result: &RowResult| Entry {
            origin: Arc::clone(&origin),
            row: Arc::new(result.row.clone()),
            metric: own_figure(result).expect("measured").clone(),
        };
        run.results.iter().map(entry).collect::<Vec<Entry>>()
    };
    (0..60).flat_map(day).collect()
}

//! How large an archive may become: a million launches of two thousand rows from a thousand hosts, and the usual queries, on
//! both databases. Run by `cargo xtask archive-scale`; docs/archive.md has the figures.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use headwater_results::random::Random;
use headwater_results::schema::{Event, LaunchRecord};

use crate::support::headwater::headwater;
use crate::support::postgres::{PORT, Server};
use crate::support::sample::{Sample, line};
use crate::support::{TestDir, expect, text};

/// All rows that there are, and those that every run has.
const ROWS: usize = 2000;
const COMMON: usize = 20;

/// The rows of a run of a fleet, and their launches.
const ROWS_OF_A_HOST: usize = 45;
const LAUNCHES: u32 = 10;

/// The runs of one machine night by night, with the common rows alone.
const NIGHTS: usize = 1000;
const LAUNCHES_OF_A_NIGHT: u32 = 5;

/// The runs that are written, added and removed at a time.
const BATCH: usize = 100;

fn hosts() -> usize {
    std::env::var("HEADWATER_ARCHIVE_HOSTS").ok().and_then(|hosts| hosts.parse().ok()).unwrap_or(1000)
}

fn row(number: usize) -> String {
    format!(
        "{}/{}/{}/two-cpus",
        ["pipe", "tcp", "unix", "fifo"][number % 4],
        ["rtt", "stream"][number / 4 % 2],
        64 + number
    )
}

/// Returns the events of a run, with about as many and as random figures as a measured one has.
fn events(sample: &Sample, random: &mut Random) -> String {
    let mut lines = sample.begun();
    let mut normal = || f64::from(random.bits() as u32 % 1000 + random.bits() as u32 % 1000) / 1e6 + 1.0;
    for block in 0..sample.launches {
        for (position, id) in (0..).zip(&sample.rows) {
            let level = sample.level * normal();
            lines += &line(&Event::LaunchFinished(Box::new(LaunchRecord {
                row: id.clone(),
                block,
                position,
                started_s: f64::from(block) * normal(),
                elapsed_s: 0.1 * normal(),
                series: [("rate".to_owned(), (0..20).map(|_| level * normal()).collect())].into(),
                histograms: [(
                    "rtt".to_owned(),
                    (0..12).map(|at| ((20_000.0 * normal()) as u64 + at * 500, 1 + at)).collect(),
                )]
                .into(),
                batch_operations: 1000,
                steady: true,
                counters: [
                    "sender_user_s",
                    "sender_system_s",
                    "receiver_user_s",
                    "receiver_system_s",
                    "cpu_slowdown_ratio",
                ]
                .map(|name| (name.to_owned(), 0.01 * normal()))
                .into(),
                ..LaunchRecord::default()
            })));
        }
    }
    let whole = sample.lines();
    lines + whole.lines().next_back().expect("the end") + "\n"
}

/// Returns the runs in the order in which they are added.
fn samples() -> impl Iterator<Item = Sample> {
    let common = || (0..COMMON).map(row);
    let night = move |number: usize| Sample {
        host: "ci".to_owned(),
        started_at: format!("20{:02}-{:02}-{:02}T02:00:00Z", 23 + number / 336, 1 + number / 28 % 12, 1 + number % 28),
        rows: common().collect(),
        launches: LAUNCHES_OF_A_NIGHT,
        ..Sample::named(&format!("night-{number:04}"))
    };
    let of_host = move |number: usize| {
        let (host, is_new) = (number / 2, number % 2 == 1);
        let own = (0..ROWS_OF_A_HOST - COMMON).map(|at| row(COMMON + (host * 37 + at * 71) % (ROWS - COMMON)));
        Sample {
            host: format!("host{host:04}"),
            kernel: if is_new { "6.18.2" } else { "6.12.8" }.to_owned(),
            started_at: format!("2026-11-{}T{:02}:{:02}:00Z", if is_new { 24 } else { 10 }, host / 60 % 24, host % 60),
            rows: common().chain(own).collect(),
            launches: LAUNCHES,
            level: if is_new { 0.97e6 } else { 1e6 },
            ..Sample::named(&format!("host{host:04}-{}", if is_new { "new" } else { "old" }))
        }
    };
    (0..NIGHTS * hosts() / 1000).map(night).chain((0..2 * hosts()).map(of_host))
}

fn say(words: &str) {
    println!("{words}");
}

/// Returns the time of reading the figures of rows, and how many came.
fn figures(dir: &TestDir, archive: &str, query: &str, wanted: impl Fn(&str) -> bool) -> (Duration, usize) {
    let begun = Instant::now();
    let mut command = dir.command(archive, &["figures", query]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let output = child.stdout.take().expect("a pipe");
    let (mut ids, mut count) = (Vec::new(), 0);
    for line in std::io::BufRead::lines(std::io::BufReader::new(output)).map_while(Result::ok) {
        if let Some(rest) = line.strip_prefix("{\"row\":{\"id\":") {
            let (id, rest) = rest.split_once(',').expect("an id");
            let name = rest.split('"').nth(5).expect("a name");
            if wanted(name) {
                ids.push(id.to_owned());
            }
        } else if line == "\"rows_end\"" {
            input.write_all(format!("[{}]\n", ids.join(",")).as_bytes()).expect("it reads");
        } else if line.starts_with("{\"figure\"") {
            count += 1;
        }
    }
    assert!(child.wait().expect("it ends").success());
    (begun.elapsed(), count)
}

/// Returns the middle of three measurements.
fn middle<T>(mut measure: impl FnMut() -> (Duration, T)) -> (f64, T) {
    let mut all: Vec<(Duration, T)> = (0..3).map(|_| measure()).collect();
    all.sort_by_key(|(time, _)| *time);
    let (time, what) = all.swap_remove(1);
    (time.as_secs_f64() * 1e3, what)
}

fn measure(dir: &TestDir, archive: &str, size: impl Fn() -> u64, plan: impl Fn(&str)) {
    let mut random = Random::new(1);
    let (mut runs, mut launches, mut bytes) = (0, 0, 0);
    let mut adding = Duration::ZERO;
    let mut samples = samples().peekable();
    while samples.peek().is_some() {
        for sample in samples.by_ref().take(BATCH) {
            let events = events(&sample, &mut random);
            (runs, bytes) = (runs + 1, bytes + events.len());
            launches += sample.launches as usize * sample.rows.len();
            dir.run(&format!("batch/{}", sample.name), &events);
        }
        let begun = Instant::now();
        expect(&dir.archive(archive, &["add", "--quiet", "batch"]), 0, &[]);
        adding += begun.elapsed();
        fs::remove_dir_all(dir.path("batch")).expect("the runs");
    }
    let seconds = adding.as_secs_f64();
    say(&format!(
        "{runs} runs, {launches} launches, {} MB of run.jsonl: added in {seconds:.1} s by one process, {:.0} launches/s, {:.1} runs/s; {} MB on disk",
        bytes / 1_000_000,
        launches as f64 / seconds,
        f64::from(runs) / seconds,
        size() / 1_000_000
    ));
    let one = Sample { rows: (0..168).map(row).collect(), launches: 6, ..Sample::named("overview") };
    let mut number = 0;
    let (add_ms, ()) = middle(|| {
        number += 1;
        let sample = Sample { name: format!("overview{number}"), ..one.clone() };
        let run = dir.run(&sample.name, &events(&sample, &mut random));
        let begun = Instant::now();
        expect(&dir.archive(archive, &["add", text(&run)]), 0, &[]);
        (begun.elapsed(), ())
    });
    say(&format!("add one run of the overview's size, 168 rows of 6 launches: {add_ms:.0} ms"));
    let first = row(0);
    for (what, query) in [("one host", "host=ci"), ("all hosts", "kernel=6.18,since=2026-11-24")] {
        let (ms, count) = middle(|| figures(dir, archive, query, |name| name == first));
        say(&format!("history of a row, {what} ({query}): {ms:.0} ms, {count} figures"));
    }
    let (ms, count) = middle(|| figures(dir, archive, "host=host*", |_| true));
    say(&format!("comparison of two kernels over all hosts (host=host*): {ms:.0} ms, {count} figures"));
    let (ms, count) = middle(|| figures(dir, archive, "since=2026-11-24", |_| true));
    say(&format!("dashboard since yesterday (since=2026-11-24): {ms:.0} ms, {count} figures"));
    let (ms, _) = middle(|| {
        let begun = Instant::now();
        expect(&dir.archive(archive, &["list", "last=20"]), 0, &["20 runs"]);
        (begun.elapsed(), ())
    });
    say(&format!("list last=20: {ms:.0} ms"));
    for (what, arguments) in [
        ("headwater history ROW archive:host=ci", &["history", &first, "archive:host=ci"][..]),
        ("headwater history ROW archive:since=2026-11-24", &["history", &first, "archive:since=2026-11-24"]),
        ("headwater compare archive:host=host* --by kernel", &["compare", "archive:host=host*", "--by", "kernel"]),
    ] {
        let Some(_) = headwater() else { break };
        let (ms, ()) = middle(|| {
            let begun = Instant::now();
            let output = dir.said(archive, arguments);
            // 1: the newer kernel is slower; 4: no host has all rows.
            assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
            (begun.elapsed(), ())
        });
        say(&format!("{what}: {ms:.0} ms"));
    }
    plan(HISTORY);
    plan(SINCE);
}

/// The statements of a history and of a dashboard, as `figures` makes them.
const HISTORY: &str = "SELECT v.run, v.median, v.launches FROM result v JOIN run r ON r.id = v.run JOIN machine m ON m.id = r.machine \
    WHERE v.definition IN (1) AND NOT EXISTS (SELECT 1 FROM superseded s WHERE s.run = r.id) AND m.host = 'ci' ORDER BY r.started, r.id, v.place";
const SINCE: &str = "SELECT v.run, v.median, v.launches FROM result v JOIN run r ON r.id = v.run JOIN machine m ON m.id = r.machine \
    WHERE NOT EXISTS (SELECT 1 FROM superseded s WHERE s.run = r.id) AND r.started >= 1795478400 ORDER BY r.started, r.id, v.place";

#[test]
#[ignore = "minutes, and gigabytes; cargo xtask archive-scale"]
fn a_million_launches_in_sqlite() {
    let dir = TestDir::new();
    let file = dir.path("archive.sqlite");
    say("SQLite");
    let size = || {
        ["", "-wal"]
            .iter()
            .filter_map(|end| fs::metadata(format!("{}{end}", text(&file))).ok())
            .map(|file| file.len())
            .sum()
    };
    let plan = |sql: &str| {
        let file = rusqlite::Connection::open(&file).expect("the file");
        let mut statement = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
        let lines = statement.query_map([], |row| row.get::<_, String>(3)).expect("a plan");
        lines.for_each(|line| say(&format!("    {}", line.expect("a line"))));
    };
    measure(&dir, text(&file), size, plan);
}

#[test]
#[ignore = "minutes, and gigabytes; cargo xtask archive-scale"]
fn a_million_launches_in_postgresql() {
    let configuration = "fsync = on\nshared_buffers = 512MB\nmax_wal_size = 1GB\n";
    let Some(server) = Server::with_files(configuration, PORT, &[]) else { return };
    let dir = TestDir::new();
    let archive = server.database();
    expect(&dir.archive(&archive, &["migrate"]), 0, &[]);
    say("PostgreSQL");
    let size = || {
        let row =
            server.connect_to(&archive).query_one("SELECT pg_database_size(current_database())", &[]).expect("a size");
        row.get::<_, i64>(0).unsigned_abs()
    };
    let plan = |sql: &str| {
        let mut client = server.connect_to(&archive);
        client.batch_execute("SET search_path TO headwater; ANALYZE").expect("statistics");
        let lines = client.query(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}"), &[]).expect("a plan");
        lines.iter().for_each(|line| say(&format!("    {}", line.get::<_, String>(0))));
    };
    measure(&dir, &archive, size, plan);
}

//! `cargo experiment bench`: measures how long the command takes for runs that are far larger than real ones, from files to
//! text. A benchmark, not a test: it prints times and their lower bound.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use headwater_results::estimate::Estimate;
use headwater_results::published;
use headwater_results::random::Random;
use headwater_results::schema::{Placement, Row, RowResult, Run, RunStatus};

use crate::shell;

/// The size of the runs, and the repetitions.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Rows of each run
    #[arg(long, default_value_t = 50_000)]
    rows: usize,
    /// Launches of each row
    #[arg(long, default_value_t = 12)]
    launches: u32,
    /// Repetitions; the fastest counts
    #[arg(long, default_value_t = 5)]
    repetitions: u32,
}

/// Makes two runs, and times the commands that read them.
pub fn run(options: &Options) -> Result<()> {
    let headwater = shell::release_build()?;
    let directory = shell::target_directory().join("bench");
    let mut files = Vec::new();
    for (name, seed) in [("before", 1), ("after", 2)] {
        let file = directory.join(name).join("run.json");
        fs::create_dir_all(directory.join(name)).with_context(|| directory.display().to_string())?;
        fs::write(&file, serde_json::to_string(&large_run(options, seed)?)?)?;
        files.push(file.to_string_lossy().into_owned());
    }
    let bytes = fs::metadata(&files[0])?.len() as f64;
    println!("{} rows x {} launches, {:.0} MB each", options.rows, options.launches, bytes / 1e6);
    let report = directory.join("report.html").to_string_lossy().into_owned();
    let two = [files[0].as_str(), &files[1]];
    let cases: [(&str, Vec<&str>); 5] = [
        ("show --json, one run (reading, the bound)", vec!["show", "--json", two[0]]),
        ("compare, two runs", [&["compare"], &two[..]].concat()),
        ("compare --json, two runs", [&["compare", "--json"], &two[..]].concat()),
        ("report, one run", vec!["report", two[0], "-o", &report]),
        ("export --format csv, one run", vec!["export", two[0], "--format", "csv"]),
    ];
    for (name, arguments) in cases {
        let fastest =
            (0..options.repetitions).map(|_| seconds(&headwater, &arguments)).collect::<Result<Vec<f64>>>()?;
        println!("{:6.2} s  {name}", fastest.into_iter().fold(f64::INFINITY, f64::min));
    }
    println!("{:6.2} MB report", fs::metadata(&report)?.len() as f64 / 1e6);
    Ok(())
}

fn seconds(headwater: &Path, arguments: &[&str]) -> Result<f64> {
    let started = Instant::now();
    let status = Command::new(headwater).args(arguments).stdout(Stdio::null()).status()?;
    // 1 and 3 are results of compare.
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        bail!("{} {}: {status}", headwater.display(), arguments.join(" "));
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Makes a run with rows of the usual form: generated transports at many sizes, 5 % of spread between launches.
fn large_run(options: &Options, seed: u64) -> Result<Run> {
    let mut run = published::run("pipes", "fc6").context("no published dataset pipes/fc6")?;
    let template = run.results.pop().context("it has rows")?;
    let mut random = Random::new(seed);
    let sizes = options.rows.div_ceil(25);
    run.results = (0..options.rows)
        .map(|number| row(&template, number / sizes, (number % sizes + 1) as u64, options.launches, &mut random))
        .collect();
    run.header.run_id = format!("bench-{seed}");
    run.header.settings.launches = options.launches;
    run.status = RunStatus::Complete;
    Ok(run)
}

fn row(template: &RowResult, subject: usize, size: u64, launches: u32, random: &mut Random) -> RowResult {
    let mut result = template.clone();
    let subject = format!("transport-{subject}");
    result.row = Row {
        id: format!("{subject}/stream/{size}/two-cpus"),
        subject,
        size_bytes: Some(size),
        placement: Placement::TwoCpus,
        ..result.row
    };
    result.flags.clear();
    let rate = 1e9 / (500.0 + 0.1 * size as f64);
    for metric in &mut result.metrics {
        let noise = |random: &mut Random| 1.0 + 0.1 * (random.below(1 << 20) as f64 / f64::from(1 << 20) - 0.5);
        metric.launches = (0..launches).map(|_| rate * noise(random)).collect();
        metric.blocks = (0..launches).collect();
        metric.estimate = Estimate::of_launches(&metric.launches).expect("there are launches");
    }
    result
}

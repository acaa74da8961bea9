//! `cargo xtask crosscheck-lmbench`: are the figures of suite `lmbench` those of plain C programs of the same definitions
//! (examples/lmbench-crosscheck)? A launch of ours and a run of theirs form a pair; every block runs every pair once, rows
//! and sides in random order, and a row is judged by the ratios within its pairs, so that drift of the machine cancels.
//! With `--original` the other side is the original LMbench ([`original`]), which shows what programs of our own definitions
//! cannot: whether a definition is the original's. Run by hand, on an idle machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use headwater::harness::conduct::{Job, Measured, Outcome};
use headwater::harness::launch::{CONDUCT, Order};
use headwater::suites::{self, Axes};
use headwater_results::estimate::{Estimate, median};
use headwater_results::random::Random;
use headwater_results::schema::{Placement, Row};

use crate::crosscheck::agreement::{TOLERANCE, is_within, verdict};
use crate::shell;

mod original;

/// Where the plain programs are: each `.c` but the small one that they execute is a program with rows.
const SOURCES: &str = "examples/lmbench-crosscheck";
const SMALL: &str = "small";

/// Least warm-up of a launch of ours, s: as the suite has it.
const WARM_UP_S: f64 = 0.015;

/// How long a launch of ours may be stuck, s.
const PATIENCE_S: f64 = 20.0;

/// How the two are measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Blocks: pairs of each row
    #[arg(long, default_value_t = 12)]
    blocks: u32,
    /// Measured time per launch, ms
    #[arg(long, default_value_t = 80)]
    time_ms: u32,
    /// The CPUs of the process that is timed and of its helpers, such as 0,0; by default the scheduler decides
    #[arg(long, value_name = "FIRST,SECOND")]
    cpus: Option<String>,
    /// Compare with the programs of the original LMbench 3 in this directory, such as /usr/lib/lmbench/bin/x86_64-linux-gnu
    #[arg(long, value_name = "DIRECTORY")]
    original: Option<PathBuf>,
    /// Repetitions within a run of an original program
    #[arg(long, default_value_t = 3, requires = "original")]
    repetitions: u32,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows, or the beginnings of their names; all that a plain program knows by default
    rows: Vec<String>,
}

/// A row that both measure.
#[derive(Clone, Debug)]
struct Pair {
    row: Row,
    plain: PathBuf,
}

/// What was measured of a row: ours and the other side's figure of each block, or why there is none.
#[derive(Clone, Debug, Default)]
struct Figures {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    missing: Option<String>,
}

/// What stands in the table beside ours, and what it says about a row that is not within the tolerance.
struct Side {
    name: &'static str,
    cause: fn(&Row) -> Option<&'static str>,
}

/// Builds both, measures them by turns and prints the ratios.
pub fn run(options: &Options) -> Result<()> {
    if let Some(programs) = &options.original {
        return original::run(options, programs);
    }
    let place = shell::target_directory().join("crosscheck-lmbench");
    let pairs = pairs(&build(&place)?, &options.rows)?;
    let rows: Vec<&Row> = pairs.iter().map(|pair| &pair.row).collect();
    let figures = measure(options, &rows, |index, _| plain(&pairs[index], options))?;
    print!("{}", table(&Side { name: "plain C", cause: |_| None }, &rows, &figures));
    Ok(())
}

/// Measures each row by Headwater and by `other`, which gets the number of the row and a directory for its files.
fn measure(options: &Options, rows: &[&Row], other: impl Fn(usize, &Path) -> Result<f64>) -> Result<Vec<Figures>> {
    let headwater = shell::release_build()?;
    let cpus = options.cpus.as_deref().map(parse_cpus).transpose()?;
    // As deep as the directory of a run and those of the plain programs: a path costs by its parts.
    let scratch = std::env::temp_dir().join(format!("crosscheck-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;

    let mut figures = vec![Figures::default(); rows.len()];
    let mut random = Random::new(options.seed);
    for block in 0..options.blocks {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            let figures = &mut figures[index];
            if figures.missing.is_some() {
                continue;
            }
            let job = job(rows[index], options, cpus, &scratch, block);
            let measured = if random.below(2) == 0 {
                ours(&headwater, &job).and_then(|own| Ok((own, other(index, &scratch)?)))
            } else {
                other(index, &scratch).and_then(|other| Ok((ours(&headwater, &job)?, other)))
            };
            match measured {
                Ok((own, other)) => {
                    figures.ours.push(own);
                    figures.theirs.push(other);
                }
                Err(error) => figures.missing = Some(format!("{error:#}")),
            }
        }
        eprintln!("block {} of {}", block + 1, options.blocks);
    }
    fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    Ok(figures)
}

/// Builds the plain programs; the paths of those with rows.
fn build(place: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(place).with_context(|| place.display().to_string())?;
    let mut programs = Vec::new();
    let sources = shell::root().join(SOURCES);
    for entry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let source = entry?.path();
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let name = source.file_stem().unwrap_or_default().to_owned();
        let mut command = shell::command("cc");
        command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-o"]);
        command.arg(place.join(&name)).arg(&source);
        if name == SMALL {
            command.args(["-static", "-nostdlib", "-ffreestanding", "-Wl,-z,noseparate-code,--build-id=none"]);
        } else {
            programs.push(place.join(&name));
        }
        shell::run(&mut command)?;
    }
    programs.sort();
    Ok(programs)
}

/// The rows of the suite that a plain program knows and that are wanted.
fn pairs(programs: &[PathBuf], wanted: &[String]) -> Result<Vec<Pair>> {
    let mut of_row = BTreeMap::new();
    for program in programs {
        let list = shell::output(shell::command(&program.to_string_lossy()).arg("--list"))?;
        of_row.extend(list.lines().map(|line| (line.to_owned(), program.clone())));
    }
    let rows = rows_of_suite(&[])?;
    let known: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
    for name in of_row.keys() {
        ensure!(known.contains(&name.as_str()), "a plain program has the row {name}, but suite lmbench has not");
    }
    let pair = |row: Row| of_row.get(&row.subject).map(|plain| Pair { plain: plain.clone(), row });
    let pairs: Vec<Pair> = rows_of_suite(wanted)?.into_iter().filter_map(pair).collect();
    ensure!(!pairs.is_empty(), "no plain program knows such a row");
    Ok(pairs)
}

/// The rows of the suite whose names begin as is wanted; all if nothing is.
fn rows_of_suite(wanted: &[String]) -> Result<Vec<Row>> {
    let suite = suites::find("lmbench").context("there is no suite lmbench")?;
    let rows = (suite.rows)(&Axes { sizes: None, placements: &[Placement::Free], externals: &[] });
    let is_wanted = |row: &Row| wanted.is_empty() || wanted.iter().any(|wanted| row.subject.starts_with(wanted));
    Ok(rows.into_iter().filter(is_wanted).collect())
}

/// Two CPUs, as in `0,1`.
pub fn parse_cpus(text: &str) -> Result<(u32, u32)> {
    let numbers = text.split_once(',').and_then(|(first, second)| Some((first.parse().ok()?, second.parse().ok()?)));
    numbers.with_context(|| format!("--cpus {text}: two numbers are meant, such as 0,1"))
}

fn job(row: &Row, options: &Options, cpus: Option<(u32, u32)>, scratch: &Path, block: u32) -> Job {
    Job {
        row: row.clone(),
        time_s: f64::from(options.time_ms) / 1e3,
        warm_up_s: WARM_UP_S,
        cpus,
        directory: scratch.to_owned(),
        token: format!("crosscheck-{block}"),
        repetitions: 1,
        command: None,
        patience_s: PATIENCE_S,
    }
}

/// The figure of a launch of ours: the median of its samples.
fn ours(headwater: &Path, job: &Job) -> Result<f64> {
    own_figure(&launch(headwater, job)?, &job.row)
}

/// A launch of ours.
pub fn launch(headwater: &Path, job: &Job) -> Result<Measured> {
    let mut command = shell::command(&headwater.to_string_lossy());
    let mut conductor = command.arg(CONDUCT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let order = serde_json::to_vec(&Order::Launch { job: Box::new(job.clone()) })?;
    conductor.stdin.take().context("a pipe was asked for")?.write_all(&order)?;
    let output = conductor.wait_with_output()?;
    match serde_json::from_slice(&output.stdout).with_context(|| format!("the conductor: {}", output.status))? {
        Outcome::Measured(measured) => Ok(*measured),
        Outcome::Unavailable { reason } | Outcome::Failed { reason } => bail!("headwater: {reason}"),
    }
}

fn own_figure(measured: &Measured, row: &Row) -> Result<f64> {
    let metric = row.metrics.first().context("a row has a metric")?;
    let samples = measured.series.get(&metric.name).context("a launch has its own series")?;
    median(samples).context("a series has samples")
}

/// The figure that the plain program prints: `ROW VALUE UNIT`.
fn plain(pair: &Pair, options: &Options) -> Result<f64> {
    let mut command = shell::command(&pair.plain.to_string_lossy());
    command.args(["--time", &options.time_ms.to_string()]);
    if let Some(cpus) = &options.cpus {
        command.args(["--cpus", cpus]);
    }
    figure_of(&shell::output(command.arg(&pair.row.subject))?, &pair.row)
}

fn figure_of(text: &str, row: &Row) -> Result<f64> {
    let unit = row.metrics.first().map_or("", |metric| &metric.unit);
    let line = text.lines().find_map(|line| line.strip_prefix(row.subject.as_str())?.strip_prefix(' '));
    let figure = line.and_then(|line| line.split_once(' ')).filter(|(_, printed)| *printed == unit);
    let figure = figure.and_then(|(value, _)| value.parse().ok());
    figure.with_context(|| format!("a plain program printed {text:?} for {} in {unit}", row.subject))
}

/// The ratios as a Markdown table, with the verdict below it.
fn table(side: &Side, rows: &[&Row], figures: &[Figures]) -> String {
    let mut lines = vec![
        format!("| row | headwater | {} | unit | ratio | interval | pairs | within 5 % |", side.name),
        "|---|--:|--:|---|--:|---|--:|---|".to_owned(),
    ];
    let (mut compared, mut agree) = (0, 0);
    for (row, figures) in rows.iter().zip(figures) {
        let ratios: Vec<f64> = figures.ours.iter().zip(&figures.theirs).map(|(ours, other)| ours / other).collect();
        let all = (median(&figures.ours), median(&figures.theirs), Estimate::of_launches(&ratios));
        let (Some(ours), Some(theirs), Some(estimate), None) = (all.0, all.1, all.2, &figures.missing) else {
            let reason = figures.missing.as_deref().unwrap_or("no pair");
            lines.push(format!("| {} | - | - | | - | | {} | {reason} |", row.subject, ratios.len()));
            continue;
        };
        compared += 1;
        agree += usize::from(is_within(estimate.median));
        let cause = (side.cause)(row).filter(|_| !is_within(estimate.median));
        lines.push(format!(
            "| {} | {} | {} | {} | {:.3} | {:.3} .. {:.3} ({:.1} %) | {} | {}{} |",
            row.subject,
            three_digits(ours),
            three_digits(theirs),
            row.metrics[0].unit,
            estimate.median,
            estimate.low,
            estimate.high,
            100.0 * estimate.confidence,
            estimate.n,
            verdict(&estimate),
            cause.map(|cause| format!(": {cause}")).unwrap_or_default(),
        ));
    }
    lines.push(String::new());
    lines.push(format!("{agree} of {compared} medians are within {:.0} %.", 100.0 * TOLERANCE));
    lines.join("\n") + "\n"
}

/// A value with three significant digits or all before the point.
pub fn three_digits(value: f64) -> String {
    let before = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1;
    format!("{value:.*}", (3 - before).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests;

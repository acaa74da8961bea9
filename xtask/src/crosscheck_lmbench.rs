//! `cargo xtask crosscheck-lmbench`: checks whether the figures of suite `lmbench` agree with those of plain C programs
//! with the same definitions (examples/lmbench-crosscheck). A launch of Headwater and a run of a program form a pair;
//! every block runs every pair once, with rows and sides in random order, and a row is judged by the ratios within its
//! pairs, so that drift of the machine cancels. With `--original` the other side is the original LMbench
//! ([`original`]), which also shows whether a definition agrees with the original's. Run it by hand, on an idle
//! machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use headwater_gauge::harness::conduct::{Job, Measured};
use headwater_gauge::suites::{self, Axes};
use headwater_results::schema::{Placement, Row};

use crate::crosscheck::pairs::{Line, Pairs, alternately, figure, job, launch, parse_cpus, table as pair_table};
use crate::crosscheck::provenance;
use crate::shell;

mod original;

/// The directory of the plain programs: each `.c` is a program with rows, except the small one that they execute.
const SOURCES: &str = "examples/lmbench-crosscheck";
const SMALL: &str = "small";

/// Minimum warm-up of a launch of Headwater in s, as in the suite.
const WARM_UP_S: f64 = 0.015;

/// The settings of the measurement.
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

/// A row that both sides measure.
#[derive(Clone, Debug)]
struct Pair {
    row: Row,
    plain: PathBuf,
}

/// The other side of the table, and its known causes of differences.
struct Side {
    name: &'static str,
    cause: fn(&Row) -> Option<&'static str>,
}

/// Builds both, measures them alternately and prints the ratios.
pub fn run(options: &Options) -> Result<()> {
    if let Some(programs) = &options.original {
        return original::run(options, programs);
    }
    let place = shell::target_directory().join("crosscheck-lmbench");
    let pairs = pairs(&build(&place)?, &options.rows)?;
    let rows: Vec<&Row> = pairs.iter().map(|pair| &pair.row).collect();
    let figures = measure(options, &rows, |index, _| plain(&pairs[index], options))?;
    println!("{}\n", provenance::line()?);
    print!("{}", table(&Side { name: "plain C", cause: |_| None }, &rows, figures));
    Ok(())
}

/// Measures each row by Headwater and by `other`, which receives the index of the row and a directory for its files.
fn measure(options: &Options, rows: &[&Row], other: impl Fn(usize, &Path) -> Result<f64>) -> Result<Vec<Pairs<f64>>> {
    let headwater = shell::release_build()?;
    let cpus = options.cpus.as_deref().map(parse_cpus).transpose()?;
    // As deep as the directories of a run and of the plain programs: the cost of a path depends on its components.
    let scratch = std::env::temp_dir().join(format!("crosscheck-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;

    let times_s = (f64::from(options.time_ms) / 1e3, WARM_UP_S);
    let figures = alternately(
        (options.blocks, options.seed),
        rows.len(),
        |index, block| ours(&headwater, &job(rows[index], times_s, cpus, &scratch, block)),
        |index| other(index, &scratch),
    );
    fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    Ok(figures)
}

/// Builds the plain programs. Returns the paths of those with rows.
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
        command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]);
        // Disable vectorisation: the sums must be one addition after the other, as written.
        command.args(["-fno-tree-vectorize", "-fno-tree-reassoc", "-o"]);
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

/// Returns the selected rows of the suite that a plain program has.
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

/// Returns the rows of the suite whose names begin with one of `wanted`; all if it is empty.
fn rows_of_suite(wanted: &[String]) -> Result<Vec<Row>> {
    let suite = suites::find("lmbench").context("there is no suite lmbench")?;
    let rows = (suite.rows)(&Axes { sizes: None, placements: &[Placement::Free], externals: &[] });
    let is_wanted = |row: &Row| wanted.is_empty() || wanted.iter().any(|wanted| row.subject.starts_with(wanted));
    Ok(rows.into_iter().filter(is_wanted).collect())
}

/// Returns the figure of a launch of Headwater: the median of its samples.
fn ours(headwater: &Path, job: &Job) -> Result<f64> {
    own_figure(&launch(headwater, job)?, &job.row)
}

fn own_figure(measured: &Measured, row: &Row) -> Result<f64> {
    let metric = row.metrics.first().context("a row has a metric")?;
    figure(measured, &metric.name)
}

/// Returns the figure that the plain program prints as `ROW VALUE UNIT`.
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

/// Returns the table of the rows, followed by the result.
fn table(side: &Side, rows: &[&Row], figures: Vec<Pairs<f64>>) -> String {
    let line = |(row, pairs): (&&Row, Pairs<f64>)| Line {
        name: row.subject.clone(),
        unit: row.metrics[0].unit.clone(),
        pairs,
        cause: (side.cause)(row),
    };
    let lines: Vec<Line> = rows.iter().zip(figures).map(line).collect();
    pair_table(side.name, &lines)
}

#[cfg(test)]
mod tests;

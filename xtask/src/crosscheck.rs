//! `cargo xtask crosscheck`: checks whether Headwater's figures for the kernel's transports agree with those of plain C
//! programs (examples/peers/c). In each block three sides measure a row, in random order: Headwater; the program as an
//! external transport, whose rounds Headwater leads and times; and the program alone, which shares nothing with
//! Headwater. A row is judged by the ratios within its blocks. [`coarse`] is the form for CI. Run it by hand, on an idle
//! machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use headwater_gauge::harness::conduct::Job;
use headwater_gauge::plan::sizes::Sizes;
use headwater_gauge::suites::Axes;
use headwater_results::estimate::{Estimate, median};
use headwater_results::schema::{Placement, Row};

use crate::shell;

pub mod agreement;
pub mod coarse;
pub mod pairs;
mod programs;
pub mod provenance;
mod turns;

use agreement::{Agreement, TOLERANCE, WIDTH_MAX};
use pairs::{job, launch, three_digits};
use programs::Mechanism;
use turns::{Extent, Turns, by_turns};

/// Minimum warm-up of a launch of Headwater in s, as in the suite.
const WARM_UP_S: f64 = 0.015;

/// The sides, as indices of [`Turns::figures`].
const OURS: usize = 0;
const EXTERNAL: usize = 1;
const ALONE: usize = 2;

/// The settings of the measurement.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The form of `ci`: a few streams, which fail at a factor of 1.3
    #[arg(long, exclusive = true)]
    coarse: bool,
    /// Message sizes
    #[arg(long, default_value = "1..65536*16")]
    sizes: String,
    /// Placements of the two processes, with commas
    #[arg(long, default_value = "two-cpus,same-cpu")]
    placement: String,
    /// Patterns, with commas
    #[arg(long, default_value = "stream,rtt")]
    patterns: String,
    /// Blocks of each row; then further ones while an interval is too wide
    #[arg(long, default_value_t = 12)]
    blocks: u32,
    /// The most blocks of a row
    #[arg(long, default_value_t = 48)]
    blocks_max: u32,
    /// Measured time per launch of Headwater, and per run of a program alone, ms
    #[arg(long, default_value_t = 50)]
    time_ms: u32,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows, by the beginnings of their names: tcp, pipe/stream, udp/rtt/64/same-cpu; all by default
    rows: Vec<String>,
}

/// A row and the program of its mechanism.
#[derive(Clone, Debug)]
struct Pair {
    row: Row,
    mechanism: Mechanism,
}

/// Builds all sides, measures one transport after the other, and prints the rows of each as soon as they are measured.
pub fn run(options: &Options) -> Result<()> {
    if options.coarse {
        return coarse::run();
    }
    let bench = Bench::build(Duration::from_millis(options.time_ms.into()))?;
    let sizes: Sizes = options.sizes.parse().map_err(|error: String| anyhow!(error))?;
    let placements = options.placement.split(',').map(placement).collect::<Result<Vec<_>>>()?;
    let patterns: Vec<&str> = options.patterns.split(',').collect();
    let pairs = bench.pairs(&patterns, &sizes.0, &placements, &options.rows)?;
    ensure!(!pairs.is_empty(), "no row of the kernel's transports is meant");
    println!("{}\n\n{HEAD}", provenance::line()?);
    let mut counts = BTreeMap::new();
    let started = Instant::now();
    for rows in pairs.chunk_by(|one, next| one.mechanism.name == next.mechanism.name) {
        eprintln!(
            "{}: {} rows, {:.0} s since the start",
            rows[0].mechanism.name,
            rows.len(),
            started.elapsed().as_secs_f64()
        );
        let extent = Extent { blocks: options.blocks_max, seed: options.seed, rows: rows.len(), sides: 3 };
        let figure = |side, row: usize, block| bench.figure(side, &rows[row], block);
        for (pair, turns) in rows.iter().zip(by_turns(extent, figure, |turns| is_enough(turns, options.blocks))) {
            let (line, verdict) = line(&pair.row, &turns);
            println!("{line}");
            *counts.entry(verdict).or_insert(0) += 1;
        }
    }
    let counts: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    println!(
        "\n{} rows in {:.0} s: {}. A row agrees if the interval of each ratio overlaps {:.2} .. {:.2} and is narrower than {WIDTH_MAX}.",
        pairs.len(),
        started.elapsed().as_secs_f64(),
        counts.join(", "),
        1.0 - TOLERANCE,
        1.0 + TOLERANCE,
    );
    Ok(())
}

/// What measures: the release build, the plain programs and the CPUs.
struct Bench {
    headwater: PathBuf,
    mechanisms: Vec<Mechanism>,
    cpus: Vec<u32>,
    scratch: tempfile::TempDir,
    time: Duration,
}

impl Bench {
    fn build(time: Duration) -> Result<Bench> {
        let mechanisms = programs::build(&shell::target_directory().join("crosscheck"))?;
        let headwater = shell::release_build()?;
        let cpus = headwater_os::cpu::allowed().context("the CPUs of this process")?;
        Ok(Bench { headwater, mechanisms, cpus, scratch: tempfile::tempdir()?, time })
    }

    /// Returns the rows that a plain program can measure, those of one mechanism in a sequence.
    fn pairs(
        &self,
        patterns: &[&str],
        sizes: &[u64],
        placements: &[Placement],
        wanted: &[String],
    ) -> Result<Vec<Pair>> {
        if placements.contains(&Placement::TwoCpus) {
            ensure!(self.cpus.len() > 1, "two-cpus: this process may use one CPU only; add --placement same-cpu");
        }
        let mut pairs = Vec::new();
        for mechanism in &self.mechanisms {
            for pattern in patterns {
                ensure!(["stream", "rtt"].contains(pattern), "the plain programs have no pattern {pattern:?}");
                let axes = Axes { sizes: None, placements, externals: &[] };
                let rows = axes.messaging(pattern, sizes, |info| info.name == mechanism.name);
                let rows = rows.into_iter().filter(|row| is_wanted(&row.id, wanted));
                pairs.extend(rows.map(|row| Pair { row, mechanism: mechanism.clone() }));
            }
        }
        Ok(pairs)
    }

    /// Returns the CPUs of the sender and of the receiver, as in a run.
    fn cpus_of(&self, placement: Placement) -> (u32, u32) {
        let last = self.cpus[self.cpus.len() - 1];
        (if placement == Placement::TwoCpus { self.cpus[0] } else { last }, last)
    }

    fn figure(&self, side: usize, pair: &Pair, block: u32) -> Result<f64> {
        let cpus = self.cpus_of(pair.row.placement);
        if side == ALONE {
            let size_bytes = pair.row.size_bytes.context("a row of messages has a size")?;
            return pair.mechanism.alone(&pair.row.pattern, size_bytes, cpus, self.time);
        }
        let command = (side == EXTERNAL).then(|| pair.mechanism.command());
        let job = job(&pair.row, (self.time.as_secs_f64(), WARM_UP_S), Some(cpus), self.scratch.path(), block);
        own_figure(&self.headwater, &Job { command, ..job })
    }
}

/// Returns the figure of a launch of Headwater, for the first metric of its row.
fn own_figure(headwater: &Path, job: &Job) -> Result<f64> {
    // A launch removes what it makes, but one that fails may not.
    fs::create_dir_all(&job.directory).with_context(|| job.directory.display().to_string())?;
    let measured = launch(headwater, job)?;
    let metric = job.row.metrics.first().context("a row has a metric")?;
    pairs::figure(&measured, &metric.name)
}

fn placement(name: &str) -> Result<Placement> {
    let known = [Placement::TwoCpus, Placement::SameCpu];
    match known.into_iter().find(|known| known.name() == name) {
        Some(placement) => Ok(placement),
        None => bail!("--placement {name}: two-cpus and same-cpu can be compared"),
    }
}

/// Whether a row's name begins with the components of one of `wanted`.
fn is_wanted(id: &str, wanted: &[String]) -> bool {
    let begins =
        |wanted: &String| id.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    wanted.is_empty() || wanted.iter().any(begins)
}

/// Returns the ratios of Headwater's figures to those of another side.
fn ratio(turns: &Turns<f64>, side: usize) -> Option<Estimate> {
    let figures = turns.figures[OURS].iter().zip(&turns.figures[side]);
    Estimate::of_launches(&figures.map(|(ours, other)| ours / other).collect::<Vec<f64>>())
}

/// Whether a row needs no further block. The width of the intervals decides, never the ratio, unless the ratio is far
/// from 1.
fn is_enough(turns: &Turns<f64>, blocks: u32) -> bool {
    let decided = |side| ratio(turns, side).is_some_and(|ratio| Agreement::of(&ratio) != Agreement::Undecided);
    turns.figures[OURS].len() >= blocks as usize && decided(EXTERNAL) && decided(ALONE)
}

const HEAD: &str = "| row | unit | headwater | C, timed by headwater | ratio | interval | C alone | ratio | interval | blocks | verdict |
|---|---|--:|--:|--:|---|--:|--:|---|--:|---|";

/// Returns a line of the table, and the row's verdict.
fn line(row: &Row, turns: &Turns<f64>) -> (String, &'static str) {
    let both = (ratio(turns, EXTERNAL), ratio(turns, ALONE));
    let (Some(external), Some(alone), None) = (both.0, both.1, &turns.missing) else {
        let reason = turns.missing.as_deref().unwrap_or("no block");
        return (
            format!("| {} | | - | - | - | | - | - | | {} | {reason} |", row.id, turns.figures[OURS].len()),
            "not measured",
        );
    };
    let figure = |side: usize| median(&turns.figures[side]).map_or("-".to_owned(), three_digits);
    let ratio = |ratio: &Estimate| format!("{:.3} | {:.3} .. {:.3}", ratio.median, ratio.low, ratio.high);
    let verdict = verdict(&external, &alone);
    let line = format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |",
        row.id,
        row.metrics.first().map_or("", |metric| &metric.unit),
        figure(OURS),
        figure(EXTERNAL),
        ratio(&external),
        figure(ALONE),
        ratio(&alone),
        alone.n,
    );
    (line, verdict)
}

fn verdict(external: &Estimate, alone: &Estimate) -> &'static str {
    match (Agreement::of(external), Agreement::of(alone)) {
        (Agreement::Agrees, Agreement::Agrees) => "agrees",
        (_, Agreement::Differs) => "differs from C alone",
        (Agreement::Differs, _) => "differs from C timed by headwater",
        _ => "interval too wide",
    }
}

#[cfg(test)]
mod tests;

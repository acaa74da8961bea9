//! Pairs of a launch of Headwater and a run of another program: measured alternately and compared by their ratios.
//! Shared by the crosschecks with LMbench and with netperf.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use headwater_gauge::harness::conduct::{Job, Measured, Outcome};
use headwater_gauge::harness::launch::{CONDUCT, ConductorRequest};
use headwater_results::estimate::{Estimate, median};
use headwater_results::schema::{self, Row};

use super::agreement::{TOLERANCE, is_within, verdict};
use super::turns::{Extent, Turns, by_turns};
use crate::shell;

/// How long a launch of Headwater may be stuck, in s.
const PATIENCE_S: f64 = 20.0;

/// The measurements of a row: the figures of both sides by block, or the reason why there are none.
#[derive(Clone, Debug, Default)]
pub struct Pairs<F> {
    pub ours: Vec<F>,
    pub theirs: Vec<F>,
    pub missing: Option<String>,
}

/// Measures `rows` rows by turns, each `blocks` times.
pub fn alternately<F: Clone>(
    (blocks, seed): (u32, u64),
    rows: usize,
    ours: impl Fn(usize, u32) -> Result<F>,
    theirs: impl Fn(usize) -> Result<F>,
) -> Vec<Pairs<F>> {
    let figure = |side, row, block| if side == 0 { ours(row, block) } else { theirs(row) };
    let of_row = |turns: Turns<F>| {
        let [ours, theirs]: [Vec<F>; 2] = turns.figures.try_into().unwrap_or_default();
        Pairs { ours, theirs, missing: turns.missing }
    };
    by_turns(Extent { blocks, seed, rows, sides: 2 }, figure, |_| false).into_iter().map(of_row).collect()
}

/// Returns a launch of Headwater in a block; time and warm-up in s.
pub fn job(row: &Row, (time_s, warm_up_s): (f64, f64), cpus: Option<(u32, u32)>, scratch: &Path, block: u32) -> Job {
    Job {
        row: row.clone(),
        time_s,
        warm_up_s,
        cpus,
        directory: scratch.to_owned(),
        token: format!("crosscheck-{block}"),
        repetitions: 1,
        command: None,
        patience_s: PATIENCE_S,
    }
}

/// Runs the launch with the program `headwater`.
pub fn launch(headwater: &Path, job: &Job) -> Result<Measured> {
    let mut command = shell::command(&headwater.to_string_lossy());
    let mut conductor = command.arg(CONDUCT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let order = serde_json::to_vec(&ConductorRequest::Launch { job: Box::new(job.clone()) })?;
    conductor.stdin.take().context("a pipe was asked for")?.write_all(&order)?;
    let output = conductor.wait_with_output()?;
    match serde_json::from_slice(&output.stdout).with_context(|| format!("the conductor: {}", output.status))? {
        Outcome::Measured(measured) => Ok(*measured),
        Outcome::Unavailable { reason } | Outcome::Failed { reason } => bail!("headwater: {reason}"),
    }
}

/// Returns the figure of a launch for a metric: its own, such as the rate of the whole volume, or else the median of its
/// samples.
pub fn figure(measured: &Measured, metric: &str) -> Result<f64> {
    let figure = schema::launch_figure(&measured.figures, &measured.series, metric);
    figure.with_context(|| format!("headwater: no {metric}"))
}

/// Parses two CPUs: `0,1`.
pub fn parse_cpus(text: &str) -> Result<(u32, u32)> {
    let numbers = text.split_once(',').and_then(|(first, second)| Some((first.parse().ok()?, second.parse().ok()?)));
    numbers.with_context(|| format!("--cpus {text}: two numbers are meant, such as 0,1"))
}

/// A line of the table: one figure of a row, by both sides.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub name: String,
    pub unit: String,
    pub pairs: Pairs<f64>,
    /// The cause of a difference, if it is known.
    pub cause: Option<&'static str>,
}

/// Returns the ratios to the figures of `other` as a Markdown table, followed by the result.
pub fn table(other: &str, lines: &[Line]) -> String {
    let mut text = vec![
        format!("| row | headwater | {other} | unit | ratio | interval | pairs | within 5 % |"),
        "|---|--:|--:|---|--:|---|--:|---|".to_owned(),
    ];
    let (mut compared, mut agree) = (0, 0);
    for Line { name, unit, pairs, cause } in lines {
        let ratios: Vec<f64> = pairs.ours.iter().zip(&pairs.theirs).map(|(ours, other)| ours / other).collect();
        let all = (median(&pairs.ours), median(&pairs.theirs), Estimate::of_launches(&ratios));
        let (Some(ours), Some(theirs), Some(estimate), None) = (all.0, all.1, all.2, &pairs.missing) else {
            let reason = pairs.missing.as_deref().unwrap_or("no pair");
            text.push(format!("| {name} | - | - | | - | | {} | {reason} |", ratios.len()));
            continue;
        };
        compared += 1;
        agree += usize::from(is_within(estimate.median));
        let cause = cause.filter(|_| !is_within(estimate.median));
        text.push(format!(
            "| {name} | {} | {} | {unit} | {:.3} | {:.3} .. {:.3} ({:.1} %) | {} | {}{} |",
            three_digits(ours),
            three_digits(theirs),
            estimate.median,
            estimate.low,
            estimate.high,
            100.0 * estimate.confidence,
            estimate.n,
            verdict(&estimate),
            cause.map(|cause| format!(": {cause}")).unwrap_or_default(),
        ));
    }
    text.push(String::new());
    text.push(format!("{agree} of {compared} medians are within {:.0} %.", 100.0 * TOLERANCE));
    text.join("\n") + "\n"
}

/// Formats a value with three significant digits, or all digits before the point.
pub fn three_digits(value: f64) -> String {
    let before = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1;
    format!("{value:.*}", (3 - before).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests;

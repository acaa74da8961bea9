//! `cargo xtask crosscheck`: checks whether Headwater's figure for the kernel's pipe agrees with that of a plain C
//! loop. The loop (examples/peers/c/pipe.c) is measured as an external transport in the same randomised blocks, and the
//! two are compared by their ratio within each block, so that drift of the machine cancels. Run it by hand, on an idle
//! machine.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use headwater_results::estimate::Estimate;
use headwater_results::parse::parse_run;
use headwater_results::schema::{MetricResult, Placement, RowOutcome, RowResult, Run, Standing};

use crate::shell;

pub mod agreement;
pub mod pairs;
mod turns;

use agreement::{TOLERANCE, is_within, verdict};

/// The plain loop.
const SOURCE: &str = "examples/peers/c/pipe.c";

/// The transport that it is compared with.
const SUBJECT: &str = "pipe";

/// The settings of the measurement.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Message sizes
    #[arg(long, default_value = "1..65536*4")]
    sizes: String,
    /// Launches of each, one per block
    #[arg(long, default_value = "24")]
    launches: u32,
    /// Measured time per launch
    #[arg(long, default_value = "100ms")]
    time: String,
    /// Where the processes run; several with commas
    #[arg(long, default_value = "two-cpus")]
    placement: String,
}

/// Builds both, measures them in the same blocks, and prints the ratios.
pub fn run(options: &Options) -> Result<()> {
    ensure!(shell::root().join(SOURCE).exists(), "{SOURCE} is missing");
    let headwater = shell::release_build()?;
    let place = shell::target_directory().join("crosscheck");
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let peer = place.join("c-pipe");
    shell::run(shell::command("cc").args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-o"]).arg(&peer).arg(SOURCE))?;

    let output = place.join(format!("run-{}", std::process::id()));
    let mut command = shell::command(&headwater.to_string_lossy());
    command.args(["run", "ipc", "pipe/stream", "pipe/rtt", "c-pipe/stream", "c-pipe/rtt"]);
    command.arg("--transport-cmd").arg(format!("'{}'", peer.display()));
    command.args(["--sizes", &options.sizes, "--time", &options.time, "--placement", &options.placement]);
    command.args(["--launches", &options.launches.to_string(), "--output"]).arg(&output);
    command.stdout(std::process::Stdio::null());
    shell::run(&mut command)?;

    let document = output.join("run.json");
    let text = fs::read_to_string(&document).with_context(|| document.display().to_string())?;
    let ratios = ratios(&parse_run(&text)?);
    ensure!(!ratios.is_empty(), "{}: no pair of rows was measured", document.display());
    print!("{}", table(&ratios));
    println!("kept in {}", output.display());
    Ok(())
}

/// A row of Headwater compared with the same row of the plain loop.
#[derive(Clone, Debug, PartialEq)]
struct Ratio {
    pattern: String,
    placement: &'static str,
    size_bytes: u64,
    unit: String,
    ours: f64,
    plain: f64,
    /// The ratio of Headwater to the plain loop, within blocks.
    estimate: Estimate,
}

/// Returns the pairs of rows that differ only in their subject, in the order of the run.
fn ratios(run: &Run) -> Vec<Ratio> {
    let measured = |result: &&RowResult| result.outcome == RowOutcome::Measured;
    let plain: BTreeMap<_, &RowResult> = run
        .results
        .iter()
        .filter(measured)
        .filter(|result| result.row.standing == Standing::External)
        .map(|result| (key(result), result))
        .collect();
    run.results
        .iter()
        .filter(measured)
        .filter(|result| result.row.subject == SUBJECT)
        .filter_map(|ours| {
            let plain = plain.get(&key(ours))?;
            let (ours_own, plain_own) = (ours.metrics.first()?, plain.metrics.first()?);
            Some(Ratio {
                pattern: ours.row.pattern.clone(),
                placement: ours.row.placement.name(),
                size_bytes: ours.row.size_bytes?,
                unit: ours_own.metric.unit.clone(),
                ours: ours_own.estimate.median,
                plain: plain_own.estimate.median,
                estimate: Estimate::of_launches(&paired(ours_own, plain_own))?,
            })
        })
        .collect()
}

fn key(result: &RowResult) -> (&str, Placement, Option<u64>) {
    (&result.row.pattern, result.row.placement, result.row.size_bytes)
}

/// Returns the ratio of the two in each common block.
fn paired(ours: &MetricResult, plain: &MetricResult) -> Vec<f64> {
    let plain: BTreeMap<u32, f64> = plain.blocks.iter().copied().zip(plain.launches.iter().copied()).collect();
    ours.blocks.iter().zip(&ours.launches).filter_map(|(block, value)| Some(value / plain.get(block)?)).collect()
}

/// Returns the ratios as a Markdown table, followed by the result.
fn table(ratios: &[Ratio]) -> String {
    let mut lines = vec![
        "| pattern | placement | size, B | headwater | plain C | unit | ratio | interval | blocks | within 5 % |"
            .to_owned(),
        "|---|---|--:|--:|--:|---|--:|---|--:|---|".to_owned(),
    ];
    for ratio in ratios {
        let Ratio { pattern, placement, size_bytes, unit, ours, plain, estimate } = ratio;
        lines.push(format!(
            "| {pattern} | {placement} | {size_bytes} | {ours:.0} | {plain:.0} | {unit} | {:.3} | {:.3} .. {:.3} ({:.1} %) | {} | {} |",
            estimate.median,
            estimate.low,
            estimate.high,
            100.0 * estimate.confidence,
            estimate.n,
            verdict(estimate),
        ));
    }
    let within = ratios.iter().filter(|ratio| is_within(ratio.estimate.median)).count();
    lines.push(String::new());
    lines.push(format!("{within} of {} medians are within {:.0} %.", ratios.len(), 100.0 * TOLERANCE));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;

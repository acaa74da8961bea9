//! `cargo xtask agree A B`: whether two runs of the same machine agree within their intervals, row by row. This is the
//! check that the intervals mean something; comparing implementations takes paired ratios and is not this.

use std::path::PathBuf;

use anyhow::{Result, bail};
use headwater::store;
use headwater_results::estimate::Estimate;
use headwater_results::schema::{Row, Run};

/// Which runs.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A run: its directory, run.json or run.jsonl
    first: PathBuf,
    /// Another run of the same rows
    second: PathBuf,
    /// The share of rows that must agree, per cent
    #[arg(long, default_value_t = 90.0)]
    at_least: f64,
}

/// Compares the first metric of every row that both runs measured, and fails below the share asked for.
pub fn run(options: &Options) -> Result<()> {
    let (first, second) = (store::read(&options.first)?, store::read(&options.second)?);
    let pairs = pairs(&first, &second);
    if pairs.is_empty() {
        bail!("the two runs have no measured row in common");
    }
    let apart: Vec<_> = pairs.iter().filter(|(_, a, b)| !a.overlaps(b)).collect();
    for (row, a, b) in &apart {
        let unit = &row.metrics[0].unit;
        println!(
            "{}: {:.4e} [{:.4e}, {:.4e}] against {:.4e} [{:.4e}, {:.4e}] {unit}",
            row.id, a.median, a.low, a.high, b.median, b.low, b.high
        );
    }
    let share = 100.0 * (1.0 - apart.len() as f64 / pairs.len() as f64);
    println!("{share:.1} % of {} rows agree within their intervals", pairs.len());
    if share < options.at_least {
        bail!("fewer than {} %", options.at_least);
    }
    Ok(())
}

fn pairs<'a>(first: &'a Run, second: &'a Run) -> Vec<(&'a Row, Estimate, Estimate)> {
    first
        .results
        .iter()
        .filter_map(|result| {
            let other = second.results.iter().find(|other| other.row.id == result.row.id)?;
            Some((&result.row, result.metrics.first()?.estimate, other.metrics.first()?.estimate))
        })
        .collect()
}

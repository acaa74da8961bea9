//! The coarse crosscheck, a step of `cargo xtask ci`: a few streams of the kernel against the plain C programs alone. It
//! finds rates that are wrong by a factor, such as those of rounds that fit into the transport's buffers.

use std::time::Duration;

use anyhow::{Result, bail};
use headwater_results::estimate::median;
use headwater_results::schema::Placement;

use super::turns::{Extent, Turns, by_turns};
use super::{ALONE, Bench, OURS, Pair};

const TRANSPORTS: [&str; 3] = ["pipe", "unix-stream", "tcp"];
const SIZES_BYTES: [u64; 2] = [64, 4096];

/// The time of a launch: that of the command's default run, in which short rates were wrong.
const TIME: Duration = Duration::from_millis(35);

/// The factor that no median may reach.
const FACTOR_MAX: f64 = 1.3;

/// Blocks of the first measurement, and of those for rows that fail all before.
const BLOCKS: [u32; 3] = [5, 11, 21];

/// Measures all rows, and those that fail again.
///
/// # Errors
/// If a row fails in every measurement.
pub fn run() -> Result<()> {
    let bench = Bench::build(TIME)?;
    let both = [Placement::TwoCpus, Placement::SameCpu];
    let placements = if bench.cpus.len() > 1 { &both[..] } else { &both[1..] };
    let mut pairs = bench.pairs(&["stream"], &SIZES_BYTES, placements, &TRANSPORTS.map(str::to_owned))?;
    for (seed, blocks) in BLOCKS.into_iter().enumerate() {
        let extent = Extent { blocks, seed: seed as u64, rows: pairs.len(), sides: 2 };
        let figure = |side, row: usize, block| bench.figure([OURS, ALONE][side], &pairs[row], block);
        let all = by_turns(extent, figure, |_| false);
        pairs =
            pairs.iter().zip(&all).filter(|(pair, turns)| !agrees(pair, turns)).map(|(pair, _)| pair.clone()).collect();
        if pairs.is_empty() {
            return Ok(());
        }
    }
    let names: Vec<&str> = pairs.iter().map(|pair| pair.row.id.as_str()).collect();
    bail!(
        "the rates of {} are not within a factor of {FACTOR_MAX} of a plain C loop, in three measurements; `cargo xtask crosscheck` has \
         the intervals",
        names.join(", ")
    )
}

/// Prints the row, and judges it.
fn agrees(pair: &Pair, turns: &Turns<f64>) -> bool {
    let ratio = coarse_ratio(turns);
    match (ratio, &turns.missing) {
        (Some(ratio), None) => println!("  {}: {ratio:.2} of a plain C loop", pair.row.id),
        (_, reason) => println!("  {}: {}", pair.row.id, reason.as_deref().unwrap_or("no figure")),
    }
    turns.missing.is_none() && ratio.is_some_and(is_near)
}

/// Returns the median of the ratios within blocks.
fn coarse_ratio(turns: &Turns<f64>) -> Option<f64> {
    median(&turns.figures[0].iter().zip(&turns.figures[1]).map(|(ours, alone)| ours / alone).collect::<Vec<f64>>())
}

fn is_near(ratio: f64) -> bool {
    (1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_factor_fails_and_a_disturbed_block_does_not() {
        let turns =
            |ours: [f64; 5], alone: [f64; 5]| Turns { figures: vec![ours.to_vec(), alone.to_vec()], missing: None };
        let passes = |turns| coarse_ratio(&turns).is_some_and(is_near);
        // The machine slows down to a third in the fourth block, and a launch of the fifth was disturbed.
        assert!(passes(turns([100.0, 102.0, 98.0, 31.0, 20.0], [99.0, 97.0, 101.0, 34.0, 90.0])));
        assert!(!passes(turns([400.0, 420.0, 390.0, 380.0, 90.0], [100.0; 5])), "four times a plain loop");
        assert!(
            !passes(turns([145.0, 137.0, 133.0, 141.0, 90.0], [100.0; 5])),
            "the calls are not those of a plain loop"
        );
        assert!(!passes(turns([74.0, 75.0, 76.0, 79.0, 72.0], [100.0; 5])), "less than three quarters of a plain loop");
    }
}

//! Measurements by turns: several sides measure the same rows in blocks, so that drift of the machine cancels in the
//! ratios within a block. Called by all crosschecks.

use std::time::{Duration, Instant};

use anyhow::Result;
use headwater_results::random::Random;

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// The measurements of a row: the figures of each side by block, or the reason why there are no more.
#[derive(Clone, Debug, Default)]
pub struct Turns<F> {
    /// One list for each side, all of the same length.
    pub figures: Vec<Vec<F>>,
    pub missing: Option<String>,
}

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub blocks: u32,
    /// Seed of the order.
    pub seed: u64,
    pub rows: usize,
    pub sides: usize,
}

/// Measures the rows. In each block every side measures every row once, in random order of rows and of sides. `figure`
/// receives the side, the row and the block. A row that fails, or that `is_done`, is left out from then on.
pub fn by_turns<F: Clone>(
    extent: Extent,
    figure: impl Fn(usize, usize, u32) -> Result<F>,
    is_done: impl Fn(&Turns<F>) -> bool,
) -> Vec<Turns<F>> {
    let mut all = vec![Turns { figures: vec![Vec::new(); extent.sides], missing: None }; extent.rows];
    let mut random = Random::new(extent.seed);
    let mut shown = Instant::now();
    for block in 0..extent.blocks {
        let mut order: Vec<usize> =
            (0..extent.rows).filter(|&row| all[row].missing.is_none() && !is_done(&all[row])).collect();
        if order.is_empty() {
            break;
        }
        random.shuffle(&mut order);
        for (done, &row) in order.iter().enumerate() {
            if shown.elapsed() >= PROGRESS {
                eprintln!("block {} of at most {}: {done} of {} rows", block + 1, extent.blocks, order.len());
                shown = Instant::now();
            }
            let mut sides: Vec<usize> = (0..extent.sides).collect();
            random.shuffle(&mut sides);
            let figures: Result<Vec<(usize, F)>> =
                sides.into_iter().map(|side| Ok((side, figure(side, row, block)?))).collect();
            match figures {
                Ok(figures) => figures.into_iter().for_each(|(side, figure)| all[row].figures[side].push(figure)),
                Err(error) => all[row].missing = Some(format!("{error:#}")),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;

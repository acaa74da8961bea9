//! A histogram of durations: exact below 2048 ns, above that with a resolution of one part in 1024.

/// Cells per doubling.
const CELLS: u64 = 1024;

/// Durations beyond 2^52 ns count in the last cell.
const CELL_COUNT: usize = 43 * CELLS as usize;

/// Durations by cell.
#[derive(Debug)]
pub struct Durations(Vec<u64>);

impl Default for Durations {
    fn default() -> Durations {
        Durations(vec![0; CELL_COUNT])
    }
}

impl Durations {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        let shift = u64::from((duration_ns | 1).ilog2().saturating_sub(CELLS.ilog2()));
        let cell = shift * CELLS + (duration_ns >> shift);
        self.0[(cell as usize).min(CELL_COUNT - 1)] += 1;
    }

    /// Returns pairs of (longest duration of a cell, count) for the cells that are not empty.
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        let longest_ns = |cell: u64| {
            let shift = (cell / CELLS).saturating_sub(1);
            ((cell - shift * CELLS + 1) << shift) - 1
        };
        let cells = (0..).zip(&self.0).filter(|&(_, &count)| count > 0);
        cells.map(|(cell, &count)| (longest_ns(cell), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_wider_than_promised() {
        for duration_ns in (0..5000).chain((12..50).flat_map(|power| [(1 << power) - 1, 1 << power, (3 << power) - 7]))
        {
            let mut durations = Durations::default();
            durations.record(duration_ns);
            let [(longest_ns, 1)] = durations.pairs()[..] else { panic!("one cell") };
            assert!(longest_ns >= duration_ns && longest_ns - duration_ns <= duration_ns / 1024, "{duration_ns}");
        }
    }
}

//! A noise record for tests, here and of `compare`.

use headwater_results::compare::noise::{Assessment, Drift};

use super::Record;

/// What was found on a day of January 2026: drift within a run and between runs.
pub fn record(day: u32, within: f64, apart: f64) -> Record {
    let drift = |deviation| Drift { deviation, rows: 100 };
    Record {
        host: "h".to_owned(),
        kernel: "6.18".to_owned(),
        started_at: format!("2026-01-{day:02}T00:00:00Z"),
        run: "r".to_owned(),
        assessment: Assessment {
            rows: 100,
            blocks: 12,
            below_alpha: 5,
            called_different: 0,
            difference_median: 0.01,
            difference_p95: 0.05,
            resolution_median: 0.02,
            drift: drift(within),
        },
        apart: drift(apart),
        earlier: Vec::new(),
    }
}

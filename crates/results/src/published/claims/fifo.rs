//! The FIFO mail.

use super::{Case, Claim, Needs, Unit, Wording, find, is_about};
use crate::schema::RowResult;

/// "About 30 %".
pub(super) const THIRTY: Claim = Claim {
    table: "fifo",
    says: "The new FIFO is about 30 % faster than the old one",
    wording: Wording::InSense,
    how: "Elapsed time of fifo-socket over fifo, by the number of messages, over all sizes; holds where the mean change is \
          about 30 %.",
    unit: Unit::Change,
    needs: Needs::Every,
    check,
};

fn check() -> Vec<Case> {
    let datasets = find("fifo").map(|table| table.datasets()).unwrap_or_default();
    let results: Vec<RowResult> = datasets.into_iter().flat_map(|dataset| dataset.run.results).collect();
    let elapsed = |subject: &str, count: u64, size: Option<u64>| {
        let found = results.iter().find(|result| {
            let row = &result.row;
            row.subject == subject && row.messages == Some(count) && row.size_bytes == size
        });
        Some(found?.metrics.first()?.estimate.median)
    };
    let mut counts: Vec<u64> = results.iter().filter_map(|result| result.row.messages).collect();
    counts.sort_unstable();
    counts.dedup();
    let of_count = |count: u64| {
        let new = results.iter().filter(|result| result.row.subject == "fifo" && result.row.messages == Some(count));
        let sizes: Vec<Option<u64>> = new.map(|result| result.row.size_bytes).collect();
        let ratio = |size| Some(elapsed("fifo-socket", count, size)? / elapsed("fifo", count, size)?);
        let ratios: Vec<f64> = sizes.iter().filter_map(|&size| ratio(size)).collect();
        let case = Case::of(format!("{count} messages"), &ratios, |case| is_about(case.mean - 1.0, 0.3));
        let slower = sizes.iter().zip(&ratios).find(|(_, ratio)| **ratio < 1.0).and_then(|(size, _)| *size);
        let remark = slower.map(|size| format!("at {size} B the new one took {:.1} times as long", 1.0 / case.low));
        case.remarked(remark.unwrap_or_default())
    };
    counts.into_iter().map(of_count).collect()
}

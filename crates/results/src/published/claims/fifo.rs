//! The FIFO mail.

use super::{Case, Claim, Needs, Unit, Wording, find, is_about};
use crate::schema::RowResult;

/// The minimum amount of data that counts as large, in bytes: messages times their size. The author does not define it;
/// a pipe of FreeBSD holds 64 KiB, and this is sixteen times as much.
const LARGE_MIN: u64 = 1 << 20;

/// "Saving 30% of time".
pub(super) const SAVING_30: Claim = Claim {
    table: "fifo",
    says: "With large amounts of data the new FIFO is faster than the old one, \"saving 30% of time\"",
    wording: Wording::Quoted { from: "the report" },
    how: "Elapsed time of fifo over fifo-socket, by the number of messages, over the sizes at which the messages are 1 MiB \
          together or more; holds where the mean saves about 30 %.",
    unit: Unit::Change,
    needs: Needs::Every,
    check,
};

fn check() -> Vec<Case> {
    let datasets = find("fifo").map(|table| table.datasets()).unwrap_or_default();
    let results: Vec<RowResult> = datasets.into_iter().flat_map(|dataset| dataset.run.results).collect();
    let elapsed = |subject: &str, count: u64, size: u64| {
        let found = results.iter().find(|result| {
            let row = &result.row;
            row.subject == subject && row.messages == Some(count) && row.size_bytes == Some(size)
        });
        Some(found?.metrics.first()?.estimate.median)
    };
    let mut counts: Vec<u64> = results.iter().filter_map(|result| result.row.messages).collect();
    counts.sort_unstable();
    counts.dedup();
    let of_count = |count: u64| {
        let new = results.iter().filter(|result| result.row.subject == "fifo" && result.row.messages == Some(count));
        let large: Vec<u64> =
            new.filter_map(|result| result.row.size_bytes).filter(|size| size * count >= LARGE_MIN).collect();
        let ratio = |&size: &u64| Some(elapsed("fifo", count, size)? / elapsed("fifo-socket", count, size)?);
        let ratios: Vec<f64> = large.iter().filter_map(ratio).collect();
        let smallest = large.iter().min()?;
        let case = Case::of(format!("{count} messages"), &ratios, |case| is_about(1.0 - case.mean, 0.3));
        Some(case.remarked(format!("from {smallest} B on")))
    };
    counts.into_iter().filter_map(of_count).collect()
}

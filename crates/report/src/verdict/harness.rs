//! The harness's own cost: the time of the null transport as a share of the fastest row of the kernel.

use std::collections::HashMap;

use headwater_results::schema::{Placement, RowResult, Run, Standing, WorkerKind};

use crate::rows::{self, Provider};
use crate::{judge, units};

/// The harness may cost up to this share of the fastest kernel row.
const SHARE_MAX: f64 = 0.02;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let nulls = rows::all_measured(run).filter(|row| row.row.standing == Standing::Null);
    let patterns = rows::unique(nulls.map(|row| row.row.pattern.as_str()));
    let shares: Vec<(&str, f64)> =
        patterns.into_iter().filter_map(|pattern| Some((pattern, worst_share(run, pattern)?))).collect();
    let Some(worst) = shares.iter().map(|&(_, share)| share).max_by(f64::total_cmp) else { return Vec::new() };
    let each: Vec<String> =
        shares.iter().map(|&(pattern, share)| format!("{pattern} {}", units::percent(share))).collect();
    let most = units::percent(worst);
    let judgement = if worst > SHARE_MAX {
        format!(", which is more than the {:.0} % that it should", SHARE_MAX * 100.0)
    } else {
        String::new()
    };
    let each = if each.len() > 1 { each.join(", ") } else { shares[0].0.to_owned() };
    vec![format!(
        "The measuring loop itself takes at most {most} of the time of the kernel's fastest row{judgement} ({each})."
    )]
}

/// Returns the largest share in a pattern, over its sizes and placements. Only patterns of messages have a comparable
/// row of the kernel: the fastest primitive of `sync` is an instruction.
fn worst_share(run: &Run, pattern: &str) -> Option<f64> {
    let rows = rows::measured(run, pattern);
    let mut kernel: HashMap<Parameters, Vec<&RowResult>> = HashMap::new();
    for row in rows.iter().filter(|row| rows::provider(row) == Provider::Kernel) {
        kernel.entry(parameters(row)).or_default().push(row);
    }
    let nulls = rows.iter().filter(|row| row.row.standing == Standing::Null && row.row.size_bytes.is_some());
    let shares = nulls.filter_map(|null| {
        let like = kernel.get(&parameters(null))?;
        // An operation's time is the inverse of its rate, so the share is the inverse of the advantage.
        judge::advantage(null, judge::best(like)?).map(|advantage| 1.0 / advantage)
    });
    shares.max_by(f64::total_cmp)
}

/// The parameters that a row of the kernel and the null row must have in common.
type Parameters = (Placement, Option<u64>, Option<u64>, Option<u32>, Option<WorkerKind>);

fn parameters(result: &RowResult) -> Parameters {
    let row = &result.row;
    (row.placement, row.size_bytes, row.messages, row.workers, row.worker_kind)
}

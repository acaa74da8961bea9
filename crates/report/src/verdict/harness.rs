//! The harness's own cost: what the transport that moves nothing takes, as a share of the fastest row of the kernel.

use headwater_results::schema::{RowResult, Run, Standing};

use crate::{judge, rows, units};

/// The harness may cost this share of the fastest kernel row.
const SHARE_MAX: f64 = 0.02;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let patterns = rows::unique(rows::all_measured(run).map(|row| row.row.pattern.as_str()));
    let shares: Vec<(&str, f64)> =
        patterns.into_iter().filter_map(|pattern| Some((pattern, worst_share(run, pattern)?))).collect();
    let Some(worst) = shares.iter().map(|&(_, share)| share).max_by(f64::total_cmp) else { return Vec::new() };
    let each: Vec<String> =
        shares.iter().map(|&(pattern, share)| format!("{pattern} {}", units::percent(share))).collect();
    let most = units::percent(worst);
    let judgement = if worst > SHARE_MAX {
        format!(", more than the {:.0} % that it may", SHARE_MAX * 100.0)
    } else {
        String::new()
    };
    let each = if each.len() > 1 { each.join(", ") } else { shares[0].0.to_owned() };
    vec![format!("The harness itself takes at most {most} of the fastest kernel row{judgement} ({each}).")]
}

/// The largest share of a pattern, over its sizes and placements. Only what moves messages has a row of the kernel to be
/// compared with: the fastest primitive of `sync` is an instruction.
fn worst_share(run: &Run, pattern: &str) -> Option<f64> {
    let rows = rows::measured(run, pattern);
    let nulls = rows.iter().filter(|row| row.row.standing == Standing::Null && row.row.size_bytes.is_some());
    let shares = nulls.filter_map(|null| {
        let like: Vec<&RowResult> = rows.iter().copied().filter(|row| is_like(row, null)).collect();
        // An operation's time is the inverse of its rate, so the share is the inverse of the advantage.
        judge::advantage(null, judge::leaders(&like).first()?).map(|advantage| 1.0 / advantage)
    });
    shares.max_by(f64::total_cmp)
}

/// Whether a row is the kernel's, with the parameters of the null row.
fn is_like(result: &RowResult, null: &RowResult) -> bool {
    let parameters = |one: &RowResult| {
        (one.row.placement, one.row.size_bytes, one.row.messages, one.row.workers, one.row.worker_kind)
    };
    result.row.standing == Standing::Candidate && parameters(result) == parameters(null)
}

//! The IPC report. None of its claims is recorded here; its tables suggest one question.

use super::{Case, Claim, Needs, Unit, Wording, run};
use crate::schema::{Better, Row, RowResult};

/// The pipe compared with the best of the others.
pub(super) const PIPE_AHEAD: Claim = Claim {
    table: "ipc",
    says: "Is the pipe ahead of every other mechanism?",
    wording: Wording::Asked,
    how: "The pipe's figure over that of the best of the others (above 1: the pipe is better); holds where it is ahead by \
          more than 2 %.",
    unit: Unit::Times,
    needs: Needs::Every,
    check,
};

fn check() -> Vec<Case> {
    let results = run("ipc", "fedora20").map(|run| run.results).unwrap_or_default();
    let pipes = results.iter().filter(|result| result.row.subject == "pipe");
    pipes.filter_map(|pipe| Some(case(pipe, &results, goodness(pipe)?))).collect()
}

fn case(pipe: &RowResult, results: &[RowResult], of_pipe: f64) -> Case {
    let is_rival =
        |row: &Row| row.pattern == pipe.row.pattern && row.size_bytes == pipe.row.size_bytes && row.subject != "pipe";
    let rivals = results.iter().filter(|result| is_rival(&result.row));
    let best = rivals
        .filter_map(|result| Some((result.row.subject.as_str(), goodness(result)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(("nothing", of_pipe));
    let name = format!("{} of {} B", pipe.row.pattern, pipe.row.size_bytes.unwrap_or_default());
    Case::of(name, &[of_pipe / best.1], |case| case.mean > 1.02).remarked(format!("the best other: {}", best.0))
}

/// Returns a figure for which more is better.
fn goodness(result: &RowResult) -> Option<f64> {
    let own = result.metrics.first()?;
    Some(match own.metric.better {
        Better::Higher => own.estimate.median,
        Better::Lower => 1.0 / own.estimate.median,
    })
}

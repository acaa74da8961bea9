//! The step `sample`: a short run of the release build, and checks of its results.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use headwater_results::parse::{parse_events, parse_run};
use headwater_results::schema::{Row, RowOutcome, RowResult, Run, Standing};
use headwater_results::summary::Fold;

use super::leftovers::Snapshot;
use super::schema;
use crate::shell;

/// Two short launches of each row, with enough time for a slow machine: every row must be measured.
const SETTINGS: [&str; 6] = ["--launches", "2", "--time", "10ms", "--budget", "5m"];

/// Runs the command; checks the results, the documents and `show`, and that nothing is left behind.
pub fn run() -> Result<()> {
    let headwater = shell::release_build()?;
    let place = shell::target_directory().join(format!("ci-sample-{}", std::process::id()));
    let (output, temporary) = (place.join("run"), place.join("tmp"));
    fs::create_dir_all(&temporary).with_context(|| temporary.display().to_string())?;
    let before = Snapshot::take(&temporary)?;
    let mark = format!("ci-sample-{}", std::process::id());
    let mut command = shell::command(&headwater.to_string_lossy());
    command.args(["run", "overview", "--quiet"]).args(SETTINGS).arg("--output").arg(&output);
    command.env("TMPDIR", &temporary).env(Snapshot::MARK, &mark);
    let status = command.status().context("headwater run")?;
    // Status 4 means that some row has a reason instead of a value; the rows are checked below.
    ensure!(matches!(status.code(), Some(0 | 4)), "headwater run: {status}");
    let left = Snapshot::take(&temporary)?.since(&before, &mark)?;
    ensure!(left.is_empty(), "left behind: {}", left.join(", "));

    let run = read(&output)?;
    check_rows(&run)?;
    schema::validate(&output)?;
    let shown = shell::output(shell::command(&headwater.to_string_lossy()).arg("show").arg(&output))?;
    check_shown(&run, &shown)?;
    for line in shown.lines().filter(|line| !line.is_empty()) {
        println!("  {line}");
    }
    fs::remove_dir_all(&place).with_context(|| place.display().to_string())
}

/// Reads the document, which must agree with its events.
fn read(output: &Path) -> Result<Run> {
    let (document, events) = (output.join("run.json"), output.join("run.jsonl"));
    let text = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let run = parse_run(&text(&document)?).with_context(|| document.display().to_string())?;
    let events = parse_events(&text(&events)?).with_context(|| events.display().to_string())?;
    let folded = Fold::run_of(events)?;
    ensure!(folded == run, "run.json is not what run.jsonl says");
    Ok(run)
}

/// Checks that every row has a value or a reason, and that none has failed.
fn check_rows(run: &Run) -> Result<()> {
    let mut wrong: Vec<String> = run.results.iter().filter_map(fault).collect();
    let measured = |standing| run.results.iter().filter(move |result| is_measured(result, standing)).count();
    if measured(Standing::Candidate) == 0 {
        wrong.push("no transport was measured".into());
    }
    if measured(Standing::Null) == 0 {
        wrong.push("the harness's own cost was not measured".into());
    }
    if !wrong.is_empty() {
        bail!("rows: {}", wrong.join("; "));
    }
    let skipped = run.results.iter().filter(|result| matches!(result.outcome, RowOutcome::Skipped { .. })).count();
    println!("  {} rows, {skipped} of them skipped with a reason", run.results.len());
    for failure in run.results.iter().flat_map(|result| &result.failures) {
        println!("  note: a launch failed: {failure}");
    }
    Ok(())
}

fn is_measured(result: &RowResult, standing: Standing) -> bool {
    result.outcome == RowOutcome::Measured && result.row.standing == standing
}

/// Returns the error in a row's result, if there is one.
fn fault(result: &RowResult) -> Option<String> {
    let Row { id, metrics, .. } = &result.row;
    match &result.outcome {
        RowOutcome::Measured => {
            let Some(own) = result.metrics.first() else { return Some(format!("{id}: measured, but without a value")) };
            if metrics.first() != Some(&own.metric) {
                return Some(format!("{id}: its first value is not its own figure, but {}", own.metric.name));
            }
            let (median, low, high) = (own.estimate.median, own.estimate.low, own.estimate.high);
            let sound = median.is_finite() && median > 0.0 && low <= median && median <= high;
            (!sound).then(|| format!("{id}: {} is {median} in {low} .. {high}", own.metric.name))
        }
        RowOutcome::Skipped { reason } if reason.trim().is_empty() => Some(format!("{id}: skipped without a reason")),
        RowOutcome::Skipped { .. } => None,
        RowOutcome::Failed { reason } => Some(format!("{id}: failed: {reason}")),
        RowOutcome::Pending => Some(format!("{id}: neither a value nor a reason")),
    }
}

/// Checks that `show` prints every transport and primitive of the run.
fn check_shown(run: &Run, shown: &str) -> Result<()> {
    let subjects: BTreeSet<&str> = run.results.iter().map(|result| result.row.subject.as_str()).collect();
    let missing: Vec<&str> = subjects.into_iter().filter(|subject| !shown.contains(subject)).collect();
    ensure!(missing.is_empty(), "headwater show does not print {}", missing.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests;

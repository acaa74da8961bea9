//! What tracing costs workloads and rows of LMbench, by configuration.

use headwater_results::overhead::{Arm, Cost, Finding, Line, Overhead, WORKLOAD};
use headwater_results::schema::Run;

use crate::overhead::{change, least, measured, rows_of_lmbench};
use crate::text::{list, plural};

/// The most workloads that have a sentence; the tables have all.
const WORKLOADS_MAX: usize = 4;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let found = Overhead::of(run);
    let lines = found.of_pattern(WORKLOAD).into_iter().filter(|line| line.metric.name == "elapsed");
    lines.filter_map(sentence).take(WORKLOADS_MAX).chain(of_rows(&found)).collect()
}

/// Returns `Tracing 92 rows of LMbench: armed slows none; drain slows 31, null-call most (3.8 x). The rest changes less
/// than counts, or is undecided.`
fn of_rows(found: &Overhead) -> Option<String> {
    let rows = rows_of_lmbench(found);
    let configurations = measured(&rows);
    if configurations.is_empty() {
        return None;
    }
    let parts: Vec<String> = configurations.into_iter().map(|name| of_configuration(&rows, name)).collect();
    let what = plural(rows.len(), "row");
    Some(format!(
        "Tracing {what} of LMbench: {}. The rest changes less than counts, or is undecided.",
        parts.join("; ")
    ))
}

fn of_configuration(rows: &[&Line], name: &str) -> String {
    let cost = |row: &&Line| -> Option<(String, Cost)> {
        let arm = row.arms.iter().find(|arm| arm.name == name && arm.finding == Finding::Found)?;
        Some((row.subject.clone(), arm.cost?))
    };
    let (slower, faster): (Vec<_>, Vec<_>) = rows.iter().filter_map(cost).partition(|(_, cost)| cost.times > 1.0);
    let most = slower.iter().max_by(|(_, one), (_, other)| one.times.total_cmp(&other.times));
    let slows = most.map_or_else(
        || "none".to_owned(),
        |(subject, cost)| format!("{}, {subject} most ({})", slower.len(), change(cost.times)),
    );
    let faster = if faster.is_empty() { String::new() } else { format!("; {} became faster", faster.len()) };
    format!("{name} slows {slows}{faster}")
}

/// Returns `Tracing compress: drain costs +3.1 %; flight costs less than 2.0 %; armed is undecided (about 3 more blocks
/// would tell).`
fn sentence(line: &Line) -> Option<String> {
    let arms = |is: fn(&Finding) -> bool| line.arms.iter().filter(move |arm| is(&arm.finding)).collect::<Vec<_>>();
    let found = arms(|finding| *finding == Finding::Found);
    let mut parts: Vec<String> =
        found.iter().filter_map(|arm| Some(format!("{} costs {}", arm.name, change(arm.cost?.times)))).collect();
    let below = arms(|finding| *finding == Finding::Below);
    if let Some(least) = line.minimum_effect.map(least).filter(|_| !below.is_empty()) {
        parts.push(format!("{} {} less than {least}", names(&below), verb(&below, "costs", "cost")));
    }
    let open = arms(|finding| matches!(finding, Finding::Open { .. }));
    if !open.is_empty() {
        let more = open.iter().filter_map(|arm| match arm.finding {
            Finding::Open { more_blocks } => more_blocks,
            _ => None,
        });
        let more = more.max().map(|more| format!(" (about {} would tell)", plural(more as usize, "more block")));
        parts.push(format!("{} {} undecided{}", names(&open), verb(&open, "is", "are"), more.unwrap_or_default()));
    }
    (!parts.is_empty()).then(|| format!("Tracing {}, wall time: {}.", line.subject, parts.join("; ")))
}

fn names(arms: &[&Arm]) -> String {
    list(&arms.iter().map(|arm| arm.name.clone()).collect::<Vec<_>>())
}

fn verb<'w>(arms: &[&Arm], of_one: &'w str, of_several: &'w str) -> &'w str {
    if arms.len() == 1 { of_one } else { of_several }
}

//! What tracing costs a workload, by configuration.

use headwater_results::overhead::{Arm, Finding, Line, Overhead, WORKLOAD, is_overhead};
use headwater_results::schema::Run;

use crate::overhead::{change, least};
use crate::text::list;

/// The most workloads that have a sentence; the tables have all.
const WORKLOADS_MAX: usize = 4;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    if !is_overhead(run) {
        return Vec::new();
    }
    let found = Overhead::of(run);
    let lines = found.of_pattern(WORKLOAD).into_iter().filter(|line| line.metric.name == "elapsed");
    lines.filter_map(sentence).take(WORKLOADS_MAX).collect()
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
        let more =
            more.max().map(|more| format!(" (about {} would tell)", crate::text::plural(more as usize, "more block")));
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

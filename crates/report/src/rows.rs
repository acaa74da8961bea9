//! Queries on a run: its measured rows, placements, sizes and subjects, and their figures. Used by sections and
//! sentences; formats nothing.

use headwater_results::schema::{MetricResult, Percentile, Placement, RowOutcome, RowResult, Run, Standing};
use headwater_results::sorting::Arrange;

/// Returns the rows of a pattern that have a figure, in the order of the run.
pub(crate) fn measured<'a>(run: &'a Run, pattern: &str) -> Vec<&'a RowResult> {
    all_measured(run).filter(|result| result.row.pattern == pattern).collect()
}

/// Returns every row that has a figure.
pub(crate) fn all_measured(run: &Run) -> impl Iterator<Item = &RowResult> {
    run.results.iter().filter(|result| result.outcome == RowOutcome::Measured && own(result).is_some())
}

/// Returns the largest number of launches of a row.
pub(crate) fn launches_done(run: &Run) -> Option<u32> {
    all_measured(run).filter_map(own).map(|own| own.estimate.n).max()
}

/// Formats the number of launches: `12 launches`, `3 of 12 launches`; without a plan, those that exist.
pub(crate) fn launches(run: &Run) -> String {
    let (planned, done) = (run.header.settings.launches, launches_done(run));
    let of = done.filter(|done| *done < planned).map(|done| format!("{done} of ")).unwrap_or_default();
    match if planned == 0 { done.unwrap_or(0) } else { planned } {
        1 => "1 launch".to_owned(),
        many => format!("{of}{many} launches"),
    }
}

/// Returns the row's own figure: its first metric.
pub(crate) fn own(result: &RowResult) -> Option<&MetricResult> {
    metric(result, &result.row.metrics.first()?.name).or(result.metrics.first())
}

/// Returns the figure with that name.
pub(crate) fn metric<'a>(result: &'a RowResult, name: &str) -> Option<&'a MetricResult> {
    result.metrics.iter().find(|found| found.metric.name == name)
}

/// Returns a percentile of single durations of the row's own metric, in ns.
pub(crate) fn percentile(result: &RowResult, percent: f64) -> Option<f64> {
    let of_own = own(result).and_then(|own| result.percentiles.get(&own.metric.name));
    let percentiles: &Vec<Percentile> = of_own.or_else(|| result.percentiles.values().next())?;
    percentiles.iter().find(|found| (found.percent - percent).abs() < 1e-9).map(|found| found.value_ns)
}

/// Returns a counter of both ends together, per operation: `both_ends(result, "system_s")`. `None` if no end has it.
pub(crate) fn both_ends(result: &RowResult, what: &str) -> Option<f64> {
    let names: Vec<String> =
        result.counters.keys().filter(|name| name.strip_suffix(what).is_some_and(is_end)).cloned().collect();
    if names.is_empty() {
        return None;
    }
    let operations = result.counters.get("operations").copied()?;
    let total: f64 = names.iter().map(|name| result.counters[name]).sum();
    let each = total / operations;
    each.is_finite().then_some(each)
}

/// Returns the bytes that were sent and not yet received when the sender of a one-way pattern had ended, as the receiver's time
/// stamps say.
pub(crate) fn on_the_way(result: &RowResult) -> Option<f64> {
    result.counters.get("on_the_way_bytes").copied()
}

/// Returns the CPU time of both ends, user and system, per operation in ns.
pub(crate) fn cpu_ns(result: &RowResult) -> Option<f64> {
    Some((both_ends(result, "user_s")? + both_ends(result, "system_s")?) * 1e9)
}

/// Returns a counter of both ends together, per 1000 operations.
pub(crate) fn per_1000(result: &RowResult, what: &str) -> Option<f64> {
    both_ends(result, what).map(|each| each * 1e3)
}

/// Whether the prefix of a counter names one of the processes.
fn is_end(prefix: &str) -> bool {
    ["sender_", "receiver_", "both_"].contains(&prefix)
}

/// Returns the placements of the rows, in the order of the settings, then of appearance.
pub(crate) fn placements(run: &Run, rows: &[&RowResult]) -> Vec<Placement> {
    let present = unique(rows.iter().map(|result| result.row.placement));
    let mut placements: Vec<Placement> =
        run.header.settings.placements.iter().copied().filter(|placement| present.contains(placement)).collect();
    placements.extend(present);
    unique(placements)
}

/// Returns the rows with one placement.
pub(crate) fn at<'a>(rows: &[&'a RowResult], placement: Placement) -> Vec<&'a RowResult> {
    rows.iter().copied().filter(|result| result.row.placement == placement).collect()
}

/// Returns their message sizes, ascending.
pub(crate) fn sizes(rows: &[&RowResult]) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows.iter().filter_map(|result| result.row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Returns their subjects with their standing: candidates, then external programs, limits and null, each in the order
/// of the run.
pub(crate) fn subjects<'a>(rows: &[&'a RowResult]) -> Vec<(&'a str, Standing)> {
    let mut subjects = unique(rows.iter().map(|result| (result.row.subject.as_str(), result.row.standing)));
    subjects.arrange_by_key(|&(_, standing)| rank(standing));
    subjects
}

/// The sort key of a standing: candidates, external programs, limits, null.
pub(crate) fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Candidate => 0,
        Standing::External => 1,
        Standing::Limit => 2,
        Standing::Null => 3,
    }
}

/// Whether a row is a mechanism that a program could use, rather than a limit or null.
pub(crate) fn competes(result: &RowResult) -> bool {
    matches!(result.row.standing, Standing::Candidate | Standing::External)
}

/// The provider of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    /// The kernel: pipes, sockets, message queues.
    Kernel,
    /// A STREAMS or XTI library above the kernel: Headwater's runtime, or another one in a published table.
    Runtime,
    /// A program of the user's.
    External,
    /// None: limits and the harness alone, for comparison.
    Reference,
}

/// Returns the provider of the row's mechanism.
pub(crate) fn provider(result: &RowResult) -> Provider {
    match result.row.standing {
        Standing::Candidate if result.row.is_of_runtime() => Provider::Runtime,
        Standing::Candidate => Provider::Kernel,
        Standing::External => Provider::External,
        Standing::Limit | Standing::Null => Provider::Reference,
    }
}

/// Removes duplicates, keeping the first of each value.
pub(crate) fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Describes a placement.
pub(crate) fn placement_words(placement: Placement) -> &'static str {
    match placement {
        Placement::SameCpu => "same CPU",
        Placement::TwoCpus => "two CPUs",
        Placement::Free => "any CPU",
    }
}

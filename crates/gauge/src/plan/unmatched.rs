//! Explains a word of a selection that selects no row: what is wrong with it, and what to type. Called by the plan.

use headwater_results::schema::{Placement, Row};

use super::selection::{self, SUITE};
use super::{PlanError, every_placement, filter, rows_of, suggest};
use crate::suites::{self, Axes, Suite};
use crate::transports;

/// Returns the error for a filter that matches no row of the suites.
pub(super) fn explained(filter: &str, suites: &[&'static Suite], axes: &Axes<'_>, cpus: usize) -> PlanError {
    let names: Vec<&str> = suites.iter().map(|suite| suite.name).collect();
    not_here(filter, suites, axes, cpus)
        .or_else(|| elsewhere(filter, axes, &names))
        .map_or_else(|| unknown(filter, &names.join(", "), &rows_of(suites, axes)), PlanError)
}

/// Explains a filter whose rows the chosen sizes or placements exclude.
fn not_here(filter: &str, suites: &[&'static Suite], axes: &Axes<'_>, cpus: usize) -> Option<String> {
    let is_matched = |axes: &Axes<'_>| filter::unmatched(&[filter], rows_of(suites, axes).iter()).is_none();
    if is_matched(&Axes { sizes: None, ..axes.clone() }) {
        return Some(format!("{filter:?} has no row with these sizes; without --sizes it has"));
    }
    let narrow = format!("this process may use {cpus} CPU only");
    for placement in [Placement::SameCpu, Placement::TwoCpus, Placement::Free] {
        let name = placement.name();
        if filter.split('/').any(|part| part == name) && is_matched(&Axes { placements: &[placement], ..axes.clone() })
        {
            return Some(if placement == Placement::TwoCpus && cpus < 2 {
                format!(
                    "{filter:?} names a placement on two CPUs, and {narrow}; choose same-cpu, or widen its affinity"
                )
            } else {
                let measured: Vec<&str> = axes.placements.iter().map(|placement| placement.name()).collect();
                format!(
                    "{filter:?}: these rows are measured {} unless you add --placement {name}",
                    measured.join(" and ")
                )
            });
        }
    }
    let widest = every_placement(axes.externals);
    is_matched(&Axes { placements: widest.placements, ..axes.clone() }).then(|| {
        let remedy =
            if cpus < 2 { format!("{narrow}: widen its affinity") } else { "choose --placement two-cpus".to_owned() };
        format!("{filter:?} needs two CPUs, because both ends use theirs while they wait; {remedy}")
    })
}

/// Names the suites that have rows for a filter which matches none of the chosen ones.
fn elsewhere(filter: &str, axes: &Axes<'_>, chosen: &[&str]) -> Option<String> {
    let has_row = |suite: &&Suite| filter::unmatched(&[filter], (suite.rows)(axes).iter()).is_none();
    let suites: Vec<&str> = suites::TABLE.iter().filter(has_row).map(|suite| suite.name).collect();
    let first = suites.first()?;
    let (chosen, of) = (chosen.join(", "), suites.join(", "));
    Some(format!("{filter:?} is no row of {chosen}, but of {of}; type {SUITE}{first} {filter}"))
}

/// Returns the error for a filter that matches none of `rows`, with what was probably meant.
pub(super) fn unknown(filter: &str, where_: &str, rows: &[Row]) -> PlanError {
    let is_matched = |other: &str| filter::unmatched(&[other], rows.iter()).is_none();
    if filter.is_empty() {
        return PlanError("an empty word selects nothing; leave it out to measure every row".to_owned());
    }
    if filter.contains(',') {
        let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        return PlanError(format!("{filter:?} is no row of {where_}: names are separated by spaces; type {words}"));
    }
    if let Some((prefix, name)) = filter.split_once(':') {
        return PlanError(prefixed(filter, (prefix, name), where_, rows));
    }
    if let Some((first, rest)) = filter.split_once('/') {
        // A row begins with its transport, not with its suite or pattern.
        let turned = match rest.split_once('/') {
            Some((second, rest)) => format!("{second}/{first}/{rest}"),
            None => format!("{rest}/{first}"),
        };
        if is_matched(&turned) {
            return PlanError(format!(
                "{filter:?} is no row of {where_}: a row is TRANSPORT/PATTERN/...; type {turned}"
            ));
        }
        if !rest.is_empty()
            && suites::find(first).is_some()
            && !transports::TABLE.iter().any(|it| it.info.name == first)
        {
            return PlanError(format!(
                "{filter:?}: a row does not begin with the name of its suite; type {first} {rest}"
            ));
        }
        if rest.is_empty() && is_matched(first) {
            return PlanError(format!("{filter:?} ends before its pattern; type {first}"));
        }
    }
    let mut names: Vec<&str> = suites::TABLE.iter().map(|suite| suite.name).collect();
    if filter.contains('/') {
        names.extend(rows.iter().map(|row| row.id.as_str()));
    } else {
        names.extend(rows.iter().flat_map(|row| [row.subject.as_str(), row.pattern.as_str()]));
    }
    let near = near(filter, names);
    PlanError(format!("{filter:?} is neither a suite nor a row of {where_}{near} (`headwater list` shows all)"))
}

/// Explains a word with a colon: of an unknown kind, or with a name that its kind does not have.
fn prefixed(filter: &str, (prefix, name): (&str, &str), where_: &str, rows: &[Row]) -> String {
    let part: fn(&Row) -> &str = match prefix {
        filter::TRANSPORT => |row| &row.subject,
        filter::PATTERN | filter::FACILITY => |row| &row.pattern,
        _ => {
            let kinds = [filter::TRANSPORT, filter::PATTERN, filter::FACILITY];
            return format!(
                "{filter:?}: what stands before a colon says what the name is, and is suite, {} or {}",
                kinds[..2].join(", "),
                kinds[2]
            );
        }
    };
    let near = near(name, rows.iter().map(part).collect());
    let kind = selection::kind(name);
    let other = match kind {
        Some(kind) if kind != prefix => format!("; {name} is a {kind}: type {kind}:{name}"),
        _ => near,
    };
    format!("{filter:?}: no row of {where_} has that {prefix}{other} (`headwater list` shows all)")
}

/// Returns the question that offers the similar names.
fn near(wrong: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    suggest::did_you_mean(wrong, names)
}

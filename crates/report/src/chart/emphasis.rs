//! Which series of a panel are drawn at first: the baseline and the best of each family, at most six. The others are one
//! click away. Used by the charts of lines.

use headwater_results::sorting::Arrange;
use std::collections::{HashMap, HashSet};

use headwater_results::schema::Standing;

use super::base::Reference;
use super::family;
use super::source::{Panel, Series};
use super::value;

/// The most series that are drawn at first.
pub(crate) const SERIES_AT_FIRST: usize = 6;

/// Returns the places of these series of the panel.
pub(crate) fn at_first(panel: &Panel<'_>, base: Option<&Reference<'_>>) -> HashSet<usize> {
    let ranked = ranked(panel);
    if ranked.len() <= SERIES_AT_FIRST {
        return ranked.into_iter().collect();
    }
    // All runs and variants of a subject belong together: to see one without the other would be no comparison.
    let mut subjects: Vec<&str> = Vec::new();
    let mut families: HashSet<&str> = HashSet::new();
    let is_base = |series: &Series<'_>| base.is_some_and(|base| series.key.subject == base.name());
    for place in &ranked {
        let series = &panel.series[*place];
        if is_base(series) && !subjects.contains(&series.key.subject) {
            subjects.insert(0, series.key.subject);
            families.insert(family::name(series.key.subject));
        }
    }
    let best_of_families: Vec<&str> = ranked.iter().map(|place| panel.series[*place].key.subject).collect();
    let limits_last = |of_limit: bool| {
        let is_limit = |subject: &&&str| {
            panel.series.iter().any(|series| series.key.subject == **subject && series.standing == Standing::Limit)
        };
        best_of_families.iter().filter(move |subject| is_limit(subject) == of_limit).copied()
    };
    for subject in limits_last(false).chain(limits_last(true)) {
        // The family of the baseline is shown by its best member too, if that is another.
        let is_new = families.insert(family::name(subject)) || is_first_of_base(subject, &subjects, &ranked, panel);
        if is_new && !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    // A panel of few families shows further subjects, the best ones first.
    for subject in best_of_families {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let mut chosen = HashSet::new();
    for subject in subjects {
        let places: Vec<usize> = ranked.iter().copied().filter(|at| panel.series[*at].key.subject == subject).collect();
        if !chosen.is_empty() && chosen.len() + places.len() > SERIES_AT_FIRST {
            break;
        }
        chosen.extend(places.into_iter().take(SERIES_AT_FIRST));
    }
    chosen
}

/// Whether `subject` is the best of the baseline's family. The baseline is the first of `subjects`.
fn is_first_of_base(subject: &str, subjects: &[&str], ranked: &[usize], panel: &Panel<'_>) -> bool {
    let Some(base) = subjects.first() else { return false };
    let of_family = |place: &&usize| family::name(panel.series[**place].key.subject) == family::name(base);
    ranked.iter().find(of_family).is_some_and(|place| panel.series[*place].key.subject == subject)
}

/// Returns the places of the series that have a figure, without the null transport, the fastest first. A series is rated
/// by the mean, over its sizes, of the logarithm of its delay over the smallest one of that size.
fn ranked(panel: &Panel<'_>) -> Vec<usize> {
    let mut least: HashMap<Option<u64>, f64> = HashMap::new();
    let delays = |series: &Series<'_>| -> Vec<(Option<u64>, f64)> {
        let delay =
            |row: &&headwater_results::schema::RowResult| Some((row.row.size_bytes, value::delay_s(row)?.median));
        series.rows.iter().filter_map(delay).collect()
    };
    for (size, delay) in panel.series.iter().flat_map(delays) {
        let known = least.entry(size).or_insert(delay);
        *known = known.min(delay);
    }
    let is_null = |series: &Series<'_>| series.standing == Standing::Null;
    let only_null = panel.series.iter().all(is_null);
    let mut rated: Vec<(usize, f64)> = panel
        .series
        .iter()
        .enumerate()
        .filter(|(_, series)| only_null || !is_null(series))
        .filter_map(|(place, series)| {
            let delays = delays(series);
            let sum: f64 = delays.iter().map(|(size, delay)| (delay / least[size]).ln()).sum();
            (!delays.is_empty()).then_some((place, sum / delays.len() as f64))
        })
        .collect();
    rated.arrange_by(|one, other| one.1.total_cmp(&other.1));
    rated.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests;

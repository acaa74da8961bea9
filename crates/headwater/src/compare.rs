//! Compares runs: determines the sides and the rules for their machines. Called by `compare`, `report`, and by `run`
//! and `noise` at their end. It prints nothing.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use headwater_gauge::plan::filter;
use headwater_gauge::plan::suggest::did_you_mean;
use headwater_results::compare::environment::{Difference, differences};
use headwater_results::compare::factor::{self, Factor, sides};
use headwater_results::compare::hosts::gathered::Gathered;
use headwater_results::compare::hosts::{Hosts, compare_over_hosts};
use headwater_results::compare::movement::ROWS_MIN;
use headwater_results::compare::noise::{UNKNOWN, drift_between};
use headwater_results::compare::{Comparison, Rules, Side, compare_on};
use headwater_results::origin::hosts::Over;
use headwater_results::schema::{Row, Run};
use serde::Serialize;

use crate::noise::{self, Record};

/// The options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The factor; chosen by the runs where absent: `run`, or `variant` within one run that has variants.
    pub by: Option<Factor>,
    /// The level that the others are compared with; the first where absent.
    pub baseline: Option<String>,
    /// Filters of rows; all where empty.
    pub filters: Vec<String>,
    /// The rules before the machine's noise.
    pub rules: Rules,
    /// Where the noise of the machine is known from.
    pub noise: Noise,
}

/// Where the noise of a machine is known from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Noise {
    /// From its record in the directory of runs, if it has one.
    #[default]
    OfTheMachine,
    /// From this record.
    File(PathBuf),
    /// It is not: this comparison is to find it out.
    Unknown,
}

/// A comparison with the facts that a reader must know first.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The comparison.
    pub comparison: Comparison,
    /// What differs between the environments of the sides' first runs.
    pub environment: Vec<Difference>,
    /// Where the noise floor is known from, in words; empty where none is known.
    pub noise: String,
}

impl Compared {
    /// Returns it as the report takes it.
    pub fn shown(&self, all_metrics: bool) -> headwater_report::Compared<'_> {
        let Compared { comparison, environment, noise } = self;
        headwater_report::Compared { comparison, environment, noise, all_metrics }
    }
}

/// Compares every level of the factor with the baseline.
///
/// # Errors
/// In one line with its remedy: nothing to compare with, one run under two names, an unknown baseline or filter, no common rows.
pub fn compare_runs(runs: &[(String, Run)], request: &Request) -> anyhow::Result<Vec<Compared>> {
    for (at, (name, run)) in runs.iter().enumerate() {
        if let Some((same, _)) = runs[..at].iter().find(|(_, other)| other.is_same(run)) {
            bail!(
                "{same} and {name} are the same run, {}, which began at {}: a run does not differ from itself; name another run, \
                 and `headwater noise` measures how much equal programs differ here",
                run.header.run_id,
                run.header.started_at
            );
        }
    }
    let factor = match &request.by {
        Some(factor) => factor,
        None => default_factor(runs)?,
    };
    if let Some(filter) = filter::unmatched(&request.filters, rows(runs)) {
        bail!("--filter {filter:?} matches no row of these runs; `headwater show` lists them");
    }
    let sides = sides(runs, factor, |row| filter::keeps(&request.filters, row));
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let baseline = baseline(&names, factor, request.baseline.as_deref())?;
    let candidates = sides.iter().enumerate().filter(|(at, _)| *at != baseline).map(|(_, side)| side);
    let compared: Vec<Compared> =
        candidates.map(|candidate| one(runs, &sides[baseline], candidate, request)).collect::<anyhow::Result<_>>()?;
    if compared.iter().all(|compared| compared.comparison.rows.is_empty()) {
        return Err(nothing_common(&sides[baseline].name, &compared));
    }
    Ok(compared)
}

/// Compares every level of the factor with the baseline, over the hosts of the runs.
///
/// # Errors
/// As [`compare_runs`].
pub fn compare_hosts(gathered: &Gathered, request: &Request) -> anyhow::Result<Vec<Compared>> {
    let names: Vec<&str> = gathered.levels().iter().map(String::as_str).collect();
    let baseline = baseline(&names, gathered.factor(), request.baseline.as_deref())?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let one = |candidate: usize| {
        let sides = [baseline, candidate];
        let comparison = compare_over_hosts(gathered, sides, request.rules, threads);
        Compared { comparison, environment: gathered.paired(sides).environment(), noise: String::new() }
    };
    let compared: Vec<Compared> = (0..names.len()).filter(|level| *level != baseline).map(one).collect();
    if compared.iter().all(|compared| compared.comparison.rows.is_empty()) {
        return Err(nothing_common(names[baseline], &compared));
    }
    Ok(compared)
}

/// Returns the identities of the runs of the only host that has measured both of some two levels; `None` if there are more of them, or none.
pub fn runs_of_only_host(gathered: &Gathered, request: &Request) -> Option<Vec<String>> {
    let names: Vec<&str> = gathered.levels().iter().map(String::as_str).collect();
    let baseline = baseline(&names, gathered.factor(), request.baseline.as_deref()).ok()?;
    let mut hosts = BTreeSet::new();
    let mut runs = BTreeSet::new();
    for candidate in (0..names.len()).filter(|level| *level != baseline) {
        let paired = gathered.paired([baseline, candidate]);
        hosts.extend(paired.names());
        runs.extend(paired.runs());
    }
    (hosts.len() == 1).then(|| runs.into_iter().collect())
}

/// `run` for several runs; `variant` for one that has variants.
fn default_factor(runs: &[(String, Run)]) -> anyhow::Result<&'static Factor> {
    let name = match runs {
        [_, _, ..] => "run",
        _ if rows(runs).any(|row| row.variant.is_some()) => "variant",
        _ => bail!(
            "one run has nothing to be compared with: name a second one, or compare within it by --by placement, \
             transport or policy"
        ),
    };
    Ok(factor::find(name).expect("the table of factors has it"))
}

fn rows(runs: &[(String, Run)]) -> impl Iterator<Item = &Row> + Clone {
    runs.iter().flat_map(|(_, run)| &run.results).map(|result| &result.row)
}

fn baseline(names: &[&str], factor: &Factor, wanted: Option<&str>) -> anyhow::Result<usize> {
    match (names, wanted) {
        ([], _) if factor.is_label() => bail!(
            "no run has a label {}; `headwater run --label {0}=VALUE` gives one, and the factors without a label are {}",
            factor.name,
            factor::TABLE.iter().map(|factor| factor.name.as_ref()).collect::<Vec<_>>().join(", ")
        ),
        ([], _) => bail!("no row of these runs has a {}", factor.name),
        ([only], _) => bail!("all rows are of one {}, {only}: there is nothing to compare", factor.name),
        (_, None) => Ok(0),
        (_, Some(wanted)) => names.iter().position(|name| *name == wanted.trim_end_matches('/')).ok_or_else(|| {
            let near = did_you_mean(wanted, names.iter().copied());
            anyhow!("--baseline {wanted:?} is no {} of these runs{near}; they have {}", factor.name, names.join(", "))
        }),
    }
}

fn one(
    runs: &[(String, Run)],
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    request: &Request,
) -> anyhow::Result<Compared> {
    let runs_of = |side: &Side<'_>| {
        let mut numbers: Vec<usize> = side.members.iter().flat_map(|member| member.runs.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let (before, after) = (runs_of(baseline), runs_of(candidate));
    let environment = match (before.first(), after.first()) {
        (Some(&before), Some(&after)) if before != after => {
            differences(&runs[before].1.header.environment, &runs[after].1.header.environment)
        }
        _ => Vec::new(),
    };
    let involved: Vec<&Run> = before.iter().chain(&after).map(|&number| &runs[number].1).collect();
    let paired = before == after;
    let host = |run: &Run| run.header.environment.host.clone();
    let hosts_differ = involved.iter().any(|run| host(run) != host(involved[0]));
    let labels: BTreeSet<&str> = baseline.members.iter().map(|member| member.label.as_str()).collect();
    let rows = candidate.members.iter().filter(|member| labels.contains(member.label.as_str())).count();
    let can_show_movement = paired || hosts_differ || rows >= ROWS_MIN;
    let rules = Rules { hosts_differ, ..request.rules };
    let (rules, mut noise) = request.noise.rules(rules, &involved, paired, can_show_movement)?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut comparison = compare_on(threads, baseline, candidate, rules);
    if comparison.rules.drift > rules.drift {
        noise = "as the rows moved apart between these runs".to_owned();
    }
    comparison.hosts = on_one_host(&involved);
    Ok(Compared { comparison, environment, noise })
}

/// Returns the host if all runs are of one: then the verdicts hold for this host.
fn on_one_host(runs: &[&Run]) -> Option<Hosts> {
    let first = &runs.first()?.header.environment.host;
    let is_one = !first.is_empty() && runs.iter().all(|run| run.header.environment.host == *first);
    is_one.then(|| Hosts { by: Over::Name.name().to_owned(), names: vec![first.clone()], ..Hosts::default() })
}

impl Noise {
    /// The rules with what is known of the machine's noise, and where that comes from in words. `can_show_movement` says whether
    /// the rows themselves will show how far the runs are apart, if they are.
    fn rules(
        &self,
        rules: Rules,
        runs: &[&Run],
        paired: bool,
        can_show_movement: bool,
    ) -> anyhow::Result<(Rules, String)> {
        let record = self.record(runs)?;
        let is_unknown = record.is_none() && !can_show_movement && *self != Noise::Unknown;
        let unknown =
            (UNKNOWN, "assumed: so few rows do not show it, and `headwater noise` was not run here".to_owned());
        let recorded = record.map(|record| {
            let floor = record.floor(paired);
            (floor.deviation, format!("of {}: {}", record.host, floor.words()))
        });
        // Between runs the drift within them is the least that is known.
        let seen = if paired { None } else { drift_between(runs.iter().copied()) };
        let seen = seen.map(|drift| (drift.deviation, "as the machine drifted within these runs".to_owned()));
        let assumed = is_unknown.then_some(unknown);
        let largest = recorded.into_iter().chain(seen).chain(assumed).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((deviation, words)) = largest else { return Ok((rules, String::new())) };
        let words = if deviation > 0.0 { words } else { String::new() };
        Ok((rules.with_drift(deviation), words))
    }

    /// Returns the record that was named, or that of the host on which all runs were made.
    fn record(&self, runs: &[&Run]) -> anyhow::Result<Option<Record>> {
        match self {
            Noise::File(path) => return noise::read(path).map(Some),
            Noise::Unknown => return Ok(None),
            Noise::OfTheMachine => {}
        }
        let host = |run: &Run| run.header.environment.host.clone();
        let Some(first) = runs.first().map(|run| host(run)) else { return Ok(None) };
        let path = noise::path(Path::new(crate::store::RUNS), &first);
        if first.is_empty() || runs.iter().any(|run| host(run) != first) || !path.exists() {
            return Ok(None);
        }
        noise::read(&path).map(Some)
    }
}

fn nothing_common(baseline: &str, compared: &[Compared]) -> anyhow::Error {
    let others: Vec<&str> = compared.iter().map(|compared| compared.comparison.candidate.as_str()).collect();
    let reasons = compared.iter().flat_map(|compared| &compared.comparison.left_out);
    // A row that both have says more than rows that one lacks.
    let reason = reasons.min_by_key(|left| left.reason.ends_with("has no such row"));
    let reason = reason.map(|left| format!(" ({}: {})", left.row, left.reason)).unwrap_or_default();
    anyhow!(
        "{} and {} have no row that can be compared{reason}; measure the same selection in both, or compare by another \
         factor with --by",
        baseline,
        others.join(", "),
    )
}

#[cfg(test)]
mod tests;

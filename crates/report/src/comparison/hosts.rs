//! The hosts of a comparison in words: what they are to the verdicts, which of them differ, which take no part, and how many a
//! verdict takes. The terminal and the page have the same sentences.

use headwater_results::compare::hosts::{Needed, Odd, RANKS_HOSTS_MIN};
use headwater_results::compare::{Comparison, Hosts, Verdict};

use crate::text::{list, plural, short_list};
use crate::units;

/// The most hosts that a sentence names.
const NAMED: usize = 6;

/// The most hosts that take no part, or only in some rows, that a sentence names.
const ABSENT_NAMED: usize = 40;

/// Returns the sentences about hosts; none if hosts are no replicates and none is absent.
pub(crate) fn words(comparison: &Comparison) -> Vec<String> {
    let Some(hosts) = &comparison.hosts else { return Vec::new() };
    let mut sentences = Vec::new();
    if comparison.over_hosts().is_some() {
        sentences.extend(more_hosts(comparison));
        sentences.extend(needed(&hosts.needed, comparison.rows.len()));
        sentences.extend(odd(&hosts.odd));
    }
    sentences.extend(absent(hosts));
    sentences
}

/// Describes what the replicates are, for the rules.
pub(crate) fn replicates(comparison: &Comparison) -> Option<String> {
    let hosts = comparison.hosts.as_ref()?;
    Some(match hosts.names.as_slice() {
        [] => return None,
        [only] => format!("The replicates are launches on {only}: the verdicts hold for this host."),
        several => format!(
            "The replicates are {} (by {}), each with one ratio, whatever the number of its launches; a host is drawn from those \
             that could have been measured.",
            plural(several.len(), "host"),
            hosts.by
        ),
    })
}

/// Describes the statistic over hosts.
pub(crate) fn method(comparison: &Comparison) -> String {
    let few = "their mean with Student's interval and test";
    let many = "their median over all pairs (Hodges and Lehmann), with the exact signed-rank test";
    let counts = || comparison.rows.iter().filter_map(|row| row.ratio).map(|ratio| ratio.n as usize);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let statistic = match (least < RANKS_HOSTS_MIN, most < RANKS_HOSTS_MIN) {
        (true, true) => few.to_owned(),
        (false, false) => many.to_owned(),
        _ => format!("{many}; of fewer than {RANKS_HOSTS_MIN} hosts {few}"),
    };
    format!(
        "ratio: candidate over baseline on every host, from its launches; over hosts {statistic}, of logarithms. +N hosts: about \
         so many more would decide. Different from the rest: by the generalised extreme studentized deviate test on the hosts' \
         ratios, with at most {} false rows among those named.",
        units::percent(comparison.rules.alpha)
    )
}

fn more_hosts(comparison: &Comparison) -> Option<String> {
    let open = |verdict: &Verdict| matches!(verdict, Verdict::Inconclusive { .. });
    let of = |verdict| match verdict {
        Verdict::Inconclusive { more_hosts, .. } => more_hosts,
        _ => None,
    };
    let needed: Vec<u32> = comparison.rows.iter().filter_map(|row| of(row.verdict)).collect();
    let most = *needed.iter().max()?;
    let of_them = match needed.len() == comparison.rows.iter().filter(|row| open(&row.verdict)).count() {
        true => "them".to_owned(),
        false => format!("{} of them", needed.len()),
    };
    Some(format!(
        "About {} would decide {of_them}; more launches on the same hosts would not.",
        plural(most as usize, "more host")
    ))
}

fn needed(needed: &[Needed], rows: usize) -> Option<String> {
    let count = |hosts: Option<u32>| hosts.map_or_else(|| "more than 10,000".to_owned(), |hosts| hosts.to_string());
    let one = |needed: &Needed| {
        let among = match needed.hosts == needed.among_rows {
            true => String::new(),
            false => format!(" ({} as the only one of {})", count(needed.among_rows), plural(rows, "row")),
        };
        format!("{} takes {} hosts{among}", units::percent(needed.effect), count(needed.hosts))
    };
    let parts: Vec<String> = needed.iter().map(one).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "To be found in four of five comparisons, in a row where hosts differ as in the middle one of these, a change of {}.",
            list(&parts)
        )
    })
}

fn odd(odd: &[Odd]) -> Option<String> {
    let one = |odd: &Odd| {
        let [first, others @ ..] = odd.rows.as_slice() else { return odd.host.clone() };
        let rows = match others.len() {
            0 => format!("in {first}"),
            some => format!("in {} rows, most in {first}", some + 1),
        };
        format!("{} {rows} ({:.3}, all {:.3})", odd.host, odd.ratio, odd.rest)
    };
    let parts: Vec<String> = odd.iter().map(one).collect();
    (!parts.is_empty()).then(|| format!("Different from the rest: {}.", short_list(&parts, NAMED)))
}

fn absent(hosts: &Hosts) -> Vec<String> {
    let mut sentences = Vec::new();
    if !hosts.missing.is_empty() {
        sentences.push(format!("Missing, without any run: {}.", short_list(&hosts.missing, ABSENT_NAMED)));
    }
    if !hosts.one_sided.is_empty() {
        let named: Vec<String> = hosts.one_sided.iter().map(|one| format!("{} ({})", one.host, one.side)).collect();
        sentences.push(format!("Measured on one side only, and so in no row: {}.", short_list(&named, ABSENT_NAMED)));
    }
    if !hosts.lacking.is_empty() {
        let reason = |reason: &str| if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        let one = |lacking: &headwater_results::compare::hosts::Lacking| {
            format!("{} {}{}", lacking.host, plural(lacking.rows as usize, "row"), reason(&lacking.reason))
        };
        let named: Vec<String> = hosts.lacking.iter().map(one).collect();
        sentences.push(format!("Without some rows: {}.", short_list(&named, ABSENT_NAMED)));
    }
    for names in &hosts.same {
        sentences.push(format!(
            "{} have one machine id and count as one host: a host that was renamed, or copies of one image, which `--over name` \
             tells apart.",
            short_list(names, NAMED)
        ));
    }
    sentences
}

#[cfg(test)]
pub(crate) mod tests;

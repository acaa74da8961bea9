//! The words for how one row stands to another ([`Relation`]). Used by the sentences that recommend or compare.

use headwater_results::compare::MINIMUM_EFFECT;
use headwater_results::estimate::{COVERAGE_MIN, Estimate};

use crate::judge::{EQUIVALENCE, Relation};
use crate::text::{list, short_list};
use crate::units;

/// The most rows that are named with a factor each; more have one range.
const NAMED: usize = 4;

/// Returns `2.1 to 2.6 times as fast over ring as over pipe`, `as fast over ring as over pipe (within 10 %)`, `1.2 times slower
/// over ring than over pipe`, or that nothing can be said.
pub(super) fn beside(relation: &Relation, one: &str, other: &str) -> String {
    let (as_over, than_over) = (format!("over {one} as over {other}"), format!("over {one} than over {other}"));
    match relation {
        Relation::Best | Relation::Equal(_) => format!("as fast {as_over} ({})", within()),
        Relation::Better(times) => format!("{} as fast {as_over}", factors(times.low, times.high)),
        Relation::Worse(times) => format!("{} slower {than_over}", factors(1.0 / times.high, 1.0 / times.low)),
        Relation::Open(times) if times.n < 2 && times.median < 1.0 => {
            format!("in one launch {} slower {than_over}", factor(1.0 / times.median))
        }
        Relation::Open(times) if times.n < 2 => format!("in one launch {} as fast {as_over}", factor(times.median)),
        Relation::Open(times) => format!("not decided ({} {than_over})", may_be(times)),
        Relation::NotMeasured(span) => {
            format!("not measured (the launches of {one} or {other} differ by a factor of {})", units::grouped(*span))
        }
    }
}

/// Returns clauses about the rows behind the best one, without those that are as good.
pub(super) fn behind(others: &[(&str, Relation)]) -> Vec<String> {
    let of = |wanted: fn(&Relation) -> bool| -> Vec<(&str, Relation)> {
        others.iter().filter(|(_, relation)| wanted(relation)).copied().collect()
    };
    let open = of(|relation| matches!(relation, Relation::Open(_)));
    let worse = of(|relation| matches!(relation, Relation::Worse(_)));
    let mut clauses = Vec::new();
    if let [(name, Relation::Open(times))] = open[..] {
        clauses.push(may(&[name], &times));
    } else if let Some(times) = united(&open) {
        let names: Vec<&str> = open.iter().map(|(name, _)| *name).collect();
        clauses.push(may(&names, &times));
    }
    let by = |times: Estimate| factors(1.0 / times.high, 1.0 / times.low);
    let each: Vec<(&str, String)> =
        worse.iter().filter_map(|(name, relation)| Some((*name, by(relation.times()?)))).collect();
    let (is, are) = if united(&worse).is_some_and(|times| is_past(&times)) { ("was", "were") } else { ("is", "are") };
    match (&each[..], united(&worse)) {
        ([(name, by), others @ ..], _) if each.len() <= NAMED => {
            let first = format!("{name} {is} {by} slower");
            let others = others.iter().map(|(name, by)| format!("{name} {by}"));
            clauses.push(list(&[first].into_iter().chain(others).collect::<Vec<_>>()));
        }
        ([.., (last, _)], Some(times)) => {
            clauses.push(format!("the {} others {are} {} slower, {last} most", each.len(), by(times)));
        }
        _ => {}
    }
    let spans = others.iter().filter_map(|(name, relation)| match relation {
        Relation::NotMeasured(span) => Some((*name, *span)),
        _ => None,
    });
    clauses.extend(unmeasured(&spans.collect::<Vec<_>>()));
    clauses
}

/// Whether the launches are too few for more than what was.
pub(super) fn is_past(times: &Estimate) -> bool {
    times.n < 2 || times.confidence < COVERAGE_MIN
}

/// Returns `is 8.0 times as fast as pipe`, `is 1.3 times slower than pipe`, or what it may be.
pub(super) fn against(relation: &Relation, other: &str) -> String {
    match relation {
        Relation::Best | Relation::Equal(_) => format!("is as fast as {other}"),
        Relation::Better(times) => format!("is {} as fast as {other}", factors(times.low, times.high)),
        Relation::Worse(times) => format!("is {} slower than {other}", factors(1.0 / times.high, 1.0 / times.low)),
        Relation::Open(times) => format!("may be {} than {other}", may_be(times)),
        Relation::NotMeasured(_) => format!("or {other} varies too much for an answer"),
    }
}

/// Returns `within 10 %`.
pub(super) fn within() -> String {
    format!("within {:.0} %", EQUIVALENCE * 100.0)
}

/// Returns `not measured: its launches differ by a factor of 6`.
pub(super) fn not_measured(span: f64) -> String {
    format!("not measured: its launches differ by a factor of {}", units::grouped(span))
}

/// Returns `tcp and fifo are not measured: their launches differ by factors of 6 to 22`.
fn unmeasured(spans: &[(&str, f64)]) -> Option<String> {
    if let [(name, span)] = spans {
        return Some(format!("{name} is {}", not_measured(*span)));
    }
    let (least, most) =
        spans.iter().fold((f64::MAX, 0.0_f64), |(low, high), (_, span)| (low.min(*span), high.max(*span)));
    let names: Vec<&str> = spans.iter().map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        let (names, least, most) = (list(&names), units::grouped(least), units::grouped(most));
        let by = if least == most { format!("a factor of {most}") } else { format!("factors of {least} to {most}") };
        format!("{names} are not measured: their launches differ by {by}")
    })
}

/// Returns what rows may be whose ratio is not decided: `fifo may be up to 1.3 times slower`. Few launches show what was.
fn may(names: &[&str], times: &Estimate) -> String {
    let (who, were) = (short_list(names, NAMED - 1), if names.len() > 1 { "were" } else { "was" });
    match is_past(times) {
        true if times.n < 2 => format!("{who} {were} {} slower", factors(1.0 / times.high, 1.0 / times.low)),
        true => format!("{who} {were} {}", may_be(times)),
        false => format!("{who} may be {}", may_be(times)),
    }
}

fn may_be(times: &Estimate) -> String {
    let least = 1.0 + MINIMUM_EFFECT;
    let sides = [(1.0 / times.low, "slower"), (times.high, "faster")];
    let sides = sides.into_iter().filter(|(by, _)| *by >= least).map(|(by, how)| format!("{} {how}", factor(by)));
    format!("up to {}", sides.collect::<Vec<_>>().join(" or "))
}

/// Returns the interval that contains those of all rows.
fn united(rows: &[(&str, Relation)]) -> Option<Estimate> {
    rows.iter().filter_map(|(_, relation)| relation.times()).reduce(unite)
}

/// Returns the interval that contains both.
pub(super) fn unite(one: Estimate, other: Estimate) -> Estimate {
    let (low, high) = (one.low.min(other.low), one.high.max(other.high));
    Estimate { low, high, median: one.median, confidence: one.confidence.min(other.confidence), n: one.n.min(other.n) }
}

/// Returns `2.1 to 41 times`, or one number if both are written alike.
pub(super) fn factors(least: f64, most: f64) -> String {
    // Two numbers close to 1 have two decimals each.
    let to = if least < 1.095 && most < 1.995 { format!("{most:.2} times") } else { factor(most) };
    let from = factor(least);
    if from == to { to } else { format!("{} to {to}", from.trim_end_matches(" times")) }
}

/// Returns `1.04 times`, `1.3 times`, `12 times`.
fn factor(times: f64) -> String {
    if times < 1.095 { format!("{times:.2} times") } else { units::times(times) }
}

//! The mechanisms that make a transport fast: its rate with all of them, and without each. A sentence per placement, at
//! the size at which they are worth most. For runs with the transports of the suite `why`.

use headwater_results::schema::{RowResult, Run};
use headwater_results::sorting::Arrange;

use super::{median, of_size};
use crate::judge::{self, Relation};
use crate::text::list;
use crate::{rows, units};

/// The complete transport, and the same without any mechanism.
const COMPLETE: &str = "streams-pipe";
const BARE: &str = "streams-eager";

/// A transport without one mechanism, and the mechanism in words.
struct Mechanism {
    without: &'static str,
    name: &'static str,
    what: &'static str,
}

/// The mechanisms that the suite switches off one at a time.
static MECHANISMS: [Mechanism; 5] = [
    Mechanism { without: "streams-no-lane", name: "the lane", what: "plain bytes without an allocated message" },
    Mechanism { without: "streams-no-wake-once", name: "one wake-up for many", what: "else a call per message" },
    Mechanism { without: "streams-no-coalescing", name: "coalescing", what: "small writes share a message" },
    Mechanism { without: "streams-no-stages", name: "stages", what: "spinning and yielding before a sleep" },
    Mechanism { without: "streams-no-hysteresis", name: "hysteresis", what: "two water marks instead of one" },
];

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = rows::measured(run, "stream");
    let of = |placement| {
        let at = rows::at(&rows, placement);
        let found: Vec<Contributions<'_>> =
            rows::sizes(&at).into_iter().filter_map(|size| Contributions::of(&of_size(&at, size), size)).collect();
        sentence(&found)
            .map(|words| format!("What makes {COMPLETE} fast ({}): {words}.", rows::placement_words(placement)))
    };
    rows::placements(run, &rows).into_iter().filter_map(of).collect()
}

/// What the mechanisms contribute at one size.
struct Contributions<'a> {
    size: u64,
    complete: &'a RowResult,
    bare: Option<&'a RowResult>,
    /// Those whose absence shows, with how many times as fast the complete transport is; the greatest first.
    needed: Vec<(&'a RowResult, &'static Mechanism, f64)>,
    /// Those without which it is faster.
    harmful: Vec<(&'a RowResult, &'static Mechanism)>,
    /// Those whose absence changes nothing.
    idle: Vec<&'static str>,
    /// Those for which the launches do not decide.
    open: Vec<&'static str>,
}

impl<'a> Contributions<'a> {
    /// Returns `None` unless the complete transport and one without a mechanism were measured.
    fn of(rows: &[&'a RowResult], size: u64) -> Option<Contributions<'a>> {
        let find = |name: &str| rows.iter().copied().find(|row| row.row.subject == name);
        let complete = find(COMPLETE)?;
        let mut found = Contributions {
            size,
            complete,
            bare: find(BARE),
            needed: Vec::new(),
            harmful: Vec::new(),
            idle: Vec::new(),
            open: Vec::new(),
        };
        for mechanism in &MECHANISMS {
            let Some(without) = find(mechanism.without) else { continue };
            match judge::relation(complete, without)? {
                Relation::Better(times) => found.needed.push((without, mechanism, times.median)),
                Relation::Worse(_) => found.harmful.push((without, mechanism)),
                Relation::Best | Relation::Equal(_) => found.idle.push(mechanism.name),
                Relation::Open(_) | Relation::NotMeasured(_) => found.open.push(mechanism.name),
            }
        }
        found.needed.arrange_by(|(.., one), (.., other)| other.total_cmp(one));
        let is_any = [found.needed.len(), found.harmful.len(), found.idle.len(), found.open.len()]
            .iter()
            .any(|count| *count > 0);
        is_any.then_some(found)
    }

    /// Returns the contribution of the mechanism that counts most.
    fn most(&self) -> f64 {
        self.needed.first().map_or(1.0, |&(.., advantage)| advantage)
    }
}

/// Describes the size at which the mechanisms are worth most, and names those that count at the largest size.
fn sentence(found: &[Contributions<'_>]) -> Option<String> {
    let best = found.iter().reduce(|best, next| if next.most() > best.most() { next } else { best })?;
    if super::is_single(best.complete) {
        return None;
    }
    let rate = |row: &RowResult| units::prefixed(median(row));
    let mut words = format!("{} messages/s at {}", rate(best.complete), units::size_in_words(best.size));
    if !best.needed.is_empty() {
        let without =
            |&(row, of, _): &(&RowResult, &Mechanism, f64)| format!("{} without {} ({})", rate(row), of.name, of.what);
        words += &format!(", but {}", list(&best.needed.iter().map(without).collect::<Vec<_>>()));
        if let Some(bare) = best.bare {
            words += &format!("; {} without any ({BARE})", rate(bare));
        }
    }
    if !best.idle.is_empty() {
        words += &format!("; as fast without {} ({})", list(&best.idle), super::relation::within());
    }
    if !best.open.is_empty() {
        words += &format!("; not decided: {}", list(&best.open));
    }
    if !best.harmful.is_empty() {
        let each = best.harmful.iter().map(|(row, of)| format!("{} without {} ({})", rate(row), of.name, of.what));
        words += &format!("; faster: {}", list(&each.collect::<Vec<_>>()));
    }
    if let Some(last) = found.last().filter(|last| last.size != best.size) {
        let each =
            last.needed.iter().map(|(_, of, advantage)| format!("with {} {}", of.name, units::times(*advantage)));
        let each: Vec<String> = each.collect();
        let named = if each.is_empty() { "none of them counts".to_owned() } else { format!("{} as fast", list(&each)) };
        words += &format!("; at {} {named}", units::size_in_words(last.size));
    }
    Some(words)
}

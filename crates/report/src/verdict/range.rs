//! Ranges of sizes with the same leaders, and how the others stand to these.

use headwater_results::schema::RowResult;

use super::of_size;
use super::relation::{behind, is_past, unite, within};
use crate::judge::{self, Ranked, Relation};
use crate::text::short_list;
use crate::units;

/// The most names of rows that are equal; the others are counted.
const NAMED: usize = 3;

/// Adjacent sizes with the same leaders: the best row, and those that are shown to be as good.
#[derive(Clone, Debug)]
pub(super) struct Range<'a> {
    /// The sizes, ascending.
    sizes: Vec<u64>,
    /// The subjects with how they stand to the best one, over all sizes of the range; the leaders first.
    subjects: Vec<(&'a str, Relation)>,
    /// Those whose median at a size is better than that of the best one, which is ahead within the blocks.
    better_medians: Vec<&'a str>,
    /// The best row at the first and at the last size.
    ends: (&'a RowResult, &'a RowResult),
}

/// The most ranges in one sentence.
pub(super) const RANGES_MAX: usize = 4;

/// Returns the ranges of rows of one pattern and placement.
pub(super) fn ranges<'a>(rows: &[&'a RowResult]) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    let single = super::rows::sizes(rows).into_iter().filter_map(|size| Range::of_size(rows, size));
    for next in single {
        match ranges.last_mut() {
            Some(range) if range.leads_like(&next) => range.join(next),
            _ => ranges.push(next),
        }
    }
    ranges
}

/// Returns the subject that is least behind the best at any size, with how many times slower it may be at most. Only
/// subjects that are measured in every range count.
pub(super) fn least_behind<'a>(ranges: &[Range<'a>]) -> Option<(&'a str, f64)> {
    let worst = |subject: &str| -> Option<f64> {
        let in_range = |range: &Range<'_>| {
            let relation = range.subjects.iter().find(|(name, _)| *name == subject)?.1;
            Some(1.0 / relation.times()?.low)
        };
        ranges.iter().map(in_range).try_fold(1.0, |most: f64, next| Some(most.max(next?)))
    };
    let found = ranges.first()?.subjects.iter().filter_map(|(name, _)| Some((*name, worst(name)?)));
    found.min_by(|(_, one), (_, other)| one.total_cmp(other))
}

impl<'a> Range<'a> {
    /// Returns the range of one size; `None` if no row is measured.
    fn of_size(rows: &[&'a RowResult], size: u64) -> Option<Range<'a>> {
        let ranked: Vec<Ranked<'a>> = judge::ranked_candidates(&of_size(rows, size));
        let best = ranked.first()?.0;
        let mut subjects: Vec<(&str, Relation)> =
            ranked.iter().map(|(row, relation)| (row.row.subject.as_str(), *relation)).collect();
        headwater_results::sorting::Arrange::arrange_by_key(&mut subjects[..], |(_, relation)| !relation.leads());
        let better_medians = ranked.iter().filter(|(row, _)| judge::has_better_median(row, best));
        let better_medians = better_medians.map(|(row, _)| row.row.subject.as_str()).collect();
        Some(Range { sizes: vec![size], subjects, better_medians, ends: (best, best) })
    }

    fn leaders(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.subjects.iter().filter(|(_, relation)| relation.leads()).map(|(name, _)| *name)
    }

    fn leads_like(&self, next: &Range<'a>) -> bool {
        (self.subjects.len() > 1) == (next.subjects.len() > 1)
            && self.leaders().count() == next.leaders().count()
            && self.leaders().count() > 0
            && self.leaders().all(|name| next.leaders().any(|other| other == name))
    }

    fn join(&mut self, next: Range<'a>) {
        for (name, relation) in next.subjects {
            match self.subjects.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = joined(*known, relation),
                None => self.subjects.push((name, relation)),
            }
        }
        let new = next.better_medians.into_iter().filter(|name| !self.better_medians.contains(name));
        let new: Vec<&str> = new.collect();
        self.better_medians.extend(new);
        self.sizes.extend(next.sizes);
        self.ends.1 = next.ends.1;
    }
}

/// Returns how a subject stands at either of two sizes. Of leaders it only says that they lead.
fn joined(one: Relation, other: Relation) -> Relation {
    match (one, other) {
        (Relation::NotMeasured(one), Relation::NotMeasured(other)) => Relation::NotMeasured(one.max(other)),
        (Relation::NotMeasured(_), _) => one,
        (_, Relation::NotMeasured(_)) => other,
        (leading, _) if leading.leads() => leading,
        _ => match (one.times(), other.times()) {
            (Some(first), Some(second)) => {
                let both = unite(first, second);
                match (one, other) {
                    (Relation::Worse(_), Relation::Worse(_)) => Relation::Worse(both),
                    _ => Relation::Open(both),
                }
            }
            _ => one,
        },
    }
}

impl<'a> Range<'a> {
    /// Returns `up to 256 B pipe is fastest (2.00 M messages/s)`, and how the others stand to it. `is_first` and `is_last`
    /// tell the position of the range, and `figure` is the leader's.
    pub fn words(&self, is_first: bool, is_last: bool, figure: &str) -> String {
        let place = place((self.sizes[0], self.sizes[self.sizes.len() - 1]), is_first, is_last);
        let leaders: Vec<&str> = self.leaders().collect();
        let others: Vec<(&str, Relation)> =
            self.subjects.iter().filter(|(_, relation)| !relation.leads()).copied().collect();
        let was = others.iter().filter_map(|(_, relation)| relation.times()).any(|times| is_past(&times));
        let head = match &leaders[..] {
            [] => String::new(),
            [only] if self.is_alone() => format!("only {only} was measured ({figure})"),
            [only] if was => format!("{only} was fastest ({figure})"),
            // Another one may be faster.
            [only] if self.rivals().next().is_some() => {
                format!("{only} seems fastest ({figure}{})", behind_in_the_blocks(&self.better_medians))
            }
            [only] => format!("{only} is fastest ({figure})"),
            several => format!("{} are equally fast ({}; {figure})", short_list(several, NAMED), within()),
        };
        let clauses: Vec<String> = [head].into_iter().filter(|head| !head.is_empty()).chain(behind(&others)).collect();
        format!("{place} {}", clauses.join("; "))
    }

    /// Returns `pipe or fifo up to 256 B (tcp may be faster)`: the choice alone.
    pub fn short(&self, is_first: bool, is_last: bool) -> String {
        let leaders: Vec<&str> = self.leaders().collect();
        let rivals: Vec<&str> = self.rivals().collect();
        let rivals = match rivals.len() {
            0 => String::new(),
            1 => format!(" ({} may be faster)", rivals[0]),
            several => format!(" ({several} others may be faster)"),
        };
        let leaders = match self.is_alone() {
            true => format!("only {} was measured", leaders[0]),
            false => short_list(&leaders, NAMED).replace(" and ", " or "),
        };
        let place = match is_first && is_last {
            true => String::new(),
            false => format!(" {}", place((self.sizes[0], self.sizes[self.sizes.len() - 1]), is_first, is_last)),
        };
        format!("{leaders}{place}{rivals}")
    }

    /// Whether one row leads and nothing is known of the others.
    fn is_alone(&self) -> bool {
        self.leaders().count() == 1
            && self.subjects.iter().all(|(_, relation)| relation.leads() || relation.times().is_none())
    }

    /// Returns the subjects that may be faster than the best one.
    fn rivals(&self) -> impl Iterator<Item = &'a str> + '_ {
        let least = 1.0 + headwater_results::compare::MINIMUM_EFFECT;
        let may = move |relation: &Relation| matches!(relation, Relation::Open(times) if times.high > least);
        self.subjects.iter().filter(move |(_, relation)| may(relation)).map(|(name, _)| *name)
    }

    /// Whether it has one size only.
    pub fn is_point(&self) -> bool {
        self.sizes.len() == 1
    }

    /// The best row at the range's first size.
    pub fn first_best(&self) -> &RowResult {
        self.ends.0
    }

    /// The best row at its last size.
    pub fn last_best(&self) -> &RowResult {
        self.ends.1
    }
}

/// Returns why the best one is not the one with the best median: `; pipe's median is better, but not launch by launch`.
/// Launches of one block are compared, since the machine was the same for them.
fn behind_in_the_blocks(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => format!("; {name}'s median is better, but not launch by launch"),
        several => format!("; {} have better medians, but not launch by launch", short_list(several, NAMED)),
    }
}

/// Returns the place of a range of sizes among all sizes: `up to 256 B`.
pub(super) fn place((from, to): (u64, u64), is_first: bool, is_last: bool) -> String {
    let words = units::size_in_words;
    match (is_first, is_last) {
        _ if from == to => format!("at {}", words(from)),
        (true, true) => format!("at every size ({} to {})", words(from), words(to)),
        (true, false) => format!("up to {}", words(to)),
        (false, true) => format!("from {}", words(from)),
        (false, false) => format!("from {} to {}", words(from), words(to)),
    }
}

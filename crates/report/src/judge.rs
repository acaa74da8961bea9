//! Determines the best of several rows, and how each other row stands to it. Asterisks, sentences and charts use this one
//! rule.
//!
//! Rows of one run were measured in the same blocks, so that the ratio of two rows has an interval of its own, in which
//! the drift of the machine cancels. Two rows are equal only if that interval lies within [`EQUIVALENCE`]: an interval
//! that contains 1 shows nothing by itself.

use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::compare::{ALPHA, MINIMUM_EFFECT, Ratio};
use headwater_results::estimate::{COVERAGE_MIN, Estimate};
use headwater_results::schema::{Better, MetricResult, RowResult};
use headwater_results::sorting::Arrange;

use crate::rows;

/// Two mechanisms are equally fast if they differ by at most this share. A program whose messages take that much longer
/// gains less from another mechanism than from another build or another placement of its processes, so that other
/// properties should decide.
pub(crate) const EQUIVALENCE: f64 = 0.10;

/// From this factor between the ends of its interval on, a figure is no measurement: it decides nothing.
pub(crate) const SPAN_MAX: f64 = 5.0;

/// How a row stands to another one. The estimates are how many times as good it is, above 1 is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Relation {
    /// It is the best row itself.
    Best,
    /// The interval lies within [`EQUIVALENCE`].
    Equal(Estimate),
    /// The interval lies above 1.
    Better(Estimate),
    /// The interval lies below 1.
    Worse(Estimate),
    /// The interval contains 1 and shows no equality, or there is one launch only.
    Open(Estimate),
    /// One of the two figures has an interval that spans this factor, at least [`SPAN_MAX`].
    NotMeasured(f64),
}

impl Relation {
    /// Returns the relation that an estimate shows.
    fn of(times: Estimate) -> Relation {
        let bound = 1.0 + EQUIVALENCE;
        let least = 1.0 + MINIMUM_EFFECT;
        match times {
            Estimate { n: 0 | 1, .. } => Relation::Open(times),
            _ if times.confidence >= COVERAGE_MIN && times.low >= 1.0 / bound && times.high <= bound => {
                Relation::Equal(times)
            }
            _ if times.low > least => Relation::Better(times),
            _ if times.high < 1.0 / least => Relation::Worse(times),
            _ => Relation::Open(times),
        }
    }

    /// Returns how many times as good the row is; the best is as good as itself.
    pub fn times(&self) -> Option<Estimate> {
        match *self {
            Relation::Best => Some(Estimate { median: 1.0, low: 1.0, high: 1.0, confidence: 1.0, n: 2 }),
            Relation::Equal(times) | Relation::Better(times) | Relation::Worse(times) | Relation::Open(times) => {
                Some(times)
            }
            Relation::NotMeasured(_) => None,
        }
    }

    /// Whether the row is the best one, or is shown to be as good.
    pub fn leads(&self) -> bool {
        matches!(self, Relation::Best | Relation::Equal(_))
    }
}

/// A row and how it stands to the best one.
pub(crate) type Ranked<'a> = (&'a RowResult, Relation);

/// Returns the rows, the best first, then the others by their figures, then those that are not measured. `same_run` tells
/// whether all share blocks. Intervals are wide enough that a statement about all rows is wrong with a probability of at
/// most [`ALPHA`], if the launches suffice for that.
pub(crate) fn ranking<'a>(rows: &[&'a RowResult], same_run: bool) -> Vec<Ranked<'a>> {
    let own = |row: &RowResult| rows::own(row).map(|own| (own.estimate.median, own.metric.better));
    let (mut measured, spread): (Vec<&RowResult>, Vec<&RowResult>) =
        rows.iter().copied().filter(|row| own(row).is_some()).partition(|row| span(row).is_none());
    measured.arrange_by(|one, other| match (own(one), own(other)) {
        (Some((one, Better::Lower)), Some((other, _))) => one.total_cmp(&other),
        (one, other) => other.map(|(value, _)| value).unwrap_or(0.0).total_cmp(&one.map_or(0.0, |(value, _)| value)),
    });
    let mut ratios = Ratios::at(ALPHA / measured.len().saturating_sub(1).max(1) as f64);
    let mut to_first = |rows: &[&RowResult]| -> Vec<Option<Estimate>> {
        rows.iter().map(|row| ratio_by(&mut ratios, row, rows[0], same_run)).collect()
    };
    let mut times = to_first(&measured);
    // The best by its median may be behind another one in the blocks that both have.
    for _ in 0..measured.len() {
        let ahead = |at: &usize| times[*at].map_or(0.0, |times| times.median);
        let first = (0..measured.len()).max_by(|one, other| ahead(one).total_cmp(&ahead(other)));
        let Some(first) = first.filter(|first| ahead(first) > 1.0) else { break };
        measured[..=first].rotate_right(1);
        times = to_first(&measured);
    }
    let others = measured.iter().zip(&times).skip(1);
    let others = others.filter_map(|(row, times)| Some((*row, Relation::of((*times)?))));
    let spread = spread.iter().filter_map(|row| Some((*row, Relation::NotMeasured(span(row)?))));
    measured.first().map(|best| (*best, Relation::Best)).into_iter().chain(others).chain(spread).collect()
}

/// Returns the ranking of the candidates and external programs of one run.
pub(crate) fn ranked_candidates<'a>(rows: &[&'a RowResult]) -> Vec<Ranked<'a>> {
    let candidates: Vec<&RowResult> = rows.iter().copied().filter(|result| rows::competes(result)).collect();
    ranking(&candidates, true)
}

/// Returns the best row; `None` if none is measured.
pub(crate) fn best<'a>(rows: &[&'a RowResult]) -> Option<&'a RowResult> {
    ranking(rows, true).first().filter(|(_, relation)| relation.leads()).map(|(row, _)| *row)
}

/// Returns the candidates and external programs that are marked as best: the first, and those that are shown to be as good.
/// None is marked unless another one is shown to be worse.
pub(crate) fn marked<'a>(rows: &[&'a RowResult], same_run: bool) -> Vec<&'a RowResult> {
    let candidates: Vec<&RowResult> = rows.iter().copied().filter(|result| rows::competes(result)).collect();
    let ranked = ranking(&candidates, same_run);
    if !ranked.iter().any(|(_, relation)| matches!(relation, Relation::Worse(_))) {
        return Vec::new();
    }
    ranked.into_iter().filter(|(_, relation)| relation.leads()).map(|(row, _)| row).collect()
}

/// Whether the median of a row is better than that of another one.
pub(crate) fn has_better_median(row: &RowResult, than: &RowResult) -> bool {
    match (rows::own(row), rows::own(than)) {
        (Some(own), Some(other)) if own.metric.better == Better::Lower => own.estimate.median < other.estimate.median,
        (Some(own), Some(other)) => own.estimate.median > other.estimate.median,
        _ => false,
    }
}

/// Returns how a row stands to another one of its run.
pub(crate) fn relation(row: &RowResult, base: &RowResult) -> Option<Relation> {
    match [row, base].into_iter().filter_map(span).max_by(f64::total_cmp) {
        Some(factor) => Some(Relation::NotMeasured(factor)),
        None => ratio(row, base, true).map(Relation::of),
    }
}

/// Returns the factor between the ends of the interval of a row's own figure, if it is too large for a measurement.
pub(crate) fn span(row: &RowResult) -> Option<f64> {
    let own = rows::own(row)?.estimate;
    (own.n > 1 && own.low > 0.0).then(|| own.high / own.low).filter(|factor| *factor >= SPAN_MAX)
}

/// Returns how many times as good `one` is as `other`, two rows of one run: the value of [`ratio`].
pub(crate) fn advantage(one: &RowResult, other: &RowResult) -> Option<f64> {
    ratio(one, other, true).map(|ratio| ratio.median)
}

/// Returns how many times as good as `base` the row is, by the ratio of every comparison ([`Ratios`]): paired by block
/// within one run, of independent launches otherwise. More than 1 is better. `same_run` tells whether both share blocks.
pub(crate) fn ratio(row: &RowResult, base: &RowResult, same_run: bool) -> Option<Estimate> {
    ratio_by(&mut Ratios::default(), row, base, same_run)
}

/// Returns the same by the level of `ratios`.
fn ratio_by(ratios: &mut Ratios, row: &RowResult, base: &RowResult, same_run: bool) -> Option<Estimate> {
    let (own, other) = (rows::own(row)?, rows::own(base)?);
    if own.metric.unit != other.metric.unit {
        return None;
    }
    // The better side of the division is the one that a larger ratio means.
    let (divisor, dividend): (&MetricResult, &MetricResult) = match own.metric.better {
        Better::Higher => (other, own),
        Better::Lower => (own, other),
    };
    let paired = same_run.then(|| Sample::paired(divisor, dividend)).flatten();
    let medians = || Sample::Independent(vec![divisor.estimate.median.ln()], vec![dividend.estimate.median.ln()]);
    let sample = paired.or_else(|| Sample::independent(divisor, dividend)).unwrap_or_else(medians);
    let Ratio { value, low, high, confidence, n, .. } = ratios.of(&sample)?;
    let is_number = [value, low, high].iter().all(|end| end.is_finite() && *end > 0.0);
    is_number.then_some(Estimate { median: value, low, high, confidence, n })
}

#[cfg(test)]
mod tests;

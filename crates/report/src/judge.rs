//! Determines the best of several figures, those that cannot be told apart from it, and how many times as good it is. Asterisks,
//! verdicts and charts use these rules.

use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::compare::{MINIMUM_EFFECT, Ratio};
use headwater_results::estimate::Estimate;
use headwater_results::schema::{Better, RowResult};
use headwater_results::sorting::Arrange;

use crate::rows;

/// Whether the intervals show a relevant difference. Medians closer than the minimum effect do not differ, however
/// narrow the intervals. A single launch has no interval and therefore never differs.
pub(crate) fn differ(one: &Estimate, other: &Estimate) -> bool {
    let (least, most) = if one.median < other.median { (one.median, other.median) } else { (other.median, one.median) };
    one.n > 1 && other.n > 1 && !one.overlaps(other) && most - least >= MINIMUM_EFFECT * most.abs()
}

/// Returns the best row by its own figure, followed by all rows that do not differ from it.
pub(crate) fn leaders<'a>(rows: &[&'a RowResult]) -> Vec<&'a RowResult> {
    let mut ranked: Vec<(&RowResult, Estimate, Better)> = rows
        .iter()
        .filter_map(|&result| rows::own(result).map(|own| (result, own.estimate, own.metric.better)))
        .collect();
    ranked.arrange_by(|(_, one, better), (_, other, _)| match better {
        Better::Higher => other.median.total_cmp(&one.median),
        Better::Lower => one.median.total_cmp(&other.median),
    });
    let Some(&(_, first, _)) = ranked.first() else { return Vec::new() };
    ranked.into_iter().filter(|(_, estimate, _)| !differ(&first, estimate)).map(|(result, ..)| result).collect()
}

/// Returns the leaders among the candidates and external programs.
pub(crate) fn best_candidates<'a>(rows: &[&'a RowResult]) -> Vec<&'a RowResult> {
    let candidates: Vec<&RowResult> = rows.iter().copied().filter(|result| rows::competes(result)).collect();
    leaders(&candidates)
}

/// Returns how many times as good `one` is as `other`, two rows of one run: the value of [`ratio`].
pub(crate) fn advantage(one: &RowResult, other: &RowResult) -> Option<f64> {
    ratio(one, other, true).map(|ratio| ratio.median)
}

/// Returns how many times as good as `base` the row is, by the ratio of every comparison ([`Ratios`]): paired by block
/// within one run, of independent launches otherwise. More than 1 is better. `same_run` tells whether both share blocks.
pub(crate) fn ratio(row: &RowResult, base: &RowResult, same_run: bool) -> Option<Estimate> {
    let (own, other) = (rows::own(row)?, rows::own(base)?);
    if own.metric.unit != other.metric.unit {
        return None;
    }
    // The better side of the division is the one that a larger ratio means.
    let (divisor, dividend) = match own.metric.better {
        Better::Higher => (other, own),
        Better::Lower => (own, other),
    };
    let paired = same_run.then(|| Sample::paired(divisor, dividend)).flatten();
    let medians = || Sample::Independent(vec![divisor.estimate.median.ln()], vec![dividend.estimate.median.ln()]);
    let sample = paired.or_else(|| Sample::independent(divisor, dividend)).unwrap_or_else(medians);
    let Ratio { value, low, high, confidence, n, .. } = Ratios::default().of(&sample)?;
    let is_number = [value, low, high].iter().all(|end| end.is_finite() && *end > 0.0);
    is_number.then_some(Estimate { median: value, low, high, confidence, n })
}

#[cfg(test)]
mod tests;

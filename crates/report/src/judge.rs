//! Determines the best of several figures, and those that cannot be told apart from it. Asterisks and verdicts use this
//! rule.

use headwater_results::compare::MINIMUM_EFFECT;
use headwater_results::estimate::Estimate;
use headwater_results::schema::{Better, MetricResult, RowResult};

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
    ranked.sort_by(|(_, one, better), (_, other, _)| match better {
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

/// Returns how many times as good `one` is as `other`, two rows of one run; more than 1 is better. It is the median of the
/// ratios within the common blocks, as in the charts, so that drift of the machine cancels; without a common block, the
/// ratio of the medians. `None` if a median is zero.
pub(crate) fn advantage(one: &RowResult, other: &RowResult) -> Option<f64> {
    let (one, other) = (rows::own(one)?, rows::own(other)?);
    let ratio = median_within_blocks(one, other).unwrap_or(one.estimate.median / other.estimate.median);
    let ratio = if one.metric.better == Better::Higher { ratio } else { 1.0 / ratio };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

fn median_within_blocks(one: &MetricResult, other: &MetricResult) -> Option<f64> {
    let of_block =
        |block: &u32| other.blocks.iter().position(|known| known == block).and_then(|at| other.launches.get(at));
    let ratios: Vec<f64> = (one.blocks.iter().zip(&one.launches))
        .filter_map(|(block, value)| Some(value / of_block(block)?))
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    Estimate::of_launches(&ratios).map(|estimate| estimate.median)
}

#[cfg(test)]
mod tests;

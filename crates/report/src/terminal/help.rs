//! How to read the figures: the interval, the asterisk, limits.

use headwater_results::published;
use headwater_results::schema::{RowResult, Run, Standing};

use super::Section;
use super::page::Page;
use crate::operations;
use crate::rows;
use crate::style::{Style, quiet};
use crate::text::{list, wrap};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    rows::all_measured(run).next()?;
    let sentences = [interval(run, style), best(run, style), standings(run)];
    let text: Vec<String> = sentences.into_iter().flatten().collect();
    Some(quiet(&wrap(&text.join(" "), style.columns(), 0)))
}

fn interval(run: &Run, style: &Style) -> Option<String> {
    let estimates = || rows::all_measured(run).filter_map(rows::own).map(|own| own.estimate);
    let (least, most) = (estimates().map(|one| one.n).min()?, estimates().map(|one| one.n).max()?);
    if published::source_of(&run.header.run_id).is_some() {
        return Some(
            "Each figure stands in the report as it is, or follows from it by its unit; it has no interval.".into(),
        );
    }
    if most < 2 {
        return Some("Each figure is the median of the batches of one launch; a single launch has no interval.".into());
    }
    let coverage = estimates().filter(|one| one.n > 1).map(|one| one.confidence).fold(1.0, f64::min);
    let launches = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    // Coverage is rounded down, because it must not be overstated.
    let coverage = (coverage * 1000.0).floor() / 10.0;
    Some(format!(
        "Each figure is the median over {launches} launches, {} half the width of its interval, which covers the true \
         median with at least {coverage:.1} %.",
        style.plus_minus()
    ))
}

fn best(run: &Run, style: &Style) -> Option<String> {
    // Operations are different things, so none of them is the best.
    let is_compared = |row: &&RowResult| rows::competes(row) && !operations::PATTERNS.contains(&&*row.row.pattern);
    let competitors = rows::unique(rows::all_measured(run).filter(is_compared).map(|row| row.row.subject.as_str()));
    let has_intervals = rows::all_measured(run).filter_map(rows::own).any(|own| own.estimate.n > 1);
    if competitors.len() < 2 || !has_intervals {
        return None;
    }
    let sign = if style.colour { "Bold green" } else { "*" };
    Some(crate::meaning::marked(sign))
}

fn standings(run: &Run) -> Option<String> {
    let of = |standing| {
        rows::unique(
            rows::all_measured(run).filter(|row| row.row.standing == standing).map(|row| row.row.subject.as_str()),
        )
    };
    let (limits, nulls) = (of(Standing::Limit), of(Standing::Null));
    let mut text = Vec::new();
    if !limits.is_empty() {
        text.push(format!("Limits ({}) show what the hardware allows; they do not compete.", limits.join(", ")));
    }
    if !nulls.is_empty() {
        text.push(format!("{}: the harness alone.", list(&nulls)));
    }
    (!text.is_empty()).then(|| text.join(" "))
}

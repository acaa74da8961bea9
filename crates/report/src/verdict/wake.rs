//! The cost of waking a sleeping reader: the pipe's figure, and the transports that are faster.

use headwater_results::schema::{RowResult, Run};

use super::{is_single, main_rows, median, of_size};
use crate::text::short_list;
use crate::{judge, rows, units};

/// The transport that represents the machine.
const REFERENCE: &str = "pipe";

pub(super) fn sentences(run: &Run) -> Vec<String> {
    sentence(&main_rows(run, "wake")).into_iter().collect()
}

fn sentence(rows: &[&RowResult]) -> Option<String> {
    let size = *rows::sizes(rows).first()?;
    let rows = of_size(rows, size);
    let best = judge::best_candidates(&rows);
    let shown = rows.iter().copied().find(|row| row.row.subject == REFERENCE).or(best.first().copied())?;
    let cost = units::duration_ns(median(shown));
    let start = format!("Waking a sleeping reader costs {cost} here (median one_way delay, {})", shown.row.subject);
    let leads = best.iter().any(|row| row.row.id == shown.row.id);
    let names: Vec<&str> = best.iter().map(|row| row.row.subject.as_str()).collect();
    Some(match best.first() {
        Some(first) if !leads && !is_single(shown) => {
            let others = if names.len() > 1 { " (cannot be told apart)" } else { "" };
            format!("{start}; least: {} with {}{others}.", short_list(&names, 2), units::duration_ns(median(first)))
        }
        _ => format!("{start}."),
    })
}

//! Lost messages if the sender does not wait.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{RowResult, Run};
use headwater_results::sorting::Arrange;

use super::main_rows;
use crate::text::list;
use crate::{rows, units};

/// The words for a median of zero with losses in some launches.
const IN_SOME: &str = "messages in some launches, but in fewer than half of them";

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows: Vec<&RowResult> = main_rows(run, "flood").into_iter().filter(|row| rows::competes(row)).collect();
    let words: Vec<String> = rows::subjects(&rows).iter().filter_map(|&(subject, _)| words(&rows, subject)).collect();
    if words.is_empty() { Vec::new() } else { vec![format!("When the sender does not wait, {}.", words.join("; "))] }
}

/// Returns `udp loses 12 % at 64 B and nothing at 4 KiB`; with more than two sizes, the worst one.
fn words(rows: &[&RowResult], subject: &str) -> Option<String> {
    let mut losses: Vec<(u64, Estimate)> = rows
        .iter()
        .filter(|row| row.row.subject == subject)
        .filter_map(|row| Some((row.row.size_bytes?, rows::metric(row, "loss")?.estimate)))
        .collect();
    losses.arrange_by_key(|&(size, _)| size);
    if losses.is_empty() {
        return None;
    }
    if losses.iter().all(|(_, loss)| loss.high == 0.0) {
        return Some(format!("{subject} loses nothing"));
    }
    if losses.iter().all(|(_, loss)| loss.median == 0.0) {
        return Some(format!("{subject} loses {IN_SOME}"));
    }
    if losses.len() <= 2 {
        let each: Vec<String> = losses.iter().map(|(size, loss)| at(*size, loss)).collect();
        return Some(format!("{subject} loses {}", list(&each)));
    }
    let (size, worst) = losses.iter().max_by(|(_, one), (_, other)| one.median.total_cmp(&other.median))?;
    Some(format!("{subject} loses up to {}", at(*size, worst)))
}

fn at(size: u64, loss: &Estimate) -> String {
    let share = match loss {
        Estimate { median: 0.0, high: 0.0, .. } => "nothing".to_owned(),
        Estimate { median: 0.0, .. } => IN_SOME.to_owned(),
        _ => units::percent(loss.median),
    };
    format!("{share} at {}", units::size_in_words(size))
}

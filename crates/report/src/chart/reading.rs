//! What the page says of a point under the pointer or the cursor: the same words and figures as in tables. Used by the
//! charts of lines; the page's script shows them and computes none.

use headwater_results::estimate::Estimate;
use headwater_results::schema::RowResult;

use super::table;
use crate::rows;
use crate::text::plural;
use crate::units;

/// The lines of text about a point, the figure in the second one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub lines: Vec<String>,
    /// The letters of the row's flags.
    pub flags: String,
}

impl Reading {
    /// Returns the reading of `row`, drawn as `estimate` of the chart's quantity, which `text` formats.
    pub fn of(name: &str, row: &RowResult, estimate: &Estimate, text: &dyn Fn(f64) -> String) -> Reading {
        let size = row.row.size_bytes.map(units::size_in_words);
        let value = text(estimate.median);
        let mut lines = vec![[Some(name.to_owned()), size].into_iter().flatten().collect::<Vec<_>>().join(", ")];
        lines.push(value.clone());
        lines.extend(interval(estimate, text));
        if let Some(own) = rows::own(row) {
            let measured = units::quantity(own.estimate.median, &own.metric.unit);
            if !value.starts_with(&measured) && !measured.starts_with(&value) {
                lines.push(format!("measured: {measured}"));
            }
        }
        lines.push(match estimate.n {
            0 | 1 => "a single launch, no interval".to_owned(),
            many => plural(many as usize, "launch").replace("launchs", "launches"),
        });
        Reading { lines, flags: table::flags(row) }
    }
}

/// Formats the interval with its coverage, rounded down because it must not be overstated: `1.20 .. 1.26 M/s (95 %)`.
pub(crate) fn interval(estimate: &Estimate, text: &dyn Fn(f64) -> String) -> Option<String> {
    let share = (estimate.confidence * 1000.0).floor() / 10.0;
    (estimate.n > 1).then(|| format!("{} .. {} ({share:.1} %)", text(estimate.low), text(estimate.high)))
}

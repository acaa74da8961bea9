//! The exit status of a comparison: the rule of `compare --fail-on` and `run --fail-on`. It prints nothing.

use std::fmt;
use std::str::FromStr;

use headwater_results::compare::{Comparison, Hosts, LeftOutKind, RowComparison, Verdict};
use headwater_results::schema::{Better, Run, RunStatus};
use serde::{Deserialize, Serialize};

use super::status;
use crate::compare::Compared;

/// When a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum FailOn {
    /// The comparison never fails.
    Never,
    /// A row that is worse by this share, or by the minimum effect if absent, makes the comparison fail.
    Regression(Option<f64>),
}

/// Whether a row of a comparison reaches a share.
type Rule = fn(&RowComparison, &Comparison, f64) -> bool;

impl FailOn {
    /// Returns the exit status for these comparisons of these runs.
    pub(super) fn status(self, runs: &[(String, Run)], compared: &[Compared]) -> u8 {
        self.status_of(runs.iter().all(|(_, run)| run.status == RunStatus::Complete), compared)
    }

    /// Returns the exit status for these comparisons, of runs that are complete or not.
    pub(super) fn status_of(self, are_complete: bool, compared: &[Compared]) -> u8 {
        let comparisons = || compared.iter().map(|compared| &compared.comparison);
        let any = |fails: Rule| !self.failing(compared, fails).is_empty();
        let lacks =
            |hosts: &Hosts| !(hosts.missing.is_empty() && hosts.one_sided.is_empty() && hosts.lacking.is_empty());
        let incomplete = !are_complete
            || comparisons().filter_map(|comparison| comparison.hosts.as_ref()).any(lacks)
            || comparisons().flat_map(|comparison| &comparison.left_out).any(|left| left.kind != LeftOutKind::OneSided);
        if any(is_regression) {
            status::REGRESSION
        } else if incomplete {
            status::PARTIAL
        } else if any(may_be_regression) {
            status::INCONCLUSIVE
        } else {
            status::OK
        }
    }

    /// Returns why the status is that of a regression or of a comparison that excludes none, with the rows; `None` for the others.
    pub(super) fn reason(self, status: u8, compared: &[Compared]) -> Option<String> {
        const NAMED: usize = 3;
        let (what, fails, remedy): (_, Rule, _) = match status {
            status::REGRESSION => ("is worse by as much", is_regression, ""),
            status::INCONCLUSIVE => ("may be worse by as much", may_be_regression, "; more launches would decide"),
            _ => return None,
        };
        let rows = self.failing(compared, fails);
        let more = rows.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = rows[..rows.len().min(NAMED)].join(", ");
        Some(format!("--fail-on {}: {named}{more} {what}{remedy}", String::from(self)))
    }

    /// Returns the names of the rows to which the rule applies.
    fn failing(self, compared: &[Compared], fails: Rule) -> Vec<&str> {
        let comparisons = compared.iter().map(|compared| &compared.comparison);
        let limited = comparisons.filter_map(|comparison| Some((comparison, self.limit(comparison)?)));
        let rows = limited.flat_map(|(comparison, limit)| {
            comparison.rows.iter().filter(move |row| fails(row, comparison, limit)).map(|row| row.label.as_str())
        });
        rows.collect()
    }

    fn limit(self, comparison: &Comparison) -> Option<f64> {
        match self {
            FailOn::Never => None,
            FailOn::Regression(share) => Some(share.unwrap_or(comparison.rules.minimum_effect)),
        }
    }
}

/// Returns by which factor the figure of a row is worse, as a ratio above 1: at the ratio itself, and at the worse end
/// of its interval.
fn worsening(row: &RowComparison) -> Option<(f64, f64)> {
    let ratio = row.ratio?;
    Some(match row.metric.better {
        Better::Higher => (1.0 / ratio.value, 1.0 / ratio.low),
        Better::Lower => (ratio.value, ratio.high),
    })
}

/// Returns whether the row is proved to be worse, and its ratio reaches the share.
fn is_regression(row: &RowComparison, _: &Comparison, limit: f64) -> bool {
    row.verdict == Verdict::Worse && worsening(row).is_some_and(|(ratio, _)| ratio >= 1.0 + limit)
}

/// Returns whether the interval reaches the share, whatever the verdict; or covers less than the rules require, and so
/// excludes nothing.
fn may_be_regression(row: &RowComparison, comparison: &Comparison, limit: f64) -> bool {
    let covers = row.ratio.is_some_and(|ratio| ratio.n > 1 && ratio.confidence >= 1.0 - comparison.rules.alpha);
    row.verdict != Verdict::Unjudged && (!covers || worsening(row).is_none_or(|(_, worst)| worst >= 1.0 + limit))
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<FailOn, String> {
        match text.split_once(':') {
            None if text == "never" => Ok(FailOn::Never),
            None if text == "regression" => Ok(FailOn::Regression(None)),
            Some(("regression", share)) => Ok(FailOn::Regression(Some(share.parse::<Share>()?.0))),
            _ => Err("there are `regression`, `regression:5%` and `never`".to_owned()),
        }
    }
}

impl TryFrom<String> for FailOn {
    type Error = String;

    fn try_from(text: String) -> Result<FailOn, String> {
        text.parse()
    }
}

impl From<FailOn> for String {
    fn from(fail_on: FailOn) -> String {
        match fail_on {
            FailOn::Never => "never".to_owned(),
            FailOn::Regression(None) => "regression".to_owned(),
            FailOn::Regression(Some(share)) => format!("regression:{}", Share(share)),
        }
    }
}

/// A share above 0 and below 1: `5%`, `0.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let (number, unit) = match text.strip_suffix('%') {
            Some(number) => (number, 0.01),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().ok().map(|number| number * unit);
        let share = share.filter(|share| *share > 0.0 && *share < 1.0);
        share.map(Share).ok_or_else(|| "a share is a number between 0 and 100 %: `5%`, `0.05`".to_owned())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests;

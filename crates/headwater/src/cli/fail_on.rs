//! The exit status of a comparison: the rule of `compare --fail-on` and `run --fail-on`. It prints nothing.

use std::fmt;
use std::str::FromStr;

use headwater_results::compare::{Hosts, LeftOut, LeftOutKind, RowComparison, Rules, Verdict};
use headwater_results::schema::{Better, Run, RunStatus};
use serde::{Deserialize, Serialize};

use super::status;
use crate::compare::Compared;

/// When a comparison fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct FailOn {
    /// By which share a row must be worse; 0 stands for the minimum effect.
    regression: Option<f64>,
    /// By which share a row must be better for its figure not to be believed.
    improvement: Option<f64>,
}

/// Whether a row of a comparison makes it fail.
type Rule = fn(&FailOn, &RowComparison, &Rules) -> bool;

impl FailOn {
    /// Returns the exit status for these comparisons of these runs.
    pub(super) fn status(self, runs: &[(String, Run)], compared: &[Compared]) -> u8 {
        self.status_of(runs.iter().all(|(_, run)| run.status == RunStatus::Complete), compared)
    }

    /// Returns the exit status for these comparisons, of runs that are complete or not.
    pub(super) fn status_of(self, are_complete: bool, compared: &[Compared]) -> u8 {
        let any = |fails: Rule| !self.failing(compared, fails).is_empty();
        let lacks =
            |hosts: &Hosts| !(hosts.missing.is_empty() && hosts.one_sided.is_empty() && hosts.lacking.is_empty());
        let incomplete = !are_complete
            || compared.iter().filter_map(|one| one.comparison.hosts.as_ref()).any(lacks)
            || missing(compared).next().is_some();
        if any(FailOn::is_regression) || any(FailOn::is_improvement) {
            status::REGRESSION
        } else if incomplete {
            status::PARTIAL
        } else if any(FailOn::may_be_regression) {
            status::INCONCLUSIVE
        } else {
            status::OK
        }
    }

    /// Returns why the status is not 0, with the rows.
    pub(super) fn reason(self, status: u8, compared: &[Compared]) -> Option<String> {
        const WORSE: (&str, Rule) = ("is worse by as much", FailOn::is_regression);
        const BETTER: (&str, Rule) =
            ("is better by as much, which is not believed: does it still do the same work?", FailOn::is_improvement);
        const OPEN: (&str, Rule) = ("may be worse by as much; more launches would decide", FailOn::may_be_regression);
        let rules = match status {
            status::REGRESSION => &[WORSE, BETTER][..],
            status::INCONCLUSIVE => &[OPEN],
            _ => &[],
        };
        let named = rules.iter().map(|&(what, fails)| (self.failing(compared, fails), what));
        let mut parts: Vec<String> =
            named.filter_map(|(rows, what)| Some(format!("{} {what}", first_of(&rows)?))).collect();
        if status == status::PARTIAL {
            let rows: Vec<&str> = missing(compared).map(|left| left.row.as_str()).collect();
            parts.push(match (first_of(&rows), missing(compared).next()) {
                (Some(rows), Some(left)) => format!("{rows} cannot be compared ({})", left.reason),
                _ => "not every launch, row or host was measured".to_owned(),
            });
        }
        (!parts.is_empty()).then(|| format!("--fail-on {}: {}", String::from(self), parts.join("; ")))
    }

    /// Returns the names of the rows to which the rule applies.
    fn failing(self, compared: &[Compared], fails: Rule) -> Vec<&str> {
        let comparisons = compared.iter().map(|compared| &compared.comparison);
        let rows = comparisons.flat_map(|comparison| comparison.rows.iter().map(|row| (row, &comparison.rules)));
        rows.filter(|(row, rules)| fails(&self, row, rules)).map(|(row, _)| row.label.as_str()).collect()
    }

    /// Returns from which factor on a row is too much worse.
    fn limit(&self, rules: &Rules) -> Option<f64> {
        let share = self.regression?;
        Some(1.0 + if share > 0.0 { share } else { rules.minimum_effect })
    }

    /// Returns whether the row is proved to be worse, and its ratio reaches the share.
    fn is_regression(&self, row: &RowComparison, rules: &Rules) -> bool {
        let limit = self.limit(rules).unwrap_or(f64::INFINITY);
        row.verdict == Verdict::Worse && worsening(row).is_some_and(|[ratio, _]| ratio >= limit)
    }

    /// Returns whether the row is proved to be better, and its ratio reaches the share.
    fn is_improvement(&self, row: &RowComparison, _: &Rules) -> bool {
        let limit = 1.0 + self.improvement.unwrap_or(f64::INFINITY);
        row.verdict == Verdict::Better && worsening(row).is_some_and(|[ratio, _]| 1.0 / ratio >= limit)
    }

    /// Returns whether the interval reaches the share, whatever the verdict; or covers less than the rules require, and so
    /// excludes nothing.
    fn may_be_regression(&self, row: &RowComparison, rules: &Rules) -> bool {
        let Some(limit) = self.limit(rules) else { return false };
        let covers = row.ratio.is_some_and(|ratio| ratio.n > 1 && ratio.confidence >= 1.0 - rules.alpha);
        row.verdict != Verdict::Unjudged && (!covers || worsening(row).is_none_or(|[_, worst]| worst >= limit))
    }
}

/// Returns the rows that one side ought to have and has not.
fn missing(compared: &[Compared]) -> impl Iterator<Item = &LeftOut> {
    let all = compared.iter().flat_map(|one| &one.comparison.left_out);
    all.filter(|left| left.kind != LeftOutKind::OneSided)
}

/// Names the first rows and counts the others; `None` if there is none.
fn first_of(rows: &[&str]) -> Option<String> {
    const NAMED: usize = 3;
    let more = rows.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!rows.is_empty()).then(|| format!("{}{more}", rows[..rows.len().min(NAMED)].join(", ")))
}

/// Returns by which factor the figure of a row is worse, as a ratio above 1: at the ratio itself, and at the worse end
/// of its interval.
fn worsening(row: &RowComparison) -> Option<[f64; 2]> {
    let ratio = row.ratio?;
    Some(match row.metric.better {
        Better::Higher => [1.0 / ratio.value, 1.0 / ratio.low],
        Better::Lower => [ratio.value, ratio.high],
    })
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<FailOn, String> {
        let mut fail_on = FailOn::default();
        if text == "never" {
            return Ok(fail_on);
        }
        for part in text.split(',') {
            match part.split_once(':').unwrap_or((part, "")) {
                ("regression", "") if !part.ends_with(':') => fail_on.regression = Some(0.0),
                ("regression", share) => fail_on.regression = Some(share.parse::<Share>()?.0),
                // Three times as fast is an improvement of 200 %.
                ("improvement", share) => fail_on.improvement = Some(share_up_to(share, IMPROVEMENT_MAX)?),
                _ => return Err("there are `regression`, `regression:5%`, `improvement:50%` and `never`".to_owned()),
            }
        }
        Ok(fail_on)
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
        let regression = fail_on.regression.map(|share| match share {
            0.0 => "regression".to_owned(),
            share => format!("regression:{}", Share(share)),
        });
        let improvement = fail_on.improvement.map(|share| format!("improvement:{}", Share(share)));
        let parts: Vec<String> = regression.into_iter().chain(improvement).collect();
        if parts.is_empty() { "never".to_owned() } else { parts.join(",") }
    }
}

/// A share above 0 and below 1: `5%`, `0.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub f64);

/// The largest share of an improvement.
const IMPROVEMENT_MAX: f64 = 1000.0;

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        share_up_to(text, 1.0).map(Share)
    }
}

/// Reads a share above 0 and below `max`.
fn share_up_to(text: &str, max: f64) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|number| number * unit);
    let share = share.filter(|share| *share > 0.0 && *share < max);
    share.ok_or_else(|| format!("a share is a number between 0 and {} %: `5%`, `0.05`", max * 100.0))
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests;

//! `headwater compare`: what differs between runs, or within one, and whether it does.

use std::fmt;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use headwater_results::compare::factor::{self, Factor};
use headwater_results::compare::{ALPHA, Comparison, LeftOutKind, MINIMUM_EFFECT, RowComparison, Rules, Verdict};
use headwater_results::schema::{Better, Run, RunStatus};

use super::show::style;
use super::status;
use crate::compare::{Compared, Noise, Request, compare_runs};
use crate::plan::suggest::there_are;
use crate::sources::{self, Loaded};

/// Compare runs, or what a run holds: environment first, then ratio, interval and verdict of every row
///
/// The replicates are launches. Rows of one run (two placements, two variants) are compared within its blocks; two runs
/// are compared launch against launch, and drift of the machine between them counts in the verdict. Of all rows called
/// better or worse at most 5 % are expected to be wrong.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater compare headwater-runs/before headwater-runs/after
  headwater compare before after --filter pipe --filter '*/rtt'
  headwater compare before after --fail-on regression:5%   exit status 1 from 5 % on, for CI
  headwater compare today --by placement --baseline same-cpu
  headwater compare today --by transport --baseline pipe --filter '*/stream'
  headwater compare old1 old2 new1 new2 --by kernel
  headwater compare published:pipes/fc6 --by transport --baseline pipe
  headwater compare before after --json | jq '.comparisons[].comparison.rows[] | select(.verdict.verdict == \"worse\")'

Exit status: 0 no regression, 1 a row is worse, 2 wrong usage or file, 3 a regression cannot be excluded, 4 rows are
missing on one side because they failed, were skipped or are of another definition.")]
pub(crate) struct CompareArguments {
    /// Run directories, run.json or run.jsonl files, published:TABLE/DATASET; the first is the baseline
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// What the sides differ in: run, kernel, host, placement, policy, variant, transport [default: run; variant within one run]
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    by: Option<&'static Factor>,

    /// The level with which the others are compared; a run also as it was typed [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Only rows that the filter names, as for `run`; repeatable
    #[arg(short, long, value_name = "FILTER")]
    filter: Vec<String>,

    /// When the exit status is 1 or 3: `regression:5%` from that change on, `regression` from the minimum effect on, `never`
    #[arg(long, value_name = "WHAT", default_value = "regression")]
    fail_on: FailOn,

    /// The least change that matters
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    minimum_effect: Share,

    /// The share of false discoveries that is tolerated
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    alpha: Share,

    /// A noise record instead of headwater-runs/noise-HOST.json
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,

    /// Show metrics beside the rows' own figures too; they are not judged
    #[arg(long)]
    all_metrics: bool,

    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let loaded = sources::load_all(&arguments.runs)?;
    let request = Request {
        by: arguments.by,
        baseline: arguments.baseline.as_deref().map(|wanted| baseline(wanted, arguments.by, &loaded)),
        filters: arguments.filter.clone(),
        rules: Rules { alpha: arguments.alpha.0, minimum_effect: arguments.minimum_effect.0, ..Rules::default() },
        noise: arguments.noise.clone().map_or(Noise::OfTheMachine, Noise::File),
    };
    let runs = loaded.runs;
    let compared = compare_runs(&runs, &request)?;
    if arguments.json {
        let mut out = stdout().lock();
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "comparisons": compared }))?;
        writeln!(out)?;
    } else {
        print(&compared, arguments.all_metrics)?;
    }
    let status = exit_status(&runs, &compared, arguments.fail_on);
    // The process ends now, and freeing two large runs piece by piece takes as long as reading one.
    std::mem::forget((runs, compared));
    Ok(status)
}

/// The level that `wanted` names: where levels are runs, a run as it was typed or as it is called.
fn baseline(wanted: &str, by: Option<&Factor>, loaded: &Loaded) -> String {
    let levels_are_runs = by.is_none_or(|factor| factor.name == "run");
    let run = if levels_are_runs { loaded.name_of(wanted) } else { None };
    run.unwrap_or(wanted).to_owned()
}

/// The comparisons as text on standard output, a blank line between two.
pub(super) fn print(compared: &[Compared], all_metrics: bool) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    for (number, Compared { comparison, environment, noise }) in compared.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let compared = headwater_report::Compared { comparison, environment, noise, all_metrics };
        out.write_all(headwater_report::comparison(&compared, &style()).as_bytes())?;
    }
    Ok(())
}

fn exit_status(runs: &[(String, Run)], compared: &[Compared], fail_on: FailOn) -> u8 {
    let comparisons = || compared.iter().map(|compared| &compared.comparison);
    let judged = |status: fn(&RowComparison, f64) -> bool| {
        comparisons().any(|comparison| {
            let limit = fail_on.limit(comparison);
            limit.is_some_and(|limit| comparison.rows.iter().any(|row| status(row, limit)))
        })
    };
    let incomplete = runs.iter().any(|(_, run)| run.status != RunStatus::Complete)
        || comparisons().flat_map(|comparison| &comparison.left_out).any(|left| left.kind != LeftOutKind::OneSided);
    if judged(is_regression) {
        status::REGRESSION
    } else if incomplete {
        status::PARTIAL
    } else if judged(may_be_regression) {
        status::INCONCLUSIVE
    } else {
        status::OK
    }
}

/// By which factor the figure of a row is worse, as a ratio above 1: at the ratio itself, and at the worse end of its interval.
fn worsening(row: &RowComparison) -> Option<(f64, f64)> {
    let ratio = row.ratio?;
    Some(match row.metric.better {
        Better::Higher => (1.0 / ratio.value, 1.0 / ratio.low),
        Better::Lower => (ratio.value, ratio.high),
    })
}

fn is_regression(row: &RowComparison, limit: f64) -> bool {
    row.verdict == Verdict::Worse && worsening(row).is_some_and(|(ratio, _)| ratio >= 1.0 + limit)
}

/// Nothing was found, but the interval holds a regression; and a row with one launch has none.
fn may_be_regression(row: &RowComparison, limit: f64) -> bool {
    let open = matches!(row.verdict, Verdict::Inconclusive { .. });
    open && worsening(row).is_none_or(|(_, worst)| worst >= 1.0 + limit || row.ratio.is_some_and(|ratio| ratio.n < 2))
}

/// When a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FailOn {
    /// Whatever happens it does not.
    Never,
    /// A row that is worse by this share, or by the minimum effect.
    Regression(Option<f64>),
}

impl FailOn {
    fn limit(self, comparison: &Comparison) -> Option<f64> {
        match self {
            FailOn::Never => None,
            FailOn::Regression(share) => Some(share.unwrap_or(comparison.rules.minimum_effect)),
        }
    }
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

/// A share above 0 and below 1: `5%`, `0.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share(f64);

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

fn parse_factor(name: &str) -> Result<&'static Factor, String> {
    factor::find(name).ok_or_else(|| there_are(name, factor::TABLE.iter().map(|factor| factor.name)))
}

/// The defaults in the help are the rules'.
const _: () = assert!(MINIMUM_EFFECT == 0.02 && ALPHA == 0.05);

#[cfg(test)]
mod tests;

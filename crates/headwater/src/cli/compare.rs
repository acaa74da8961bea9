//! `headwater compare`: compares runs, or the rows of one run.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use headwater_results::compare::factor::{self, Factor};
use headwater_results::compare::{ALPHA, MINIMUM_EFFECT, Rules};

use super::fail_on::{FailOn, Share};
use super::output::{note, out};
use super::runs;
use super::show::style;
use crate::compare::{Compared, Noise, Request, compare_runs};
use crate::plan::suggest::there_are;
use crate::sources::Loaded;

/// Compare runs, or rows of one run: environment first, then ratio, interval and verdict of every row
///
/// The replicates are launches. Rows of one run (two placements, two variants) are compared within its blocks. Two runs
/// are compared launch against launch, and the drift of the machine between them is taken into account. Of all rows
/// called better or worse, at most 5 % are expected to be wrong.
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

Exit status: 0 no regression, 1 a row is worse, 2 wrong usage or file, 3 an interval reaches as far as a regression, 4 rows are
missing on one side because they failed, were skipped or are of another definition.")]
pub(crate) struct CompareArguments {
    /// Run directories, run.json or run.jsonl files, published:TABLE/DATASET; the first is the baseline
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// The factor that distinguishes the sides: run, kernel, host, placement, policy, variant, transport [default: run;
    /// variant within one run]
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    by: Option<&'static Factor>,

    /// The side with which the others are compared; a run by its name or as typed [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Only rows that match the filter, as for `run`; repeatable
    #[arg(short, long, value_name = "FILTER")]
    filter: Vec<String>,

    /// When the exit status is 1 or 3: `regression:5%` from that change on, `regression` from the minimum effect on,
    /// `never`. 1: a row is proved to be worse by that much; 3: an interval reaches that far, whatever its verdict
    #[arg(long, value_name = "WHAT", default_value = "regression")]
    fail_on: FailOn,

    /// The smallest change that matters to you; a row is equivalent if its whole interval is within it
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    minimum_effect: Share,

    /// The tolerated share of false discoveries
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    alpha: Share,

    /// Use this noise record instead of headwater-runs/noise-HOST.json
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,

    /// Show all metrics, not only each row's own figure; the others get no verdict
    #[arg(long)]
    all_metrics: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let loaded = runs::load(&arguments.runs)?;
    let request = Request {
        by: arguments.by,
        baseline: arguments.baseline.as_deref().map(|wanted| baseline(wanted, arguments.by, &loaded)),
        filters: arguments.filter.clone(),
        rules: Rules { alpha: arguments.alpha.0, minimum_effect: arguments.minimum_effect.0, ..Rules::default() },
        noise: arguments.noise.clone().map_or(Noise::OfTheMachine, Noise::File),
    };
    let runs = loaded.runs;
    let compared = compare_runs(&runs, &request)?;
    if let Some(warning) = compared.iter().find_map(|compared| below_floor(&compared.comparison.rules)) {
        note!("headwater: {warning}");
    }
    if arguments.json {
        let mut out = out();
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "comparisons": compared }))?;
        writeln!(out)?;
    } else {
        print(&compared, arguments.all_metrics)?;
    }
    let status = arguments.fail_on.status(&runs, &compared);
    // The process ends now, and freeing two large runs piece by piece takes as long as reading one.
    std::mem::forget((runs, compared));
    Ok(status)
}

/// Warns of a minimum effect that is below the machine's noise, with a remedy.
fn below_floor(rules: &Rules) -> Option<String> {
    let floor = rules.noise_floor();
    (floor > rules.minimum_effect).then(|| {
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        format!(
            "the minimum effect of {} is below the noise floor of {}: no row can be called equivalent, and smaller changes are \
             not found; `headwater run --against RUN` measures both sides in the same blocks",
            share(rules.minimum_effect),
            share(floor)
        )
    })
}

/// Returns the level that `wanted` names. Where levels are runs, a run can be named as it was typed or by its name.
fn baseline(wanted: &str, by: Option<&Factor>, loaded: &Loaded) -> String {
    let levels_are_runs = by.is_none_or(|factor| factor.name == "run");
    let run = if levels_are_runs { loaded.name_of(wanted) } else { None };
    run.unwrap_or(wanted).to_owned()
}

/// The comparisons as text on standard output, a blank line between two.
pub(super) fn print(compared: &[Compared], all_metrics: bool) -> anyhow::Result<()> {
    let mut out = out();
    for (number, Compared { comparison, environment, noise }) in compared.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let compared = headwater_report::Compared { comparison, environment, noise, all_metrics };
        out.write_all(headwater_report::comparison(&compared, &style()).as_bytes())?;
    }
    Ok(())
}

fn parse_factor(name: &str) -> Result<&'static Factor, String> {
    factor::find(name).ok_or_else(|| there_are(name, factor::TABLE.iter().map(|factor| factor.name)))
}

/// The defaults in the help are the rules'.
const _: () = assert!(MINIMUM_EFFECT == 0.02 && ALPHA == 0.05);

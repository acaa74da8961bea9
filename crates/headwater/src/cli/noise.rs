//! `headwater noise`: measures the differences that this machine shows between identical things.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use headwater_gauge::plan::duration::Seconds;
use headwater_gauge::plan::sizes::Sizes;
use headwater_os_tools::own_file::{make_own_directory, own_directory};
use headwater_results::compare::noise::{Assessment, assess, drift_between};
use headwater_results::compare::{ALPHA, Rules};
use headwater_results::schema::{Placement, Run};

use super::output::{out, raw};
use super::run::measure;
use super::{RunArguments, placement, status};
use crate::compare::{Noise, Request, compare_runs};
use crate::noise::{self, Record};
use crate::store::{DIRECTORY_MODE, RUNS};

/// The two sides: this program twice.
const SIDES: [&str; 2] = ["a=", "b="];

/// Measure this program against itself: how often identical things are called different here, and how much they differ
///
/// Every row is measured twice in every block. The result is stored in headwater-runs/noise-HOST.json, where `compare`
/// reads it: a difference of the size that this machine shows without a cause does not count as a change.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater noise                     the rows of `headwater run`, about 4 minutes
  headwater noise pipe unix-stream    only rows that matter to you
  headwater noise --launches 30       a finer answer
  headwater noise --json | jq .assessment

Exit status: 0 the rate of false positives is as promised, 3 it is higher, 2 wrong usage, 4 some rows skipped or failed,
130 interrupted.")]
pub(crate) struct NoiseArguments {
    /// Suites and filters, as for `run`
    #[arg(value_name = "SUITE|FILTER")]
    selection: Vec<String>,

    /// Message sizes that replace the suite's
    #[arg(short, long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// Placements that replace the suite's
    #[arg(short, long, value_name = "PLACEMENT", value_delimiter = ',', value_parser = placement)]
    placement: Vec<Placement>,

    /// Measured time per launch
    #[arg(short, long, value_name = "TIME")]
    time: Option<Seconds>,

    /// Launches per row and side
    #[arg(short, long, value_name = "COUNT", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    launches: u32,

    /// The time limit of the whole run; blocks that do not fit are left out
    #[arg(short, long, value_name = "TIME")]
    budget: Option<Seconds>,

    /// Directory of the run [default: headwater-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the record as JSON instead of words
    #[arg(long)]
    json: bool,

    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn noise(arguments: NoiseArguments) -> anyhow::Result<u8> {
    let json = arguments.json;
    let run = RunArguments {
        selection: arguments.selection,
        sizes: arguments.sizes,
        placement: arguments.placement,
        time: arguments.time,
        launches: Some(arguments.launches),
        // The suite's own budget is that of one side.
        budget: Some(arguments.budget.unwrap_or(Seconds(BUDGET_S))),
        output: arguments.output,
        variant: SIDES.map(str::to_owned).into(),
        quiet: arguments.quiet,
        ..RunArguments::default()
    };
    let runs = Path::new(RUNS);
    if runs.exists() {
        // Not only after minutes of measuring.
        own_directory(runs)?;
    }
    let measured = measure(run)?.ok_or_else(|| anyhow!("nothing was measured"))?;
    let (run, directory) = (measured.run.clone(), measured.directory.clone());
    let ended = measured.end()?;
    if ended == status::INTERRUPTED {
        return Ok(status::INTERRUPTED);
    }
    let record = record(&run)?;
    let whole = make_own_directory(runs, DIRECTORY_MODE).with_context(|| runs.display().to_string())?;
    let [file, shown] = [&*whole, runs].map(|runs| noise::path(runs, &record.host));
    // An older record that cannot be read is ignored.
    let record = match noise::read(&file) {
        Ok(older) if older.host == record.host => record.after(older),
        _ => record,
    };
    noise::write(&file, &record)?;
    if json {
        let mut out = out();
        serde_json::to_writer_pretty(&mut out, &record)?;
        writeln!(out)?;
    } else {
        let words = headwater_report::noise(&record.assessment, &record.apart, &super::show::style());
        raw().write_all(words.as_bytes())?;
        let mut out = out();
        for (paired, which) in [(true, "in the same blocks"), (false, "one after the other")] {
            let floor = record.floor(paired);
            let share = Rules::default().with_drift(floor.deviation).noise_floor() * 100.0;
            writeln!(out, "Noise floor {which}: {share:.1} %, {}", floor.words())?;
        }
        writeln!(out, "Kept in {}, where compare finds it; the run in {}", shown.display(), directory.display())?;
    }
    Ok(match ended {
        status::OK if too_many(&record.assessment) => status::INCONCLUSIVE,
        other => other,
    })
}

/// The default time limit of the run, s.
const BUDGET_S: f64 = 600.0;

fn record(run: &Run) -> anyhow::Result<Record> {
    let runs = [(run.header.run_id.clone(), run.clone())];
    // An older record is not applied: this measurement replaces it.
    let request = Request { noise: Noise::Unknown, ..Request::default() };
    // Where nothing can be compared, no row has both sides.
    let compared = compare_runs(&runs, &request).map_err(|_| too_little())?;
    let assessment = compared.first().and_then(|compared| assess(&compared.comparison)).ok_or_else(too_little)?;
    let apart = drift_between([run]).ok_or_else(too_little)?;
    let Run { header, .. } = run;
    Ok(Record {
        host: header.environment.host.clone(),
        kernel: header.environment.kernel.release.clone(),
        earlier: Vec::new(),
        started_at: header.started_at.clone(),
        run: header.run_id.clone(),
        assessment,
        apart,
    })
}

fn too_little() -> anyhow::Error {
    anyhow!("too few launches to say anything; choose fewer rows or a larger --budget")
}

/// Whether more rows look different than chance explains: above the nominal 5 % by three standard deviations.
fn too_many(assessment: &Assessment) -> bool {
    let rows = f64::from(assessment.rows);
    f64::from(assessment.below_alpha) > ALPHA * rows + 3.0 * (ALPHA * (1.0 - ALPHA) * rows).sqrt()
}

//! `headwater compare`: compares runs, or the rows of one run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use headwater_gauge::plan::filter;
use headwater_results::compare::factor::{self, Factor};
use headwater_results::compare::hosts::gathered::Gathered;
use headwater_results::compare::{ALPHA, Comparison, MINIMUM_EFFECT, Rules};
use headwater_results::origin::hosts::Over;
use headwater_results::schema::RunStatus;

use super::fail_on::{FailOn, Share};
use super::output::{note, out, raw};
use super::show::style;
use super::{report, runs};
use crate::compare::{Compared, Noise, Request, compare_hosts, compare_runs, runs_of_only_host};
use crate::sources::{Loaded, STANDARD_INPUT, many};

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
  headwater compare runs/ --by kernel                      over the hosts of a directory of runs
  headwater compare runs/ --by commit --over node -o fleet.html
  headwater compare runs/ --by kernel --expect node1,node2,node3
  headwater compare published:pipes/fc6 --by transport --baseline pipe
  headwater compare before after --json | jq '.comparisons[].comparison.rows[] | select(.verdict.verdict == \"worse\")'

Exit status: 0 no regression, 1 a row is worse, 2 wrong usage or file, or one run under two names, 3 an interval reaches as far as a regression,
4 the candidate lacks rows of the baseline: they are not planned, failed, were skipped or are of another definition.")]
pub(crate) struct CompareArguments {
    /// Run directories, run.json or run.jsonl files, archive:QUERY, published:TABLE/DATASET; the first is the baseline. With
    /// --by also directories of runs and patterns
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// The factor that distinguishes the sides: run, kernel, host, program, date, placement, policy, variant, transport, or a
    /// label of the runs such as commit [default: run; variant within one run]
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    by: Option<Factor>,

    /// What tells hosts apart, where the runs are of several: host (the machine's id), name, or a label such as node
    #[arg(long, value_name = "PROPERTY", default_value = "host", requires = "by")]
    over: String,

    /// The hosts that ought to have runs, by their names: those without one are reported as missing
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', requires = "by")]
    expect: Vec<String>,

    /// The side with which the others are compared; a run by its name or as typed [default: the first; of a directory of runs
    /// the one that was measured first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Only rows that match the filter, as for `run`; repeatable
    #[arg(short, long, value_name = "FILTER")]
    filter: Vec<String>,

    /// When the exit status is 1 or 3: `regression:5%` from that change on, `regression` from the minimum effect on,
    /// `improvement:50%` for a row that is better by so much that it is not believed, two of them with a comma, `never`. 1: a row is proved
    /// to be worse, or better, by that much; 3: an interval reaches a regression, whatever its verdict
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

    /// Write one HTML file that loads nothing, instead of text; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["json", "csv"])]
    output: Option<PathBuf>,

    /// The title of the page
    #[arg(long, value_name = "TEXT", requires = "output")]
    title: Option<String>,

    /// Replace FILE even if it is not a report
    #[arg(long, requires = "output")]
    force: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Print CSV instead of text: a line per row, and per host of it
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub(super) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let names = match &arguments.by {
        Some(factor) if factor.is_over_hosts => many::find(&arguments.runs)?,
        _ => arguments.runs.clone(),
    };
    let fleet = Fleet::read(arguments, &names)?;
    let mut asked = request(arguments, None);
    // Runs that were named one by one have an order; those of a directory have the order of time.
    if let (Some(fleet), None, true) = (&fleet, &asked.baseline, names != arguments.runs) {
        asked.baseline = fleet.gathered.first_level().map(str::to_owned);
    }
    if let Some(fleet) = fleet.as_ref().filter(|fleet| fleet.has_replicates(&asked)) {
        return fleet.compare(arguments, &asked);
    }
    let mut loaded = runs::load(&names)?;
    let request = match arguments.baseline {
        Some(_) => request(arguments, Some(&loaded)),
        None => asked.clone(),
    };
    // A host that has measured one side only must not be pooled with the one that has both.
    if let Some(of_host) = fleet.as_ref().and_then(|fleet| runs_of_only_host(&fleet.gathered, &asked)) {
        loaded.runs.retain(|(_, run)| of_host.contains(&run.header.identity()));
    }
    let runs = loaded.runs;
    let mut compared = compare_runs(&runs, &request)?;
    if let Some(fleet) = &fleet {
        compared.iter_mut().for_each(|compared| fleet.name_hosts(&mut compared.comparison));
    }
    if let Some(warning) = compared.iter().find_map(|compared| below_floor(&compared.comparison.rules)) {
        note!("headwater: {warning}");
    }
    show(&compared, &[], arguments)?;
    let status = arguments.fail_on.status(&runs, &compared);
    // The process ends now, and freeing two large runs piece by piece takes as long as reading one.
    std::mem::forget((runs, compared));
    Ok(status)
}

fn request(arguments: &CompareArguments, loaded: Option<&Loaded>) -> Request {
    let wanted = |wanted: &str| match loaded {
        Some(loaded) => baseline(wanted, arguments.by.as_ref(), loaded),
        None => wanted.to_owned(),
    };
    Request {
        by: arguments.by.clone(),
        baseline: arguments.baseline.as_deref().map(wanted),
        filters: arguments.filter.clone(),
        rules: Rules { alpha: arguments.alpha.0, minimum_effect: arguments.minimum_effect.0, ..Rules::default() },
        noise: arguments.noise.clone().map_or(Noise::OfTheMachine, Noise::File),
    }
}

/// The runs of many hosts, one of which is in memory at a time.
struct Fleet {
    gathered: Gathered,
    are_complete: bool,
    /// Sentences about runs that take no part.
    left_out: Vec<String>,
}

impl Fleet {
    /// Reads the runs where hosts may be replicates; `None` where they cannot be.
    fn read(arguments: &CompareArguments, names: &[String]) -> anyhow::Result<Option<Fleet>> {
        let Some(factor) = arguments.by.as_ref().filter(|factor| factor.is_over_hosts) else { return Ok(None) };
        let is_one_run = |name: &String| name == STANDARD_INPUT || Path::new(name).exists();
        match names {
            [only] if is_one_run(only) && arguments.expect.is_empty() => return Ok(None),
            [_, _, ..] if names.iter().any(|name| name == STANDARD_INPUT) => {
                bail!("--by {}: standard input cannot stand beside other runs; write it to a file", factor.name)
            }
            _ => {}
        }
        let over = Over::named(&arguments.over);
        let mut gathered = Gathered::new(factor.clone(), over.clone());
        let mut reading = many::Reading::default();
        let mut numbers: Vec<Option<usize>> = Vec::new();
        let (mut are_complete, mut refused) = (true, Vec::new());
        reading.read(
            names,
            |row| filter::keeps(&arguments.filter, row),
            |many::Figure { run, origin, row, figure }| {
                if run >= numbers.len() {
                    are_complete &= origin.status == RunStatus::Complete;
                    let number = gathered.begin(origin).map_err(|reason| format!("{}: {reason}", origin.run));
                    // Runs without any of these rows have numbers, and nothing is heard of them.
                    numbers.resize(run, None);
                    numbers.push(number.map_err(|reason| refused.push(reason)).ok());
                }
                if let Some(number) = numbers[run] {
                    gathered.row(number, &row, figure.as_ref().map_err(Clone::clone));
                }
            },
        )?;
        let is_refused = !refused.is_empty();
        let many::Reading { runs, left_out: unread, without_rows, .. } = reading;
        let mut left_out = refused;
        left_out.extend(gathered.without_level().map(|(run, reason)| format!("{}: {reason}", run.run)));
        let unread = without_rows.into_iter().chain(unread);
        left_out.extend(unread.map(|left| format!("{}: {}", left.run, left.reason)));
        if runs == 0 || gathered.hosts() == 0 && matches!(over, Over::Label(_)) {
            bail!("no run can be compared over hosts: {}", left_out.join("; "));
        }
        let rows = gathered.rows().iter().map(|key| &key.row);
        if let Some(filter) = filter::unmatched(&arguments.filter, rows).filter(|_| !is_refused) {
            bail!("--filter {filter:?} matches no row of these runs; `headwater show` lists them");
        }
        gathered.expect(&arguments.expect);
        Ok(Some(Fleet { gathered, are_complete: are_complete && left_out.is_empty(), left_out }))
    }

    /// Returns whether hosts are to be the replicates: there are several, and it is not one alone that has both sides.
    fn has_replicates(&self, request: &Request) -> bool {
        self.gathered.hosts() > 1 && runs_of_only_host(&self.gathered, request).is_none()
    }

    /// Adds to a comparison on one host which this is, and which take no part.
    fn name_hosts(&self, comparison: &mut Comparison) {
        let level = |name: &String| self.gathered.levels().iter().position(|level| level == name);
        if let [Some(baseline), Some(candidate)] = [&comparison.baseline, &comparison.candidate].map(level) {
            comparison.hosts = Some(self.gathered.paired([baseline, candidate]).hosts());
        }
    }

    fn compare(&self, arguments: &CompareArguments, request: &Request) -> anyhow::Result<u8> {
        let compared = compare_hosts(&self.gathered, request).map_err(|error| match self.gathered.missing() {
            [] => error,
            missing => anyhow!("{error:#}; without any run: {}", missing.join(", ")),
        })?;
        show(&compared, &self.left_out, arguments)?;
        let status = arguments.fail_on.status_of(self.are_complete, &compared);
        std::mem::forget(compared);
        Ok(status)
    }
}

/// Prints or writes the comparisons in the form that was asked for. `left_out` has a sentence for each run that takes no part.
fn show(compared: &[Compared], left_out: &[String], arguments: &CompareArguments) -> anyhow::Result<()> {
    if let Some(output) = &arguments.output {
        let shown: Vec<_> = compared.iter().map(|one| one.shown(arguments.all_metrics)).collect();
        let page = headwater_report::comparison_page(&shown, left_out, arguments.title.as_deref());
        return report::write(output, &page, arguments.force);
    }
    if arguments.json {
        let mut out = out();
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "comparisons": compared, "left_out": left_out }))?;
        writeln!(out)?;
        return Ok(());
    }
    left_out.iter().for_each(|left| note!("headwater: {left}"));
    if arguments.csv {
        let text = headwater_report::comparison_csv(compared.iter().map(|one| &one.comparison));
        out().write_all(text.as_bytes())?;
        return Ok(());
    }
    print(compared, arguments.all_metrics)
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
    let mut out = raw();
    for (number, compared) in compared.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        out.write_all(headwater_report::comparison(&compared.shown(all_metrics), &style()).as_bytes())?;
    }
    Ok(())
}

/// A name that is no other factor is that of a label.
fn parse_factor(name: &str) -> Result<Factor, String> {
    Ok(factor::find(name).cloned().unwrap_or_else(|| Factor::label(name)))
}

/// The defaults in the help are the rules'.
const _: () = assert!(MINIMUM_EFFECT == 0.02 && ALPHA == 0.05);

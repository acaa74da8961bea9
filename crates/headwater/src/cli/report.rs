//! `headwater report`: writes runs as one self-contained HTML file, or one of its charts as SVG.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use headwater_gauge::plan::{filter, suggest};
use headwater_os::plain_file;
use headwater_report::chart::{self, Chart, Figure};
use headwater_report::{PageOptions, is_page, page, units};
use headwater_results::compare::Comparison;
use headwater_results::overhead::is_overhead;
use headwater_results::schema::{Placement, Run};

use super::output::{note, raw};
use super::{placement, runs, status};
use crate::compare::{Request, compare_runs};
use crate::replace;
use crate::sources::Loaded;
use crate::trace;

/// Write runs as one self-contained HTML file that loads nothing from elsewhere: words, charts, tables
///
/// Several runs are drawn in the same charts, and compared with the first one or with the one that --baseline names.
/// Published figures can be added: `published:pipes/fc6`. Without -o the page of one run directory is written to
/// report.html in that directory, and any other page to headwater-report.html in the current directory.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Charts: performance, delay, throughput, improvement, distribution, heatmap, forest, overhead, dots.

Examples:
  headwater report headwater-runs/2026-11-21T20-15-00Z-host
  headwater report old new --baseline old -o change.html
  headwater report mine published:pipes/fc6 --filter 'pipe*'    today beside the paper
  headwater report mine --svg delay --pattern stream -o delay.svg
  headwater report - -o - < run.json > page.html"
)]
pub(crate) struct ReportArguments {
    /// Run directories, run.json or run.jsonl files, archive:QUERY, published:TABLE[/DATASET]; `-` is a run.json on standard input
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Only rows that match the filter, as for `run`; repeatable
    #[arg(short, long, value_name = "FILTER")]
    filter: Vec<String>,

    /// The baseline of improvements and comparisons: a run, a transport or a variant
    #[arg(long, value_name = "RUN|SUBJECT")]
    baseline: Option<String>,

    /// The title of the page
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Write one chart as SVG instead of the page
    #[arg(long, value_name = "CHART", value_parser = chart_of_name)]
    svg: Option<&'static str>,

    /// With --svg: the pattern to draw
    #[arg(long, value_name = "PATTERN", requires = "svg")]
    pattern: Option<String>,

    /// With --svg: the placement to draw
    #[arg(short, long, value_name = "PLACEMENT", value_parser = placement, requires = "svg")]
    placement: Option<Placement>,

    /// Replace FILE even if it is not a report
    #[arg(long)]
    force: bool,
}

/// The most comparisons on a page.
const COMPARED_MAX: usize = 12;

pub(super) fn report(arguments: &ReportArguments) -> anyhow::Result<u8> {
    let loaded = load(arguments)?;
    let baseline = arguments.baseline.as_deref().map(|name| baseline(name, &loaded)).transpose()?;
    let runs = &loaded.runs;
    let comparisons = comparisons(runs, baseline.as_deref());
    let borrowed: Vec<(String, &Run)> = runs.iter().map(|(name, run)| (name.clone(), run)).collect();
    match arguments.svg {
        Some(name) => {
            let chart = chart::find(name).context("a chart of the table")?;
            let figures = chart::figures(chart, &borrowed, &comparisons, baseline.as_deref());
            let figure = choose(chart, &figures, arguments)?;
            let output = arguments.output.as_deref().unwrap_or(Path::new("-"));
            write(output, &figure.drawing().standalone(), arguments.force)
        }
        None => {
            let output = output(arguments);
            let beside = output.parent().map(|parent| if parent == Path::new("") { Path::new(".") } else { parent });
            let traces = arguments.runs.iter().flat_map(|run| trace::rows::links(Path::new(run), beside)).collect();
            let options = PageOptions { title: arguments.title.clone(), baseline, traces };
            write(&output, &page(&borrowed, &comparisons, &options), arguments.force)
        }
    }?;
    Ok(status::OK)
}

/// The runs with the rows that the filters keep.
fn load(arguments: &ReportArguments) -> anyhow::Result<Loaded> {
    let mut loaded = runs::load(&arguments.runs)?;
    let rows = || loaded.runs.iter().flat_map(|(_, run)| &run.results).map(|result| &result.row);
    if let Some(filter) = filter::unmatched(&arguments.filter, rows()) {
        let near = suggest::did_you_mean(filter, rows().flat_map(|row| row.id.split('/')));
        bail!("no row is named by --filter {filter}{near}; `headwater show` lists them");
    }
    for (_, run) in &mut loaded.runs {
        run.results.retain(|result| filter::keeps(&arguments.filter, &result.row));
        run.header.rows.retain(|row| filter::keeps(&arguments.filter, row));
    }
    Ok(loaded)
}

/// What `wanted` names: a run as it was typed or is called, a subject or a variant.
fn baseline(wanted: &str, loaded: &Loaded) -> anyhow::Result<String> {
    if let Some(name) = loaded.name_of(wanted) {
        return Ok(name.to_owned());
    }
    let rows = || loaded.runs.iter().flat_map(|(_, run)| &run.results).map(|result| &result.row);
    let known = || rows().flat_map(|row| [Some(row.subject.as_str()), row.variant.as_deref()]).flatten();
    if known().any(|name| name == wanted) {
        return Ok(wanted.to_owned());
    }
    let near = suggest::did_you_mean(wanted, known().chain(loaded.typed()));
    bail!("--baseline {wanted}: no run, transport or variant of that name{near}; `headwater show` lists them");
}

/// Each other run against the baseline, or each other variant of one run, by the rules of `compare`. A page needs no
/// comparison: where there is none, the reason is said and the page goes without.
fn comparisons(runs: &[(String, Run)], baseline: Option<&str>) -> Vec<Comparison> {
    let rows = || runs.iter().flat_map(|(_, run)| &run.results);
    // One launch against one launch says nothing.
    let is_replicated = rows().flat_map(|result| &result.metrics).any(|metric| metric.estimate.n > 1);
    if !is_replicated || (runs.len() < 2 && rows().all(|result| result.row.variant.is_none())) {
        return Vec::new();
    }
    // What configurations cost is judged by the null arm of the run, in a section of its own.
    if let ([(_, run)], None) = (runs, baseline)
        && is_overhead(run)
    {
        return Vec::new();
    }
    // A transport is a baseline of improvements only.
    let is_side = |name: &&str| {
        runs.iter().any(|(run, _)| run == name) || rows().any(|result| result.row.variant.as_deref() == Some(*name))
    };
    let request = Request { baseline: baseline.filter(is_side).map(str::to_owned), ..Request::default() };
    let compared = compare_runs(runs, &request).unwrap_or_else(|error| {
        note!("headwater: no comparison: {error:#}");
        Vec::new()
    });
    let is_telling = |one: &Comparison| one.rows.iter().any(|row| row.ratio.is_some_and(|ratio| ratio.n > 1));
    compared.into_iter().map(|one| one.comparison).filter(is_telling).take(COMPARED_MAX).collect()
}

fn chart_of_name(name: &str) -> Result<&'static str, String> {
    let found = chart::find(name).map(|chart| chart.name);
    found.ok_or_else(|| suggest::there_are(name, chart::TABLE.iter().map(|chart| chart.name)))
}

/// The figure of the pattern and placement that were asked for, or the first; says which others there are.
fn choose<'f>(chart: &Chart, figures: &'f [Figure], arguments: &ReportArguments) -> anyhow::Result<&'f Figure> {
    let is_meant = |figure: &&Figure| {
        arguments.pattern.as_ref().is_none_or(|pattern| *pattern == figure.pattern)
            && arguments.placement.is_none_or(|placement| Some(placement) == figure.placement)
    };
    let meant: Vec<&Figure> = figures.iter().filter(is_meant).collect();
    let names = |figures: &[&Figure]| {
        figures.iter().take(12).map(|figure| figure.heading.clone()).collect::<Vec<_>>().join("; ")
    };
    match meant.as_slice() {
        [] if figures.is_empty() => {
            bail!(
                "the chart {} has nothing to show of these runs: it takes {}; the others are in the help",
                chart.name,
                chart.needs
            )
        }
        [] => bail!("{}", no_figure(chart, figures, arguments)),
        [only] => Ok(only),
        [first, others @ ..] => {
            note!(
                "headwater: this is {}; --pattern and --placement choose the others: {}",
                first.heading,
                names(others)
            );
            Ok(first)
        }
    }
}

/// Names what was asked for and is in no figure: the pattern, else its placement; and what there is.
fn no_figure(chart: &Chart, figures: &[Figure], arguments: &ReportArguments) -> String {
    let of_pattern = |figure: &&Figure| arguments.pattern.as_ref().is_none_or(|pattern| *pattern == figure.pattern);
    let (option, word, names): (_, String, BTreeSet<&str>) = match (&arguments.pattern, arguments.placement) {
        (Some(pattern), _) if !figures.iter().any(|figure| of_pattern(&figure)) => {
            ("--pattern", pattern.clone(), figures.iter().map(|figure| figure.pattern.as_str()).collect())
        }
        (_, placement) => {
            let placements = figures.iter().filter(of_pattern).filter_map(|figure| figure.placement);
            let word = placement.map_or("", Placement::name).to_owned();
            ("--placement", word, placements.map(Placement::name).collect())
        }
    };
    let there_are = suggest::there_are(&word, names);
    format!("{option} {word}: the chart {} of these runs has no such figure; {there_are}", chart.name)
}

/// Where the page goes.
fn output(arguments: &ReportArguments) -> PathBuf {
    if let Some(output) = &arguments.output {
        return output.clone();
    }
    match arguments.runs.as_slice() {
        [only] if Path::new(only).is_dir() => Path::new(only).join("report.html"),
        _ => PathBuf::from("headwater-report.html"),
    }
}

/// Writes `text` and says where it is. A file that is there is replaced only if it is of our making, and only as a whole.
pub(super) fn write(output: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    if output == Path::new("-") {
        raw().write_all(text.as_bytes())?;
        return Ok(());
    }
    let path = || output.display().to_string();
    match fs::metadata(output) {
        Ok(there) if there.is_dir() => bail!("{}: is a directory; name a file in it", path()),
        Ok(there) if there.is_file() && !force && !is_ours(output).with_context(path)? => {
            bail!("{}: is no report; choose another file, or --force to replace it", path())
        }
        _ => {}
    }
    replace::write(output, text.as_bytes()).with_context(path)?;
    note!("{}: {} kB", path(), units::grouped(text.len() as f64 / 1e3));
    Ok(())
}

/// Whether a file is a page or a chart that this command wrote, or empty.
fn is_ours(path: &Path) -> std::io::Result<bool> {
    /// A page names its maker after its policy, which is shorter than this.
    const BEGINNING: u64 = 4096;
    let mut beginning = Vec::new();
    plain_file::open(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
    let beginning = String::from_utf8_lossy(&beginning);
    Ok(beginning.is_empty() || is_page(&beginning) || chart::is_standalone(&beginning))
}

#[cfg(test)]
mod tests;

//! `headwater export`: writes runs in the formats of other tools.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use headwater_gauge::plan::suggest::there_are;
use headwater_report::export::{self, Format, Options};

use super::output::out;
use super::{runs, status};
use crate::replace;

/// Write runs in a format that other tools read
#[derive(Clone, Debug, Args)]
#[command(after_help = "Formats:
  csv          tidy CSV: a line per row and metric; with --per-launch a line per launch
  bench        Go benchmark text, a line per launch: `benchstat old.txt new.txt` reads it
  bmf          Bencher Metric Format (JSON): benchmark, measure, value with bounds
  openmetrics  OpenMetrics text: gauges in base units, with the row's parameters as labels
  markdown     a table per run
  json         the document run.json

Examples:
  headwater export headwater-runs/old --format bench -o old.txt
  headwater export headwater-runs/* --format csv --per-launch > launches.csv
  headwater export published:pipes --format csv
  headwater show --json run | headwater export - --format markdown")]
pub(super) struct ExportArguments {
    /// Run directories, run.json or run.jsonl files, archive:QUERY, published:TABLE[/DATASET], or - for a run.json on standard input
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// The format: csv, bench, bmf, openmetrics, markdown or json
    #[arg(long, alias = "to", value_name = "FORMAT", value_parser = format)]
    format: &'static Format,

    /// Write a line per launch instead of one per estimate (csv)
    #[arg(long, alias = "launches")]
    per_launch: bool,

    /// The output file, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn format(name: &str) -> Result<&'static Format, String> {
    export::find(name).ok_or_else(|| there_are(name, export::TABLE.iter().map(|format| format.name)))
}

pub(super) fn export(arguments: &ExportArguments) -> anyhow::Result<u8> {
    let format = arguments.format;
    if arguments.per_launch && !format.has_launches {
        bail!("--per-launch is for csv; {} has its own shape: {}", format.name, format.summary);
    }
    let runs = runs::load(&arguments.runs)?.runs;
    let text = format.export(&runs, &Options { launches: arguments.per_launch });
    match &arguments.output {
        Some(path) => replace::write(path, text.as_bytes()).with_context(|| format!("{}", path.display()))?,
        None => out().write_all(text.as_bytes())?,
    }
    Ok(status::OK)
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use headwater_report::export;

    /// The help text is a constant, because the man page is generated from it.
    #[test]
    fn the_help_names_every_format() {
        let command = command();
        let export = command.find_subcommand("export").expect("there is such a subcommand");
        let help = export.get_after_help().expect("it has examples").to_string();
        for format in export::TABLE {
            assert!(help.contains(&format!("  {:12} ", format.name)), "{}", format.name);
        }
    }
}

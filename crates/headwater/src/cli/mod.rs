//! The command line. Each subcommand has its own file; `generate` makes completions and man pages from the same
//! definitions.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use headwater_os_tools::handler::{self, Handler};
use headwater_results::foreign::printable;
use headwater_results::schema::Placement;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::sources::archive::Said;
use fail_on::FailOn;
use headwater_gauge::plan::duration::Seconds;
use headwater_gauge::plan::sizes::Sizes;
use headwater_gauge::plan::suggest;
use output::note;

mod archive;
mod compare;
pub mod complete;
mod conduct;
mod doctor;
mod export;
mod fail_on;
pub mod generate;
mod help;
mod history;
mod import;
mod list;
mod noise;
mod output;
mod overhead;
mod perftest;
mod progress;
mod published;
mod remedy;
mod report;
mod run;
mod run_archive;
mod run_reporter;
mod runs;
mod show;
mod streams;
mod trace;

/// Exit statuses, as specified in MEASURING.md section 5.
pub mod status {
    /// Success.
    pub const OK: u8 = 0;
    /// `compare`, `run --fail-on`: a row is worse.
    pub const REGRESSION: u8 = 1;
    /// `streams ls`: no stream is what was asked for.
    pub const NO_MATCH: u8 = 1;
    /// `doctor`: something would improve measurements.
    pub const IMPROVABLE: u8 = 1;
    /// The command line, a file or the output path is wrong.
    pub const USAGE: u8 = 2;
    /// `compare`, `run --fail-on`: a regression cannot be excluded.
    pub const INCONCLUSIVE: u8 = 3;
    /// The run is complete, but rows were skipped or have failed.
    pub const PARTIAL: u8 = 4;
    /// Stopped by SIGINT, SIGTERM or SIGHUP.
    pub const INTERRUPTED: u8 = 130;
}

/// Measures every mechanism by which two processes on this machine can exchange messages.
#[derive(Debug, Parser)]
#[command(
    name = "headwater",
    version,
    propagate_version = true,
    after_help = "Examples:
  headwater run                        which mechanism to use on this machine, in about 90 s
  headwater run --full                 every mechanism and primitive, in a few minutes
  headwater run pipes 'pipe*'          one suite, only rows whose name starts with pipe
  headwater run pipe/rtt --sizes 1,64  round trips over a pipe
  headwater show headwater-runs/*      print runs again
  headwater doctor                     what would make measurements here better

Exit status: 0 all done, 2 wrong usage or file, 4 some rows skipped or failed, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<RunArguments>),
    List(ListArguments),
    Show(ShowArguments),
    Compare(compare::CompareArguments),
    History(history::HistoryArguments),
    Noise(noise::NoiseArguments),
    Overhead(Box<overhead::OverheadArguments>),
    Perftest(Box<perftest::PerftestArguments>),
    Report(report::ReportArguments),
    Export(export::ExportArguments),
    Archive(archive::ArchiveArguments),
    Import(import::ImportArguments),
    Trace(trace::TraceArguments),
    Streams(streams::StreamsArguments),
    Doctor(DoctorArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
    #[command(hide = true)]
    Complete(complete::CompleteArguments),
    #[command(hide = true)]
    Conduct(ConductArguments),
    #[command(hide = true)]
    Timed(overhead::TimedArguments),
}

/// Measure a suite, or the rows that match a filter; without either, the suite `choice`: which mechanism to use here
///
/// Every row is measured once in each block, in random order and in new processes; the blocks are the replicates from
/// which the intervals are computed. Every result is appended to run.jsonl at once, so that an interruption loses
/// nothing: --resume continues the run.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(
    after_help = "Suites: choice, overview, ipc, fifo, sync, lmbench, pipes, pty, why, udp, xti, netperf, use, tracing (`headwater list`).

Examples:
  headwater run                                  which mechanism to use here, in about 90 s
  headwater run --full                           every mechanism and primitive, in a few minutes
  headwater run ipc --launches 20                a suite with more launches than its default
  headwater run pipe unix-stream                 two transports, rows of the suite overview
  headwater run pipe transport:fifo              fifo is a suite too: which one is meant
  headwater run pipes '*/stream' --sizes 1..65536*4 --placement same-cpu,two-cpus
  headwater run --budget 30s                     whatever fits into half a minute
  headwater run lmbench --quick                  the kernel's basic operations, in less than a minute
  headwater run --dry-run fifo                   what it would do, and how long that takes
  headwater run --resume headwater-runs/2026-11-21T20-15-00Z-host
  headwater run 'c-pipe' pipe --transport-cmd ./peer   a program of your own beside the pipe
  headwater run --variant rt='chrt -f 10' pipe   under a real-time policy, against the plain program
  headwater run pipes --variant old=/tmp/old/headwater --variant new=   two builds in the same blocks
  headwater run --against headwater-runs/before  is it still as fast? both programs in the same blocks
  headwater run --against before --fail-on regression:5%   exit status 1 from 5 % on, for CI
  headwater run --resume headwater-runs/now --more 19   19 launches more of every row, where a verdict is open
  headwater run --label commit=$(git rev-parse --short HEAD)   for `headwater history --by commit`
  headwater run --archive postgres://db.example/runs   into the database of a team
  headwater run --json | jq -c .event            events as they happen"
)]
pub(crate) struct RunArguments {
    /// Suites and filters: `pipe`, `rtt`, `pipe/rtt`, `*/stream/64`; a filter selects rows of the named suites. A word
    /// with two readings needs `suite:`, `transport:`, `pattern:` or `facility:` before it
    #[arg(value_name = "SUITE|FILTER")]
    selection: Vec<String>,

    /// Measure every transport and primitive at a few sizes: the suite `overview`
    #[arg(long, help_heading = "What", conflicts_with = "against")]
    full: bool,

    /// Message sizes instead of the suite's: `64,4k`, `1..65536*2`, `1k..8k+1k`
    #[arg(short, long, value_name = "SIZES", help_heading = "What")]
    sizes: Option<Sizes>,

    /// Placements of the processes: same-cpu, two-cpus, free; several with commas
    #[arg(short, long, value_name = "PLACEMENT", value_delimiter = ',', value_parser = placement, help_heading = "What")]
    placement: Vec<Placement>,

    /// Measure a program that speaks the protocol of external transports, as a row like any other; repeatable
    #[arg(long, value_name = "CMD", help_heading = "What")]
    transport_cmd: Vec<String>,

    /// Measure every row also under this variant, in the same blocks: variables, a wrapper, or another headwater;
    /// repeatable
    #[arg(long, value_name = "NAME=[KEY=VALUE ...] [COMMAND ...]", help_heading = "What")]
    variant: Vec<String>,

    /// Measure the rows of RUN again, with the program that measured it (`before`) and with this one (`now`), in the
    /// same blocks
    #[arg(long, value_name = "RUN", help_heading = "What", conflicts_with_all = ["variant", "sizes", "placement"])]
    against: Option<String>,

    /// With --against or --resume, at a terminal: start this command, which the run names, although other users may have written
    /// the run; repeatable
    #[arg(long, value_name = "CMD", help_heading = "What")]
    #[serde(skip)]
    run_program: Vec<String>,

    /// For variants: when the exit status is 1 or 3, as `compare --fail-on`
    #[arg(long, value_name = "WHAT", help_heading = "Output")]
    fail_on: Option<FailOn>,

    /// Measured time per launch: `50ms`, `2s`
    #[arg(short, long, value_name = "TIME", help_heading = "How")]
    time: Option<Seconds>,

    /// Minimum warm-up per launch
    #[arg(short, long, value_name = "TIME", help_heading = "How")]
    warm_up: Option<Seconds>,

    /// Launches per row, the replicates; a verdict needs 12
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "How")]
    launches: Option<u32>,

    /// Seed of the random order; the same seed gives the same order
    #[arg(long, value_name = "NUMBER", help_heading = "How")]
    seed: Option<u64>,

    /// The time limit of the whole run; launches are shortened, then left out
    #[arg(short, long, value_name = "TIME", help_heading = "How")]
    budget: Option<Seconds>,

    /// A quick look: the same as --budget 55s
    #[arg(long, help_heading = "How", conflicts_with_all = ["budget", "time", "launches"])]
    quick: bool,

    /// Give up a row when one of its processes is silent for this long [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "How")]
    patience: Option<Seconds>,

    /// Directory of this run [default: headwater-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Add the run to this archive when it is over: a file, or postgres://USER@HOST/DATABASE; what cannot be added now is added
    /// by the next call
    #[arg(long, value_name = "PLACE", help_heading = "Output")]
    archive: Option<String>,

    /// A label of the run, such as commit=1a2b3c, by which `history` orders runs; repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Output")]
    label: Vec<String>,

    /// Continue the interrupted run in DIR, in the same order, with its own settings and the same builds; with --more
    /// also a finished run
    #[arg(long, value_name = "DIR", help_heading = "Output", conflicts_with_all = ["output", "sizes", "placement", "launches", "seed", "time", "warm_up", "transport_cmd", "selection", "full", "budget", "quick", "variant", "against", "label"])]
    #[serde(skip)]
    resume: Option<PathBuf>,

    /// With --resume: add this many launches of every row, also to a finished run, in new blocks
    #[arg(long, value_name = "COUNT", requires = "resume", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Output")]
    #[serde(skip)]
    more: Option<u32>,

    /// After the measurement, record one more launch of each row of streams, to show which process woke which; the
    /// report links it
    #[arg(long, help_heading = "Output")]
    trace: bool,

    /// Print every event as a JSON line on standard output, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print no progress and no tables, only errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Print what would be measured and how long it would take, and stop
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,

    /// Read options from a TOML file; those on the command line take precedence
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    #[serde(skip)]
    config: Option<PathBuf>,

    /// Print the effective options as TOML, ready for --config, and stop
    #[arg(long, help_heading = "Configuration")]
    #[serde(skip)]
    print_config: bool,
}

/// List suites and rows, and the reason for each row that this machine cannot run
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater list                 suites, transports, patterns, facilities
  headwater list pipes           the rows of a suite
  headwater list --all '*/rtt'   every row of every suite that the filter names
  headwater list published       the tables of reports that stand wherever a run may
  headwater list published --claims   the reports' claims against their own figures")]
pub(crate) struct ListArguments {
    /// Suites and filters, as for `run`; or `published`
    #[arg(value_name = "SUITE|FILTER")]
    selection: Vec<String>,

    /// List the rows of all suites
    #[arg(short, long)]
    all: bool,

    /// Message sizes that replace the suites'
    #[arg(short, long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// Placements that replace the suites'
    #[arg(short, long, value_name = "PLACEMENT", value_delimiter = ',', value_parser = placement)]
    placement: Vec<Placement>,

    /// Include programs that speak the protocol of external transports
    #[arg(long, value_name = "CMD")]
    transport_cmd: Vec<String>,

    /// Check the claims of the published reports against their figures
    #[arg(long, conflicts_with_all = ["all", "sizes", "placement", "transport_cmd"])]
    claims: bool,

    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

/// Print runs: tables and a verdict
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater show headwater-runs/2026-11-21T20-15-00Z-host
  headwater show run.jsonl --json | jq '.results[] | {id: .row.id, median: .metrics[0].estimate.median}'
  headwater show published:pipes/fc6     figures of a report
  headwater show published:ltt/up-a headwater-runs/today   basic operations side by side")]
pub(crate) struct ShowArguments {
    /// Run directories, run.json or run.jsonl files, archive:QUERY, published:TABLE[/DATASET], or - for a run.json on standard input
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    /// Show basic operations by LMbench's rule, for runs that have those figures
    #[arg(long, conflicts_with = "json")]
    lmbench_value: bool,

    /// Print the document run.json instead of tables
    #[arg(long)]
    json: bool,
}

/// Print what would improve measurements on this machine, with the command and its undo; changes nothing
///
/// A warning says that figures suffer, or that rows cannot be measured; a note is a fact that matters when the figures
/// are read.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater doctor                       what is found, warnings first
  headwater doctor > before.txt          to keep beside a run
  headwater doctor --json | jq -r '.[] | select(.status == \"warning\") | .remedy.command'
  headwater doctor > /dev/null || echo 'not ready to measure'

Exit status: 0 no warning (notes do not count), 1 at least one warning, 2 wrong usage.")]
pub(crate) struct DoctorArguments {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Print the script that completes this command in a shell: options, suites, rows, runs and all other names
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater completions bash > ~/.local/share/bash-completion/completions/headwater
  headwater completions zsh > \"${fpath[1]}/_headwater\"
  headwater completions fish > ~/.config/fish/completions/headwater.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: complete::Shell,
}

/// Write the man pages into a directory
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example:
  headwater man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The directory; it must exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The conductor of one launch: reads a request as JSON, answers as JSON
#[derive(Clone, Debug, Args)]
pub(crate) struct ConductArguments {
    /// The process with which the conductor dies
    #[arg(long)]
    parent: Option<u32>,
}

fn placement(text: &str) -> Result<Placement, String> {
    let all = [Placement::SameCpu, Placement::TwoCpus, Placement::Free];
    let found = all.into_iter().find(|placement| placement.name() == text);
    found.ok_or_else(|| suggest::there_are(text, all.map(Placement::name)))
}

/// The whole definition, for completions, man pages and the documentation.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    // A file beyond `ulimit -f` is an error of the write. Programs that are started from here have the default action.
    if let Err(error) = handler::install(Signal::XFSZ, Handler::Empty) {
        note!("headwater: SIGXFSZ ends this program: {error}");
    }
    if let Err(error) = headwater_terminals::register() {
        note!("headwater: {error}");
    }
    let mut definition = help::fitted(command(), help::width());
    let matches = definition.try_get_matches_from_mut(std::env::args_os());
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return print_usage(&error),
    };
    let result = match cli.command {
        Command::Run(arguments) => run::run(*arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Show(arguments) => show::show(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::History(arguments) => history::history(&arguments),
        Command::Noise(arguments) => noise::noise(arguments),
        Command::Overhead(arguments) => overhead::overhead(*arguments),
        Command::Perftest(arguments) => perftest::perftest(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Archive(arguments) => archive::archive(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Trace(arguments) => trace::trace(arguments),
        Command::Streams(arguments) => streams::streams(arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Completions(arguments) => generate::print_completions(arguments.shell),
        Command::Man(arguments) => generate::write_man_pages(&arguments.directory),
        Command::Complete(arguments) => complete::complete(&arguments),
        Command::Conduct(arguments) => conduct::conduct(&arguments),
        Command::Timed(arguments) => overhead::timed(&arguments),
    };
    // What is still in the buffer of standard output.
    let result = result.and_then(|status| Ok(output::out().flush().map(|()| status)?));
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) if output::is_closed(&error) => ExitCode::from(status::OK),
        Err(error) if error.is::<Said>() => ExitCode::from(status::USAGE),
        Err(error) => {
            note!("headwater: {}", in_words(&error));
            ExitCode::from(if error.is::<Interrupted>() { status::INTERRUPTED } else { status::USAGE })
        }
    }
}

/// A signal came before there was a launch to keep.
#[derive(Debug)]
struct Interrupted;

impl std::error::Error for Interrupted {}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("interrupted before the first launch")
    }
}

/// Returns an error with its causes, except those that its own text repeats, and with the remedy of an error of the
/// system.
fn in_words(error: &anyhow::Error) -> String {
    let said = error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.ends_with(&cause) => said,
        cause => format!("{said}: {cause}"),
    });
    remedy::add(said)
}

/// What the standard library says of a word that should be a number.
const NO_NUMBER: &str = "invalid digit found in string";

/// Prints help and version on standard output, and what is wrong with the command line on standard error.
fn print_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let harmless = printable(&text);
    // A word may be the name of a file, which is printed without colours then.
    let printed = if text.contains(NO_NUMBER) || harmless != text {
        // The standard library's words do not say what was expected.
        write!(std::io::stderr().lock(), "{}", harmless.replace(NO_NUMBER, "it is not a whole number"))
    } else {
        error.print()
    };
    match printed {
        Ok(()) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(status::USAGE)),
        Err(failure) if failure.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(status::OK),
        Err(failure) => {
            let stream = if error.use_stderr() { "standard error" } else { "standard output" };
            note!("headwater: {}", remedy::add(format!("{stream}: {failure}")));
            ExitCode::from(status::USAGE)
        }
    }
}

#[cfg(test)]
mod tests;

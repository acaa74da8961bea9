//! `headwater perftest`: the pipe experiment by the options of its own program. Turns the options into a plan of rows,
//! which the same harness measures as for `run`, and prints a line for each interval and a table by write size.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use headwater_gauge::plan::duration::Seconds;
use headwater_gauge::plan::perftest::{Experiment, Mechanisms, Movement, SIZES};
use headwater_gauge::plan::sizes::{Sizes, bytes};
use headwater_gauge::plan::{Plan, RunRequest};
use headwater_gauge::transports::stream_options::StreamOptions;
use headwater_os::cpu;
use headwater_results::schema::Placement;
use headwater_streams::{Options, limits};

use super::output::raw;
use super::run::{Execution, Prepared, dry_run, execute, run_id, seed};
use super::show::style;
use super::{placement, status};
use crate::store::RUNS;

/// The default measured time of each size and mechanism, s.
const TIME_S: f64 = 3.0;

/// The default number of intervals: a verdict needs as many launches.
const INTERVALS: f64 = 12.0;

/// The most intervals of a row.
const INTERVALS_MAX: f64 = 10_000.0;

/// Measure a pipe or FIFO by the options of perftest, the program of the STREAMS pipe experiment
///
/// A writer writes messages of one size as fast as it can, one write each, and a reader reads them. Without -s this is
/// done for 1, 2, 4, ... 4096 bytes, as in the published tables. STREAMS is measured unless --native selects the kernel's
/// pipe or --both both by turns. Every interval is one launch of new processes; sizes, mechanisms and placements take turns in
/// random order. The run is stored as `headwater run` stores one: show, report, compare and export read it.
#[derive(Clone, Debug, Default, Args)]
#[command(
    after_help = "The options are those of the old program. The published reports name hold, mread, full and readfill; what the others
meant is not published, and this text defines it. A letter means what it means in every other subcommand.

Examples:
  headwater perftest                       STREAMS pipe, 1 to 4096 bytes, on one CPU and freely placed
  headwater perftest --native              the same over the kernel's pipe
  headwater perftest --both --push 0,1,4   the kernel's pipe and STREAMS with 0, 1 and 4 modules, by turns
  headwater perftest -s 64 -t 10 -i 1      one size for ten seconds, a line each second
  headwater perftest --both -HMR --readfill -p free    what CentOS 5.2 was measured with (published:pipes/cos52)
  headwater perftest --lowat 8192          with the water marks of the experiment
  headwater report RUN published:pipes/fc6        beside the figures of the paper

Exit status: 0 all done, 2 wrong usage, 4 some rows skipped or failed, 130 interrupted."
)]
pub(crate) struct PerftestArguments {
    /// Measure the kernel's pipe or FIFO instead of STREAMS
    #[arg(long, conflicts_with = "both", help_heading = "What")]
    native: bool,

    /// Measure STREAMS and the kernel's pipe or FIFO by turns
    #[arg(long, help_heading = "What")]
    both: bool,

    /// Use a FIFO, which is opened by its name, instead of a pipe
    #[arg(short = 'F', long, help_heading = "What")]
    fifo: bool,

    /// Write sizes: `64`, `1..4096*2`, `1k,4k` [default: 1..4096*2]
    #[arg(short, long, alias = "size", value_name = "SIZES", help_heading = "What")]
    sizes: Option<Sizes>,

    /// Where the processes run: same-cpu, two-cpus, free; several with commas [default: same-cpu,free]
    #[arg(short, long, value_name = "PLACEMENT", value_delimiter = ',', value_parser = placement, help_heading = "What")]
    placement: Vec<Placement>,

    /// Two processes, a writer and a reader at once; this is the default
    #[arg(long, help_heading = "How data moves")]
    r#async: bool,

    /// One process reads and writes: it writes until the pipe is full, then reads until it is empty
    #[arg(short, long, conflicts_with_all = ["async", "full"], help_heading = "How data moves")]
    rdwr: bool,

    /// Full reads: the reader asks for 64 KiB, whatever the write size is
    #[arg(short = 'R', long = "full-reads", alias = "full", help_heading = "How data moves")]
    full: bool,

    /// The module to push
    #[arg(short, long, value_name = "NAME", default_value = "nullmod", help_heading = "STREAMS")]
    module: String,

    /// How many modules to push on the writer's end; several numbers with commas are measured by turns
    #[arg(long, value_name = "COUNT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=limits::NSTRPUSH as i64), help_heading = "STREAMS")]
    push: Vec<u32>,

    /// Push srvmod, which queues each message for its service procedure: the same as -m srvmod, at least once
    #[arg(short = 'S', long, conflicts_with = "module", help_heading = "STREAMS")]
    service: bool,

    /// Hold small writes back while the reader sleeps (SNDHOLD)
    #[arg(short = 'H', long, help_heading = "STREAMS")]
    hold: bool,

    /// Read notification: a waiting reader says how many bytes it waits for (SNDMREAD)
    #[arg(short = 'M', long, help_heading = "STREAMS")]
    mread: bool,

    /// Read fill: a read waits until it has as many bytes as it asked for (RFILL)
    #[arg(long, help_heading = "STREAMS")]
    readfill: bool,

    /// The high-water mark in bytes: the writer waits while more is unread [default: 64k]
    #[arg(long, value_name = "BYTES", value_parser = mark, help_heading = "STREAMS")]
    hiwat: Option<u32>,

    /// The low-water mark in bytes: a writer that waited continues below it [default: half of --hiwat; the experiment
    /// had 8192]
    #[arg(long, value_name = "BYTES", value_parser = mark, help_heading = "STREAMS")]
    lowat: Option<u32>,

    /// Measured time of each size and mechanism, in seconds or with a unit [default: 3]
    #[arg(short, long, value_name = "TIME", help_heading = "Time")]
    time: Option<Seconds>,

    /// Report after each interval of this time [default: a twelfth of --time]
    #[arg(short, long, value_name = "TIME", help_heading = "Time")]
    interval: Option<Seconds>,

    /// Write and read for at least this time before each interval is measured [default: a fifth of the interval, at
    /// most 0.1 s]
    #[arg(short, long, value_name = "TIME", help_heading = "Time")]
    warm_up: Option<Seconds>,

    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", help_heading = "Time")]
    seed: Option<u64>,

    /// Directory of this run [default: headwater-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print every event as a JSON line, instead of intervals and tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print only the tables
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Print what would be measured and how long it would take, and stop
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
}

pub(super) fn perftest(arguments: &PerftestArguments) -> anyhow::Result<u8> {
    let cpus = cpu::allowed()?;
    let plan = arguments.plan(cpus.len())?;
    if arguments.dry_run {
        dry_run(&plan, arguments.json)?;
        return Ok(status::OK);
    }
    let directory = arguments.output.clone().unwrap_or_else(|| Path::new(RUNS).join(run_id()));
    let execution = Execution {
        json: arguments.json,
        quiet: arguments.quiet || arguments.json,
        launch_line: (!arguments.quiet && !arguments.json).then_some(headwater_report::perftest_interval),
        ..Execution::default()
    };
    let measured = execute(
        Prepared { plan, directory, events: None, labels: BTreeMap::new(), skipped: Vec::new() },
        &cpus,
        &execution,
    )?;
    if !arguments.json {
        write!(raw(), "\n{}", headwater_report::perftest(&measured.run, &style()))?;
        measured.print_end()?;
    }
    measured.end()
}

impl PerftestArguments {
    /// Returns the plan: the rows of the experiment, and one launch for each interval.
    fn plan(&self, cpus: usize) -> anyhow::Result<Plan> {
        let experiment = self.experiment(cpus)?;
        let (launches, interval_s) = self.intervals()?;
        let warm_up_s = self.warm_up.map_or((interval_s / 5.0).min(0.1), |time| time.0);
        let request = RunRequest {
            placements: experiment.placements.clone(),
            time_s: Some(interval_s),
            warm_up_s: Some(warm_up_s),
            launches: Some(launches),
            seed: self.seed,
            rows: Some(experiment.rows()),
            ..RunRequest::default()
        };
        let mut plan = Plan::new(&request, cpus, seed)?;
        // No suite was named, so none decides.
        plan.settings.budget_s = None;
        Ok(plan)
    }

    /// Returns the number of intervals and the duration of each, s.
    fn intervals(&self) -> anyhow::Result<(u32, f64)> {
        let time_s = self.time.map_or(TIME_S, |time| time.0);
        let interval_s = self.interval.map_or(time_s / INTERVALS, |interval| interval.0).min(time_s);
        let count = (time_s / interval_s).round().max(1.0);
        if count > INTERVALS_MAX {
            bail!("--time {time_s} s has {count} intervals of {interval_s} s, more than {INTERVALS_MAX}");
        }
        Ok((count as u32, interval_s))
    }

    fn experiment(&self, cpus: usize) -> anyhow::Result<Experiment> {
        let options = StreamOptions {
            push: None,
            hold: self.hold,
            notify: self.mread,
            fill: self.readfill,
            hiwat: self.hiwat,
            lowat: self.lowat,
        };
        let push = match &self.push[..] {
            [] => vec![u32::from(self.service)],
            counts => counts.to_vec(),
        };
        let experiment = Experiment {
            mechanisms: match (self.native, self.both) {
                (true, _) => Mechanisms::Native,
                (_, true) => Mechanisms::Both,
                _ => Mechanisms::Streams,
            },
            is_fifo: self.fifo,
            movement: match (self.rdwr, self.full) {
                (true, _) => Movement::OneProcess,
                (_, true) => Movement::FullReads,
                _ => Movement::TwoProcesses,
            },
            sizes: self.sizes.as_ref().map_or_else(|| SIZES.to_vec(), |sizes| sizes.0.clone()),
            placements: self.placements(cpus),
            module: if self.service { "srvmod".to_owned() } else { self.module.clone() },
            push,
            options,
        };
        check(&experiment)?;
        Ok(experiment)
    }

    fn placements(&self, cpus: usize) -> Vec<Placement> {
        match &self.placement[..] {
            // One process or one CPU leaves no choice.
            [] if self.rdwr || cpus < 2 => vec![Placement::SameCpu],
            [] => vec![Placement::SameCpu, Placement::Free],
            chosen => chosen.to_vec(),
        }
    }
}

/// Checks what clap cannot: that the options make sense together, and that a stream accepts them.
fn check(experiment: &Experiment) -> anyhow::Result<()> {
    let modules = experiment.push.iter().copied().max().unwrap_or(0);
    if experiment.mechanisms == Mechanisms::Native {
        if modules > 0 || experiment.options != StreamOptions::default() {
            bail!(
                "--native measures the kernel's {}, which has no modules, water marks or options of a stream; leave them out, \
                 or use --both, where they apply to STREAMS",
                if experiment.is_fifo { "FIFO" } else { "pipe" }
            );
        }
        return Ok(());
    }
    let parameters = experiment.options.parameters(Options::new(), limits::HIWAT);
    let (end, _other) = parameters.pipe().map_err(|error| match parameters.check() {
        Err(error) => anyhow!("--hiwat and --lowat: {error}"),
        Ok(()) => anyhow!("cannot make a STREAMS pipe: {error}"),
    })?;
    if modules > 0 {
        let module = &experiment.module;
        end.push(module).map_err(|error| anyhow!("--module {module}: {error}"))?;
    }
    Ok(())
}

/// Parses a water mark.
fn mark(text: &str) -> Result<u32, String> {
    let bytes = bytes(text).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("{text:?} is no number of bytes; write it like 8192 or 64k"))
}

#[cfg(test)]
mod tests;

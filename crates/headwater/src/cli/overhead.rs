//! `headwater overhead`: selects the configurations that this machine supports, runs the blocks, and prints the tables.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use headwater_gauge::environment;
use headwater_gauge::harness::external::words;
use headwater_gauge::harness::program::Program;
use headwater_gauge::harness::run::Observer;
use headwater_gauge::harness::scratch::Scratch;
use headwater_gauge::plan::duration::{self, Seconds};
use headwater_gauge::plan::{sizes, suggest};
use headwater_os::{clock, cpu};
use headwater_os_tools::signal::StopSignals;
use headwater_results::overhead::Overhead;
use headwater_results::schema::{Event, Placement, Row, RunHeader, RunStatus, SCHEMA_VERSION, Settings};

use super::output::{out, raw};
use super::run::{now, reproduction, run_id, seed};
use super::run_reporter::{Closed, RunReporter};
use super::show::style;
use super::{Interrupted, status};
use crate::overhead::arms::{self, Arm};
use crate::overhead::block_runner::{BLOCKS_MAX, OverheadRunner, Repeats};
use crate::overhead::kernel::{EVENTS, Tracing};
use crate::overhead::user::Sessions;
use crate::overhead::workloads::{self, BUILT_IN, Workload};
use crate::overhead::{rows, timed};
use crate::store::{RUNS, Store};

/// The default number of blocks: the test needs 6; an interval of a percent or two needs more.
const BLOCKS: u32 = 20;

/// Measure what tracing costs a command: without tracing, under kernel sessions, under other tracers
///
/// Every configuration runs the command once in each block, in random order. The cost is the ratio to `off` within
/// blocks. It is printed as a figure only if it is larger than the difference between `null` and `off`, which are the
/// same configuration. Kernel sessions record the whole machine, as the old experiment did, and slow it down while they
/// run. Sessions of our tracer record the events of programs that are linked with it; other programs have none, and the
/// row shows 0 events.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Workloads, these three also without a command:
  compile        a C compiler over generated files
  compress       bzip2 over a generated text
  lmbench-calls  the rows of LMbench with a system call, a fault or a switch
By name only:
  lmbench        all rows of LMbench that the published report of the tracer has

Configurations:
  off            no tracing
  null           the same once more: what differs from off is noise
  armed          events of the kernel are enabled, but their buffers record nothing
  flight         events of the kernel are recorded, the newest stay in the buffers
  drain          events of the kernel are recorded, and written to a file meanwhile
  built          the program of --built, without tracing
  user-flight    events of the program are recorded, the newest stay in the buffers
  user-drain     events of the program are recorded, and written to a file meanwhile
  perf-record, perf-trace, bpftrace-count, strace, lttng-ust
                 tools of others, where they are installed

Examples:
  headwater overhead -- make -B                 what tracing costs this command
  headwater overhead --blocks 60 -- ./a-short-one
  headwater overhead compile compress           two workloads of the old report
  headwater overhead lmbench-calls --budget 5m  rows of LMbench by configuration
  taskset -c 0 headwater overhead lmbench       all rows of the report, on one CPU as its first machine
  headwater overhead --configs off,null,drain,strace -k raw_syscalls -- ls -R /usr
  headwater overhead --configs null,user-flight,user-drain -e 'shop:*' -- ./server --self-test
  headwater overhead --built './with-events 1000' -- ./without-events 1000
  headwater overhead --command-only -- ./server --self-test   others on the machine are not recorded

Exit status: 0 all done, 2 wrong usage or a command that fails, 4 a configuration was skipped or failed, 130 interrupted.")]
pub(crate) struct OverheadArguments {
    /// Built-in workloads
    #[arg(value_name = "WORKLOAD", conflicts_with = "command")]
    workloads: Vec<String>,

    /// The command
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,

    /// Configurations; `off` is always included [default: off,null,armed,flight,drain, with --built also
    /// built,user-flight,user-drain]
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', help_heading = "What")]
    configs: Vec<String>,

    /// Events of the kernel sessions, as `available_events` of tracefs names them; repeatable
    /// [default: raw_syscalls, sched, irq, exceptions, signal, timer]
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "What")]
    kernel: Vec<String>,

    /// Events of the program in user-flight and user-drain, such as `shop:*`; several with commas, or repeated
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*", help_heading = "What")]
    events: Vec<String>,

    /// Record only the command and its children, not the whole machine
    #[arg(long, help_heading = "What")]
    command_only: bool,

    /// The same command as a program that is linked with our tracer, for the configurations built, user-flight and
    /// user-drain
    #[arg(long, value_name = "CMD", requires = "command", help_heading = "What")]
    built: Option<String>,

    /// Bytes of each CPU's buffer in kernel sessions, from 8k to 4g
    #[arg(long, value_name = "SIZE", default_value = "8m", value_parser = buffer, help_heading = "How")]
    buffer: u32,

    /// Blocks: each configuration runs once in each [default: 20, or as many as --budget allows]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(BLOCKS_MAX)), help_heading = "How")]
    blocks: Option<u32>,

    /// The time limit of the blocks; at least one block is measured
    #[arg(short, long, value_name = "TIME", help_heading = "How")]
    budget: Option<Seconds>,

    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", help_heading = "How")]
    seed: Option<u64>,

    /// Directory of this run [default: headwater-runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print every figure, with what may be said of it, as one JSON document instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print no progress
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// The process that runs a command for `overhead` and times it
#[derive(Clone, Debug, Args)]
pub(crate) struct TimedArguments {
    /// The file with the request
    #[arg(value_name = "FILE")]
    order: PathBuf,

    /// The process with which it dies, if that is not its parent
    #[arg(long)]
    parent: Option<u32>,
}

pub(super) fn timed(arguments: &TimedArguments) -> anyhow::Result<u8> {
    timed::serve(&arguments.order, arguments.parent)?;
    Ok(status::OK)
}

/// KiB.
fn buffer(text: &str) -> Result<u32, String> {
    let bytes = sizes::bytes(text).ok_or_else(|| format!("{text:?} is no size; write it like 512k or 8m"))?;
    let kib = u32::try_from(bytes >> 10).ok().filter(|kib| (8..=4 << 20).contains(kib));
    kib.ok_or_else(|| "it takes 8k to 4g".to_owned())
}

pub(super) fn overhead(arguments: OverheadArguments) -> anyhow::Result<u8> {
    let tracing = tracing(&arguments);
    let chosen = chosen(&arguments)?;
    let cpus = cpu::allowed()?;
    // From here on signals are read as events, and do not end the process.
    let stop = StopSignals::watch()?;
    let scratch = Scratch::new().context("no private directory for this run")?;
    let (workloads, missing) = workloads(&arguments, &scratch)?;
    let built = arguments.built.as_deref().map(|text| words(text).map_err(|what| anyhow!("--built {text:?}: {what}")));
    let built = built.transpose()?.map(|words| workloads::of_command(&words));
    let user = Sessions::new(&arguments.events, scratch.path());
    let mut reasons = Vec::new();
    let mut arms = Vec::new();
    for arm in chosen {
        match arm.obstacle(&tracing, &user, built.is_some()).map_err(|error| anyhow!("--kernel: {error}"))? {
            None => arms.push(arm),
            Some(reason) => reasons.push((arm, reason)),
        }
    }
    let seed = arguments.seed.unwrap_or_else(seed);
    let blocks = arguments.blocks.or(arguments.budget.is_none().then_some(BLOCKS));
    let runner = OverheadRunner {
        workloads: &workloads,
        built: built.as_ref(),
        arms: &arms,
        tracing: &tracing,
        user: &user,
        blocks,
        time_s: arguments.budget.map(|time| time.0),
        seed,
        cpus: &cpus,
    };
    if !runner.warm_up(&scratch, &stop)? {
        return Err(Interrupted.into());
    }
    let directory = arguments.output.clone().unwrap_or_else(|| Path::new(RUNS).join(run_id()));
    let store = Store::create(&directory)?;
    let is_json = arguments.json;
    let mut teller = RunReporter::new(store, false, arguments.quiet, runner.time_s);
    let all = runner.rows();
    let header = header(&directory, &runner, all, &arguments);
    teller.progress.say_others(&header.environment.load);
    teller.event(&Event::RunStarted(Box::new(header)))?;
    for (arm, reason) in reasons {
        for row in workloads.iter().map(|workload| rows::of_workload(workload, arm)) {
            teller.event(&Event::RowSkipped { row, reason: reason.clone() })?;
        }
    }
    for (name, reason) in &missing {
        let row = rows::of_workload(&workloads::of_command(std::slice::from_ref(name)), arms[0]);
        teller.event(&Event::RowSkipped { row, reason: reason.clone() })?;
    }
    let skipped = !missing.is_empty() || arms.len() < chosen_count(&arguments);
    let end = runner.run(&scratch, &stop, &mut teller);
    let Closed { run, directory, end } = teller.close(end)?;
    drop((scratch, user));
    if is_json {
        let mut out = out();
        serde_json::to_writer_pretty(&mut out, &Overhead::of(&run))?;
        writeln!(out)?;
    } else {
        raw().write_all(headwater_report::terminal(&run, &style()).as_bytes())?;
        let mut out = out();
        let blocks_left_out = end.as_ref().map_or(0, |(end, _)| end.blocks_left_out);
        if let Some(blocks) = arguments.blocks.filter(|_| blocks_left_out > 0) {
            let done = blocks - blocks_left_out;
            writeln!(
                out,
                "--budget {} ended the run after {done} of {blocks} blocks.",
                arguments.budget.map_or_else(String::new, |time| duration::words(time.0))
            )?;
        }
        if let Ok((_, Repeats { launches, repeated })) = &end {
            writeln!(
                out,
                "{repeated} of {launches} launches were repeated, because a CPU was slow at one of their ends."
            )?;
        }
        writeln!(out, "Kept in {}", directory.display())?;
    }
    Ok(match end?.0.status {
        RunStatus::Interrupted => status::INTERRUPTED,
        RunStatus::Complete if !skipped => status::OK,
        RunStatus::Complete | RunStatus::Partial => status::PARTIAL,
    })
}

fn tracing(arguments: &OverheadArguments) -> Tracing {
    let mut tracing =
        Tracing { buffer_kb: arguments.buffer, command_only: arguments.command_only, ..Tracing::default() };
    if !arguments.kernel.is_empty() {
        tracing.events.clone_from(&arguments.kernel);
    }
    tracing
}

/// The configurations asked for, in the order of the table. Those of programs with our tracer only by name, or by the command of
/// `built`: others have no events.
fn chosen(arguments: &OverheadArguments) -> anyhow::Result<Vec<&'static Arm>> {
    let mut names = arguments.configs.clone();
    if names.is_empty() {
        names = ["null", "armed", "flight", "drain"].map(str::to_owned).into();
        if arguments.built.is_some() {
            names.extend(["built", "user-flight", "user-drain"].map(str::to_owned));
        }
    }
    names.push("off".to_owned());
    for name in &names {
        arms::find(name).map_err(|what| anyhow!("--configs: {what}"))?;
    }
    Ok(arms::TABLE.iter().filter(|arm| names.iter().any(|name| name == arm.name)).collect())
}

fn chosen_count(arguments: &OverheadArguments) -> usize {
    chosen(arguments).map_or(0, |arms| arms.len())
}

type Missing = Vec<(String, String)>;

/// What is run, and what this machine cannot, each with its reason.
fn workloads(arguments: &OverheadArguments, scratch: &Scratch) -> anyhow::Result<(Vec<Workload>, Missing)> {
    if !arguments.command.is_empty() {
        return Ok((vec![workloads::of_command(&arguments.command)], Vec::new()));
    }
    let names: Vec<&str> = match &arguments.workloads[..] {
        [] => workloads::DEFAULT.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    if [workloads::CALLS, workloads::LMBENCH].iter().all(|name| names.contains(name)) {
        bail!("{} is a part of {}: name one of them", workloads::CALLS, workloads::LMBENCH);
    }
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        if !BUILT_IN.contains(&name) {
            bail!("{}; a command of yours stands behind --", suggest::there_are(name, BUILT_IN));
        }
        match workloads::built_in(name, scratch.path()).with_context(|| format!("cannot make workload {name}"))? {
            Ok(workload) => found.push(workload),
            Err(reason) => missing.push((name.to_owned(), reason)),
        }
    }
    match missing.first() {
        Some((name, reason)) if found.is_empty() => bail!("{name}: {reason}"),
        _ => Ok((found, missing)),
    }
}

fn header(directory: &Path, runner: &OverheadRunner<'_>, rows: Vec<Row>, arguments: &OverheadArguments) -> RunHeader {
    let clock = clock::measure();
    let events = if arguments.kernel.is_empty() { EVENTS.join(",") } else { arguments.kernel.join(",") };
    let variant = |arm: &&Arm| {
        let events = if arm.is_of_user() { &arguments.events.join(",") } else { &events };
        format!("{}={} ({events})", arm.name, arm.summary)
    };
    RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: env!("CARGO_PKG_VERSION").into(),
        run_id: directory.file_name().map_or_else(run_id, |name| name.to_string_lossy().into_owned()),
        started_at: now(),
        command: reproduction(runner.seed),
        program: Program::own().ok().and_then(|program| program.identity().ok()),
        variant_programs: std::collections::BTreeMap::new(),
        labels: std::collections::BTreeMap::new(),
        settings: Settings {
            selection: runner.workloads.iter().map(|workload| workload.name.clone()).collect(),
            launches: runner.blocks.unwrap_or(0),
            time_s: 0.0,
            warm_up_s: 0.0,
            budget_s: runner.time_s,
            seed: runner.seed,
            placements: vec![Placement::Free],
            transport_commands: Vec::new(),
            variants: runner.arms.iter().map(variant).collect(),
        },
        rows,
        environment: environment::capture(),
        clock_read_ns: clock.read_ns,
        clock_resolution_ns: clock.resolution_ns,
    }
}

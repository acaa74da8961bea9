//! `headwater run`: plan, probe, directory, blocks, document, tables; in this order, so that every error that can be
//! found early is reported before the first launch.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use headwater_gauge::harness::launch::ConductorError;
use headwater_gauge::harness::program::Program as HarnessProgram;
use headwater_gauge::harness::run::{BlockRunner, End, Observer, probe, repetition_allowance_s};
use headwater_gauge::harness::scratch::Scratch;
use headwater_gauge::plan::duration::Seconds;
use headwater_gauge::plan::undecided::Undecided;
use headwater_gauge::plan::variants::Variant;
use headwater_gauge::plan::{Column, Plan, RunRequest, duration, selection};
use headwater_gauge::{environment, suites};
use headwater_os::{clock, cpu, plain_file};
use headwater_os_tools::signal::StopSignals;
use headwater_report::plural;
use headwater_results::foreign::file_name;
use headwater_results::history::By;
use headwater_results::schema::{Event, Program, Row, Run, RunHeader, RunStatus, SCHEMA_VERSION};

use super::output::{note, out, raw};
use super::run_reporter::{Closed, LaunchLine, RunReporter};
use super::show::style;
use super::{RunArguments, run_archive, status};
use crate::against::Against;
use crate::compare::{Compared, Request, compare_runs};
use crate::store::{RUNS, Store};
use crate::{stored_commands, trace};

/// The budget of `--quick`, s: with the probe and the tables less than a minute.
const QUICK_S: f64 = 55.0;

pub(super) fn run(arguments: RunArguments) -> anyhow::Result<u8> {
    let mut arguments = with_config(arguments)?;
    if arguments.print_config {
        out().write_all(toml::to_string(&arguments).context("cannot write the options as TOML")?.as_bytes())?;
        return Ok(status::OK);
    }
    if arguments.full {
        arguments.selection.insert(0, format!("{}{}", selection::SUITE, suites::WHOLE.name));
    }
    let silent = arguments.json || arguments.quiet;
    let fail_on = arguments.fail_on;
    let archive = arguments.archive.clone();
    let Some(mut measured) = measure(arguments)? else { return Ok(status::OK) };
    if let (Some(archive), Ok(_)) = (&archive, &measured.end) {
        measured.is_archived = run_archive::end(archive, &measured.directory);
    }
    let runs = [(measured.run.header.run_id.clone(), measured.run.clone())];
    let compared = match (measured.run.header.settings.variants.is_empty(), silent && fail_on.is_none()) {
        (false, false) => Some(compare_runs(&runs, &Request::default())),
        _ => None,
    };
    if !silent {
        measured.print(compared.as_ref())?;
    }
    Ok(match (fail_on, measured.end()?) {
        (None, status) | (_, status @ status::INTERRUPTED) => status,
        // If no comparison is possible, nothing is proved, and where rows have failed they are missing.
        (Some(fail_on), ended) => match compared {
            Some(Ok(compared)) => {
                let status = fail_on.status(&runs, &compared);
                if let Some(reason) = fail_on.reason(status, &compared) {
                    note!("headwater: {reason}");
                }
                status
            }
            Some(Err(error)) if silent => {
                note!("headwater: {error:#}");
                ended.max(status::INCONCLUSIVE)
            }
            _ => ended.max(status::INCONCLUSIVE),
        },
    })
}

/// A run that is over.
pub(super) struct Measured {
    /// The run.
    pub run: Run,
    /// Where it is kept.
    pub directory: PathBuf,
    /// The exit status that says how it ended, or why it could not be stored.
    pub end: anyhow::Result<u8>,
    /// Blocks that the budget left out.
    blocks_left_out: u32,
    /// Whether it is in an archive too.
    is_archived: bool,
}

/// Measures and stores a run; returns `None` if the arguments only ask what would be done. Prints the progress, and the
/// events if requested.
pub(super) fn measure(arguments: RunArguments) -> anyhow::Result<Option<Measured>> {
    let cpus = cpu::allowed()?;
    let prepared = prepare(&arguments, &cpus)?;
    if arguments.dry_run {
        dry_run(&prepared.plan, arguments.json)?;
        return Ok(None);
    }
    if let Some(archive) = &arguments.archive {
        run_archive::begin(archive, &prepared.directory)?;
    }
    let execution = Execution {
        json: arguments.json,
        quiet: arguments.quiet,
        patience: arguments.patience,
        more: arguments.more,
        trace: arguments.trace,
        launch_line: None,
    };
    execute(prepared, &cpus, &execution).map(Some)
}

/// How a plan is executed, and what is printed meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Execution {
    /// Whether events are printed as JSON lines.
    pub json: bool,
    /// Whether no progress is printed.
    pub quiet: bool,
    /// How long a process may be silent.
    pub patience: Option<Seconds>,
    /// The launches that a resumption adds.
    pub more: Option<u32>,
    /// Whether one more launch of each row of streams is recorded.
    pub trace: bool,
    /// The line that is printed after each launch.
    pub launch_line: Option<LaunchLine>,
}

/// Measures and stores the run of a plan.
pub(super) fn execute(prepared: Prepared, cpus: &[u32], execution: &Execution) -> anyhow::Result<Measured> {
    let Prepared { plan, directory, events, labels, skipped } = prepared;
    let mut runner = BlockRunner::new(&plan, cpus).map_err(|error| anyhow!(error))?;
    // From here on signals are read as events, and do not end the process.
    let stop = StopSignals::watch()?;
    let scratch = Scratch::new().context("no private directory for this run")?;
    // Before the directory is made: a run that cannot begin leaves none behind.
    let refused = match &events {
        None => Some(refused(&runner, &scratch, &stop)?),
        Some(_) => None,
    };
    let store = match &events {
        None => Store::create(&directory)?,
        Some(_) => Store::resume(&directory)?.0,
    };
    let mut teller = RunReporter::new(store, execution.json, execution.quiet, plan.settings.budget_s);
    teller.launch_line = execution.launch_line;
    if let Some(patience) = execution.patience {
        runner.patience_s = patience.0;
    }
    for event in events.into_iter().flatten() {
        runner.take_up(&event);
        teller.fold.push(event)?;
    }
    if let Some(reasons) = refused {
        let header = RunHeader { labels, ..header(&plan, &directory, &runner.programs) };
        let load = header.environment.load.clone();
        teller.event(&Event::RunStarted(Box::new(header)))?;
        for (row, reason) in rows_with(&plan, &reasons).chain(skipped) {
            runner.given_up.insert(row.id.clone());
            teller.event(&Event::RowSkipped { row, reason })?;
        }
        teller.progress.say_others(&load);
        let rows = plan.rows.len() - reasons.len();
        let (rows, launches) = (plural(rows, "row"), plural(plan.settings.launches as usize, "launch"));
        teller.progress.say(&format!("{rows} x {launches}, {}", expected(&plan)));
        for words in left_out(&plan).into_iter().chain(undecided(&plan)) {
            teller.progress.say(&words);
        }
    } else {
        teller.progress.say_others(&environment::capture().load);
        teller.event(&Event::RunResumed { at: now(), launches: execution.more.map(|_| plan.settings.launches) })?;
    }
    let end = runner.run(&scratch, &stop, &mut teller);
    let Closed { run, directory, end } = teller.close(end)?;
    let end = match end {
        Ok(end) => end,
        Err(error) => return Ok(Measured { run, directory, end: Err(error), blocks_left_out: 0, is_archived: false }),
    };
    if execution.trace && end.signal.is_none() {
        let count = trace::rows::record(&runner, &directory, &scratch, &stop)?;
        if !execution.quiet {
            note!("headwater: traces of {count} rows; `headwater report {}` links them", directory.display());
        }
    }
    drop(scratch);
    Ok(finish(run, directory, end))
}

/// The rows that this machine cannot run, with the reasons.
fn refused(
    runner: &BlockRunner<'_>,
    scratch: &Scratch,
    stop: &StopSignals,
) -> anyhow::Result<BTreeMap<String, String>> {
    probe(runner, scratch, stop).map_err(|error| match error {
        ConductorError::Broken(what) => anyhow!("cannot find out what runs here: {what}"),
        ConductorError::Stopped(_) => super::Interrupted.into(),
    })
}

/// What a run starts from.
pub(super) struct Prepared {
    /// What is measured.
    pub plan: Plan,
    /// Where the run is stored.
    pub directory: PathBuf,
    /// The events so far of a run that is taken up again.
    pub events: Option<Vec<Event>>,
    /// The labels of a new run.
    pub labels: BTreeMap<String, String>,
    /// Rows that are not in the plan and are skipped, with the reason.
    pub skipped: Vec<(Row, String)>,
}

fn prepare(arguments: &RunArguments, cpus: &[u32]) -> anyhow::Result<Prepared> {
    if let (Some(command), None, None) = (arguments.run_program.first(), &arguments.against, &arguments.resume) {
        bail!("--run-program {command}: no run is repeated; with --against or --resume it permits what the run names");
    }
    if let Some(directory) = &arguments.resume {
        let (store, events) = Store::resume(directory)?;
        let Some(Event::RunStarted(header)) = events.first() else {
            bail!("{}: the events do not begin with a run", directory.display());
        };
        if arguments.more.is_none()
            && matches!(events.last(), Some(Event::RunFinished { status: RunStatus::Complete, .. }))
        {
            bail!(
                "{}: this run is complete; `headwater show` prints it, --more COUNT measures that many more launches of every row",
                directory.display()
            );
        }
        if header.rows.iter().any(|row| row.pattern == headwater_results::overhead::PROBE) {
            bail!(
                "{}: a run of `headwater overhead` is not taken up again; `headwater show` prints it",
                directory.display()
            );
        }
        // Before the plan, which starts external transports to ask for their names.
        let (what, commands) =
            (format!("--resume {}", directory.display()), stored_commands::of_settings(&header.settings));
        stored_commands::permit(&what, store.foreign(), &commands, &arguments.run_program)?;
        let mut plan = Plan::of_header(header)?;
        same_programs(header, &plan).map_err(|what| anyhow!("{}: {what}", directory.display()))?;
        if let Some(launches) = events.iter().rev().find_map(launches_wanted) {
            plan.settings.launches = launches;
            plan.settings.budget_s = None;
        }
        if let Some(more) = arguments.more {
            plan.settings.launches = launches_of(&events, plan.settings.launches) + more;
            plan.settings.budget_s = None;
            if plan.settings.launches > LAUNCHES_MAX {
                bail!("--more {more}: a run has at most {LAUNCHES_MAX} launches of a row");
            }
        }
        comparable(arguments, &plan)?;
        let (labels, skipped) = (BTreeMap::new(), Vec::new());
        return Ok(Prepared { plan, directory: directory.clone(), events: Some(events), labels, skipped });
    }
    let old = arguments.against.as_deref();
    let old =
        old.map(|name| Against::of(name, &arguments.run_program, arguments.transport_cmd.is_empty())).transpose()?;
    let wishes = RunRequest {
        selection: arguments.selection.clone(),
        sizes: arguments.sizes.clone(),
        placements: arguments.placement.clone(),
        time_s: arguments.time.map(|time| time.0),
        warm_up_s: arguments.warm_up.map(|time| time.0),
        launches: arguments.launches,
        seed: arguments.seed,
        budget_s: arguments.budget.map(|time| time.0).or(arguments.quick.then_some(QUICK_S)),
        transport_commands: arguments.transport_cmd.clone(),
        variants: arguments.variant.clone(),
        rows: None,
    };
    let (wishes, skipped) = match old {
        Some(old) => {
            old.warnings().iter().for_each(|warning| note!("headwater: {warning}"));
            let skipped = old.skipped(&arguments.selection);
            (old.wishes(wishes), skipped)
        }
        None => (wishes, Vec::new()),
    };
    let plan = Plan::new(&wishes, cpus.len(), seed)?;
    comparable(arguments, &plan)?;
    let directory = arguments.output.clone().unwrap_or_else(|| Path::new(RUNS).join(run_id()));
    Ok(Prepared { plan, directory, events: None, labels: labels(&arguments.label)?, skipped })
}

/// Reads `NAME=VALUE`.
fn labels(words: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if name.is_empty() || value.is_empty() {
            bail!("--label {word:?}: a label is NAME=VALUE, such as commit=1a2b3c");
        }
        if By::named(name) != By::Label(name.to_owned()) {
            bail!("--label {word:?}: every run has a {name} of its own; choose another name");
        }
        if labels.insert(name.to_owned(), value.to_owned()).is_some() {
            bail!("--label {word:?}: {name} has a value already; a run has one value of each label");
        }
    }
    Ok(labels)
}

/// More launches of a row than a run may have are a mistake.
const LAUNCHES_MAX: u32 = 10_000;

/// Launches per row that a resumption asked for.
fn launches_wanted(event: &Event) -> Option<u32> {
    match event {
        Event::RunResumed { launches, .. } => *launches,
        _ => None,
    }
}

/// Launches that every row has or was to have: of a run that came to its end those that its budget let it have.
fn launches_of(events: &[Event], planned: u32) -> u32 {
    let blocks = events.iter().filter_map(|event| match event {
        Event::LaunchFinished(record) => Some(record.block + 1),
        _ => None,
    });
    match events.last() {
        Some(Event::RunFinished { status: RunStatus::Complete | RunStatus::Partial, .. }) => blocks.max().unwrap_or(0),
        _ => planned,
    }
}

/// Launches of another build are not those of the same row.
fn same_programs(header: &RunHeader, plan: &Plan) -> Result<(), String> {
    let remedy = "measure again, or go on with the program of that time";
    let differs = |was: &Program, is: &Program| was.fingerprint != is.fingerprint;
    let own = HarnessProgram::own()?.identity().map_err(|error| error.to_string())?;
    if header.program.as_ref().is_some_and(|was| differs(was, &own)) {
        return Err(format!("this headwater is not the build that measured it; {remedy}"));
    }
    for variant in &plan.variants {
        let Some(was) = header.variant_programs.get(&variant.name) else { continue };
        let is = HarnessProgram::open(variant)?.identity().map_err(|error| format!("{}: {error}", was.path))?;
        if differs(was, &is) {
            return Err(format!(
                "{}, the program of variant {}, was built again since; {remedy}",
                was.path, variant.name
            ));
        }
    }
    Ok(())
}

/// Only variants can be compared within a run.
fn comparable(arguments: &RunArguments, plan: &Plan) -> anyhow::Result<()> {
    if arguments.fail_on.is_some() && plan.variants.is_empty() {
        bail!("--fail-on compares the variants of a run, and this one has none: add --variant or --against");
    }
    Ok(())
}

/// The most bytes of a configuration.
const CONFIG_MAX: u64 = 1 << 20;

/// The options of the command line, and those of the configuration where the command line is silent.
fn with_config(typed: RunArguments) -> anyhow::Result<RunArguments> {
    let Some(path) = typed.config.clone() else { return Ok(typed) };
    let text = plain_file::read_text(&path, CONFIG_MAX).with_context(|| format!("--config {}", path.display()))?;
    let file: RunArguments = toml::from_str(&text).map_err(|error| wrong_config(&path, &text, &error))?;
    let either = |typed: Vec<String>, file: Vec<String>| if typed.is_empty() { file } else { typed };
    if file.launches.is_some_and(|launches| !(1..=10_000).contains(&launches)) {
        bail!("--config {}: launches is between 1 and 10000", path.display());
    }
    Ok(RunArguments {
        selection: either(typed.selection, file.selection),
        full: typed.full || file.full,
        sizes: typed.sizes.or(file.sizes),
        placement: if typed.placement.is_empty() { file.placement } else { typed.placement },
        transport_cmd: either(typed.transport_cmd, file.transport_cmd),
        variant: either(typed.variant, file.variant),
        label: either(typed.label, file.label),
        archive: typed.archive.or(file.archive),
        against: typed.against.or(file.against),
        fail_on: typed.fail_on.or(file.fail_on),
        time: typed.time.or(file.time),
        warm_up: typed.warm_up.or(file.warm_up),
        launches: typed.launches.or(file.launches),
        seed: typed.seed.or(file.seed),
        // Of two ways to say the same the typed one counts.
        budget: if typed.quick { None } else { typed.budget.or(file.budget) },
        quick: typed.quick || file.quick && typed.budget.is_none(),
        patience: typed.patience.or(file.patience),
        output: typed.output.or(file.output),
        trace: typed.trace || file.trace,
        json: typed.json || file.json,
        quiet: typed.quiet || file.quiet,
        dry_run: typed.dry_run || file.dry_run,
        run_program: typed.run_program,
        resume: typed.resume,
        more: typed.more,
        config: typed.config,
        print_config: typed.print_config,
    })
}

/// What is wrong with a configuration, and where.
fn wrong_config(path: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let what = error.message().lines().collect::<Vec<_>>().join(" ");
    anyhow!("--config {}: line {line}: {what}; `headwater run --print-config` writes an example", path.display())
}

pub(super) fn dry_run(plan: &Plan, json: bool) -> anyhow::Result<()> {
    let mut out = out();
    if json {
        for planned in &plan.rows {
            serde_json::to_writer(&mut out, &planned.row)?;
            writeln!(out)?;
        }
        return Ok(());
    }
    for planned in &plan.rows {
        writeln!(out, "{}", planned.row.id)?;
    }
    let settings = &plan.settings;
    writeln!(
        out,
        "\n{} x {} of {} (warm-up {}), seed {}: {}. Nothing was measured.",
        plural(plan.rows.len(), "row"),
        plural(settings.launches as usize, "launch"),
        duration::words(settings.time_s),
        duration::words(settings.warm_up_s),
        settings.seed,
        expected(plan),
    )?;
    for words in left_out(plan).into_iter().chain(undecided(plan)) {
        writeln!(out, "{words}")?;
    }
    Ok(())
}

fn expected(plan: &Plan) -> String {
    let estimate_s = plan.estimate_s();
    match plan.settings.budget_s {
        Some(budget_s) if budget_s < estimate_s => format!(
            "at most {} (all of it would take about {})",
            duration::words(budget_s),
            duration::words(estimate_s)
        ),
        _ => format!(
            "about {}, at most {} if the machine is so busy that launches are repeated",
            duration::words(estimate_s),
            duration::words(estimate_s + repetition_allowance_s(plan))
        ),
    }
}

/// Says before the first launch that the comparison can show nothing, and what one that can costs.
fn undecided(plan: &Plan) -> Option<String> {
    let Undecided { rows, launches, needed, more_s, is_budget } = plan.undecided()?;
    let (launches, rows, more) = (plural(launches as usize, "launch"), plural(rows, "row"), duration::words(more_s));
    let remedy = match is_budget {
        true => format!("the budget holds no more; {needed} can, with a --budget that is {more} larger"),
        false => format!("--launches {needed} can, {more} more"),
    };
    Some(format!("{launches} cannot show a difference in any of {rows}: {remedy}."))
}

/// Says which columns the budget does not hold, before the first launch.
fn left_out(plan: &Plan) -> Option<String> {
    const NAMED: usize = 3;
    let columns = &plan.left_out;
    let more = columns.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let words = |column: &Column| {
        let size = headwater_report::units::size(column.size_bytes.unwrap_or(0));
        format!("{} {size} x {}, {}", column.pattern, column.messages, column.placement.name())
    };
    let named = columns[..columns.len().min(NAMED)].iter().map(words).collect::<Vec<_>>().join("; ");
    (!columns.is_empty())
        .then(|| format!("The budget does not hold these columns, which are left out whole: {named}{more}."))
}

fn rows_with(plan: &Plan, reasons: &BTreeMap<String, String>) -> impl Iterator<Item = (Row, String)> {
    plan.rows.iter().filter_map(|planned| Some((planned.row.clone(), reasons.get(&planned.row.id)?.clone())))
}

/// A seed that is drawn.
pub(super) fn seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    // Short enough to be typed again.
    since.as_nanos() as u64 % 1_000_000_007
}

/// The time as files have it.
pub(super) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// The name of a run that begins now.
pub(super) fn run_id() -> String {
    format!("{}-{}", now().replace(':', "-"), file_name(&headwater_os_tools::machine::uname().host))
}

fn header(plan: &Plan, directory: &Path, programs: &BTreeMap<Option<String>, HarnessProgram>) -> RunHeader {
    let clock = clock::measure();
    let of_other = |variant: &Variant| {
        variant.program.as_ref()?;
        let program = programs.get(&Some(variant.name.clone()))?;
        Some((variant.name.clone(), program.identity().ok()?))
    };
    let settings = plan.settings.clone();
    RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: env!("CARGO_PKG_VERSION").into(),
        run_id: directory.file_name().map_or_else(run_id, |name| name.to_string_lossy().into_owned()),
        started_at: now(),
        command: reproduction(settings.seed),
        program: HarnessProgram::own().ok().and_then(|program| program.identity().ok()),
        variant_programs: plan.variants.iter().filter_map(of_other).collect(),
        labels: BTreeMap::new(),
        settings,
        rows: plan.rows.iter().map(|planned| planned.row.clone()).collect(),
        environment: environment::capture(),
        clock_read_ns: clock.read_ns,
        clock_resolution_ns: clock.resolution_ns,
    }
}

/// The command line as typed, with the seed that was drawn.
pub(super) fn reproduction(seed: u64) -> Vec<String> {
    let mut command: Vec<String> = std::iter::once("headwater".to_owned()).chain(std::env::args().skip(1)).collect();
    run_archive::without(&mut command);
    if !command.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        // Before the command of others, where there is one.
        let at = command.iter().position(|word| word == "--").unwrap_or(command.len());
        command.splice(at..at, ["--seed".to_owned(), seed.to_string()]);
    }
    command
}

fn finish(run: Run, directory: PathBuf, end: End) -> Measured {
    let status = match end.status {
        RunStatus::Complete => status::OK,
        RunStatus::Partial => status::PARTIAL,
        RunStatus::Interrupted => status::INTERRUPTED,
    };
    Measured { run, directory, end: Ok(status), blocks_left_out: end.blocks_left_out, is_archived: false }
}

impl Measured {
    /// Returns the exit status. Of an interrupted run, says how to continue: the last line, below its tables.
    ///
    /// # Errors
    /// Why the run could not be stored.
    pub(super) fn end(self) -> anyhow::Result<u8> {
        if let Ok(status::INTERRUPTED) = self.end {
            note!("headwater: interrupted; `headwater run --resume {}` goes on", self.directory.display());
        }
        self.end
    }

    /// Prints where the run is stored, and what the budget left out; nothing if it could not be stored.
    pub(super) fn print_end(&self) -> anyhow::Result<()> {
        if self.end.is_err() {
            return Ok(());
        }
        let mut out = out();
        let launches = self.run.header.settings.launches;
        match launches - self.blocks_left_out {
            0 => writeln!(out, "The budget ended the run in its first block; raise it, or choose fewer rows.")?,
            whole if whole < launches => writeln!(
                out,
                "The budget ended the run with {whole} of {launches} launches of every row; a larger one gives the rest."
            )?,
            _ => {}
        }
        let archive = if self.is_archived { ", and in the archive" } else { "" };
        writeln!(out, "Kept in {}{archive}", self.directory.display())?;
        Ok(())
    }

    /// Tables and words; of a run with variants how they compare, which is what it was made for.
    fn print(&self, compared: Option<&anyhow::Result<Vec<Compared>>>) -> anyhow::Result<()> {
        let run = &self.run;
        match compared {
            None => raw().write_all(headwater_report::terminal(run, &style()).as_bytes())?,
            Some(Ok(compared)) => super::compare::print(compared, false)?,
            // An interrupted run may have nothing to compare yet.
            Some(Err(error)) => note!("headwater: {error:#}"),
        }
        self.print_end()
    }
}

//! Runs `headwater overhead`: blocks of launches in random order, each stored when it ends, until there are enough
//! blocks, the time is up or a signal arrives.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{anyhow, bail};
use headwater_gauge::environment;
use headwater_gauge::harness::cpu_check::CpuCheck;
use headwater_gauge::harness::run::{End, Observer, Share};
use headwater_gauge::harness::scratch::Scratch;
use headwater_gauge::harness::watch::Watch;
use headwater_gauge::plan::order;
use headwater_os_tools::machine::Throttle;
use headwater_os_tools::signal::StopSignals;
use headwater_results::overhead::{EVENTS, LOST, SEEN};
use headwater_results::schema::{Event, LaunchRecord, Row, RowOutcome, RunStatus};

use super::arms::{Arm, Kind, Probe};
use super::kernel::{Counts, Tracing};
use super::rows;
use super::timed::{Failure, Running, TIMED, Task, Timed, TimedRequest};
use super::tool::ToolCounts;
use super::user::{Sessions, UserSession};
use super::workloads::Workload;
use crate::store;

/// The duration of the getppid probe in each launch, s.
const PROBE_S: f64 = 0.05;

/// By how much repetitions may extend the launches, as a share of their time. Each launch adds its share: with a single
/// allowance for the run, a machine that is slow throughout would use it up in the first block.
const REPEATED: f64 = 0.5;

/// The maximum number of blocks.
pub const BLOCKS_MAX: u32 = 10_000;

/// Runs the blocks of `headwater overhead`: workloads, configurations and settings.
#[derive(Debug)]
pub struct OverheadRunner<'a> {
    /// The workloads.
    pub workloads: &'a [Workload],
    /// The workload that replaces them in configurations with a program linked with the tracer.
    pub built: Option<&'a Workload>,
    /// The configurations that this machine can measure, `off` first.
    pub arms: &'a [&'static Arm],
    /// The settings of kernel sessions.
    pub tracing: &'a Tracing,
    /// The settings of sessions of our tracer.
    pub user: &'a Sessions,
    /// The maximum number of blocks; `None` for as many as the time allows.
    pub blocks: Option<u32>,
    /// The time limit, s; the first block is always measured.
    pub time_s: Option<f64>,
    /// The seed of the random order.
    pub seed: u64,
    /// The CPUs that this process may use.
    pub cpus: &'a [u32],
}

/// One launch of a block: what to run, and under which configuration.
#[derive(Clone, Copy, Debug)]
struct BlockItem<'a> {
    target: Target<'a>,
    arm: &'static Arm,
}

/// What a launch runs.
#[derive(Clone, Copy, Debug)]
enum Target<'a> {
    Workload(&'a Workload),
    Probe(Probe),
}

/// The result of a launch.
#[derive(Debug)]
struct Launched {
    timed: Timed,
    /// The counts of the session, if there was one.
    counts: Option<Counts>,
    /// The number of events that another tracer reports.
    seen: Option<ToolCounts>,
}

/// The state that launches share.
struct RunContext<'a> {
    scratch: &'a Scratch,
    stop: &'a StopSignals,
    cpu_check: CpuCheck,
    throttle: Option<Throttle>,
    started: Instant,
    repeats: Repeats,
}

/// How many launches there were, and how many of them were made again because a CPU was slow at one of their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// All launches, the repeated ones included.
    pub launches: u32,
    /// Those whose figures another launch has replaced.
    pub repeated: u32,
}

impl<'a> OverheadRunner<'a> {
    /// Returns the rows, in the order of the tables.
    pub fn rows(&self) -> Vec<Row> {
        let arms = || self.arms.iter();
        let of_workloads = self.workloads.iter().flat_map(|workload| arms().flat_map(|arm| rows::all(workload, arm)));
        of_workloads.chain(self.probes().map(|(probe, arm)| rows::of_probe(probe, arm))).collect()
    }

    fn probes(&self) -> impl Iterator<Item = (Probe, &'static Arm)> {
        self.arms.iter().flat_map(|&arm| arm.probes(self.arms).iter().map(move |&probe| (probe, arm)))
    }

    fn items(&self) -> Vec<BlockItem<'a>> {
        let workloads = self.workloads.iter();
        let of = |workload| self.arms.iter().map(move |&arm| BlockItem { target: Target::Workload(workload), arm });
        let probes = self.probes().map(|(probe, arm)| BlockItem { target: Target::Probe(probe), arm });
        workloads.flat_map(of).chain(probes).collect()
    }

    /// Runs every workload once without tracing and without storing the result, so that a command that fails is
    /// reported at once, and files are in the page cache.
    ///
    /// # Errors
    /// The error of the command. Returns false if a signal arrived.
    pub fn warm_up(&self, scratch: &Scratch, stop: &StopSignals) -> anyhow::Result<bool> {
        let mut context = self.context(scratch, stop);
        for workload in self.workloads.iter().chain(self.built) {
            match self.launch(BlockItem { target: Target::Workload(workload), arm: self.arms[0] }, &mut context) {
                Ok(_) => {}
                Err(Failure::Stopped(_)) => return Ok(false),
                Err(Failure::Failed(what)) => bail!("{}: {what}", workload.name),
            }
            let _ = workload.run.as_ref().map(fs::remove_dir_all);
        }
        Ok(true)
    }

    /// Runs the blocks. The last event contains the final status and the environment after the run. Also returns how
    /// often launches were repeated.
    ///
    /// # Errors
    /// Errors of the observer.
    pub fn run(
        &self,
        scratch: &Scratch,
        stop: &StopSignals,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<(End, Repeats)> {
        let items = self.items();
        let blocks = self.blocks.unwrap_or(BLOCKS_MAX);
        let total = items.len() * blocks as usize;
        let mut context = self.context(scratch, stop);
        let mut end = End { status: RunStatus::Complete, signal: None, blocks_left_out: 0 };
        let mut given_up = BTreeSet::new();
        let mut block_s = 0.0_f64;
        'blocks: for block in 0..blocks {
            let block_started = Instant::now();
            let elapsed_s = context.started.elapsed().as_secs_f64();
            if block > 0 && self.time_s.is_some_and(|time_s| elapsed_s + block_s > time_s) {
                end.blocks_left_out = blocks - block;
                break;
            }
            for (position, index) in order(items.len(), self.seed, block).into_iter().enumerate() {
                let item = items[index];
                let row = self.row(item);
                if given_up.contains(&row.id) {
                    continue;
                }
                observer.launch(&row, block, Share::Counted { done: block as usize * items.len() + position, total });
                let place = (block, position as u32);
                match self.measure(item, &row, place, &mut context, observer)? {
                    Ok(()) => {}
                    Err(Failure::Stopped(signal)) => {
                        end.status = RunStatus::Interrupted;
                        end.signal = Some(signal);
                        break 'blocks;
                    }
                    Err(Failure::Failed(reason)) => {
                        // A tool that does not work here fails at its first launch.
                        end.status = RunStatus::Partial;
                        match (block, item.arm.kind) {
                            (0, Kind::Tool(_)) => observer.event(&Event::RowSkipped { row: row.clone(), reason })?,
                            _ => observer.event(&Event::LaunchFailed { row: row.id.clone(), block, reason })?,
                        }
                        given_up.insert(row.id);
                    }
                }
            }
            block_s = block_s.max(block_started.elapsed().as_secs_f64());
        }
        let environment = Box::new(environment::capture());
        observer.event(&Event::RunFinished { status: end.status, environment })?;
        Ok((end, context.repeats))
    }

    fn context<'s>(&self, scratch: &'s Scratch, stop: &'s StopSignals) -> RunContext<'s> {
        let cpu_check = CpuCheck::new(self.cpus, 0.0);
        RunContext {
            scratch,
            stop,
            cpu_check,
            throttle: Throttle::find(),
            started: Instant::now(),
            repeats: Repeats::default(),
        }
    }

    fn row(&self, item: BlockItem<'_>) -> Row {
        match item.target {
            Target::Workload(workload) => rows::of_workload(workload, item.arm),
            Target::Probe(probe) => rows::of_probe(probe, item.arm),
        }
    }

    /// Measures one launch, and repeats it if the CPUs were disturbed. Every attempt becomes an event, and the last one
    /// counts.
    fn measure(
        &self,
        item: BlockItem<'_>,
        row: &Row,
        (block, position): (u32, u32),
        context: &mut RunContext<'_>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Result<(), Failure>> {
        for attempt in 1.. {
            let before = context.cpu_check.wait(None);
            let started_s = context.started.elapsed().as_secs_f64();
            let watch = Watch::start(context.throttle.as_ref());
            let launched = match self.launch(item, context) {
                Ok(launched) => launched,
                Err(failure) => return Ok(Err(failure)),
            };
            let seen = watch.end(context.throttle.as_ref());
            if attempt == 1 {
                context.cpu_check.add_allowance(seen.elapsed_s * REPEATED);
            }
            let slowdown = context.cpu_check.slowdown(None).max(before);
            let mut record = LaunchRecord {
                row: row.id.clone(),
                block,
                position,
                started_s,
                elapsed_s: seen.elapsed_s,
                batch_operations: 1,
                steady: true,
                steal: seen.steal,
                foreign_load: seen.foreign_load,
                ..LaunchRecord::default()
            };
            record.counters.insert("cpu_slowdown_ratio".to_owned(), slowdown);
            record.counters.extend(seen.throttled_s.map(|seconds| ("throttled_s".to_owned(), seconds)));
            let inner = record.clone();
            fill(&mut record, &launched, item.is_probe());
            observer.event(&Event::LaunchFinished(Box::new(record)))?;
            if let Target::Workload(Workload { run: Some(run), .. }) = item.target {
                take_rows(run, &inner, item.arm, observer)?;
                fs::remove_dir_all(run)?;
            }
            context.repeats.launches += 1;
            if !context.cpu_check.should_repeat(slowdown, attempt, seen.elapsed_s) {
                return Ok(Ok(()));
            }
            context.repeats.repeated += 1;
        }
        unreachable!("attempts are limited")
    }

    fn launch(&self, item: BlockItem<'_>, context: &mut RunContext<'_>) -> Result<Launched, Failure> {
        let failed = |what: &dyn std::fmt::Display| Failure::Failed(what.to_string());
        let path = |name: &str| context.scratch.path().join(name);
        let [file, errors, said, recorded] = ["order.json", "errors", "said", "recorded.data"].map(path);
        let tracing = if item.is_probe() { &self.tracing.of_probe() } else { self.tracing };
        let (task, codes) = match item.target {
            Target::Workload(workload) => {
                let built = self.built.filter(|_| item.arm.takes_built());
                let workload = built.unwrap_or(workload);
                (workload.task.clone(), workload.codes)
            }
            Target::Probe(Probe::Calls) => (Task::Calls { time_s: PROBE_S }, &[0][..]),
            Target::Probe(Probe::Events) => (Task::Events, &[0][..]),
        };
        let order =
            serde_json::to_vec(&TimedRequest { task, errors: errors.clone() }).map_err(|error| failed(&error))?;
        fs::write(&file, order).map_err(|error| failed(&error))?;
        let own = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut words = [own.as_path(), TIMED.as_ref(), &file].map(|word| word.to_string_lossy().into_owned()).to_vec();
        match item.arm.kind {
            Kind::Tool(tool) => words = tool.wrap(words, &tracing.events, &recorded),
            _ => words.extend(["--parent".to_owned(), std::process::id().to_string()]),
        }
        let outcome = self.watched(item, tracing, &words, &said, context);
        let (timed, counts) = outcome.map_err(|failure| match failure {
            Failure::Failed(what) => Failure::Failed(with_last_line(what, &said)),
            stopped @ Failure::Stopped(_) => stopped,
        })?;
        let seen = match item.arm.kind {
            Kind::Tool(tool) => tool.count(&recorded, &fs::read(&said).unwrap_or_default()),
            _ => None,
        };
        match timed.code {
            Some(code) if codes.contains(&code) => Ok(Launched { timed, counts, seen }),
            Some(code) => Err(Failure::Failed(with_last_line(format!("it ended with status {code}"), &errors))),
            None => Err(Failure::Failed(with_last_line("a signal ended it".to_owned(), &errors))),
        }
    }

    /// Runs the process from start to end, with the session around the part that is timed.
    fn watched(
        &self,
        item: BlockItem<'_>,
        tracing: &Tracing,
        words: &[String],
        said: &Path,
        context: &RunContext<'_>,
    ) -> Result<(Timed, Option<Counts>), Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
        let kind = item.arm.kind;
        let user = self.user.start(kind, item.is_probe()).map_err(Failure::Failed)?;
        let mut running = Running::start(words, user.as_ref().map(UserSession::memory), said, context.stop)?;
        let kernel = tracing.start(kind, running.id(), context.scratch.path()).map_err(|error| failed(&error))?;
        let timed = running.time(context.stop)?;
        kernel.as_ref().map(|recording| recording.pause()).transpose().map_err(|error| failed(&error))?;
        running.end(context.stop)?;
        let counts = match (kernel, user) {
            (Some(kernel), _) => Some(kernel.stop()),
            (None, user) => user.map(UserSession::stop),
        };
        Ok((timed, counts.transpose().map_err(Failure::Failed)?))
    }
}

impl BlockItem<'_> {
    fn is_probe(&self) -> bool {
        matches!(self.target, Target::Probe(_))
    }
}

/// Fills in the figures of a launch.
fn fill(record: &mut LaunchRecord, launched: &Launched, is_probe: bool) {
    let Timed { elapsed_s, user_s, system_s, calls, .. } = launched.timed;
    if is_probe {
        record.series.insert("elapsed".to_owned(), vec![elapsed_s * 1e9 / calls.max(1) as f64]);
        record.counters.insert("calls".to_owned(), calls as f64);
    } else {
        record.series.insert("elapsed".to_owned(), vec![elapsed_s]);
        record.series.insert("cpu".to_owned(), vec![user_s + system_s]);
    }
    record.counters.extend([("user_s".to_owned(), user_s), ("system_s".to_owned(), system_s)]);
    if let Some(Counts { events, lost }) = launched.counts {
        record.counters.extend([(EVENTS.to_owned(), events as f64), (LOST.to_owned(), lost as f64)]);
    }
    if let Some(ToolCounts { events, lost }) = launched.seen {
        record.counters.insert(SEEN.to_owned(), events as f64);
        record.counters.extend(lost.map(|lost| (LOST.to_owned(), lost as f64)));
    }
}

/// Takes the rows of a run that the workload has left, as launches of this run.
fn take_rows(run: &Path, of: &LaunchRecord, arm: &Arm, observer: &mut dyn Observer) -> anyhow::Result<()> {
    let inner = store::read(run).map_err(|error| anyhow!("the run that was the workload: {error}"))?.run;
    for result in inner.results {
        let row = rows::under(result.row, arm);
        match result.outcome {
            RowOutcome::Measured => {
                let series = result.metrics.iter().map(|metric| (metric.metric.name.clone(), metric.launches.clone()));
                let series = series.filter(|(name, _)| row.metrics.iter().any(|metric| metric.name == *name)).collect();
                let record = LaunchRecord { row: row.id, series, ..of.clone() };
                observer.event(&Event::LaunchFinished(Box::new(record)))?;
            }
            RowOutcome::Skipped { reason } => observer.event(&Event::RowSkipped { row, reason })?,
            RowOutcome::Failed { reason } => {
                observer.event(&Event::LaunchFailed { row: row.id, block: of.block, reason })?;
            }
            RowOutcome::Pending => {}
        }
    }
    Ok(())
}

/// Returns the error with the last line that the program printed.
fn with_last_line(what: String, file: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
    match text.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{what}: {}", line.trim()),
        None => what,
    }
}

//! A run: blocks of launches in random order, each stored as it ends, until the plan, the budget or the user says stop.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_os_tools::machine::Throttle;
use headwater_os_tools::signal::StopSignals;
use headwater_results::schema::{Event, LaunchRecord, Placement, Row, RunStatus};

use super::conduct::{Job, Measured, Outcome};
use super::cpu_check::CpuCheck;
use super::launch::{ConductorError, ConductorRequest, ask_conductor};
use super::program::Program;
use super::scratch::Scratch;
use super::watch::{LaunchConditions, Watch};
use crate::environment;
use crate::plan::{Plan, PlannedRow};

/// How long a worker may keep silent by default, s: far above any round, short enough to wait for.
pub const PATIENCE_S: f64 = 10.0;

/// How long the conductor itself may take beyond its workers' patience before the whole launch is killed.
const CONDUCTOR_PATIENCE_S: f64 = 60.0;

/// What a run tells while it goes on: to the store, the progress bar, the event stream.
pub trait Observer {
    /// Something to be kept.
    ///
    /// # Errors
    /// If it cannot be kept; the run then ends.
    fn event(&mut self, event: &Event) -> anyhow::Result<()>;

    /// A launch is about to start. Drawing is allowed now and in [`Observer::event`] only: nothing is timed then.
    fn launch(&mut self, row: &Row, block: u32, done: usize, total: usize);
}

/// What is known of a run before it starts or goes on.
#[derive(Debug)]
pub struct BlockRunner<'a> {
    /// What is measured.
    pub plan: &'a Plan,
    /// The CPUs that this process may use.
    pub cpus: &'a [u32],
    /// What runs the launches of each variant; of rows without one the one that has no name.
    pub programs: BTreeMap<Option<String>, Program>,
    /// How long a worker may keep silent, s.
    pub patience_s: f64,
    /// Launches that are done already: row id and block.
    pub done: BTreeSet<(String, u32)>,
    /// Rows that are not measured any more, because they are skipped or have failed.
    pub given_up: BTreeSet<String>,
    /// Seconds that earlier sessions of this run took.
    pub earlier_s: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Complete, partial or interrupted.
    pub status: RunStatus,
    /// The signal that interrupted it.
    pub signal: Option<i32>,
    /// Blocks that the budget left out.
    pub blocks_left_out: u32,
}

/// Finds out which rows this machine cannot run, with the reasons.
///
/// # Errors
/// If the conductor cannot be started or a signal came.
pub fn probe(
    runner: &BlockRunner<'_>,
    scratch: &Scratch,
    stop: &StopSignals,
) -> Result<BTreeMap<String, String>, ConductorError> {
    let patience = Duration::from_secs_f64(CONDUCTOR_PATIENCE_S);
    let mut refused = BTreeMap::new();
    for (variant, program) in &runner.programs {
        let rows: Vec<&PlannedRow> =
            runner.plan.rows.iter().filter(|planned| planned.row.variant == *variant).collect();
        let jobs = rows.iter().enumerate().map(|(index, planned)| runner.job(planned, scratch, index as u64)).collect();
        let reasons: Vec<Option<String>> = ask_conductor(program, &ConductorRequest::Probe { jobs }, stop, patience)
            .map_err(|error| of_variant(error, variant.as_deref()))?;
        refused
            .extend(rows.iter().zip(reasons).filter_map(|(planned, reason)| Some((planned.row.id.clone(), reason?))));
    }
    Ok(refused)
}

/// Names the variant whose program gave no answer.
fn of_variant(error: ConductorError, variant: Option<&str>) -> ConductorError {
    match (error, variant) {
        (ConductorError::Broken(what), Some(variant)) => ConductorError::Broken(format!(
            "{what}; can the command of --variant {variant} run headwater of this protocol?"
        )),
        (error, _) => error,
    }
}

impl<'a> BlockRunner<'a> {
    /// A course from the beginning.
    ///
    /// # Errors
    /// If the program of a variant cannot be opened.
    pub fn new(plan: &'a Plan, cpus: &'a [u32]) -> Result<BlockRunner<'a>, String> {
        let named = plan.variants.iter().map(|variant| {
            let program = Program::open(variant).map_err(|error| format!("--variant {}: {error}", variant.name))?;
            Ok((Some(variant.name.clone()), program))
        });
        let mut programs = named.collect::<Result<BTreeMap<_, _>, String>>()?;
        if programs.is_empty() {
            programs.insert(None, Program::own()?);
        }
        let (done, given_up) = (BTreeSet::new(), BTreeSet::new());
        Ok(BlockRunner { plan, cpus, programs, patience_s: PATIENCE_S, done, given_up, earlier_s: 0.0 })
    }

    /// Takes note of an event of an earlier session: what is done is not done again.
    pub fn take_up(&mut self, event: &Event) {
        match event {
            Event::LaunchFinished(record) => {
                self.done.insert((record.row.clone(), record.block));
                self.earlier_s = self.earlier_s.max(record.started_s + record.elapsed_s);
            }
            Event::RowSkipped { row, .. } => {
                self.given_up.insert(row.id.clone());
            }
            Event::LaunchFailed { row, .. } => {
                self.given_up.insert(row.clone());
            }
            _ => {}
        }
    }
}

impl BlockRunner<'_> {
    fn job(&self, planned: &PlannedRow, scratch: &Scratch, number: u64) -> Job {
        let settings = &self.plan.settings;
        Job {
            row: planned.row.clone(),
            time_s: settings.time_s,
            warm_up_s: settings.warm_up_s,
            cpus: cpus_for(planned.row.placement, self.cpus),
            directory: scratch.path().to_owned(),
            token: format!("hw-{}-{number}", std::process::id()),
            repetitions: self.plan.repetitions,
            command: planned.command.clone(),
            patience_s: self.patience_s,
        }
    }

    /// Runs all blocks. The environment afterwards and the status are the last event.
    ///
    /// # Errors
    /// What the observer reports.
    pub fn run(&mut self, scratch: &Scratch, stop: &StopSignals, observer: &mut dyn Observer) -> anyhow::Result<End> {
        let started = Instant::now();
        let settings = &self.plan.settings;
        let total = self.plan.rows.len() * settings.launches as usize;
        let mut end = End { status: RunStatus::Complete, signal: None, blocks_left_out: 0 };
        let mut block_s = 0.0_f64;
        let cpu_check = CpuCheck::new(self.cpus, repetition_allowance_s(self.plan));
        let mut context = RunContext { scratch, stop, started, cpu_check, throttle: Throttle::find() };
        let over_budget = |elapsed_s: f64| settings.budget_s.is_some_and(|budget_s| elapsed_s > budget_s);
        'blocks: for block in 0..settings.launches {
            let block_started = Instant::now();
            // A block that would not fit is not begun: rows with as many launches as the others are worth more.
            if block > 0 && over_budget(self.earlier_s + started.elapsed().as_secs_f64() + block_s) {
                end.blocks_left_out = settings.launches - block;
                break;
            }
            for (position, index) in self.plan.order(block).into_iter().enumerate() {
                let planned = &self.plan.rows[index];
                let id = &planned.row.id;
                if self.given_up.contains(id) || self.done.contains(&(id.clone(), block)) {
                    continue;
                }
                if over_budget(self.earlier_s + started.elapsed().as_secs_f64()) {
                    end.blocks_left_out = settings.launches - block;
                    if block == 0 {
                        end.status = RunStatus::Partial;
                    }
                    break 'blocks;
                }
                observer.launch(&planned.row, block, block as usize * self.plan.rows.len() + position, total);
                let at = LaunchPosition { block, position: position as u32, index };
                match self.measure(at, &mut context, observer)? {
                    Ok(None | Some(Outcome::Measured(_))) => {}
                    // An external program knows only now that it cannot run here; a later block would contradict results.
                    Ok(Some(Outcome::Unavailable { reason })) if block == 0 => {
                        self.given_up.insert(id.clone());
                        observer.event(&Event::RowSkipped { row: planned.row.clone(), reason })?;
                        end.status = RunStatus::Partial;
                    }
                    Ok(Some(Outcome::Unavailable { reason } | Outcome::Failed { reason })) => {
                        self.fail(id.clone(), block, reason, observer)?;
                        end.status = RunStatus::Partial;
                    }
                    Err(ConductorError::Broken(reason)) => {
                        self.fail(id.clone(), block, reason, observer)?;
                        end.status = RunStatus::Partial;
                    }
                    Err(ConductorError::Stopped(signal)) => {
                        end.status = RunStatus::Interrupted;
                        end.signal = Some(signal);
                        break 'blocks;
                    }
                }
            }
            block_s = block_s.max(block_started.elapsed().as_secs_f64());
        }
        if end.status == RunStatus::Complete && !self.given_up.is_empty() {
            end.status = RunStatus::Partial;
        }
        let environment = Box::new(environment::capture());
        observer.event(&Event::RunFinished { status: end.status, environment })?;
        Ok(end)
    }

    /// One launch of a row that is not measured, with one more variable in its environment. It takes as long as one that is.
    ///
    /// # Errors
    /// As those of a launch.
    pub fn launch_with(
        &self,
        planned: &PlannedRow,
        number: u64,
        variable: (&str, &Path),
        scratch: &Scratch,
        stop: &StopSignals,
    ) -> Result<Outcome, ConductorError> {
        let mut job = self.job(planned, scratch, number);
        job.token.push_str("-traced");
        let program = self.programs[&planned.row.variant].with_variable(variable);
        let program = program.map_err(|error| ConductorError::Broken(error.to_string()))?;
        ask_conductor(&program, &ConductorRequest::Launch { job: Box::new(job.clone()) }, stop, patience_of(&job))
    }

    /// Measures one launch, and again where its CPUs were disturbed; every attempt is an event, and the last one counts.
    /// `None` if it was measured.
    fn measure(
        &self,
        at: LaunchPosition,
        context: &mut RunContext<'_>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Result<Option<Outcome>, ConductorError>> {
        let planned = &self.plan.rows[at.index];
        let number = u64::from(at.block) * self.plan.rows.len() as u64 + at.index as u64;
        let job = self.job(planned, context.scratch, number);
        let program = &self.programs[&job.row.variant];
        for attempt in 1.. {
            let before = context.cpu_check.wait(job.cpus);
            let started_s = self.earlier_s + context.started.elapsed().as_secs_f64();
            let (measured, seen) = match launch(program, &job, context) {
                Ok((Outcome::Measured(measured), seen)) => (measured, seen),
                Ok((outcome, _)) => return Ok(Ok(Some(outcome))),
                Err(error) => return Ok(Err(error)),
            };
            let within = context.cpu_check.slowdown_during(&measured.counters);
            let slowdown = context.cpu_check.slowdown(job.cpus).max(before).max(within);
            let elapsed_s = seen.elapsed_s;
            let mut record = seen.record(*measured, &job.row, at, started_s);
            record.counters.insert("cpu_slowdown_ratio".to_owned(), slowdown);
            observer.event(&Event::LaunchFinished(Box::new(record)))?;
            if !context.cpu_check.should_repeat(slowdown, attempt, elapsed_s) {
                return Ok(Ok(None));
            }
        }
        unreachable!("attempts are limited")
    }

    /// A row that fails once is not run again: what is stuck or broken would cost its patience in every block.
    fn fail(&mut self, id: String, block: u32, reason: String, observer: &mut dyn Observer) -> anyhow::Result<()> {
        self.given_up.insert(id.clone());
        observer.event(&Event::LaunchFailed { row: id, block, reason })
    }
}

/// Which launch of a run.
#[derive(Clone, Copy, Debug)]
struct LaunchPosition {
    block: u32,
    /// In the order of the block.
    position: u32,
    /// In the plan.
    index: usize,
}

/// What the launches of a run share.
struct RunContext<'a> {
    scratch: &'a Scratch,
    stop: &'a StopSignals,
    started: Instant,
    cpu_check: CpuCheck,
    throttle: Option<Throttle>,
}

/// What repetitions may add to a run, s: twice as much as it takes without them, for in a bad minute half of the launches are
/// disturbed; and no more than its budget leaves.
fn repetition_allowance_s(plan: &Plan) -> f64 {
    let allowance_s = plan.estimate_s() * 2.0;
    match plan.settings.budget_s {
        // Estimates are no promises.
        Some(budget_s) => ((budget_s - plan.estimate_s()) * 0.7).clamp(0.0, allowance_s),
        None => allowance_s,
    }
}

/// The CPUs of the two processes of a row.
fn cpus_for(placement: Placement, cpus: &[u32]) -> Option<(u32, u32)> {
    // CPU 0 serves most interrupts, so a single CPU is better another one.
    let last = *cpus.last()?;
    match placement {
        Placement::Free => None,
        Placement::SameCpu => Some((last, last)),
        Placement::TwoCpus => Some((cpus[0], last)),
    }
}

/// The workers give up by themselves; this is the bound for a conductor that is stuck itself.
fn patience_of(job: &Job) -> Duration {
    let rounds_s = (job.time_s + job.warm_up_s) * 20.0;
    Duration::from_secs_f64(CONDUCTOR_PATIENCE_S + rounds_s + job.patience_s * 2.0)
}

fn launch(
    program: &Program,
    job: &Job,
    context: &RunContext<'_>,
) -> Result<(Outcome, LaunchConditions), ConductorError> {
    let RunContext { stop, throttle, .. } = context;
    let patience = patience_of(job);
    let watch = Watch::start(throttle.as_ref());
    let outcome = ask_conductor(program, &ConductorRequest::Launch { job: Box::new(job.clone()) }, stop, patience)?;
    Ok((outcome, watch.end(throttle.as_ref())))
}

impl LaunchConditions {
    fn record(self, mut measured: Measured, row: &Row, at: LaunchPosition, started_s: f64) -> LaunchRecord {
        measured.counters.extend(self.throttled_s.map(|seconds| ("throttled_s".to_owned(), seconds)));
        LaunchRecord {
            row: row.id.clone(),
            block: at.block,
            position: at.position,
            started_s,
            elapsed_s: self.elapsed_s,
            series: measured.series,
            histograms: measured.histograms,
            batch_operations: measured.batch_operations,
            warm_up_s: measured.warm_up_s,
            steady: measured.steady,
            counters: measured.counters,
            steal: self.steal,
            foreign_load: self.foreign_load,
        }
    }
}

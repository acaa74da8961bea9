//! A run: blocks of launches in random order, each stored when it ends, until the plan is complete, the budget is used
//! up or a signal arrives.

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
use super::rounds::{ATTEMPTS, VOLUME_S_MAX};
use super::scratch::Scratch;
use super::watch::{LaunchConditions, Watch};
use crate::environment;
use crate::plan::{Plan, PlannedRow, cost};

/// The default time for which a worker may be silent, s: far longer than any round, and short enough to wait for.
pub const PATIENCE_S: f64 = 10.0;

/// The additional time that the conductor may take beyond its workers' patience, s. After it the whole launch is
/// killed.
const CONDUCTOR_PATIENCE_S: f64 = 60.0;

/// Receives the events of a run: the store, the progress bar, the event stream.
pub trait Observer {
    /// Handles an event that must be kept.
    ///
    /// # Errors
    /// If it cannot be kept; the run then ends.
    fn event(&mut self, event: &Event) -> anyhow::Result<()>;

    /// Announces a launch. Output is allowed only here and in [`Observer::event`], because nothing is timed then.
    fn launch(&mut self, row: &Row, block: u32, share: Share);
}

/// How much of a run is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// By the estimate of its plan.
    Estimated {
        /// The time of the launches that are done, also in earlier sessions, s.
        done_s: f64,
        /// The time of all launches, s.
        total_s: f64,
    },
    /// By the number of launches, where nothing is known of their time.
    Counted {
        /// Launches that are done.
        done: usize,
        /// All launches.
        total: usize,
    },
}

/// Runs the blocks of a plan: what to measure, with which programs, and which launches are done already.
#[derive(Debug)]
pub struct BlockRunner<'a> {
    /// What is measured.
    pub plan: &'a Plan,
    /// The CPUs that this process may use.
    pub cpus: &'a [u32],
    /// The programs that run the launches, by variant; `None` for rows without a variant.
    pub programs: BTreeMap<Option<String>, Program>,
    /// How long a worker may be silent, s.
    pub patience_s: f64,
    /// Launches that are complete: row id and block.
    pub done: BTreeSet<(String, u32)>,
    /// Ids of rows that were skipped or have failed, and are not measured again.
    pub given_up: BTreeSet<String>,
    /// Duration of the earlier sessions of this run, s.
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

/// Asks which rows this machine cannot run. Returns the reasons by row id.
///
/// # Errors
/// If the conductor cannot be started or a signal arrived.
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

/// Adds the name of the variant to the error of its program.
fn of_variant(error: ConductorError, variant: Option<&str>) -> ConductorError {
    match (error, variant) {
        (ConductorError::Broken(what), Some(variant)) => ConductorError::Broken(format!(
            "{what}; the command of --variant {variant} must end with a headwater of this protocol, or start the one that follows it (a word whose file name begins with headwater is the program)"
        )),
        (error, _) => error,
    }
}

impl<'a> BlockRunner<'a> {
    /// Makes a runner that starts at the first block.
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

    /// Records an event of an earlier session, so that complete launches are not repeated.
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

    /// Runs all blocks. The last event contains the final status and the environment after the run.
    ///
    /// # Errors
    /// Errors of the observer.
    pub fn run(&mut self, scratch: &Scratch, stop: &StopSignals, observer: &mut dyn Observer) -> anyhow::Result<End> {
        let started = Instant::now();
        let settings = &self.plan.settings;
        let mut end = End { status: RunStatus::Complete, signal: None, blocks_left_out: 0 };
        let mut block_s = 0.0_f64;
        let cpu_check = CpuCheck::new(self.cpus, repetition_allowance_s(self.plan));
        let mut context = RunContext { scratch, stop, started, cpu_check, throttle: Throttle::find() };
        let over_budget = |elapsed_s: f64| settings.budget_s.is_some_and(|budget_s| elapsed_s > budget_s);
        let costs_s: Vec<f64> =
            self.plan.rows.iter().map(|planned| self.plan.launch_estimate_s(&planned.row)).collect();
        let mut done_s = 0.0;
        'blocks: for block in 0..settings.launches {
            let block_started = Instant::now();
            let total_s = done_s + self.block_estimate_s(&costs_s) * f64::from(settings.launches - block);
            // A block that would exceed the budget is not started: all rows shall have the same number of launches.
            if block > 0 && over_budget(self.earlier_s + started.elapsed().as_secs_f64() + block_s) {
                end.blocks_left_out = settings.launches - block;
                break;
            }
            for (position, index) in self.plan.order(block).into_iter().enumerate() {
                let planned = &self.plan.rows[index];
                let id = &planned.row.id;
                if self.given_up.contains(id) {
                    continue;
                }
                if self.done.contains(&(id.clone(), block)) {
                    done_s += costs_s[index];
                    continue;
                }
                if over_budget(self.earlier_s + started.elapsed().as_secs_f64()) {
                    end.blocks_left_out = settings.launches - block;
                    if block == 0 {
                        end.status = RunStatus::Partial;
                    }
                    break 'blocks;
                }
                observer.launch(&planned.row, block, Share::Estimated { done_s, total_s });
                done_s += costs_s[index];
                let at = LaunchPosition { block, position: position as u32, index };
                match self.measure(at, &mut context, observer)? {
                    Ok(None | Some(Outcome::Measured(_))) => {}
                    // An external program can report this only now. In a later block it would contradict results, and
                    // counts as a failure.
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

    /// Returns the estimated time of a block, s: one launch of every row that is not given up.
    fn block_estimate_s(&self, costs_s: &[f64]) -> f64 {
        let rows = self.plan.rows.iter().zip(costs_s);
        rows.filter(|(planned, _)| !self.given_up.contains(&planned.row.id)).map(|(_, cost_s)| cost_s).sum()
    }

    /// Runs one additional launch of a row, which is not recorded as a result, with an additional environment variable.
    /// It takes as long as a measured one.
    ///
    /// # Errors
    /// The errors of a launch.
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

    /// Measures one launch, and repeats it if its CPUs were disturbed. Every attempt becomes an event, and the last one
    /// counts. Returns `None` if the launch was measured.
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

    /// Marks a row as failed. It is not run again, because a row that is stuck would cost its patience in every block.
    fn fail(&mut self, id: String, block: u32, reason: String, observer: &mut dyn Observer) -> anyhow::Result<()> {
        self.given_up.insert(id.clone());
        observer.event(&Event::LaunchFailed { row: id, block, reason })
    }
}

/// Identifies a launch within a run.
#[derive(Clone, Copy, Debug)]
struct LaunchPosition {
    block: u32,
    /// The position in the random order of the block.
    position: u32,
    /// The index of the row in the plan.
    index: usize,
}

/// The state that the launches of a run share.
struct RunContext<'a> {
    scratch: &'a Scratch,
    stop: &'a StopSignals,
    started: Instant,
    cpu_check: CpuCheck,
    throttle: Option<Throttle>,
}

/// Returns by how much repetitions may extend a run, s: twice its duration without them, because half of the launches
/// can be disturbed in a bad minute; and not beyond its budget.
pub fn repetition_allowance_s(plan: &Plan) -> f64 {
    let allowance_s = plan.estimate_s() * 2.0;
    match plan.settings.budget_s {
        // The estimate may be too low, so a margin is left.
        Some(budget_s) => ((budget_s - plan.estimate_s()) * 0.7).clamp(0.0, allowance_s),
        None => allowance_s,
    }
}

/// Returns the CPUs for the two processes of a row.
fn cpus_for(placement: Placement, cpus: &[u32]) -> Option<(u32, u32)> {
    // CPU 0 serves most interrupts, so another CPU is the better single one.
    let last = *cpus.last()?;
    match placement {
        Placement::Free => None,
        Placement::SameCpu => Some((last, last)),
        Placement::TwoCpus => Some((cpus[0], last)),
    }
}

/// Returns the time limit for a conductor. Workers time out earlier; this limit is for a conductor that is itself
/// stuck.
fn patience_of(job: &Job) -> Duration {
    let timed_s = (job.time_s + job.warm_up_s) * 20.0 + VOLUME_S_MAX * f64::from(ATTEMPTS);
    let counted_s = cost::messages_s(&job.row) * f64::from(job.repetitions + 1) * 20.0;
    Duration::from_secs_f64(CONDUCTOR_PATIENCE_S + timed_s + counted_s + job.patience_s * 2.0)
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
            figures: measured.figures,
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

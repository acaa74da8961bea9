//! Calibration, warm-up and the measured batches: the same for every pattern that repeats one operation.

use std::time::Instant;

use super::conduct::{Job, LaunchError, Measured, Team};
use super::protocol::{Report, Role, Round};

/// Timed batches per launch. Enough for a median and for the flags of a series; each must still be long.
const BATCHES: u64 = 20;

/// A timed batch lasts at least this: 1000 times a clock read of 50 ns, and far above a wake-up.
const BATCH_NS_MIN: f64 = 200_000.0;

/// Warm-up ends here even if the batches still show a slope; the launch is then marked as not steady.
pub const WARM_UP_STRETCH_MAX: f64 = 4.0;

/// Batches in a round of warm-up, whose two halves are compared.
const WARM_UP_BATCHES: u64 = 6;

/// The two halves of a round of warm-up may differ by this share before it counts as a slope. Cross-CPU transfer
/// wanders by 10 to 15 % within seconds, so that a narrower bound would only prolong the warm-up.
pub const SLOPE_MAX: f64 = 0.15;

/// The most messages that the first, fully checked round moves.
pub const FULL_CHECK_MESSAGES: u64 = 1000;

/// Bytes that the first, fully checked round moves.
pub const FULL_CHECK_BYTES: u64 = 1 << 20;

/// Messages of the first round of calibration: few enough for the slowest transport.
const FIRST_MESSAGES: u64 = 16;

/// Leads a team through rounds whose messages are numbered without a gap.
#[derive(Debug)]
pub struct Rounds<'a> {
    team: &'a mut Team,
    job: &'a Job,
    /// Number of the next message.
    next: u64,
    /// Whose stamps mark the end of a batch, as an index into the reports.
    marker: usize,
    roles: &'a [Role],
}

/// What [`Rounds::measure`] found.
#[derive(Debug)]
pub struct Batches {
    /// Operations per batch.
    pub operations: u64,
    /// Duration of each batch, ns.
    pub durations_ns: Vec<f64>,
    /// Warm-up, s.
    pub warm_up_s: f64,
    /// Whether it ended without a slope.
    pub steady: bool,
    /// The reports of the measured round.
    pub reports: Vec<Report>,
}

impl<'a> Rounds<'a> {
    /// Rounds of `team`, whose workers play `roles`; the stamps of `marker` mark the end of a batch.
    pub fn new(team: &'a mut Team, job: &'a Job, roles: &'a [Role], marker: Role) -> Rounds<'a> {
        let marker = roles.iter().position(|&role| role == marker).expect("the marker is one of the roles");
        Rounds { team, job, next: 0, marker, roles }
    }

    /// Has every worker do the next `batches` x `batch` operations.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn run(
        &mut self,
        batch: u64,
        batches: u64,
        change: impl FnOnce(&mut Round),
    ) -> Result<Vec<Report>, LaunchError> {
        let mut round = Round { first: self.next, batch, batches, ..Round::default() };
        change(&mut round);
        self.next += round.messages();
        self.team.round(&round)
    }

    /// The whole course of messages: full check, then [`Rounds::batches`].
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn measure(&mut self) -> Result<Batches, LaunchError> {
        let size = self.job.size() as u64;
        self.run((FULL_CHECK_BYTES / size).clamp(1, FULL_CHECK_MESSAGES), 1, |round| round.full_check = true)?;
        self.batches(FIRST_MESSAGES)
    }

    /// Calibration, which begins with `first` operations, warm-up and measured batches.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn batches(&mut self, first: u64) -> Result<Batches, LaunchError> {
        let batch_ns = (self.job.time_s * 1e9 / BATCHES as f64).max(BATCH_NS_MIN);
        let operation_ns = self.calibrate(first, batch_ns)?;
        let (operation_ns, warm_up_s, steady) = self.warm_up(operation_ns, batch_ns)?;

        let operations = operations(batch_ns, operation_ns);
        // The first batch fills the transport; it is not a sample.
        let reports = self.run(operations, BATCHES + 1, |_| ())?;
        let durations_ns = self.durations(&reports, BATCHES + 1)?;
        Ok(Batches { operations, durations_ns, warm_up_s, steady, reports })
    }

    /// Raises the operations until they last a quarter of a batch; answers with the time of one, ns.
    fn calibrate(&mut self, first: u64, batch_ns: f64) -> Result<f64, LaunchError> {
        let mut count = first;
        loop {
            let reports = self.run(count, 1, |_| ())?;
            let report = &reports[self.marker];
            let elapsed_ns = report.end_ns.saturating_sub(report.start_ns) as f64;
            // A program that reports no time would otherwise be asked for more and more messages.
            if elapsed_ns <= 0.0 && count >= 1 << 16 {
                return Err(self.wrong("end_ns is not later than start_ns"));
            }
            if elapsed_ns >= batch_ns / 4.0 || count >= 1 << 40 {
                return Ok((elapsed_ns / count as f64).max(f64::MIN_POSITIVE));
            }
            // A short round is mostly its start: it says little of the speed, so it never raises the count by more.
            let wanted = batch_ns / 4.0 / elapsed_ns.max(1.0);
            count = (count as f64 * wanted.clamp(2.0, 16.0)) as u64;
        }
    }

    /// Runs until the least time is over and the batches show no slope; answers with the time of one operation.
    fn warm_up(&mut self, mut operation_ns: f64, batch_ns: f64) -> Result<(f64, f64, bool), LaunchError> {
        let started = Instant::now();
        let least_s = self.job.warm_up_s;
        // A round is a part of the warm-up, so that a short warm-up is not overrun by its own granularity.
        let round_batch_ns = (least_s * 1e9 / 2.0 / WARM_UP_BATCHES as f64).clamp(BATCH_NS_MIN, batch_ns);
        loop {
            let batch = operations(round_batch_ns, operation_ns);
            let reports = self.run(batch, WARM_UP_BATCHES + 1, |_| ())?;
            let durations_ns = self.durations(&reports, WARM_UP_BATCHES + 1)?;
            let (early, late) = durations_ns.split_at(durations_ns.len() / 2);
            let (early_ns, late_ns) = (least(early), least(late));
            let steady = (late_ns / early_ns - 1.0).abs() <= SLOPE_MAX;
            operation_ns = (durations_ns.iter().sum::<f64>() / durations_ns.len() as f64 / batch as f64).max(0.01);
            let elapsed_s = started.elapsed().as_secs_f64();
            if elapsed_s >= least_s && (steady || elapsed_s >= least_s * WARM_UP_STRETCH_MAX) {
                return Ok((operation_ns, elapsed_s, steady));
            }
        }
    }

    /// The durations of all of `batches` batches but the first, ns.
    fn durations(&self, reports: &[Report], batches: u64) -> Result<Vec<f64>, LaunchError> {
        let stamps_ns = &reports[self.marker].stamps_ns;
        if stamps_ns.len() as u64 != batches {
            return Err(self.wrong(&format!("stamps_ns has {} time stamps for {batches} batches", stamps_ns.len())));
        }
        if stamps_ns.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(self.wrong("the time stamps in stamps_ns go back"));
        }
        Ok(stamps_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect())
    }

    /// The marker's report cannot be: a mistake in an external program.
    fn wrong(&self, what: &str) -> LaunchError {
        LaunchError::Failed(format!("the result of the {} is wrong: {what}", self.roles[self.marker].name()))
    }
}

fn operations(batch_ns: f64, operation_ns: f64) -> u64 {
    ((batch_ns / operation_ns).ceil() as u64).clamp(1, 1 << 40)
}

/// The shortest of a few durations: what disturbs a batch only ever makes it longer.
fn least(durations_ns: &[f64]) -> f64 {
    durations_ns.iter().copied().fold(f64::INFINITY, f64::min).max(1.0)
}

impl Batches {
    /// Rates in operations per second, one per batch.
    pub fn rates(&self) -> Vec<f64> {
        self.durations_ns.iter().map(|&ns| self.operations as f64 * 1e9 / ns.max(1.0)).collect()
    }

    /// Time of one operation in ns, one per batch.
    pub fn operation_ns(&self) -> Vec<f64> {
        self.durations_ns.iter().map(|&ns| ns / self.operations as f64).collect()
    }

    /// A result with everything but the series.
    pub fn measured(&self, roles: &[Role]) -> Measured {
        let mut measured = Measured {
            batch_operations: self.operations,
            warm_up_s: self.warm_up_s,
            steady: self.steady,
            ..Measured::default()
        };
        for (&role, report) in roles.iter().zip(&self.reports) {
            measured.add_cost(role, report);
        }
        // The costs are those of the whole round, its first batch included.
        let operations = self.operations * (self.durations_ns.len() as u64 + 1);
        measured.counters.insert("operations".into(), operations as f64);
        measured
    }
}

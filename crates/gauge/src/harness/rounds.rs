//! Calibration, warm-up and the measured batches, for every pattern that repeats one operation.

use std::time::{Duration, Instant};

use super::conduct::{Job, LaunchError, Measured, Team};
use super::protocol::{Report, Role, Round};
use crate::plan::cost::messages_s;

mod volume;

pub use volume::{ATTEMPTS, MARGIN, ON_THE_WAY_TIMES, STAMPS, VOLUME_S_MAX, on_the_way};

/// Timed batches per launch: enough for a median and for the flags of a series, and few enough for each batch to be
/// long.
const BATCHES: u64 = 20;

/// The minimum duration of a timed batch: 1000 clock reads of 50 ns, and far above a wake-up.
const BATCH_NS_MIN: f64 = 200_000.0;

/// The maximum duration of the warm-up. If the batches still show a trend then, the launch is marked as not steady.
pub const WARM_UP_STRETCH_MAX: f64 = 4.0;

/// Batches in a round of warm-up; its two halves are compared.
const WARM_UP_BATCHES: u64 = 6;

/// The relative difference of the two halves of a warm-up round that counts as a trend. Transfers between CPUs vary by
/// 10 to 15 % within seconds, so a smaller bound would only prolong the warm-up.
pub const SLOPE_MAX: f64 = 0.15;

/// The maximum number of messages in the first round, which is checked in every byte.
pub const FULL_CHECK_MESSAGES: u64 = 1000;

/// The maximum number of bytes in the first round.
pub const FULL_CHECK_BYTES: u64 = 1 << 20;

/// Messages of the first calibration round: few enough for the slowest transport.
const FIRST_MESSAGES: u64 = 16;

/// Leads a team through rounds; message numbers continue from one round to the next.
#[derive(Debug)]
pub struct Rounds<'a> {
    team: &'a mut Team,
    job: &'a Job,
    /// Sequence number of the next message.
    next: u64,
    /// The time of one operation as far as it is known, ns.
    operation_ns: f64,
    /// The worker whose stamps mark the ends of batches, as an index into the reports.
    marker: usize,
    roles: &'a [Role],
}

/// The result of [`Rounds::measure`].
#[derive(Debug)]
pub struct Batches {
    /// Operations per batch.
    pub operations: u64,
    /// Duration of each batch, ns.
    pub durations_ns: Vec<f64>,
    /// Duration of the warm-up, s.
    pub warm_up_s: f64,
    /// Whether the batches at its end showed no trend.
    pub steady: bool,
    /// The reports of the measured round.
    pub reports: Vec<Report>,
}

impl<'a> Rounds<'a> {
    /// Makes rounds for `team`, whose workers play `roles`; the stamps of `marker` mark the ends of batches.
    pub fn new(team: &'a mut Team, job: &'a Job, roles: &'a [Role], marker: Role) -> Rounds<'a> {
        let marker = roles.iter().position(|&role| role == marker).expect("the marker is one of the roles");
        let operation_ns = messages_s(&job.row) * 1e9 / job.row.messages.unwrap_or(1).max(1) as f64;
        Rounds { team, job, next: 0, operation_ns, marker, roles }
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
        let expected = Duration::from_nanos((round.messages() as f64 * self.operation_ns) as u64);
        self.team.round_of(&round, expected)
    }

    /// Runs the whole sequence for a pattern with messages: the full check, then [`Rounds::batches`].
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn measure(&mut self) -> Result<Batches, LaunchError> {
        self.check_every_byte()?;
        self.batches(FIRST_MESSAGES)
    }

    /// Sends a few messages that are compared in every byte.
    fn check_every_byte(&mut self) -> Result<(), LaunchError> {
        let size = self.job.size() as u64;
        let messages = (FULL_CHECK_BYTES / size).clamp(1, FULL_CHECK_MESSAGES);
        self.run(messages, 1, |round| round.full_check = true).map(drop)
    }

    /// Runs calibration, starting with `first` operations, then warm-up and the measured batches.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn batches(&mut self, first: u64) -> Result<Batches, LaunchError> {
        let batch_ns = (self.job.time_s * 1e9 / BATCHES as f64).max(BATCH_NS_MIN);
        self.calibrate(first, batch_ns)?;
        let (warm_up_s, steady) = self.warm_up(batch_ns)?;

        let operations = self.operations_in(batch_ns);
        // The first batch fills the transport; it is not a sample.
        let reports = self.run(operations, BATCHES + 1, |_| ())?;
        let durations_ns = self.durations(&reports, BATCHES + 1)?;
        Ok(Batches { operations, durations_ns, warm_up_s, steady, reports })
    }

    /// Raises the number of operations until they last a quarter of a batch, and keeps the time of one operation.
    fn calibrate(&mut self, first: u64, batch_ns: f64) -> Result<(), LaunchError> {
        let mut count = first;
        loop {
            let reports = self.run(count, 1, |_| ())?;
            let report = &reports[self.marker];
            let elapsed_ns = report.end_ns.saturating_sub(report.start_ns) as f64;
            // Without this bound, a program that reports a time of zero would be sent ever more messages.
            if elapsed_ns <= 0.0 && count >= 1 << 16 {
                return Err(self.wrong("end_ns is not later than start_ns"));
            }
            if elapsed_ns >= batch_ns / 4.0 || count >= 1 << 40 {
                self.operation_ns = (elapsed_ns / count as f64).max(f64::MIN_POSITIVE);
                return Ok(());
            }
            // A short round consists mostly of its start and says little about the speed, so one step raises the count
            // by at most this factor.
            let wanted = batch_ns / 4.0 / elapsed_ns.max(1.0);
            count = (count as f64 * wanted.clamp(2.0, 16.0)) as u64;
        }
    }

    /// Runs until the minimum time is over and the batches show no trend. Returns its duration in s, and whether they show
    /// none; keeps the time of one operation.
    fn warm_up(&mut self, batch_ns: f64) -> Result<(f64, bool), LaunchError> {
        let started = Instant::now();
        let least_s = self.job.warm_up_s;
        // A round is a fraction of the warm-up, so that a short warm-up is not exceeded by much.
        let round_batch_ns = (least_s * 1e9 / 2.0 / WARM_UP_BATCHES as f64).clamp(BATCH_NS_MIN, batch_ns);
        loop {
            let batch = self.operations_in(round_batch_ns);
            let reports = self.run(batch, WARM_UP_BATCHES + 1, |_| ())?;
            let durations_ns = self.durations(&reports, WARM_UP_BATCHES + 1)?;
            let (early, late) = durations_ns.split_at(durations_ns.len() / 2);
            let (early_ns, late_ns) = (least(early), least(late));
            let steady = (late_ns / early_ns - 1.0).abs() <= SLOPE_MAX;
            self.operation_ns = (durations_ns.iter().sum::<f64>() / durations_ns.len() as f64 / batch as f64).max(0.01);
            let elapsed_s = started.elapsed().as_secs_f64();
            if elapsed_s >= least_s && (steady || elapsed_s >= least_s * WARM_UP_STRETCH_MAX) {
                return Ok((elapsed_s, steady));
            }
        }
    }

    /// Returns the durations of all `batches` batches but the first, ns.
    fn durations(&self, reports: &[Report], batches: u64) -> Result<Vec<f64>, LaunchError> {
        let stamps_ns = self.stamps(reports, batches)?;
        Ok(stamps_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect())
    }

    /// Returns the marker's time stamps, one for each of `batches` batches.
    fn stamps<'r>(&self, reports: &'r [Report], batches: u64) -> Result<&'r [u64], LaunchError> {
        let stamps_ns = &reports[self.marker].stamps_ns;
        if stamps_ns.len() as u64 != batches {
            return Err(self.wrong(&format!("stamps_ns has {} time stamps for {batches} batches", stamps_ns.len())));
        }
        if stamps_ns.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(self.wrong("the time stamps in stamps_ns go back"));
        }
        Ok(stamps_ns)
    }

    /// Returns how many operations take this time.
    fn operations_in(&self, ns: f64) -> u64 {
        ((ns / self.operation_ns).ceil() as u64).clamp(1, 1 << 40)
    }

    /// The error for a marker report that is impossible, which is a fault of an external program.
    fn wrong(&self, what: &str) -> LaunchError {
        LaunchError::Failed(format!("the result of the {} is wrong: {what}", self.roles[self.marker].name()))
    }
}

/// Returns the shortest of a few durations: a disturbance only makes a batch longer.
fn least(durations_ns: &[f64]) -> f64 {
    durations_ns.iter().copied().fold(f64::INFINITY, f64::min).max(1.0)
}

impl Batches {
    /// Returns the rate of each batch, operations per second.
    pub fn rates(&self) -> Vec<f64> {
        self.durations_ns.iter().map(|&ns| self.operations as f64 * 1e9 / ns.max(1.0)).collect()
    }

    /// Returns the time of one operation in each batch, ns.
    pub fn operation_ns(&self) -> Vec<f64> {
        self.durations_ns.iter().map(|&ns| ns / self.operations as f64).collect()
    }

    /// Returns a result without its series.
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
        // The costs are those of the whole round, including its first batch.
        let operations = self.operations * (self.durations_ns.len() as u64 + 1);
        measured.counters.insert("operations".into(), operations as f64);
        measured
    }
}

//! The conductor: the process of one launch. It forks the workers and leads them through the rounds of their pattern.
//! It has one thread, and every process that it starts dies with it.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headwater_results::schema::Row;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::cpu_check::PROBE_NS;
use super::link::{Link, LinkError};
use super::protocol::{Reply, Report, Request, Role, Round};
use crate::transports::{Setup, Unavailable, stream_options};

/// One launch of one row, as the command describes it to the conductor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The row to measure.
    pub row: Row,
    /// Measured time, s.
    pub time_s: f64,
    /// Minimum warm-up, s.
    pub warm_up_s: f64,
    /// The CPUs of the first and the second process; `None` where the scheduler places them.
    pub cpus: Option<(u32, u32)>,
    /// A private directory for objects that need a path.
    pub directory: PathBuf,
    /// A name that no other launch has, for objects that need one.
    pub token: String,
    /// Repetitions, for a row whose definition fixes their number.
    pub repetitions: u32,
    /// The command line of the external program, for an external row.
    pub command: Option<String>,
    /// How long a worker may be silent before the row fails, s.
    pub patience_s: f64,
}

impl Job {
    /// Returns how a transport is opened for this job.
    pub fn setup(&self, duplex: bool, nonblocking: bool) -> Setup<'_> {
        Setup {
            size: self.size(),
            duplex,
            nonblocking,
            same_cpu: self.cpus.is_some_and(|(first, second)| first == second),
            directory: &self.directory,
            options: stream_options::split(&self.row.subject).1,
        }
    }

    /// Returns the bytes per message; 1 for rows without messages.
    pub fn size(&self) -> usize {
        self.row.size_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(1).max(1)
    }
}

/// The result of a launch. Becomes part of a [`headwater_results::schema::LaunchRecord`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Samples by metric name.
    pub series: BTreeMap<String, Vec<f64>>,
    /// The launch's figure by metric name, where it is not the median of the samples.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// Pairs of (duration in ns, count) by metric name.
    pub histograms: BTreeMap<String, Vec<(u64, u64)>>,
    /// Operations per batch.
    pub batch_operations: u64,
    /// Duration of the warm-up, s.
    pub warm_up_s: f64,
    /// Whether the batches at the end of the warm-up showed no trend.
    pub steady: bool,
    /// Costs and event counts of the measured part.
    pub counters: BTreeMap<String, f64>,
}

impl Measured {
    /// Adds the cost that one worker reports, under the worker's name.
    pub fn add_cost(&mut self, role: Role, report: &Report) {
        let name = role.name();
        let mut add = |what: &str, value| *self.counters.entry(format!("{name}_{what}")).or_default() += value;
        if let Some(cost) = &report.cost {
            add("user_s", cost.user_s);
            add("system_s", cost.system_s);
            add("voluntary_switches", cost.voluntary_switches as f64);
            add("involuntary_switches", cost.involuntary_switches as f64);
        }
        for (what, &value) in report.counters.iter().filter(|(what, _)| *what != PROBE_NS) {
            add(what, value);
        }
        // The worst of several rounds counts; probe times of different rounds cannot be added.
        if let Some(&slowest_probe_ns) = report.counters.get(PROBE_NS) {
            let worst = self.counters.entry(format!("{name}_{PROBE_NS}")).or_default();
            *worst = worst.max(slowest_probe_ns);
        }
    }
}

/// The conductor's answer to the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The launch is complete.
    Measured(Box<Measured>),
    /// This machine cannot run the row.
    Unavailable {
        /// The reason.
        reason: String,
    },
    /// The launch failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Why a launch ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// This machine cannot run the row; the reason.
    Unavailable(String),
    /// The launch failed; the reason.
    Failed(String),
}

impl From<Unavailable> for LaunchError {
    fn from(unavailable: Unavailable) -> LaunchError {
        LaunchError::Unavailable(unavailable.0)
    }
}

impl LaunchError {
    /// An error for a system call of the harness itself.
    pub fn system(what: &str, error: impl Into<io::Error>) -> LaunchError {
        LaunchError::Failed(format!("{what}: {}", error.into()))
    }
}

/// How much longer than expected a round may take: the machine may be busy with something else.
const SLOWER: u32 = 4;

/// The workers of a launch.
#[derive(Debug)]
pub struct Team {
    /// The workers in the order in which they are told to start: receivers first.
    links: Vec<Link>,
    patience: Duration,
}

impl Team {
    /// Makes a team of `links`. Its workers are told to start in this order.
    pub fn new(links: Vec<Link>, job: &Job) -> Team {
        Team { links, patience: Duration::from_secs_f64(job.patience_s) }
    }

    /// Adds a worker at the end.
    pub fn join(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Has every worker do `round`, and returns their reports in the order of the links.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] with the error that a worker reported, with the way in which it died, or because it is
    /// stuck.
    pub fn round(&mut self, round: &Round) -> Result<Vec<Report>, LaunchError> {
        self.round_of(round, Duration::ZERO)
    }

    /// Does as [`Team::round`] for a round that is expected to take so long: its workers are not stuck before.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn round_of(&mut self, round: &Round, expected: Duration) -> Result<Vec<Report>, LaunchError> {
        let replies = self.ask_from(0, &Request::Run(round.clone()), self.patience + expected * SLOWER)?;
        replies
            .into_iter()
            .zip(&self.links)
            .map(|(reply, link)| match reply {
                Reply::Result(report) => Ok(report),
                other => Err(LaunchError::Failed(format!("the {} answered {other:?} to run", link.role.name()))),
            })
            .collect()
    }

    /// Sends a request to every worker, and returns their replies in the order of the links.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn ask(&mut self, request: &Request) -> Result<Vec<Reply>, LaunchError> {
        self.ask_from(0, request, self.patience)
    }

    /// Sends a request to the worker that was added last, and returns its reply.
    ///
    /// # Errors
    /// As [`Team::round`].
    pub fn ask_last(&mut self, request: &Request) -> Result<Vec<Reply>, LaunchError> {
        self.ask_from(self.links.len() - 1, request, self.patience)
    }

    fn ask_from(&mut self, first: usize, request: &Request, patience: Duration) -> Result<Vec<Reply>, LaunchError> {
        let links = &mut self.links[first..];
        for link in links.iter_mut() {
            link.send(request).map_err(|silence| failure(link.role, &silence))?;
        }
        let mut replies: Vec<Option<Reply>> = links.iter().map(|_| None).collect();
        let deadline = Instant::now() + patience;
        while replies.iter().any(Option::is_none) {
            for index in wait_readable(links, &replies, deadline, patience)? {
                let link = &mut links[index];
                match link.receive() {
                    Ok(Some(Reply::Error { message })) => {
                        let message = format!("the {}: {message}", link.role.name());
                        return Err(LaunchError::Failed(message + &deaths(links, index)));
                    }
                    Ok(Some(Reply::Skipped { reason })) => return Err(LaunchError::Unavailable(reason)),
                    Ok(reply) => replies[index] = reply,
                    Err(silence) => return Err(failure(link.role, &silence)),
                }
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Tells every worker to finish and waits until all have exited.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] if a worker exits with an error.
    pub fn finish(mut self) -> Result<(), LaunchError> {
        for link in &mut self.links {
            // If a worker has died already, its exit status is reported below.
            let _ = link.send(&Request::Finish);
            link.hang_up();
        }
        let deadline = Instant::now() + self.patience;
        for link in &mut self.links {
            let status = link.wait_until(deadline).map_err(|error| LaunchError::system("waitpid", error))?;
            match status {
                Some(status) if status.success() => {}
                Some(status) => return Err(failure(link.role, &LinkError::Died(status))),
                None => {
                    let patience_s = self.patience.as_secs_f64();
                    return Err(LaunchError::Failed(format!(
                        "the {} did not end within {patience_s} s after finish",
                        link.role.name()
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // Closes all lines before waiting, so that external programs clean up at the same time.
        for link in &mut self.links {
            link.hang_up();
        }
    }
}

/// How long after another worker's complaint the death of a worker may be noticed.
const DEATH_LAG: Duration = Duration::from_millis(50);

/// Returns the workers other than `index` that have died. Their death is the cause of the complaint of `index`, which
/// may arrive first.
fn deaths(links: &mut [Link], index: usize) -> String {
    let deadline = Instant::now() + DEATH_LAG;
    let others = links.iter_mut().enumerate().filter(|(other, _)| *other != index).map(|(_, link)| link);
    others
        .filter_map(|link| {
            let status = link.wait_until(deadline).ok().flatten().filter(|status| !status.success())?;
            Some(format!("; the {} {}", link.role.name(), LinkError::Died(status)))
        })
        .collect()
}

fn failure(role: Role, silence: &LinkError) -> LaunchError {
    LaunchError::Failed(format!("the {} {silence}", role.name()))
}

/// Returns the links that have data to read, among those whose reply is missing.
fn wait_readable(
    links: &[Link],
    replies: &[Option<Reply>],
    deadline: Instant,
    patience: Duration,
) -> Result<Vec<usize>, LaunchError> {
    let missing: Vec<usize> = (0..replies.len()).filter(|&index| replies[index].is_none()).collect();
    let mut polled: Vec<PollFd<'_>> = missing.iter().map(|&index| PollFd::new(&links[index], PollFlags::IN)).collect();
    let rest = deadline.saturating_duration_since(Instant::now());
    let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: rest.subsec_nanos().into() };
    match poll(&mut polled, Some(&rest)) {
        Ok(0) => {
            let names: Vec<&str> = missing.iter().map(|&index| links[index].role.name()).collect();
            Err(LaunchError::Failed(format!(
                "the {} was stuck: no answer for {} s, given up",
                names.join(" and the "),
                patience.as_secs_f64()
            )))
        }
        Ok(_) => Ok(missing
            .into_iter()
            .zip(&polled)
            .filter(|(_, descriptor)| !descriptor.revents().is_empty())
            .map(|(index, _)| index)
            .collect()),
        Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
        Err(error) => Err(LaunchError::system("poll", error)),
    }
}

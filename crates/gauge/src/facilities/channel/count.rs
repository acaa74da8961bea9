//! Figures that are counted instead of timed: file descriptors, bytes, messages. Runs their launches: one new process
//! per launch, which counts several times.

use std::io;

use super::Opening;
use crate::facilities::Subject;
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::worker;
use crate::patterns::MetricInfo;
use crate::transports::{Info, Transport, Unavailable};

/// A quantity that can be counted for any transport.
pub trait Count: 'static {
    /// The metrics that a sample yields; the first is the facility's own figure.
    const METRICS: &'static [MetricInfo];

    /// Samples per launch.
    const SAMPLES: usize;

    /// Bytes per message.
    const SIZE: usize = 1;

    /// Takes one sample: one value per metric. Runs in a process of its own with one thread.
    ///
    /// # Errors
    /// What the system reports, or a description of the unexpected result.
    fn sample<T: Transport>(opening: &Opening) -> io::Result<Vec<f64>>;
}

/// A transport for which something is counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    info: &'static Info,
    metrics: &'static [MetricInfo],
    probe: fn(&Job) -> Result<(), Unavailable>,
    conduct: fn(&Job) -> Result<Measured, LaunchError>,
}

/// Returns the table entry for `C` of transport `T`.
pub const fn counted<C: Count, T: Transport>() -> Counted {
    Counted {
        info: &T::INFO,
        metrics: C::METRICS,
        probe: |job| T::open(&Opening::of(job, C::SIZE).setup()).map(drop),
        conduct: |job| {
            let opening = Opening::of(job, C::SIZE);
            conduct_samples(C::METRICS, C::SAMPLES, &mut || C::sample::<T>(&opening), job)
        },
    }
}

/// Returns the rows of a table.
pub fn subjects(table: &'static [Counted]) -> Vec<Subject> {
    let subject = |counted: &Counted| Subject {
        name: counted.info.name,
        summary: counted.info.summary,
        standing: counted.info.standing,
        metrics: counted.metrics,
    };
    table.iter().map(subject).collect()
}

/// Checks whether this machine has the transport of the job.
///
/// # Errors
/// [`Unavailable`] with the reason.
pub fn probe(table: &'static [Counted], job: &Job) -> Result<(), Unavailable> {
    (find(table, job)?.probe)(job)
}

/// Runs a launch of the job's row.
///
/// # Errors
/// As [`Team::round`].
pub fn conduct(table: &'static [Counted], job: &Job) -> Result<Measured, LaunchError> {
    (find(table, job)?.conduct)(job)
}

fn find(table: &'static [Counted], job: &Job) -> Result<&'static Counted, Unavailable> {
    let found = table.iter().find(|counted| counted.info.name == job.row.subject);
    found.ok_or_else(|| Unavailable(format!("{} of {} is not counted", job.row.pattern, job.row.subject)))
}

/// Runs a launch: `samples` rounds of a process that takes one sample in each.
fn conduct_samples(
    metrics: &'static [MetricInfo],
    samples: usize,
    sample: &mut dyn FnMut() -> io::Result<Vec<f64>>,
    job: &Job,
) -> Result<Measured, LaunchError> {
    let link = worker::fork(Role::Worker, job.cpus.map(|(first, _)| first), &mut |side| {
        worker::serve(side, &mut |_| {
            let counters = metrics.iter().zip(sample()?).map(|(metric, value)| (metric.name.to_owned(), value));
            Ok(Report { counters: counters.collect(), ..Report::default() })
        })
    })?;
    let mut team = Team::new(vec![link], job);
    let mut measured = Measured { batch_operations: 1, steady: true, ..Measured::default() };
    for _ in 0..samples {
        for report in team.round(&Round::default())? {
            for metric in metrics {
                let value = report.counters.get(metric.name).copied();
                let value = value.ok_or_else(|| LaunchError::Failed(format!("{} was not counted", metric.name)))?;
                measured.series.entry(metric.name.to_owned()).or_default().push(value);
            }
        }
    }
    team.finish()?;
    measured.counters.insert("operations".to_owned(), samples as f64);
    Ok(measured)
}

//! Distributes the ends of channels among the workers of a launch. No other file knows the topologies. Called by the
//! conductor through the table of transports.

use std::collections::BTreeMap;
use std::io;

use headwater_os::cpu;

use super::{SharedState, WorkerContext, fork, serve};
use crate::harness::conduct::{Job, LaunchError, Team};
use crate::harness::link::WorkerSide;
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Role};
use crate::patterns::{self, Ends, Topology};
use crate::transports::{Endpoint, Transport};

/// An open channel: the sender's and the receiver's end, until a process takes them.
type Channel<E> = [Option<E>; 2];

/// The index of each end in a [`Channel`].
const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// A worker to fork, with its ends.
#[derive(Debug)]
struct WorkerEnds {
    role: Role,
    /// The CPUs that it may use; all CPUs if empty.
    cpus: Vec<u32>,
    /// Its ends: the index of the channel, and which end of it.
    ends: Vec<(usize, usize)>,
}

/// Opens transport `T` and forks the workers of `pattern` over it.
///
/// # Errors
/// [`LaunchError::Unavailable`] if it cannot be opened or no further process can be created.
pub fn fork_team<T: Transport>(pattern: &patterns::Entry, job: &Job) -> Result<Team, LaunchError> {
    let info = pattern.info;
    let shared = SharedState::new()?;
    let setup = job.setup(info.duplex, info.nonblocking);
    let mut channels: Vec<Channel<T::End>> = Vec::new();
    for _ in 0..channels_of(info.topology) {
        let (sender, receiver) = T::open(&setup)?;
        channels.push([Some(sender), Some(receiver)]);
    }
    fork_workers(info.topology, job, &mut |worker, side| {
        let mut taken = Vec::with_capacity(worker.ends.len());
        for &(channel, end) in &worker.ends {
            taken.push(channels[channel][end].take().expect("taken once in each process"));
        }
        // The child drops all ends that are not its own, so that a dead peer shows as end of file.
        channels.clear();
        taken.iter_mut().try_for_each(Endpoint::attach)?;
        let mut context = WorkerContext { payload: Payload::new(job.size()), shared: &shared, job };
        serve(side, &mut |round| {
            let before = sum(&mut taken.iter().flat_map(Endpoint::counters));
            let ends = arranged(info.topology, worker.role, &mut taken);
            let mut report = patterns::serve(info.name, ends, round, &mut context)?;
            count(&mut report, &before, &sum(&mut taken.iter().flat_map(Endpoint::counters)));
            Ok(report)
        })
    })
}

/// Forks the workers of a topology; each calls `run`, once, with its part and its side of the connection.
fn fork_workers(
    topology: Topology,
    job: &Job,
    run: &mut dyn FnMut(&WorkerEnds, WorkerSide) -> io::Result<()>,
) -> Result<Team, LaunchError> {
    let mut links = Vec::new();
    for worker in workers_of(topology, job.cpus) {
        links.push(fork(worker.role, None, &mut |side| {
            if !worker.cpus.is_empty() {
                cpu::bind_to(&worker.cpus)?;
            }
            run(&worker, side)
        })?);
    }
    Ok(Team::new(links, job))
}

/// Returns the number of channels.
fn channels_of(topology: Topology) -> usize {
    match topology {
        Topology::TwoProcesses | Topology::OneProcess => 1,
        Topology::TwoChannels => 2,
        Topology::Pairs(count) | Topology::Channels(count) => count,
    }
}

/// Returns the workers in the order in which they are told to start: receivers first.
fn workers_of(topology: Topology, cpus: Option<(u32, u32)>) -> Vec<WorkerEnds> {
    let (first, second): (Vec<u32>, Vec<u32>) = cpus.into_iter().unzip();
    let receiver = |ends| WorkerEnds { role: Role::Receiver, cpus: second.clone(), ends };
    let sender = |ends| WorkerEnds { role: Role::Sender, cpus: first.clone(), ends };
    match topology {
        Topology::TwoProcesses => vec![receiver(vec![(0, RECEIVER)]), sender(vec![(0, SENDER)])],
        Topology::OneProcess => {
            vec![WorkerEnds { role: Role::Both, cpus: first.clone(), ends: vec![(0, SENDER), (0, RECEIVER)] }]
        }
        Topology::TwoChannels => {
            vec![receiver(vec![(0, RECEIVER), (1, SENDER)]), sender(vec![(0, SENDER), (1, RECEIVER)])]
        }
        Topology::Channels(count) => vec![
            receiver((0..count).map(|channel| (channel, RECEIVER)).collect()),
            sender((0..count).map(|channel| (channel, SENDER)).collect()),
        ],
        Topology::Pairs(count) => {
            // The scheduler places them on the CPUs of the row, as it places the processes of any program.
            let cpus = [first.clone(), second.clone()].concat();
            let worker = |role, end, pair| WorkerEnds { role, cpus: cpus.clone(), ends: vec![(pair, end)] };
            let pair = |pair| [worker(Role::Receiver, RECEIVER, pair), worker(Role::Sender, SENDER, pair)];
            (0..count).flat_map(pair).collect()
        }
    }
}

/// Returns the ends of a worker in the form in which a pattern uses them.
fn arranged<E>(topology: Topology, role: Role, ends: &mut [E]) -> Ends<'_, E> {
    match (topology, role, ends) {
        (Topology::TwoProcesses | Topology::Pairs(_), Role::Sender, [end]) => Ends::Sender(end),
        (Topology::TwoProcesses | Topology::Pairs(_), _, [end]) => Ends::Receiver(end),
        (Topology::OneProcess, _, [sender, receiver]) => Ends::Both(sender, receiver),
        (Topology::TwoChannels, Role::Sender, [out, back]) => Ends::Asker { out, back },
        (Topology::TwoChannels, _, [requests, answers]) => Ends::Answerer { requests, answers },
        (Topology::Channels(_), Role::Sender, senders) => Ends::Senders(senders),
        (Topology::Channels(_), _, receivers) => Ends::Receivers(receivers),
        _ => unreachable!("no worker of {role:?} in {topology:?} has as many ends"),
    }
}

/// Returns the sums of counters of the same name: of all ends of a worker, since they were opened.
fn sum(counters: &mut dyn Iterator<Item = (&'static str, u64)>) -> BTreeMap<&'static str, u64> {
    let mut sum = BTreeMap::new();
    for (name, count) in counters {
        *sum.entry(name).or_default() += count;
    }
    sum
}

/// Adds the increase of the counters during a round to the report.
fn count(report: &mut Report, before: &BTreeMap<&'static str, u64>, after: &BTreeMap<&'static str, u64>) {
    for (name, after) in after {
        *report.counters.entry((*name).to_owned()).or_default() += (after - before.get(name).unwrap_or(&0)) as f64;
    }
}

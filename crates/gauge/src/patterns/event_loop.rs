//! `epoll-level`, `epoll-edge`: request and answer by two event loops. The answering process watches 64 channels with
//! epoll(7), of which one is active; the asking process watches the active one. Level-triggered and edge-triggered.
//!
//! A loop waits in `epoll_wait(2)`, then reads each reported channel until it refuses (`EAGAIN`), as edge-triggered
//! programs must and as the STREAMS pipe requires; so both variants make the same calls. Descriptors are non-blocking.
//!
//! A wait ends after 100 ms even without an event; then all channels are read. The counter `missed` is the number of
//! times that there was data to read for which no event was reported; for a correct transport it is absent or 0.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use headwater_os::clock::now_ns;
use rustix::event::{Timespec, epoll};

use super::cpu::{self, CPU};
use super::partial::{Incoming, send_whole};
use super::rtt::{RTT, conduct_rtt};
use super::{Ends, Info, Pattern, Topology, accepts_pollable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};
use headwater_results::histogram::Histogram;

/// The pattern: round trips between event loops, edge-triggered if `EDGE`.
#[derive(Debug)]
pub struct EventLoop<const EDGE: bool>;

/// Channels that are watched.
const CHANNELS: usize = 64;

/// The index of the active channel: not the first of the list.
const ACTIVE: usize = CHANNELS / 2;

/// Events that a wait takes at once.
const EVENTS: usize = 16;

/// The time limit of a wait without an event.
const PATIENCE: Duration = Duration::from_millis(100);

impl<const EDGE: bool> Pattern for EventLoop<EDGE> {
    const INFO: Info = Info {
        name: if EDGE { "epoll-edge" } else { "epoll-level" },
        definition_version: 1,
        summary: if EDGE {
            "round trip of two event loops, edge-triggered epoll; the answering one watches 64 channels, one is active"
        } else {
            "round trip of two event loops, level-triggered epoll; the answering one watches 64 channels, one is active"
        },
        metrics: &[RTT, CPU],
        topology: Topology::Channels(CHANNELS),
        duplex: true,
        nonblocking: true,
        external: false,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::round_trips(0.075);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_pollable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Senders(ends) => ask(&mut ends[ACTIVE], round, context, EDGE),
            Ends::Receivers(ends) => answer(ends, round, context, EDGE),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut measured = conduct_rtt(team, job)?;
        cpu::add(&mut measured);
        Ok(measured)
    }
}

/// The epoll instance of a loop.
struct PollSet {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    missed: u32,
}

impl PollSet {
    /// Watches the incoming side of every end; events are identified by the index of the end.
    fn new<E: Endpoint>(ends: &[E], edge: bool) -> io::Result<PollSet> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = if edge { epoll::EventFlags::IN | epoll::EventFlags::ET } else { epoll::EventFlags::IN };
        for (index, end) in ends.iter().enumerate() {
            let descriptor = end.incoming().ok_or(io::ErrorKind::Unsupported)?;
            epoll::add(&epoll, descriptor, epoll::EventData::new_u64(index as u64), flags)?;
        }
        Ok(PollSet { epoll, events: Vec::with_capacity(EVENTS), missed: 0 })
    }

    /// Waits for events; returns false if there were none in time.
    fn wait(&mut self) -> io::Result<bool> {
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos().into() };
        self.events.clear();
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&patience))?;
        Ok(!self.events.is_empty())
    }

    /// Waits, and calls `read` with the index of each end that may have data; `read` returns whether it had. If no
    /// event arrives in time, calls it for all `count` ends.
    fn turn(&mut self, count: usize, mut read: impl FnMut(usize) -> io::Result<bool>) -> io::Result<()> {
        if self.wait()? {
            for event in &self.events {
                read(event.data.u64() as usize)?;
            }
            return Ok(());
        }
        for index in 0..count {
            self.missed += u32::from(read(index)?);
        }
        Ok(())
    }

    fn report(&self, report: Report) -> Report {
        let counters = [("missed".to_owned(), f64::from(self.missed))].into();
        Report { counters, ..report }
    }
}

fn ask<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>, edge: bool) -> io::Result<Report> {
    let mut watched = PollSet::new(std::slice::from_ref(end), edge)?;
    let mut incoming = Incoming::default();
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut histogram = Histogram::new();
    let start_ns = now_ns();
    let mut last_ns = start_ns;
    let mut sequence = round.first;
    for _ in 0..round.batches {
        for _ in 0..round.batch {
            send_whole(end, context.payload.message(sequence))?;
            if round.full_check {
                context.payload.poison();
            }
            let mut answered = false;
            while !answered {
                watched.turn(1, |_| {
                    let had = incoming.read(end, context.payload.space())?;
                    answered |= incoming.take(context.payload.size());
                    Ok(had)
                })?;
            }
            context.payload.verify(sequence)?;
            if round.full_check {
                context.payload.verify_all(sequence)?;
            }
            sequence += 1;
            if round.histogram {
                let this_ns = now_ns();
                histogram.record_ns(this_ns - last_ns);
                last_ns = this_ns;
            }
        }
        stamps_ns.push(now_ns());
    }
    let histogram = histogram.to_pairs();
    Ok(watched.report(Report { start_ns, end_ns: now_ns(), stamps_ns, histogram, ..Report::default() }))
}

/// The answering side sends back what it received, on the channel on which it was received.
fn answer<E: Endpoint>(
    ends: &mut [E],
    round: &Round,
    context: &mut WorkerContext<'_>,
    edge: bool,
) -> io::Result<Report> {
    let mut watched = PollSet::new(ends, edge)?;
    let mut incoming = Incoming::default();
    let (mut sequence, last) = (round.first, round.first + round.messages());
    let start_ns = now_ns();
    if round.full_check {
        context.payload.poison();
    }
    while sequence < last {
        watched.turn(ends.len(), |index| {
            // Only one channel has messages, so one buffer is enough.
            let had = incoming.read(&mut ends[index], context.payload.space())?;
            if incoming.take(context.payload.size()) {
                context.payload.verify(sequence)?;
                if round.full_check {
                    context.payload.verify_all(sequence)?;
                }
                send_whole(&mut ends[index], context.payload.space())?;
                if round.full_check {
                    context.payload.poison();
                }
                sequence += 1;
            }
            Ok(had)
        })?;
    }
    Ok(watched.report(Report { start_ns, end_ns: now_ns(), ..Report::default() }))
}

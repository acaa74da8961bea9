//! `poll-both-ways`: both directions at once, by one thread at each end: two processes that send each other messages over one
//! channel and wait with `poll(2)` for what is possible next.
//!
//! Each process reads until the end refuses, writes until it refuses or is 16 messages ahead of what it has read, and then
//! polls for reading and, if it has something to send, for writing. Descriptors do not block. The rate is that of the messages
//! that one process receives, over whole rounds; as many go the other way.
//!
//! A wait ends after 100 ms even without an event. The counter `missed` says how often the process could go on that no event
//! had told of: of a sound transport it is absent or 0.

use std::io;
use std::time::Duration;

use headwater_os::clock::now_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::cpu::CPU;
use super::stream::RATE;
use super::whole_rounds::{conduct_rounds, elapsed_ns};
use super::{Ends, Info, Pattern, Topology, accepts_pollable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// Both directions at once.
#[derive(Debug)]
pub struct PollBothWays;

/// A wait without an event ends after this.
const PATIENCE: Duration = Duration::from_millis(100);

/// A process sends at most so many messages more than it has received: without a bound a transport with a large buffer would
/// send all first and then receive all.
const AHEAD_MAX: u64 = 16;

impl Pattern for PollBothWays {
    const INFO: Info = Info {
        name: "poll-both-ways",
        definition_version: 1,
        summary: "two processes that send each other messages at once over one channel, one thread and poll() at each \
                  end; messages per second of one direction",
        metrics: &[RATE, CPU],
        topology: Topology::TwoProcesses,
        duplex: true,
        nonblocking: true,
        external: false,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::rounds(0.042);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_pollable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) | Ends::Receiver(end) => exchange(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        // As many messages go either way.
        conduct_rounds(team, job, 2, RATE.name, |messages, reports| messages as f64 / elapsed_ns(reports) * 1e9)
    }
}

/// One end: all messages of the round out, and all in.
fn exchange<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let size = context.payload.size();
    let mut space = Payload::new(size);
    let last = round.first + round.messages();
    let (mut sending, mut sent, mut receiving, mut received) = (round.first, 0, round.first, 0);
    let (mut missed, mut has_event) = (0_u32, true);
    let start_ns = now_ns();
    loop {
        let before = (sending, sent, receiving, received);
        while receiving < last {
            if round.full_check && received == 0 {
                space.poison();
            }
            match end.receive_some(&mut space.space()[received..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => received += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if received == size {
                space.verify(receiving)?;
                if round.full_check {
                    space.verify_all(receiving)?;
                }
                (receiving, received) = (receiving + 1, 0);
            }
        }
        let send_to = last.min(receiving + AHEAD_MAX);
        while sending < send_to {
            match end.send_some(&context.payload.message(sending)[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if sent == size {
                (sending, sent) = (sending + 1, 0);
            }
        }
        missed += u32::from(!has_event && before != (sending, sent, receiving, received));
        if sending == last && receiving == last {
            break;
        }
        has_event = wait(end, receiving < last, sending < send_to)?;
    }
    let counters = [("missed".to_owned(), f64::from(missed))].into();
    Ok(Report { start_ns, end_ns: now_ns(), counters, ..Report::default() })
}

/// Waits until the end can do what is wanted of it; false if it could not in time.
fn wait<E: Endpoint>(end: &E, reads: bool, writes: bool) -> io::Result<bool> {
    let incoming = end.incoming().ok_or(io::ErrorKind::Unsupported)?;
    let outgoing = end.outgoing().ok_or(io::ErrorKind::Unsupported)?;
    let wanted = |is_wanted: bool, flag: PollFlags| if is_wanted { flag } else { PollFlags::empty() };
    let (reads, writes) = (wanted(reads, PollFlags::IN), wanted(writes, PollFlags::OUT));
    let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos().into() };
    let is_one = std::os::fd::AsRawFd::as_raw_fd(&incoming) == std::os::fd::AsRawFd::as_raw_fd(&outgoing);
    let mut one = [PollFd::from_borrowed_fd(incoming, reads | writes)];
    let mut two = [PollFd::from_borrowed_fd(incoming, reads), PollFd::from_borrowed_fd(outgoing, writes)];
    let polled: &mut [PollFd<'_>] = if is_one { &mut one } else { &mut two };
    match poll(polled, Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

//! `single`: one process holds both ends and never waits. It sends until the transport is full or the batch is
//! complete, then receives until the transport is empty, in reads of the same size, and repeats.
//!
//! The figure is the cost of a message without any change of process: it includes no wake-up and no context switch. A
//! byte stream may accept only a part of the message that fills it; the rest is sent first at the next filling. Each
//! batch starts and ends with an empty transport, so it includes filling and draining in equal parts. A batch that is
//! smaller than the transport's capacity never fills it: the counter `fills` is the number of times that the transport
//! was full, `in_flight_max` the maximum number of messages in it.

use std::io;

use headwater_os::clock::now_ns;
use headwater_results::schema::Standing;

use super::stream::RATE;
use super::{Ends, Info, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::transports::{self, Endpoint};

/// Fill and drain in one process.
#[derive(Debug)]
pub struct Single;

const ROLES: [Role; 1] = [Role::Both];

/// The time without progress on either side after which a message counts as lost. Some transports (a pty) move data in
/// a kernel thread, so a message may be in flight without being readable yet.
const STALL_NS: u64 = 1_000_000_000;

impl Pattern for Single {
    const INFO: Info = Info {
        name: "single",
        definition_version: 1,
        summary: "one process sends until the transport is full, then reads at the same size until it is empty; \
                  messages per second",
        metrics: &[RATE],
        topology: Topology::OneProcess,
        duplex: false,
        nonblocking: true,
        external: false,
        counted: false,
    };

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        if transport.standing == Standing::Null {
            return Err(format!("{} is never full and never empty", transport.name));
        }
        accepts_reliable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        let Ends::Both(sender, receiver) = ends else { return Err(wrong_ends()) };
        let mut filler =
            Filler { end: sender, payload: &mut context.payload, sequence: round.first, sent: 0, fills: 0 };
        let mut space = Payload::new(filler.payload.size());
        let mut drainer = Drainer {
            end: receiver,
            space: &mut space,
            sequence: round.first,
            received: 0,
            full_check: round.full_check,
        };
        let mut stamps_ns = Vec::with_capacity(round.batches as usize);
        let mut in_flight_max = 0;
        let start_ns = now_ns();
        for batch in 1..=round.batches {
            let last = round.first + batch * round.batch;
            let mut stall = StallTimer::default();
            while drainer.sequence < last {
                let filled = filler.fill(last)?;
                in_flight_max = in_flight_max.max(filler.sequence - drainer.sequence);
                let drained = drainer.drain(last)?;
                stall.watch(filled || drained)?;
            }
            stamps_ns.push(now_ns());
        }
        let mut report = Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() };
        report.counters.insert("fills".into(), filler.fills as f64);
        report.counters.insert("in_flight_max".into(), in_flight_max as f64);
        Ok(report)
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let batches = Rounds::new(team, job, &ROLES, Role::Both).measure()?;
        let mut measured = batches.measured(&ROLES);
        measured.series.insert(RATE.name.into(), batches.rates());
        Ok(measured)
    }
}

/// The sending half.
struct Filler<'a, E> {
    end: &'a mut E,
    payload: &'a mut Payload,
    /// The message that is sent next, or was sent in part.
    sequence: u64,
    /// Bytes of that message that were accepted.
    sent: usize,
    /// Times the transport was full.
    fills: u64,
}

impl<E: Endpoint> Filler<'_, E> {
    /// Sends until the transport is full, or up to message `last`. Returns whether any bytes were sent.
    #[inline]
    fn fill(&mut self, last: u64) -> io::Result<bool> {
        let (size, before) = (self.payload.size(), (self.sequence, self.sent));
        while self.sequence < last {
            match self.end.send_some(&self.payload.message(self.sequence)[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.fills += 1;
                    break;
                }
                Err(error) => return Err(error),
            }
            if self.sent == size {
                self.sent = 0;
                self.sequence += 1;
            }
        }
        Ok((self.sequence, self.sent) != before)
    }
}

/// The receiving half.
struct Drainer<'a, E> {
    end: &'a mut E,
    space: &'a mut Payload,
    /// The message that is received next, or was received in part.
    sequence: u64,
    /// Bytes of that message that were received.
    received: usize,
    full_check: bool,
}

impl<E: Endpoint> Drainer<'_, E> {
    /// Receives until the transport is empty, or up to message `last`. Returns whether any bytes were received.
    #[inline]
    fn drain(&mut self, last: u64) -> io::Result<bool> {
        let (size, before) = (self.space.size(), (self.sequence, self.received));
        while self.sequence < last {
            if self.full_check && self.received == 0 {
                self.space.poison();
            }
            match self.end.receive_some(&mut self.space.space()[self.received..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if self.received == size {
                self.space.verify(self.sequence)?;
                if self.full_check {
                    self.space.verify_all(self.sequence)?;
                }
                self.received = 0;
                self.sequence += 1;
            }
        }
        Ok((self.sequence, self.received) != before)
    }
}

/// Limits the time without progress on either side.
#[derive(Default)]
struct StallTimer {
    since_ns: Option<u64>,
}

impl StallTimer {
    #[inline]
    fn watch(&mut self, progress: bool) -> io::Result<()> {
        if progress {
            self.since_ns = None;
            return Ok(());
        }
        let now_ns = now_ns();
        if now_ns - *self.since_ns.get_or_insert(now_ns) > STALL_NS {
            let message = "neither full nor drained any further for a second: bytes were lost in the transport";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        // Yields the CPU to a kernel thread that may be moving the data.
        std::thread::yield_now();
        Ok(())
    }
}

#[cfg(test)]
mod tests;

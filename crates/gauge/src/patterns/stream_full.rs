//! `stream-full`: like `stream`, but the receiver reads all available data, up to 64 KiB, whatever the message size is.
//!
//! It is for byte streams only: where a read returns one message anyway, it would be the same as `stream`. A read may
//! pass the end of one or several batches. The time of such an end is interpolated between the last read that passed an
//! end and this one, so that the batches of a round add up to its time and none is empty.

use std::io;

use headwater_os::clock::now_ns;

use headwater_results::schema::RATE_DEFINITION;

use super::stream::{RATE, conduct_stream, send_all};
use super::{Ends, Info, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::{Payload, StreamCheck};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// One-way streaming with full reads.
#[derive(Debug)]
pub struct StreamFull;

/// The maximum size of a read, bytes.
pub(super) const READ_BYTES: usize = 64 << 10;

impl Pattern for StreamFull {
    const INFO: Info = Info {
        name: "stream-full",
        definition_version: RATE_DEFINITION,
        summary: "one-way, one send call per message, reads of up to 64 KiB; messages per second, as stream counts them",
        metrics: &[RATE],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: false,
    };

    const COST: LaunchCost = LaunchCost::VOLUME;

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        if transport.keeps_boundaries {
            return Err(format!(
                "a read of {} takes one message however large its buffer is: the same as stream",
                transport.name
            ));
        }
        accepts_reliable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            Ends::Receiver(end) => receive::<E, WholeBuffer>(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        conduct_stream(team, job)
    }
}

/// How many bytes a read asks for. A read never gets bytes of the next round, because no worker sends for that round
/// before this one has ended everywhere.
pub(super) trait ReadCount {
    /// Makes the counts for a round of `bytes` bytes.
    fn new(bytes: u64) -> Self;

    /// Returns the count of the next read.
    fn next(&self) -> usize;

    /// Takes notice that a read returned `count` bytes.
    fn took(&mut self, count: usize);
}

/// Each read asks for [`READ_BYTES`].
struct WholeBuffer;

impl ReadCount for WholeBuffer {
    fn new(_: u64) -> WholeBuffer {
        WholeBuffer
    }

    #[inline]
    fn next(&self) -> usize {
        READ_BYTES
    }

    #[inline]
    fn took(&mut self, _: usize) {}
}

/// Runs one round of a receiver with full reads.
pub(super) fn receive<E: Endpoint, C: ReadCount>(
    end: &mut E,
    round: &Round,
    context: &mut WorkerContext<'_>,
) -> io::Result<Report> {
    let reader =
        Reader { end, buffer: vec![0; READ_BYTES], count: C::new(round.messages() * context.payload.size() as u64) };
    if round.full_check { receive_checked(reader, round, context) } else { receive_all(reader, round, context) }
}

/// The receiver's end and its buffer.
struct Reader<'a, E, C> {
    end: &'a mut E,
    buffer: Vec<u8>,
    count: C,
}

impl<E: Endpoint, C: ReadCount> Reader<'_, E, C> {
    /// Does one read.
    #[inline]
    fn read(&mut self) -> io::Result<&[u8]> {
        match self.end.receive_some(&mut self.buffer[..self.count.next()])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.count.took(count);
                Ok(&self.buffer[..count])
            }
        }
    }
}

/// The receiver's loop.
fn receive_all<E: Endpoint, C: ReadCount>(
    mut reader: Reader<'_, E, C>,
    round: &Round,
    context: &mut WorkerContext<'_>,
) -> io::Result<Report> {
    let mut check = StreamCheck::new(context.payload.size(), round.first);
    let start_ns = now_ns();
    let mut marks = BatchEnds::new(start_ns, round);
    let last = round.first + round.messages();
    while check.sequence() < last {
        check.push(reader.read()?)?;
        if check.sequence() >= marks.next {
            marks.pass(now_ns(), check.sequence());
        }
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns: marks.stamps_ns, ..Report::default() })
}

/// The receiver's loop when every byte is compared: each message is assembled from the chunks that arrive.
fn receive_checked<E: Endpoint, C: ReadCount>(
    mut reader: Reader<'_, E, C>,
    round: &Round,
    context: &mut WorkerContext<'_>,
) -> io::Result<Report> {
    let mut assembly = Assembly { payload: &mut context.payload, sequence: round.first, received: 0 };
    let start_ns = now_ns();
    let mut marks = BatchEnds::new(start_ns, round);
    while assembly.sequence < round.first + round.messages() {
        assembly.push(reader.read()?)?;
        if assembly.sequence >= marks.next {
            marks.pass(now_ns(), assembly.sequence);
        }
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns: marks.stamps_ns, ..Report::default() })
}

/// Assembles messages and compares every byte of them.
struct Assembly<'a> {
    payload: &'a mut Payload,
    sequence: u64,
    /// Bytes of the current message received so far.
    received: usize,
}

impl Assembly<'_> {
    fn push(&mut self, mut chunk: &[u8]) -> io::Result<()> {
        while !chunk.is_empty() {
            if self.received == 0 {
                self.payload.poison();
            }
            let space = &mut self.payload.space()[self.received..];
            let count = space.len().min(chunk.len());
            space[..count].copy_from_slice(&chunk[..count]);
            chunk = &chunk[count..];
            self.received += count;
            if self.received == self.payload.size() {
                self.payload.verify_all(self.sequence)?;
                self.sequence += 1;
                self.received = 0;
            }
        }
        Ok(())
    }
}

/// The end times of batches, computed from reads that may pass them.
struct BatchEnds {
    stamps_ns: Vec<u64>,
    batch: u64,
    /// The number of messages (from the first round on) at which the next batch ends.
    next: u64,
    /// The last time that is known exactly, and the number of messages at that time.
    known: (u64, u64),
}

impl BatchEnds {
    fn new(start_ns: u64, round: &Round) -> BatchEnds {
        BatchEnds {
            stamps_ns: Vec::with_capacity(round.batches as usize),
            batch: round.batch,
            next: round.first + round.batch,
            known: (start_ns, round.first),
        }
    }

    /// Records a read that ended at `now_ns` with `sequence` messages, at or after the next end of a batch.
    fn pass(&mut self, now_ns: u64, sequence: u64) {
        let (known_ns, known_sequence) = self.known;
        let message_ns = (now_ns - known_ns) as f64 / (sequence - known_sequence) as f64;
        while self.next <= sequence {
            let since_known_ns = (self.next - known_sequence) as f64 * message_ns;
            self.stamps_ns.push(known_ns + since_known_ns as u64);
            self.next += self.batch;
        }
        self.known = (now_ns, sequence);
    }
}

#[cfg(test)]
mod tests;

//! Copies events of programs from a session's logs into a trace: during the session, at its end, or after a crash of
//! the recorder or the programs.
//!
//! The contents of the logs are not trusted: invalid records are not copied, and are counted. With each packet the
//! position is stored first in the trace and then in the log, so that recovery after a crash copies nothing twice.

mod filtered;
pub mod parts;
mod run;
mod threads;

use std::ops::Range;
use std::path::Path;

use headwater_os::clock;
use headwater_os::ticks;
use headwater_shm::logs::{Held, Log, WhenFull};
use headwater_trace::region::{EVENTS_MAX, Region};

use crate::ctf::{self, Error, Packet, Writer};
use crate::record::{HEAD, RECORD_MAX};
use crate::schema::{Check, EventKind, Schema, StreamKind};
use filtered::Filtered;
use parts::{Parts, PartsFile, Removed, Rotation};
use run::{RecordRun, bytes_until};

/// The default directory of the memory files of sessions. It is a file system in memory, because a disk would be written to
/// while programs record.
pub const HOME: &str = "/dev/shm";

/// The maximum size of a packet in bytes. Larger packets would save nothing: a packet is copied, checked and written while
/// it is in the processor's cache. A reader of a trace holds one packet of each ring in memory.
const PACKET_MAX: usize = 256 << 10;

/// How long to wait for writers that had reserved space before their log was closed, in ms. Such a writer is in a
/// restartable sequence with interrupts on; if it is interrupted, it starts again and finds the log closed. Only a
/// stopped virtual CPU takes longer.
const SETTLING_MS: u64 = 2;

/// How often to copy a log whose writers overwrite it faster than it is copied; this process may be preempted while
/// copying.
const COPIES: u32 = 20;

/// The only stream in a trace of programs.
const STREAM: usize = 0;

/// The totals for the events of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records in the trace.
    pub written: u64,
    /// Events that a filter has left out. They are no losses.
    pub filtered: u64,
    /// Lost events: their log was full, they had no log, or they were overwritten.
    pub lost: u64,
    /// Bytes of logs that were not valid records: a program has overwritten its log.
    pub spoiled_bytes: u64,
    /// Bytes of the trace.
    pub bytes: u64,
    /// The buffer size of a CPU with which no event would have been lost for lack of space. It is an estimate from the
    /// average length of records and the events that were lost between two copies.
    pub buffer_needed: u64,
}

/// The error of a session whose events could not be copied completely.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Unfinished {
    /// The totals of its events so far.
    pub totals: Totals,
    /// Bytes of events that are still in the logs. [`recover`] copies them after the cause has been removed.
    pub left_bytes: u64,
    /// The cause.
    #[source]
    pub error: Box<Error>,
}

impl From<Error> for Unfinished {
    /// Makes the error for a session of which nothing was copied.
    fn from(error: Error) -> Unfinished {
        Unfinished { totals: Totals::default(), left_bytes: 0, error: Box::new(error) }
    }
}

/// Writes the present contents of a session's logs as a trace of its own. The session continues. For sessions whose
/// logs are overwritten.
///
/// # Errors
/// [`Unfinished`] with those of [`Writer::create`] and [`Writer::packet`].
pub fn snapshot(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Totals, Unfinished> {
    let mut consumer = Consumer::begin(region, directory, environment)?;
    // Snapshots must not move the logs' tails.
    consumer.closed = true;
    let done = consumer.write_overwritten_logs();
    consumer.end(done)
}

/// The events of a session that are not in a trace yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pending {
    /// Events that were lost so far.
    pub lost: u64,
    /// Bytes of events in the logs.
    pub left_bytes: u64,
}

/// Returns the events of a session that are not yet in the trace in `directory`, or in the current one of its parts. For
/// sessions whose logs are not overwritten.
pub fn pending(region: &Region, directory: &Path, parts: Option<&PartsFile>) -> Pending {
    let positions = ctf::positions(directory).unwrap_or_default();
    let rings = rings(region, &parts.map_or(positions.clone(), |parts| parts.complete(positions)));
    let lost = rings.iter().map(|ring| ring.log.lost()).fold(region.lost_outside(), u64::saturating_add);
    Pending { lost, left_bytes: rings.iter().map(Ring::left_bytes).sum() }
}

/// Copies the rest of a session whose consumer has died, whether or not its programs still run. Continues the trace in
/// `directory` if there is one. Programs that still record are stopped from recording.
///
/// # Errors
/// [`Unfinished`] with those of [`Writer::resume`], [`Writer::create`] and [`Writer::packet`].
pub fn recover(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Totals, Unfinished> {
    let consumer = if directory.join("metadata").exists() {
        Consumer::resume(region, directory)
    } else {
        Consumer::begin(region, directory, environment)
    };
    consumer?.finish()
}

/// Does the same for a recording whose trace is in parts: continues the one that was being written.
///
/// # Errors
/// As those of [`recover`].
pub fn recover_parts(region: Region, recording: &Path, parts: &PartsFile) -> Result<Totals, Unfinished> {
    let directory = parts.current(recording);
    parts::remove_leftovers(recording, parts).map_err(Error::io("remove parts of", recording))?;
    let writer = Writer::resume(&directory)?;
    let positions = parts.complete(ctf::positions(&directory)?);
    let mut consumer = Consumer::with(region, writer, &positions);
    for ring in &mut consumer.rings {
        ring.base = parts.lost_before(ring.number);
        ring.discarded = ring.base;
    }
    consumer.finish()
}

/// Copies events from a session's logs into a trace.
#[derive(Debug)]
pub struct Consumer {
    region: Region,
    writer: Writer,
    rings: Vec<Ring>,
    /// Which entries of the session's table of event types have been added to the trace.
    known: Vec<bool>,
    /// The first one that has not.
    first_unknown: usize,
    buffer: Vec<u8>,
    totals: Totals,
    closed: bool,
    /// Times of the first and the last written record.
    span: Option<(u64, u64)>,
    /// Number of entries in the session's list of threads that have been written.
    threads_written: u32,
    /// The same of its list of modules.
    modules_written: u32,
    /// The parts of the trace, if it has any.
    parts: Option<Parts>,
    /// Which events are left out.
    filtered: Filtered,
}

/// A log, and how far it has been copied.
#[derive(Debug)]
struct Ring {
    log: Log,
    number: u32,
    cpu: u32,
    tail: u64,
    /// The number of lost events that the trace contains so far.
    discarded: u64,
    /// That number when the current part of the trace began.
    base: u64,
}

impl Consumer {
    /// Begins a trace in a directory that is empty or does not exist.
    ///
    /// # Errors
    /// As those of [`Writer::create`].
    pub fn begin(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Consumer, Error> {
        let stream = StreamKind { name: "user".to_owned(), events: Vec::new() };
        let schema = Schema { clock: region.clock().clone(), streams: vec![stream], environment };
        let writer = Writer::create(directory, &schema)?;
        Ok(Consumer::with(region, writer, &[]))
    }

    /// Begins a trace in parts, `user-000001` and so on, in the directory of a recording.
    ///
    /// # Errors
    /// As those of [`Writer::create`].
    pub fn begin_parts(
        region: Region,
        recording: &Path,
        environment: Vec<(String, String)>,
        rotation: Rotation,
    ) -> Result<Consumer, Error> {
        let parts = Parts::begin(recording, rotation)?;
        let consumer = Consumer::begin(region, &parts.current(), environment)?;
        Ok(Consumer { parts: Some(parts), ..consumer })
    }

    /// Continues the trace of a dead consumer, and removes an incomplete packet.
    ///
    /// # Errors
    /// As those of [`Writer::resume`].
    pub fn resume(region: Region, directory: &Path) -> Result<Consumer, Error> {
        let writer = Writer::resume(directory)?;
        let positions = ctf::positions(directory)?;
        Ok(Consumer::with(region, writer, &positions))
    }

    fn with(region: Region, writer: Writer, positions: &[ctf::Position]) -> Consumer {
        let rings = rings(&region, positions);
        let written = |ring: usize| {
            let position = positions.iter().find(|position| position.ring as usize == ring);
            position.and_then(|position| position.position).unwrap_or(0) as u32
        };
        let (threads_written, modules_written) = (written(rings.len()), written(rings.len() + 1));
        let (known, closed) = (vec![false; EVENTS_MAX], region.is_over());
        let filtered = Filtered::of(&region);
        let consumer = Consumer {
            region,
            writer,
            rings,
            known,
            first_unknown: 0,
            buffer: Vec::new(),
            totals: Totals::default(),
            closed,
            span: None,
            threads_written,
            modules_written,
            parts: None,
            filtered,
        };
        consumer.ask();
        consumer
    }

    /// Returns the session whose logs are copied.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Returns the totals so far; the losses are known only at the end.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns what was removed with the oldest parts of the trace. The totals contain it.
    pub fn removed(&self) -> Removed {
        self.parts.as_ref().map_or_else(Removed::default, Parts::removed)
    }

    /// Copies the events that have arrived. Does nothing if the logs are overwritten, see [`snapshot`]. Returns the
    /// number of bytes.
    ///
    /// # Errors
    /// As those of [`Writer::packet`], for example a full disk. Events that were not copied stay in the log as long as
    /// it has room; the next call may succeed.
    pub fn carry(&mut self) -> Result<u64, Error> {
        if self.region.when_full() == WhenFull::Overwrite {
            return Ok(0);
        }
        let rotated = if self.closed { Ok(0) } else { self.end_full_part() };
        let copied = self.copy_logs(u64::MAX)?;
        // Not if the disk is full: programs would wake this process all the time.
        self.ask();
        Ok(rotated? + copied)
    }

    /// Asks programs to wake this process when a quarter of a log is full: see [`Region::wait_for_wake_up`].
    fn ask(&self) {
        if !self.closed {
            self.rings.iter().for_each(|ring| ring.log.ask(ring.tail));
        }
    }

    /// Copies the events up to a time. Returns the number of bytes.
    fn copy_logs(&mut self, until: u64) -> Result<u64, Error> {
        let mut carried = 0;
        for at in 0..self.rings.len() {
            let ring = &self.rings[at];
            let (from, head, lost) = (ring.tail, ring.log.head(), ring.log.lost());
            let log_bytes = ring.log.bytes();
            if !self.closed {
                self.update_buffer_needed(at, lost);
            }
            if head < from || head - from > log_bytes {
                self.skip_to(at, head);
            } else {
                carried += self.copy_log(at, head, until, lost)?;
            }
            self.note_loss(at, lost)?;
        }
        if self.span.is_some() || self.closed {
            self.write_threads()?;
            self.write_modules()?;
        }
        self.release_logs_of_dead_threads();
        Ok(carried)
    }

    /// Copies the events of a ring up to a position and a time. Returns the number of bytes.
    fn copy_log(&mut self, at: usize, head: u64, until: u64, lost: u64) -> Result<u64, Error> {
        let begin = self.rings[at].tail;
        let mut copied = begin;
        while copied < head {
            let mut copy = std::mem::take(&mut self.buffer);
            copy.resize(((head - copied) as usize).min(PACKET_MAX), 0);
            self.rings[at].log.copy(copied, &mut copy);
            let (len, end) = match until {
                // What is no record is noticed when it is written.
                u64::MAX => (copy.len(), head),
                until => {
                    let len = bytes_until(&copy, until);
                    (len, copied + len as u64)
                }
            };
            let written = self.write(at, copied..end, &copy[..len], lost);
            self.buffer = copy;
            copied = written?;
            if len == 0 {
                break;
            }
        }
        Ok(copied - begin)
    }

    /// Writes the contents of logs that are overwritten.
    fn write_overwritten_logs(&mut self) -> Result<(), Error> {
        for at in 0..self.rings.len() {
            let log = self.rings[at].log.clone();
            let mut copy = std::mem::take(&mut self.buffer);
            let kept = (0..COPIES).find_map(|_| {
                let head = log.head();
                let oldest = head.saturating_sub(log.bytes());
                copy.resize((head - oldest) as usize, 0);
                log.copy(oldest, &mut copy);
                log.kept_since(head, log.head()).map(|held| (held, oldest))
            });
            let lost = log.lost();
            match kept {
                Some((Held { range, overwritten }, oldest)) => {
                    let skipped = (range.start.saturating_sub(oldest) as usize).min(copy.len());
                    let lost = lost.saturating_add(overwritten);
                    self.write(at, range, &copy[skipped..], lost)?;
                    self.note_loss(at, lost)?;
                }
                // Everything was overwritten meanwhile, or a program has damaged the log.
                None => self.note_loss(at, lost.saturating_add(log.count()))?,
            }
            self.buffer = copy;
        }
        self.write_threads()?;
        self.write_modules()
    }

    /// Writes the records in `bytes`, in packets. They are those of a range of a ring's positions, or its beginning: then
    /// the last record may be incomplete. Returns the position of the first one that is not written. If a record is
    /// invalid, the whole range is skipped from there on, because the next record cannot be located.
    fn write(&mut self, at: usize, range: Range<u64>, bytes: &[u8], discarded: u64) -> Result<u64, Error> {
        self.add_event_types()?;
        let mut from = range.start;
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(run) = RecordRun::at(&rest[..rest.len().min(PACKET_MAX)]) else {
                let is_cut = rest.len() < RECORD_MAX && from + (rest.len() as u64) < range.end;
                if is_cut {
                    return Ok(from);
                }
                self.skip_to(at, range.end);
                return Ok(range.end);
            };
            let (now, later) = rest.split_at(run.len);
            let written = self.write_packet(at, from + run.len as u64, now, &run, discarded);
            if let Err(Error::Unsound { unsound, .. }) = &written {
                // The records before it are valid.
                if let Some(run) = RecordRun::at(&now[..unsound.sound.min(now.len())]) {
                    self.write_packet(at, from + run.len as u64, &now[..run.len], &run, discarded)?;
                }
                self.skip_to(at, range.end);
                return Ok(range.end);
            }
            written?;
            from += run.len as u64;
            rest = later;
        }
        Ok(from)
    }

    fn write_packet(
        &mut self,
        at: usize,
        position: u64,
        bytes: &[u8],
        run: &RecordRun,
        discarded: u64,
    ) -> Result<(), Error> {
        let Ring { number, cpu, base, .. } = self.rings[at];
        let RecordRun { begin, end, .. } = *run;
        let lost = discarded.saturating_sub(base);
        let kept = self.filtered.kept(bytes);
        let parts = &kept.parts[..];
        let packet = Packet { stream: STREAM, ring: number, cpu, begin, end, discarded: lost, position, parts };
        let written = self.writer.packet(packet);
        self.totals.bytes += written.map_err(|error| kept.located(error))?;
        self.totals.written += run.count - kept.left_out;
        self.totals.filtered += kept.left_out;
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        let ring = &mut self.rings[at];
        ring.discarded = discarded;
        self.release(at, position);
        Ok(())
    }

    /// Skips the bytes of a ring up to a position, which are not valid records.
    fn skip_to(&mut self, at: usize, position: u64) {
        let ring = &mut self.rings[at];
        self.totals.spoiled_bytes += position.saturating_sub(ring.tail).min(ring.log.bytes());
        self.release(at, position);
    }

    /// Releases the bytes of a ring up to a position, to programs that may wait for the room.
    fn release(&mut self, at: usize, position: u64) {
        let ring = &mut self.rings[at];
        ring.tail = position;
        if !self.closed {
            ring.log.take_to(position);
            self.region.wake_waiting();
        }
    }

    /// Updates `buffer_needed` for events that a CPU's log has lost since it was copied last: it was full.
    fn update_buffer_needed(&mut self, at: usize, lost: u64) {
        let ring = &self.rings[at];
        let lost = lost.saturating_sub(ring.discarded);
        if lost > 0 && ring.cpu != u32::MAX {
            // Their length is unknown: assume the log's average.
            let long = ring.log.head().div_ceil(ring.log.count().max(1)).clamp(HEAD as u64, RECORD_MAX as u64);
            let needed = ring.log.bytes().saturating_add(lost.saturating_mul(long));
            self.totals.buffer_needed = self.totals.buffer_needed.max(needed);
        }
    }

    fn note_loss(&mut self, at: usize, lost: u64) -> Result<(), Error> {
        let time = self.now();
        let ring = &mut self.rings[at];
        if lost > ring.discarded {
            ring.discarded = lost;
            self.writer.note_loss(STREAM, ring.number, ring.cpu, lost.saturating_sub(ring.base), time)?;
        }
        Ok(())
    }

    /// Adds event types to the trace that programs have defined meanwhile. They must precede their records, so this is
    /// called after the log's head was read.
    fn add_event_types(&mut self) -> Result<(), Error> {
        // The table has thousands of entries, so only those that may be new are looked at.
        let new = self.first_unknown..self.region.kinds_end(self.first_unknown);
        let new: Vec<EventKind> = new.filter(|id| !self.known[*id]).filter_map(|id| self.region.kind(id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        // An invalid event type is skipped; its records are then invalid too.
        self.writer.add_events(STREAM, new.iter().filter(|kind| kind.check().is_ok()).cloned())?;
        for kind in &new {
            self.known[usize::from(kind.id)] = true;
            self.filtered.add(kind);
        }
        // An entry remains unknown as long as its program has not written it.
        let known = self.known[self.first_unknown..].iter().take_while(|known| **known);
        self.first_unknown += known.count();
        Ok(())
    }

    /// Releases the logs of killed threads for other threads.
    fn release_logs_of_dead_threads(&self) {
        for ring in self.rings.iter().filter(|ring| ring.cpu == u32::MAX) {
            let owner = ring.log.owner();
            if owner != 0 && ring.log.head() == ring.tail && !Path::new(&format!("/proc/{owner}")).exists() {
                ring.log.give_back();
            }
        }
    }

    /// Ends the session: programs can no longer record. Copies the rest and closes the trace.
    ///
    /// # Errors
    /// [`Unfinished`] with those of [`Writer::packet`] and [`Writer::close`].
    pub fn finish(mut self) -> Result<Totals, Unfinished> {
        self.close();
        let done = match self.region.when_full() {
            WhenFull::Refuse => self.carry().map(|_| ()),
            WhenFull::Overwrite => self.write_overwritten_logs(),
        };
        self.end(done)
    }

    fn end(mut self, done: Result<(), Error>) -> Result<Totals, Unfinished> {
        if self.region.when_full() == WhenFull::Refuse {
            // Also for rings that were not copied because the disk was full before.
            for at in 0..self.rings.len() {
                self.note_loss(at, self.rings[at].log.lost())?;
            }
        }
        let outside = self.region.lost_outside();
        if outside > 0 {
            // These events had no log, but a trace can attribute losses only to rings.
            let lost = self.rings[0].discarded.saturating_add(outside);
            self.note_loss(0, lost)?;
        }
        let Consumer { writer, rings, mut totals, .. } = self;
        totals.lost = rings.iter().map(|ring| ring.discarded).sum();
        // Not closed if events are left: closing writes packets with losses, which must come after those events.
        done.and_then(|()| writer.close()).map_err(|error| Unfinished {
            totals,
            left_bytes: rings.iter().map(Ring::left_bytes).sum(),
            error: Box::new(error),
        })?;
        Ok(totals)
    }

    /// Makes the session refuse events from now on.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            // What is lost from now on, no buffer would have held.
            for at in 0..self.rings.len() {
                self.update_buffer_needed(at, self.rings[at].log.lost());
            }
            self.region.end();
            self.rings.iter().for_each(|ring| ring.log.close());
            std::thread::sleep(std::time::Duration::from_millis(SETTLING_MS));
        }
    }

    fn now(&self) -> u64 {
        if self.region.clock().name == "tsc" { ticks::now() } else { clock::now_ns() }
    }
}

impl Ring {
    /// Returns the bytes that have not been copied.
    fn left_bytes(&self) -> u64 {
        self.log.head().saturating_sub(self.tail).min(self.log.bytes())
    }
}

/// Returns the logs of a session, and how far they have been copied to a trace with these positions.
fn rings(region: &Region, positions: &[ctf::Position]) -> Vec<Ring> {
    let cpus = (0..region.cpu_logs().len()).filter_map(|cpu| Some((region.cpu_logs().log(cpu)?, cpu as u32)));
    let threads =
        (0..region.thread_logs().len()).filter_map(|number| Some((region.thread_logs().log(number)?, u32::MAX)));
    let ring = |(number, (log, cpu)): (usize, (Log, u32))| {
        let number = number as u32;
        let position = positions.iter().find(|position| position.ring == number);
        // Without a trace, the log's tail tells what was copied, until the log is closed.
        let taken = Some(log.tail()).filter(|tail| *tail <= log.head());
        let tail = position.and_then(|position| position.position).or(taken).unwrap_or(0);
        Ring { log, number, cpu, tail, discarded: 0, base: 0 }
    };
    cpus.chain(threads).enumerate().map(ring).collect()
}

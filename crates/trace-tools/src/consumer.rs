//! Carries what programs have recorded in a session's logs into a trace: all the while, at the end, or after everybody
//! else has died.
//!
//! It believes nothing that it reads: what is no sound record goes no further, and is counted. A position is noted in the
//! trace with each packet and in the log behind it, so that whoever goes on after a crash carries nothing twice.

mod who;

use std::path::Path;

use headwater_os::clock;
use headwater_os::ticks;
use headwater_shm::logs::{Held, Log, WhenFull};
use headwater_trace::region::{EVENTS_MAX, Region};

use crate::ctf::{self, Error, Packet, Writer};
use crate::record::{HEAD, RECORD_MAX, records};
use crate::schema::{Schema, StreamKind};

/// Most bytes of a packet. Larger ones save nothing, and whoever reads a trace holds one of each ring in memory.
const PACKET_MAX: usize = 1 << 20;

/// How long a writer that had looked for room before its log was closed may take to make its entry one, ms. It runs with
/// interrupts on, but whoever interrupts it makes it begin again; only a virtual CPU that stands still takes longer.
const SETTLING_MS: u64 = 2;

/// How often a log is copied whose writers overwrite it faster than it is copied: whoever copies may be preempted.
const COPIES: u32 = 20;

/// The stream of programs, the only one of a trace of theirs.
const STREAM: usize = 0;

/// What became of the events of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records in the trace.
    pub written: u64,
    /// Events that were not recorded: their log was full, or they found none, or they were overwritten.
    pub lost: u64,
    /// Bytes of logs that held no sound records, because somebody has spoiled them.
    pub spoiled_bytes: u64,
    /// Bytes of the trace.
    pub bytes: u64,
    /// How large a CPU's buffer had to be so that none of the events was lost for which it had no room: as far as that can be
    /// told from how often it was carried, and from how long records were.
    pub buffer_needed: u64,
}

/// A session that could not be carried to its end.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Unfinished {
    /// What became of its events so far.
    pub totals: Totals,
    /// Bytes of events that still stand in the logs: [`recover`] carries them when the cause has gone.
    pub left_bytes: u64,
    /// The cause.
    #[source]
    pub error: Error,
}

impl From<Error> for Unfinished {
    /// Nothing was carried.
    fn from(error: Error) -> Unfinished {
        Unfinished { totals: Totals::default(), left_bytes: 0, error }
    }
}

/// Writes what the logs of a session hold now as a trace of its own, and lets the session go on: for sessions whose logs are
/// overwritten.
///
/// # Errors
/// [`Unfinished`] by those of [`Writer::create`] and [`Writer::packet`].
pub fn snapshot(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Totals, Unfinished> {
    let mut consumer = Consumer::begin(region, directory, environment)?;
    // Its tails are no reader's.
    consumer.closed = true;
    let done = consumer.snap();
    consumer.end(done)
}

/// What there is of a session that nobody has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pending {
    /// Events that found no room so far.
    pub lost: u64,
    /// Bytes of events that stand in the logs.
    pub left_bytes: u64,
}

/// What there is of a session that is not in the trace in the directory. For one that refuses what finds no room.
pub fn pending(region: &Region, directory: &Path) -> Pending {
    let rings = rings(region, &ctf::positions(directory).unwrap_or_default());
    let lost = rings.iter().map(|ring| ring.log.lost()).fold(region.lost_outside(), u64::saturating_add);
    Pending { lost, left_bytes: rings.iter().map(Ring::left_bytes).sum() }
}

/// Carries what a session holds whose consumer has died, with or without the programs: goes on with the trace in the
/// directory if there is one. Whoever still records stops.
///
/// # Errors
/// [`Unfinished`] by those of [`Writer::resume`], [`Writer::create`] and [`Writer::packet`].
pub fn recover(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Totals, Unfinished> {
    let consumer = if directory.join("metadata").exists() {
        Consumer::resume(region, directory)
    } else {
        Consumer::begin(region, directory, environment)
    };
    consumer?.finish()
}

/// Who carries.
#[derive(Debug)]
pub struct Consumer {
    region: Region,
    writer: Writer,
    rings: Vec<Ring>,
    /// Which places of the table of events are known.
    known: Vec<bool>,
    buffer: Vec<u8>,
    totals: Totals,
    closed: bool,
    /// Times of the first and the last record that was written.
    span: Option<(u64, u64)>,
    /// How many of the threads that are noted apart are in the trace.
    greeted: u32,
}

/// A log, and how far it has been carried.
#[derive(Debug)]
struct Ring {
    log: Log,
    number: u32,
    cpu: u32,
    tail: u64,
    /// Said in the trace so far.
    discarded: u64,
}

impl Consumer {
    /// Begins a trace in a directory that does not exist or is empty.
    ///
    /// # Errors
    /// As those of [`Writer::create`].
    pub fn begin(region: Region, directory: &Path, environment: Vec<(String, String)>) -> Result<Consumer, Error> {
        let stream = StreamKind { name: "user".to_owned(), events: Vec::new() };
        let schema = Schema { clock: region.clock().clone(), streams: vec![stream], environment };
        let writer = Writer::create(directory, &schema)?;
        Ok(Consumer::with(region, writer, &[]))
    }

    /// Goes on with a trace whose consumer has died; cuts what it left half written.
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
        let greeted = positions.iter().find(|position| position.ring as usize == rings.len());
        let greeted = greeted.and_then(|position| position.position).unwrap_or(0) as u32;
        let (known, closed) = (vec![false; EVENTS_MAX], region.is_over());
        Consumer {
            region,
            writer,
            rings,
            known,
            buffer: Vec::new(),
            totals: Totals::default(),
            closed,
            span: None,
            greeted,
        }
    }

    /// The session whose logs are carried.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What became of the events so far; what was lost is known at the end.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Carries what is there now; of a session whose logs are overwritten nothing: see [`snapshot`]. Returns how many
    /// bytes it was.
    ///
    /// # Errors
    /// As those of [`Writer::packet`]: a full disk, for example. What was not carried stays where it is, as long as there
    /// is room; the next call may succeed.
    pub fn carry(&mut self) -> Result<u64, Error> {
        if self.region.when_full() == WhenFull::Overwrite {
            return Ok(0);
        }
        let mut carried = 0;
        for at in 0..self.rings.len() {
            let ring = &self.rings[at];
            let (from, head, lost) = (ring.tail, ring.log.head(), ring.log.lost());
            let log_bytes = ring.log.bytes();
            self.note_need(at, from, head, lost);
            if head < from || head - from > log_bytes {
                self.give_up(at, head);
            } else if head > from {
                let mut copy = std::mem::take(&mut self.buffer);
                copy.resize((head - from) as usize, 0);
                self.rings[at].log.copy(from, &mut copy);
                let written = self.write(at, from, &copy, lost);
                self.buffer = copy;
                written?;
                carried += head - from;
            }
            self.note_loss(at, lost)?;
        }
        if self.span.is_some() || self.closed {
            self.write_who()?;
        }
        self.give_back_logs();
        Ok(carried)
    }

    /// Writes what stands in logs that are overwritten.
    fn snap(&mut self) -> Result<(), Error> {
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
                    self.write(at, range.start, &copy[skipped..], lost)?;
                    self.note_loss(at, lost)?;
                }
                // Nothing of what there was is there any more; or somebody has spoiled it.
                None => self.note_loss(at, lost.saturating_add(log.count()))?,
            }
            self.buffer = copy;
        }
        self.write_who()
    }

    /// Writes records that begin at a position of a ring, in packets.
    fn write(&mut self, at: usize, mut from: u64, bytes: &[u8], discarded: u64) -> Result<(), Error> {
        self.learn_kinds()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(found) = Found::at(&rest[..rest.len().min(PACKET_MAX)]) else {
                self.give_up(at, from + rest.len() as u64);
                return Ok(());
            };
            let (now, later) = rest.split_at(found.len);
            let written = self.write_packet(at, from + found.len as u64, now, &found, discarded);
            if let Err(Error::Unsound { unsound, .. }) = &written {
                // What comes before is whole. Behind it nobody knows where a record begins.
                if let Some(found) = Found::at(&now[..unsound.sound.min(now.len())]) {
                    self.write_packet(at, from + found.len as u64, &now[..found.len], &found, discarded)?;
                    from += found.len as u64;
                }
                self.give_up(at, from + (rest.len() - unsound.sound.min(now.len())) as u64);
                return Ok(());
            }
            written?;
            from += found.len as u64;
            rest = later;
        }
        Ok(())
    }

    fn write_packet(
        &mut self,
        at: usize,
        position: u64,
        bytes: &[u8],
        found: &Found,
        discarded: u64,
    ) -> Result<(), Error> {
        let Ring { number, cpu, .. } = self.rings[at];
        let Found { begin, end, .. } = *found;
        let packet = Packet { stream: STREAM, ring: number, cpu, begin, end, discarded, position, parts: &[bytes] };
        self.totals.bytes += self.writer.packet(packet)?;
        self.totals.written += found.count;
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        let ring = &mut self.rings[at];
        (ring.tail, ring.discarded) = (position, discarded);
        if !self.closed {
            ring.log.take_to(position);
        }
        Ok(())
    }

    /// What a ring holds up to a position is no records.
    fn give_up(&mut self, at: usize, position: u64) {
        let ring = &mut self.rings[at];
        self.totals.spoiled_bytes += position.saturating_sub(ring.tail).min(ring.log.bytes());
        ring.tail = position;
        if !self.closed {
            ring.log.take_to(position);
        }
    }

    /// Since it was carried to `from` so many have found no room in a CPU's log.
    fn note_need(&mut self, at: usize, from: u64, head: u64, lost: u64) {
        let ring = &self.rings[at];
        let lost = lost.saturating_sub(ring.discarded);
        if lost > 0 && ring.cpu != u32::MAX {
            // As long as those that were not: the log's, from its beginning on.
            let long = ring.log.head().div_ceil(ring.log.count().max(1)).clamp(HEAD as u64, RECORD_MAX as u64);
            let needed = head.saturating_sub(from).saturating_add(lost.saturating_mul(long));
            self.totals.buffer_needed = self.totals.buffer_needed.max(needed);
        }
    }

    fn note_loss(&mut self, at: usize, lost: u64) -> Result<(), Error> {
        let time = self.now();
        let ring = &mut self.rings[at];
        if lost > ring.discarded {
            ring.discarded = lost;
            self.writer.note_loss(STREAM, ring.number, ring.cpu, lost, time)?;
        }
        Ok(())
    }

    /// Events that programs have entered in the table since. Before the records that are of them: so it comes after the
    /// look at the head that showed the records.
    fn learn_kinds(&mut self) -> Result<(), Error> {
        for id in 0..EVENTS_MAX {
            if !self.known[id]
                && let Some(kind) = self.region.kind(id)
            {
                self.known[id] = true;
                // What cannot be a kind of event is none; records of it are unsound.
                match self.writer.add_event(STREAM, kind) {
                    Err(Error::Unfit(_)) => {}
                    added => added?,
                }
            }
        }
        Ok(())
    }

    /// Logs of threads that were killed go to others.
    fn give_back_logs(&self) {
        for ring in self.rings.iter().filter(|ring| ring.cpu == u32::MAX) {
            let owner = ring.log.owner();
            if owner != 0 && ring.log.head() == ring.tail && !Path::new(&format!("/proc/{owner}")).exists() {
                ring.log.give_back();
            }
        }
    }

    /// Ends the session: no program records any more; carries the rest and closes the trace.
    ///
    /// # Errors
    /// [`Unfinished`] by those of [`Writer::packet`] and [`Writer::close`].
    pub fn finish(mut self) -> Result<Totals, Unfinished> {
        self.close();
        let done = match self.region.when_full() {
            WhenFull::Refuse => self.carry().map(|_| ()),
            WhenFull::Overwrite => self.snap(),
        };
        self.end(done)
    }

    fn end(mut self, done: Result<(), Error>) -> Result<Totals, Unfinished> {
        if self.region.when_full() == WhenFull::Refuse {
            // Also of rings that were not come to, because there was no room for one before them.
            for at in 0..self.rings.len() {
                self.note_loss(at, self.rings[at].log.lost())?;
            }
        }
        let outside = self.region.lost_outside();
        if outside > 0 {
            // They were in no log; a trace has loss of rings only.
            let lost = self.rings[0].discarded.saturating_add(outside);
            self.note_loss(0, lost)?;
        }
        let Consumer { writer, rings, mut totals, .. } = self;
        totals.lost = rings.iter().map(|ring| ring.discarded).sum();
        // Not with something left: what says that something was lost comes behind it.
        done.and_then(|()| writer.close()).map_err(|error| Unfinished {
            totals,
            left_bytes: rings.iter().map(Ring::left_bytes).sum(),
            error,
        })?;
        Ok(totals)
    }

    /// From now on every event is refused.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
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
    /// Bytes that are to be carried still.
    fn left_bytes(&self) -> u64 {
        self.log.head().saturating_sub(self.tail).min(self.log.bytes())
    }
}

/// The logs of a session, and how far they have been carried to a trace with these positions.
fn rings(region: &Region, positions: &[ctf::Position]) -> Vec<Ring> {
    let cpus = (0..region.cpu_logs().len()).filter_map(|cpu| Some((region.cpu_logs().log(cpu)?, cpu as u32)));
    let threads =
        (0..region.thread_logs().len()).filter_map(|number| Some((region.thread_logs().log(number)?, u32::MAX)));
    let ring = |(number, (log, cpu)): (usize, (Log, u32))| {
        let number = number as u32;
        let position = positions.iter().find(|position| position.ring == number);
        // Without its trace a log still knows what was carried, until it is closed.
        let taken = Some(log.tail()).filter(|tail| *tail <= log.head());
        let tail = position.and_then(|position| position.position).or(taken).unwrap_or(0);
        Ring { log, number, cpu, tail, discarded: 0 }
    };
    cpus.chain(threads).enumerate().map(ring).collect()
}

/// Whole records at the beginning of some bytes.
#[derive(Debug, Clone, Copy)]
struct Found {
    count: u64,
    /// Bytes.
    len: usize,
    /// Times of the first and the last.
    begin: u64,
    end: u64,
}

impl Found {
    /// None if not even one stands there.
    fn at(bytes: &[u8]) -> Option<Found> {
        records(bytes).fold(None, |found, (head, _)| {
            let found = found.unwrap_or(Found { count: 0, len: 0, begin: head.time, end: head.time });
            Some(Found {
                count: found.count + 1,
                len: found.len + usize::from(head.len),
                end: found.end.max(head.time),
                ..found
            })
        })
    }
}

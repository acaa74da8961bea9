//! Reads traces: the records of all rings, and of several traces on one clock, in the order of time. Uses each byte of a file
//! once, so that a trace may be larger than memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use super::files::{read_metadata, stream_files, traces_in};
use super::source::{Found, Source};
use super::{Error, Metadata};
use crate::schema::{Clock, EventKind, Schema};
use crate::shape::Shapes;
use crate::value::{Fields, Value};

/// Traces that are being read.
#[derive(Debug)]
pub struct Reader {
    traces: Vec<Trace>,
    sources: Vec<Source>,
    /// What each source has next, the earliest on top; of equals the one of the lower place.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sources that have to look for their next: whose item was given last; at the beginning all.
    behind: Vec<usize>,
}

#[derive(Debug)]
struct Trace {
    path: PathBuf,
    metadata: Metadata,
    shapes: Vec<Shapes>,
}

/// What happened next.
#[derive(Debug)]
pub enum Item<'a> {
    /// An event.
    Record(Record<'a>),
    /// Events that nobody knows more of than their number.
    Loss(Loss<'a>),
}

/// An event of a trace.
#[derive(Debug)]
pub struct Record<'a> {
    /// The place of its trace among those of [`Reader::schemas`].
    pub trace: usize,
    /// The place of its stream in the trace's schema.
    pub stream_id: usize,
    /// The name of its stream.
    pub stream: &'a str,
    /// Which ring of the stream it was in.
    pub ring: u32,
    /// The CPU.
    pub cpu: u32,
    /// Id of the thread.
    pub tid: u32,
    /// Ticks of the clock.
    pub time: u64,
    /// What it is.
    pub kind: &'a EventKind,
    /// Its fields as they lie in the file, padded to a multiple of 8 bytes.
    pub bytes: &'a [u8],
    clock: &'a Clock,
}

impl<'a> Record<'a> {
    /// Nanoseconds since 1970.
    pub fn nanoseconds(&self) -> u128 {
        self.clock.nanoseconds(self.time)
    }

    /// What its time is ticks of.
    pub fn clock(&self) -> &'a Clock {
        self.clock
    }

    /// The fields in their order.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(&self.kind.fields, self.bytes)
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        self.fields().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// Events that were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss<'a> {
    /// The place of their trace among those of [`Reader::schemas`].
    pub trace: usize,
    /// The place of their stream in the trace's schema.
    pub stream_id: usize,
    /// The name of their stream.
    pub stream: &'a str,
    /// Which ring of the stream had no room.
    pub ring: u32,
    /// Its CPU.
    pub cpu: u32,
    /// How many.
    pub count: u64,
    /// Not before and not after; ticks.
    pub between: (u64, u64),
    /// What they are ticks of.
    pub clock: &'a Clock,
}

impl Reader {
    /// Opens traces, each a directory, or one with several of them in it.
    ///
    /// Errors: `NoTrace`; `Metadata` for traces of others; `Apart` for traces on different clocks, or one that is named twice;
    /// what the file system reports.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Reader, Error> {
        let mut reader = Reader { traces: vec![], sources: vec![], queue: BinaryHeap::new(), behind: vec![] };
        for path in paths {
            for dir in traces_in(path.as_ref())? {
                reader.add(dir)?;
            }
        }
        reader.behind = (0..reader.sources.len()).collect();
        Ok(reader)
    }

    fn add(&mut self, path: PathBuf) -> Result<(), Error> {
        let metadata = read_metadata(&path)?;
        for before in &self.traces {
            let message = if before.metadata.uuid == metadata.uuid {
                "they are the same trace".to_owned()
            } else if let Some(difference) = difference(&before.metadata.schema.clock, &metadata.schema.clock) {
                format!("their times are of different clocks: {difference}")
            } else {
                continue;
            };
            return Err(Error::Apart { first: before.path.clone(), second: path, message });
        }
        for file in stream_files(&path, &metadata.schema)? {
            self.sources.push(Source::open(&file, self.traces.len(), metadata.uuid)?);
        }
        let shapes = metadata.schema.streams.iter().map(|stream| Shapes::of(&stream.events)).collect();
        self.traces.push(Trace { path, metadata, shapes });
        Ok(())
    }

    /// The clock of all of them; None if no trace was named.
    pub fn clock(&self) -> Option<&Clock> {
        Some(&self.traces.first()?.metadata.schema.clock)
    }

    /// The traces' directories and what their records are.
    pub fn schemas(&self) -> impl Iterator<Item = (&Path, &Schema)> {
        self.traces.iter().map(|trace| (trace.path.as_path(), &trace.metadata.schema))
    }

    /// Files that end within a packet, and the bytes of it; those of whose packets everything was given already.
    pub fn cut(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.sources.iter().filter_map(Source::cut)
    }

    /// What happened next; None when there is no more.
    ///
    /// Errors: `Damaged`, what the file system reports. The next call leaves the rest of that file out.
    #[expect(clippy::should_implement_trait, reason = "what it gives borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        while let Some(at) = self.behind.pop() {
            let source = &mut self.sources[at];
            source.advance(&self.traces[source.trace].shapes[source.stream])?;
            let Some(time) = source.time() else { continue };
            // As a rule many records of a ring follow each other.
            let first = self.queue.peek().is_none_or(|Reverse(other)| (time, at) < *other);
            if first && self.behind.is_empty() {
                return Ok(Some(self.give(at)));
            }
            self.queue.push(Reverse((time, at)));
        }
        Ok(self.queue.pop().map(|Reverse((_, at))| self.give(at)))
    }

    /// Hands everything that there is to `act`. Gives back why the rest of a file was left out, for each where it was.
    ///
    /// Errors: those of `act`, at once.
    pub fn each<E>(&mut self, mut act: impl FnMut(&Item<'_>) -> Result<(), E>) -> Result<Vec<Error>, E> {
        let mut damaged = Vec::new();
        loop {
            match self.next() {
                Ok(Some(item)) => act(&item)?,
                Ok(None) => return Ok(damaged),
                // A file fails once, so this ends.
                Err(error) => damaged.push(error),
            }
        }
    }

    /// What a source has found. It looks for its next when it is asked for again.
    fn give(&mut self, at: usize) -> Item<'_> {
        self.behind.push(at);
        let source = &self.sources[at];
        let Schema { clock, streams, .. } = &self.traces[source.trace].metadata.schema;
        let stream = &streams[source.stream];
        let Source { trace, stream: stream_id, ring, cpu, .. } = *source;
        match source.found {
            Found::Record { head, kind, .. } => Item::Record(Record {
                trace,
                stream_id,
                stream: &stream.name,
                ring,
                cpu,
                tid: head.thread,
                time: head.time,
                kind: &stream.events[kind],
                bytes: source.fields(),
                clock,
            }),
            Found::Loss { count, between, .. } => {
                Item::Loss(Loss { trace, stream_id, stream: &stream.name, ring, cpu, count, between, clock })
            }
            Found::End => unreachable!("only what has a time is queued"),
        }
    }
}

/// What two clocks differ in.
fn difference(first: &Clock, second: &Clock) -> Option<String> {
    if first.name != second.name {
        Some(format!("{} and {}", first.name, second.name))
    } else if first.frequency_hz != second.frequency_hz {
        Some(format!("{} and {} ticks a second", first.frequency_hz, second.frequency_hz))
    } else if first != second {
        Some(format!("they began {} and {} ns after 1970", first.nanoseconds(0), second.nanoseconds(0)))
    } else {
        None
    }
}

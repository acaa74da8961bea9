//! Reads traces: the records of all rings, and of several traces with the same clock, in the order of time. Reads each
//! file once from start to end, so that a trace may be larger than memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use super::files::{read_metadata, stream_files, traces_in};
use super::source::{Found, Source};
use super::{Error, Metadata};
use crate::schema::{Clock, EventKind, Schema};
use crate::shape::Shapes;
use crate::value::{Fields, Value};

/// A reader of traces.
#[derive(Debug)]
pub struct Reader {
    /// As they were named.
    paths: Vec<PathBuf>,
    traces: Vec<Trace>,
    sources: Vec<Source>,
    /// The time and index of each source's next item, the earliest on top; for equal times, the lower index.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sources whose next item has to be found: at first all, then those whose item was returned last.
    behind: Vec<usize>,
}

#[derive(Debug)]
struct Trace {
    path: PathBuf,
    metadata: Metadata,
    shapes: Vec<Shapes>,
}

/// The next item of a trace.
#[derive(Debug)]
pub enum TraceItem<'a> {
    /// An event.
    Record(Record<'a>),
    /// Lost events, of which only the number is known.
    Loss(Loss<'a>),
}

/// An event of a trace.
#[derive(Debug)]
pub struct Record<'a> {
    /// The index of its trace in [`Reader::schemas`].
    pub trace: usize,
    /// The index of its stream in the trace's schema.
    pub stream_id: usize,
    /// The name of its stream.
    pub stream: &'a str,
    /// The number of its ring within the stream.
    pub ring: u32,
    /// The CPU.
    pub cpu: u32,
    /// The thread id.
    pub tid: u32,
    /// The time in ticks of the clock.
    pub time: u64,
    /// The event type.
    pub kind: &'a EventKind,
    /// The fields as stored in the file, padded to a multiple of 8 bytes.
    pub bytes: &'a [u8],
    clock: &'a Clock,
}

impl<'a> Record<'a> {
    /// Returns the time in nanoseconds since 1970.
    pub fn nanoseconds(&self) -> u128 {
        self.clock.nanoseconds(self.time)
    }

    /// Returns the clock of its time.
    pub fn clock(&self) -> &'a Clock {
        self.clock
    }

    /// Returns the fields in their order.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(&self.kind.fields, self.bytes)
    }

    /// Returns the field with this name.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        self.fields().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// Events that were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss<'a> {
    /// The index of their trace in [`Reader::schemas`].
    pub trace: usize,
    /// The index of their stream in the trace's schema.
    pub stream_id: usize,
    /// The name of their stream.
    pub stream: &'a str,
    /// The number of the ring that lost them.
    pub ring: u32,
    /// The CPU of the ring.
    pub cpu: u32,
    /// The number of lost events.
    pub count: u64,
    /// The earliest and the latest possible time, in ticks.
    pub between: (u64, u64),
    /// The clock of these times.
    pub clock: &'a Clock,
}

impl Reader {
    /// Opens traces. Each path is a trace's directory, or a directory of traces.
    ///
    /// Errors: `NoTrace`; `Metadata` for traces of other programs; `Apart` for traces with different clocks, or a trace
    /// that is named twice; errors of the file system.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Reader, Error> {
        let paths = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let mut reader = Reader { paths, traces: vec![], sources: vec![], queue: BinaryHeap::new(), behind: vec![] };
        for path in reader.paths.clone() {
            for dir in traces_in(&path)? {
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

    /// Looks for what was added since the traces were opened: traces in the directories that were named, rings, event
    /// types, packets. Later calls of [`Reader::next`] return it.
    ///
    /// Errors: as those of [`Reader::open`].
    pub fn look_again(&mut self) -> Result<(), Error> {
        for path in self.paths.clone() {
            // A part of a rotated trace may be removed at any time.
            for dir in traces_in(&path)?.into_iter().filter(|dir| dir.join("metadata").exists()) {
                match self.traces.iter().position(|trace| trace.path == dir) {
                    Some(trace) => self.refresh(trace)?,
                    None => {
                        let first = self.sources.len();
                        self.add(dir)?;
                        self.behind.extend(first..self.sources.len());
                    }
                }
            }
        }
        let behind = &mut self.behind;
        let known = behind.len();
        for (at, source) in self.sources.iter_mut().enumerate() {
            let is_behind = behind[..known].contains(&at);
            if source.look_again(is_behind) && !is_behind {
                behind.push(at);
            }
        }
        Ok(())
    }

    /// Takes notice of new event types and rings of a trace.
    fn refresh(&mut self, at: usize) -> Result<(), Error> {
        let trace = &mut self.traces[at];
        trace.metadata = read_metadata(&trace.path)?;
        trace.shapes = trace.metadata.schema.streams.iter().map(|stream| Shapes::of(&stream.events)).collect();
        for file in stream_files(&trace.path, &trace.metadata.schema)? {
            let is_this = |source: &Source| (source.trace, source.stream, source.ring) == (at, file.stream, file.ring);
            if !self.sources.iter().any(is_this) {
                self.sources.push(Source::open(&file, at, trace.metadata.uuid)?);
            }
        }
        Ok(())
    }

    /// Returns the clock of all traces; `None` if there are none.
    pub fn clock(&self) -> Option<&Clock> {
        Some(&self.traces.first()?.metadata.schema.clock)
    }

    /// Returns the traces' directories and schemas.
    pub fn schemas(&self) -> impl Iterator<Item = (&Path, &Schema)> {
        self.traces.iter().map(|trace| (trace.path.as_path(), &trace.metadata.schema))
    }

    /// Returns the files that end within a packet, and the bytes of that packet. Complete only after all items were
    /// read.
    pub fn cut(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.sources.iter().filter_map(Source::cut)
    }

    /// Returns the next item, or `None` at the end.
    ///
    /// Errors: `Damaged`, errors of the file system. The next call skips the rest of that file.
    #[expect(clippy::should_implement_trait, reason = "what it gives borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<TraceItem<'_>>, Error> {
        self.next_until(u64::MAX)
    }

    /// As [`Reader::next`], but leaves items after a time in ticks for later.
    ///
    /// Errors: as those of [`Reader::next`].
    pub fn next_until(&mut self, until: u64) -> Result<Option<TraceItem<'_>>, Error> {
        while let Some(at) = self.behind.pop() {
            let source = &mut self.sources[at];
            source.advance(&self.traces[source.trace].shapes[source.stream])?;
            let Some(time) = source.time() else { continue };
            // Usually many records of the same ring follow each other.
            let first = self.queue.peek().is_none_or(|Reverse(other)| (time, at) < *other);
            if first && self.behind.is_empty() && time <= until {
                return Ok(Some(self.give(at)));
            }
            self.queue.push(Reverse((time, at)));
        }
        match self.queue.peek() {
            Some(Reverse((time, _))) if *time <= until => {}
            _ => return Ok(None),
        }
        Ok(self.queue.pop().map(|Reverse((_, at))| self.give(at)))
    }

    /// Passes all items to `act`. Returns the errors of files whose rest was skipped.
    ///
    /// Errors: the first error of `act`.
    pub fn each<E>(&mut self, mut act: impl FnMut(&TraceItem<'_>) -> Result<(), E>) -> Result<Vec<Error>, E> {
        let mut damaged = Vec::new();
        loop {
            match self.next() {
                Ok(Some(item)) => act(&item)?,
                Ok(None) => return Ok(damaged),
                // Each file fails at most once, so the loop ends.
                Err(error) => damaged.push(error),
            }
        }
    }

    /// Returns the item that a source has found. The source finds its next item on the next call.
    fn give(&mut self, at: usize) -> TraceItem<'_> {
        self.behind.push(at);
        let source = &self.sources[at];
        let Schema { clock, streams, .. } = &self.traces[source.trace].metadata.schema;
        let stream = &streams[source.stream];
        let Source { trace, stream: stream_id, ring, cpu, .. } = *source;
        match source.found {
            Found::Record { head, kind, .. } => TraceItem::Record(Record {
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
                TraceItem::Loss(Loss { trace, stream_id, stream: &stream.name, ring, cpu, count, between, clock })
            }
            Found::End => unreachable!("only what has a time is queued"),
        }
    }
}

/// Describes the difference between two clocks.
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

//! Statistics of a trace: event types, rings, losses. It only counts; the command prints.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::ctf::{Error, Reader, TraceItem};
use crate::record::HEAD;
use crate::schema::StreamKind;

/// The statistics of traces.
#[derive(Debug, Default)]
pub struct Stat {
    /// Times of the first and the last event, in nanoseconds since 1970; `None` without events.
    pub span: Option<(u128, u128)>,
    /// Event types that have events, the most frequent first.
    pub kinds: Vec<KindStat>,
    /// Rings that have events or losses, by trace, stream (in the order of the schema) and number.
    pub rings: Vec<RingStat>,
    /// Files whose rest could not be read, and is not counted.
    pub damaged: Vec<Error>,
}

/// The statistics of an event type.
#[derive(Debug, Clone, PartialEq)]
pub struct KindStat {
    /// The name of its stream.
    pub stream: String,
    /// Its name.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// Bytes of all its events, with heads and padding.
    pub bytes: u64,
    /// Share of the bytes of all events, 0 to 1.
    pub share: f64,
    /// Events per second over the whole span; `None` if the span is empty.
    pub rate: Option<f64>,
}

/// The statistics of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingStat {
    /// The index of its trace in [`Reader::schemas`].
    pub trace: usize,
    /// The name of its stream.
    pub stream: String,
    /// The number of the ring within the stream.
    pub ring: u32,
    /// Events in the trace.
    pub records: u64,
    /// Lost events.
    pub lost: u64,
}

/// By type or ring: the number of events, and their bytes or the lost events.
type Counts<K> = BTreeMap<K, (u64, u64)>;

impl Stat {
    /// Reads all remaining items of `reader`.
    pub fn of(reader: &mut Reader) -> Stat {
        let mut span = None;
        // By trace, stream, and id of the type or number of the ring.
        let mut kinds: Counts<(usize, usize, u16)> = BTreeMap::new();
        let mut rings: Counts<(usize, usize, u32)> = BTreeMap::new();
        let Ok(damaged) = reader.each(|item| {
            match item {
                TraceItem::Record(record) => {
                    let (first, _) = span.unwrap_or((record.time, record.time));
                    span = Some((first, record.time));
                    let kind = kinds.entry((record.trace, record.stream_id, record.kind.id)).or_default();
                    kind.0 += 1;
                    kind.1 += (HEAD + record.bytes.len()) as u64;
                    rings.entry((record.trace, record.stream_id, record.ring)).or_default().0 += 1;
                }
                TraceItem::Loss(loss) => {
                    let lost = &mut rings.entry((loss.trace, loss.stream_id, loss.ring)).or_default().1;
                    *lost = lost.saturating_add(loss.count);
                }
            }
            Ok::<(), Infallible>(())
        });
        let span =
            reader.clock().zip(span).map(|(clock, (first, last))| (clock.nanoseconds(first), clock.nanoseconds(last)));
        let streams: Vec<&[StreamKind]> = reader.schemas().map(|(_, schema)| schema.streams.as_slice()).collect();
        let rings = rings.into_iter().map(|((trace, stream, ring), (records, lost))| RingStat {
            trace,
            stream: streams[trace][stream].name.clone(),
            ring,
            records,
            lost,
        });
        Stat { span, rings: rings.collect(), kinds: named(kinds, &streams, span), damaged }
    }

    /// Returns the number of events in the traces.
    pub fn records(&self) -> u64 {
        self.rings.iter().map(|ring| ring.records).sum()
    }

    /// Returns the number of lost events.
    pub fn lost(&self) -> u64 {
        self.rings.iter().fold(0, |lost, ring| lost.saturating_add(ring.lost))
    }
}

/// Returns the statistics of event types by name, which several traces may have in common; the most frequent first.
fn named(counts: Counts<(usize, usize, u16)>, streams: &[&[StreamKind]], span: Option<(u128, u128)>) -> Vec<KindStat> {
    let mut by_name: Counts<(&str, &str)> = BTreeMap::new();
    for ((trace, stream, id), (count, bytes)) in counts {
        let stream = &streams[trace][stream];
        let name = stream.events.iter().find(|event| event.id == id).map_or("", |event| &event.name);
        let sum = by_name.entry((&stream.name, name)).or_default();
        *sum = (sum.0 + count, sum.1 + bytes);
    }
    let all: u64 = by_name.values().map(|(_, bytes)| bytes).sum();
    let seconds = span.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    let kinds = by_name.into_iter().map(|((stream, name), (count, bytes))| KindStat {
        stream: stream.to_owned(),
        name: name.to_owned(),
        count,
        bytes,
        share: bytes as f64 / all as f64,
        rate: (seconds > 0.0).then(|| count as f64 / seconds),
    });
    let mut kinds: Vec<KindStat> = kinds.collect();
    kinds.sort_by_key(|kind| Reverse(kind.count));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn kinds_and_rings_are_counted_over_all_traces() {
        let (one, other) = (testing::exported_sample(), testing::exported_sample());
        let stat = Stat::of(&mut Reader::open(&[one.path(), other.path()]).expect("they are traces"));
        assert_eq!((stat.records(), stat.lost(), stat.damaged.len()), (24, 10, 0));
        let second = 1_700_000_000_000_000_000;
        assert_eq!(stat.span, Some((second + 1_000, second + 7_000)));
        let rings: Vec<_> = stat
            .rings
            .iter()
            .map(|ring| (ring.trace, ring.stream.as_str(), ring.ring, ring.records, ring.lost))
            .collect();
        let of = |trace| {
            [(trace, "user", 0, 5, 0), (trace, "user", 1, 2, 5), (trace, "kernel", 0, 1, 0), (trace, "kernel", 1, 4, 0)]
        };
        assert_eq!(rings, [of(0), of(1)].concat());

        let kinds: Vec<_> = stat.kinds.iter().map(|kind| (kind.name.as_str(), kind.count, kind.bytes)).collect();
        let expected = [
            ("sched:sched_switch", 8, 256),
            ("headwater:put", 4, 128),
            ("sched:sched_waking", 2, 64),
            ("app:wake_from", 2, 48),
            ("app:wake_to", 2, 48),
            ("app:work_begin", 2, 32),
            ("app:work_end", 2, 32),
            ("headwater:thread", 2, 80),
        ];
        assert_eq!(kinds, expected);
        let put = &stat.kinds[1];
        assert_eq!((put.stream.as_str(), put.share, put.rate), ("user", 128.0 / 688.0, Some(4.0 / 6e-6)));
        assert!((stat.kinds.iter().map(|kind| kind.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_trace_without_events_has_no_span() {
        let dir = tempfile::tempdir().expect("room");
        crate::ctf::Writer::create(dir.path(), &testing::sample()).expect("an empty directory").close().expect("room");
        let stat = Stat::of(&mut Reader::open(&[dir.path()]).expect("it is a trace"));
        assert_eq!((stat.span, stat.records(), stat.kinds.len()), (None, 0, 0));
    }
}

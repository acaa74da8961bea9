//! Shared by the tests of this crate: a schema with every kind of field, random schemas and records, traces in a
//! temporary directory.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use crate::ctf::{Packet, Reader, TraceItem, Writer};
use crate::record::Head;
use crate::schema::{Base, Clock, EventKind, Field, FieldKind, Schema, StreamKind};

pub fn unsigned(bytes: u8) -> FieldKind {
    FieldKind::Unsigned { bytes, base: Base::Decimal }
}

pub fn kind(id: u16, name: &str, fields: &[(&str, FieldKind)]) -> EventKind {
    let fields = fields.iter().map(|(name, kind)| Field { name: (*name).into(), kind: kind.clone() }).collect();
    EventKind { id, name: name.into(), fields }
}

/// A clock with ticks of one nanosecond that began at 2023-11-14 22:13:20.
pub fn clock() -> Clock {
    Clock { name: "monotonic".into(), frequency_hz: 1_000_000_000, offset_s: 1_700_000_000, offset_ticks: 0 }
}

/// Returns two streams with every kind of field.
pub fn sample() -> Schema {
    let state = FieldKind::Named { bytes: 1, names: vec![(0, "run\\ning".into()), (255, "\"away\"".into())] };
    let numbers = FieldKind::Array { item: Box::new(FieldKind::Signed { bytes: 4 }), count: 3 };
    let user = vec![
        kind(7, "headwater:put", &[("len", unsigned(4)), ("text", FieldKind::Text), ("struct", unsigned(2))]),
        kind(2, "headwater:nothing", &[]),
    ];
    let address = FieldKind::Unsigned { bytes: 8, base: Base::Hexadecimal };
    let all = [
        ("address", address),
        ("state", state),
        ("numbers", numbers),
        ("share", FieldKind::Float { bytes: 8 }),
        ("part", FieldKind::Float { bytes: 4 }),
    ];
    Schema {
        clock: Clock { name: "tsc".into(), frequency_hz: 2_100_000_000, offset_s: 1_700_000_000, offset_ticks: 5 },
        streams: vec![
            StreamKind { name: "user".into(), events: user },
            StreamKind { name: "kernel".into(), events: vec![kind(1, "all:kinds", &all)] },
        ],
        environment: vec![("hostname".into(), "a \"b\"\n\tc\\ é".into()), ("cpus".into(), "2".into())],
    }
}

/// Returns a schema with event types that have a role in exports.
pub fn exported_schema() -> Schema {
    // The type into which `kernel::plan` converts `char comm[16]`.
    let comm = FieldKind::Text;
    let flow = [("flow", unsigned(8))];
    let user = vec![
        kind(1, "headwater:thread", &[("pid", unsigned(4)), ("name", FieldKind::Text)]),
        kind(2, "headwater:put", &[("len", unsigned(8)), ("share", FieldKind::Float { bytes: 8 })]),
        kind(3, "app:work_begin", &[]),
        kind(4, "app:work_end", &[]),
        kind(5, "app:wake_from", &flow),
        kind(6, "app:wake_to", &flow),
    ];
    let pid = FieldKind::Signed { bytes: 4 };
    let kernel = vec![
        kind(1, "sched:sched_waking", &[("comm", comm.clone()), ("pid", pid.clone())]),
        kind(2, "sched:sched_switch", &[("next_comm", comm), ("next_pid", pid)]),
    ];
    let stream = |name: &str, events| StreamKind { name: name.into(), events };
    Schema { clock: clock(), streams: vec![stream("user", user), stream("kernel", kernel)], environment: vec![] }
}

/// Writes a trace of these types: two threads, of which 42 works and wakes 43, which runs on CPU 1.
pub fn exported_sample() -> TempDir {
    sample_of("the \"worker\"")
}

/// Writes the same trace with another name of thread 42.
pub fn sample_of(thread: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("room");
    let mut writer = Writer::create(dir.path(), &exported_schema()).expect("an empty directory");
    let mut write = |stream, cpu, discarded, records: &[Vec<u8>]| {
        let time = |record: &Vec<u8>| Head::read(record).expect("it is whole").time;
        let (begin, end) = (time(&records[0]), time(&records[records.len() - 1]));
        let all = records.concat();
        let packet = Packet { stream, ring: cpu, cpu, begin, end, discarded, position: 0, parts: &[&all] };
        writer.packet(packet).expect("room");
    };
    let put = |time, thread, len: u64, share: f64| {
        record(time, 2, thread, &[len.to_le_bytes(), share.to_le_bytes()].concat())
    };
    let scheduled = |time, event, thread, comm: &str, pid: i32| {
        let fields = [comm.as_bytes(), &[0], &pid.to_le_bytes()].concat();
        record(time, event, thread, &fields)
    };
    let flow = 9_u64.to_le_bytes();
    let named = record(1_000, 1, 42, &[&40_u32.to_le_bytes()[..], thread.as_bytes(), &[0]].concat());
    let work = [record(2_000, 3, 42, &[]), put(2_500, 42, u64::MAX, f64::NAN), record(3_000, 4, 42, &[])];
    write(0, 0, 0, &[&[named][..], &work, &[record(3_100, 5, 42, &flow)]].concat());
    write(0, 1, 0, &[record(3_500, 6, 43, &flow)]);
    write(0, 1, 5, &[put(5_000, 43, 64, 0.5)]);
    write(1, 0, 0, &[scheduled(3_200, 1, 42, "other", 43)]);
    let switches = [(3_300, 0, "other", 43), (6_000, 43, "idle", 0), (6_500, 0, "other", 43), (7_000, 43, "last", 44)];
    write(1, 1, 0, &switches.map(|(time, thread, comm, next)| scheduled(time, 2, thread, comm, next)));
    writer.close().expect("room");
    dir
}

/// Returns a record with these bytes as fields.
pub fn record(time: u64, event: u16, thread: u32, fields: &[u8]) -> Vec<u8> {
    let len = Head::len_with(fields.len());
    let mut record = Head { time, event, len: len.try_into().expect("short"), thread }.to_bytes().to_vec();
    record.extend_from_slice(fields);
    record.resize(len, 0);
    record
}

/// Returns a line for each item of a trace; an error is the last line.
pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> String {
    let mut lines = String::new();
    let mut reader = Reader::open(paths).expect("the trace is there");
    loop {
        match reader.next() {
            Ok(Some(item)) => lines += &line(&item),
            Ok(None) => return lines,
            Err(error) => return lines + &format!("{error}\n"),
        }
    }
}

fn line(item: &TraceItem<'_>) -> String {
    match item {
        TraceItem::Record(record) => {
            let fields: String = record.fields().map(|(name, value)| format!(" {name}={value}")).collect();
            let (stream, ring, cpu, tid) = (record.stream, record.ring, record.cpu, record.tid);
            format!("{} {stream}-{ring} cpu {cpu} tid {tid} {}{fields}\n", record.time, record.kind.name)
        }
        TraceItem::Loss(loss) => {
            format!("lost {} of {}-{} in {:?}\n", loss.count, loss.stream, loss.ring, loss.between)
        }
    }
}

fn number() -> impl Strategy<Value = FieldKind> {
    let size = prop::sample::select(&[1_u8, 2, 4, 8]);
    let base = prop::sample::select(&[Base::Decimal, Base::Hexadecimal]);
    let names = prop::collection::vec((0_u64..256, "[ -~é]{0,8}"), 1..4);
    prop_oneof![
        (size.clone(), base).prop_map(|(bytes, base)| FieldKind::Unsigned { bytes, base }),
        size.prop_map(|bytes| FieldKind::Signed { bytes }),
        prop::sample::select(&[4, 8]).prop_map(|bytes| FieldKind::Float { bytes }),
        (prop::sample::select(&[1_u8, 2, 4]), names).prop_map(|(bytes, names)| FieldKind::Named { bytes, names }),
    ]
}

fn field_kind() -> impl Strategy<Value = FieldKind> {
    prop_oneof![
        3 => number(),
        1 => Just(FieldKind::Text),
        1 => (number(), 0_u32..5).prop_map(|(item, count)| FieldKind::Array { item: Box::new(item), count }),
    ]
}

/// Generates any schema that can be written.
pub fn schemas() -> impl Strategy<Value = Schema> {
    let fields = prop::collection::btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,6}", field_kind(), 0..6);
    let event = ("[ -~]{1,12}", fields).prop_map(|(name, fields)| {
        let fields = fields.into_iter().map(|(name, kind)| Field { name, kind }).collect();
        (name, fields)
    });
    let events = prop::collection::btree_map(any::<u16>(), event, 0..5).prop_map(|events| {
        events.into_iter().map(|(id, (name, fields))| EventKind { id, name, fields }).collect::<Vec<_>>()
    });
    let streams = prop::collection::btree_map("[a-z][a-z_0-9]{0,5}", events, 1..4)
        .prop_map(|streams| streams.into_iter().map(|(name, events)| StreamKind { name, events }).collect());
    let environment = prop::collection::btree_map("[a-g][a-zA-Z_0-9]{0,5}", "[ -~é\n\t]{0,9}", 0..3)
        .prop_map(|all| all.into_iter().collect());
    let clock = ("[a-z]{1,5}", 1_u64.., any::<i64>(), any::<Index>()).prop_map(|(name, hz, offset_s, index)| Clock {
        name,
        frequency_hz: hz,
        offset_s,
        offset_ticks: index.index(hz.try_into().expect("64 bits")) as u64,
    });
    (clock, streams, environment).prop_map(|(clock, streams, environment)| Schema { clock, streams, environment })
}

/// Returns the bytes of random fields of these types, made from `noise`.
pub fn fields(kinds: &[Field], noise: &[u8]) -> Vec<u8> {
    let mut noise = noise.iter().copied().chain(std::iter::repeat(b'x'));
    let mut bytes = Vec::new();
    for Field { kind, .. } in kinds {
        match kind.size() {
            Some(size) => bytes.extend(noise.by_ref().take(size)),
            None => {
                let len = usize::from(noise.next().expect("without end")) % 20;
                bytes.extend(noise.by_ref().take(len).map(|byte| byte.max(1)));
                bytes.push(0);
            }
        }
    }
    bytes
}

/// The description of a random record: its index among all types, ticks since the previous one, its thread, and the
/// bytes for its fields.
pub type Draft = (Index, u32, u32, Vec<u8>);

pub fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let draft = (any::<Index>(), 0_u32..1000, any::<u32>(), prop::collection::vec(any::<u8>(), 0..64));
    prop::collection::vec(draft, 0..40)
}

/// Writes the drafts to rings 0 and 1 in packets of up to four. Returns what was written, in order.
pub fn write_drafts(dir: &Path, schema: &Schema, drafts: &[Draft]) -> Vec<(usize, u32, Vec<u8>)> {
    let kinds: Vec<(usize, &EventKind)> = schema
        .streams
        .iter()
        .enumerate()
        .flat_map(|(stream, kind)| kind.events.iter().map(move |event| (stream, event)))
        .collect();
    let mut writer = Writer::create(dir, schema).expect("an empty directory");
    let mut written = Vec::new();
    let mut time = 0;
    for packet in drafts.chunks(4).filter(|_| !kinds.is_empty()) {
        let ring = u32::from(packet[0].3.len() % 2 == 1);
        let stream = packet[0].0.get(&kinds).0;
        let mut records = Vec::new();
        let begin = time;
        for (kind, ticks, thread, noise) in packet {
            let (own, kind) = *kind.get(&kinds);
            if own == stream {
                time += u64::from(*ticks);
                records.push(record(time, kind.id, *thread, &fields(&kind.fields, noise)));
            }
        }
        let all = records.concat();
        let cut = packet.len() * 7 % (all.len() + 1);
        let parts = [&all[..cut], &all[cut..]];
        let packet = Packet { stream, ring, cpu: 0, begin, end: time, discarded: 0, position: 0, parts: &parts };
        writer.packet(packet).expect("room");
        written.extend(records.into_iter().map(|record| (stream, ring, record)));
        // Packets must not have the same time, so that their order is unique.
        time += 1;
    }
    writer.close().expect("room");
    written
}

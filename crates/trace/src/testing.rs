//! What the tests of this crate share: a schema with everything in it, schemas and records at random, traces in a temporary
//! directory.

use proptest::prelude::*;

use crate::ctf::{Item, Reader};
use crate::record::Head;
use crate::schema::{Base, Clock, EventKind, Field, FieldKind, Schema, StreamKind};

pub fn unsigned(bytes: u8) -> FieldKind {
    FieldKind::Unsigned { bytes, base: Base::Decimal }
}

pub fn kind(id: u16, name: &str, fields: &[(&str, FieldKind)]) -> EventKind {
    let fields = fields.iter().map(|(name, kind)| Field { name: (*name).into(), kind: kind.clone() }).collect();
    EventKind { id, name: name.into(), fields }
}

/// A tick is a nanosecond, of a clock that began at 2023-11-14 22:13:20.
pub fn clock() -> Clock {
    Clock { name: "monotonic".into(), frequency_hz: 1_000_000_000, offset_s: 1_700_000_000, offset_ticks: 0 }
}

/// Two streams with every kind of field.
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

/// A record with these bytes as fields.
pub fn record(time: u64, event: u16, thread: u32, fields: &[u8]) -> Vec<u8> {
    let len = Head::len_with(fields.len());
    let mut record = Head { time, event, len: len.try_into().expect("short"), thread }.to_bytes().to_vec();
    record.extend_from_slice(fields);
    record.resize(len, 0);
    record
}

/// What a reader gives, a line for each item; an error is the last one.
pub fn read_all<P: AsRef<std::path::Path>>(paths: &[P]) -> String {
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

fn line(item: &Item<'_>) -> String {
    match item {
        Item::Record(record) => {
            let fields: String = record.fields().map(|(name, value)| format!(" {name}={value}")).collect();
            let (stream, ring, cpu, tid) = (record.stream, record.ring, record.cpu, record.tid);
            format!("{} {stream}-{ring} cpu {cpu} tid {tid} {}{fields}\n", record.time, record.kind.name)
        }
        Item::Loss(loss) => {
            format!("lost {} of {}-{} in {:?}\n", loss.count, loss.stream, loss.ring, loss.between)
        }
    }
}

fn number() -> impl Strategy<Value = FieldKind> {
    let size = prop::sample::select(&[1_u8, 2, 4, 8]);
    let base = prop::sample::select(&[Base::Decimal, Base::Hexadecimal]);
    let names = prop::collection::vec((0_u64..256, "[ -~é\n]{0,8}"), 1..4);
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

/// Any schema that can be written.
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
    let clock =
        ("[a-z]{1,5}", 1_u64.., any::<i64>(), any::<prop::sample::Index>()).prop_map(|(name, hz, offset_s, index)| {
            Clock {
                name,
                frequency_hz: hz,
                offset_s,
                offset_ticks: index.index(hz.try_into().expect("64 bits")) as u64,
            }
        });
    (clock, streams, environment).prop_map(|(clock, streams, environment)| Schema { clock, streams, environment })
}

/// The bytes of random fields of these kinds, made from `noise`.
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

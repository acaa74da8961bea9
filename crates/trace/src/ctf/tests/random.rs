//! Any schema and records come back as they were; any bytes in a trace's files are read or refused.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::testing::{fields, schemas};

/// A record to be: its place among all kinds, ticks since the one before, its thread, and what its fields are made of.
pub type Draft = (Index, u32, u32, Vec<u8>);

pub fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let draft = (any::<Index>(), 0_u32..1000, any::<u32>(), prop::collection::vec(any::<u8>(), 0..64));
    prop::collection::vec(draft, 0..40)
}

/// Writes the drafts to rings 0 and 1 in packets of up to four; gives back what was written, in order.
pub fn write_drafts(dir: &Path, schema: &Schema, drafts: &[Draft]) -> Vec<(usize, u32, Vec<u8>)> {
    let kinds: Vec<(usize, &crate::schema::EventKind)> = schema
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
        writer.packet(Packet { stream, ring, begin, end: time, parts: &parts, ..super::packet() }).expect("room");
        written.extend(records.into_iter().map(|record| (stream, ring, record)));
        // No two packets share a time, so that the order is one.
        time += 1;
    }
    writer.close().expect("room");
    written
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(schema in schemas(), drafts in drafts()) {
        let dir = new_dir();
        let written = write_drafts(dir.path(), &schema, &drafts);
        let mut reader = Reader::open(&[dir.path()]).expect("it is a trace");
        for (stream, ring, record) in written {
            let head = crate::record::Head::read(&record).expect("it is whole");
            let Some(Item::Record(read)) = reader.next().expect("it is sound") else { panic!("a record is missing") };
            prop_assert_eq!((read.stream, read.ring), (schema.streams[stream].name.as_str(), ring));
            prop_assert_eq!((read.time, read.tid), (head.time, head.thread));
            prop_assert_eq!(read.bytes, &record[crate::record::HEAD..]);
            let kind = schema.streams[stream].events.iter().find(|kind| kind.id == head.event);
            prop_assert_eq!(Some(read.kind), kind);
            prop_assert_eq!(read.fields().count(), read.kind.fields.len());
        }
        prop_assert!(reader.next().expect("it is sound").is_none());
    }

    #[test]
    fn changed_bytes_are_read_or_refused(
        drafts in drafts(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let dir = new_dir();
        write_drafts(dir.path(), &schema(), &drafts);
        let files = ["metadata", "user-0", "user-1", "kernel-0", "kernel-1"].map(|name| dir.path().join(name));
        for (place, (at, to)) in changes.iter().enumerate() {
            let path = &files[(place + drafts.len()) % files.len()];
            let Ok(mut bytes) = fs::read(path) else { continue };
            let len = bytes.len();
            bytes[at.index(len)] = *to;
            bytes.truncate(cut.map_or(len, |cut| cut.index(len)));
            fs::write(path, bytes).expect("room");
        }
        // However often it is asked: it ends, within the records that were there, and each file fails once at most.
        if let Ok(mut reader) = Reader::open(&[dir.path()]) {
            let (mut records, mut errors) = (0, 0);
            loop {
                match reader.next() {
                    Ok(Some(Item::Record(record))) => records += record.fields().count().max(1),
                    Ok(Some(Item::Loss(_))) => {}
                    Ok(None) => break,
                    Err(_) => errors += 1,
                }
            }
            prop_assert!(records <= drafts.len() * 2);
            prop_assert!(errors <= 4);
        }
        let _ = repair(dir.path());
        let _ = positions(dir.path());
    }
}

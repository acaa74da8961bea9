//! Property tests: any schema and records are read back as written; any bytes in a trace's files are read or refused.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::testing::{drafts, schemas, write_drafts};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_records_are_read_back(schema in schemas(), drafts in drafts()) {
        let dir = new_dir();
        let written = write_drafts(dir.path(), &schema, &drafts);
        let mut reader = Reader::open(&[dir.path()]).expect("it is a trace");
        for (stream, ring, record) in written {
            let head = crate::record::Head::read(&record).expect("it is whole");
            let Some(TraceItem::Record(read)) = reader.next().expect("it is sound") else { panic!("a record is missing") };
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
    fn damaged_files_are_read_or_refused(
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
        // Reading must end, return at most the records that were written, and report at most one error per file.
        if let Ok(mut reader) = Reader::open(&[dir.path()]) {
            let (mut records, mut errors) = (0, 0);
            loop {
                match reader.next() {
                    Ok(Some(TraceItem::Record(record))) => records += record.fields().count().max(1),
                    Ok(Some(TraceItem::Loss(_))) => {}
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

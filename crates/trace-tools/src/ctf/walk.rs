//! Checks the records of a packet before it is written: rings are in memory that traced programs can damage, and one
//! invalid record makes a trace unreadable for other tools.

use crate::record::{HEAD, Head, RECORD_MAX};
use crate::shape::Shapes;

/// The position of the first invalid record of a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {sound}: {why}")]
pub struct Unsound {
    /// Bytes before it, which are whole, valid records.
    pub sound: usize,
    /// The problem.
    pub why: String,
}

/// The result for valid records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// Length of all records in bytes.
    pub len: usize,
    /// Bytes of padding after the last record's fields.
    pub padding: usize,
}

/// Checks that the concatenated parts are valid records with times from `begin` to `end`.
pub(super) fn walk(parts: &[&[u8]], shapes: &Shapes, begin: u64, end: u64) -> Result<Walked, Unsound> {
    let mut walked = Walked { len: 0, padding: 0 };
    let mut time = begin;
    let mut scratch = Vec::new();
    // Bytes at the start of the next part that belong to a record of the previous one.
    let mut skip = 0;
    for (place, part) in parts.iter().enumerate() {
        let Some(mut rest) = part.get(skip..) else {
            skip -= part.len();
            continue;
        };
        skip = 0;
        while !rest.is_empty() {
            let run = sound_run(rest, shapes, time, end);
            if let Some(Run { len, padding, last }) = run {
                (walked.len, walked.padding, time) = (walked.len + len, padding, last);
                rest = &rest[len..];
                continue;
            }
            let unsound = |why: String| Unsound { sound: walked.len, why };
            let (record, own) = match Head::read(rest) {
                Some(head) => rest.split_at(head.len.into()),
                None => {
                    // The record may continue in the next parts.
                    scratch.clear();
                    let parts = std::iter::once(rest).chain(parts[place + 1..].iter().copied());
                    for part in parts {
                        scratch.extend_from_slice(&part[..part.len().min(RECORD_MAX - scratch.len())]);
                    }
                    let Some(head) = Head::read(&scratch) else {
                        return Err(unsound("no whole record stands here".into()));
                    };
                    skip = usize::from(head.len) - rest.len();
                    (&scratch[..head.len.into()], &[][..])
                }
            };
            let head = Head::read(record).expect("it was read before");
            let Some((_, shape)) = shapes.get(head.event) else {
                return Err(unsound(format!("the stream has no event with the id {}", head.event)));
            };
            let Some(fields) = shape.fields_of_record(record) else {
                return Err(unsound(format!("the fields of event {} do not fill their record", head.event)));
            };
            if head.time < time || head.time > end {
                let when = format!("{}, not from {time} to {end}", head.time);
                return Err(unsound(format!("the record's time is {when}")));
            }
            time = head.time;
            walked.len += record.len();
            walked.padding = record.len() - HEAD - fields;
            rest = own;
        }
    }
    Ok(walked)
}

/// Valid records.
struct Run {
    len: usize,
    /// Bytes of padding after the last record's fields.
    padding: usize,
    /// The time of the last record.
    last: u64,
}

/// Returns the valid records at the beginning of `bytes` whose times are from `time` to `end`; `None` without any. It has the
/// checks of [`walk`] without their reasons: with these, or in one loop with it, a record takes a fifth longer.
fn sound_run(bytes: &[u8], shapes: &Shapes, time: u64, end: u64) -> Option<Run> {
    let mut run = Run { len: 0, padding: 0, last: time };
    let mut rest = bytes;
    while let Some(head) = Head::read(rest) {
        let (record, behind) = rest.split_at(head.len.into());
        let fields = shapes.get(head.event).and_then(|(_, shape)| shape.fields_of_record(record));
        let Some(fields) = fields.filter(|_| (run.last..=end).contains(&head.time)) else { break };
        run = Run { len: run.len + record.len(), padding: record.len() - HEAD - fields, last: head.time };
        rest = behind;
    }
    (run.len > 0).then_some(run)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::{EventKind, Field, FieldKind};

    fn shapes() -> Shapes {
        let fields = vec![Field { name: "text".into(), kind: FieldKind::Text }];
        Shapes::of(&[EventKind { id: 5, name: "e".into(), fields }])
    }

    fn record(time: u64, text: &str) -> Vec<u8> {
        let len = Head::len_with(text.len() + 1);
        let mut record = Head { time, event: 5, len: len as u16, thread: 1 }.to_bytes().to_vec();
        record.extend_from_slice(text.as_bytes());
        record.resize(len, 0);
        record
    }

    #[test]
    fn an_invalid_record_is_found_at_its_position() {
        let good = record(10, "four");
        assert_eq!(walk(&[&good], &shapes(), 10, 10), Ok(Walked { len: 24, padding: 3 }));
        assert_eq!(walk(&[], &shapes(), 10, 10), Ok(Walked { len: 0, padding: 0 }));
        let changed = |at: usize, to: u8| {
            let mut bytes = record(10, "four");
            bytes[at] = to;
            bytes
        };
        for (bad, why) in [
            (changed(8, 6), "the stream has no event with the id 6"),
            (changed(10, 32), "no whole record stands here"),
            (changed(10, 16), "the fields of event 5 do not fill their record"),
            (changed(10, 0), "no whole record stands here"),
            (changed(0, 9), "the record's time is 9, not from 10 to 20"),
            (changed(0, 21), "the record's time is 21, not from 10 to 20"),
            (good[..20].to_vec(), "no whole record stands here"),
        ] {
            let found = walk(&[&good, &bad], &shapes(), 10, 20);
            assert_eq!(found, Err(Unsound { sound: 24, why: why.into() }));
        }
        // If a text ends too early, the rest would be taken for the next record's head.
        let early = changed(16, 0);
        assert_eq!(walk(&[&early], &shapes(), 10, 20), Ok(Walked { len: 24, padding: 7 }));
        let mut long = record(10, "four and eight");
        long[16] = 0;
        assert!(walk(&[&long], &shapes(), 10, 20).is_err());
    }

    proptest! {
        #[test]
        fn records_may_be_split_anywhere(lens in prop::collection::vec(0_usize..40, 0..6), cuts: [prop::sample::Index; 3]) {
            let all: Vec<u8> = lens.iter().flat_map(|len| record(7, &"x".repeat(*len))).collect();
            let mut cuts = cuts.map(|cut| cut.index(all.len() + 1));
            cuts.sort_unstable();
            let [a, b, c] = cuts;
            let whole = walk(&[&all], &shapes(), 7, 7);
            prop_assert!(whole.is_ok());
            prop_assert_eq!(walk(&[&all[..a], &all[a..b], &all[b..c], &all[c..]], &shapes(), 7, 7), whole);
        }
    }
}

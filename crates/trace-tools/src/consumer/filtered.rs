//! Leaves out the events of programs that do not pass the filters of their session, when the consumer writes a packet. Without
//! filters it does nothing; programs do not know it.

use std::collections::HashMap;

use headwater_trace::region::Region;

use crate::ctf::Error;
use crate::filter::Filter;
use crate::record::records;
use crate::schema::EventKind;

/// The filters of a session.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    filters: Vec<Filter>,
    /// The event types that a filter is about, by id.
    kinds: HashMap<u16, EventKind>,
}

/// What remains of some records.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept<'a> {
    /// The records in between were left out.
    pub parts: Vec<&'a [u8]>,
    /// Their number.
    pub left_out: u64,
    /// For each part, the bytes that were left out before it.
    gaps: Vec<usize>,
}

impl Filtered {
    /// Returns the filters that a session's memory names. A program may have changed that text; what is no filter any more
    /// leaves nothing out.
    pub fn of(region: &Region) -> Filtered {
        let filters = region.filters().iter().filter_map(|text| Filter::parse(text).ok()).collect();
        Filtered { filters, kinds: HashMap::new() }
    }

    /// Takes note of an event type.
    pub fn add(&mut self, kind: &EventKind) {
        if self.filters.iter().any(|filter| filter.is_about(&kind.name)) {
            self.kinds.insert(kind.id, kind.clone());
        }
    }

    /// Returns the records that pass. Bytes that are no records remain, because the writer refuses them.
    pub fn kept<'a>(&self, bytes: &'a [u8]) -> Kept<'a> {
        let mut kept = Kept { parts: Vec::new(), left_out: 0, gaps: Vec::new() };
        // The first byte that is neither kept nor left out yet, the current record, and the bytes left out so far.
        let (mut from, mut at, mut gap) = (0, 0, 0);
        if !self.kinds.is_empty() {
            for (head, fields) in records(bytes) {
                let next = at + usize::from(head.len);
                if !self.passes(head.event, fields) {
                    kept.push(&bytes[from..at], gap);
                    kept.left_out += 1;
                    gap += next - at;
                    from = next;
                }
                at = next;
            }
        }
        kept.push(&bytes[from..], gap);
        kept
    }

    fn passes(&self, event: u16, fields: &[u8]) -> bool {
        let Some(kind) = self.kinds.get(&event) else { return true };
        self.filters.iter().all(|filter| filter.passes(kind, fields))
    }
}

impl<'a> Kept<'a> {
    fn push(&mut self, part: &'a [u8], gap: usize) {
        if !part.is_empty() {
            self.parts.push(part);
            self.gaps.push(gap);
        }
    }

    /// The writer's error with the position of an invalid record among all records, not among those that remain.
    pub fn located(&self, mut error: Error) -> Error {
        if let Error::Unsound { unsound, .. } = &mut error {
            let mut before = 0;
            let part = self.parts.iter().zip(&self.gaps).find(|(part, _)| {
                before += part.len();
                unsound.sound < before
            });
            unsound.sound += part.map_or(0, |(_, gap)| *gap);
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctf::Unsound;
    use crate::testing::{kind, record, unsigned};

    #[test]
    fn records_that_do_not_pass_are_left_out_and_errors_keep_their_position() {
        let filters = vec![Filter::parse("a:b if x > 1").expect("a filter")];
        let mut filtered = Filtered { filters, kinds: HashMap::new() };
        filtered.add(&kind(1, "a:b", &[("x", unsigned(8))]));
        filtered.add(&kind(2, "a:c", &[("x", unsigned(8))]));
        let of = |id, x: u64| record(10, id, 1, &x.to_le_bytes());
        let all = [of(1, 0), of(1, 2), of(1, 1), of(1, 1), of(2, 0), of(1, 3), of(1, 0)];
        let bytes = all.concat();
        let kept = filtered.kept(&bytes);
        assert_eq!((kept.parts.concat(), kept.left_out), ([&*all[1], &all[4], &all[5]].concat(), 4));
        for (sound, expected) in [(0, 24), (24, 96), (48, 120), (47, 119)] {
            let path = Default::default();
            let error = kept.located(Error::Unsound { path, unsound: Unsound { sound, why: String::new() } });
            let Error::Unsound { unsound, .. } = error else { panic!("another error") };
            assert_eq!(unsound.sound, expected);
        }
        assert_eq!(Filtered::default().kept(&bytes).parts, [&bytes[..]]);
        assert_eq!(filtered.kept(&bytes[..30]).parts, [&bytes[24..30]], "an incomplete record remains");
    }
}

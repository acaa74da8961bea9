//! The whole records at the beginning of a ring's bytes.

use crate::record::records;

/// Returns the length of the records at the beginning of some bytes that are not later than a time.
pub(super) fn bytes_until(bytes: &[u8], until: u64) -> usize {
    records(bytes).take_while(|(head, _)| head.time <= until).map(|(head, _)| usize::from(head.len)).sum()
}

/// The whole records at the beginning of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordRun {
    pub count: u64,
    /// Their length in bytes.
    pub len: usize,
    /// Times of the first and the last record.
    pub begin: u64,
    pub end: u64,
}

impl RecordRun {
    /// Returns `None` if there is not one whole record.
    pub fn at(bytes: &[u8]) -> Option<RecordRun> {
        records(bytes).fold(None, |run, (head, _)| {
            let run = run.unwrap_or(RecordRun { count: 0, len: 0, begin: head.time, end: head.time });
            Some(RecordRun {
                count: run.count + 1,
                len: run.len + usize::from(head.len),
                end: run.end.max(head.time),
                ..run
            })
        })
    }
}

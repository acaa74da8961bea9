//! The kernel's counts for each CPU's buffer.

use std::path::Path;

use super::{Error, tracefs};

/// The counts of `per_cpu/cpuN/stats`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events in the buffer that have not been read.
    pub unread: u64,
    /// Events that were read, as pages or one by one.
    pub read: u64,
    /// Events that were overwritten before they were read. The flag of the next page reports them too.
    pub overwritten: u64,
    /// New events that were discarded because the buffer was full. No page reports them.
    pub discarded: u64,
    /// New events that were discarded because an interrupted writer held the page. No page reports them.
    pub nested: u64,
}

impl Stats {
    /// Reads the counts of one CPU of an instance.
    pub(super) fn of(instance: &Path, cpu: u32) -> Result<Stats, Error> {
        let path = instance.join(format!("per_cpu/cpu{cpu}/stats"));
        let text = tracefs::read(&path)?;
        Stats::parse(&text).ok_or(Error::Unreadable { path, what: text })
    }

    /// Parses lines `name: value`. `None` unless all counts are present.
    pub fn parse(text: &str) -> Option<Stats> {
        let count = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value.trim().parse().ok()
        };
        Some(Stats {
            unread: count("entries")?,
            read: count("read events")?,
            overwritten: count("overrun")?,
            discarded: count("dropped events")?,
            nested: count("commit overrun")?,
        })
    }

    /// Returns a text that [`Stats::parse`] accepts, with the kernel's names.
    pub(super) fn to_text(self) -> String {
        let Stats { unread, read, overwritten, discarded, nested } = self;
        format!(
            "entries: {unread}\noverrun: {overwritten}\ncommit overrun: {nested}\ndropped events: {discarded}\n\
             read events: {read}\n"
        )
    }

    /// Returns the counts of what happened after those of `before`.
    pub(super) fn since(&self, before: &Stats) -> Stats {
        Stats {
            unread: self.unread,
            read: self.read.saturating_sub(before.read),
            overwritten: self.overwritten.saturating_sub(before.overwritten),
            discarded: self.discarded.saturating_sub(before.discarded),
            nested: self.nested.saturating_sub(before.nested),
        }
    }

    /// Returns the number of events during the session.
    pub fn happened(&self) -> u64 {
        [self.unread, self.read, self.lost()].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the number of events that no page reports.
    pub fn lost(&self) -> u64 {
        [self.overwritten, self.discarded, self.nested].into_iter().fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "entries: 1\noverrun: 20\ncommit overrun: 300\nbytes: 9\noldest event ts: 0.000000\n\
        now ts: 46357.063867\ndropped events: 4000\nread events: 50000\n";

    #[test]
    fn every_count_is_parsed() {
        let stats = Stats::parse(TEXT).expect("whole");
        let expected = Stats { unread: 1, read: 50000, overwritten: 20, discarded: 4000, nested: 300 };
        assert_eq!(stats, expected);
        assert_eq!((stats.happened(), stats.lost()), (54321, 4320));
        assert_eq!(Stats::parse(&stats.to_text()), Some(stats));
    }

    #[test]
    fn a_text_without_a_count_is_refused() {
        for line in ["entries", "overrun", "commit overrun", "dropped events", "read events"] {
            let without: String =
                TEXT.lines().filter(|text| !text.starts_with(line)).map(|text| format!("{text}\n")).collect();
            assert_eq!(Stats::parse(&without), None, "{line}");
        }
        assert_eq!(Stats::parse(&TEXT.replace("4000", "many")), None);
    }
}

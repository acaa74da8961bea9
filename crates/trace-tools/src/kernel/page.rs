//! Parses the pages of the kernel's ring buffer, as read from trace_pipe_raw. The contents of a page are not trusted:
//! none can cause an access outside the page or an endless loop.
//!
//! Source: the kernel's Documentation/trace/ring-buffer-map.rst and ring-buffer-design.rst, `events/header_page` and
//! `events/header_event`. A page consists of a time stamp, a word with the length of the data and flags for events lost
//! before the page, and the data. An event consists of a word (5 bits of type or length, 27 bits of time since the
//! previous event) and its contents.

use super::format;

/// Flag: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// Flag: their number is stored after the data.
const MISSED_STORED: u64 = 1 << 30;
/// The remaining bits are the length of the data.
const LENGTH: u64 = MISSED_STORED - 1;

/// Bits of the time difference in an event's first word.
const DELTA_BITS: u32 = 27;
/// Types of events that are not data. A lower value is the length in words, or 0 if the length is in a word of its own.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Number of bits in an absolute time stamp.
const STAMP_BITS: u32 = 59;

/// The layout of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Offset of the word with the length of the data, in bytes.
    commit: usize,
    /// Size of that word: a `long` of the kernel.
    commit_bytes: usize,
    /// Offset of the data.
    data: usize,
    /// Size of the page.
    size: usize,
}

impl Layout {
    /// Parses `events/header_page`. `None` if it is not understood: the time stamp must have 8 bytes at offset 0, the
    /// length word 4 or 8.
    pub fn parse(header_page: &str) -> Option<Layout> {
        let fields = format::fields(header_page)?;
        let field = |name: &str| fields.iter().find(|field| field.name == name);
        let (time, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        let layout = Layout {
            commit: commit.offset as usize,
            commit_bytes: commit.size as usize,
            data: data.offset as usize,
            size: data.offset.checked_add(data.size)? as usize,
        };
        let known = (time.offset, time.size) == (0, 8)
            && matches!(layout.commit_bytes, 4 | 8)
            && layout.commit >= 8
            && layout.data >= layout.commit + layout.commit_bytes
            && data.size > 0;
        known.then_some(layout)
    }

    /// Returns the bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.size
    }
}

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The time stamp, to which each event's difference is added.
    time: u64,
    /// The events lost before the page.
    pub missed: Missed,
    data: &'a [u8],
    /// Whether its length exceeds the page.
    torn: bool,
}

/// The events lost before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// None.
    Nothing,
    /// This many.
    Counted(u64),
    /// An unknown number: there was no room to store it.
    Some,
}

impl<'a> Page<'a> {
    /// Parses the header of a page. `None` if `bytes` is shorter than a page.
    pub fn new(bytes: &'a [u8], layout: &Layout) -> Option<Page<'a>> {
        let bytes = bytes.get(..layout.size)?;
        let commit = number(&bytes[layout.commit..][..layout.commit_bytes]);
        let data = &bytes[layout.data..];
        let promised = usize::try_from(commit & LENGTH).unwrap_or(usize::MAX);
        let len = promised.min(data.len());
        let stored = data[len..].get(..layout.commit_bytes).filter(|_| commit & MISSED_STORED != 0);
        let missed = match (commit & MISSED != 0, stored) {
            (false, _) => Missed::Nothing,
            (true, Some(count)) => Missed::Counted(number(count)),
            (true, None) => Missed::Some,
        };
        Some(Page { time: number(&bytes[..8]), missed, data: &data[..len], torn: promised > len })
    }

    /// Returns its events, oldest first.
    pub fn events(&self) -> Events<'a> {
        Events { time: self.time, rest: self.data, torn: self.torn }
    }
}

/// An iterator over the events of a page.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    time: u64,
    rest: &'a [u8],
    torn: bool,
}

impl Events<'_> {
    /// Whether the data seen so far ended in an invalid event.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Ends the iteration at an invalid event.
    fn stop<T>(&mut self) -> Option<T> {
        self.torn = true;
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for Events<'a> {
    /// Time stamp and contents.
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        // Each iteration consumes at least four bytes.
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some((first, behind)) = word(self.rest) else { return self.stop() };
            let (kind, delta) = (first & 31, u64::from(first >> 5));
            if kind == PADDING && delta == 0 {
                // The rest of the page is unused.
                self.rest = &[];
                return None;
            }
            if (1..PADDING).contains(&kind) {
                let Some((content, rest)) = behind.split_at_checked(kind as usize * 4) else { return self.stop() };
                (self.time, self.rest) = (self.time.wrapping_add(delta), rest);
                return Some((self.time, content));
            }
            let Some((second, behind)) = word(behind) else { return self.stop() };
            let wide = u64::from(second) << DELTA_BITS | delta;
            match kind {
                TIME_EXTEND => (self.time, self.rest) = (self.time.wrapping_add(wide), behind),
                TIME_STAMP => (self.time, self.rest) = (stamp(self.time, wide), behind),
                // Data with its length, or a discarded event. Both count the length word.
                _ => {
                    let len = (second as usize).checked_sub(4).map(|len| len.next_multiple_of(4));
                    let Some((content, rest)) = len.and_then(|len| behind.split_at_checked(len)) else {
                        return self.stop();
                    };
                    (self.time, self.rest) = (self.time.wrapping_add(delta), rest);
                    if kind == 0 {
                        return Some((self.time, content));
                    }
                }
            }
        }
    }
}

/// Returns an absolute time stamp, with its missing high bits taken from the previous time.
fn stamp(before: u64, stamp: u64) -> u64 {
    let high = before >> STAMP_BITS << STAMP_BITS;
    let whole = stamp & !(u64::MAX << STAMP_BITS) | high;
    if high != 0 && whole < before { whole.wrapping_add(1 << STAMP_BITS) } else { whole }
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk::<4>().map(|(word, rest)| (u32::from_le_bytes(*word), rest))
}

/// Converts up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests;

//! The pages of the kernel's ring buffer, as trace_pipe_raw gives them. What stands in a page is taken for hostile: no
//! content leads out of it or to no end.
//!
//! Source: the kernel's Documentation/trace/ring-buffer-map.rst and ring-buffer-design.rst, `events/header_page` and
//! `events/header_event`. A page: a time stamp, a word that says how many bytes of data follow and whether events were lost
//! before it, the data. An event: a word of 5 bits type or length and 27 bits time since the last, then its content.

use super::format;

/// Events were lost before this page.
const MISSED: u64 = 1 << 31;
/// How many, stands behind the data.
const MISSED_STORED: u64 = 1 << 30;
/// What is left of the word is the length.
const LENGTH: u64 = MISSED_STORED - 1;

/// Bits of the time in an event's first word.
const DELTA_BITS: u32 = 27;
/// Types of events that are not data; below them it is the length in words, 0 if that is in a word of its own.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits that an absolute time stamp has no room for.
const STAMP_BITS: u32 = 59;

/// Where things lie in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Of the word with the length of the data, bytes from the page's start.
    commit: usize,
    /// Its size: a `long` of the kernel.
    commit_bytes: usize,
    /// Of the data.
    data: usize,
    /// Of the page.
    size: usize,
}

impl Layout {
    /// From `events/header_page`. None if it is not understood: the time stamp is to be 8 bytes at 0, the word of 4 or 8.
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

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.size
    }
}

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Of its first event, but for that event's own delta.
    time: u64,
    /// What was lost before it.
    pub missed: Missed,
    data: &'a [u8],
    /// Whether it promised more than a page holds.
    torn: bool,
}

/// Events lost before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// None.
    Nothing,
    /// So many.
    Counted(u64),
    /// Some; there was no room to say how many.
    Some,
}

impl<'a> Page<'a> {
    /// Looks at a page. None if `bytes` are fewer than a page has.
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

    /// Its events, oldest first.
    pub fn events(&self) -> Events<'a> {
        Events { time: self.time, rest: self.data, torn: self.torn }
    }
}

/// The events of a page.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    time: u64,
    rest: &'a [u8],
    torn: bool,
}

impl Events<'_> {
    /// Whether the data ended, so far, in what is no event.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Ends with what is no event.
    fn stop<T>(&mut self) -> Option<T> {
        self.torn = true;
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for Events<'a> {
    /// Time stamp and content.
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        // Each turn takes at least four bytes away.
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some((first, behind)) = word(self.rest) else { return self.stop() };
            let (kind, delta) = (first & 31, u64::from(first >> 5));
            if kind == PADDING && delta == 0 {
                // The rest of the page was never used.
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
                // Data with its length, or an event that was taken back; both count the word of the length.
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

/// An absolute time stamp, with the bits that it has no room for taken from the time before.
fn stamp(before: u64, stamp: u64) -> u64 {
    let high = before >> STAMP_BITS << STAMP_BITS;
    let whole = stamp & !(u64::MAX << STAMP_BITS) | high;
    if high != 0 && whole < before { whole.wrapping_add(1 << STAMP_BITS) } else { whole }
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk::<4>().map(|(word, rest)| (u32::from_le_bytes(*word), rest))
}

/// Up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests;

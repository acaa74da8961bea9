//! The description of a trace's records: its clock, and for each stream the kinds of events with their fields.

/// The information that is needed to read a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The clock of the time stamps.
    pub clock: Clock,
    /// A stream's id is its place.
    pub streams: Vec<StreamKind>,
    /// Facts of the machine and the session, such as `hostname`; names are C identifiers.
    pub environment: Vec<(String, String)>,
}

/// The clock of time stamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// `tsc` or `monotonic`.
    pub name: String,
    /// Ticks a second.
    pub frequency_hz: u64,
    /// The time when the clock was 0: seconds since 1970, and ticks on top.
    pub offset_s: i64,
    /// Less than a second's worth.
    pub offset_ticks: u64,
}

impl Clock {
    /// Nanoseconds between the beginning of 1970 and a time stamp, rounded down; 0 for what was before it.
    pub fn nanoseconds(&self, ticks: u64) -> u128 {
        const SECOND: i128 = 1_000_000_000;
        let ticks = i128::from(self.offset_ticks) + i128::from(ticks);
        let since = i128::from(self.offset_s) * SECOND + ticks * SECOND / i128::from(self.frequency_hz.max(1));
        u128::try_from(since).unwrap_or(0)
    }
}

/// A source of records: programs, or the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamKind {
    /// Such as `user` or `kernel`.
    pub name: String,
    /// In any order of their ids, which may have gaps.
    pub events: Vec<EventKind>,
}

/// One kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventKind {
    /// As in the records' heads.
    pub id: u16,
    /// Such as `headwater:put` or `sched:sched_switch`.
    pub name: String,
    /// In the order in which they lie in a record.
    pub fields: Vec<Field>,
}

/// One field of an event. In a record fields follow each other without gaps, little-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name, a C identifier.
    pub name: String,
    /// Its representation in a record.
    pub kind: FieldKind,
}

/// The representation of a field in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// An unsigned integer of 1, 2, 4 or 8 bytes.
    Unsigned {
        /// Its size.
        bytes: u8,
        /// The base in which it is shown.
        base: Base,
    },
    /// A signed integer of 1, 2, 4 or 8 bytes.
    Signed {
        /// Its size.
        bytes: u8,
    },
    /// An IEEE 754 number of 4 or 8 bytes.
    Float {
        /// Its size.
        bytes: u8,
    },
    /// UTF-8 and a NUL.
    Text,
    /// An array.
    Array {
        /// The type of an item; no array and no text.
        item: Box<FieldKind>,
        /// The number of items.
        count: u32,
    },
    /// An unsigned integer of 1, 2 or 4 bytes whose values have names.
    Named {
        /// Its size.
        bytes: u8,
        /// Values and their names.
        names: Vec<(u64, String)>,
    },
}

impl FieldKind {
    /// Bytes that it takes in every record; None for a text, whose length varies.
    pub fn size(&self) -> Option<usize> {
        match self {
            FieldKind::Unsigned { bytes, .. }
            | FieldKind::Signed { bytes }
            | FieldKind::Float { bytes }
            | FieldKind::Named { bytes, .. } => Some(usize::from(*bytes)),
            FieldKind::Text => None,
            FieldKind::Array { item, count } => item.size()?.checked_mul(usize::try_from(*count).ok()?),
        }
    }
}

/// The base in which a number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// 42
    Decimal,
    /// 0x2a
    Hexadecimal,
}

//! What the records of a trace are: its clock, and for each stream the kinds of events with their fields.

/// Everything that is to be known to read a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// What the time stamps count.
    pub clock: Clock,
    /// A stream's id is its place.
    pub streams: Vec<StreamKind>,
    /// Facts of the machine and the session, such as `hostname`; names are C identifiers.
    pub environment: Vec<(String, String)>,
}

/// What a time stamp counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// `tsc` or `monotonic`.
    pub name: String,
    /// Ticks a second.
    pub frequency_hz: u64,
    /// When the clock stood at 0: seconds since 1970, and ticks on top.
    pub offset_s: i64,
    /// At most a second's.
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

/// Where records come from: programs, or the kernel.
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
    /// A C identifier.
    pub name: String,
    /// How it lies in a record.
    pub kind: FieldKind,
}

/// How a field lies in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// An unsigned integer of 1, 2, 4 or 8 bytes.
    Unsigned {
        /// Its size.
        bytes: u8,
        /// How it is shown.
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
    /// So many of the same.
    Array {
        /// Each of them; no array and no text.
        item: Box<FieldKind>,
        /// How many.
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
    /// Bytes that it takes in every record; None for a text, which is as long as it is.
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

/// In which base a number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// 42
    Decimal,
    /// 0x2a
    Hexadecimal,
}

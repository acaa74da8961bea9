//! Converts the kernel's records to ours by a plan that is made once for each event type: which bytes go where.

use std::fmt::Write;

use headwater_os_tools::syscalls;

use super::calls::{self, Calls, Signature};
use super::format::{Format, Location, RawField};
use super::stacks;
use crate::record::{HEAD, Head, RECORD_MAX};
use crate::schema::{Base, EventKind, Field, FieldKind};
use crate::stacks::FIELD;

/// The most bytes of a record's fields.
const ROOM: usize = RECORD_MAX - HEAD;

/// Bytes of the common fields at the start of every kernel record: event, flags, preemption count, thread.
const COMMON: usize = 8;

/// The event of the entry to any system call, with the call's number and six registers.
pub(super) const RAW_ENTER: &str = "raw_syscalls:sys_enter";

/// How to copy the fields of an event type.
#[derive(Debug, Clone)]
pub struct Plan {
    id: u16,
    steps: Vec<Step>,
    /// Bytes of the fields if all texts are empty.
    least: usize,
    /// Event types of their own for system calls.
    calls: Option<Calls>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Leaves room for the stack, which comes in a record of its own.
    Stack,
    /// Copies `len` bytes from offset `from`.
    Copy { from: usize, len: usize },
    /// Copies a text up to its NUL.
    Text { content: Content },
    /// Formats numbers of `bytes` bytes each as a text: records have no arrays of variable length.
    Numbers { content: Content, bytes: usize, signed: bool },
}

/// Where contents of variable length are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    offset: usize,
    location: Location,
    /// The maximum length; `None` for contents that extend to the end of the record.
    len: Option<usize>,
}

/// The number of a system call, with the names of the known ones. 32-bit programs use other numbers, which the kernel's
/// record does not distinguish.
fn call(kind: FieldKind) -> FieldKind {
    let names: Vec<(u64, String)> = syscalls::names().map(|(number, name)| (number, name.to_owned())).collect();
    match kind {
        FieldKind::Signed { bytes: 4 } if !names.is_empty() => FieldKind::Named { bytes: 4, names },
        kind => kind,
    }
}

impl Plan {
    /// Returns the plan for an event type of `system`, and the description of the resulting records.
    ///
    /// Integers are copied, pointers are shown in base 16, arrays of characters become text, other arrays keep their
    /// number of items, and unknown types become arrays of bytes. An array of variable length becomes a text of
    /// numbers. The number of a system call gets its name, and the arguments of `syscalls:sys_enter_...` have the width of
    /// their types.
    pub fn new(system: &str, format: &Format) -> (EventKind, Plan) {
        let mut plan = Plan { id: format.id, steps: Vec::new(), least: 0, calls: None };
        let mut fields: Vec<Field> = Vec::new();
        for raw in format.fields.iter().filter(|field| !field.name.starts_with("common_")) {
            let is_call =
                system == "raw_syscalls" && raw.name == "id" && raw.size == 8 && raw.location == Location::Inline;
            // The low half, which comes first, is the whole number.
            let raw = if is_call { &RawField { size: 4, ..raw.clone() } } else { raw };
            let argument = calls::argument(system, &format.name, raw);
            // As with a call's number, the low half comes first.
            let bytes = argument.as_ref().and_then(FieldKind::size).map_or(raw.size, |bytes| bytes as u32);
            let Some(kind) = plan.field(&RawField { size: bytes, ..raw.clone() }) else { continue };
            let kind = argument.unwrap_or(kind);
            let mut name = raw.name.clone();
            while fields.iter().any(|field| field.name == name) {
                name.push('_');
            }
            let kind = if is_call { call(kind) } else { kind };
            fields.push(Field { name, kind });
        }
        (EventKind { id: format.id, name: format!("{system}:{}", format.name), fields }, plan)
    }

    /// Returns a plan that copies pieces of the kernel's record, each an offset and a length.
    pub(super) fn copying(id: u16, pieces: &[(usize, usize)]) -> Plan {
        let mut plan = Plan { id, steps: Vec::new(), least: 0, calls: None };
        for (from, len) in pieces {
            plan.copy(*from, *len);
            plan.least += len;
        }
        plan
    }

    /// Adds event types for the system calls with these signatures, if this is the plan of `raw_syscalls:sys_enter`.
    /// Their ids begin with `first_id`.
    pub(super) fn name_arguments(&mut self, own: &EventKind, format: &Format, calls: &[Signature], first_id: u16) {
        if own.name == RAW_ENTER {
            self.calls = Calls::new(own, format, calls, first_id);
        }
    }

    /// Gives the records a field with a stack before the others, if there is room. `kind` is their description.
    pub(super) fn add_stack(&mut self, kind: &mut EventKind) {
        self.calls.iter_mut().flat_map(Calls::each).for_each(|(kind, plan)| plan.add_stack(kind));
        if self.least + stacks::BYTES <= ROOM {
            self.least += stacks::BYTES;
            self.steps.insert(0, Step::Stack);
            kind.fields.iter_mut().filter(|field| field.name == FIELD).for_each(|field| field.name.push('_'));
            kind.fields.insert(0, stacks::field());
        }
    }

    /// Whether the records have a field with a stack.
    pub(super) fn has_stack(&self) -> bool {
        self.steps.first() == Some(&Step::Stack)
    }

    /// Returns the event type and the plan for a kernel record, if its system call has its own.
    pub(super) fn call(&self, data: &[u8]) -> Option<&(EventKind, Plan)> {
        self.calls.as_ref()?.of(data)
    }

    /// Adds the step for one field. `None` if the record has no room for it.
    fn field(&mut self, raw: &RawField) -> Option<FieldKind> {
        let offset = raw.offset as usize;
        let text = raw.items.is_some() && is_character(&raw.c_type);
        if raw.location != Location::Inline || raw.size == 0 || text {
            if self.least == ROOM {
                return None;
            }
            let len = (raw.location == Location::Inline && raw.size > 0).then_some(raw.size as usize);
            let content = Content { offset, location: raw.location, len };
            self.least += 1;
            self.steps.push(match text {
                true => Step::Text { content },
                false => Step::Numbers { content, bytes: bytes_of(&raw.c_type).unwrap_or(1), signed: raw.signed },
            });
            return Some(FieldKind::Text);
        }
        let size = (raw.size as usize).min(ROOM.saturating_sub(self.least));
        if size == 0 {
            return None;
        }
        self.least += size;
        self.copy(offset, size);
        let whole = size == raw.size as usize;
        let bytes = FieldKind::Array { item: Box::new(integer(1, false, Base::Hexadecimal)), count: size as u32 };
        let base = if raw.c_type.contains('*') { Base::Hexadecimal } else { Base::Decimal };
        Some(match raw.items {
            _ if !whole => bytes,
            None if matches!(size, 1 | 2 | 4 | 8) => integer(size as u8, raw.signed, base),
            None => bytes,
            Some(count) => match item_bytes(size, count, &raw.c_type) {
                Some(item) => FieldKind::Array {
                    item: Box::new(integer(item as u8, raw.signed, base)),
                    count: (size / item) as u32,
                },
                None => bytes,
            },
        })
    }

    /// Adds a copy, or extends the previous one if the bytes are adjacent.
    fn copy(&mut self, from: usize, len: usize) {
        match self.steps.last_mut() {
            Some(Step::Copy { from: before, len: so_far }) if *before + *so_far == from => *so_far += len,
            _ => self.steps.push(Step::Copy { from, len }),
        }
    }

    /// Appends the record for `data`, a kernel record beginning with its first common field, to `out`. For any contents
    /// of `data` the record is complete and within its size limit: missing bytes are zero or empty, excess is cut.
    pub fn append(&self, time: u64, data: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        let mut spare = ROOM - self.least;
        for step in &self.steps {
            let before = out.len();
            match step {
                Step::Stack => {
                    out.resize(before + stacks::BYTES, 0);
                    continue;
                }
                Step::Copy { from, len } => {
                    let there = data.get(*from..).unwrap_or_default();
                    let there = &there[..there.len().min(*len)];
                    out.extend_from_slice(there);
                    out.resize(before + len, 0);
                    continue;
                }
                Step::Text { content } => append_text(content.of(data), spare, out),
                Step::Numbers { content, bytes, signed } => {
                    append_numbers(content.of(data), *bytes, *signed, spare, out);
                }
            }
            spare -= out.len() - before;
            out.push(0);
        }
        let len = Head::len_with(out.len() - start - HEAD);
        out.resize(start + len, 0);
        let thread = data.get(4..COMMON).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
        let head = Head { time, event: self.id, len: len as u16, thread };
        out[start..start + HEAD].copy_from_slice(&head.to_bytes());
    }
}

impl Content {
    /// Returns the bytes in a record; none if they would be outside.
    fn of(self, data: &[u8]) -> &[u8] {
        let (start, len) = match self.location {
            Location::Inline => (self.offset, self.len),
            Location::DataLoc | Location::RelLoc => {
                let Some(word) = data.get(self.offset..).and_then(|rest| rest.first_chunk::<4>()) else { return &[] };
                let word = u32::from_le_bytes(*word);
                let base = if self.location == Location::DataLoc { 0 } else { self.offset + 4 };
                (base + (word & 0xffff) as usize, Some((word >> 16) as usize))
            }
        };
        let there = data.get(start..).unwrap_or_default();
        &there[..len.map_or(there.len(), |len| len.min(there.len()))]
    }
}

/// Appends `bytes` up to the first NUL as UTF-8. Each invalid byte becomes a question mark.
fn append_text(bytes: &[u8], most: usize, out: &mut Vec<u8>) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let mut room = most;
    for chunk in bytes[..end].utf8_chunks() {
        for character in chunk.valid().chars().chain(chunk.invalid().iter().map(|_| '?')) {
            if character.len_utf8() > room {
                return;
            }
            room -= character.len_utf8();
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Appends the numbers in `content`, separated by spaces. An incomplete last number is ignored.
fn append_numbers(content: &[u8], bytes: usize, signed: bool, most: usize, out: &mut Vec<u8>) {
    let mut text = String::new();
    for item in content.chunks_exact(bytes) {
        let mut wide = [0; 8];
        wide[..bytes].copy_from_slice(item);
        let value = u64::from_le_bytes(wide);
        let shift = 64 - 8 * bytes as u32;
        let before = text.len();
        let space = if before == 0 { "" } else { " " };
        match signed {
            true => write!(text, "{space}{}", (value << shift).cast_signed() >> shift),
            false => write!(text, "{space}{value}"),
        }
        .expect("a string takes all");
        if text.len() > most {
            text.truncate(before);
            break;
        }
    }
    out.extend_from_slice(text.as_bytes());
}

fn integer(bytes: u8, signed: bool, base: Base) -> FieldKind {
    match signed {
        true => FieldKind::Signed { bytes },
        false => FieldKind::Unsigned { bytes, base },
    }
}

/// Returns the bytes of an array's item, from the number of items or else from the type.
fn item_bytes(size: usize, count: Option<u32>, c_type: &str) -> Option<usize> {
    let counted = count.map(|count| count as usize).filter(|count| *count > 0 && size.is_multiple_of(*count));
    counted
        .map(|count| size / count)
        .or_else(|| bytes_of(c_type).filter(|bytes| size.is_multiple_of(*bytes)))
        .filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))
}

/// Whether an array of this type is a text.
fn is_character(c_type: &str) -> bool {
    matches!(c_type, "char" | "const char")
}

/// Returns the bytes of one of the kernel's integer types.
pub(super) fn bytes_of(c_type: &str) -> Option<usize> {
    if c_type.contains('*') {
        return Some(size_of::<usize>());
    }
    Some(match c_type.trim_start_matches("const ").trim() {
        "char" | "signed char" | "unsigned char" | "u8" | "__u8" | "s8" | "__s8" | "uint8_t" | "int8_t" | "bool" => 1,
        "short" | "unsigned short" | "u16" | "__u16" | "s16" | "__s16" | "uint16_t" | "int16_t" | "__le16"
        | "__be16" => 2,
        "int" | "unsigned int" | "unsigned" | "u32" | "__u32" | "s32" | "__s32" | "uint32_t" | "int32_t" | "__le32"
        | "__be32" | "pid_t" => 4,
        "u64" | "__u64" | "s64" | "__s64" | "uint64_t" | "int64_t" | "long long" | "unsigned long long" | "__le64"
        | "__be64" => 8,
        "long" | "unsigned long" | "size_t" => size_of::<usize>(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

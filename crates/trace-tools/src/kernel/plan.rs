//! From a record of the kernel to one of ours: which bytes go where, worked out once for each kind of event.

use std::fmt::Write;

use headwater_os_tools::syscalls;

use super::format::{Format, Place, RawField};
use crate::record::{HEAD, Head, RECORD_MAX};
use crate::schema::{Base, EventKind, Field, FieldKind};

/// Bytes of fields of a record.
const ROOM: usize = RECORD_MAX - HEAD;

/// Bytes that every record of the kernel begins with: event, flags, preemption count, thread.
const COMMON: usize = 8;

/// How the fields of one kind of event are copied.
#[derive(Debug, Clone)]
pub struct Plan {
    id: u16,
    steps: Vec<Step>,
    /// Bytes of fields when all texts are empty.
    least: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// So many bytes from there, as they are.
    Copy { from: usize, len: usize },
    /// A text of at most so many bytes, up to its NUL.
    Text { content: Content },
    /// Numbers of so many bytes each, as a text: records have no arrays whose length differs.
    Numbers { content: Content, bytes: usize, signed: bool },
}

/// Where something of a length that differs lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    offset: usize,
    place: Place,
    /// At most so much; None up to the record's end.
    len: Option<usize>,
}

/// The number of a system call, with the names of those that are known. A 32-bit program's calls have other numbers, which the
/// kernel's record does not tell apart.
fn call(kind: FieldKind) -> FieldKind {
    let names: Vec<(u64, String)> = syscalls::names().map(|(number, name)| (number, name.to_owned())).collect();
    match kind {
        FieldKind::Signed { bytes: 4 } if !names.is_empty() => FieldKind::Named { bytes: 4, names },
        kind => kind,
    }
}

impl Plan {
    /// The plan for an event of `system`, and what its records are then.
    ///
    /// Integers stay what they are, pointers are shown in base 16, arrays of characters become text, other arrays keep their
    /// number of items; what is of no known kind becomes an array of bytes. An array whose length differs becomes a text of
    /// numbers. The number of a system call has its name.
    pub fn new(system: &str, format: &Format) -> (EventKind, Plan) {
        let mut plan = Plan { id: format.id, steps: Vec::new(), least: 0 };
        let mut fields: Vec<Field> = Vec::new();
        for raw in format.fields.iter().filter(|field| !field.name.starts_with("common_")) {
            let is_call = system == "raw_syscalls" && raw.name == "id" && raw.size == 8 && raw.place == Place::Here;
            // The lower half, which says it all, comes first.
            let raw = if is_call { &RawField { size: 4, ..raw.clone() } } else { raw };
            let Some(kind) = plan.field(raw) else { continue };
            let mut name = raw.name.clone();
            while fields.iter().any(|field| field.name == name) {
                name.push('_');
            }
            let kind = if is_call { call(kind) } else { kind };
            fields.push(Field { name, kind });
        }
        (EventKind { id: format.id, name: format!("{system}:{}", format.name), fields }, plan)
    }

    /// Adds the step for one field; None if no room is left for it.
    fn field(&mut self, raw: &RawField) -> Option<FieldKind> {
        let offset = raw.offset as usize;
        let text = raw.items.is_some() && is_character(&raw.c_type);
        if raw.place != Place::Here || raw.size == 0 || text {
            if self.least == ROOM {
                return None;
            }
            let len = (raw.place == Place::Here && raw.size > 0).then_some(raw.size as usize);
            let content = Content { offset, place: raw.place, len };
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

    /// Adds a copy, to the last one where they lie side by side.
    fn copy(&mut self, from: usize, len: usize) {
        match self.steps.last_mut() {
            Some(Step::Copy { from: before, len: so_far }) if *before + *so_far == from => *so_far += len,
            _ => self.steps.push(Step::Copy { from, len }),
        }
    }

    /// Appends the record for `data`, a record of the kernel from its first common field on, to `out`. Whatever stands in
    /// `data`, the record is whole and not longer than it may be: what is missing is zeros or empty, what is too long is cut.
    pub fn append(&self, time: u64, data: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        let mut spare = ROOM - self.least;
        for step in &self.steps {
            let before = out.len();
            match step {
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
    /// The bytes in a record; none where they would lie outside.
    fn of(self, data: &[u8]) -> &[u8] {
        let (start, len) = match self.place {
            Place::Here => (self.offset, self.len),
            Place::There | Place::ThereFromHere => {
                let Some(word) = data.get(self.offset..).and_then(|rest| rest.first_chunk::<4>()) else { return &[] };
                let word = u32::from_le_bytes(*word);
                let base = if self.place == Place::There { 0 } else { self.offset + 4 };
                (base + (word & 0xffff) as usize, Some((word >> 16) as usize))
            }
        };
        let there = data.get(start..).unwrap_or_default();
        &there[..len.map_or(there.len(), |len| len.min(there.len()))]
    }
}

/// `bytes` up to the first NUL, as UTF-8: each byte that is no part of it becomes a question mark.
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

/// The numbers in `content`, parted by spaces; a last one that is not whole is left out.
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

/// Bytes of each item of an array: by the number of items, or else by their type.
fn item_bytes(size: usize, count: Option<u32>, c_type: &str) -> Option<usize> {
    let counted = count.map(|count| count as usize).filter(|count| *count > 0 && size.is_multiple_of(*count));
    counted
        .map(|count| size / count)
        .or_else(|| bytes_of(c_type).filter(|bytes| size.is_multiple_of(*bytes)))
        .filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))
}

/// Whether an array of these is text.
fn is_character(c_type: &str) -> bool {
    matches!(c_type, "char" | "const char")
}

/// Bytes of an integer type of the kernel; None for another.
fn bytes_of(c_type: &str) -> Option<usize> {
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

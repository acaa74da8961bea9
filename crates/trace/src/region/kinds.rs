//! The table of event types in a session's memory: an entry for each, and the texts that describe them. Programs enter
//! their events, each once; the consumer reads them. An id is a place in the table.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use headwater_shm::{Placed, shareable};

use crate::event::{COPY, STACK, STACK_COPY, STACK_FRAMES, Type};
use crate::schema::{Base, EventKind, Field, FieldKind};

/// Kinds of events in a session.
pub const EVENTS_MAX: usize = 8192;
/// Bytes of all descriptions: 128 for each event.
pub(super) const TEXTS_BYTES: usize = EVENTS_MAX * 128;
/// Bytes of an event's description.
const DESCRIPTION_MAX: usize = 1016;
/// The names of [`Type::Level`], from 1 on.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

const ADDRESS: FieldKind = FieldKind::Unsigned { bytes: 8, base: Base::Hexadecimal };

/// The states of an entry. The program that changes [`FREE`] to [`TAKEN`] writes the rest; if it is killed meanwhile, the
/// entry remains taken.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WRITTEN: u32 = 2;

shareable! {
    /// The use of the table, in the session's header. Programs write it.
    pub(crate) struct Use {
        /// Bytes of the texts that are taken.
        texts: AtomicU32,
        /// Whether an event has found no room.
        is_refused: AtomicU32,
    }

    /// An event of the table. Entries are taken in their order.
    pub(crate) struct Slot {
        state: AtomicU32,
        /// Of the description, so that a search reads few of them.
        hash: AtomicU32,
        /// The place of the description in the texts: `provider:event field:type field:type`.
        at: AtomicU32,
        len: AtomicU32,
    }
}

/// What records have before their fields.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stack {
    None,
    /// A field with the return addresses.
    Frames,
    /// A field with a copy of the stack.
    Copy,
}

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    pub slots: Placed<[Slot]>,
    pub texts: Placed<[AtomicU8]>,
}

impl Kinds {
    /// The id of an event, which is added if it is new. None if there is no room, or the event's description is too long.
    /// Allocates nothing: the event may stand in a signal handler.
    pub fn enter(&self, used: &Use, name: &str, fields: &[(&str, Type)], stack: Stack) -> Option<u32> {
        let text = Description { name, fields, stack };
        let (len, hash) = text.bytes().fold((0, 0x811c_9dc5), |(len, hash), byte| (len + 1, hashed(hash, byte)));
        if len > DESCRIPTION_MAX {
            return None;
        }
        for (id, slot) in self.slots.iter().enumerate() {
            // Acquire pairs with the Release in `write`.
            match slot.state.load(Ordering::Acquire) {
                FREE if used.texts.load(Ordering::Relaxed) as usize + len > self.texts.len() => break,
                FREE if slot.state.compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_ok() => {
                    return self.write(used, slot, hash, len, text).then_some(id as u32);
                }
                WRITTEN if slot.hash.load(Ordering::Relaxed) == hash && self.is_described(slot, text) => {
                    return Some(id as u32);
                }
                // Another event's. Two programs that enter the same event at once give it two ids, which is harmless.
                _ => {}
            }
        }
        used.is_refused.store(1, Ordering::Relaxed);
        None
    }

    /// Writes an entry. Returns whether there was room for its text: other programs may have taken the rest meanwhile.
    fn write(&self, used: &Use, slot: &Slot, hash: u32, len: usize, text: Description<'_>) -> bool {
        let at = used.texts.fetch_add(len as u32, Ordering::Relaxed);
        let Some(place) = self.texts.get(at as usize..).and_then(|rest| rest.get(..len)) else {
            used.is_refused.store(1, Ordering::Relaxed);
            return false;
        };
        place.iter().zip(text.bytes()).for_each(|(byte, value)| byte.store(value, Ordering::Relaxed));
        slot.hash.store(hash, Ordering::Relaxed);
        slot.at.store(at, Ordering::Relaxed);
        slot.len.store(len as u32, Ordering::Relaxed);
        slot.state.store(WRITTEN, Ordering::Release);
        true
    }

    fn is_described(&self, slot: &Slot, text: Description<'_>) -> bool {
        self.bytes(slot).is_some_and(|there| there.eq(text.bytes()))
    }

    fn bytes(&self, slot: &Slot) -> Option<impl Iterator<Item = u8>> {
        let (at, len) = (slot.at.load(Ordering::Relaxed) as usize, slot.len.load(Ordering::Relaxed) as usize);
        let bytes = self.texts.get(at..)?.get(..len).filter(|bytes| bytes.len() <= DESCRIPTION_MAX)?;
        Some(bytes.iter().map(|byte| byte.load(Ordering::Relaxed)))
    }

    /// Changes where the first entry says that its description is, as a hostile program may.
    #[cfg(test)]
    pub fn scribble(&self, at: u32, len: u32) {
        self.slots[0].at.store(at, Ordering::Relaxed);
        self.slots[0].len.store(len, Ordering::Relaxed);
    }

    /// The end of the entries that are taken, of which the first `from` are known to be.
    pub fn end(&self, from: usize) -> usize {
        let rest = self.slots.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|slot| slot.state.load(Ordering::Relaxed) != FREE).count()
    }

    /// The event with that id, if there is one that can be read.
    pub fn get(&self, id: usize) -> Option<EventKind> {
        let slot = self.slots.get(id).filter(|slot| slot.state.load(Ordering::Acquire) == WRITTEN)?;
        parse(id as u16, &String::from_utf8(self.bytes(slot)?.collect()).ok()?)
    }
}

impl Use {
    /// Whether an event has found no room.
    pub fn is_full(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed) != 0
    }
}

/// FNV-1a.
fn hashed(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// The table's description of an event: `provider:event field:type field:type`.
#[derive(Debug, Clone, Copy)]
struct Description<'a> {
    name: &'a str,
    fields: &'a [(&'a str, Type)],
    stack: Stack,
}

impl<'a> Description<'a> {
    /// The text, byte by byte: so it allocates nothing.
    fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        // No number has more than 8 bytes; one that had would be none that a reader knows.
        let number = |letter: u8, bytes: u8| [letter, b'0' + bytes.min(9), 0, 0];
        let fields = self.fields.iter().flat_map(move |(field, kind)| {
            let kind = match kind {
                Type::Unsigned(bytes) => number(b'u', *bytes),
                Type::Signed(bytes) => number(b'i', *bytes),
                Type::Float(bytes) => number(b'f', *bytes),
                Type::Text => *b"text",
                Type::Level => *b"lev\0",
            };
            let kind = kind.into_iter().filter(|letter| *letter != 0);
            [b' '].into_iter().chain(field.bytes()).chain([b':']).chain(kind)
        });
        let stack: &[&str] = match self.stack {
            Stack::None => &[],
            Stack::Frames => &[" ", STACK, ":stack"],
            Stack::Copy => &[" ", COPY, ":copy"],
        };
        self.name.bytes().chain(stack.iter().flat_map(|part| part.bytes())).chain(fields)
    }
}

fn parse(id: u16, text: &str) -> Option<EventKind> {
    let mut words = text.split(' ');
    let name = words.next().filter(|name| crate::event::is_name(name))?.to_owned();
    let fields = words.map(|word| {
        let (name, kind) = word.split_once(':')?;
        if !crate::event::is_identifier(name) {
            return None;
        }
        let kind = match kind {
            "text" => FieldKind::Text,
            "lev" => FieldKind::Named { bytes: 1, names: (1..).zip(LEVELS.map(str::to_owned)).collect() },
            "u1" | "u2" | "u4" | "u8" => FieldKind::Unsigned { bytes: kind.as_bytes()[1] - b'0', base: Base::Decimal },
            "i1" | "i2" | "i4" | "i8" => FieldKind::Signed { bytes: kind.as_bytes()[1] - b'0' },
            "stack" => FieldKind::Array { item: Box::new(ADDRESS), count: STACK_FRAMES as u32 },
            "copy" => FieldKind::Array { item: Box::new(ADDRESS), count: STACK_COPY as u32 },
            "f4" | "f8" => FieldKind::Float { bytes: kind.as_bytes()[1] - b'0' },
            _ => return None,
        };
        Some(Field { name: name.to_owned(), kind })
    });
    Some(EventKind { id, name, fields: fields.collect::<Option<_>>()? })
}

const _: () = assert!(EVENTS_MAX <= u16::MAX as usize && TEXTS_BYTES <= (u32::MAX / 2) as usize);

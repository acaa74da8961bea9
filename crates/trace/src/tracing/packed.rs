//! The values of an event or span of `tracing`, in the form of a record, and their types.

use std::fmt::{self, Debug, Write};

use tracing_core::field::{Field, Visit};

use crate::event::{self, FIELDS_MAX, SHORT_TEXT_MAX, TEXT_MAX, Type, Value, WORDS_MAX, Words};
use crate::record::HEAD;

/// Bytes that are kept for the fields behind the program's: the level, and the number of cut fields.
const LAST_BYTES: usize = 3;

/// Bits of a field in a signature; 0 is a field without a value.
const BITS: usize = 4;
/// The number of fields that a signature has bits for.
const FIELDS: usize = u128::BITS as usize / BITS - 1;
const TYPES: [Type; 5] = [Type::Unsigned(8), Type::Signed(8), Type::Float(8), Type::Unsigned(1), Type::Text];

/// A type's bits in a signature, of those in [`TYPES`].
const fn bits_of(kind: Type) -> u128 {
    match kind {
        Type::Unsigned(8) => 1,
        Type::Signed(8) => 2,
        Type::Float(8) => 3,
        Type::Unsigned(1) => 4,
        Type::Text => 5,
        _ => unreachable!(),
    }
}

/// Something was cut. No field's type has this bit.
const CUT: u128 = 1 << 127;

/// Words of most records. Longer ones have their words on the heap: clearing the longest record's for each event would cost
/// as much as the rest of the event.
const FEW: usize = 16;
/// Words of most of the others.
const MORE: usize = 64;

/// A record in the making.
pub(super) struct Packed {
    words: Space,
    /// Bytes, with the head.
    len: usize,
    /// Types by the fields' places.
    types: u128,
    /// The lowest place that the next field can have.
    next: usize,
    /// Fields that are not there, or not whole.
    cut: u16,
}

/// The words of a record.
enum Space {
    Few(Words<FEW>),
    More(Box<Words<MORE>>),
    All(Box<Words<WORDS_MAX>>),
}

impl Space {
    /// Makes room for a record of `len` bytes.
    #[inline]
    fn reserve(&mut self, len: usize) {
        if len > size_of_val(self.as_mut()) {
            self.grow(len);
        }
    }

    #[inline(never)]
    fn grow(&mut self, len: usize) {
        let (mut more, mut all) = (None, None);
        let words: &mut [u64] = match len <= 8 * MORE {
            true => &mut more.insert(Box::new([0; MORE]))[..],
            false => &mut all.insert(Box::new([0; WORDS_MAX]))[..],
        };
        let there = self.as_mut();
        words[..there.len()].copy_from_slice(there);
        if let Some(space) = more.map(Space::More).or(all.map(Space::All)) {
            *self = space;
        }
    }

    /// Appends a value for which there is room.
    #[inline(always)]
    fn put<V: Value>(&mut self, len: &mut usize, value: V) {
        match self {
            Space::Few(words) => value.put_until(words, len, HEAD + FIELDS_MAX),
            Space::More(words) => value.put_until(words, len, HEAD + FIELDS_MAX),
            Space::All(words) => value.put_until(words, len, HEAD + FIELDS_MAX),
        }
    }

    fn as_mut(&mut self) -> &mut [u64] {
        match self {
            Space::Few(words) => words,
            Space::More(words) => &mut words[..],
            Space::All(words) => &mut words[..],
        }
    }
}

impl Packed {
    #[inline(always)]
    pub(super) fn new() -> Packed {
        Packed { words: Space::Few([0; FEW]), len: HEAD, types: 0, next: 0, cut: 0 }
    }

    /// Appends a field that every record of the name has. These come first.
    pub(super) fn begin_with<V: Value>(&mut self, value: V) {
        self.words.put(&mut self.len, value);
    }

    /// What kind of record it is: equal for those whose fields have the same types.
    pub(super) fn signature(&self) -> u128 {
        self.types | if self.cut == 0 { 0 } else { CUT }
    }

    /// Writes the record with this level behind the fields, if any. May be called repeatedly.
    #[inline(always)]
    pub(super) fn write(&mut self, event: &'static event::Event, level: Option<u8>) {
        if self.cut != 0 {
            return self.write_cut(event, level);
        }
        let mut len = self.len;
        if let Some(level) = level {
            self.words.put(&mut len, level);
        }
        event.write_made(self.words.as_mut(), len);
    }

    /// The same for a record that ends with the number of cut fields.
    #[cold]
    fn write_cut(&self, event: &'static event::Event, level: Option<u8>) {
        let (mut words, mut len) = ([0; WORDS_MAX], self.len);
        match &self.words {
            Space::Few(few) => words[..FEW].copy_from_slice(few),
            Space::More(more) => words[..MORE].copy_from_slice(&more[..]),
            Space::All(all) => words = **all,
        }
        if let Some(level) = level {
            level.put(&mut words, &mut len);
        }
        self.cut.put(&mut words, &mut len);
        event.write_made(&mut words, len);
    }

    fn put<V: Value>(&mut self, field: &Field, value: V) {
        self.put_in(field, value, V::BYTES_MAX);
    }

    /// Appends a value of `bytes` bytes. Returns whether it had a place.
    #[inline(always)]
    fn put_in<V: Value>(&mut self, field: &Field, value: V, bytes: usize) -> bool {
        let Some(shift) = self.place(field, bytes) else { return false };
        self.types |= const { bits_of(V::TYPE) } << shift;
        // With the level, which `write` appends.
        self.words.reserve(self.len + bytes + 1);
        self.words.put(&mut self.len, value);
        true
    }

    fn put_text(&mut self, field: &Field, text: &str, is_cut: bool) {
        // The rest of a record that is almost full.
        let room = (HEAD + FIELDS_MAX - LAST_BYTES).saturating_sub(self.len + 1);
        let kept = &text[..text.floor_char_boundary(TEXT_MAX.min(room.max(SHORT_TEXT_MAX)))];
        let is_cut = is_cut || kept.len() < text.len() || kept.as_bytes().contains(&0);
        // `put_in` counts a value without a place.
        if self.put_in(field, kept, kept.len() + 1) && is_cut {
            self.cut = self.cut.saturating_add(1);
        }
    }

    /// For a text that needs a larger array, whose clearing costs time.
    #[cold]
    #[inline(never)]
    fn put_long(&mut self, field: &Field, value: &dyn Debug) {
        let shown = Shown::<TEXT_MAX>::of(value);
        self.put_text(field, shown.text(), shown.is_cut);
    }

    /// The index of a field's type in the signature, if there is room for `bytes` bytes and the field comes behind
    /// those already present: fields lie in the order in which they were declared.
    #[inline(always)]
    fn place(&mut self, field: &Field, bytes: usize) -> Option<usize> {
        let index = field.index();
        if (self.next..FIELDS).contains(&index) && self.len + bytes <= HEAD + FIELDS_MAX - LAST_BYTES {
            self.next = index + 1;
            return Some(index * BITS);
        }
        self.cut = self.cut.saturating_add(1);
        None
    }
}

/// Places and types of the fields in a signature, and whether something was cut.
pub(super) fn types(signature: u128) -> (impl Iterator<Item = (usize, Type)>, bool) {
    let of = move |place: usize| ((signature & !CUT) >> (place * BITS)) as usize & ((1 << BITS) - 1);
    let types = (0..128 / BITS).filter_map(move |place| Some((place, TYPES[of(place).checked_sub(1)?])));
    (types, signature & CUT != 0)
}

/// The output of `Debug`, up to the capacity of a field.
struct Shown<const N: usize> {
    bytes: [u8; N],
    len: usize,
    is_cut: bool,
}

impl<const N: usize> Shown<N> {
    /// The text of a value, as far as there is room.
    #[inline(always)]
    fn of(value: &dyn Debug) -> Shown<N> {
        let mut shown = Shown { bytes: [0; N], len: 0, is_cut: false };
        // An error of `Debug` itself leaves the text up to there.
        shown.is_cut |= write!(shown, "{value:?}").is_err();
        shown
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("cut between characters")
    }
}

impl<const N: usize> Write for Shown<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = N - self.len;
        let kept = text.floor_char_boundary(room);
        self.bytes[self.len..][..kept].copy_from_slice(&text.as_bytes()[..kept]);
        self.len += kept;
        self.is_cut = kept < text.len();
        // Nothing may follow a cut.
        if self.is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Visit for Packed {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field, value, false);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let shown = Shown::<SHORT_TEXT_MAX>::of(value);
        match shown.is_cut {
            true => self.put_long(field, value),
            false => self.put_text(field, shown.text(), false),
        }
    }
}

//! The values of an event or span of `tracing`, in the form of a record, and their types.

use std::fmt::{self, Debug, Write};

use tracing_core::field::{Field, Visit};

use crate::event::{self, FIELDS_MAX, TEXT_MAX, Type, Value, WORDS_MAX, Words};
use crate::record::HEAD;

/// Bytes that are kept for the field that says what was cut.
const CUT_BYTES: usize = 2;

/// Bits of a field in a signature; 0 is a field without a value.
const BITS: usize = 4;
const TYPES: [Type; 5] = [Type::Unsigned(8), Type::Signed(8), Type::Float(8), Type::Unsigned(1), Type::Text];

/// Something was cut. No field's type has this bit.
const CUT: u128 = 1 << 127;

/// A record in the making.
pub(super) struct Packed {
    words: Words<WORDS_MAX>,
    /// Bytes, with the head.
    len: usize,
    /// Types by the fields' places.
    types: u128,
    /// Fields that are not there, or not whole.
    cut: u16,
}

impl Packed {
    pub(super) fn new() -> Packed {
        Packed { words: [0; WORDS_MAX], len: HEAD, types: 0, cut: 0 }
    }

    /// What kind of record it is: equal for those whose fields have the same types.
    pub(super) fn signature(&self) -> u128 {
        self.types | if self.cut == 0 { 0 } else { CUT }
    }

    /// Writes the record. May be called repeatedly.
    pub(super) fn write(&self, event: &'static event::Event) {
        let (mut words, mut len) = (self.words, self.len);
        if self.cut != 0 {
            self.cut.put(&mut words, &mut len);
        }
        event.write_made(&mut words, len);
    }

    fn put<V: Value>(&mut self, field: &Field, value: V) {
        self.put_in(field, value, V::BYTES_MAX);
    }

    /// Appends a value of `bytes` bytes. Returns whether it had a place.
    fn put_in<V: Value>(&mut self, field: &Field, value: V, bytes: usize) -> bool {
        let Some(shift) = self.place(field, bytes) else { return false };
        let kind = TYPES.iter().position(|kind| *kind == V::TYPE).expect("one of those");
        self.types |= (kind as u128 + 1) << shift;
        value.put(&mut self.words, &mut self.len);
        true
    }

    fn put_text(&mut self, field: &Field, text: &str, is_cut: bool) {
        let kept = &text[..text.floor_char_boundary(TEXT_MAX)];
        let is_cut = is_cut || kept.len() < text.len() || kept.as_bytes().contains(&0);
        // `put_in` counts a value without a place.
        if self.put_in(field, kept, kept.len() + 1) && is_cut {
            self.cut = self.cut.saturating_add(1);
        }
    }

    /// The index of a field's type in the signature, if there is room for `bytes` bytes and the field comes behind
    /// those already present: fields lie in the order in which they were declared.
    fn place(&mut self, field: &Field, bytes: usize) -> Option<usize> {
        let shift = field.index() * BITS;
        let is_behind = shift < 128 && self.types >> shift == 0;
        if is_behind && self.len + bytes <= HEAD + FIELDS_MAX - CUT_BYTES {
            return Some(shift);
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
struct Shown {
    bytes: [u8; TEXT_MAX],
    len: usize,
    is_cut: bool,
}

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = TEXT_MAX - self.len;
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
        let mut shown = Shown { bytes: [0; TEXT_MAX], len: 0, is_cut: false };
        // An error of `Debug` itself leaves the text up to there.
        let failed = write!(shown, "{value:?}").is_err();
        let text = std::str::from_utf8(&shown.bytes[..shown.len]).expect("cut between characters");
        self.put_text(field, text, failed || shown.is_cut);
    }
}

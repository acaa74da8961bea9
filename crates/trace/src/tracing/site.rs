//! The call sites of `tracing` that were hit, and the kinds of events that they have become.

use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::OnceLock;

use tracing_core::{Level, Metadata};

use super::packed::{Packed, types};
use crate::event::{Event, Type};
use crate::session;

/// Call sites of a program that can be recorded; a power of two.
const SITES: usize = 4096;
/// Kinds of a call site: combinations of types, of which most have one.
const KINDS: usize = 8;
/// Most bytes of an event's name, and of a provider's before it.
const NAME_MAX: usize = 40;
const PROVIDER_MAX: usize = 64 - 1 - NAME_MAX;

/// The fields that a record begins with: one of an event or of a span's end, and one of a span's beginning.
const SPAN: &[(&str, Type)] = &[("span", Type::Unsigned(8))];
const SPAN_AND_PARENT: &[(&str, Type)] = &[("span", Type::Unsigned(8)), ("parent", Type::Unsigned(8))];

/// The field behind those of the program.
const LEVEL: (&str, Type) = ("level", Type::Level);

/// The name of the field with the number of cut ones.
const CUT: &str = "cut";

/// At the hash of the metadata's address, or behind it.
static ALL: [OnceLock<&'static Site>; SITES] = [const { OnceLock::new() }; SITES];

/// A call site.
#[derive(Debug)]
pub(super) struct Site {
    /// The address of its metadata, which live for ever.
    metadata: usize,
    /// The kinds of an event, or of the beginning of a span.
    pub(super) first: Series,
    /// The kinds of a span's end.
    pub(super) last: Series,
}

/// The kinds of one name.
#[derive(Debug)]
pub(super) struct Series {
    name: String,
    /// The fields that each record begins with.
    begins_with: &'static [(&'static str, Type)],
    /// The level that each record has behind the program's fields, if any.
    level: Option<u8>,
    /// The names of the program's fields, made to fit.
    fields: Vec<String>,
    /// By signature; used places come first.
    kinds: [OnceLock<Kind>; KINDS],
}

#[derive(Debug)]
struct Kind {
    signature: u128,
    /// None: it cannot be described.
    event: Option<&'static Event>,
}

/// The call site with these metadata; None if there are too many.
pub(super) fn of(metadata: &Metadata<'_>) -> Option<&'static Site> {
    let place = std::ptr::from_ref(metadata).addr();
    // The multiplication brings all bits of a place to the upper ones.
    let first = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let slots = (0..SITES).map(|step| &ALL[(first as usize + step) % SITES]);
    for slot in slots {
        let site = slot.get_or_init(|| Box::leak(Box::new(Site::new(place, metadata))));
        if site.metadata == place {
            return Some(site);
        }
    }
    session::count_lost();
    None
}

/// Whether the session wants what the call site records.
pub(super) fn is_wanted(metadata: &Metadata<'_>) -> bool {
    of(metadata)
        .is_some_and(|site| session::wants(&site.first.name) || metadata.is_span() && session::wants(&site.last.name))
}

impl Site {
    fn new(place: usize, metadata: &Metadata<'_>) -> Site {
        let [first, last] = names(metadata);
        let fields = fields(metadata);
        let less = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG];
        let level = 1 + less.iter().take_while(|level| *level < metadata.level()).count() as u8;
        let begins_with = if metadata.is_span() { SPAN_AND_PARENT } else { SPAN };
        let first = Series { begins_with, level: Some(level), ..Series::new(first, fields.clone()) };
        Site { metadata: place, first, last: Series::new(last, fields) }
    }
}

impl Series {
    fn new(name: String, fields: Vec<String>) -> Series {
        Series { name, begins_with: SPAN, level: None, fields, kinds: [const { OnceLock::new() }; KINDS] }
    }

    /// Writes the record, if its kind of event is recorded.
    #[inline(always)]
    pub(super) fn write(&self, packed: &mut Packed) {
        if let Some(event) = self.kind(packed)
            && event.is_on()
        {
            packed.write(event, self.level);
        }
    }

    /// The event for records of this kind. None if it cannot be made; that is counted as lost.
    #[inline(always)]
    fn kind(&self, packed: &Packed) -> Option<&'static Event> {
        let signature = packed.signature();
        let mut kinds = self.kinds.iter().map(|kind| kind.get_or_init(|| self.make(signature)));
        let event = kinds.find(|kind| kind.signature == signature).and_then(|kind| kind.event);
        if event.is_none() {
            session::count_lost();
        }
        event
    }

    #[cold]
    fn make(&self, signature: u128) -> Kind {
        let (types, is_cut) = types(signature);
        let named = |(place, kind): (usize, Type)| Some((self.fields.get(place)?.as_str(), kind));
        let (level, cut) = (self.level.map(|_| LEVEL), is_cut.then_some((CUT, Type::Unsigned(2))));
        let first = self.begins_with.iter().map(|field| Some(*field));
        let fields = first.chain(types.map(named)).chain(level.map(Some)).chain(cut.map(Some));
        let fields: Option<Vec<(&str, Type)>> = fields.collect();
        let event = fields.and_then(|fields| Event::make(&self.name, &fields, None));
        Kind { signature, event }
    }
}

/// The names of a call site's events: one for an event, both for a span.
fn names(metadata: &Metadata<'_>) -> [String; 2] {
    let provider = fitting(metadata.target(), PROVIDER_MAX);
    let (name, suffixes) = if metadata.is_span() {
        (fitting(metadata.name(), NAME_MAX - "_begin".len()), ["_begin", "_end"])
    } else if metadata.name().starts_with("event ") {
        // The macros' own name for an event without one: `event src/main.rs:12`.
        let file = metadata.file().map(Path::new).and_then(Path::file_name).unwrap_or_default();
        let line = format!("_{}", metadata.line().unwrap_or_default());
        (fitting(&file.to_string_lossy(), NAME_MAX - line.len()) + &line, ["", ""])
    } else {
        (fitting(metadata.name(), NAME_MAX), ["", ""])
    };
    suffixes.map(|suffix| format!("{provider}:{name}{suffix}"))
}

/// The names of its fields: each a name of its own, and none that of a field of ours.
fn fields(metadata: &Metadata<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for field in metadata.fields() {
        let name = fitting(field.name().trim_start_matches("r#"), NAME_MAX);
        let name = if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name };
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let is_ours =
            |name: &str| SPAN_AND_PARENT.iter().any(|(ours, _)| *ours == name) || [LEVEL.0, CUT].contains(&name);
        let own = std::iter::once(name.clone()).chain(numbered).find(|name| !is_ours(name) && !names.contains(name));
        names.push(own.expect("numbers do not end"));
    }
    names
}

/// A text of letters, digits and `_`, neither empty nor longer than `bytes_max`. A text that is cut ends with a number
/// that distinguishes it from others with the same beginning.
fn fitting(text: &str, bytes_max: usize) -> String {
    let fits = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let mut own: String = text.replace("::", "_").chars().map(fits).collect();
    if own.len() > bytes_max {
        let mut hasher = std::hash::DefaultHasher::new();
        text.hash(&mut hasher);
        own.truncate(bytes_max - 5);
        own.push_str(&format!("_{:04x}", hasher.finish() & 0xffff));
    }
    if own.is_empty() { "_".to_owned() } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_to_fit() {
        for (text, expected) in [
            ("shop::cart", "shop_cart"),
            ("my-app", "my_app"),
            ("", "_"),
            ("grün", "gr_n"),
            ("user.id", "user_id"),
            ("twenty_bytes_it_takes", "twenty_bytes_it_takes"),
        ] {
            assert_eq!(fitting(text, PROVIDER_MAX), expected, "{text}");
        }
        let [one, other] = ["a_module::whose::path::is_long", "a_module::whose::path::is_longer"];
        let [one, other] = [one, other].map(|text| fitting(text, PROVIDER_MAX));
        assert!(one.len() == PROVIDER_MAX && other.len() == PROVIDER_MAX && one != other, "{one} {other}");
    }
}

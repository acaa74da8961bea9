//! Checks whether CTF can express a [`Schema`] and its records fit their maximum size. Writers refuse a schema that
//! fails.

use std::collections::BTreeSet;

use super::{Clock, EventKind, Field, FieldKind, Schema, StreamKind};
use crate::record::{HEAD, RECORD_MAX};

/// The prefix of environment names that the trace format itself uses.
pub(crate) const RESERVED: &str = "headwater_";

/// The reason why a schema cannot be written; it names the part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

fn unfit<T>(why: impl Into<String>) -> Result<T, Unfit> {
    Err(Unfit(why.into()))
}

/// A type that CTF may not be able to express.
pub trait Check {
    /// Checks whether CTF can express it.
    ///
    /// # Errors
    /// The first part that cannot be written, and the reason.
    fn check(&self) -> Result<(), Unfit>;
}

impl Check for Schema {
    fn check(&self) -> Result<(), Unfit> {
        self.clock.check()?;
        let mut names = BTreeSet::new();
        for stream in &self.streams {
            stream.check()?;
            if !names.insert(&stream.name) {
                return unfit(format!("two streams are named {}", stream.name));
            }
        }
        let mut names = BTreeSet::new();
        for (name, value) in &self.environment {
            identifier("environment", name)?;
            printable(&format!("environment {name}"), value, &['\n', '\t'])?;
            if name.starts_with(RESERVED) {
                return unfit(format!("environment {name}: names that begin with {RESERVED} are the format's own"));
            }
            if !names.insert(name) {
                return unfit(format!("environment {name} stands there twice"));
            }
        }
        Ok(())
    }
}

impl Check for Clock {
    fn check(&self) -> Result<(), Unfit> {
        identifier("clock", &self.name)?;
        if self.frequency_hz == 0 {
            return unfit("the clock's frequency is 0");
        }
        if self.offset_ticks >= self.frequency_hz {
            return unfit("the clock's offset in ticks is a second or more: whole seconds belong into offset_s");
        }
        Ok(())
    }
}

impl Check for StreamKind {
    fn check(&self) -> Result<(), Unfit> {
        // The name becomes part of file names.
        identifier("stream", &self.name)?;
        let mut ids = BTreeSet::new();
        for event in &self.events {
            event.check()?;
            if !ids.insert(event.id) {
                return unfit(format!("two events of stream {} have the id {}", self.name, event.id));
            }
        }
        Ok(())
    }
}

impl Check for EventKind {
    fn check(&self) -> Result<(), Unfit> {
        let event = format!("event {}", self.name);
        printable(&event, &self.name, &[])?;
        if self.name.is_empty() {
            return unfit(format!("the event with the id {} has no name", self.id));
        }
        let mut names = BTreeSet::new();
        let mut least = HEAD;
        for Field { name, kind } in &self.fields {
            identifier(&event, name)?;
            if !names.insert(name) {
                return unfit(format!("{event}: two fields are named {name}"));
            }
            kind.check().map_err(|Unfit(why)| Unfit(format!("{event}, field {name}: {why}")))?;
            // The shortest text is its NUL.
            least = least.saturating_add(kind.size().unwrap_or(1));
        }
        if least > RECORD_MAX {
            return unfit(format!("{event}: its records have at least {least} bytes; at most {RECORD_MAX} may be"));
        }
        Ok(())
    }
}

impl Check for FieldKind {
    fn check(&self) -> Result<(), Unfit> {
        let (bytes, sizes): (u8, &[u8]) = match self {
            FieldKind::Unsigned { bytes, .. } | FieldKind::Signed { bytes } => (*bytes, &[1, 2, 4, 8]),
            FieldKind::Float { bytes } => (*bytes, &[4, 8]),
            FieldKind::Named { bytes, names } => {
                names_fit(*bytes, names)?;
                (*bytes, &[1, 2, 4])
            }
            FieldKind::Text => return Ok(()),
            FieldKind::Array { item, count } => {
                if matches!(**item, FieldKind::Array { .. } | FieldKind::Text) {
                    return unfit("an array of arrays or texts");
                }
                item.check()?;
                return match self.size() {
                    Some(size) if size <= RECORD_MAX => Ok(()),
                    _ => unfit(format!("{count} items are longer than a record")),
                };
            }
        };
        if sizes.contains(&bytes) { Ok(()) } else { unfit(format!("{bytes} bytes, not one of {sizes:?}")) }
    }
}

fn names_fit(bytes: u8, names: &[(u64, String)]) -> Result<(), Unfit> {
    if names.is_empty() {
        return unfit("none of its values has a name: it is a plain number");
    }
    for (value, name) in names {
        printable("name of a value", name, &[])?;
        if bytes < 8 && value >> (u32::from(bytes) * 8) != 0 {
            return unfit(format!("{name} = {value} does not fit {bytes} bytes"));
        }
    }
    Ok(())
}

/// Checks that a name is an ASCII letter or underscore, followed by letters, underscores and digits.
fn identifier(what: &str, name: &str) -> Result<(), Unfit> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Ok(())
    } else {
        unfit(format!("{what}: {name:?} is not a C identifier"))
    }
}

/// Checks for control characters except the allowed ones.
fn printable(what: &str, text: &str, allowed: &[char]) -> Result<(), Unfit> {
    match text.chars().find(|character| character.is_control() && !allowed.contains(character)) {
        None => Ok(()),
        Some(control) => unfit(format!("{what}: {text:?} holds the control character {control:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Base;
    use super::*;

    fn kind(fields: Vec<(&str, FieldKind)>) -> EventKind {
        let fields = fields.into_iter().map(|(name, kind)| Field { name: name.into(), kind }).collect();
        EventKind { id: 1, name: "a:b".into(), fields }
    }

    #[test]
    fn an_invalid_part_is_refused_by_name() {
        let number = |bytes| FieldKind::Unsigned { bytes, base: Base::Decimal };
        let array = |item, count| FieldKind::Array { item: Box::new(item), count };
        for (fields, error) in [
            (vec![("a", number(8)), ("b", FieldKind::Text), ("c", array(number(1), 4000))], None),
            (vec![("a b", number(8))], Some("event a:b: \"a b\" is not a C identifier")),
            (vec![("a", number(1)), ("a", number(1))], Some("event a:b: two fields are named a")),
            (
                vec![("a", FieldKind::Named { bytes: 1, names: vec![(1, "x\n".into())] })],
                Some("event a:b, field a: name of a value: \"x\\n\" holds the control character '\\n'"),
            ),
            (vec![("a", number(3))], Some("event a:b, field a: 3 bytes, not one of [1, 2, 4, 8]")),
            (vec![("a", array(FieldKind::Text, 1))], Some("event a:b, field a: an array of arrays or texts")),
            (
                vec![("a", array(number(8), u32::MAX))],
                Some("event a:b, field a: 4294967295 items are longer than a record"),
            ),
            (
                vec![("a", array(number(8), 512))],
                Some("event a:b: its records have at least 4112 bytes; at most 4096 may be"),
            ),
            (
                vec![("a", FieldKind::Named { bytes: 1, names: vec![(256, "x".into())] })],
                Some("event a:b, field a: x = 256 does not fit 1 bytes"),
            ),
            (
                vec![("a", FieldKind::Named { bytes: 1, names: vec![] })],
                Some("event a:b, field a: none of its values has a name: it is a plain number"),
            ),
        ] {
            let found = kind(fields).check().err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), error);
        }
    }

    #[test]
    fn duplicate_names_and_ids_are_refused() {
        let clock = Clock { name: "tsc".into(), frequency_hz: 10, offset_s: 0, offset_ticks: 9 };
        let stream = |name: &str, events| StreamKind { name: name.into(), events };
        let fine = Schema {
            clock,
            streams: vec![stream("user", vec![kind(vec![])]), stream("kernel", vec![kind(vec![])])],
            environment: vec![("hostname".into(), "a\n\"b\"".into())],
        };
        assert_eq!(fine.check(), Ok(()));
        let refused = |change: &dyn Fn(&mut Schema)| {
            let mut schema = fine.clone();
            change(&mut schema);
            schema.check().expect_err("must be refused").to_string()
        };
        assert_eq!(refused(&|schema| schema.streams[1].name = "user".into()), "two streams are named user");
        assert_eq!(refused(&|schema| schema.streams[1].name = "../x".into()), "stream: \"../x\" is not a C identifier");
        let twice = |schema: &mut Schema| schema.streams[0].events.push(kind(vec![]));
        assert_eq!(refused(&twice), "two events of stream user have the id 1");
        assert_eq!(refused(&|schema| schema.clock.frequency_hz = 0), "the clock's frequency is 0");
        assert!(refused(&|schema| schema.clock.offset_ticks = 10).contains("a second or more"));
        assert!(refused(&|schema| schema.environment[0].1 = "\u{1}".into()).contains("control character"));
        assert!(refused(&|schema| schema.streams[0].events[0].name = "a\nb".into()).contains("control character"));
        assert!(refused(&|schema| schema.environment[0].0 = "headwater_x".into()).contains("the format's own"));
        assert!(refused(&|schema| schema.environment.push(("hostname".into(), "".into()))).contains("twice"));
    }

    #[test]
    fn a_time_stamp_is_converted_to_nanoseconds_without_overflow() {
        let clock =
            Clock { name: "tsc".into(), frequency_hz: 2_100_000_000, offset_s: 1_700_000_000, offset_ticks: 21 };
        assert_eq!(clock.nanoseconds(0), 1_700_000_000_000_000_010);
        assert_eq!(clock.nanoseconds(u64::MAX), 1_700_000_000_000_000_000 + (u64::MAX as u128 + 21) * 10 / 21);
        assert_eq!(Clock { offset_s: -1, frequency_hz: 1, ..clock }.nanoseconds(0), 20_000_000_000);
    }
}

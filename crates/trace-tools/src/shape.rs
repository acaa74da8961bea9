//! The sizes of an event type's fields, to find the length of a record's fields without decoding them. Writers and
//! readers use it to validate records.

use crate::record::{HEAD, Head};
use crate::schema::EventKind;

/// The sizes of an event type's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Bytes before the first text, or of all fields.
    before_texts: usize,
    /// For each text, the bytes between it and the next one.
    behind_texts: Vec<usize>,
}

impl Shape {
    /// Returns the shape of records of this type.
    pub fn of(kind: &EventKind) -> Shape {
        let mut shape = Shape { before_texts: 0, behind_texts: Vec::new() };
        for field in &kind.fields {
            match field.kind.size() {
                Some(size) => {
                    let last = shape.behind_texts.last_mut().unwrap_or(&mut shape.before_texts);
                    *last = last.saturating_add(size);
                }
                None => shape.behind_texts.push(0),
            }
        }
        shape
    }

    /// Returns the length of the fields at the beginning of `bytes`; `None` if they extend beyond it.
    pub fn fields_len(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.before_texts;
        for size in &self.behind_texts {
            let nul = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
            at = (at + nul + 1).checked_add(*size)?;
        }
        (at <= bytes.len()).then_some(at)
    }

    /// Returns the length of the fields of a whole record; `None` unless head, fields and at most 7 bytes of padding
    /// make up the record.
    pub fn fields_of_record(&self, record: &[u8]) -> Option<usize> {
        let fields = self.fields_len(record.get(HEAD..)?)?;
        (Head::len_with(fields) == record.len()).then_some(fields)
    }
}

/// The shapes of a stream's event types, by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shapes {
    /// By id: the index of the type in the stream, and its shape.
    by_id: Vec<Option<(usize, Shape)>>,
}

impl Shapes {
    pub(crate) fn of(kinds: &[EventKind]) -> Shapes {
        let mut shapes = Shapes::default();
        kinds.iter().enumerate().for_each(|(place, kind)| shapes.add(place, kind));
        shapes
    }

    pub(crate) fn add(&mut self, place: usize, kind: &EventKind) {
        let id = usize::from(kind.id);
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, None);
        }
        self.by_id[id] = Some((place, Shape::of(kind)));
    }

    /// Returns the index of the type with this id, and its shape.
    pub(crate) fn get(&self, id: u16) -> Option<&(usize, Shape)> {
        self.by_id.get(usize::from(id))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Base, Field, FieldKind};

    #[test]
    fn the_length_of_fields_follows_from_their_sizes_and_texts() {
        let number = FieldKind::Unsigned { bytes: 2, base: Base::Decimal };
        let array = FieldKind::Array { item: Box::new(number.clone()), count: 2 };
        let fields = [number, FieldKind::Text, FieldKind::Text, array];
        let fields = fields.into_iter().map(|kind| Field { name: "x".into(), kind }).collect();
        let shape = Shape::of(&EventKind { id: 0, name: "x".into(), fields });
        assert_eq!(shape.fields_len(b"12ab\0\0abcd--"), Some(10));
        assert_eq!(shape.fields_len(b"12ab\0\0abcd"), Some(10));
        assert_eq!(shape.fields_len(b"12ab\0\0abc"), None);
        assert_eq!(shape.fields_len(b"12ab\0abc"), None);
        assert_eq!(shape.fields_len(b"1"), None);

        let record = |padding: usize| {
            let mut record = vec![0xff; HEAD];
            record.extend_from_slice(b"12ab\0\0abcd");
            record.extend(vec![0; padding]);
            record
        };
        assert_eq!(shape.fields_of_record(&record(6)), Some(10));
        assert_eq!(shape.fields_of_record(&record(14)), None);
    }
}

//! Decodes the fields of a record without copying.

use std::fmt;

use crate::schema::{Base, Field, FieldKind};

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// An unsigned integer.
    Unsigned {
        /// The number.
        value: u64,
        /// The base in which it is displayed.
        base: Base,
    },
    /// A signed integer.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text without its NUL. It may not be valid UTF-8.
    Text(&'a [u8]),
    /// Several values of the same type.
    Array(Items<'a>),
    /// An integer that may have a name.
    Named {
        /// The number.
        value: u64,
        /// Its name, if it has one.
        name: Option<&'a str>,
    },
}

impl<'a> Value<'a> {
    /// Decodes the value at the beginning of `bytes`. Returns it and the rest; `None` if it extends beyond `bytes`.
    pub fn read(kind: &'a FieldKind, bytes: &'a [u8]) -> Option<(Value<'a>, &'a [u8])> {
        if matches!(kind, FieldKind::Text) {
            let nul = bytes.iter().position(|byte| *byte == 0)?;
            return Some((Value::Text(&bytes[..nul]), &bytes[nul + 1..]));
        }
        let (own, rest) = bytes.split_at_checked(kind.size()?)?;
        Some((Value::of_fixed(kind, own)?, rest))
    }

    /// Decodes a value of fixed size that has exactly these bytes.
    fn of_fixed(kind: &'a FieldKind, bytes: &'a [u8]) -> Option<Value<'a>> {
        Some(match kind {
            FieldKind::Unsigned { base, .. } => Value::Unsigned { value: unsigned(bytes)?, base: *base },
            FieldKind::Signed { .. } => {
                let value = unsigned(bytes)?;
                // Here there are at most 8 bytes.
                let unused = 64 - 8 * bytes.len() as u32;
                Value::Signed(((value << unused) as i64) >> unused)
            }
            FieldKind::Float { bytes: 4 } => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldKind::Float { .. } => Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
            FieldKind::Named { names, .. } => {
                let value = unsigned(bytes)?;
                let name = names.iter().find(|(named, _)| *named == value).map(|(_, name)| name.as_str());
                Value::Named { value, name }
            }
            FieldKind::Array { item, .. } => Value::Array(Items { item, bytes }),
            FieldKind::Text => return None,
        })
    }

    /// Returns the value of a non-negative integer, named or not.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Unsigned { value, .. } | Value::Named { value, .. } => Some(*value),
            Value::Signed(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Returns a number, rounded if it has more digits than a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Unsigned { value, .. } | Value::Named { value, .. } => Some(*value as f64),
            Value::Signed(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a text, or an array of bytes up to its first NUL, as which the kernel stores names.
    pub fn as_text(&self) -> Option<String> {
        let bytes = match self {
            Value::Text(bytes) => bytes,
            Value::Array(Items { item, bytes }) if item.size() == Some(1) => bytes,
            _ => return None,
        };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Decodes an unsigned little-endian number of 1 to 8 bytes.
fn unsigned(bytes: &[u8]) -> Option<u64> {
    let mut all = [0; 8];
    all.get_mut(..bytes.len()).filter(|own| !own.is_empty())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(all))
}

/// Prints at most one line: unprintable characters of a text are escaped.
impl fmt::Display for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned { value, base: Base::Decimal } => write!(formatter, "{value}"),
            Value::Unsigned { value, base: Base::Hexadecimal } => write!(formatter, "{value:#x}"),
            Value::Signed(value) => write!(formatter, "{value}"),
            Value::Float(value) => write!(formatter, "{value}"),
            Value::Text(bytes) => write!(formatter, "{:?}", String::from_utf8_lossy(bytes)),
            Value::Named { value, name: None } => write!(formatter, "{value}"),
            Value::Named { name: Some(name), .. } => formatter.write_str(name),
            Value::Array(items) => {
                formatter.write_str("[")?;
                for (place, item) in items.enumerate() {
                    write!(formatter, "{}{item}", if place == 0 { "" } else { " " })?;
                }
                formatter.write_str("]")
            }
        }
    }
}

/// An iterator over the items of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Items<'a> {
    item: &'a FieldKind,
    bytes: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let (value, rest) = Value::read(self.item, self.bytes)?;
        self.bytes = rest;
        Some(value)
    }
}

/// An iterator over the fields of a record with their names. Ends before an incomplete field.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    fields: std::slice::Iter<'a, Field>,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Returns the fields in the bytes after a record's head.
    pub fn new(fields: &'a [Field], bytes: &'a [u8]) -> Fields<'a> {
        Fields { fields: fields.iter(), bytes }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?;
        let (value, rest) = Value::read(&field.kind, self.bytes)?;
        self.bytes = rest;
        Some((&field.name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: FieldKind, bytes: &[u8]) -> Option<String> {
        Value::read(&kind, bytes).map(|(value, rest)| format!("{value}|{}", rest.len()))
    }

    #[test]
    fn each_type_is_decoded_and_printed() {
        let byte = FieldKind::Unsigned { bytes: 1, base: Base::Hexadecimal };
        let names = vec![(2, "two".to_owned())];
        for (kind, bytes, expected) in [
            (FieldKind::Unsigned { bytes: 2, base: Base::Decimal }, &[1, 2, 3][..], Some("513|1")),
            (FieldKind::Unsigned { bytes: 8, base: Base::Hexadecimal }, &[255; 8], Some("0xffffffffffffffff|0")),
            (FieldKind::Signed { bytes: 2 }, &[0xfe, 0xff], Some("-2|0")),
            (FieldKind::Signed { bytes: 8 }, &[0xff; 8], Some("-1|0")),
            (FieldKind::Float { bytes: 4 }, &[0, 0, 0x20, 0x40], Some("2.5|0")),
            (FieldKind::Float { bytes: 8 }, &[0, 0, 0, 0, 0, 0, 4, 0x40], Some("2.5|0")),
            (FieldKind::Text, b"a\"\n\xff\0b", Some("\"a\\\"\\n\u{fffd}\"|1")),
            (FieldKind::Named { bytes: 1, names: names.clone() }, &[2], Some("two|0")),
            (FieldKind::Named { bytes: 1, names }, &[3], Some("3|0")),
            (FieldKind::Array { item: Box::new(byte.clone()), count: 2 }, &[1, 10, 3], Some("[0x1 0xa]|1")),
            (FieldKind::Array { item: Box::new(byte), count: 0 }, &[], Some("[]|0")),
            (FieldKind::Text, b"abc", None),
            (FieldKind::Signed { bytes: 4 }, &[0; 3], None),
            // A kind that no schema may hold is no reason to panic.
            (FieldKind::Signed { bytes: 9 }, &[0; 9], None),
            (FieldKind::Float { bytes: 5 }, &[0; 5], None),
        ] {
            assert_eq!(shown(kind.clone(), bytes).as_deref(), expected, "{kind:?}");
        }
    }
}

//! How the kernel describes an event: `events/SYSTEM/EVENT/format`, and `events/header_page` in the same words. Only reads
//! text; what to do with a field is [`super::plan`]'s.

/// An event's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// In the first two bytes of its records; `common_type`.
    pub id: u16,
    /// Without its system.
    pub name: String,
    /// In the order of the text, those that all events have first.
    pub fields: Vec<RawField>,
}

/// A field as the kernel lays it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawField {
    /// A C identifier.
    pub name: String,
    /// Type of the field, or of its items; without the words that say where it lies.
    pub c_type: String,
    /// Where it lies.
    pub place: Place,
    /// How many items: None for a single value; `Some(None)` where it is not a plain number.
    pub items: Option<Option<u32>>,
    /// From the start of the record, bytes.
    pub offset: u32,
    /// Bytes, 0 if it goes to the record's end.
    pub size: u32,
    /// Whether numbers in it have a sign.
    pub signed: bool,
}

/// Where a field's content lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At its offset.
    Here,
    /// At an offset that stands there, in the low half of a word whose high half is the length.
    There,
    /// The same, counted from the end of that word.
    ThereFromHere,
}

impl Format {
    /// Reads a description. None if it has no name, no id, or a field that is not understood.
    pub fn parse(text: &str) -> Option<Format> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        Some(Format { id: value("ID:")?.parse().ok()?, name: value("name:")?.to_owned(), fields: fields(text)? })
    }
}

/// The fields of a text, which need no name and no id, as header_page has none. None if one of them is not understood.
pub fn fields(text: &str) -> Option<Vec<RawField>> {
    text.lines().map(str::trim).filter(|line| line.starts_with("field:")).map(field).collect()
}

/// Such as `field:char comm[16]; offset:8; size:16; signed:0;`.
fn field(line: &str) -> Option<RawField> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let mut numbers = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => numbers.0 = value.parse().ok(),
            Some(("size", value)) => numbers.1 = value.parse().ok(),
            Some(("signed", value)) => numbers.2 = value == "1",
            _ => {}
        }
    }
    let (place, declaration) = place(declaration.trim());
    let (declaration, behind) = match declaration.strip_suffix(']') {
        Some(open) => open.split_once('[').map(|(before, dimensions)| (before, Some(dimensions)))?,
        None => (declaration, None),
    };
    let name_at = declaration.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let (c_type, name) = declaration.split_at(name_at);
    if c_type.is_empty() || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // `__data_loc char[] name`: the brackets are the type's.
    let c_type = c_type.trim();
    let (c_type, inside) = match c_type.strip_suffix(']').and_then(|open| open.split_once('[')) {
        Some((before, dimensions)) => (before.trim(), Some(dimensions)),
        None => (c_type, None),
    };
    Some(RawField {
        name: name.to_owned(),
        c_type: c_type.to_owned(),
        place,
        items: behind.or(inside).map(product),
        offset: numbers.0?,
        size: numbers.1?,
        signed: numbers.2,
    })
}

fn place(declaration: &str) -> (Place, &str) {
    for (word, place) in [("__data_loc ", Place::There), ("__rel_loc ", Place::ThereFromHere)] {
        if let Some(rest) = declaration.strip_prefix(word) {
            return (place, rest);
        }
    }
    (Place::Here, declaration)
}

/// The number of items in `6`, or in what stands between the outer brackets of `[2][3]`.
fn product(dimensions: &str) -> Option<u32> {
    dimensions.split("][").try_fold(1u32, |product, each| product.checked_mul(each.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, c_type: &str, name: &str, place: Place, items: Option<Option<u32>>) {
        let field = field(&format!("field:{line};\toffset:8;\tsize:4;\tsigned:1;")).expect(line);
        let expected =
            RawField { name: name.into(), c_type: c_type.into(), place, items, offset: 8, size: 4, signed: true };
        assert_eq!(field, expected, "{line}");
    }

    #[test]
    fn declarations_are_taken_apart() {
        check("pid_t pid", "pid_t", "pid", Place::Here, None);
        check("unsigned long args[6]", "unsigned long", "args", Place::Here, Some(Some(6)));
        check("u8 m[2][3]", "u8", "m", Place::Here, Some(Some(6)));
        check("char name[IFNAMSIZ]", "char", "name", Place::Here, Some(None));
        check("char buf[]", "char", "buf", Place::Here, Some(None));
        check("const char *const * argv", "const char *const *", "argv", Place::Here, None);
        check("const char *str", "const char *", "str", Place::Here, None);
        check("__data_loc char[] filename", "char", "filename", Place::There, Some(None));
        check("__rel_loc u64[] values", "u64", "values", Place::ThereFromHere, Some(None));
        check("enum dma_data_direction dir", "enum dma_data_direction", "dir", Place::Here, None);
    }

    #[test]
    fn a_description_has_a_name_an_id_and_fields() {
        let text = "name: x\nID: 443\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n\n\
            \tfield:u8 b;\toffset:4;\tsize:1;\tsigned:0;\n\nprint fmt: \"field:%d\", REC->a\n";
        let format = Format::parse(text).expect("whole");
        assert_eq!((format.id, format.name.as_str(), format.fields.len()), (443, "x", 2));
        assert_eq!(Format::parse(&text.replace("ID: 443", "ID: 65536")), None);
        assert_eq!(Format::parse(&text.replace("offset:4", "offset:-4")), None);
        assert_eq!(Format::parse(&text.replace("u8 b", "u8 ")), None);
    }
}

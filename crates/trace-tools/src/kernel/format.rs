//! Parses the kernel's descriptions of events: `events/SYSTEM/EVENT/format`, and `events/header_page` in the same
//! format. [`super::plan`] interprets them.

/// The description of an event type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The id in the first two bytes of its records (`common_type`).
    pub id: u16,
    /// The name without the system.
    pub name: String,
    /// The fields in the order of the text, beginning with the common ones.
    pub fields: Vec<RawField>,
}

/// A field of the kernel's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawField {
    /// A C identifier.
    pub name: String,
    /// Type of the field or of its items, without `__data_loc` and `__rel_loc`.
    pub c_type: String,
    /// Where the contents are.
    pub location: Location,
    /// Number of items: `None` for a single value, `Some(None)` if the text is not a plain number.
    pub items: Option<Option<u32>>,
    /// Offset from the start of the record, in bytes.
    pub offset: u32,
    /// Size in bytes; 0 if the field extends to the end of the record.
    pub size: u32,
    /// Whether its numbers are signed.
    pub signed: bool,
}

/// Where the contents of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// At the field's offset.
    Inline,
    /// At an offset that the field contains: a word of length (high half) and offset (low half), `__data_loc`.
    DataLoc,
    /// The same, with an offset relative to the end of that word, `__rel_loc`.
    RelLoc,
}

impl Format {
    /// Parses a description. `None` if it has no name or id, or a field that cannot be parsed.
    pub fn parse(text: &str) -> Option<Format> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        Some(Format { id: value("ID:")?.parse().ok()?, name: value("name:")?.to_owned(), fields: fields(text)? })
    }
}

/// Parses the fields of a text without name and id, such as header_page. `None` if one of them cannot be parsed.
pub fn fields(text: &str) -> Option<Vec<RawField>> {
    text.lines().map(str::trim).filter(|line| line.starts_with("field:")).map(field).collect()
}

/// Parses a line such as `field:char comm[16]; offset:8; size:16; signed:0;`.
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
    let (location, declaration) = location(declaration.trim());
    let (declaration, behind) = match declaration.strip_suffix(']') {
        Some(open) => open.split_once('[').map(|(before, dimensions)| (before, Some(dimensions)))?,
        None => (declaration, None),
    };
    let name_at = declaration.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let (c_type, name) = declaration.split_at(name_at);
    if c_type.is_empty() || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // In `__data_loc char[] name` the brackets belong to the type.
    let c_type = c_type.trim();
    let (c_type, inside) = match c_type.strip_suffix(']').and_then(|open| open.split_once('[')) {
        Some((before, dimensions)) => (before.trim(), Some(dimensions)),
        None => (c_type, None),
    };
    Some(RawField {
        name: name.to_owned(),
        c_type: c_type.to_owned(),
        location,
        items: behind.or(inside).map(product),
        offset: numbers.0?,
        size: numbers.1?,
        signed: numbers.2,
    })
}

fn location(declaration: &str) -> (Location, &str) {
    for (word, location) in [("__data_loc ", Location::DataLoc), ("__rel_loc ", Location::RelLoc)] {
        if let Some(rest) = declaration.strip_prefix(word) {
            return (location, rest);
        }
    }
    (Location::Inline, declaration)
}

/// Returns the number of items for `6`, or for the text between the outer brackets of `[2][3]`.
fn product(dimensions: &str) -> Option<u32> {
    dimensions.split("][").try_fold(1u32, |product, each| product.checked_mul(each.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, c_type: &str, name: &str, location: Location, items: Option<Option<u32>>) {
        let field = field(&format!("field:{line};\toffset:8;\tsize:4;\tsigned:1;")).expect(line);
        let expected =
            RawField { name: name.into(), c_type: c_type.into(), location, items, offset: 8, size: 4, signed: true };
        assert_eq!(field, expected, "{line}");
    }

    #[test]
    fn declarations_are_parsed() {
        check("pid_t pid", "pid_t", "pid", Location::Inline, None);
        check("unsigned long args[6]", "unsigned long", "args", Location::Inline, Some(Some(6)));
        check("u8 m[2][3]", "u8", "m", Location::Inline, Some(Some(6)));
        check("char name[IFNAMSIZ]", "char", "name", Location::Inline, Some(None));
        check("char buf[]", "char", "buf", Location::Inline, Some(None));
        check("const char *const * argv", "const char *const *", "argv", Location::Inline, None);
        check("const char *str", "const char *", "str", Location::Inline, None);
        check("__data_loc char[] filename", "char", "filename", Location::DataLoc, Some(None));
        check("__rel_loc u64[] values", "u64", "values", Location::RelLoc, Some(None));
        check("enum dma_data_direction dir", "enum dma_data_direction", "dir", Location::Inline, None);
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

use expect_test::{expect, expect_file};
use proptest::prelude::*;

use super::*;
use crate::schema::{Check, Clock, Field, StreamKind};
use crate::testing;

fn sample() -> Metadata {
    Metadata { uuid: *b"0123456789abcdef", schema: testing::sample() }
}

#[test]
fn the_text_is_the_golden_one() {
    expect_file!["golden.tsdl"].assert_eq(&sample().to_text());
}

#[test]
fn written_metadata_is_read_back() {
    let empty = Metadata {
        uuid: [0xff; 16],
        schema: Schema {
            clock: Clock { name: "monotonic".into(), frequency_hz: 1_000_000_000, offset_s: i64::MIN, offset_ticks: 0 },
            streams: vec![],
            environment: vec![],
        },
    };
    for metadata in [sample(), empty] {
        assert_eq!(Metadata::parse(&metadata.to_text()), Ok(metadata));
    }
}

#[test]
fn a_description_of_something_else_is_refused_with_its_line() {
    let text = sample().to_text();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let (line, message) = Metadata::parse(&text.replacen(from, to, 1)).expect_err("must be refused");
        format!("{line}: {}\n", message.split(": only traces").next().unwrap_or_default())
    };
    let mut found = String::new();
    for (from, to) in [
        ("/* CTF 1.8 */", "{ \"type\": \"preamble\" }"),
        ("minor = 8", "minor = 7"),
        ("30313233-", "3031-"),
        ("u32 ring;", "u64 ring;"),
        (" align(64)", ""),
        ("freq = 2100000000", "freq = 0"),
        ("offset_s = 1700000000", "offset_s = 18446744073709551615"),
        ("id = 7;", "id = 65536;"),
        ("u32 _len;", "u24 _len;"),
        ("u32 _len;", "u32 len;"),
        ("string _text;", "string _text"),
        ("_numbers[3]", "_numbers[4000]"),
        ("stream {\n  id = 1", "stream {\n  id = 2"),
        ("headwater_stream_1", "something"),
    ] {
        found += &refused(from, to);
    }
    expect![[r#"
        1: this is not the metadata of a CTF 1.8 trace as text
        3: expected `8`, found `7`
        3: expected a uuid, found "3031-3435-3637-3839-616263646566"
        53: expected `u32`, found `u64`
        59: expected `align`, found `;`
        119: the description contradicts itself: the clock's frequency is 0
        36: expected seconds in 64 bits, found `18446744073709551615`
        68: expected a smaller number, found `65536`
        71: expected a type, found `u24`
        71: expected a name that begins with an underscore, found `len`
        73: expected `;`, found `u16`
        119: the description contradicts itself: event all:kinds, field numbers: 4000 items are longer than a record
        86: expected `1`, found `2`
        85: expected the end of the file, since the environment names no more streams, found `stream`
    "#]]
    .assert_eq(&found);
}

proptest! {
    #[test]
    fn every_schema_is_read_back(schema in testing::schemas(), uuid: [u8; 16]) {
        prop_assert_eq!(schema.check(), Ok(()));
        let metadata = Metadata { uuid, schema };
        prop_assert_eq!(Metadata::parse(&metadata.to_text()), Ok(metadata));
    }

    #[test]
    fn a_damaged_text_is_read_or_refused(at: prop::sample::Index, by: u8, cut: bool) {
        let mut bytes = sample().to_text().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = by;
        if cut {
            bytes.truncate(at);
        }
        // The result must not be a panic or an endless loop, and the line must be within the text.
        if let Err((line, _)) = Metadata::parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(line >= 1 && line <= bytes.iter().filter(|byte| **byte == b'\n').count() + 1);
        }
    }
}

#[test]
fn a_field_may_have_the_name_of_a_keyword() {
    let mut metadata = sample();
    let field = |name: &str| Field { name: name.into(), kind: FieldKind::Text };
    let fields = vec![field("struct"), field("_x"), field("x")];
    metadata.schema.streams =
        vec![StreamKind { name: "s".into(), events: vec![EventKind { id: 1, name: "e".into(), fields }] }];
    assert_eq!(Metadata::parse(&metadata.to_text()), Ok(metadata));
}

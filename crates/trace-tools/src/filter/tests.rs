use super::Filter;
use crate::schema::{Base, EventKind, Field, FieldKind};

/// An event of 8 fields' bytes: `len` 7, `left` -3, `share` 0.5, `path` `/cart`, `level` `warn`.
fn event() -> (EventKind, Vec<u8>) {
    let named = FieldKind::Named { bytes: 1, names: vec![(1, "error".into()), (2, "warn".into())] };
    let fields = [
        ("len", FieldKind::Unsigned { bytes: 8, base: Base::Decimal }),
        ("left", FieldKind::Signed { bytes: 2 }),
        ("share", FieldKind::Float { bytes: 8 }),
        ("path", FieldKind::Text),
        ("level", named),
    ];
    let fields = fields.map(|(name, kind)| Field { name: name.into(), kind }).into();
    let mut bytes = 7_u64.to_le_bytes().to_vec();
    bytes.extend((-3_i16).to_le_bytes());
    bytes.extend(0.5_f64.to_le_bytes());
    bytes.extend(b"/cart\0\x02");
    (EventKind { id: 0, name: "shop:put".into(), fields }, bytes)
}

#[test]
fn a_condition_is_evaluated_with_the_values_of_an_event() {
    let (kind, bytes) = event();
    for (text, passes) in [
        ("len > 6", true),
        ("len > 7", false),
        ("len >= 7 && len <= 7", true),
        ("len < 7 || left == -3", true),
        ("len == 0x7", true),
        ("len & 6", true),
        ("len & 8", false),
        ("len != 7", false),
        ("len == 7.0 && len > 6.5", true),
        ("left < 0", true),
        ("left > 18446744073709551615", false),
        ("share == 0.5 && share < 1", true),
        ("path == \"/cart\"", true),
        ("path != '/cart'", false),
        ("path ~ \"/c*t\"", true),
        ("path ~ \"c*\"", false),
        ("level == \"warn\" && level <= 2", true),
        ("!(len == 7)", false),
        ("! len == 8", true),
        // `&&` binds more tightly.
        ("len == 7 || len == 7 && len == 8", true),
        ("(len == 7 || len == 7) && len == 8", false),
        // A field that it does not have, or of another type.
        ("other == 1", false),
        ("other != 1", false),
        ("!(other == 1)", true),
        ("path == 7", false),
        ("len == \"7\"", false),
    ] {
        let filter = Filter::parse(&format!("shop:* if {text}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(filter.passes(&kind, &bytes), passes, "{text}");
        assert_eq!(filter.condition(), text);
    }
    let other = Filter::parse("shop:get if len == 8").expect("it is one");
    assert!(other.passes(&kind, &bytes), "it is about other events");
}

#[test]
fn an_error_shows_its_place() {
    for (text, at, expected) in [
        ("", 0, "the name of an event"),
        ("len > 3", 3, "the name of an event"),
        ("a:b if", 6, "the name of a field"),
        ("a:b if len", 10, "==, !="),
        ("a:b if len >", 12, "a number, or"),
        ("a:b if len > x", 13, "a number, or"),
        ("a:b if len > 1 2", 15, "&&, || or the end"),
        ("a:b if len > 1 && ", 18, "the name of a field"),
        ("a:b if (len > 1", 15, "a closing"),
        ("a:b if 3 > len", 7, "the name of a field"),
        ("a:b if path > \"x\"", 12, "==, != or ~"),
        ("a:b if path ~ 3", 14, "a text in quotes"),
        ("a:b if len & 1.5", 13, "an integer"),
        ("a:b if path == \"x", 15, "a text with a quote"),
        ("a:b if len == 99999999999999999999x", 14, "a number"),
    ] {
        let error = Filter::parse(text).expect_err(text);
        assert!(error.at == at && error.expected.contains(expected), "{text}: {error:?}");
    }
    let error = Filter::parse("grün:b if len > x").expect_err("no number").to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[1..], ["  grün:b if len > x", "                  ^"]);
    let deep = format!("a:b if {}x == 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Filter::parse(&deep).is_err(), "not by a stack overflow");
}

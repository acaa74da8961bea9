use super::*;
use crate::event::{COPY, STACK, STACK_COPY, STACK_FRAMES};
use crate::schema::{Base, FieldKind};

fn layout() -> Layout {
    let clock = Clock { name: "tsc".to_owned(), frequency_hz: 2_000_000_000, offset_s: 5, offset_ticks: 7 };
    Layout {
        patterns: vec!["a:*".to_owned(), "b:two".to_owned()],
        when_full: WhenFull::Refuse,
        cpu_bytes: 1 << 16,
        clock,
    }
}

#[test]
fn what_was_made_is_what_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("session");
    let made = Region::create(&path, &layout()).expect("made");
    let opened = Region::open(&path).expect("opened");
    assert_eq!(opened.clock(), &layout().clock);
    assert!(opened.wants("a:one") && opened.wants("b:two") && !opened.wants("b:one"));
    let fields =
        [("number", Type::Unsigned(4)), ("text", Type::Text), ("part", Type::Float(8)), ("low", Type::Signed(1))];
    assert_eq!(made.enter("a:one", &fields), Some(0));
    assert_eq!(made.enter("a:two", &[]), Some(1));
    assert_eq!(opened.enter("a:one", &fields), Some(0), "the same event has the same id");
    assert_eq!(opened.enter("a:one", &fields[..1]), Some(2), "another form is another event");
    assert!(opened.kind(2).is_some() && opened.kind(3).is_none() && opened.kind(EVENTS_MAX).is_none());
    let fields = opened.kind(0).expect("it was entered").fields;
    assert_eq!(fields[0].kind, FieldKind::Unsigned { bytes: 4, base: Base::Decimal });
    assert_eq!(fields[3].kind, FieldKind::Signed { bytes: 1 });
    assert_eq!(Region::create(&path, &layout()).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn records_have_a_stack_in_the_form_that_the_session_asks_for() {
    let directory = tempfile::tempdir().expect("a directory");
    for (are_copied, expected) in [(false, (STACK, STACK_FRAMES)), (true, (COPY, STACK_COPY))] {
        let made = Region::create(&directory.path().join(expected.0), &layout()).expect("made");
        made.set_stacks(&["a:*".to_owned(), "!a:two".to_owned()], are_copied).expect("short");
        let opened = Region::open(&directory.path().join(expected.0)).expect("opened");
        assert!(opened.wants_stack("a:one") && !opened.wants_stack("a:two"));
        assert_eq!(opened.copies_stacks(), are_copied);
        let id = opened.enter_with_stack("a:one", &[("number", Type::Unsigned(4))]).expect("room");
        let fields = made.kind(id as usize).expect("it was entered").fields;
        assert_eq!((fields[0].name.as_str(), fields[1].name.as_str()), (expected.0, "number"));
        assert!(matches!(fields[0].kind, FieldKind::Array { count, .. } if count as usize == expected.1));
        let long = made.set_stacks(&["x".repeat(STACKS_MAX + 1)], are_copied).expect_err("too long");
        assert_eq!(long.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn the_last_pattern_that_matches_decides() {
    for (patterns, expected) in [
        ("a:*,b:two", [true, true, true, false]),
        ("*,!b:*", [true, true, false, false]),
        ("*,!b:*,b:two", [true, true, true, false]),
        ("!a:one,a:*", [true, true, false, false]),
        ("", [false; 4]),
    ] {
        let found = ["a:one", "a:two", "b:two", "b:one"].map(|name| selects(patterns, name));
        assert_eq!(found, expected, "{patterns}");
    }
}

#[test]
fn patterns_can_be_changed_any_number_of_times() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("session");
    let region = Region::create(&path, &layout()).expect("made");
    let other = Region::open(&path).expect("opened");
    let mut before = other.selection();
    for patterns in [vec!["b:*"], vec![], vec!["*", "!a:one"]] {
        let patterns: Vec<String> = patterns.into_iter().map(str::to_owned).collect();
        region.set_patterns(&patterns).expect("short");
        assert_eq!(other.patterns(), patterns);
        assert_ne!(std::mem::replace(&mut before, other.selection()), other.selection());
    }
    assert!(!other.wants("a:one") && other.wants("b:one") && other.wants(SWITCHED));
    let long = vec!["x".repeat(PATTERNS_MAX + 1)];
    assert_eq!(region.set_patterns(&long).expect_err("too long").kind(), io::ErrorKind::InvalidInput);
    assert_eq!(other.patterns(), ["*", "!a:one"]);
    region.end();
    assert!(other.selection() != before && other.patterns() == ["*", "!a:one"]);
    // Whatever a program writes there, reading ends.
    region.header.patterns_len.iter().for_each(|len| len.store(u32::MAX, Ordering::Relaxed));
    region.header.patterns.iter().for_each(|byte| byte.store(0xff, Ordering::Relaxed));
    assert!(other.patterns().is_empty());
}

#[test]
fn a_full_table_takes_no_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let region = Region::create(&directory.path().join("session"), &layout()).expect("made");
    for id in 0..EVENTS_MAX as u32 {
        assert_eq!(region.enter(&format!("a:e{id}"), &[]), Some(id));
    }
    assert!(region.kinds_end(0) == EVENTS_MAX && region.kinds_end(700) == EVENTS_MAX && !region.is_table_full());
    assert_eq!(region.enter("a:more", &[]), None);
    assert!(region.is_table_full());
    assert_eq!(region.enter("a:e7", &[]), Some(7));
    let long: Vec<(&str, Type)> = vec![("a_field_with_a_name", Type::Text); 60];
    assert_eq!(region.enter("a:e7", &long), None);
}

#[test]
fn descriptions_that_find_no_room_are_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let region = Region::create(&directory.path().join("session"), &layout()).expect("made");
    // 3 bytes of a name, and 11 for each of these fields.
    let fields: Vec<(&str, Type)> = vec![("field_x", Type::Unsigned(8)); 90];
    let fitting = TEXTS_BYTES / (7 + 90 * 11);
    for number in 0..fitting {
        assert_eq!(region.enter(&format!("a:{number:05}"), &fields), Some(number as u32));
    }
    assert_eq!((region.enter("a:last0", &fields), region.is_table_full()), (None, true));
    assert!(region.kinds_end(0) == fitting && region.kind(fitting - 1).expect("entered").fields.len() == 90);
    assert!(region.enter("a:small", &[]).is_some(), "there is room for a short one");
}

#[test]
fn scribbled_memory_is_no_session_or_has_no_such_event() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("session");
    let region = Region::create(&path, &layout()).expect("made");
    region.enter("a:one", &[("x", Type::Text)]);
    assert!(region.kind(0).is_some());
    for (at, len) in [(0, u32::MAX), (u32::MAX, 5), (TEXTS_BYTES as u32 - 2, 5), (0, 2000)] {
        region.kinds.scribble(at, len);
        assert_eq!(region.kind(0), None, "{at} {len}");
    }
    region.kinds.scribble(0, 5);
    region.kinds.texts[0].store(0xff, Ordering::Relaxed);
    assert_eq!(region.kind(0), None);
    for (cpus, bytes) in [(0, 1 << 16), (1 << 40, 1 << 16), (1, 1 << 15), (1, 3 << 16), (1, u64::MAX)] {
        region.header.cpus.store(cpus, Ordering::Relaxed);
        region.header.cpu_bytes.store(bytes, Ordering::Relaxed);
        let refused = if (cpus, bytes) == (1, 1 << 15) { continue } else { Region::open(&path) };
        assert_eq!(refused.expect_err("nonsense").kind(), io::ErrorKind::InvalidData, "{cpus} {bytes}");
    }
    region.header.magic.store(1, Ordering::Relaxed);
    assert!(Region::open(&path).expect_err("no session").to_string().contains("does not begin"));
}

#[test]
fn stars_stand_for_anything() {
    for (pattern, name, does) in [
        ("a:b", "a:b", true),
        ("a:b", "a:bc", false),
        ("a:*", "a:bc", true),
        ("*:bc", "a:bc", true),
        ("*", "", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abcd", false),
    ] {
        assert_eq!(matches(pattern, name), does, "{pattern} {name}");
    }
}

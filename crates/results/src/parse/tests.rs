use proptest::prelude::*;

use super::*;
use crate::summary::Fold;
use crate::testing::{all_events, header, lines};

fn run_text() -> String {
    let run = Fold::run_of(all_events()).expect("the events are those of a run");
    serde_json::to_string_pretty(&run).expect("a run is plain data") + "\n"
}

#[test]
fn every_event_is_read_back_equal() {
    for event in all_events() {
        let text = serde_json::to_string(&event).expect("events are plain data");
        assert!(!text.contains('\n'), "one line each");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("what was written is read"), event);
    }
    assert_eq!(parse_events(&lines(&all_events())), Ok(all_events()));
}

#[test]
fn a_run_is_read_back_equal() {
    let run = Fold::run_of(all_events()).expect("the events are those of a run");
    assert_eq!(parse_run(&run_text()), Ok(run));
}

#[test]
fn events_cut_at_any_byte_are_incomplete_or_fewer() {
    let text = lines(&all_events());
    for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        let part = &text[..cut];
        let whole = part.matches('\n').count();
        let (events, error) = parse_events_prefix(part);
        assert_eq!(events, all_events()[..whole], "cut at {cut}");
        match error {
            None => assert!(whole > 0 && part.ends_with('\n'), "cut at {cut}"),
            Some(ParseError::NotARun { .. }) => assert_eq!(cut, 0),
            Some(error) => {
                assert_eq!(error, ParseError::Truncated { line: whole + 1, whole_lines: whole }, "cut at {cut}");
            }
        }
    }
}

#[test]
fn a_run_cut_at_any_byte_is_incomplete() {
    let pretty = run_text();
    let compact = serde_json::to_string(&parse_run(&pretty).expect("it is whole")).expect("a run is plain data");
    for text in [pretty.trim_end(), &compact] {
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let line = text[..cut].matches('\n').count() + 1;
            match parse_run(&text[..cut]) {
                Err(ParseError::NotARun { .. }) => assert_eq!(cut, 0),
                Err(ParseError::Truncated { line: found, whole_lines }) => {
                    assert_eq!((found, whole_lines), (line, line - 1), "cut at {cut}");
                }
                other => panic!("cut at {cut}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_newer_schema_is_reported_whatever_else_differs() {
    let newer = Err(ParseError::NewerSchema { found: 7, known: SCHEMA_VERSION });
    assert_eq!(parse_events("{\"schema_version\":7,\"event\":\"begun\"}\n"), newer);
    assert_eq!(parse_events("{\"schema_version\":7}"), newer);
    assert_eq!(parse_run("{\"schema_version\":7}").map(|_| Vec::new()), newer);
    let mut later = header(&["a"]);
    later.schema_version = 7;
    assert_eq!(parse_events(&lines(&[Event::RunStarted(Box::new(later))])), newer);
}

#[test]
fn foreign_text_is_not_a_run() {
    let foreign = [
        "",
        "\n\n",
        "hello",
        "hello\n",
        "\u{7f}ELF\0\0",
        "[]",
        "[]\n",
        "3\n",
        "{}\n",
        "{\"a\":1}\n",
        "null",
        "{\"schema_version\":0}\n",
        "{\"schema_version\":-1}\n",
        "{\"schema_version\":\"1\"}\n",
        "{\"schema_version\":1}\n",
        "{\"event\":\"run_finished\"}\n",
    ];
    for text in foreign {
        assert!(matches!(parse_events(text), Err(ParseError::NotARun { .. })), "{text:?}: {:?}", parse_events(text));
        assert!(matches!(parse_run(text), Err(ParseError::NotARun { .. })), "{text:?}: {:?}", parse_run(text));
    }
    let second = lines(&all_events()[1..]);
    assert!(matches!(parse_events(&second), Err(ParseError::NotARun { .. })));
}

#[test]
fn each_form_is_refused_where_the_other_belongs() {
    let error = parse_events(&run_text()).expect_err("run.json is no run.jsonl");
    assert!(matches!(error, ParseError::NotARun { .. }), "{error}");
    let compact = serde_json::to_string(&parse_run(&run_text()).expect("it is whole")).expect("plain data") + "\n";
    assert!(matches!(parse_events(&compact), Err(ParseError::NotARun { line: 1, .. })));
    assert!(matches!(parse_run(&lines(&all_events()[..1])), Err(ParseError::NotARun { .. })));
    assert!(matches!(parse_run(&lines(&all_events())), Err(ParseError::NotARun { .. })));
}

#[test]
fn a_wrong_line_is_named_and_the_lines_before_it_are_kept() {
    let good = lines(&all_events()[..2]);
    for (wrong, said) in [
        ("{\"event\":\"launch_finished\"}\n", "missing field"),
        ("{\"event\":\"launch_started\"}\n", "unknown variant"),
        ("{\"event\":\"run_resumed\",\"at\":3}\n", "expected a string"),
        ("{\"event\":\"run_resumed\" \"at\":3}\n", "expected"),
        ("{\"event\":\"run_resumed\",\n", "EOF"),
        ("\0\0\0\0\n", "expected value"),
    ] {
        let (events, error) = parse_events_prefix(&format!("{good}\n{wrong}{good}"));
        assert_eq!(events, all_events()[..2]);
        let Some(ParseError::Malformed { line: 4, column, message }) = &error else { panic!("{wrong:?}: {error:?}") };
        assert!(*column >= 1 && message.contains(said) && !message.contains(" at line "), "{error:?}");
    }
    let run = run_text().replace("\"median\": ", "\"median\": \"x\", \"was\": ");
    let error = parse_run(&run).expect_err("a median is a number");
    assert!(matches!(error, ParseError::Malformed { .. }), "{error}");
}

#[test]
fn invalid_numbers_are_refused() {
    for number in ["null", "NaN", "1e999", "\"1\""] {
        let text =
            lines(&all_events()).replace("\"clock_resolution_ns\":1.0", &format!("\"clock_resolution_ns\":{number}"));
        assert!(text.contains(number));
        assert!(parse_events(&text).is_err(), "{number}");
    }
}

#[test]
fn blank_lines_and_carriage_returns_are_accepted() {
    let text = format!("\n{}", lines(&all_events()).replace('\n', "\r\n\r\n"));
    assert_eq!(parse_events(&text), Ok(all_events()));
}

#[test]
fn errors_are_one_line() {
    let errors = [
        parse_events("hello\n").expect_err("foreign"),
        ParseError::Truncated { line: 3, whole_lines: 2 },
        ParseError::NewerSchema { found: 7, known: 1 },
        ParseError::Malformed { line: 3, column: 9, message: "missing field `row`".to_owned() },
    ];
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "line 1 is not the beginning of a run: it is not JSON",
            "line 3 is torn off after 2 whole lines",
            "schema version 7 is newer than 1, the newest that this headwater reads",
            "line 3, column 9: missing field `row`",
        ]
    );
    assert_eq!(errors.iter().map(ParseError::line).collect::<Vec<_>>(), [1, 3, 1, 3]);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC*", at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let _ = parse_events_prefix(&text);
        let _ = parse_run(&text);
        // With one wrong byte, a file must be parsed or refused, and then folded or refused.
        for good in [lines(&all_events()), run_text()] {
            let mut bytes = good.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let damaged = String::from_utf8_lossy(&bytes);
            let _ = Fold::run_of(parse_events_prefix(&damaged).0);
            let _ = parse_run(&damaged);
        }
    }

    #[test]
    fn any_finite_number_comes_back_to_the_last_bit(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
        let mut events = all_events();
        events.push(Event::LaunchFinished(Box::new(crate::testing::launch("a", 3, &[value]))));
        prop_assert_eq!(parse_events(&lines(&events)), Ok(events));
    }
}

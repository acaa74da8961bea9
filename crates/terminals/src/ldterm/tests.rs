//! The rules of a terminal, as tables: what is typed or written, with which settings, and what follows.

use super::input::{Event, Input, LINE_MAX, Line};
use super::output;
use crate::termios::Termios;
use crate::termios::numbers::*;

/// The usual settings with words like those of stty(1): `-icanon`, `iutf8`, `min=3`, `eol=;`.
fn settings(words: &str) -> Termios {
    let mut termios = Termios::default();
    for word in words.split_whitespace() {
        if let Some((name, value)) = word.split_once('=') {
            let place = match name {
                "min" => VMIN,
                "time" => VTIME,
                "eol" => VEOL,
                "eol2" => VEOL2,
                "erase" => VERASE,
                "start" => VSTART,
                "stop" => VSTOP,
                other => panic!("no character {other}"),
            };
            termios.characters[place] = value.parse().unwrap_or_else(|_| value.as_bytes()[0]);
            continue;
        }
        let (name, on) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
        let Termios { input, output, local, .. } = &mut termios;
        let (modes, bits) = match name {
            "raw" => {
                termios = termios.raw();
                continue;
            }
            "istrip" => (input, ISTRIP),
            "inlcr" => (input, INLCR),
            "igncr" => (input, IGNCR),
            "icrnl" => (input, ICRNL),
            "iuclc" => (input, IUCLC),
            "ixon" => (input, IXON),
            "ixany" => (input, IXANY),
            "imaxbel" => (input, IMAXBEL),
            "iutf8" => (input, IUTF8),
            "ignbrk" => (input, IGNBRK),
            "brkint" => (input, BRKINT),
            "opost" => (output, OPOST),
            "olcuc" => (output, OLCUC),
            "onlcr" => (output, ONLCR),
            "ocrnl" => (output, OCRNL),
            "onocr" => (output, ONOCR),
            "onlret" => (output, ONLRET),
            "tabs" => (output, XTABS),
            "isig" => (local, ISIG),
            "icanon" => (local, ICANON),
            "echo" => (local, ECHO),
            "echoe" => (local, ECHOE),
            "echok" => (local, ECHOK),
            "echonl" => (local, ECHONL),
            "noflsh" => (local, NOFLSH),
            "echoctl" => (local, ECHOCTL),
            "echoke" => (local, ECHOKE),
            "iexten" => (local, IEXTEN),
            other => panic!("no mode {other}"),
        };
        *modes = if on { *modes | bits } else { *modes & !bits };
    }
    termios
}

fn told(events: &[Event]) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let told = events.iter().map(|event| match event {
        Event::Ready(bytes) => format!("<{}>", text(bytes)),
        Event::Echo(bytes) => format!("echo {}", text(bytes)),
        Event::Signal { number, flushes } => format!("signal {number}{}", if *flushes { " flush" } else { "" }),
        Event::Stop => "stop".to_owned(),
        Event::Start => "start".to_owned(),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Types bytes with these settings, all at once and one by one, and compares what follows. `expect` has what is readable as
/// `<bytes>`, and the other events by their names.
#[track_caller]
fn check(words: &str, typed: &[u8], expect: &str) {
    let termios = settings(words);
    let is_canonical = termios.has_local(ICANON);
    for at_a_time in [usize::MAX, 1] {
        if at_a_time == 1 && !is_canonical {
            continue;
        }
        let mut line = Line::default();
        let mut input = Input { termios: &termios, line: &mut line, is_stopped: false, column: 0, events: Vec::new() };
        typed.chunks(at_a_time.min(typed.len().max(1))).for_each(|bytes| input.take(bytes));
        assert_eq!(told(&input.events), expect, "{words:?}: {}", typed.escape_ascii());
    }
}

/// As [`check`], without echo.
#[track_caller]
fn reads(words: &str, typed: &[u8], expect: &str) {
    check(&format!("-echo -echonl {words}"), typed, expect);
}

#[test]
fn a_line_is_readable_when_it_ends() {
    reads("", b"abc", "");
    reads("", b"abc\n", "<abc\\n>");
    reads("", b"a\nbc\nd", "<a\\n>, <bc\\n>");
    reads("eol=;", b"a;b\n", "<a;>, <b\\n>");
    reads("eol2=;", b"a;b\n", "<a;>, <b\\n>");
    reads("eol2=; -iexten", b"a;b\n", "<a;b\\n>");
    // EOF ends a line without a character, and is the end of the file where there is none.
    reads("", b"ab\x04", "<ab>");
    reads("", b"\x04", "<>");
    reads("", b"ab\n\x04c\x04", "<ab\\n>, <>, <c>");
}

#[test]
fn characters_are_translated() {
    reads("", b"a\r", "<a\\n>");
    reads("-icrnl", b"a\r\n", "<a\\r\\n>");
    reads("igncr", b"a\rb\n", "<ab\\n>");
    reads("-icrnl inlcr", b"a\n\r", "");
    reads("istrip", b"\xe1\n", "<a\\n>");
    reads("iuclc", b"AbC\n", "<abc\\n>");
    reads("iuclc -iexten", b"AbC\n", "<AbC\\n>");
}

#[test]
fn the_line_is_edited() {
    reads("", b"abx\x7fc\n", "<abc\\n>");
    reads("", b"\x7f\x7fa\n", "<a\\n>");
    reads("erase=#", b"ab#c\n", "<ac\\n>");
    // Nothing is erased beyond the beginning of the line.
    reads("", b"a\n\x7fb\n", "<a\\n>, <b\\n>");
    reads("", b"abc\x15de\n", "<de\\n>");
    reads("", b"one two  \x17x\n", "<one x\\n>");
    reads("", b"one\x17x\n", "<x\\n>");
    reads("", b"  \x17x\n", "<x\\n>");
    reads("-iexten", b"one \x17\n", "<one \\x17\\n>");
    // A character of several bytes is one.
    reads("iutf8", "aä€\x7f\n".as_bytes(), "<a\\xc3\\xa4\\n>");
    reads("", "aä\x7f\n".as_bytes(), "<a\\xc3\\n>");
}

#[test]
fn bytes_that_continue_no_character_stay() {
    reads("iutf8", b"\x80\xbf\x7f\n", "<\\x80\\xbf\\n>");
    reads("iutf8", b"\x80a\x7f\x7f\n", "<\\x80\\n>");
    reads("iutf8", b"\x80ab\x17\n", "<\\x80\\n>");
    // Without ECHO a kill takes the whole line.
    reads("iutf8", b"\x80ab\x15\n", "<\\n>");
    check("iutf8", b"\x80ab\x15\n", "echo \\x80ab\\x08 \\x08\\x08 \\x08\\n, <\\x80\\n>");
    // Any bytes that continue belong to the character before them, a blank too.
    reads("iutf8", b"a\x80\x80\x7f\n", "<\\n>");
    reads("iutf8", b"a \x80b\x17\n", "<a \\x80\\n>");
    check("iutf8", b"ab\t\x80\x7f", "echo ab\\t\\x80\\x08\\x08\\x08\\x08\\x08\\x08");
    reads("", b"\x80\xbf\x7f\n", "<\\x80\\n>");
}

#[test]
fn a_quoted_character_stands_for_itself() {
    reads("", b"a\x16\x03\x16\x7f\x16\nb\n", "<a\\x03\\x7f\\nb\\n>");
    reads("", b"\x16\x16\n", "<\\x16\\n>");
    reads("", b"\x16\x04\n", "<\\x04\\n>");
    reads("", b"\x16\x13\n", "<\\x13\\n>");
    reads("-iexten", b"\x16a\n", "<\\x16a\\n>");
    check("", b"\x16\x03\n", "echo ^\\x08^C\\n, <\\x03\\n>");
    check("", b"a\x16\n\x7f", "echo a^\\x08^J\\x08 \\x08\\x08 \\x08");
}

#[test]
fn what_is_typed_is_echoed() {
    check("", b"ab\n", "echo ab\\n, <ab\\n>");
    check("", b"a\x01\t\n", "echo a^A\\t\\n, <a\\x01\\t\\n>");
    check("-echoctl", b"\x01\n", "echo \\x01\\n, <\\x01\\n>");
    check("-echo", b"a\n", "<a\\n>");
    check("-echo echonl", b"a\n", "echo \\n, <a\\n>");
    check("-echo echonl -icanon", b"a\n", "<a\\n>");
    check("", b"a\x04", "echo a, <a>");
    check("-icanon", b"a\n", "echo a\\n, <a\\n>");
    check("", b"ab\x12", "echo ab^R\\nab");
}

#[test]
fn erasing_is_shown() {
    check("", b"ab\x7f", "echo ab\\x08 \\x08");
    check("", b"\x7f", "");
    check("-echoe", b"ab\x7f", "echo ab^?");
    check("", b"a\x01\x7f", "echo a^A\\x08 \\x08\\x08 \\x08");
    check("", b"ab\x15", "echo ab\\x08 \\x08\\x08 \\x08");
    check("-echoke", b"ab\x15", "echo ab^U\\n");
    check("-echoke -echok", b"ab\x15", "echo ab^U");
    check("", b"a b\x17", "echo a b\\x08 \\x08");
    check("iutf8", "ä\x7f".as_bytes(), "echo \\xc3\\xa4\\x08 \\x08");
    // From column 8 back to column 2.
    check("", b"ab\t\x7f", "echo ab\\t\\x08\\x08\\x08\\x08\\x08\\x08");
}

#[test]
fn a_tab_is_erased_from_the_column_in_which_the_line_began() {
    let (termios, mut line) = (settings(""), Line::default());
    let mut input = Input { termios: &termios, line: &mut line, is_stopped: false, column: 5, events: Vec::new() };
    input.take(b"\t\x7f");
    assert_eq!(told(&input.events), "echo \\t\\x08\\x08\\x08");
}

#[test]
fn signals_are_raised_and_discard_what_was_typed() {
    reads("", b"ab\x03c\n", "signal 2 flush, <c\\n>");
    reads("", b"\x1c", "signal 3 flush");
    reads("", b"\x1a", "signal 20 flush");
    reads("noflsh", b"ab\x03c\n", "signal 2, <abc\\n>");
    reads("-isig", b"\x03\n", "<\\x03\\n>");
    reads("-icanon", b"ab\x03c", "signal 2 flush, <c>");
    check("", b"a\x03", "echo a, signal 2 flush, echo ^C");
    // Code 0 is no character.
    reads("", b"\0\n", "<\\x00\\n>");
}

#[test]
fn output_is_stopped_and_started() {
    reads("", b"a\x13b\x11c\n", "stop, start, <abc\\n>");
    reads("-ixon", b"\x13\x11\n", "<\\x13\\x11\\n>");
    reads("ixany", b"\x13a\n", "stop, start, <a\\n>");
    reads("", b"\x13a\n", "stop, <a\\n>");
    reads("start=7 stop=7", b"\x07\x07\x07", "stop, start, stop");
    reads("", b"\x13\x03", "stop, start, signal 2 flush");
}

#[test]
fn without_lines_bytes_are_readable_when_they_are_enough() {
    reads("raw", b"a", "<a>");
    reads("raw", b"\x04\r\n\x7f\x03", "<\\x04\\r\\n\\x7f\\x03>");
    reads("raw min=3", b"ab", "");
    reads("raw min=3", b"abcd", "<abcd>");
    reads("raw min=0", b"a", "<a>");
    reads("-icanon", b"a\x7f\x13b", "stop, <a\\x7fb>");
    reads("-icanon", b"a\r", "<a\\n>");
}

#[test]
fn a_line_without_an_end_has_a_limit() {
    let long = vec![b'x'; LINE_MAX + 10];
    let full = "x".repeat(LINE_MAX - 1);
    reads("", &[&long, &b"\n"[..]].concat(), &format!("<{full}\\n>"));
    let (termios, mut line) = (settings("imaxbel -echo"), Line::default());
    let mut input = Input { termios: &termios, line: &mut line, is_stopped: false, column: 0, events: Vec::new() };
    input.take(&long);
    assert_eq!(told(&input.events), format!("echo {}", "\\x07".repeat(11)));
    // Without lines it becomes readable.
    let (termios, mut line) =
        (settings("raw min=255"), Line { bytes: long[..LINE_MAX - 1].to_vec(), ..Line::default() });
    let mut input = Input { termios: &termios, line: &mut line, is_stopped: false, column: 0, events: Vec::new() };
    input.take(b"y");
    assert_eq!(input.events.len(), 1);
}

#[test]
fn a_break_is_a_signal_or_a_character() {
    let broken = |words: &str| {
        let (termios, mut line) = (settings(words), Line::default());
        let mut input = Input { termios: &termios, line: &mut line, is_stopped: false, column: 0, events: Vec::new() };
        input.take_break();
        told(&input.events)
    };
    assert_eq!(broken("ignbrk brkint"), "");
    assert_eq!(broken("brkint"), "signal 2 flush");
    assert_eq!(broken("raw"), "<\\x00>");
    assert_eq!(broken("-echo"), "");
}

/// Writes bytes with these settings, at once and one by one.
#[track_caller]
fn writes(words: &str, written: &[u8], expect: &[u8]) {
    let termios = settings(words);
    let mut column = 0;
    assert_eq!(
        output::process(&termios, written, &mut column).escape_ascii().to_string(),
        expect.escape_ascii().to_string()
    );
    let (whole, mut column) = (column, 0);
    let single = written.iter().flat_map(|byte| output::process(&termios, &[*byte], &mut column)).collect::<Vec<u8>>();
    assert_eq!((single.as_slice(), column), (expect, whole), "{words}, byte by byte");
}

#[test]
fn what_is_written_is_processed() {
    writes("", b"ab\ncd\n", b"ab\r\ncd\r\n");
    writes("-onlcr", b"ab\n", b"ab\n");
    writes("ocrnl -onlcr", b"ab\rcd", b"ab\ncd");
    writes("onocr", b"\ra\r\r", b"a\r");
    writes("onocr onlret -onlcr", b"a\n\rb", b"a\nb");
    writes("olcuc", b"aBc", b"ABC");
    writes("", b"a\tb", b"a\tb");
    writes("tabs", b"a\tb", b"a       b");
    writes("tabs", b"abcdefgh\tb\n\tc", b"abcdefgh        b\r\n        c");
    writes("tabs", b"abc\x08\x08\tb", b"abc\x08\x08       b");
    writes("tabs iutf8", "ää\tb".as_bytes(), "ää      b".as_bytes());
    writes("tabs", b"\x1b\x07\tb", b"\x1b\x07        b");
}

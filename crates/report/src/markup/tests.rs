use super::{escape, shorten};

#[test]
fn nothing_that_has_a_meaning_in_markup_is_left() {
    let hostile = "</script><img src=x onerror='alert(1)'>\"&\u{0}\u{1b}[31m\u{202e}evil\u{ffff}";
    let escaped = escape(hostile);
    assert!(!escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{1b}', '\u{202e}', '\u{ffff}']), "{escaped}");
    assert_eq!(escape("a & b"), "a &amp; b");
    assert_eq!(escape("4 KiB \u{b1} 3 %"), "4 KiB \u{b1} 3 %");
}

#[test]
fn what_is_cut_says_so() {
    assert_eq!(shorten("unix-stream", 11), "unix-stream");
    assert_eq!(shorten("unix-stream", 6), "unix-\u{2026}");
}

use super::{escape, shorten};

#[test]
fn all_markup_characters_are_escaped() {
    let hostile = "</script><img src=x onerror='alert(1)'>\"&\u{0}\u{1b}[31m\u{202e}evil\u{ffff}";
    let escaped = escape(hostile);
    assert!(!escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{1b}', '\u{202e}', '\u{ffff}']), "{escaped}");
    assert_eq!(escape("a & b"), "a &amp; b");
    assert_eq!(escape("4 KiB \u{b1} 3 %"), "4 KiB \u{b1} 3 %");
}

#[test]
fn cut_text_ends_with_an_ellipsis() {
    assert_eq!(shorten("unix-stream", 11), "unix-stream");
    assert_eq!(shorten("unix-stream", 6), "unix-\u{2026}");
}

#[test]
fn what_is_between_backticks_is_code() {
    assert_eq!(super::prose("use `run <x>` now"), "use <code>run &lt;x&gt;</code> now");
    assert_eq!(super::prose("one ` alone"), "one &#96; alone");
    assert_eq!(super::prose("`a` and ` b"), "<code>a</code> and &#96; b");
}

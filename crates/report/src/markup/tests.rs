use super::{escape, prose, shorten, whole};

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
    assert_eq!(prose("use `run <x>` now"), "use <code>run &lt;x&gt;</code> now");
    assert_eq!(prose("one ` alone"), "one &#96; alone");
    assert_eq!(prose("`a` and ` b"), "<code>a</code> and &#96; b");
}

#[test]
fn a_line_breaks_after_a_slash_and_not_at_a_hyphen() {
    let html = whole("unix-stream/rtt/64/two-cpus");
    assert_eq!(html, "<span class=\"whole\">unix-stream/</span><wbr>rtt/64/<wbr><span class=\"whole\">two-cpus</span>");
    assert_eq!(whole("a -- b"), "a -- b");
    assert_eq!(whole("a-<b>"), "<span class=\"whole\">a-&lt;b&gt;</span>");
    let long = format!("{}-x", "y".repeat(40));
    assert_eq!(whole(&long), long, "what is longer than a line must break somewhere");
    assert_eq!(prose("`run --more 5`"), "<code>run <span class=\"whole\">--more</span> 5</code>");
}

#[test]
fn a_number_keeps_its_unit() {
    assert_eq!(prose("at 64 B (5.49 GB/s), 2 %."), "at 64\u{a0}B (5.49\u{a0}GB/s), 2\u{a0}%.");
    assert_eq!(prose("in 2 Bars, 3 s later"), "in 2 Bars, 3\u{a0}s later");
    assert_eq!(prose("4.2 times; 1.5, k"), "4.2 times; 1.5, k");
    assert_eq!(prose("2.09 M messages/s"), "2.09\u{a0}M messages/s");
}

//! Text that other users or programs have written: names of hosts, rows, runs, threads. Every place that prints such text, makes a path
//! of it or exports it calls this module; nothing else decides which characters are harmful.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character can change what a terminal or a page shows of the text around it: controls (C0, DEL, C1), noncharacters,
/// and bidirectional controls whose effect extends beyond their own word. No name needs them.
pub fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Returns a text that does nothing to a terminal: unfit characters except line feed and tab are escaped as `\u009b`. JSON stays
/// the same JSON, because such characters occur in it only within strings, which have this escape.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| is_unfit(character) && !matches!(character, '\n' | '\t'))
}

/// Returns a text as [`printable`] does, in one line.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unfit)
}

fn escaped(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return text.into();
    }
    let mut harmless = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match is_escaped(character) {
            true => write!(harmless, "\\u{:04x}", u32::from(character)).expect("a text takes everything"),
            false => harmless.push(character),
        }
    }
    harmless.into()
}

/// The most bytes of a name: those of a file's.
const NAME_BYTES_MAX: usize = 255;

/// Whether a text can be a host, or a part of a row's name between slashes: ASCII letters, digits and `._+-`, beginning with a letter or
/// digit. So it is one part of a path and never `..`, no option and no formula.
pub fn is_name(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(is_plain)
}

/// Returns a file name that tells of a text which may be any: other characters than those of a [name](is_name) become `_`.
pub fn file_name(text: &str) -> String {
    // Room for what the caller adds.
    let name: String = text.chars().take(NAME_BYTES_MAX / 2).map(|one| if is_plain(one) { one } else { '_' }).collect();
    if is_name(&name) { name } else { format!("x{name}") }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._+-".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unfit_character_is_printed() {
        assert_eq!(
            printable("a\u{1b}[2J\u{7f}b\u{9b}c\u{202e}\u{200f}\td\n\u{e9}\r"),
            "a\\u001b[2J\\u007fb\\u009bc\\u202e\\u200f\td\n\u{e9}\\u000d"
        );
        assert_eq!(line("a\nb\t"), "a\\u000ab\\u0009");
        assert!(matches!(printable("pipe/rtt\n"), Cow::Borrowed(_)), "most texts are not copied");
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}\u{202e}\u{7f}\n\\" });
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let harmless = printable(&text);
        assert!(text.contains('\u{9b}') && !harmless.contains(|one| is_unfit(one) && one != '\n'), "{harmless}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).expect("JSON"), value);
    }

    #[test]
    fn a_name_is_one_part_of_a_path() {
        for name in ["brook", "node-1.example.org", "ctxsw-2p-16k", "0k", "streams+nullmod"] {
            assert!(is_name(name) && file_name(name) == name, "{name}");
        }
        for wrong in
            ["", ".", "..", "a/b", "../../etc", "-rf", "=1+1", "a b", "a\u{1b}", "\u{e9}", "a\0", &"a".repeat(256)]
        {
            assert!(!is_name(wrong) && is_name(&file_name(wrong)), "{wrong:?}");
        }
    }
}

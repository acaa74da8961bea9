//! Texts from outside on a terminal: names of hosts, rows and files may hold escape sequences.

/// Returns the text with every control character as its escape.
pub fn printable(text: &str) -> String {
    let is_hostile = |character: char| {
        (character.is_control() && character != '\n')
            // What changes the direction of a line.
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        if is_hostile(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
        out
    })
}

/// Returns the text in one line.
pub fn line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\n\u{9b}c\u{202e}é"), "a\\u{1b}[2Jb\\n\\u{9b}c\\u{202e}é");
    }
}

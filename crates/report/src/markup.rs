//! Escapes text for HTML and SVG. Called wherever a page or a chart writes text that is not a constant.
//!
//! Names of rows, hosts and runs come from files that any program may have written: they reach a page only through
//! [`escape`].

/// `text` for an element or a quoted attribute. Characters that no XML document may hold become U+FFFD, and so do those
/// that would turn the direction of the text around them.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(' '),
            other if is_unfit(other) => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Controls, noncharacters, and the marks of bidirectional text that reach beyond their own word.
fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// At most `characters` of `text`, with an ellipsis where something is left out.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests;

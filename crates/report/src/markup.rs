//! Escapes text for HTML and SVG. Called wherever a page or a chart contains text that is not constant.
//!
//! Names of rows, hosts and runs come from files that any program may have written: they must pass through [`escape`].

/// Escapes `text` for an element or a quoted attribute. Characters that XML does not permit become U+FFFD, and so do
/// those that change the direction of the surrounding text.
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

/// Controls, noncharacters, and bidirectional controls whose effect extends beyond their own word.
fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns at most `characters` of `text`, with an ellipsis if something is left out.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests;

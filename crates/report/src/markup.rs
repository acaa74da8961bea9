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

/// Escapes a sentence for an element. What is between backticks, as on the terminal, becomes code.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a partner is a character like any other.
    let paired = if parts.len() % 2 == 1 { parts.len() } else { parts.len() - 1 };
    let mut html = String::with_capacity(text.len());
    for (place, part) in parts.iter().enumerate() {
        match (place % 2, place < paired) {
            (1, true) => html += &format!("<code>{}</code>", escape(part)),
            (_, true) => html += &escape(part),
            (_, false) => html += &format!("&#96;{}", escape(part)),
        }
    }
    html
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

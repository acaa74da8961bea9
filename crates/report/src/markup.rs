//! Escapes text for HTML and SVG. Called wherever a page or a chart contains text that is not constant.
//!
//! Names of rows, hosts and runs come from files that any program may have written: they must pass through [`escape`].

use headwater_results::foreign::is_unfit;

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

/// Escapes a sentence for an element. What is between backticks, as on the terminal, becomes code. Lines break neither in a
/// name with a hyphen nor between a number and its unit.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a partner is a character like any other.
    let paired = if parts.len() % 2 == 1 { parts.len() } else { parts.len() - 1 };
    let mut html = String::with_capacity(text.len());
    for (place, part) in parts.iter().enumerate() {
        match (place % 2, place < paired) {
            (1, true) => html += &format!("<code>{}</code>", whole(part)),
            (_, true) => html += &bound(part),
            (_, false) => html += &format!("&#96;{}", bound(part)),
        }
    }
    html
}

/// The longest part of a name that is kept on one line, in bytes.
const WHOLE_MAX: usize = 32;

/// Escapes names for an element. A line can break after a slash, and does not break at a hyphen: `unix-stream/` is whole.
pub(crate) fn whole(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let mut was_whole = false;
    for part in text.split_inclusive([' ', '/']) {
        let has_hyphen = part.trim_end().trim_end_matches(['-', '/']).contains('-');
        let is_whole = has_hyphen && part.len() <= WHOLE_MAX;
        if html.ends_with('/') && is_whole || html.ends_with("/</span>") && was_whole {
            html += "<wbr>";
        }
        if is_whole {
            // The space is where the line can break.
            let name = part.trim_end();
            html += &format!("<span class=\"whole\">{}</span>{}", escape(name), escape(&part[name.len()..]));
        } else {
            html += &escape(part);
        }
        was_whole = is_whole;
    }
    html
}

/// Escapes words for an element: names as [`whole`] does, and no line breaks before a unit.
fn bound(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    let mut is_number = false;
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            bound.push(if is_number && is_unit(word) { '\u{a0}' } else { ' ' });
        }
        bound += word;
        let digits = word.trim_start_matches(['(', '+', '-', '\u{b1}', '<', '>']);
        is_number = digits.starts_with(|first: char| first.is_ascii_digit())
            && digits.chars().all(|one| one.is_ascii_digit() || ".,".contains(one))
            && !digits.ends_with([',', '.']);
    }
    whole(&bound)
}

/// Whether a word is a unit as [`crate::units`] writes it, perhaps before a punctuation mark.
fn is_unit(word: &str) -> bool {
    let unit = word.trim_end_matches([',', '.', ';', ':', ')', ']']);
    let prefixed = unit.strip_prefix(['k', 'M', 'G', 'T']).unwrap_or(unit);
    matches!(unit, "ns" | "us" | "ms" | "s" | "%" | "B" | "KiB" | "MiB" | "GiB" | "MHz" | "k" | "M" | "G" | "T")
        || matches!(prefixed, "/s" | "B/s")
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

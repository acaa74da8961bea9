//! The style of a text page, and the invisible marks that become colours at the end.
//!
//! While a page is laid out, emphasis is a pair of characters without width, so that no layout counts an escape
//! sequence as text. Only [`finish`] writes escape sequences.

use headwater_results::foreign::is_unfit;

/// The style of a text page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to write escape sequences for bold and dim text. Without them, the best values are marked by an
    /// asterisk.
    pub colour: bool,
    /// Columns of the terminal. Lines are not longer than this or [`Style::WIDTH_MIN`], whichever is larger.
    pub width: usize,
    /// Whether characters outside ASCII may be used.
    pub unicode: bool,
}

/// Starts emphasised text: a title.
const STRONG: char = '\u{2061}';
/// Starts the best value of a column.
const BEST: char = '\u{2062}';
/// Starts dimmed text: definitions, limits.
const QUIET: char = '\u{2063}';
/// Ends any of them.
const END: char = '\u{2064}';

impl Style {
    /// On a narrower terminal this width is used, because tables would be unreadable.
    pub const WIDTH_MIN: usize = 60;

    /// Returns the width of the page.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(Style::WIDTH_MIN)
    }

    /// Returns the sign before half the width of an interval.
    pub(crate) fn plus_minus(&self) -> &'static str {
        if self.unicode { "\u{b1}" } else { "+-" }
    }

    /// Returns the separator between the parts of a line.
    pub(crate) fn dot(&self) -> &'static str {
        if self.unicode { " \u{b7} " } else { " | " }
    }

    /// Returns the character of the line below column heads.
    pub(crate) fn rule(&self) -> char {
        if self.unicode { '\u{2500}' } else { '-' }
    }

    /// Returns the character that replaces text that was cut.
    pub(crate) fn ellipsis(&self) -> char {
        if self.unicode { '\u{2026}' } else { '~' }
    }
}

/// Emphasises text.
pub(crate) fn strong(text: &str) -> String {
    marked(text, STRONG)
}

/// Marks text as the best of its kind.
pub(crate) fn best(text: &str) -> String {
    marked(text, BEST)
}

/// Dims text.
pub(crate) fn quiet(text: &str) -> String {
    marked(text, QUIET)
}

/// Marks each line separately, because a pager resets the style at the end of a line.
fn marked(text: &str, mark: char) -> String {
    text.split('\n').map(|line| format!("{mark}{line}{END}")).collect::<Vec<_>>().join("\n")
}

/// Returns the width of `text` in columns, without marks.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().filter(|character| !is_mark(*character)).count()
}

fn is_mark(character: char) -> bool {
    (STRONG..=END).contains(&character)
}

/// Returns the page for the reader: marks become escape sequences or are removed. Other control characters and changes of
/// direction, which can come only from a run that another program wrote, are shown as `?`: an escape would make the line longer.
pub(crate) fn finish(page: &str, style: &Style) -> String {
    let mut text = String::with_capacity(page.len());
    for character in page.chars() {
        match character {
            '\n' => text.push('\n'),
            mark if is_mark(mark) => text.push_str(if style.colour { escape(mark) } else { "" }),
            unfit if is_unfit(unfit) => text.push('?'),
            other => text.push(other),
        }
    }
    text
}

/// Returns text without marks, for output that is not a page.
pub(crate) fn plain(text: &str) -> String {
    finish(text, &Style { colour: false, width: 0, unicode: true })
}

/// Returns an escape sequence for one of the terminal's own colours, so that it suits the background.
fn escape(mark: char) -> &'static str {
    match mark {
        STRONG => "\x1b[1m",
        BEST => "\x1b[1;32m",
        QUIET => "\x1b[2m",
        _ => "\x1b[0m",
    }
}

#[cfg(test)]
mod tests;

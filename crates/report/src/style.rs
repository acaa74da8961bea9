//! How a page is drawn, and the invisible marks that become colour at the very end.
//!
//! While a page is laid out, emphasis is a pair of characters without width, so that no layout counts an escape
//! sequence as text. [`finish`] is the only place that writes escape sequences.

/// How a page is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to write escape sequences for bold and dim text. Without them the best values carry an asterisk.
    pub colour: bool,
    /// Columns of the terminal. Lines are no longer than this or [`Style::WIDTH_MIN`], the larger.
    pub width: usize,
    /// Whether characters outside ASCII may be used.
    pub unicode: bool,
}

/// Starts text that stands out: a title.
const STRONG: char = '\u{2061}';
/// Starts text that is the best of its column.
const BEST: char = '\u{2062}';
/// Starts text that steps back: definitions, limits.
const QUIET: char = '\u{2063}';
/// Ends any of them.
const END: char = '\u{2064}';

impl Style {
    /// Narrower terminals get pages of this width: the tables could not be read otherwise.
    pub const WIDTH_MIN: usize = 60;

    /// The width that pages keep to.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(Style::WIDTH_MIN)
    }

    /// The sign before half the width of an interval.
    pub(crate) fn plus_minus(&self) -> &'static str {
        if self.unicode { "\u{b1}" } else { "+-" }
    }

    /// What stands between the parts of a line.
    pub(crate) fn dot(&self) -> &'static str {
        if self.unicode { " \u{b7} " } else { " | " }
    }

    /// What a line under column heads is made of.
    pub(crate) fn rule(&self) -> char {
        if self.unicode { '\u{2500}' } else { '-' }
    }

    /// The end of text that was cut.
    pub(crate) fn ellipsis(&self) -> char {
        if self.unicode { '\u{2026}' } else { '~' }
    }
}

/// Text that stands out.
pub(crate) fn strong(text: &str) -> String {
    marked(text, STRONG)
}

/// Text that is the best of its kind.
pub(crate) fn best(text: &str) -> String {
    marked(text, BEST)
}

/// Text that steps back.
pub(crate) fn quiet(text: &str) -> String {
    marked(text, QUIET)
}

/// Line by line: a pager forgets at the end of each.
fn marked(text: &str, mark: char) -> String {
    text.split('\n').map(|line| format!("{mark}{line}{END}")).collect::<Vec<_>>().join("\n")
}

/// Columns that `text` takes, its marks not counted.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().filter(|character| !is_mark(*character)).count()
}

fn is_mark(character: char) -> bool {
    (STRONG..=END).contains(&character)
}

/// Returns the page for the reader: marks become escape sequences or are removed. Other control characters, which can
/// come only from a run that another program wrote, are shown as `?`.
pub(crate) fn finish(page: &str, style: &Style) -> String {
    let mut text = String::with_capacity(page.len());
    for character in page.chars() {
        match character {
            '\n' => text.push('\n'),
            mark if is_mark(mark) => text.push_str(if style.colour { escape(mark) } else { "" }),
            control if control.is_control() => text.push('?'),
            other => text.push(other),
        }
    }
    text
}

/// Returns text without marks, for output that is not a page.
pub(crate) fn plain(text: &str) -> String {
    finish(text, &Style { colour: false, width: 0, unicode: true })
}

/// The terminal's own colours, so that they suit its background.
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

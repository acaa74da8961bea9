//! Findings as text for a terminal.

use headwater_results::foreign::printable;

use super::{Finding, Status};

/// On a narrower terminal this width is used, because commands would be unreadable.
const WIDTH_MIN: usize = 40;
/// The minimum width of text beside the topics. With less, the text is below its topic.
const TEXT_WIDTH_MIN: usize = 36;
/// Indentation of text below a topic.
const BELOW: usize = 4;

/// Renders the findings in the given order, one block each, and a line with their counts. Text is wrapped to `width`
/// columns; commands are not, so that they can be copied. `colour` uses the terminal's own colours.
pub fn render(findings: &[Finding], colour: bool, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let topic_width = findings.iter().map(|finding| finding.topic.len()).max().unwrap_or(0);
    let layout = Layout::new(topic_width, width);
    let blocks: String = findings.iter().map(|finding| block(finding, colour, &layout)).collect();
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let plural = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    let (warnings, notes) = (plural(count(Status::Warning), "warning"), plural(count(Status::Note), "note"));
    format!("{blocks}\n{warnings}, {notes}, {} good. Nothing was changed.\n", count(Status::Good))
}

/// The columns of the output.
struct Layout {
    width: usize,
    topic_width: usize,
    /// Column of the text.
    indent: usize,
    /// Whether the text starts beside the topic.
    is_beside: bool,
}

impl Layout {
    fn new(topic_width: usize, width: usize) -> Layout {
        let beside = Status::Warning.name().len() + 2 + topic_width + 2;
        let is_beside = width >= beside + TEXT_WIDTH_MIN;
        Layout { width, topic_width, indent: if is_beside { beside } else { BELOW }, is_beside }
    }
}

/// Renders one finding.
fn block(finding: &Finding, colour: bool, layout: &Layout) -> String {
    let text_width = layout.width - layout.indent;
    let mut lines = wrap(&finding.what, text_width);
    lines.extend(wrap(&finding.consequence, text_width));
    if let Some(remedy) = &finding.remedy {
        lines.extend(wrap(&format!("{}:", remedy.what), text_width));
        lines.push(format!("  do    {}", printable(&remedy.command)));
        lines.push(format!("  undo  {}", printable(&remedy.undo)));
    }
    let status = painted(&format!("{:7}", finding.status.name()), finding.status, colour);
    let mut text = if layout.is_beside && !lines.is_empty() {
        format!("{status}  {:2$}  {}\n", finding.topic, lines.remove(0), layout.topic_width)
    } else {
        format!("{status}  {}\n", finding.topic)
    };
    for line in lines {
        text += &format!("{:1$}{line}\n", "", layout.indent);
    }
    text
}

/// Returns `text` in the colour of `status`.
fn painted(text: &str, status: Status, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match status {
        Status::Warning => "1;33",
        Status::Note => "36",
        Status::Good => "32",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Breaks `text` at spaces into lines of at most `width` columns; a longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in printable(text).split_ascii_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;

//! Fits the texts below the options of each subcommand to the terminal: `--help` and man pages are made with it. It
//! changes no word.

use clap::Command;
use rustix::termios::tcgetwinsize;

/// The widest that help is made: clap's own limit.
const WIDTH_MAX: usize = 100;

/// The column up to which the explanation of an entry may begin, to be continued below its beginning.
const COLUMN_MAX: usize = 34;

/// The indentation of an explanation that has a line of its own.
const OWN_LINE: usize = 6;

/// Returns the columns that clap gives its help: those of the terminal, else `COLUMNS`, at most 100.
pub(super) fn width() -> usize {
    let terminals = [tcgetwinsize(std::io::stdout()), tcgetwinsize(std::io::stderr()), tcgetwinsize(std::io::stdin())];
    let columns = terminals.into_iter().flatten().map(|size| usize::from(size.ws_col)).find(|&columns| columns > 0);
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    columns.or_else(named).unwrap_or(WIDTH_MAX).min(WIDTH_MAX)
}

/// Fits the texts of a command and its subcommands to `width` columns.
pub(super) fn fitted(command: Command, width: usize) -> Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(flowed(&text, width)),
        None => command,
    };
    command.mut_subcommands(|subcommand| fitted(subcommand, width))
}

/// Joins the lines of each paragraph and of each entry of a list, and breaks them at `width` columns. An entry is a line
/// that is indented by two columns; what is indented more belongs to the entry above it.
fn flowed(text: &str, width: usize) -> String {
    let mut joined: Vec<String> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match joined.last_mut() {
            Some(last) if indent > 4 && last.starts_with(' ') => *last += &format!(" {}", line.trim_start()),
            Some(last) if indent == 0 && !line.is_empty() && !last.is_empty() && !last.starts_with(' ') => {
                *last += &format!(" {line}");
            }
            _ => joined.push(line.to_owned()),
        }
    }
    joined.iter().map(|line| broken(line, width)).collect::<Vec<_>>().join("\n")
}

/// Breaks one entry or paragraph.
fn broken(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let start = line.len() - line.trim_start().len();
    let Some(gap) = line[start..].find("  ").map(|at| start + at).filter(|_| start > 0) else {
        // A command is not broken here: it is copied from the screen.
        return if start > 0 { line.to_owned() } else { wrapped("", line, width, 0) };
    };
    let column = line.len() - line[gap..].trim_start().len();
    match column <= COLUMN_MAX {
        true => wrapped(&line[..column], &line[column..], width, column),
        false => format!("{}\n{}", &line[..gap], wrapped(&" ".repeat(OWN_LINE), line[gap..].trim(), width, OWN_LINE)),
    }
}

/// Writes words behind `first`, and further lines with an indentation.
fn wrapped(first: &str, words: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![first.to_owned()];
    let mut is_begun = false;
    for word in words.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if is_begun && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            line.push_str(if is_begun { " " } else { "" });
            line.push_str(word);
        }
        is_begun = true;
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_whatever_its_lines_were() {
        assert_eq!(flowed("one two\nthree four\n\nfive", 13), "one two three\nfour\n\nfive");
        assert_eq!(flowed("Examples:\n  do it\n\nend\nof it", 40), "Examples:\n  do it\n\nend of it");
    }

    #[test]
    fn an_explanation_continues_below_its_beginning_or_has_lines_of_its_own() {
        assert_eq!(flowed("  name  one two three", 14), "  name  one\n        two\n        three");
        let long = "  headwater run a b c d e f g h i j k l   what it does";
        assert_eq!(flowed(long, 44), "  headwater run a b c d e f g h i j k l\n      what it does");
        assert_eq!(flowed("  head  is\n        more", 40), "  head  is more");
        assert_eq!(flowed("  a command without words", 10), "  a command without words");
    }
}

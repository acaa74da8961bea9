//! Completion of a command line: what the word at the cursor can become. The scripts of the shells call it with the words
//! before the cursor, by the hidden subcommand `complete`; they know no option and no name themselves.

use std::io::Write;

use clap::{Arg, ArgAction, Args, Command, ValueEnum};

use super::output::out;
use super::{command, status};
use values::{Files, Values};

mod split;
mod values;

/// Print what the last word of a command line can become
#[derive(Clone, Debug, Args)]
pub(super) struct CompleteArguments {
    /// The shell that asks
    shell: Shell,

    /// The words before the cursor, first the command's name; of bash the whole line as one word
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The shells for which there is a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// The Z shell.
    Zsh,
    /// The friendly interactive shell.
    Fish,
}

impl Shell {
    /// Every shell, with the name of its file and its script.
    pub const TABLE: [(Shell, &'static str, &'static str); 3] = [
        (Shell::Bash, "headwater.bash", include_str!("complete/headwater.bash")),
        (Shell::Zsh, "_headwater", include_str!("complete/_headwater")),
        (Shell::Fish, "headwater.fish", include_str!("complete/headwater.fish")),
    ];

    /// Returns the script.
    pub fn script(self) -> &'static str {
        Shell::TABLE.iter().find(|(shell, ..)| *shell == self).map_or("", |(_, _, script)| script)
    }
}

/// What a word can become, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    value: String,
    help: String,
}

impl Candidate {
    fn new(value: impl Into<String>, help: impl Into<String>) -> Candidate {
        Candidate { value: value.into(), help: help.into() }
    }
}

/// Prints a line for each candidate: the word, a tab, its description. A last line `:files` or `:directories` asks the
/// shell to add the names of files.
pub(super) fn complete(arguments: &CompleteArguments) -> anyhow::Result<u8> {
    let words = match (arguments.shell, arguments.words.as_slice()) {
        (Shell::Bash, [line]) => split::words(line),
        (_, words) => words.to_vec(),
    };
    let Some((last, before)) = words.split_last().filter(|(_, before)| !before.is_empty()) else {
        return Ok(status::OK);
    };
    let mut root = command();
    root.build();
    let values = candidates(&root, &before[1..], last);
    // Bash completes what is behind the last of its word breaks.
    let cut = if arguments.shell == Shell::Bash { last.rfind([':', '=']).map_or(0, |at| at + 1) } else { 0 };
    let mut out = out();
    for candidate in &values.words {
        if let Some(value) = candidate.value.strip_prefix(last.as_str()) {
            writeln!(out, "{}{value}\t{}", &last[cut..], first_line(&candidate.help))?;
        }
    }
    match values.files {
        Files::None => {}
        Files::All => writeln!(out, ":files")?,
        Files::Directories => writeln!(out, ":directories")?,
    }
    Ok(status::OK)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Where the cursor is: what the words before it leave open.
struct Position<'a> {
    command: &'a Command,
    /// The option whose value is next.
    option: Option<&'a Arg>,
    /// Words without an option, of this subcommand.
    operands: Vec<&'a str>,
    /// Whether `--` was typed.
    is_escaped: bool,
    /// The options that were typed.
    typed: Vec<&'a str>,
}

/// Returns what `last` can become behind the words `before`.
fn candidates(root: &Command, before: &[String], last: &str) -> Values {
    let position = position(root, before);
    let context = values::Context { command: position.command.get_name(), operands: &position.operands };
    if let Some(option) = position.option {
        let mut values = values::of(option, &context, last);
        // A value may be left out.
        if option.get_num_args().is_some_and(|count| count.min_values() == 0) && last.starts_with('-') {
            values.words.extend(options(&position));
        }
        return values;
    }
    if !position.is_escaped && last.starts_with('-') && last != "-" {
        return match last.split_once('=') {
            Some((name, value)) => of_assignment(&position, &context, name, value),
            None => Values { words: options(&position), files: Files::None },
        };
    }
    let mut values = operand(&position).map_or_else(Values::default, |operand| values::of(operand, &context, last));
    if position.operands.is_empty() && !position.is_escaped {
        let subcommands = position.command.get_subcommands().filter(|command| !command.is_hide_set());
        values.words.extend(subcommands.map(|command| {
            Candidate::new(command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default())
        }));
    }
    if last == "-" && !position.is_escaped {
        values.words.extend(options(&position));
    }
    values
}

/// Follows the words through the definitions.
fn position<'a>(root: &'a Command, before: &'a [String]) -> Position<'a> {
    let mut at = Position { command: root, option: None, operands: Vec::new(), is_escaped: false, typed: Vec::new() };
    for word in before {
        if let Some(option) = at.option {
            let more = option.get_num_args().is_some_and(|count| count.max_values() > 1);
            if !word.starts_with('-') {
                at.option = at.option.filter(|_| more);
                continue;
            }
            at.option = None;
        }
        if at.is_escaped {
            at.operands.push(word);
        } else if word == "--" {
            at.is_escaped = true;
        } else if let Some(name) = word.strip_prefix("--") {
            let (name, is_given) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
            let option = by_name(at.command, name);
            at.typed.extend(option.and_then(Arg::get_long));
            at.option = option.filter(|option| takes_value(option) && !is_given);
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            at.option = of_letters(at.command, letters);
        } else if let Some(subcommand) = at.command.find_subcommand(word).filter(|_| at.operands.is_empty()) {
            at = Position {
                command: subcommand,
                option: None,
                operands: Vec::new(),
                is_escaped: false,
                typed: Vec::new(),
            };
        } else {
            at.operands.push(word);
            at.is_escaped = operand(&at).is_some_and(|operand| operand.is_trailing_var_arg_set());
        }
    }
    at
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

fn by_name<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| {
        option.get_long() == Some(name) || option.get_all_aliases().is_some_and(|names| names.contains(&name))
    })
}

/// Returns the option at the end of joined letters that still needs its value.
fn of_letters<'a>(command: &'a Command, letters: &str) -> Option<&'a Arg> {
    let mut letters = letters.chars();
    while let Some(letter) = letters.next() {
        let is_meant = |option: &&Arg| {
            option.get_short() == Some(letter)
                || option.get_all_short_aliases().is_some_and(|letters| letters.contains(&letter))
        };
        match command.get_arguments().find(is_meant) {
            // What is behind the letter is its value.
            Some(option) if takes_value(option) => return Some(option).filter(|_| letters.as_str().is_empty()),
            _ => {}
        }
    }
    None
}

/// Returns the definition of the word that is neither an option nor the value of one.
fn operand<'a>(at: &Position<'a>) -> Option<&'a Arg> {
    let is_last = |operand: &&Arg| operand.is_last_set();
    if at.is_escaped
        && let Some(last) = at.command.get_positionals().find(is_last)
    {
        return Some(last);
    }
    let mut operands = at.command.get_positionals().filter(|operand| !operand.is_last_set());
    let is_many = |operand: &Arg| operand.get_num_args().is_some_and(|count| count.max_values() > 1);
    let mut before = at.operands.len();
    operands.find(|operand| {
        let found = before == 0 || is_many(operand);
        before = before.saturating_sub(1);
        found
    })
}

/// The options that can still be typed.
fn options(at: &Position<'_>) -> Vec<Candidate> {
    let is_open = |option: &&Arg| {
        let is_repeatable = matches!(option.get_action(), ArgAction::Append);
        !option.is_hide_set() && option.get_long().is_some_and(|long| is_repeatable || !at.typed.contains(&long))
    };
    let options = at.command.get_arguments().filter(is_open);
    let named = options.filter_map(|option| {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Candidate::new(format!("--{}", option.get_long()?), help))
    });
    named.collect()
}

/// `--option=VALUE`.
fn of_assignment(at: &Position<'_>, context: &values::Context<'_>, name: &str, value: &str) -> Values {
    let Some(option) = by_name(at.command, name.trim_start_matches('-')).filter(|option| takes_value(option)) else {
        return Values::default();
    };
    let mut values = values::of(option, context, value);
    for candidate in &mut values.words {
        candidate.value.insert_str(0, &format!("{name}="));
    }
    values
}

#[cfg(test)]
mod tests;

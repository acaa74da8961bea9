//! Rules that every subcommand keeps: docs/decisions/0031-options.md.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, Command};

use super::command;

/// Calls `check` for every option of every subcommand, also the hidden ones, with the subcommand's name.
fn each_option(check: &mut impl FnMut(&str, &Arg)) {
    fn walk(command: &Command, name: &str, check: &mut impl FnMut(&str, &Arg)) {
        command.get_arguments().filter(|argument| !argument.is_positional()).for_each(|option| check(name, option));
        for subcommand in command.get_subcommands() {
            walk(subcommand, format!("{name} {}", subcommand.get_name()).trim(), check);
        }
    }
    walk(&command(), "", check);
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

#[test]
fn a_letter_stands_for_one_option_in_all_subcommands() {
    let mut meanings = BTreeMap::<char, BTreeMap<String, Vec<String>>>::new();
    each_option(&mut |command, option| {
        let Some(letter) = option.get_short() else { return };
        let long = option.get_long().expect("every option has a long name").to_owned();
        meanings.entry(letter).or_default().entry(long).or_default().push(command.to_owned());
    });
    assert!(meanings.len() > 15 && meanings.contains_key(&'o'), "the options were found");
    let doubtful: Vec<_> = meanings.iter().filter(|(_, meanings)| meanings.len() > 1).collect();
    assert!(doubtful.is_empty(), "a letter with two meanings: {doubtful:?}");
}

#[test]
fn an_option_that_has_a_letter_has_it_in_every_subcommand() {
    let mut letters = BTreeMap::<String, BTreeMap<Option<char>, Vec<String>>>::new();
    each_option(&mut |command, option| {
        let Some(long) = option.get_long() else { return };
        letters.entry(long.to_owned()).or_default().entry(option.get_short()).or_default().push(command.to_owned());
    });
    let doubtful: Vec<_> = letters.iter().filter(|(_, letters)| letters.len() > 1).collect();
    assert!(doubtful.is_empty(), "an option with a letter here and none there: {doubtful:?}");
}

/// `--trace` asks for a trace in `run` and selects trace messages in `streams log`: neither takes a value.
#[test]
fn a_long_name_takes_a_value_of_one_kind_or_none_in_all_subcommands() {
    /// Where a name takes what stands for the same thing in another form.
    const SAME: [[&str; 2]; 4] = [["DIR", "FILE"], ["RUN|SUBJECT", "NAME"], ["KEY", "NAME"], ["FACTOR", "PROPERTY"]];
    let mut kinds = BTreeMap::<String, BTreeMap<String, Vec<String>>>::new();
    each_option(&mut |command, option| {
        let Some(long) = option.get_long() else { return };
        let mut kind = match option.get_value_names() {
            Some(names) if takes_value(option) => names[0].to_string(),
            _ => "no value".to_owned(),
        };
        if let Some([first, _]) = SAME.iter().find(|same| same.contains(&kind.as_str())) {
            kind = (*first).to_owned();
        }
        kinds.entry(long.to_owned()).or_default().entry(kind).or_default().push(command.to_owned());
    });
    assert!(kinds.contains_key("output"), "the options were found");
    let doubtful: Vec<_> = kinds.iter().filter(|(_, kinds)| kinds.len() > 1).collect();
    assert!(doubtful.is_empty(), "a long name with two kinds of value: {doubtful:?}");
}

#[test]
fn only_autopush_takes_over_the_letters_of_another_program() {
    each_option(&mut |command, option| {
        let hidden = option.get_all_short_aliases().unwrap_or_default();
        assert!(hidden.is_empty() || command == "streams autopush", "{command}: {hidden:?}");
    });
}

#[test]
fn json_is_an_option_of_its_own_and_no_format() {
    each_option(&mut |command, option| {
        if option.get_long() == Some("format") && takes_value(option) {
            let values = option.get_possible_values();
            assert!(values.iter().all(|value| value.get_name() != "json"), "{command} --format json: call it --json");
        }
    });
}

#[test]
fn the_placeholder_of_a_value_is_a_word() {
    each_option(&mut |command, option| {
        let names = option.get_value_names().filter(|_| takes_value(option)).unwrap_or_default();
        for name in names {
            assert!(name.len() > 1, "{command} --{}: {name}", option.get_long().unwrap_or_default());
        }
    });
}

/// Calls `check` for the long help of every subcommand that is shown, as it is printed.
fn each_help(check: &mut impl FnMut(&str, &str)) {
    fn walk(mut command: Command, name: &str, check: &mut impl FnMut(&str, &str)) {
        check(name, &command.render_long_help().to_string());
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            walk(subcommand.clone(), format!("{name} {}", subcommand.get_name()).trim(), check);
        }
    }
    let mut root = super::help::fitted(command(), 100).term_width(100);
    root.build();
    walk(root, "", check);
}

/// A letter alone is read as an abbreviation. It may stand before its explanation, as an entry of a list.
#[test]
fn no_help_has_a_letter_that_it_does_not_explain() {
    /// Words of the language, units behind a number, and the names of programs and of a register of statistics.
    const WORDS: [&str; 3] = ["a", "A", "C"];
    let (mut helps, mut doubtful) = (0, Vec::new());
    each_help(&mut |name, help| {
        helps += 1;
        for line in help.lines() {
            let entry = line.trim_start();
            // A command to be typed, and an entry that explains its letter.
            let is_command = ["headwater ", "sudo ", "taskset ", "netperf "].iter().any(|word| entry.starts_with(word));
            let explained =
                entry.len() > 3 && entry.as_bytes()[0].is_ascii_alphabetic() && entry[1..].starts_with("  ");
            if is_command || entry.starts_with('-') || explained {
                continue;
            }
            let mut before = "";
            // What stands between back quotes is typed.
            for part in line.replace("(s)", "").split('`').step_by(2) {
                for word in part.split(|letter: char| !(letter.is_alphanumeric() || "-/'<>_+".contains(letter))) {
                    let is_letter = word.trim_end_matches('\'').len() == 1
                        && word.starts_with(|letter: char| letter.is_alphabetic());
                    let is_unit = ["B", "s"].contains(&word) && before.ends_with(|digit: char| digit.is_ascii_digit());
                    if is_letter && !is_unit && !WORDS.contains(&word) {
                        doubtful.push(format!("{name} --help: {word} in {line:?}"));
                    }
                    before = if word.is_empty() { before } else { word };
                }
            }
        }
    });
    assert!(helps > 25, "{helps}");
    assert!(doubtful.is_empty(), "{doubtful:#?}");
}

#[test]
fn the_texts_of_a_help_are_broken_where_they_should_be() {
    each_help(&mut |name, help| {
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            assert!(pair[1].chars().count() <= 100, "{name} --help: {:?}", pair[1]);
            // Of a paragraph that is broken, the first word of a line did not fit the line before it.
            let is_text = |line: &str| line.starts_with(|letter: char| letter.is_alphabetic()) && !line.ends_with(':');
            let first = pair[1].split(' ').next().unwrap_or_default();
            if is_text(pair[0]) && is_text(pair[1]) {
                let would_be = pair[0].chars().count() + 1 + first.chars().count();
                assert!(would_be > 100, "{name} --help: {:?} and {:?} are one paragraph", pair[0], pair[1]);
            }
        }
    });
}

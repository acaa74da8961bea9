//! The words of a selection: suites and filters. One grammar for `run`, `list` and every other command with filters.
//!
//! A word that names a suite selects it, and any other word filters the rows of the suites, those of `overview` without
//! a suite. Without any word the suite is `choice`. A word that could be either is an error unless it stands alone: `suite:` and `transport:`, `pattern:` or
//! `facility:` before it say which.

use super::PlanError;
use super::filter;
use crate::suites::{self, Suite};
use crate::{facilities, patterns, transports};

/// The prefix of a word that is a suite.
pub const SUITE: &str = "suite:";

/// Suites and filters.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The suites; without one `overview`, and `choice` without any word.
    pub suites: Vec<&'static Suite>,
    /// The filters.
    pub filters: Vec<&'a str>,
}

/// Reads the words. `matches` tells whether a filter matches a row of the suites.
///
/// # Errors
/// A suite that does not exist, or a word with two readings.
pub fn read<'a>(
    words: &'a [String],
    matches: impl Fn(&[&'static Suite], &str) -> bool,
) -> Result<Selection<'a>, PlanError> {
    let of_word = |word: &str| suites::find(word.strip_prefix(SUITE).unwrap_or(word));
    let mut selection = Selection { suites: Vec::new(), filters: Vec::new() };
    for (at, word) in words.iter().enumerate() {
        let Some(suite) = of_word(word) else {
            if let Some(name) = word.strip_prefix(SUITE) {
                if name.is_empty() {
                    return Err(PlanError(format!("{word:?} has no name behind its colon; type it as in {SUITE}ipc")));
                }
                let all = suites::TABLE.iter().map(|suite| suite.name);
                return Err(PlanError(format!("there is no suite {name}: {}", super::suggest::there_are(name, all))));
            }
            selection.filters.push(word);
            continue;
        };
        let others = words.iter().enumerate().filter(|&(other, _)| other != at);
        let others: Vec<&'static Suite> = others.filter_map(|(_, other)| of_word(other)).collect();
        let others = if others.is_empty() { vec![suites::WHOLE] } else { others };
        if words.len() > 1 && !word.starts_with(SUITE) && matches(&others, word) {
            return Err(ambiguous(word, &others));
        }
        selection.suites.push(suite);
    }
    if selection.suites.is_empty() {
        selection.suites.push(if words.is_empty() { &suites::TABLE[0] } else { suites::WHOLE });
    }
    Ok(selection)
}

fn ambiguous(word: &str, others: &[&Suite]) -> PlanError {
    let kind = kind(word).unwrap_or(filter::TRANSPORT);
    let of: Vec<&str> = others.iter().map(|suite| suite.name).collect();
    PlanError(format!(
        "{word:?} has two readings here: type {SUITE}{word} for the suite, or {kind}:{word} for the rows of that {kind} \
         in {}",
        of.join(", ")
    ))
}

/// Returns what a part of a row's id is, the word before the colon that says so; `None` for a name that is none.
pub(super) fn kind(word: &str) -> Option<&'static str> {
    if transports::TABLE.iter().any(|entry| entry.info.name == word) {
        Some(filter::TRANSPORT)
    } else if patterns::find(word).is_some() {
        Some(filter::PATTERN)
    } else {
        facilities::find(word).map(|_| filter::FACILITY)
    }
}

/// Returns the names that are a suite and a part of a row's id as well, with the two ways to type each.
pub fn doubtful() -> Vec<(String, String)> {
    let names = suites::TABLE.iter().map(|suite| suite.name);
    names.filter_map(|name| Some((format!("{SUITE}{name}"), format!("{}:{name}", kind(name)?)))).collect()
}

//! Variants: settings under which every row is measured, block by block, so that programs and configurations can be
//! compared.

use std::fmt;

use headwater_results::schema::{Placement, Row};

use super::PlanError;
use crate::harness::external::words;

/// The variant with which a single one is compared: this program without changes.
pub const PLAIN: &str = "plain";

/// A variant, as given by `--variant NAME=[KEY=VALUE ...] [COMMAND [ARG ...]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The last part of the ids of its rows.
    pub name: String,
    /// Additional environment variables of its launches.
    pub environment: Vec<(String, String)>,
    /// The command that runs its launches: `chrt -f 10`.
    pub wrapper: Vec<String>,
    /// Another headwater program that runs its launches; `None` for this one.
    pub program: Option<String>,
}

impl Variant {
    /// Parses `NAME=[KEY=VALUE ...] [COMMAND [ARG ...]]`. A last word whose file name begins with `headwater` is the
    /// program; other words are a wrapper. Quotes keep words together.
    ///
    /// # Errors
    /// A description of the mistake, in one line.
    pub fn parse(text: &str) -> Result<Variant, PlanError> {
        let fail = |what: &str| PlanError(format!("--variant {text:?}: {what}"));
        let (name, rest) =
            text.split_once('=').ok_or_else(|| fail("a variant is NAME=[KEY=VALUE ...] [COMMAND ...]"))?;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(fail("its name is made of letters, digits, '-', '_' and '.'"));
        }
        if [Placement::SameCpu, Placement::TwoCpus, Placement::Free].iter().any(|placement| placement.name() == name) {
            return Err(fail("its name is that of a placement; choose another"));
        }
        let mut variant = Variant { name: name.to_owned(), ..Variant::default() };
        let words = if rest.trim().is_empty() { Vec::new() } else { words(rest).map_err(|what| fail(&what))? };
        let mut rest = words.into_iter().peekable();
        while let Some((key, value)) = rest.peek().and_then(|word| assignment(word)) {
            variant.environment.push((key.to_owned(), value.to_owned()));
            rest.next();
        }
        variant.wrapper = rest.collect();
        variant.program = variant.wrapper.pop_if(|last| is_headwater(last));
        Ok(variant)
    }
}

/// Prints the form that [`Variant::parse`] accepts.
impl fmt::Display for Variant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let environment = self.environment.iter().map(|(key, value)| quoted(&format!("{key}={value}")));
        let command = self.wrapper.iter().chain(&self.program).map(|word| quoted(word));
        write!(formatter, "{}={}", self.name, environment.chain(command).collect::<Vec<_>>().join(" "))
    }
}

/// Parses all variants of a run, the baseline first.
///
/// # Errors
/// If one is invalid or two have the same name.
pub fn parse_all(texts: &[String]) -> Result<Vec<Variant>, PlanError> {
    let mut variants = texts.iter().map(|text| Variant::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let [only] = &variants[..] {
        let plain = Variant { name: PLAIN.to_owned(), ..Variant::default() };
        if only.name == PLAIN {
            return Err(PlanError(format!(
                "--variant {texts:?}: one variant named {PLAIN} has nothing to be compared with"
            )));
        }
        variants.insert(0, plain);
    }
    for (at, variant) in variants.iter().enumerate() {
        if variants[..at].iter().any(|other| other.name == variant.name) {
            return Err(PlanError(format!("--variant {}=...: there are two of this name", variant.name)));
        }
    }
    Ok(variants)
}

/// Returns the row of `row` under a variant.
pub fn of_row(row: &Row, variant: &Variant) -> Row {
    Row { id: format!("{}/{}", row.id, variant.name), variant: Some(variant.name.clone()), ..row.clone() }
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    (!key.is_empty() && !key.starts_with(|first: char| first.is_ascii_digit()) && key.chars().all(is_name))
        .then_some((key, value))
}

fn is_headwater(word: &str) -> bool {
    word.rsplit('/').next().is_some_and(|name| name.starts_with("headwater"))
}

fn quoted(word: &str) -> String {
    let plain =
        !word.is_empty() && !word.contains(|character: char| character.is_whitespace() || "'\"".contains(character));
    match plain {
        true => word.to_owned(),
        false if word.contains('\'') => format!("\"{word}\""),
        false => format!("'{word}'"),
    }
}

#[cfg(test)]
mod tests;

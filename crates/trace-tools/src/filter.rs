//! Filters on the values of events, `shop:put if len > 100 && path ~ "/cart*"`: parsed from what a user has written, evaluated
//! by the consumer of a session and by the exports. The expressions are those of the kernel's own filters (tracefs), to which
//! [`crate::kernel`] passes them on.
//!
//! ```text
//! filter     = pattern "if" either
//! either     = both { "||" both }
//! both       = not { "&&" not }
//! not        = "!" not | "(" either ")" | field operator value
//! operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "&" | "~"
//! value      = number | "text" | 'text'
//! ```

use std::cmp::Ordering;
use std::fmt;

use crate::names::glob;
use crate::schema::EventKind;
use crate::value::{Fields, Value};

mod parse;

/// A condition on the events whose names match a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pattern: String,
    /// The condition as it was written.
    text: String,
    condition: Condition,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare { field: String, operator: Operator, literal: Literal },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// Any of these bits is set.
    Bits,
    /// The text matches a pattern with `*` and `?`.
    Like,
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    /// An integer of 64 bits, signed or not.
    Integer(i128),
    Float(f64),
    Text(String),
}

/// A filter that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misunderstood {
    text: String,
    /// The place of the error, in bytes.
    at: usize,
    expected: &'static str,
}

/// The reason, and below it the filter with a mark at the place.
impl fmt::Display for Misunderstood {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misunderstood { text, at, expected } = self;
        let width = text[..*at].chars().count();
        write!(formatter, "a filter is not understood: expected {expected}\n  {text}\n  {:width$}^", "")
    }
}

impl std::error::Error for Misunderstood {}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The place, and what was expected there.
    pub fn parse(text: &str) -> Result<Filter, Misunderstood> {
        parse::filter(text)
    }

    /// Returns whether it is about the events of that name.
    pub fn is_about(&self, name: &str) -> bool {
        glob(&self.pattern, name)
    }

    /// Returns the condition as it was written.
    pub fn condition(&self) -> &str {
        &self.text
    }

    /// Returns whether an event with these fields passes: the filter is about others, or its condition holds. A comparison with
    /// a field that the event does not have, or of another type, does not hold.
    pub fn passes(&self, kind: &EventKind, bytes: &[u8]) -> bool {
        !self.is_about(&kind.name) || self.condition.holds(&|| Fields::new(&kind.fields, bytes))
    }
}

/// As [`Filter::parse`] takes it.
impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} if {}", self.pattern, self.text)
    }
}

impl Condition {
    fn holds<'a>(&self, fields: &dyn Fn() -> Fields<'a>) -> bool {
        match self {
            Condition::All(all) => all.iter().all(|condition| condition.holds(fields)),
            Condition::Any(any) => any.iter().any(|condition| condition.holds(fields)),
            Condition::Not(condition) => !condition.holds(fields),
            Condition::Compare { field, operator, literal } => {
                let value = fields().find(|(name, _)| name == field).map(|(_, value)| value);
                value.is_some_and(|value| operator.holds(&value, literal))
            }
        }
    }
}

impl Operator {
    fn holds(self, value: &Value<'_>, literal: &Literal) -> bool {
        let order = match (value, literal) {
            (_, Literal::Text(text)) => {
                let own = match value {
                    Value::Named { name, .. } => name.map(str::to_owned),
                    value => value.as_text(),
                };
                let Some(own) = own else { return false };
                if self == Operator::Like {
                    return glob(text, &own);
                }
                Some(own.as_str().cmp(text))
            }
            (Value::Float(own), Literal::Float(number)) => own.partial_cmp(number),
            (Value::Float(own), Literal::Integer(number)) => own.partial_cmp(&(*number as f64)),
            (value, literal) => {
                let Some(own) = integer(value) else { return false };
                match literal {
                    Literal::Integer(number) if self == Operator::Bits => return own & number != 0,
                    Literal::Integer(number) => Some(own.cmp(number)),
                    Literal::Float(number) => (own as f64).partial_cmp(number),
                    Literal::Text(_) => None,
                }
            }
        };
        let Some(order) = order else { return false };
        match self {
            Operator::Equal => order == Ordering::Equal,
            Operator::Unequal => order != Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::AtMost => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::AtLeast => order != Ordering::Less,
            Operator::Bits | Operator::Like => false,
        }
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Unsigned { value, .. } | Value::Named { value, .. } => Some((*value).into()),
        Value::Signed(value) => Some((*value).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

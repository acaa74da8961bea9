//! Parses and prints lists of sizes: `64,4k`, `1..65536*2`, `1k..4k+1k`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest message in bytes.
pub const SIZE_MAX: u64 = 1 << 30;

/// The most sizes of a list. A longer range is taken for a mistake.
pub const SIZES_MAX: usize = 1000;

/// A list of message sizes in bytes, ascending and without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes(pub Vec<u64>);

impl FromStr for Sizes {
    type Err = String;

    /// Parses a comma-separated list of sizes (`4096`, `4k`, `1m`; powers of 1024) and ranges (`FROM..TO*FACTOR`,
    /// `FROM..TO+STEP`; `FROM..TO` doubles). A range includes its end.
    fn from_str(text: &str) -> Result<Sizes, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((from, rest)) => range(from, rest, part, &mut sizes)?,
                None => sizes.push(size(part)?),
            }
            if sizes.len() > SIZES_MAX {
                return Err(format!("{part:?} makes more than {SIZES_MAX} sizes"));
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Sizes(sizes))
    }
}

fn range(from: &str, rest: &str, part: &str, sizes: &mut Vec<u64>) -> Result<(), String> {
    let (to, step) = match rest.find(['*', '+']) {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, "*2"),
    };
    let (from, to) = (size(from)?, size(to)?);
    if from > to {
        return Err(format!("{part:?} ends before it starts"));
    }
    let by = size(&step[1..])?;
    let next: Box<dyn Fn(u64) -> u64> = match &step[..1] {
        "*" if by < 2 => return Err(format!("{part:?} never grows: the factor is at least 2")),
        "*" => Box::new(move |value| value.saturating_mul(by)),
        _ => Box::new(move |value| value.saturating_add(by)),
    };
    let mut value = from;
    while value <= to && sizes.len() <= SIZES_MAX {
        sizes.push(value);
        value = next(value);
    }
    Ok(())
}

/// Parses one message size: digits with an optional `k`, `m` or `g` (powers of 1024), and an optional `B` or `iB`.
///
/// # Errors
/// A description of the mistake, with an example.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write it like 64, 4k, 1m, or a range like 1..65536*2");
    match bytes(text).ok_or_else(wrong)? {
        0 => Err("a message has at least one byte: 0 is not a size".into()),
        bytes if bytes > SIZE_MAX => Err(format!("{text:?} is more than a message may have ({SIZE_MAX} B)")),
        bytes => Ok(bytes),
    }
}

/// Parses a number of bytes: digits with an optional `k`, `m` or `g` (powers of 1024), and an optional `B` or `iB`.
/// `None` for other texts, and for numbers that exceed a u64.
pub fn bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits_end = lower.find(|character: char| !character.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..digits_end].parse().ok()?;
    let shift = match &lower[digits_end..] {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

impl TryFrom<String> for Sizes {
    type Error = String;

    fn try_from(text: String) -> Result<Sizes, String> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> String {
        sizes.to_string()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(u64::to_string).collect();
        formatter.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests;

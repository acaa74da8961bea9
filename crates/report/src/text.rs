//! Text utilities: wrapping, lists, plurals. Used by sections and sentences.

use crate::style::width_of;

/// Breaks `text` at white space into lines of at most `width` columns, each after the first indented by `indent`
/// spaces. A word longer than a line is cut.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    let mut used = 0;
    for word in words(text).iter().flat_map(|word| pieces(word, width - indent)) {
        let length = width_of(&word);
        let is_first = used == if lines.len() == 1 { 0 } else { indent };
        if !is_first && used + 1 + length > width {
            lines.push(" ".repeat(indent));
            used = indent;
        } else if !is_first {
            lines.last_mut().expect("there is a first line").push(' ');
            used += 1;
        }
        lines.last_mut().expect("there is a first line").push_str(&word);
        used += length;
    }
    lines.join("\n")
}

/// Joins the parts with `separator`, broken between parts to fit a line; each line after the first is indented by
/// `indent` spaces.
pub(crate) fn wrap_parts(parts: &[String], separator: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(separator) + width_of(part) + indent <= width => {
                line.push_str(separator);
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| wrap(line, width - indent, 0)).collect();
    lines.join("\n").replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// Units that must stay on the line of their number.
const UNITS: &[&str] = &[
    "%", "B", "KiB", "MiB", "GiB", "ns", "us", "ms", "s", "k", "M", "k/s", "M/s", "kB/s", "MB/s", "GB/s", "CPUs",
    "launches",
];

/// Splits `text` into words; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|last: char| last.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Splits a word into pieces of at most `width` columns.
fn pieces(word: &str, width: usize) -> Vec<String> {
    if width_of(word) <= width {
        return vec![word.to_owned()];
    }
    let characters: Vec<char> = word.chars().collect();
    characters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Quotes words as they would be typed into a shell.
pub fn command_line(words: &[String]) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_./,:=@%+".contains(character);
    let quoted = words.iter().map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns `a`, `a and b`, or `a, b and c`.
pub(crate) fn list<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Returns at most `shown` of the words, and the number of the others: `a, b and 3 others`.
pub(crate) fn short_list<S: AsRef<str>>(words: &[S], shown: usize) -> String {
    // "and 1 other" would not be shorter than the word.
    if words.len() <= shown + 1 {
        return list(words);
    }
    let mut first: Vec<String> = words[..shown].iter().map(|word| word.as_ref().to_owned()).collect();
    first.push(format!("{} others", words.len() - shown));
    list(&first)
}

/// Returns `1 row`, `2 rows`, `3 launches`.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Capitalises a text.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

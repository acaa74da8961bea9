//! Splits TSDL into tokens, without regard to their meaning.

/// A token of TSDL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name or keyword.
    Word(String),
    /// A decimal, octal or hexadecimal number; a sign is a [`Token::Symbol`].
    Number(u64),
    /// A string literal, without its escapes.
    Text(String),
    /// `:=` or a single character.
    Symbol(&'static str),
}

/// The symbols, longest first.
const SYMBOLS: [&str; 16] = [":=", "{", "}", "(", ")", "[", "]", "<", ">", "=", ";", ":", ",", ".", "-", "+"];

/// Returns the tokens of a text, each with its line number, from 1.
///
/// Errors: the line, and the text that is not a token.
pub fn tokens(text: &str) -> Result<Vec<(usize, Token)>, (usize, String)> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let from = line;
        let fail = |message: &str| (from, message.to_owned());
        let len;
        if first.is_ascii_whitespace() {
            len = 1;
        } else if rest.starts_with("/*") {
            len = rest.find("*/").ok_or_else(|| fail("a comment without an end"))? + 2;
        } else if rest.starts_with("//") {
            len = rest.find('\n').unwrap_or(rest.len());
        } else if first == '"' {
            let text = literal(&rest[1..]).map_err(fail)?;
            len = text.1 + 1;
            tokens.push((from, Token::Text(text.0)));
        } else if first.is_ascii_alphabetic() || first == '_' {
            len = word_len(rest);
            tokens.push((from, Token::Word(rest[..len].to_owned())));
        } else if first.is_ascii_digit() {
            len = word_len(rest);
            let number = number(&rest[..len]).ok_or_else(|| fail(&format!("{} is not a number", &rest[..len])))?;
            tokens.push((from, Token::Number(number)));
        } else if let Some(mark) = SYMBOLS.iter().find(|mark| rest.starts_with(**mark)) {
            len = mark.len();
            tokens.push((from, Token::Symbol(mark)));
        } else {
            return Err(fail(&format!("{first:?} does not belong here")));
        }
        line += rest[..len].bytes().filter(|byte| *byte == b'\n').count();
        rest = &rest[len..];
    }
    Ok(tokens)
}

fn word_len(text: &str) -> usize {
    text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_').unwrap_or(text.len())
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the contents of a string literal up to its quotation mark, and their length including it.
fn literal(text: &str) -> Result<(String, usize), &'static str> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((out, at + 1)),
            '\\' => out.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, other @ ('"' | '\\'))) => other,
                _ => return Err("an escape other than \\\", \\\\, \\n and \\t"),
            }),
            other => out.push(other),
        }
    }
    Err("a string without an end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_lines() {
        let text = "a_1 := 0x1f /* x\n */ [010] // y\n\"s\\\"\\\\\\n é\"; -7";
        let expected = vec![
            (1, Token::Word("a_1".into())),
            (1, Token::Symbol(":=")),
            (1, Token::Number(31)),
            (2, Token::Symbol("[")),
            (2, Token::Number(8)),
            (2, Token::Symbol("]")),
            (3, Token::Text("s\"\\\n é".into())),
            (3, Token::Symbol(";")),
            (3, Token::Symbol("-")),
            (3, Token::Number(7)),
        ];
        assert_eq!(tokens(text), Ok(expected));
    }

    #[test]
    fn invalid_text_is_reported_with_its_line() {
        for (text, line, message) in [
            ("a\n\n/* b", 3, "a comment without an end"),
            ("\n\"b", 2, "a string without an end"),
            ("\"\\q\"", 1, "an escape other than \\\", \\\\, \\n and \\t"),
            ("\n12ab", 2, "12ab is not a number"),
            ("18446744073709551616", 1, "18446744073709551616 is not a number"),
            ("a\u{e9}", 1, "'é' does not belong here"),
        ] {
            assert_eq!(tokens(text), Err((line, message.to_owned())));
        }
    }
}

//! Parses filters; the grammar is in the parent's documentation.

use super::{Condition, Filter, Literal, Misunderstood, Operator};

/// The deepest nesting of parentheses and negations.
const DEPTH_MAX: usize = 32;

/// Longer operators come before those with which they begin.
const OPERATORS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("&", Operator::Bits),
    ("~", Operator::Like),
];

type Result<T> = std::result::Result<T, Misunderstood>;

pub(super) fn filter(text: &str) -> Result<Filter> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.skip_blanks();
    let pattern = parser.take_while(|character| !character.is_whitespace());
    if pattern.is_empty() || !parser.takes_word("if") {
        return parser.fail("the name of an event, or a pattern of names, and `if`, as in 'shop:put if len > 100'");
    }
    parser.skip_blanks();
    let condition_at = parser.at;
    let condition = parser.either()?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return parser.fail("&&, || or the end");
    }
    Ok(Filter { pattern: pattern.to_owned(), text: text[condition_at..].trim_end().to_owned(), condition })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, expected: &'static str) -> Result<T> {
        Err(Misunderstood { text: self.text.to_owned(), at: self.at, expected })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Takes this symbol after blanks, if it comes next.
    fn takes(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(symbol);
        self.at += if is_next { symbol.len() } else { 0 };
        is_next
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.at;
        self.skip_blanks();
        let is_next = self.take_while(|character| !character.is_whitespace()) == word;
        if !is_next {
            self.at = before;
        }
        is_next
    }

    fn either(&mut self) -> Result<Condition> {
        self.several("||", Condition::Any, Parser::both)
    }

    fn both(&mut self) -> Result<Condition> {
        self.several("&&", Condition::All, Parser::not)
    }

    fn several(
        &mut self,
        between: &str,
        join: fn(Vec<Condition>) -> Condition,
        one: fn(&mut Parser<'a>) -> Result<Condition>,
    ) -> Result<Condition> {
        let first = one(self)?;
        let mut all = vec![first];
        while self.takes(between) {
            all.push(one(self)?);
        }
        Ok(if all.len() > 1 { join(all) } else { all.remove(0) })
    }

    fn not(&mut self) -> Result<Condition> {
        if self.depth == DEPTH_MAX {
            return self.fail("fewer parentheses within each other");
        }
        self.depth += 1;
        let condition = if self.takes("!") {
            Condition::Not(Box::new(self.not()?))
        } else if self.takes("(") {
            let inner = self.either()?;
            if !self.takes(")") {
                return self.fail("&&, || or a closing parenthesis");
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Condition> {
        let field = self.take_while(|character| character.is_ascii_alphanumeric() || character == '_');
        if field.is_empty() || field.starts_with(|first: char| first.is_ascii_digit()) {
            self.at -= field.len();
            return self.fail("the name of a field");
        }
        self.skip_blanks();
        let operator_at = self.at;
        let Some((_, operator)) = OPERATORS.iter().find(|(symbol, _)| self.takes(symbol)) else {
            return self.fail("==, !=, <, <=, >, >=, & or ~");
        };
        self.skip_blanks();
        let literal_at = self.at;
        let literal = self.literal()?;
        let fits = match literal {
            Literal::Text(_) => matches!(operator, Operator::Equal | Operator::Unequal | Operator::Like),
            Literal::Integer(_) => *operator != Operator::Like,
            Literal::Float(_) => !matches!(operator, Operator::Like | Operator::Bits),
        };
        if !fits {
            let is_text = matches!(literal, Literal::Text(_));
            self.at = if is_text { operator_at } else { literal_at };
            return self.fail(match (is_text, operator) {
                (true, _) => "==, != or ~ before a text",
                (false, Operator::Like) => "a text in quotes",
                (false, _) => "an integer",
            });
        }
        Ok(Condition::Compare { field: field.to_owned(), operator: *operator, literal })
    }

    fn literal(&mut self) -> Result<Literal> {
        if let Some(quote) = self.rest().chars().next().filter(|first| ['"', '\''].contains(first)) {
            let inside = &self.rest()[1..];
            let Some(len) = inside.find(quote) else { return self.fail("a text with a quote at its end") };
            self.at += len + 2;
            return Ok(Literal::Text(inside[..len].to_owned()));
        }
        let before = self.at;
        let word = self.take_while(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
        let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
        let integer = match digits.strip_prefix("0x") {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
            None => digits.parse().ok(),
        };
        let starts_well = digits.starts_with(|first: char| first.is_ascii_digit());
        match (integer, word.parse()) {
            (Some(integer), _) if starts_well => Ok(Literal::Integer(sign * i128::from(integer))),
            (None, Ok(float)) if starts_well && !digits.starts_with("0x") => Ok(Literal::Float(float)),
            _ => {
                self.at = before;
                self.fail("a number, or a text in quotes")
            }
        }
    }
}

//! Parses the metadata that [`super`] writes. The constant parts are compared token by token with the same texts, so
//! that a trace with another record layout is refused instead of misread.

use super::lex::{Token, tokens};
use super::{Metadata, PACKET_AND_TYPES, SIGNATURE, STREAM, STREAM_NAME, TIME, TRACE};
use crate::schema::{Base, Check, Clock, EventKind, Field, FieldKind, Schema, StreamKind};

type Result<T> = std::result::Result<T, (usize, String)>;

/// Parses a metadata file.
///
/// Errors: the line, and what was expected there.
pub fn metadata(text: &str) -> Result<Metadata> {
    if !text.starts_with(SIGNATURE) {
        return Err((1, "this is not the metadata of a CTF 1.8 trace as text".into()));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    parser.fixed(TRACE)?;
    let uuid = parser.uuid()?;
    parser.fixed(PACKET_AND_TYPES)?;
    let (names, environment) = parser.environment()?;
    let clock = parser.clock()?;
    parser.fixed(TIME[0])?;
    parser.fixed(&clock.name)?;
    parser.fixed(TIME[1])?;
    let mut streams = Vec::new();
    for (id, name) in names.into_iter().enumerate() {
        parser.fixed(&format!("stream {{ id = {id} {STREAM}"))?;
        let mut events = Vec::new();
        while parser.is_next("event") {
            events.push(parser.event(id)?);
        }
        streams.push(StreamKind { name, events });
    }
    if parser.at < parser.tokens.len() {
        return parser.fail("the end of the file, since the environment names no more streams");
    }
    let schema = Schema { clock, streams, environment };
    let last = text.lines().count();
    schema.check().map_err(|unfit| (last, format!("the description contradicts itself: {unfit}")))?;
    Ok(Metadata { uuid, schema })
}

/// Names and values.
type Environment = Vec<(String, String)>;

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl Parser {
    fn fail<T>(&self, expected: &str) -> Result<T> {
        let (line, found) = match self.tokens.get(self.at) {
            Some((line, token)) => (*line, shown(token)),
            None => (self.tokens.last().map_or(1, |(line, _)| *line), "the end of the file".to_owned()),
        };
        Err((
            line,
            format!(
                "expected {expected}, found {found}: only traces that headwater wrote are read here; babeltrace2 reads others"
            ),
        ))
    }

    fn is_next(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at), Some((_, Token::Word(next))) if next == word)
    }

    /// Checks that the next tokens are those of `text`.
    fn fixed(&mut self, text: &str) -> Result<()> {
        for (_, expected) in tokens(text).expect("our own texts are sound") {
            if self.tokens.get(self.at).map(|(_, token)| token) != Some(&expected) {
                return self.fail(&shown(&expected));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn is_fixed(&mut self, text: &str) -> bool {
        let before = self.at;
        let fits = self.fixed(text).is_ok();
        if !fits {
            self.at = before;
        }
        fits
    }

    fn word(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some((_, Token::Word(word))) => {
                self.at += 1;
                Ok(word.clone())
            }
            _ => self.fail("a name"),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some((_, Token::Text(text))) => {
                self.at += 1;
                Ok(text.clone())
            }
            _ => self.fail("a string"),
        }
    }

    /// Parses a number that fits the type.
    fn number<T: TryFrom<u64>>(&mut self) -> Result<T> {
        match self.tokens.get(self.at) {
            Some((_, Token::Number(number))) => match T::try_from(*number) {
                Ok(number) => {
                    self.at += 1;
                    Ok(number)
                }
                Err(_) => self.fail("a smaller number"),
            },
            _ => self.fail("a number"),
        }
    }

    fn uuid(&mut self) -> Result<[u8; 16]> {
        let text = self.text()?;
        let digits: Option<Vec<u8>> =
            text.chars().filter(|at| *at != '-').map(|at| at.to_digit(16).map(|digit| digit as u8)).collect();
        match digits.filter(|digits| digits.len() == 32) {
            Some(digits) => Ok(std::array::from_fn(|at| digits[2 * at] << 4 | digits[2 * at + 1])),
            None => {
                self.at -= 1;
                self.fail("a uuid")
            }
        }
    }

    /// Parses the names of the streams and the rest of the environment.
    fn environment(&mut self) -> Result<(Vec<String>, Environment)> {
        let (mut names, mut others) = (Vec::new(), Vec::new());
        self.fixed("env {")?;
        while !self.is_fixed("};") {
            let name = self.word()?;
            self.fixed("=")?;
            let value = self.text()?;
            self.fixed(";")?;
            if name == format!("{STREAM_NAME}{}", names.len()) {
                names.push(value);
            } else {
                others.push((name, value));
            }
        }
        Ok((names, others))
    }

    fn clock(&mut self) -> Result<Clock> {
        self.fixed("clock { name =")?;
        let name = self.word()?;
        self.fixed("; freq =")?;
        let frequency_hz = self.number()?;
        self.fixed("; offset_s =")?;
        let sign = if self.is_fixed("-") { -1 } else { 1 };
        let offset_s = match i64::try_from(i128::from(self.number::<u64>()?) * sign) {
            Ok(offset) => offset,
            Err(_) => {
                self.at -= 1;
                return self.fail("seconds in 64 bits");
            }
        };
        self.fixed("; offset =")?;
        let offset_ticks = self.number()?;
        self.fixed("; absolute = true; };")?;
        Ok(Clock { name, frequency_hz, offset_s, offset_ticks })
    }

    fn event(&mut self, stream: usize) -> Result<EventKind> {
        self.fixed("event { name =")?;
        let name = self.text()?;
        self.fixed("; id =")?;
        let id = self.number()?;
        self.fixed(&format!("; stream_id = {stream}; fields := struct {{"))?;
        let mut fields = Vec::new();
        while !self.is_fixed("}; };") {
            fields.push(self.field()?);
        }
        Ok(EventKind { id, name, fields })
    }

    fn field(&mut self) -> Result<Field> {
        let mut kind = self.kind()?;
        let underscored = self.word()?;
        let Some(name) = underscored.strip_prefix('_') else {
            self.at -= 1;
            return self.fail("a name that begins with an underscore");
        };
        if self.is_fixed("[") {
            kind = FieldKind::Array { item: Box::new(kind), count: self.number()? };
            self.fixed("]")?;
        }
        self.fixed(";")?;
        Ok(Field { name: name.to_owned(), kind })
    }

    fn kind(&mut self) -> Result<FieldKind> {
        if self.is_fixed("enum :") {
            return self.named();
        }
        let word = self.word()?;
        if word == "string" {
            return Ok(FieldKind::Text);
        }
        match plain(&word) {
            Some(kind) => Ok(kind),
            None => {
                self.at -= 1;
                self.fail("a type")
            }
        }
    }

    /// Parses the type after `enum :`.
    fn named(&mut self) -> Result<FieldKind> {
        let Some(FieldKind::Unsigned { bytes, base: Base::Decimal }) = plain(&self.word()?) else {
            self.at -= 1;
            return self.fail("an unsigned type");
        };
        self.fixed("{")?;
        let mut names = Vec::new();
        loop {
            let name = self.text()?;
            self.fixed("=")?;
            names.push((self.number()?, name));
            if self.is_fixed("}") {
                return Ok(FieldKind::Named { bytes, names });
            }
            self.fixed(",")?;
        }
    }
}

/// Returns the type of an alias.
fn plain(alias: &str) -> Option<FieldKind> {
    let bytes = match alias.get(1..)? {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return None,
    };
    Some(match alias.as_bytes()[0] {
        b'u' => FieldKind::Unsigned { bytes, base: Base::Decimal },
        b'x' => FieldKind::Unsigned { bytes, base: Base::Hexadecimal },
        b's' => FieldKind::Signed { bytes },
        b'f' if bytes >= 4 => FieldKind::Float { bytes },
        _ => return None,
    })
}

fn shown(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Number(number) => format!("`{number}`"),
        Token::Text(text) => format!("{text:?}"),
        Token::Symbol(mark) => format!("`{mark}`"),
    }
}

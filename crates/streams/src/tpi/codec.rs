//! The fields of a primitive: 32-bit words in the order of the machine, and parts of variable length, each of which two words
//! describe: its length, and its offset from the beginning of the control part. Every length and offset is checked.

use std::fmt;

/// The bytes are no primitive: too short, of an unknown number, or with a part that does not lie inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc = include_str!("../../doc/tpi.md")]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the control part is no primitive of a transport provider's interface")
    }
}

impl std::error::Error for Malformed {}

/// Bytes of a word (t_scalar_t).
const WORD: usize = 4;

/// The fields of a control part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Of a control part whose fixed part has `words` words.
    pub fn of(bytes: &'a [u8], words: usize) -> Result<Fields<'a>, Malformed> {
        if bytes.len() < words * WORD { Err(Malformed) } else { Ok(Fields(bytes)) }
    }

    pub fn word(&self, at: usize) -> Result<u32, Malformed> {
        let bytes = self.0.get(at * WORD..).and_then(|rest| rest.first_chunk()).ok_or(Malformed)?;
        Ok(u32::from_ne_bytes(*bytes))
    }

    pub fn signed(&self, at: usize) -> Result<i32, Malformed> {
        Ok(self.word(at)?.cast_signed())
    }

    /// The part whose length is the word `at`, and whose offset is the next one. The offset of an empty part has no meaning.
    pub fn part(&self, at: usize) -> Result<&'a [u8], Malformed> {
        let (len, offset) = (self.word(at)? as usize, self.word(at + 1)? as usize);
        if len == 0 {
            return Ok(&[]);
        }
        let end = offset.checked_add(len).ok_or(Malformed)?;
        self.0.get(offset..end).ok_or(Malformed)
    }
}

/// A control part that is being made.
#[derive(Debug)]
pub(super) struct Maker {
    bytes: Vec<u8>,
    at: usize,
}

impl Maker {
    /// With a fixed part of `words` words, and room for parts of `more` bytes in all.
    pub fn new(words: usize, more: usize) -> Maker {
        let mut bytes = Vec::with_capacity(words * WORD + more + 2 * WORD);
        bytes.resize(words * WORD, 0);
        Maker { bytes, at: 0 }
    }

    pub fn word(mut self, word: u32) -> Maker {
        self.bytes[self.at..self.at + WORD].copy_from_slice(&word.to_ne_bytes());
        self.at += WORD;
        self
    }

    pub fn signed(self, word: i32) -> Maker {
        self.word(word.cast_unsigned())
    }

    /// A part, aligned as a structure in C may need it.
    pub fn part(mut self, part: &[u8]) -> Maker {
        if part.is_empty() {
            return self.word(0).word(0);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(WORD), 0);
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(part);
        self.word(part.len() as u32).word(offset as u32)
    }

    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

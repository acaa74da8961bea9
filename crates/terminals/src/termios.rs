//! Terminal settings in Linux's layout, which C programs pass to the ioctls here: `struct termios` of the kernel, with the speeds of
//! `termios2` behind it; and the messages by which `ptem` tells `ldterm` of them (M_CTL).
//!
//! The meanings are those of POSIX, "General Terminal Interface", and of termios(3); the numbers are Linux's.

use headwater_streams::{Kind, Message, MessageHeader, Queue, Result};

pub mod numbers;

use numbers::*;

/// Bytes of `struct termios` as TCGETS and TCSETS carry it.
pub const TERMIOS: usize = 36;
/// Bytes of `struct termios2` (TCGETS2).
pub const TERMIOS2: usize = 44;
/// Bytes of `struct termio` (TCGETA).
pub const TERMIO: usize = 18;
/// Control characters.
pub const NCCS: usize = 19;

/// A terminal's settings.
///
/// ```
/// use headwater_terminals::termios::{Termios, numbers::{ECHO, ICANON}};
///
/// let usual = Termios::default();
/// assert!(usual.has_local(ICANON | ECHO));
/// assert!(!usual.raw().has_local(ICANON));
/// assert_eq!(Termios::from_bytes(&usual.bytes()), Some(usual));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "struct termios")]
pub struct Termios {
    /// Input modes (c_iflag).
    #[doc(alias = "c_iflag")]
    pub input: u32,
    /// Output modes (c_oflag).
    #[doc(alias = "c_oflag")]
    pub output: u32,
    /// Control modes (c_cflag): kept, without an effect.
    #[doc(alias = "c_cflag")]
    pub control: u32,
    /// Local modes (c_lflag).
    #[doc(alias = "c_lflag")]
    pub local: u32,
    /// The line discipline's number (c_line): kept, without an effect.
    #[doc(alias = "c_line")]
    pub line: u8,
    /// The control characters (c_cc), by the numbers `V...`; 0 switches one off.
    #[doc(alias = "c_cc")]
    pub characters: [u8; NCCS],
    /// Speeds of input and output, bits per second: kept, without an effect.
    pub speeds: [u32; 2],
}

impl Default for Termios {
    /// A new terminal's, as Linux has them.
    fn default() -> Termios {
        let mut characters = [0; NCCS];
        let usual = [
            (VINTR, 3),
            (VQUIT, 0x1c),
            (VERASE, 0x7f),
            (VKILL, 0x15),
            (VEOF, 4),
            (VMIN, 1),
            (VSTART, 0x11),
            (VSTOP, 0x13),
            (VSUSP, 0x1a),
            (VREPRINT, 0x12),
            (VDISCARD, 0x0f),
            (VWERASE, 0x17),
            (VLNEXT, 0x16),
        ];
        for (place, character) in usual {
            characters[place] = character;
        }
        Termios {
            input: ICRNL | IXON,
            output: OPOST | ONLCR,
            control: CS8 | CREAD | B38400,
            local: ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
            line: 0,
            characters,
            speeds: [38400; 2],
        }
    }
}

impl Termios {
    /// Without any processing: what cfmakeraw(3) makes of it.
    #[must_use]
    pub fn raw(self) -> Termios {
        let mut characters = self.characters;
        (characters[VMIN], characters[VTIME]) = (1, 0);
        Termios {
            input: self.input & !(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON),
            output: self.output & !OPOST,
            local: self.local & !(ECHO | ECHONL | ICANON | ISIG | IEXTEN),
            characters,
            ..self
        }
    }

    /// Whether any of these input modes is on.
    pub fn has_input(&self, modes: u32) -> bool {
        self.input & modes != 0
    }

    /// Whether any of these output modes is on.
    pub fn has_output(&self, modes: u32) -> bool {
        self.output & modes != 0
    }

    /// Whether any of these local modes is on.
    pub fn has_local(&self, modes: u32) -> bool {
        self.local & modes != 0
    }

    /// Whether the byte is that control character, which is not switched off.
    pub(crate) fn is(&self, byte: u8, place: usize) -> bool {
        byte != 0 && self.characters[place] == byte
    }

    /// As `struct termios2`; the first [`TERMIOS`] bytes are `struct termios`.
    pub fn bytes(&self) -> [u8; TERMIOS2] {
        let mut bytes = [0; TERMIOS2];
        let words = [(0, self.input), (4, self.output), (8, self.control), (12, self.local)];
        let speeds = [(36, self.speeds[0]), (40, self.speeds[1])];
        for (at, word) in words.into_iter().chain(speeds) {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16] = self.line;
        bytes[17..17 + NCCS].copy_from_slice(&self.characters);
        bytes
    }

    /// From `struct termios2`. None for fewer bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Termios> {
        let bytes: &[u8; TERMIOS2] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Some(Termios {
            input: word(0),
            output: word(4),
            control: word(8),
            local: word(12),
            line: bytes[16],
            characters: std::array::from_fn(|at| bytes[17 + at]),
            speeds: [word(36), word(40)],
        })
    }

    /// With the bytes of `struct termios`, `termios2` or `termio` in the place of what they say. None for another number of bytes.
    pub(crate) fn with(self, bytes: &[u8]) -> Option<Termios> {
        let mut all = self.bytes();
        match bytes.len() {
            TERMIOS | TERMIOS2 => all[..bytes.len()].copy_from_slice(bytes),
            TERMIO => {
                // The low halves of the modes, the line discipline and eight characters.
                for mode in 0..4 {
                    let [low, high] = [bytes[2 * mode], bytes[2 * mode + 1]];
                    let word = u32::from_ne_bytes(std::array::from_fn(|byte| all[4 * mode + byte]));
                    let word = word & !0xffff | u32::from(u16::from_ne_bytes([low, high]));
                    all[4 * mode..4 * mode + 4].copy_from_slice(&word.to_ne_bytes());
                }
                all[16..25].copy_from_slice(&bytes[8..17]);
            }
            _ => return None,
        }
        Termios::from_bytes(&all)
    }

    /// As `struct termio`.
    pub(crate) fn termio(&self) -> [u8; TERMIO] {
        let mut bytes = [0; TERMIO];
        for (mode, word) in [self.input, self.output, self.control, self.local].into_iter().enumerate() {
            bytes[2 * mode..2 * mode + 2].copy_from_slice(&(word as u16).to_ne_bytes());
        }
        bytes[8] = self.line;
        bytes[9..17].copy_from_slice(&self.characters[..8]);
        bytes
    }
}

/// Bytes in which a module keeps settings: which of two copies applies (0: those of a new terminal), and the copies. The other one is
/// written, so that a reader of the other side gets one or the other.
pub(crate) const STORED: usize = 8 + 2 * TERMIOS2;

/// The settings that a module keeps in its memory from a place on.
pub(crate) fn stored(queue: &Queue<'_, '_, '_>, at: usize) -> Result<Termios> {
    let (mut which, mut bytes) = ([0], [0; TERMIOS2]);
    queue.read_instance(at, &mut which)?;
    if !matches!(which[0], 1 | 2) {
        return Ok(Termios::default());
    }
    queue.read_instance(copy(at, which[0]), &mut bytes)?;
    Ok(Termios::from_bytes(&bytes).unwrap_or_default())
}

/// Changes them.
pub(crate) fn store(queue: &mut Queue<'_, '_, '_>, at: usize, termios: &Termios) -> Result<()> {
    let mut which = [0];
    queue.read_instance(at, &mut which)?;
    let other = if which[0] == 1 { 2 } else { 1 };
    queue.write_instance(copy(at, other), &termios.bytes())?;
    queue.write_instance(at, &[other])
}

fn copy(at: usize, which: u8) -> usize {
    at + 8 + usize::from(which - 1) * TERMIOS2
}

/// What modules of a terminal tell each other (M_CTL). The first byte says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Down: which settings apply?
    Ask,
    /// Up: these do; and whether what was typed and not read is discarded (TCSETSF).
    Settings(Termios, bool),
    /// Within `ldterm`, from its write side: what was typed and not read is discarded.
    Discard,
}

impl Notice {
    pub fn message(self) -> Message<'static> {
        let data = match self {
            Notice::Ask => vec![1],
            Notice::Settings(termios, discards) => [&[2, u8::from(discards)], &termios.bytes()[..]].concat(),
            Notice::Discard => vec![3],
        };
        Message::from_parts(MessageHeader::of(Kind::Control), None, Some(data))
    }

    /// None for a message of others.
    pub fn of(message: &Message<'_>) -> Option<Notice> {
        match message.data()? {
            [1] => Some(Notice::Ask),
            [2, discards, bytes @ ..] => Some(Notice::Settings(Termios::from_bytes(bytes)?, *discards != 0)),
            [3] => Some(Notice::Discard),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_their_layouts() {
        let mut settings = Termios { line: 7, speeds: [50, 4_000_000], ..Termios::default() };
        settings.input |= 0xabcd_0000;
        assert_eq!(Termios::from_bytes(&settings.bytes()), Some(settings));
        assert_eq!(Termios::default().with(&settings.bytes()), Some(settings));
        let with = Termios::default().with(&settings.bytes()[..TERMIOS]).expect("a termios");
        assert_eq!(with, Termios { speeds: [38400; 2], ..settings });
        // `termio` has the low halves.
        let raw = settings.raw();
        let with = settings.with(&raw.termio()).expect("a termio");
        assert_eq!(with, Termios { characters: with.characters, ..raw });
        assert_eq!(with.characters[..8], raw.characters[..8]);
        assert_eq!(Termios::default().with(&[0; 35]), None);
    }

    #[test]
    fn notices_survive_their_messages() {
        for notice in [Notice::Ask, Notice::Settings(Termios::default(), true), Notice::Discard] {
            assert_eq!(Notice::of(&notice.message()), Some(notice));
        }
        let short = Message::from_parts(MessageHeader::of(Kind::Control), None, Some(vec![2, 0, 1]));
        assert_eq!(Notice::of(&short), None);
    }
}

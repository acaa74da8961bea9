//! What a terminal makes of typed bytes: line editing, echo, signals, start and stop. The pure part, which knows no message.
//!
//! Rule: POSIX, "General Terminal Interface"; WERASE, REPRINT, LNEXT, EOL2, ECHOCTL, ECHOKE, IXANY, IMAXBEL and IUTF8 as termios(3)
//! describes them. A word is what stands between blanks.

use super::output::{after_tab, is_rest, width};
use crate::termios::Termios;
use crate::termios::numbers::*;

/// Bytes of a line that is not finished, at most (MAX_CANON); more are discarded until it is.
pub(crate) const LINE_MAX: usize = 4096;

/// What was typed and is not yet readable, beside the settings the whole state of the input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    /// The line that is not finished; without ICANON the bytes that wait for more (MIN).
    pub bytes: Vec<u8>,
    /// The next byte stands for itself (LNEXT).
    pub is_quoted: bool,
    /// The column in which the line began.
    pub column: u32,
}

/// What follows from a typed byte, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A finished line, or bytes that are readable now; no bytes are the end of the file.
    Ready(Vec<u8>),
    /// A signal; and whether what waits in both directions is discarded.
    Signal {
        number: u8,
        flushes: bool,
    },
    /// Output stops, or continues.
    Stop,
    Start,
    /// These bytes are sent back, as if they were written.
    Echo(Vec<u8>),
}

/// The input of a terminal at work.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub termios: &'a Termios,
    pub line: &'a mut Line,
    /// Whether output is stopped.
    pub is_stopped: bool,
    /// The column of the cursor, for a line that begins now.
    pub column: u32,
    pub events: Vec<Event>,
}

/// Whether every byte is readable as it is and at once.
pub(crate) fn is_plain(termios: &Termios) -> bool {
    !termios.has_local(ICANON | ECHO | ISIG)
        && !termios.has_input(ISTRIP | INLCR | IGNCR | ICRNL | IUCLC | IXON | IXOFF)
        && termios.characters[VMIN] == 1
}

/// The signal of a byte.
pub(crate) fn signal_of(termios: &Termios, byte: u8) -> Option<u8> {
    let signals = [(VINTR, SIGINT), (VQUIT, SIGQUIT), (VSUSP, SIGTSTP)];
    let signals = signals.into_iter().filter(|_| termios.has_local(ISIG));
    signals.into_iter().find(|(place, _)| termios.is(byte, *place)).map(|(_, number)| number)
}

impl Input<'_> {
    /// Takes typed bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.take_byte(*byte);
        }
        if !self.termios.has_local(ICANON) {
            self.offer();
        }
    }

    /// A break on the line.
    pub fn take_break(&mut self) {
        if self.termios.has_input(IGNBRK) {
            return;
        }
        if self.termios.has_input(BRKINT) {
            self.signal(SIGINT);
        } else {
            self.insert(0);
            self.take(&[]);
        }
    }

    /// Without ICANON: makes readable what was typed, if it is enough (MIN).
    fn offer(&mut self) {
        if self.line.bytes.len() >= usize::from(self.termios.characters[VMIN]).max(1) {
            self.ready();
        }
    }

    fn take_byte(&mut self, byte: u8) {
        let termios = self.termios;
        let byte = if termios.has_input(ISTRIP) { byte & 0x7f } else { byte };
        if self.line.is_quoted {
            self.line.is_quoted = false;
            return self.insert(byte);
        }
        if termios.has_input(IXON) && self.stops_or_starts(byte) {
            return;
        }
        let byte = match byte {
            b'\r' if termios.has_input(IGNCR) => return,
            b'\r' if termios.has_input(ICRNL) => b'\n',
            b'\n' if termios.has_input(INLCR) => b'\r',
            byte if termios.has_input(IUCLC) && termios.has_local(IEXTEN) => byte.to_ascii_lowercase(),
            byte => byte,
        };
        if let Some(number) = signal_of(termios, byte) {
            self.signal(number);
            if termios.has_local(ECHO) {
                self.echo_visibly(byte);
            }
        } else if termios.has_local(ICANON) {
            self.edit(byte);
        } else {
            self.insert(byte);
        }
    }

    /// Whether the byte stops or starts the output, and is then no input. Any other starts it with IXANY, and is.
    fn stops_or_starts(&mut self, byte: u8) -> bool {
        if self.termios.is(byte, VSTART) || self.termios.is(byte, VSTOP) {
            // One character for both changes what is.
            let stops = self.termios.is(byte, VSTOP) && !(self.is_stopped && self.termios.is(byte, VSTART));
            self.set_stopped(stops);
            return true;
        }
        if self.is_stopped && self.termios.has_input(IXANY) {
            self.set_stopped(false);
        }
        false
    }

    fn set_stopped(&mut self, stops: bool) {
        self.is_stopped = stops;
        self.events.push(if stops { Event::Stop } else { Event::Start });
    }

    fn signal(&mut self, number: u8) {
        let flushes = !self.termios.has_local(NOFLSH);
        if flushes {
            *self.line = Line::default();
        }
        if self.is_stopped {
            // As Linux has it: who ends a program by the keyboard sees what it then writes.
            self.set_stopped(false);
        }
        self.events.push(Event::Signal { number, flushes });
    }

    /// A byte of a line.
    fn edit(&mut self, byte: u8) {
        let termios = self.termios;
        let extended = termios.has_local(IEXTEN);
        if termios.is(byte, VERASE) {
            self.erase(byte, self.last_character());
        } else if extended && termios.is(byte, VWERASE) {
            self.erase(byte, self.last_word());
        } else if termios.is(byte, VKILL) {
            self.kill(byte);
        } else if extended && termios.is(byte, VLNEXT) {
            self.line.is_quoted = true;
            if termios.has_local(ECHO) && termios.has_local(ECHOCTL) {
                self.echo(b"^\x08");
            }
        } else if extended && termios.is(byte, VREPRINT) && termios.has_local(ECHO) {
            self.echo_visibly(byte);
            self.echo(b"\n");
            let shown: Vec<u8> = self.line.bytes.iter().flat_map(|byte| self.shown(*byte)).collect();
            self.echo(&shown);
            self.line.column = 0;
        } else if termios.is(byte, VEOF) {
            self.ready();
        } else if byte == b'\n' || termios.is(byte, VEOL) || extended && termios.is(byte, VEOL2) {
            if byte == b'\n' && termios.has_local(ECHO | ECHONL) {
                self.echo(b"\n");
            } else if termios.has_local(ECHO) {
                self.echo_visibly(byte);
            }
            // There is always room for the end.
            self.line.bytes.push(byte);
            self.ready();
        } else {
            self.insert(byte);
        }
    }

    /// Adds a byte to the line.
    fn insert(&mut self, byte: u8) {
        if self.line.bytes.is_empty() {
            self.line.column = self.column;
        }
        if self.termios.has_local(ICANON) && self.line.bytes.len() >= LINE_MAX - 1 {
            if self.termios.has_input(IMAXBEL) {
                self.echo(b"\x07");
            }
            return;
        }
        self.line.bytes.push(byte);
        if self.termios.has_local(ECHO) {
            let shown = self.shown(byte);
            self.echo(&shown);
        }
        if !self.termios.has_local(ICANON) && self.line.bytes.len() >= LINE_MAX {
            self.ready();
        }
    }

    fn ready(&mut self) {
        let bytes = std::mem::take(&mut self.line.bytes);
        self.events.push(Event::Ready(bytes));
    }

    /// Where the character begins that ends at a place of the line, with all bytes that continue it. Continuing bytes at the
    /// beginning of a line are no character, and are not erased, as Linux has it.
    fn character_before(&self, end: usize) -> Option<usize> {
        self.line.bytes[..end].iter().rposition(|byte| !is_rest(self.termios, *byte))
    }

    /// Where the last character of the line begins; its end if there is none.
    fn last_character(&self) -> usize {
        let end = self.line.bytes.len();
        self.character_before(end).unwrap_or(end)
    }

    /// Where its last word begins.
    fn last_word(&self) -> usize {
        let (mut at, mut is_in_word) = (self.line.bytes.len(), false);
        while let Some(before) = self.character_before(at) {
            let is_blank = matches!(self.line.bytes[before], b' ' | b'\t');
            if is_blank && is_in_word {
                break;
            }
            is_in_word |= !is_blank;
            at = before;
        }
        at
    }

    /// Where its first character begins.
    fn first_character(&self) -> usize {
        let bytes = &self.line.bytes;
        bytes.iter().position(|byte| !is_rest(self.termios, *byte)).unwrap_or(bytes.len())
    }

    /// Removes what is behind a place of the line.
    fn erase(&mut self, byte: u8, at: usize) {
        if at == self.line.bytes.len() {
            return;
        }
        if self.termios.has_local(ECHO) {
            // ECHOE is of the one character, as Linux has it.
            if self.termios.has_local(ECHOE) || !self.termios.is(byte, VERASE) {
                self.erase_shown(at);
            } else {
                self.echo_visibly(byte);
            }
        }
        self.line.bytes.truncate(at);
    }

    fn kill(&mut self, byte: u8) {
        if self.line.bytes.is_empty() {
            return;
        }
        if self.termios.has_local(ECHO) {
            if [ECHOK, ECHOKE, ECHOE].iter().all(|mode| self.termios.has_local(*mode)) {
                // Character by character.
                let first = self.first_character();
                self.erase_shown(first);
                return self.line.bytes.truncate(first);
            }
            self.echo_visibly(byte);
            if self.termios.has_local(ECHOK) {
                self.echo(b"\n");
            }
        }
        self.line.bytes.clear();
    }

    /// Removes from the screen what the line shows from a character on, the last character first.
    fn erase_shown(&mut self, from: usize) {
        let mut columns = vec![self.line.column];
        for byte in &self.line.bytes {
            columns.push(self.column_after(columns[columns.len() - 1], *byte));
        }
        let mut end = self.line.bytes.len();
        while let Some(start) = self.character_before(end).filter(|start| *start >= from) {
            let count = columns[end].saturating_sub(columns[start]) as usize;
            // A tab has nothing on the screen to be overwritten, and the cursor goes back over it.
            let back: &[u8] = if self.line.bytes[start] == b'\t' { b"\x08" } else { b"\x08 \x08" };
            self.echo(&back.repeat(count));
            end = start;
        }
    }

    fn column_after(&self, column: u32, byte: u8) -> u32 {
        if byte == b'\t' {
            return after_tab(column);
        }
        let shown = self.shown(byte);
        shown.iter().fold(column, |column, byte| column + width(self.termios, *byte))
    }

    /// What is echoed for a byte of the line. A newline within a line was quoted.
    fn shown(&self, byte: u8) -> Vec<u8> {
        let is_control =
            byte < 0x20 && byte != b'\t' && (byte != b'\n' || self.termios.has_local(ICANON)) || byte == 0x7f;
        if is_control && self.termios.has_local(ECHOCTL) { vec![b'^', byte ^ 0x40] } else { vec![byte] }
    }

    /// Echoes a control character that is no part of the line.
    fn echo_visibly(&mut self, byte: u8) {
        let shown = self.shown(byte);
        self.echo(&shown);
    }

    fn echo(&mut self, bytes: &[u8]) {
        if bytes.contains(&b'\n') {
            self.column = 0;
        }
        match self.events.last_mut() {
            Some(Event::Echo(echoed)) => echoed.extend(bytes),
            _ => self.events.push(Event::Echo(bytes.to_vec())),
        }
    }
}

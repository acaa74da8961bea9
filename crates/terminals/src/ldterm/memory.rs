//! What `ldterm` keeps in its own memory, which all processes of the stream share. What is read from there is checked.
//!
//! | what | who writes |
//! |---|---|
//! | the settings | the read side |
//! | the line, its length, whether the next byte is quoted, whether input was stopped | the read side |
//! | whether output is stopped | both, a byte |
//! | whether something came since a read has asked | the read side sets it, the write side clears it |
//! | the column | the write side |

use super::input::{LINE_MAX, Line};
use crate::termios::{self, Termios};
use headwater_streams::{Queue, Result};

const QUOTED: usize = 1;
const LENGTH: usize = 8;
const LINE_COLUMN: usize = 12;
const COLUMN: usize = 16;
const SETTINGS: usize = 64;
const LINE: usize = 256;

/// Bytes of it.
pub(crate) const BYTES: usize = LINE + LINE_MAX;

/// A byte that is 0 or 1.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Flag {
    /// Output is stopped.
    Stopped = 2,
    /// The other side was asked to send no more (IXOFF).
    InputStopped = 3,
    /// Something has come since a read has asked for data.
    HasCome = 4,
}

pub(crate) fn flag(queue: &Queue<'_, '_, '_>, flag: Flag) -> Result<bool> {
    let mut byte = [0];
    queue.read_instance(flag as usize, &mut byte)?;
    Ok(byte != [0])
}

pub(crate) fn set_flag(queue: &mut Queue<'_, '_, '_>, flag: Flag, on: bool) -> Result<()> {
    queue.write_instance(flag as usize, &[u8::from(on)])
}

pub(crate) fn settings(queue: &Queue<'_, '_, '_>) -> Result<Termios> {
    termios::stored(queue, SETTINGS)
}

pub(crate) fn set_settings(queue: &mut Queue<'_, '_, '_>, termios: &Termios) -> Result<()> {
    termios::store(queue, SETTINGS, termios)
}

/// Whether a line was begun.
pub(crate) fn has_line(queue: &Queue<'_, '_, '_>) -> Result<bool> {
    Ok(word(queue, LENGTH)? != 0)
}

pub(crate) fn line(queue: &Queue<'_, '_, '_>) -> Result<Line> {
    let mut quoted = [0];
    queue.read_instance(QUOTED, &mut quoted)?;
    let mut bytes = vec![0; (word(queue, LENGTH)? as usize).min(LINE_MAX)];
    queue.read_instance(LINE, &mut bytes)?;
    Ok(Line { bytes, is_quoted: quoted != [0], column: word(queue, LINE_COLUMN)? })
}

pub(crate) fn set_line(queue: &mut Queue<'_, '_, '_>, line: &Line) -> Result<()> {
    let bytes = &line.bytes[..line.bytes.len().min(LINE_MAX)];
    queue.write_instance(LINE, bytes)?;
    queue.write_instance(LINE_COLUMN, &line.column.to_ne_bytes())?;
    queue.write_instance(QUOTED, &[u8::from(line.is_quoted)])?;
    queue.write_instance(LENGTH, &(bytes.len() as u32).to_ne_bytes())
}

pub(crate) fn column(queue: &Queue<'_, '_, '_>) -> Result<u32> {
    // Of a column that makes no sense the next ones can be counted, too.
    Ok(word(queue, COLUMN)? & 0xffff)
}

pub(crate) fn set_column(queue: &mut Queue<'_, '_, '_>, column: u32) -> Result<()> {
    queue.write_instance(COLUMN, &column.to_ne_bytes())
}

fn word(queue: &Queue<'_, '_, '_>, at: usize) -> Result<u32> {
    let mut bytes = [0; 4];
    queue.read_instance(at, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}
